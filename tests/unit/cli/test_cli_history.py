"""`sluice runs`: what has been run here."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from lab.cli.app import main
from tests.unit.messages import MakeMessage


def a_run(
    folder: Path,
    profile: str,
    run: str,
    *,
    rate: float | None,
    began: datetime,
    status: str = "verified",
    has_window: bool = True,
    product: str | None = None,
    contents: dict[str, str] | None = None,
) -> None:
    """A run that has ended, after a drain of 10 s."""
    path = folder / profile / run
    path.mkdir(parents=True)
    metrics = [
        {"name": "indexing_rate_docs_per_s", "scope": "primaries", "value": rate},
        {"name": "indexing_latency_ms", "scope": "primaries", "value": 0.25},
        {"name": "drain_s", "scope": "run", "value": 10.0},
    ]
    result = {
        "run_id": run,
        "profile": profile,
        "started_s": began.timestamp(),
        "status": status,
        "documents": {"produced": 1009, "indexed": 1009 if status == "verified" else 0},
        "measured_window": {} if has_window else None,
        "metrics": metrics,
        "limited_by": {"stage": "elasticsearch"},
        "environment": {"servers": [{"product": None}, {"product": product}], "contents": contents},
    }
    (path / "result.json").write_bytes(orjson.dumps(result))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of one profile, one of another, and those of a suite."""
    now = datetime.now(UTC)
    for number, rate in enumerate((1000.0, 4000.0, 8000.0), 1):
        a_run(tmp_path, "quickstart", f"2026010{number}-000000", rate=rate, began=now - timedelta(days=10 - number))
    a_run(tmp_path, "aladin/flat", "20260104-000000", rate=None, began=now - timedelta(hours=1), status="failed")
    a_run(tmp_path, "suites/s/1/runs/v", "20260105-000000", rate=1.0, began=now)
    (tmp_path / "quickstart" / "20260106-000000").mkdir()
    (tmp_path / "quickstart" / "20260106-000000" / "result.json").write_text("{}")
    return tmp_path


@pytest.fixture
def sluice_runs(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "RunsCommand":
    """What the command says of those runs."""
    return RunsCommand(folder, monkeypatch, capsys)


class RunsCommand:
    """The command, in 80 columns."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, list[str]]:
        """Exit status, and the lines of the table or the error."""
        self.monkeypatch.setenv("COLUMNS", "80")
        self.monkeypatch.setattr("sys.argv", ["sluice", "runs", "--runs", str(self.folder), *words])
        status = main()
        captured = self.capsys.readouterr()
        return status, (captured.out or captured.err).replace("│", " ").splitlines()


def words_of(lines: Sequence[str]) -> list[list[str]]:
    """The words of each line below the head."""
    return [line.split() for line in lines[2:]]


def test_profiles_are_listed_with_how_their_rate_went(sluice_runs: RunsCommand) -> None:
    """The last one first; runs of suites are those of the suite."""
    assert words_of(sluice_runs()[1]) == [
        ["aladin/flat", "1", "20260104-000000", "–"],
        ["quickstart", "3", "20260103-000000", "8,000/s", "▂▅█"],
    ]


def test_the_runs_of_a_profile_are_listed(sluice_runs: RunsCommand) -> None:
    """A line each, oldest first."""
    assert words_of(sluice_runs("quickstart")[1])[0] == [
        "20260101-000000",
        "✓",
        "1,009",
        "1,000/s",
        "0.25",
        "ms",
        "Elasticsearch",
    ]
    assert words_of(sluice_runs("aladin/flat")[1])[0][1] == "✗"


def test_the_rate_of_a_load_too_short_to_measure_is_marked_and_has_no_latency(
    sluice_runs: RunsCommand, folder: Path
) -> None:
    """Documents by their time, as at the end of the run itself; the history of the rate leaves it out."""
    now = datetime.now(UTC)
    a_run(folder, "quickstart", "20260107-000000", rate=95.7, began=now, has_window=False)
    explained = "≈: documents ÷ drain time, since the run has no measured window"
    status, lines = sluice_runs("quickstart")
    assert (status, lines[-2].split(), lines[-1]) == (
        0,
        ["20260107-000000", "✓", "1,009", "≈", "101/s", "–", "Elasticsearch"],
        explained,
    )
    lines = sluice_runs()[1]
    assert lines[2].split() == ["quickstart", "4", "20260107-000000", "≈", "101/s", "▂▅█"]
    assert lines[-1] == explained
    last = orjson.loads("\n".join(sluice_runs("--json", "quickstart")[1]))[-1]
    assert (last["rate_docs_per_s"], last["latency_ms"], last["is_rough"]) == (100.9, None, True)


def test_a_run_on_opensearch_is_limited_by_opensearch(sluice_runs: RunsCommand, folder: Path) -> None:
    """As its report says."""
    a_run(folder, "quickstart", "20260107-000000", rate=1000.0, began=datetime.now(UTC), product="OpenSearch")
    assert words_of(sluice_runs("quickstart")[1])[-1][-1] == "OpenSearch"


@pytest.mark.parametrize(("since", "profiles"), [("2h", 1), ("8d", 2), ("1w", 1), ("2020-01-01", 2)])
def test_only_runs_since_a_time(sluice_runs: RunsCommand, since: str, profiles: int) -> None:
    """So long ago, or a day."""
    assert len(words_of(sluice_runs("--since", since)[1])) == profiles


def test_other_programs_read_them_as_json(sluice_runs: RunsCommand) -> None:
    """Every figure, unrounded."""
    status, lines = sluice_runs("--json", "quickstart")
    runs = orjson.loads("\n".join(lines))
    assert (status, [run["rate_docs_per_s"] for run in runs]) == (0, [1000.0, 4000.0, 8000.0])


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("quikstart",), ("quikstart", "quickstart")),
        (
            ("--since", "99999999999w"),
            ("--since", "99999999999w", "12h", "2d", "3w", "2026-11-20"),
        ),
        (("--since", "lately"), ("--since", "lately", "12h", "2d", "3w", "2026-11-20")),
        (("quickstart", "--label", "branch=none"), ("quickstart", "branch=none")),
    ],
)
def test_what_is_unknown_is_refused(
    sluice_runs: RunsCommand, words: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With what was probably meant."""
    status, lines = sluice_runs(*words)
    assert (status, "".join(lines)) == (2, message(*facts))


def test_a_run_of_another_mapping_under_the_same_name_is_told(
    sluice_runs: RunsCommand, folder: Path, message: MakeMessage
) -> None:
    """Its rates are of other work: the course of the profile leaves out those before it."""
    for number, content in ((1, "beef"), (2, "beef"), (3, "f00d")):
        run = f"2026020{number}-000000"
        began = datetime.now(UTC) - timedelta(minutes=10 - number)
        a_run(folder, "shop", run, rate=1000.0 * number, began=began, contents={"mapping": content})

    lines = [line for line in sluice_runs("shop")[1] if "mapping" in line]

    assert lines == [message("20260203-000000", "mapping", "20260202-000000")]
    assert words_of(sluice_runs()[1])[0] == ["shop", "3", "20260203-000000", "3,000/s", "█"]


def test_runs_are_chosen_by_their_labels(folder: Path, sluice_runs: RunsCommand) -> None:
    """Each label that is named must be there."""
    for number, branch in ((1, "main"), (2, "other")):
        file = folder / "quickstart" / f"2026010{number}-000000" / "result.json"
        labels = {"labels": {"branch": branch, "commit": "abc"}}
        file.write_bytes(orjson.dumps(orjson.loads(file.read_bytes()) | labels))
    lines = sluice_runs("quickstart", "--label", "commit=abc", "--label", "branch=main")[1]
    assert [line.split()[0] for line in lines[2:3]] == ["20260101-000000"]
    assert lines[3:] == ["20260101-000000: branch=main, commit=abc"]
