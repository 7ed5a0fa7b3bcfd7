"""Rally's words on the command line: a run written in them, and two reports beside each other."""

from pathlib import Path

import pytest

from lab.cli.app import main
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.messages import MakeMessage

REPORTS = Path(__file__).parents[1] / "analysis/rally"
OLDER, NEWER = str(REPORTS / "dense-vector-8.17.4.md"), str(REPORTS / "dense-vector-9.0.0.md")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run."""
    written(tmp_path / "books" / "one", run(Truth()), samples(Truth()))
    return tmp_path


def ended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str, columns: int = 80
) -> tuple[int, str, str]:
    """Exit status, output and errors of a command line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.argv", ["sluice", *words])
    status = main()
    text = capsys.readouterr()
    return status, text.out, text.err


def test_two_reports_are_laid_beside_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Task by task, in 80 columns; each refused row has its reason."""
    status, out, _ = ended(monkeypatch, capsys, "compare", OLDER, NEWER)

    assert status == 0
    assert max(map(len, out.splitlines()[1:])) <= 80
    below = out.partition("index-update-concurrent-with-searches")[2]
    assert next(line for line in below.splitlines() if "Mean Throughput" in line).endswith("-43 % ")
    assert "not compared: 44 rows" in out
    assert out.count("counts all indices of the cluster") == 44


def test_a_run_is_laid_beside_a_report(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What both measured, which is that documents were added."""
    status, out, _ = ended(monkeypatch, capsys, "compare", "one", OLDER, "--runs", str(runs))

    assert status == 0
    assert "index-append" in out


def test_a_run_is_written_in_rallys_words(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice: for programs and for a note."""
    status, out, _ = ended(monkeypatch, capsys, "report", "one", "--as", "rally", "--runs", str(runs), columns=200)

    assert (status, out.count("rally.csv"), out.count("rally.md")) == (0, 1, 1)
    assert (runs / "books/one/rally.csv").read_text().startswith("Metric,Task,Value,Unit")


@pytest.mark.parametrize(
    "case",
    [
        ("gone.csv", "", "cannot be read"),
        ("other.csv", "Metric,Task,Value,Unit\nerror rate,elsewhere,0,%\n", "no row of the two measured the same task"),
    ],
)
def test_reports_that_cannot_be_compared_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: tuple[str, str, str]
) -> None:
    """One sentence, exit status 2."""
    name, text, message = case
    if text:
        (tmp_path / name).write_text(text)
    status, _, err = ended(monkeypatch, capsys, "compare", str(tmp_path / name), OLDER)

    assert (status, message in err, err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize("words", [("report", "one", "--as", "rally"), ("compare", "one", OLDER)])
def test_a_run_that_is_not_verified_has_no_figures_in_rallys_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: MakeMessage,
) -> None:
    """Nothing in such a report could say that documents are missing."""
    written(tmp_path / "books" / "one", run(Truth(dead_lettered=13)), samples(Truth(dead_lettered=13)))
    made = tmp_path / "books" / "one" / "run.json"
    made.write_text(made.read_text().replace('"verified": true', '"verified": false', 1))
    status, _, err = ended(monkeypatch, capsys, *words, "--runs", str(tmp_path), columns=200)

    assert (status, err) == (2, message("not verified"))
    assert not (tmp_path / "books/one/rally.csv").exists()
