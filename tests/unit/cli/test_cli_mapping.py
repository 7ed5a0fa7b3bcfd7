"""`sluice mapping`: what it shows, what it writes, and what it refuses before any server is started."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli.app import main
from lab.cli.mapping_display import show_beside_dynamic, show_costs
from lab.mapping.units import Unit
from lab.profiles.mapping import load_mapping
from lab.records.suite import Effect, SuiteResult, VariantMetric
from lab.stack.local import LocalStack
from tests.unit.messages import MakeMessage

BOOKS = b"".join(
    b'{"isbn":"%013d","title":"the %d of the rings","link":"https://example.com/%d",'
    b'"offers":[{"shop":"a","price":1},{"shop":"b","price":2}]}\n' % (n, n, n)
    for n in range(101)
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with nothing in it; no server may be started."""
    monkeypatch.setattr(LocalStack, "ensure", lambda *_, **__: pytest.fail("a server would have been started"))
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit status of the command."""
    monkeypatch.setattr("sys.argv", ["sluice", "mapping", *words])
    return main()


def test_it_shows_each_field_with_its_reason_and_what_data_cannot_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 80 columns; the file that it writes is one that a run takes."""
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "Used_Books.ndjson").write_bytes(BOOKS)

    assert called(monkeypatch, "infer", "Used_Books.ndjson", "--no-check") == 0

    lines = capsys.readouterr().out.splitlines()
    table = lines[1 : lines.index(next(line for line in lines if line.startswith("Dynamic is")))]
    assert max(map(len, table)) <= 80
    assert lines[0] == "read all 101 documents of Used_Books.ndjson"
    assert [" ".join(line.replace("│", " ").split()) for line in table[2:]] == [
        "isbn keyword the key",
        "title text 5 words on average; analyzer standard",
        "link keyword links",
        "offers nested 2.0 objects a document, each stored as a document; a",
        "value that is no object rejects its document",
        "offers.shop keyword 2 different values that repeat",
        "offers.price double 1 to 2; rounded beyond 15 digits; what is no number",
        "is stored, not indexed",
    ]
    assert lines[len(table) + 1 :] == [
        "Dynamic is false: fields absent from the sample are stored but not indexed; they never cause a rejection. "
        "Keyword: a string of more than 8,191 characters is stored, not indexed. "
        "An object in a field of strings or booleans rejects its document, and so it does in a field of numbers, "
        "addresses or dates, on some servers.",
        "Possibly never searched: link (links). If so, --no-search link saves index and doc values.",
        "Arrays of objects: offers.",
        "- nested (proposed): each object is a document of its own, so that a query finds two fields of the same one",
        "- object (--object offers): cheapest; a query may match fields of different objects",
        "- flattened: the array is one field, every value a keyword; mixed up like object; not measured here",
        "- documents of their own: of used books with 5 offers (docs/measurements/suites.md), each such document took "
        "0.37 to 0.39 times the CPU of a nested book, so 2.2 to 2.3 times per book; but a changed offer then indexes "
        "one of them again, and not all six",
        "not checked: a server may reject documents",
        "written: mappings/used-books.json",
    ]
    assert load_mapping("used-books")["mappings"]["dynamic"] is False


def test_what_somebody_knows_is_in_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Beside the reasons."""
    (folder / "books.ndjson").write_bytes(BOOKS)
    knowledge = ("--no-search", "link", "--object", "offers", "--out", "mine.json", "--sample", "50")

    assert called(monkeypatch, "infer", "books.ndjson", "--no-check", *knowledge) == 0

    mappings = json.loads((folder / "mine.json").read_text())["mappings"]
    assert mappings["properties"]["link"] == {"type": "keyword", "index": False, "doc_values": False}
    assert "type" not in mappings["properties"]["offers"]
    assert (mappings["dynamic"], mappings["_meta"]["inferred_from"]) == (False, message(50, "books.ndjson"))


def test_a_dry_run_prints_the_mapping_and_writes_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its path and its whole text."""
    (folder / "books.ndjson").write_bytes(BOOKS)

    assert called(monkeypatch, "infer", "books.ndjson", "--no-check", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["books.ndjson"]

    assert called(monkeypatch, "infer", "books.ndjson", "--no-check") == 0
    assert f"not written: mappings/books.json\n{(folder / 'mappings/books.json').read_text()}" in printed


def test_explain_shows_its_plan_and_what_its_minutes_can_tell_before_a_server_is_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One minute of nine variants is too short for a comparison."""
    (folder / "books.ndjson").write_bytes(BOOKS)
    assert called(monkeypatch, "infer", "books.ndjson", "--no-check") == 0
    capsys.readouterr()

    assert called(monkeypatch, "explain", "books", "--path", "books.ndjson", "--plan", "--minutes", "1") == 0

    printed = capsys.readouterr().out
    assert "without isbn" in printed
    assert "too short" in printed


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("infer", "absent.ndjson"), ("absent.ndjson",)),
        (("infer", "empty.ndjson"), ("empty.ndjson",)),
        (("infer", "dynamic.ndjson"), ("mappings/dynamic.json", "--out")),
        (
            ("infer", "books.ndjson", "--out", "books.ndjson"),
            ("books.ndjson", "--out"),
        ),
        (
            ("infer", "books.ndjson", "--out", "absent/x.json"),
            ("--out", "absent/x.json"),
        ),
        (
            ("infer", "books.ndjson", "--out", "x.json", "--compare"),
            ("--out", "x.json", "mappings/NAME.json"),
        ),
        (
            ("infer", "books.ndjson", "--no-search", "lnk"),
            ("--no-search", "lnk", "link"),
        ),
        (("infer", "books.ndjson", "--tolerate", "-1%"), ("--tolerate", "-1%")),
        (("infer", "books.ndjson", "--nested", "title"), ("--nested title",)),
        (("infer", "books.ndjson", "--dry-run", "--compare"), ("--dry-run", "--compare")),
        (("infer", "mixed.ndjson"), ("x", "1 of 2", "--no-search x")),
        (
            ("infer", "books.ndjson", "--elasticsearch", "8.99.0"),
            ("8.99.0",),
        ),
        (
            ("infer", "wide.ndjson"),
            ("1,000", "mappings/README.md"),
        ),
        (
            ("infer", "nameless.ndjson"),
            ("nameless.ndjson:2",),
        ),
        (("explain", "dinamic", "--on", "books.ndjson"), ("dinamic", "dynamic")),
        (("explain", "dynamic", "--on", "books.ndjson"), ()),
        (("explain", "events.static", "--on", "absent.ndjson"), ("absent.ndjson",)),
        (("explain", "events.static", "--on", "empty.ndjson"), ("empty.ndjson",)),
        (
            ("explain", "events.static", "--on", "books.ndjson", "--resume"),
            ("explain-events.static",),
        ),
    ],
)
def test_what_does_not_serve_is_refused_in_a_sentence_before_a_server_is_started(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    facts: tuple[object, ...],
    *,
    message: MakeMessage,
) -> None:
    """Exit status 2, no traceback, and nothing is written."""
    (folder / "books.ndjson").write_bytes(BOOKS)
    (folder / "dynamic.ndjson").write_bytes(BOOKS)
    (folder / "empty.ndjson").touch()
    (folder / "wide.ndjson").write_text(json.dumps({f"name {n}": n for n in range(1001)}))
    (folder / "mixed.ndjson").write_text('{"x": {"a": 1}}\n{"x": 1}\n')
    (folder / "nameless.ndjson").write_text('{"a": 1}\n{"": 1}\n')
    before = sorted(folder.rglob("*"))

    assert called(monkeypatch, *words) == 2

    errors = capsys.readouterr().err
    assert errors == message(*facts)
    assert "Traceback" not in errors
    assert [path for path in sorted(folder.rglob("*")) if "state" not in path.parts] == before


CPU, SIZE = ("cpu_s_per_million_docs", "elasticsearch"), ("store_size_bytes", "primaries")


def effect(variant: str, metric: tuple[str, str], ratio: float, verdict: Any) -> Effect:
    """What leaving out a field did, 5 % to either side."""
    return Effect(
        variant=variant, against="whole mapping", metric=metric[0], scope=metric[1], ratios=(ratio,), dropped_blocks=0,
        ratio=ratio, low=ratio - 0.05, high=ratio + 0.05, verdict=verdict, smallest_detectable=None,
    )  # fmt: skip


def test_costs_are_shown_with_the_dearest_field_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 80 columns, each with its interval; undecided is said."""
    monkeypatch.setenv("COLUMNS", "80")
    effects = (
        effect("without shop", CPU, 0.98, "undecided"),
        effect("without shop", SIZE, 0.9, "lower"),
        effect("without offers", CPU, 0.6, "faster"),
        effect("without offers", SIZE, 0.7, "lower"),
    )
    units = [Unit("shop", ("shop",), "keyword", 1_200_000), Unit("offers", ("offers",), "nested", None)]

    show_costs(SuiteResult.model_construct(effects=effects), units)

    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.replace("│", " ").split()) for line in lines[2:4]] == [
        "offers nested – 30 % (25 to 35) 40 % (35 to 45)",
        "shop keyword 1.20 MB 10 % (5.0 to 15) undecided (-3.0 to 7.0)",
    ]
    assert max(map(len, lines[:4])) <= 80


def test_a_mapping_beside_dynamic_mapping_has_figures_ratios_and_rejected_documents(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was not measured is said, and what is undecided; all in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    sizes = {"dynamic mapping": 40e6, "books": 20e6}
    figures = tuple(
        VariantMetric(variant=name, name=SIZE[0], scope=SIZE[1], unit="bytes", values=(), median=of, low=of, high=of)
        for name, of in sizes.items()
    )
    effects = (
        effect("books", SIZE, 0.5, "lower"),
        effect("books", ("indexing_rate_docs_per_s", "primaries"), 1.02, "undecided"),
    )
    rejections = {"dynamic mapping": [1, 3, 2], "books": [None, 0]}
    suite: Any = SimpleNamespace(
        of_variant=lambda name: [
            SimpleNamespace(result=SimpleNamespace(documents=SimpleNamespace(dead_lettered=count)))
            for count in rejections[name]
        ]
    )

    show_beside_dynamic(suite, SuiteResult.model_construct(effects=effects, figures=figures), "books")

    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.replace("│", " ").split()) for line in lines[2:]] == [
        "size on disk 40 MB 20 MB 0.50 [0.45–0.55]",
        "indexing rate – – undecided: 1.02 [0.97–1.07]",
        "CPU per million – – too few runs",
        "rejected 2 0",
    ]
    assert max(map(len, lines)) <= 80
