"""`sluice profiles`, `suites` and `show`: what there is, and what a profile asks for."""

from pathlib import Path

import orjson
import pytest
import yaml

from lab.cli.app import main
from lab.cli.profiles import size_text
from lab.profiles import load_profile, profile_names
from tests.unit.messages import MakeMessage

FROM_THE_COMMAND_LINE = {"file": ("--set", "dataset.path=books.ndjson")}


@pytest.fixture
def sluice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Command":
    """The command line, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return Command(monkeypatch, capsys)


class Command:
    """`./sluice` in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit status, output and errors."""
        self.monkeypatch.setattr("sys.argv", ["sluice", *words])
        status = main()
        written = self.capsys.readouterr()
        return status, written.out, written.err


def test_profiles_are_found_by_their_name_and_tell_their_size(sluice: Command) -> None:
    """Two nodes and 200,000 books are not what one expects of `flat`."""
    status, output, _ = sluice("profiles", "DIN/FL")

    assert status == 0
    assert [line.partition("│")[2].strip() for line in output.splitlines()[2:-1]] == [
        "Does it speed up indexing to store each offer as its own",
        "document instead of nested in its book?",
        "200,000 books · 2 nodes · drain",
    ]
    assert output.splitlines()[-1] == "aladin: used books as Aladin, a Korean online bookshop, lists them"


def test_for_a_program_a_profile_has_its_size_in_figures(sluice: Command) -> None:
    """One that needs a path has none."""
    _, output, _ = sluice("profiles", "aladin/stream", "--json")
    assert orjson.loads(output) == [
        {
            "name": "aladin/stream",
            "question": load_profile("aladin/stream").question,
            "documents": 200_000,
            "books": None,
            "data_nodes": 2,
            "load": "stream",
            "rate_docs_per_s": 2000.0,
        }
    ]
    _, output, _ = sluice("profiles", "file", "--json")
    assert [entry.keys() for entry in orjson.loads(output)] == [{"name", "question"}]


@pytest.mark.parametrize("what", ["profile", "suite"])
def test_a_name_that_nothing_has_is_refused(sluice: Command, what: str, message: MakeMessage) -> None:
    """With the way to all of them."""
    assert sluice(f"{what}s", "nope") == (2, "", message(what, "nope", f"./sluice {what}s"))


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ({"documents": 50_003, "books": None, "data_nodes": 1, "load": "drain", "rate_docs_per_s": None},
         "50,003 documents · 1 node · drain"),
        ({"documents": None, "books": None, "data_nodes": 3, "load": "stream", "rate_docs_per_s": 997.0},
         "a whole file · 3 nodes · stream at 997/s"),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_size_is_a_line(size: dict[str, object], text: str) -> None:
    """How much, on how many nodes, how."""
    assert size_text(size) == text


def test_a_value_is_a_line_in_80_columns_with_the_profile_and_line_that_it_comes_from(sluice: Command) -> None:
    """The question stands above."""
    status, output, _ = sluice("show", "aladin/flat", "--set", "topic.partitions=7")

    lines = [[cell.strip() for cell in line.split("│")] for line in output.splitlines()]
    assert status == 0
    assert output.startswith("aladin/flat: Does it speed up indexing to store each offer as its own document")
    assert ["dataset.model", "flat", "aladin/flat:5"] in lines
    assert ["dataset.name", "aladin", "aladin/control:5"] in lines
    assert ["topic.partitions", "7", "--set"] in lines
    assert ["topic.replication_factor", "1", "default"] in lines


def test_what_all_variants_of_a_plan_share_is_said_once(sluice: Command) -> None:
    """What one sets stands below its name."""
    status, output, _ = sluice("suite", "sink-choices", "--plan", "--repeats", "1")

    lines = output.splitlines()
    names = [line.partition("│")[0].rstrip() for line in lines if "│" in line]
    assert (status, output.count("dataset.documents")) == (0, 1)
    assert "all variants: dataset.documents=200000" in lines
    assert names[names.index(" batch.size=500") :][:2] == [" batch.size=500", "   sink.config.batch.size=500"]
    assert any(line.startswith("14 runs in 1 block and some warm-up drains: about ") for line in lines)


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_written_as_a_file_is_the_same_profile(sluice: Command, tmp_path: Path, name: str) -> None:
    """Whatever it extends, and with what the command line sets."""
    given = FROM_THE_COMMAND_LINE.get(name, ())
    _, text, _ = sluice("show", name, "--yaml", *given, "--set", "index.translog.sync_interval=7s")
    (tmp_path / "mine.yaml").write_text(text)

    mine = load_profile(str(tmp_path / "mine.yaml"))

    overrides = (*given[1:], "index.translog.sync_interval=7s")
    assert mine.fingerprint() == load_profile(name, overrides=overrides).fingerprint()
    assert "extends" not in yaml.safe_load(text)
