"""Labels and notes of runs and suites."""

from pathlib import Path

import orjson
import pytest

from lab.cli.app import main
from lab.cli.options import marks_of
from lab.errors import ProfileError
from lab.records.marks import Marks
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.cli.test_cli_compare import suite_folder
from tests.unit.messages import MakeMessage


def test_the_last_label_of_a_name_counts() -> None:
    """A note is one line."""
    marks = marks_of(["branch=main", "commit=a=b", "branch=other"], " before\n the upgrade ")
    assert marks == Marks({"branch": "other", "commit": "a=b"}, "before the upgrade")


@pytest.mark.parametrize(
    "text", ["branch", "=main", "1st=x", "a b=c", "branch=", "branch=a\nb", f"branch={'x' * 201}", "b=\udcff"]
)
def test_a_label_that_is_none_is_refused(text: str, message: MakeMessage) -> None:
    """In one sentence."""
    with pytest.raises(ProfileError) as refused:
        marks_of([text], None)
    assert str(refused.value) == message("--label")


def test_a_long_note_is_refused(message: MakeMessage) -> None:
    """By its length."""
    with pytest.raises(ProfileError) as refused:
        marks_of((), "x" * 1001)
    assert str(refused.value) == message("--note", "1,001")


@pytest.mark.parametrize("character", ["\x1b", "\udcff"])
def test_a_note_of_characters_that_cannot_be_shown_is_refused(character: str, message: MakeMessage) -> None:
    """A terminal would obey one, and no file takes the other, after a run of minutes."""
    with pytest.raises(ProfileError) as refused:
        marks_of((), f"red {character}")
    assert str(refused.value) == message("--note", ascii(character))


def test_labels_are_changed_after_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In `run.json`, `result.json` and report alike; an empty value removes a label."""
    record = run(Truth(ticks=2)).model_copy(update={"labels": {"branch": "main", "commit": "abc"}})
    folder = written(tmp_path / "runs" / "books" / "1", record, samples(Truth(ticks=2)))
    words = ["label", "1", "branch=", "baseline=main", "--note", "the first <one>", "--runs", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", ["sluice", *words])
    assert main() == 0
    files = [orjson.loads((folder / name).read_bytes()) for name in ("run.json", "result.json")]
    assert [(file["labels"], file["note"]) for file in files] == [
        ({"commit": "abc", "baseline": "main"}, "the first <one>")
    ] * 2
    assert "commit=abc, baseline=main: the first &lt;one&gt;" in (folder / "report.html").read_text("utf-8")


def test_a_suite_of_which_no_run_has_ended_is_refused_and_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A label that is there after all would name a baseline."""
    suite_folder(tmp_path, "a", (401,))
    folder = tmp_path / "suites" / "small" / "a"
    (folder / "runs.ndjson").unlink()
    plan = (folder / "plan.json").read_bytes()
    monkeypatch.setattr("sys.argv", ["sluice", "label", "small", "baseline=main", "--runs", str(tmp_path)])
    assert main() == 2
    assert "no run of this suite has finished" in capsys.readouterr().err
    assert (folder / "plan.json").read_bytes() == plan
