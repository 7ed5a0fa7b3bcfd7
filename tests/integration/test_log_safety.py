"""What a run with secrets and bad documents leaves in the servers' logs."""

from pathlib import Path

import httpx

from tests.integration.conftest import Sluice, write_ndjson

PASSWORD = "pa55w0rd-marker"
HEADER = "header-marker"
DOCUMENT = "document-marker"
BOOKS = 1013


def test_no_log_holds_a_secret_or_anything_of_a_document(sluice: Sluice, tmp_path: Path) -> None:
    """Neither the command nor Connect logs a password, a header's value or a document, rejected ones included."""
    lines = [
        {"isbn13": str(number), "title": DOCUMENT, "pages": DOCUMENT if number % 97 == 7 else number}
        for number in range(BOOKS)
    ]
    path = write_ndjson(tmp_path / "books.ndjson", lines)
    secrets = f"connection.username: sluice, connection.password: {PASSWORD}, connection.headers: 'X-Tenant:{HEADER}'"

    done = sluice.run("file", "--path", str(path), "--key", "isbn13", "--set", f"sink.config={{{secrets}}}")

    assert (done.status, done.errors) == (0, "")
    assert sluice.result().documents.dead_lettered == 11
    text = "".join(path.read_text(encoding="utf-8") for path in sluice.state.glob("*/connect/connect*.log"))
    assert f"stopped; {{RecordsRead={BOOKS}" in text
    assert [marker for marker in (PASSWORD, HEADER, DOCUMENT) if marker in text] == []
    assert [marker for marker in (PASSWORD, HEADER) if marker in done.output] == []


def test_the_workers_log_has_no_line_for_each_question_of_the_lab(sluice: Sluice) -> None:
    """A stream of weeks asks for states every few seconds; what is worth reading would drown, and the file grow."""
    for _ in range(3):
        httpx.get(f"{sluice.stack.endpoints().connect_url}/connectors").raise_for_status()
    (log,) = sluice.state.glob("*/connect/connect.log")
    assert "GET /connectors" not in log.read_text(encoding="utf-8")
