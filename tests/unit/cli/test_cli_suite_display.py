"""What a suite shows of its runs: a line each, in the same words in a terminal and without one."""

from io import StringIO

import pytest

from lab.analysis.text import NARROW_SPACE
from lab.cli import suite_display
from lab.cli.suite_display import SuiteDisplay, how_long, too_short_text
from lab.console import PipeProofConsole
from lab.records.result import Metric, Result, Window
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.records.verification import Documents
from lab.suite.plan import Estimate
from tests.unit.messages import MakeMessage

METRICS = (
    Metric(name="indexing_rate_docs_per_s", scope="primaries", unit="docs/s", value=4449.4),
    Metric(name="indexing_rate_docs_per_s", scope="total", unit="docs/s", value=8000.0),
    Metric(name="indexing_latency_ms", scope="primaries", unit="ms", value=0.3916),
    Metric(name="query_rate_per_s", scope="run", unit="queries/s", value=None),
    Metric(name="drain_s", scope="run", unit="s", value=10.0),
)


def plan() -> SuitePlan:
    """Two blocks of one variant and the control."""
    names = ("control", "two shards")
    return SuitePlan(
        suite="shards",
        suite_id="1",
        question="Which one?",
        started_s=0,
        seed=1,
        repeats=2,
        control="control",
        repetition=None,
        variants=tuple(Variant(name=name, profile="quickstart", fingerprint=name) for name in names),
        order=(names, names),
        metrics=(),
    )


def run(**changes: object) -> SuiteRun:
    """A run of 13 s."""
    made = SuiteRun(
        block=2,
        variant="two shards",
        attempt=1,
        folder="x",
        status="verified",
        warm_up=False,
        started_s=0,
        ended_s=13.2,
    )
    return made.model_copy(update=changes)


def shown(
    monkeypatch: pytest.MonkeyPatch, ended: SuiteRun, *, columns: int | None = None, has_window: bool = True
) -> list[str]:
    """What a run leaves on the screen; without `columns`, in a file."""
    paper = PipeProofConsole(
        width=columns, file=StringIO(), force_terminal=columns is not None, color_system=None, highlight=False
    )
    monkeypatch.setattr(suite_display, "console", paper)
    made = plan()
    display = SuiteDisplay(made, [], {"control": 60.0, "two shards": 60.0})
    display.begins("block 2", made.variants[1], 3, 4)
    window = Window(started_s=1.0, ended_s=7.0, samples=7) if has_window else None
    documents = Documents.model_construct(indexed=30_030, already_there=0)
    result = Result.model_construct(metrics=METRICS, measured_window=window, documents=documents)
    display.ended(ended, result if ended.status != "broken" else None)
    assert isinstance(paper.file, StringIO)
    return paper.file.getvalue().replace(NARROW_SPACE, " ").splitlines()


@pytest.mark.parametrize(
    ("ended", "facts"),
    [
        (run(), ("block 2", "4,450/s", "0.39 ms", "13 s")),
        (
            run(status="void", reason="3 documents are missing"),
            ("void", "block 2", "4,450/s", "0.39 ms", "13 s", 3),
        ),
        (run(status="broken", reason="a [task] failed"), ("broken", "block 2", "13 s")),
    ],
)
def test_a_run_that_has_ended_is_one_line(
    monkeypatch: pytest.MonkeyPatch, ended: SuiteRun, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Which run it was, its figures, what is wrong with it."""
    assert shown(monkeypatch, ended, columns=120) == [message(*facts)]


def test_the_rate_of_a_load_too_short_to_measure_is_marked_and_has_no_latency(
    monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """Documents by their time, as at the end of a run by itself."""
    assert shown(monkeypatch, run(), columns=120, has_window=False) == [message(2, "3,000", 13)]


def test_without_a_terminal_a_line_says_what_begins(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """A log that ends tells which run was under way."""
    assert shown(monkeypatch, run()) == [message(2, 3, 4, 6), message(2, "4,450", 0.39, 13)]


def test_the_display_of_a_run_is_headed_by_what_begins(message: MakeMessage) -> None:
    """And by how far the suite is."""
    made = plan()
    display = SuiteDisplay(made, [], {"control": 60.0, "two shards": 60.0})
    display.begins("block 1", made.variants[0], 0, 4)

    with display.of_run() as shown:
        assert shown._heading == (message(1), message(0, 4, 6))


def test_a_warm_up_before_anything_is_planned_is_not_0_of_0() -> None:
    """A time limit decides how many runs there will be."""
    made = plan()
    display = SuiteDisplay(made, [], {"control": 60.0, "two shards": 60.0})
    display.begins("warm-up 1", made.variants[0], 0, 0)

    with display.of_run() as shown:
        assert shown._heading[1] == "about 6 min left"


@pytest.mark.parametrize(
    ("minutes", "facts"),
    [
        (
            5,
            (5, 2, 3, "--minutes", 7),
        ),
        (
            2,
            ("2 minutes fit 0 blocks", 3, "--minutes", 7),
        ),
        (7, ()),
    ],
)
def test_a_time_that_is_too_short_to_compare_anything_is_told_beforehand(
    minutes: float, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With the one that would do: a minute of warm-up, and three blocks of two."""
    made = plan().model_copy(update={"repeats": None, "minutes": minutes})
    each = {"control": 60.0, "two shards": 60.0}
    assert too_short_text(
        made, Estimate(warm_up_s=60.0, each=each, from_runs=0, runs=2, seconds=None, noise=None)
    ) == message(*facts)


def test_a_plan_counts_the_blocks_of_all_starts() -> None:
    """It told of two, and listed four."""
    made = plan()
    twice = made.model_copy(update={"starts": 2, "order": made.order * 2, "started": (1, 1, 2, 2)})
    each = dict.fromkeys(made.order[0], 60.0)
    told = how_long(twice, Estimate(warm_up_s=60.0, each=each, from_runs=0, runs=8, seconds=540.0, noise=None))
    assert told.startswith("8 runs in 4 blocks")
