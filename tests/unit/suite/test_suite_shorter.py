"""Drains of a suite are shortened where its time is short."""

from pathlib import Path

import pytest

from lab.analysis.statistics.effects import LEAST_BLOCKS
from lab.records.suite import SuitePlan
from lab.suite.execution import SuiteExecution
from lab.suite.folder import SuiteFolder
from lab.suite.loads import LoadSizes, UncountedRun, shortened
from tests.unit.suite.drained import DrainedServers
from tests.unit.suite.test_suite_execution import Silent
from tests.unit.suite.test_suite_width import Widths, a_width, counted


@pytest.mark.parametrize(("minutes", "is_shorter"), [(6, True), (30, False)])
def test_drains_are_shortened_where_three_blocks_would_not_fit_in_the_time(
    tmp_path: Path, minutes: int, *, is_shorter: bool
) -> None:
    """On a slow machine 40 minutes were over after two blocks, and nothing could be compared."""
    bench = DrainedServers(40_000.0, between=0.0, within=0.0, seed=1)
    plan = a_width(minutes=minutes).model_copy(update={"window_s": 20.0})
    variants = tuple(each.model_copy(update={"documents": bench.documents}) for each in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants}))
    sizes = []

    def resize(wanted: LoadSizes) -> SuitePlan:
        sizes.append(wanted.times or 1)
        bench.times = wanted.times or 1
        folder.write_plan(folder.plan().model_copy(update=vars(wanted)))
        return folder.plan()

    warm = {"is_warm": lambda rates: len(rates) > 1, "too_wide": Widths(), "clock": lambda: bench.now_s}
    SuiteExecution(folder, bench, Silent(), resize=resize, **warm).execute()  # type: ignore[arg-type]
    assert (sizes[-1] < max(sizes)) is is_shorter
    assert min(counted(folder).values()) >= LEAST_BLOCKS
    assert folder.runs()[-1].ended_s - folder.runs()[0].started_s <= 60 * minutes


@pytest.mark.parametrize(
    ("runs", "block_s", "times"),
    [
        # 20 s around two runs, and 10 s of each for a sixth of the documents: 80 s leave room for 3 times.
        ([UncountedRun(70.0, 60.0, 6), UncountedRun(70.0, 60.0, 6)], 80.0, 3),
        # The first ran with a third of the documents that drains have now.
        ([UncountedRun(30.0, 20.0, 2), UncountedRun(70.0, 60.0, 6)], 80.0, 3),
        ([UncountedRun(70.0, 60.0, 6), UncountedRun(70.0, 60.0, 6)], 140.0, 6),
        # A rate needs 6 s of the fastest, which takes 1.5 s for a sixth.
        ([UncountedRun(70.0, 60.0, 6), UncountedRun(19.0, 9.0, 6)], 30.0, 4),
    ],
)
def test_how_much_shorter_follows_from_what_each_run_takes(
    runs: list[UncountedRun], block_s: float, times: int
) -> None:
    """Beside its documents and for them, whatever their number was then."""
    assert shortened(6, runs, around_s=10.0, block_s=block_s) == times
