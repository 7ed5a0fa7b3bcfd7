"""The page's addresses, and what each answers."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab import ROOT
from lab.identity import identity_of
from lab.page import app as app_module
from lab.page import hub
from lab.page.app import Server, app, differences
from lab.page.commands import Starter
from lab.page.security import OF_A_REPORT, OF_THE_PAGE, Access
from tests.unit.analysis.synthetic import Truth, samples
from tests.unit.messages import MakeMessage, Naming
from tests.unit.page.run_folders import append, begun

ACCESS = Access("127.0.0.1", 41833, "token")
WRITES = {"Origin": "http://127.0.0.1:41833", "X-Sluice-Token": "token"}


@pytest.fixture
def static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the browser loads."""
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "index.html").write_text("<html>the page</html>", "utf-8")
    (folder / "page.js").write_text("let x = 7;", "utf-8")
    (folder / "notes.py").write_text("secret = 7", "utf-8")
    monkeypatch.setattr(app_module, "STATIC", folder)
    return folder


@pytest.fixture
def server(tmp_path: Path, static: Path) -> Server:  # noqa: ARG001 - it is served
    """A server over a folder of runs."""
    runs = tmp_path / "runs"
    runs.mkdir()
    (tmp_path / "secret.html").write_text("secret", "utf-8")
    return Server(runs, Starter())


class Browser:
    """Asks the application, at an address."""

    def __init__(self, server: Server, address: str) -> None:
        self._transport = httpx.ASGITransport(app(server, ACCESS))
        self._address = address

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Ask for something."""
        return self._ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        """Send something."""
        return self._ask("POST", path, **options)

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url=self._address) as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())


@pytest.fixture
def browser(server: Server) -> Browser:
    """A browser at the page's own address."""
    return Browser(server, "http://127.0.0.1:41833")


def error_of(response: Any) -> tuple[int, str]:
    """Status and sentence of a refusal."""
    return response.status_code, response.json()["error"]


def test_the_page_and_its_files_are_served(browser: Browser) -> None:
    """With a policy that runs no text as code and lets nobody frame it."""
    page, script = browser.get("/"), browser.get("/static/page.js")
    assert (page.text, script.text) == ("<html>the page</html>", "let x = 7;")
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert page.headers["Content-Security-Policy"] == OF_THE_PAGE
    assert "unsafe" not in OF_THE_PAGE
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in page.headers


def test_the_page_and_the_reports_have_one_style(browser: Browser) -> None:
    """Colours and type are written down once."""
    style = browser.get("/static/report.css")
    assert style.text == (ROOT / "lab" / "analysis" / "report_page" / "report.css").read_text("utf-8")
    assert style.headers["Content-Type"] == "text/css; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        "/static/gone.js",
        "/static/notes.py",
        "/static/%2e%2e/secret.html",
        "/static/..%2fsecret.html",
        "/static//etc/hostname",
        "/static/page.js%00.html",
        "/static/",
    ],
)
def test_no_other_file_is_served(browser: Browser, path: str) -> None:
    """Nor one that a path leads out of the folder to."""
    status, sentence = error_of(browser.get(path))
    assert (status, sentence.endswith(": no such file")) == (404, True)


def test_a_report_is_a_page_of_its_own(browser: Browser, server: Server) -> None:
    """It may run its scripts, and do nothing in the name of this page."""
    folder = begun(server.runs / "quickstart/20260101-000007")
    (folder / "report.html").write_text("<script>1</script>", "utf-8")
    response = browser.get("/runs/quickstart/20260101-000007/report.html")
    assert response.text == "<script>1</script>"
    assert response.headers["Content-Security-Policy"] == OF_A_REPORT
    assert OF_A_REPORT.startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in OF_A_REPORT


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("quickstart/20260101-000007/report.html", "no such file"),
        ("quickstart/20260101-000007/profile.json", "got no report, expected a path that ends with /report.html"),
        ("%2e%2e/other/report.html", "no such file"),
        ("link/report.html", "no such file"),
    ],
)
def test_nothing_of_a_run_is_served_but_its_report(browser: Browser, server: Server, path: str, detail: str) -> None:
    """Nor a report that lies elsewhere, by whatever way."""
    begun(server.runs / "quickstart/20260101-000007")
    other = server.runs.parent / "other"
    other.mkdir()
    (other / "report.html").write_text("secret", "utf-8")
    (server.runs / "link").symlink_to(other)
    status, sentence = error_of(browser.get(f"/runs/{path}"))
    assert (status, sentence.endswith(detail)) == (404, True)


def test_a_strange_host_is_refused_before_anything_else(server: Server, message: MakeMessage) -> None:
    """As JSON, with the sentence."""
    assert error_of(Browser(server, "http://evil.example").get("/api/now")) == (
        403,
        message("evil.example", "127.0.0.1:41833", "localhost:41833"),
    )


def test_without_token_or_origin_nothing_is_started(browser: Browser, message: MakeMessage) -> None:
    """A GET starts nothing either."""
    for path in ("/api/start", "/api/stop", "/api/check", "/api/compare"):
        assert browser.post(path, json={}).status_code == 403
        assert browser.post(path, json={}, headers={"Origin": "http://evil.example"}).status_code == 403
        assert error_of(browser.get(path, headers=WRITES)) == (405, message(path))


def test_a_choice_is_checked_with_the_command_lines_sentence(browser: Browser, message: MakeMessage) -> None:
    """Or answered with the command."""
    body = {"kind": "run", "name": "quickstart", "settings": ["sink.tasks=2"]}
    assert browser.post("/api/check", json=body, headers=WRITES).json() == {
        "ok": True,
        "command": "./sluice run quickstart --set sink.tasks=2",
    }
    wrong = browser.post("/api/check", json={**body, "settings": ["sink.tasks=none"]}, headers=WRITES)
    assert error_of(wrong) == (400, message("--set sink.tasks", "none"))


@pytest.mark.parametrize(
    ("body", "kind", "facts"),
    [
        (b"{", "application/json", ("body", "JSON")),
        (b"{}", "text/plain", ("Content-Type", "application/json")),
        (b" " * 65_537, "application/json", ("body", "65,536")),
    ],
)
def test_a_body_that_is_none_is_refused(
    browser: Browser, body: bytes, kind: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """A form of another site can send text only."""
    response = browser.post("/api/start", content=body, headers={**WRITES, "Content-Type": kind})
    assert error_of(response) == (400, message(*facts))


def test_a_second_run_is_not_started_beside_one_under_way(
    browser: Browser, server: Server, message: MakeMessage
) -> None:
    """Whoever started that."""
    begun(server.runs / "quickstart/20260101-000007")
    body = {"kind": "run", "name": "quickstart"}
    assert error_of(browser.post("/api/start", json=body, headers=WRITES)) == (
        409,
        message("quickstart 20260101-000007"),
    )


def test_where_nothing_runs_nothing_is_stopped(browser: Browser) -> None:
    """409, with a sentence."""
    assert error_of(browser.post("/api/stop", headers=WRITES)) == (409, "no run is under way")


def test_now_is_what_the_contract_says(browser: Browser, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a run."""
    monkeypatch.setattr(hub, "NOW_KEPT_S", 0.0)
    assert browser.get("/api/now").json()["run"] is None
    begun(server.runs / "quickstart/20260101-000007")
    server.hub.watch._found_s = 0.0
    run = browser.get("/api/now").json()["run"]
    assert (run["profile"], run["load"], run["via"]) == ("quickstart", "drain", "kafka")
    assert sorted(run["charts"]) == ["cpu", "indexing_latency", "indexing_rate", "lag"]


def test_the_history_is_asked_in_the_address(browser: Browser, server: Server) -> None:
    """A wrong question is a 400."""
    begun(server.runs / "quickstart/20260101-000007", ended="interrupted")
    answer = browser.get("/api/history?q=quick").json()
    assert (answer["total"], answer["left"], answer["rows"][0]["status"]) == (1, 0, "interrupted")
    assert error_of(browser.get("/api/history?sort=colour"))[0] == 400


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ([], ("runs",)),
        ({"runs": "a"}, ("runs",)),
        ({"runs": ["a", 7]}, ("runs",)),
        ({"runs": []}, ("runs", 0, 2, 6)),
        ({"runs": ["a", "a"]}, ("runs", 2, 6)),
        ({"runs": list("abcdefg")}, ("runs", 7, 2, 6)),
        ({"runs": ["a", "b"]}, ("a",)),
        ({"runs": ["../x", "b"]}, ("../x",)),
    ],
)
def test_what_cannot_be_compared_is_refused(
    browser: Browser, body: Any, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before a process is started for it."""
    assert error_of(browser.post("/api/compare", json=body, headers=WRITES)) == (400, message(*facts))


def test_the_difference_of_two_runs_has_their_mappings_if_both_are_recorded(tmp_path: Path) -> None:
    """A run of an older version has none, and nothing is said of it there."""
    folders = [tmp_path / name for name in ("a", "b", "old")]
    for folder, kind in zip(folders, ("keyword", "text", None), strict=True):
        folder.mkdir()
        (folder / "profile.json").write_text('{"mapping": "shop"}')
        if kind:
            (folder / "index.json").write_text(f'{{"mappings": {{"properties": {{"id": {{"type": "{kind}"}}}}}}}}')

    changed = [line for line in differences(["a", "b"], folders[:2]).splitlines() if line[:2] in {"- ", "+ "}]

    assert changed == ["-      type: keyword", "+      type: text"]
    assert differences(["a", "old"], [folders[0], folders[2]]) == ""


def test_a_tune_is_not_compared(browser: Browser, server: Server, message: MakeMessage) -> None:
    """It is neither a run nor a suite, though it has a plan as a suite has."""
    folder = server.runs / "tunes/quickstart/20260101-000007"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    name = "tunes/quickstart/20260101-000007"
    assert error_of(browser.post("/api/compare", json={"runs": [name, "b"]}, headers=WRITES)) == (400, message(name))


def test_profiles_and_suites_are_listed(browser: Browser) -> None:
    """With their questions; one that is not there is refused with the nearest."""
    profiles = {profile["name"]: profile for profile in browser.get("/api/profiles", headers=WRITES).json()}
    assert profiles["quickstart"]["dataset"] == "aladin"
    assert browser.get("/api/profiles/aladin/static", headers=WRITES).json()["yaml"].startswith("question:")
    assert {"a-a"} <= {suite["name"] for suite in browser.get("/api/suites", headers=WRITES).json()}
    assert error_of(browser.get("/api/profiles/quikstart", headers=WRITES)) == (400, Naming("quikstart", "quickstart"))


def test_no_other_run_is_stopped_than_the_one_that_a_browser_shows(
    browser: Browser, server: Server, message: MakeMessage
) -> None:
    """The run that somebody is asked about may end, and another user's begin, before the answer."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        begun(server.history.tree.runs / "quickstart/20260101-000007", identity=identity_of(child.pid))
        before, now = "quickstart/20260101-000006", "quickstart/20260101-000007"
        assert error_of(browser.post(f"/api/stop?of={before}", headers=WRITES)) == (409, message(before))
        assert child.poll() is None
        assert browser.post(f"/api/stop?of={now}", headers=WRITES).json() == {"stopping": True}
        assert child.wait() == -signal.SIGTERM


def test_prometheus_reads_the_newest_run(browser: Browser, server: Server) -> None:
    """In the format that it asks for."""
    begun(server.history.tree.runs / "quickstart" / "20260101-000007")
    answer = browser.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert 'run="20260101-000007"' in answer.text


def test_prometheus_gets_figures_though_the_clock_was_set(browser: Browser, server: Server) -> None:
    """A page stays for weeks: samples are as old as their file, not as their instant, here weeks away."""
    folder = begun(server.history.tree.runs / "quickstart" / "20260101-000007")
    append(folder, *[sample for sample in samples(Truth()) if sample.phase == "load"])
    assert "sluice_lag_records{" in browser.get("/metrics").text
    os.utime(folder / "samples.ndjson", times=(time.time() - 60,) * 2)
    assert "sluice_lag_records{" not in browser.get("/metrics").text
