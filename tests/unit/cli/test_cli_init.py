"""`sluice init`: the files that it writes, and what it refuses."""

import gzip
from pathlib import Path

import pytest
import zstandard

from lab.cli.app import main
from lab.init.files import name_from
from lab.profiles import load_profile
from lab.profiles.mapping import load_mapping
from lab.profiles.suites import load_suite
from tests.unit.messages import MakeMessage

BOOKS = b"".join(
    b'{"isbn":"%013d","title":"the %d of the rings","offers":[{"shop":"a","price":1},{"shop":"b","price":2}]}\n'
    % (n, n)
    for n in range(101)
)
WRITTEN = ("experiments/profiles/used-books.yaml", "mappings/used-books.json", "experiments/suites/used-books.yaml")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with nothing in it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def initialised(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit status of the command."""
    monkeypatch.setattr("sys.argv", ["sluice", "init", *words])
    return main()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Used_Books.ndjson", BOOKS),
        ("used.books.jsonl.gz", gzip.compress(BOOKS)),
        ("used books.zst", zstandard.compress(BOOKS)),
    ],
)
def test_the_files_that_it_writes_can_be_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    """Profile, mapping and suite are ones that a run and a suite take; each variant changes one thing."""
    (folder / name).write_bytes(content)

    assert initialised(monkeypatch, name) == 0

    profile = load_profile("used-books")
    assert profile.dataset.options == {
        "path": str(folder / name),
        "key": "isbn",
        "max_message_bytes": 1 << 20,
    }
    assert load_mapping(profile.mapping)["mappings"]["properties"]["offers"]["type"] == "nested"
    assert not any(name in question for question in (profile.question, load_suite("used-books").question))
    assert [(each.name, each.overrides) for each in load_suite("used-books").variants] == [
        ("used-books", ()),
        ("used-books (again)", ()),
        ("refresh every 30 s", ('index.refresh_interval="30s"',)),
        ("two tasks", ("sink.tasks=2", "topic.partitions=2")),
        ("batch.size=5000", ("sink.config.batch.size=5000",)),
        ("best_compression", ('index.codec="best_compression"',)),
    ]


def test_it_says_what_it_proposes_and_what_to_do_next(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """The sample, the key, the mapping with its reasons, the files, five commands."""
    (folder / "books.ndjson").write_bytes(BOOKS)

    assert initialised(monkeypatch, "books.ndjson", "--name", "used-books", "--sample", "100") == 0

    assert capsys.readouterr().out.splitlines() == [
        message(100, "books.ndjson", "--sample"),
        message("key: isbn"),
        message("mapping", "2 keyword", "1 text", "1 nested", "1 double"),
        message("nested: offers", "object"),
        *(f"written: {path}" for path in WRITTEN),
        "next:",
        message("./sluice show used-books"),
        message("./sluice up"),
        message("./sluice run used-books"),
        message("./sluice mapping check used-books --path"),
        message("./sluice suite used-books"),
    ]


@pytest.mark.parametrize(
    ("content", "words", "facts"),
    [
        (
            b'{"n":1}\n{"n":1}\n',
            (),
            ("key: none",),
        ),
        (
            b'{"n":1}\n{"n":1}\n',
            ("--key", "n"),
            ("key: n", 1),
        ),
        (
            b'{"x":{"a":1}}\n{"x":1}\n',
            ("--no-search", "x"),
            ("not indexed: x",),
        ),
        (
            b'{"x":1}\n' * 3 + b'{"x":"N/A"}\n',
            ("--tolerate", "25%"),
            ("odd values: x", "1 of 4", "N/A", "books.ndjson:4"),
        ),
        (
            b'{"x":[{"a":1}]}\n' * 3 + b'{"x":"N/A"}\n',
            ("--tolerate", "25", "--nested", "x"),
            ("odd values: x", "1 of 4", "N/A", "books.ndjson:4", "rejects"),
        ),
    ],
)
def test_what_may_surprise_is_said(  # noqa: PLR0917 - fixtures and cases
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    words: tuple[str, ...],
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """No key, a key that repeats, what is stored only, and odd values."""
    (folder / "books.ndjson").write_bytes(content)

    assert initialised(monkeypatch, "books.ndjson", *words) == 0

    assert message(*facts) in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("content", "words", "facts"),
    [
        (b"", (), ("books.ndjson",)),
        (
            b'{"id":1}\n[2]\n{"id":\n{"_routing":4}\n',
            (),
            ("books.ndjson:2", "books.ndjson:3", 7, "books.ndjson:4", "_routing"),
        ),
        (
            b"1\n" * 7,
            (),
            tuple(f"books.ndjson:{line}" for line in range(1, 6)),
        ),
        (
            b'{"id":1}\n{}\n',
            ("--key", "id"),
            ("books.ndjson:2",),
        ),
        (
            BOOKS,
            ("--name", "My Books"),
            ("--name", "My Books", 40, "0-9"),
        ),
        (BOOKS, ("--name", "dynamic"), ("mappings/dynamic.json", "--name")),
        (BOOKS, ("--name", "dynamic", "--dry-run"), ("mappings/dynamic.json", "--name")),
        (BOOKS, ("--tolerate", "60%"), ("--tolerate", "60%", "0%", "50%")),
        (BOOKS, ("--tolerate", "few"), ("--tolerate", "few")),
        (BOOKS, ("--nested", "isbn"), ("--nested isbn",)),
        (b'{"x":{"a":1}}\n{"x":1}\n', (), ("x", "1 of 2", "--no-search x")),
    ],
)
def test_what_does_not_serve_is_refused_and_nothing_is_written(  # noqa: PLR0917 - fixtures and cases
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    words: tuple[str, ...],
    facts: tuple[object, ...],
    message: MakeMessage,
) -> None:
    """The exit status is 2; lines are named."""
    (folder / "books.ndjson").write_bytes(content)

    assert initialised(monkeypatch, "books.ndjson", *words) == 2

    assert capsys.readouterr().err == message(*facts)
    assert [path.name for path in folder.iterdir()] == ["books.ndjson"]


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: MakeMessage
) -> None:
    """The profile, which was written first, goes again."""
    (folder / "books.ndjson").write_bytes(BOOKS)
    (folder / "experiments").mkdir()
    (folder / "experiments" / "suites").touch()

    assert initialised(monkeypatch, "books.ndjson") == 2

    assert capsys.readouterr().err == message("experiments/suites")
    assert not list(folder.rglob("*.yaml"))


def test_a_dry_run_prints_the_files_and_writes_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each with its path and its whole text."""
    (folder / "books.ndjson").write_bytes(BOOKS)

    assert initialised(monkeypatch, "books.ndjson", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["books.ndjson"]

    assert initialised(monkeypatch, "books.ndjson") == 0
    for name in (path.replace("used-books", "books") for path in WRITTEN):
        assert f"not written: {name}\n{(folder / name).read_text()}" in printed


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Used_Books.ndjson.gz", "used-books"),
        ("books.csv", "books"),
        ("books.json.bz2", "books"),
        ("day=1/books.parquet", "books"),
        ("logs/", "logs"),
        ("logs/*.json", "logs"),
        ("geonames/track.json", "geonames"),
        ("geonames/track.json#geonames", "geonames"),
        ("geonames", "geonames"),
    ],
)
def test_a_profile_is_named_after_its_documents(folder: Path, path: str, name: str) -> None:
    """Without what says how they are packed; a track and a pattern have the name of their folder."""
    (folder / "geonames").mkdir()
    (folder / "geonames" / "track.json").touch()
    assert name_from(path) == name
