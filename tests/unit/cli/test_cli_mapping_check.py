"""`sluice mapping check`: what it says of a later file, and how it ends."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.cli import mapping
from tests.unit.cli.test_cli_mapping import called, folder
from tests.unit.messages import MakeMessage

__all__ = ["folder"]

REASON = (
    "[1:6] failed to parse field [{field}] of type [{type}] in document with id '{id}'. "
    "Preview of field's value: '{value}'"
)


class Cluster:
    """Servers with an index of `n`, a byte, and `at`, a date that is not checked; some prices are stored only."""

    def __init__(self) -> None:
        self.indices: dict[str, Any] = {}
        self.stored = 0

    def has_analyzer(self, _name: str) -> bool:
        """Check for an analyzer."""
        return True

    def index_owner(self, index: str) -> str | None:
        """Mark of an index."""
        return self.indices[index]["mappings"]["_meta"]["sluice"]["run"] if index in self.indices else None

    def create_index(self, index: str, body: Any) -> None:
        """Create an index."""
        self.indices[index] = body

    def delete_index(self, index: str) -> None:
        """Delete an index."""
        del self.indices[index]

    def refresh(self, _index: str) -> None:
        """Make documents searchable."""

    def count(self, _index: str) -> int:
        """Documents of the index."""
        return self.stored

    def request(self, _method: str, path: str, body: Any, **_: Any) -> tuple[int, Any]:
        """Take a bulk request, or count values that are stored only."""
        if "/_search" in path:
            buckets = [{"key": "price", "doc_count": 2}]
            return 200, {"hits": {"total": {"value": 2}}, "aggregations": {"fields": {"buckets": buckets}}}
        documents = [orjson.loads(line) for line in body.splitlines()[1::2]]
        items = [{"index": self.outcome(number, document)} for number, document in enumerate(documents)]
        errors = sum("error" in item["index"] for item in items)
        self.stored += len(items) - errors
        return 200, {"errors": bool(errors), "items": items}

    @staticmethod
    def outcome(number: int, document: dict[str, Any]) -> dict[str, Any]:
        """What becomes of a document."""
        if document["n"] < 128:
            return {"status": 201}
        reason = REASON.format(field="n", type="byte", id=f"x{number}", value=document["n"])
        return {"status": 400, "error": {"type": "document_parsing_exception", "reason": reason}}


@pytest.fixture
def cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The servers of the command; a mapping lies in the folder."""
    made = Cluster()

    @contextlib.contextmanager
    def cluster_on(*_: object) -> Iterator[Cluster]:
        yield made

    monkeypatch.setattr(mapping, "cluster_on", cluster_on)
    monkeypatch.setenv("COLUMNS", "100")
    (folder / "mappings").mkdir()
    (folder / "mappings/mine.json").write_text(json.dumps({"mappings": {"properties": {"n": {"type": "byte"}}}}))
    return made


def write(folder: Path, *values: int) -> None:
    """Write a later file with these numbers."""
    (folder / "later.ndjson").write_text("".join(f'{{"n": {value}}}\n' for value in values))


def test_what_is_rejected_is_shown_by_field_with_a_value_and_lines(
    folder: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the values that are stored without being indexed; the exit status is 1, and the index is gone."""
    write(folder, 1, 299, 3, 400, 5, 6, 500, 600)

    assert called(monkeypatch, "check", "mine", "--path", "later.ndjson") == 1

    lines = [" ".join(line.replace("│", " ").split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == [
        "read all 8 documents of later.ndjson",
        "checked: 4 of 8 documents indexed, 4 rejected, which a run sends to the dead letters",
        "records as lines of later.ndjson",
    ]
    assert lines[5:-1] == [
        "400 document_parsing_exception: failed to parse field [n] of type 4 2",
        "[byte] in document with id '…'. 4",
        "n: 299 7",
    ]
    assert lines[-1] == "2 documents have a value that is stored, but not indexed in its field: price in 2"
    assert cluster.indices == {}


@pytest.mark.usefixtures("cluster")
def test_a_file_of_which_nothing_is_rejected_ends_with_0(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sample says that more can be read."""
    write(folder, *range(100))

    assert called(monkeypatch, "check", "mine", "--path", "later.ndjson", "--sample", "10") == 0

    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first == "read 10 documents of later.ndjson, spread over the file; --sample reads more"
    assert second == "checked: 10 of 10 documents indexed, none rejected"


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("mnie", "--path", "later.ndjson"), ("mnie", "mine")),
        (("mine", "--path", "absent.ndjson"), ("absent.ndjson",)),
        (("mine", "--path", "empty.ndjson"), ("empty.ndjson",)),
        (("mine", "--path", "broken.ndjson"), ("broken.ndjson:2",)),
    ],
)
def test_what_cannot_be_checked_is_refused_in_a_sentence(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    facts: tuple[object, ...],
    *,
    cluster: Cluster,
    message: MakeMessage,
) -> None:
    """Exit status 2; no index is left."""
    write(folder, 1)
    (folder / "empty.ndjson").touch()
    (folder / "broken.ndjson").write_text('{"n": 1}\n{"n": \n')

    assert called(monkeypatch, "check", *words) == 2

    assert capsys.readouterr().err == message(*facts)
    assert cluster.indices == {}
