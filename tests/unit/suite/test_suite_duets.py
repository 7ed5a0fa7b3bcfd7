"""A suite whose comparisons are pairs of runs at the same time."""

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.analysis.suite.comparisons import Pair, planned_pairs
from lab.analysis.suite.folder import last_attempts
from lab.errors import StackError
from lab.records.result import Result
from lab.records.suite import SuitePlan, Variant
from lab.run.folder import RunFolder
from lab.suite.duets import DuetExecution
from lab.suite.folder import SuiteFolder
from lab.suite.plan import DUET_WARM_UPS, FIRST_BLOCKS_OF_FEW
from tests.unit.messages import MakeMessage
from tests.unit.suite.test_suite_execution import Bench, Silent, a_result
from tests.unit.suite.test_suite_time import a_run
from tests.unit.suite.test_suite_width import Widths, a_width

STATIC, FLAT = {"static", "control"}, {"flat", "control"}


class TwoSets(Bench):
    """Two sets of servers that do as a test says.

    Attributes:
        pairs: The variants of each pair so far, the one on the first set first.
    """

    def __init__(self, outcomes: Sequence[tuple[Result | StackError, Result | StackError]] = ()) -> None:
        super().__init__()
        self.of_pairs = list(outcomes)
        self.pairs: list[tuple[str, ...]] = []

    def run_both(
        self, variants: Sequence[Variant], folders: Sequence[RunFolder], **_: object
    ) -> Sequence[Result | StackError]:
        """The next outcomes."""
        assert len({folder.path for folder in folders}) == 2
        self.pairs.append(tuple(variant.name for variant in variants))
        return self.of_pairs.pop(0) if self.of_pairs else (a_result(), a_result())


class Interrupted(TwoSets):
    """Ends in its third pair."""

    def run_both(
        self, variants: Sequence[Variant], folders: Sequence[RunFolder], **_: object
    ) -> Sequence[Result | StackError]:
        """The next outcomes, of two pairs."""
        if len(self.pairs) == 2:
            raise KeyboardInterrupt
        return super().run_both(variants, folders)


def a_duet(*, minutes: float | None = None) -> SuitePlan:
    """A plan of two comparisons with the control, in pairs."""
    return a_width(minutes=minutes).model_copy(update={"duets": True})


def executed(
    folder: SuiteFolder, bench: TwoSets, too_wide: Widths, *, look_s: float = 1.0, warm_after: int = 2
) -> None:
    """Execute the suite of the folder; the clock goes so far with each look at it."""
    instants = itertools.count()
    DuetExecution(
        folder,
        bench,
        Silent(),
        is_warm=lambda rates: len(rates) >= warm_after,
        too_wide=too_wide,
        clock=lambda: next(instants) * look_s,
    ).execute()


def test_each_comparison_runs_in_pairs_of_its_own(tmp_path: Path) -> None:
    """As often as the other ones, and each variant as often on either set of servers."""
    bench = TwoSets()
    executed(SuiteFolder.begin(tmp_path, a_duet()), bench, Widths())
    assert [set(pair) for pair in bench.pairs] == [STATIC, FLAT] * FIRST_BLOCKS_OF_FEW
    on_the_first_set = Counter(pair[0] for pair in bench.pairs)
    half = FIRST_BLOCKS_OF_FEW // 2
    assert on_the_first_set == {"control": 2 * half, "static": half, "flat": half}


def test_a_block_of_the_plan_is_a_pair(tmp_path: Path) -> None:
    """So that the ratio of a block is that of two runs at the same time."""
    folder = SuiteFolder.begin(tmp_path, a_duet())
    bench = TwoSets()
    executed(folder, bench, Widths())
    assert list(folder.plan().order) == bench.pairs
    assert [run.variant for run in folder.runs() if run.block] == [name for pair in bench.pairs for name in pair]


def test_the_rest_of_the_time_goes_where_intervals_are_wide(tmp_path: Path) -> None:
    """A comparison that is narrow enough runs no more."""
    wide: tuple[Pair, ...] = (("flat", "control"),)
    bench = TwoSets()
    executed(SuiteFolder.begin(tmp_path, a_duet()), bench, Widths(*[wide] * 4))
    assert [set(pair) for pair in bench.pairs[2 * FIRST_BLOCKS_OF_FEW :]] == [FLAT] * 3


def test_all_variants_are_warm_before_the_first_pair(tmp_path: Path) -> None:
    """Each on both sets, as the bench runs what does not count."""
    bench = TwoSets()
    executed(SuiteFolder.begin(tmp_path, a_duet()), bench, Widths())
    assert {name for name, warm_up in bench.ran if warm_up} == {"control", "static", "flat"}
    assert all(warm_up for _, warm_up in bench.ran)


def test_servers_that_stay_cold_are_warmed_by_a_few_drains_at_least(tmp_path: Path) -> None:
    """However long they take: the last ones size the loads of all pairs."""
    bench = TwoSets()
    executed(SuiteFolder.begin(tmp_path, a_duet()), bench, Widths(), look_s=100, warm_after=99)
    assert max(Counter(name for name, warm_up in bench.ran if warm_up).values()) == DUET_WARM_UPS


def test_a_pair_that_failed_at_once_does_not_shorten_what_a_good_one_takes(tmp_path: Path) -> None:
    """More pairs would begin than fit in the time; one that waited for a timeout may do so again."""
    plan = a_duet().model_copy(update={"order": (("static", "control"), ("flat", "control")), "started": (1, 1)})
    execution = DuetExecution(SuiteFolder.begin(tmp_path, plan), TwoSets(), Silent(), is_warm=bool)
    execution.expected = dict.fromkeys(("control", "static", "flat"), 20.0)
    now_s, expected_s = 0.0, []
    for block, seconds, status in ((1, 3, "broken"), (2, 50, "verified"), (1, 400, "void"), (1, 400, "void")):
        times = {"started_s": now_s, "ended_s": now_s + seconds}
        pair = [a_run(name, seconds, block=block, status=status) for name in plan.order[block - 1]]
        execution.ended += [run.model_copy(update=times) for run in pair]
        now_s += seconds
        expected_s.append(execution.expected_s(("static", "control")))
    assert expected_s == [20, 50, 201.5, 400]


def test_a_pair_of_which_one_run_is_void_is_repeated_whole(tmp_path: Path, message: MakeMessage) -> None:
    """And the run beside it does not count: the ratio of two runs at other times is no pair's."""
    folder = SuiteFolder.begin(tmp_path, a_duet())
    bench = TwoSets([(a_result(), a_result(verified=False))])
    executed(folder, bench, Widths())
    assert bench.pairs[0] == bench.pairs[1]
    first = [(run.attempt, run.status, run.reason) for run in folder.runs() if run.block == 1]
    assert first == [
        (1, "broken", message("not verified")),
        (1, "void", message(3)),
        (2, "verified", None),
        (2, "verified", None),
    ]
    assert {run.attempt for (block, *_), run in last_attempts(folder.runs()).items() if block == 1} == {2}


def test_a_pair_that_fails_twice_is_left_out(tmp_path: Path) -> None:
    """And the suite goes on."""
    folder = SuiteFolder.begin(tmp_path, a_duet())
    broken = StackError("the worker has ended")
    executed(folder, TwoSets([(broken, a_result())] * 2), Widths())
    of_first = {run.status for (block, *_), run in last_attempts(folder.runs()).items() if block == 1}
    assert of_first == {"broken"}
    assert len(folder.plan().order) == 2 * FIRST_BLOCKS_OF_FEW


def test_what_others_take_from_both_is_no_reason_to_repeat_them(tmp_path: Path) -> None:
    """It is said of each run all the same."""
    folder = SuiteFolder.begin(tmp_path, a_duet())
    stolen = a_result(steal_percent=30.0)
    executed(folder, TwoSets([(stolen, stolen)]), Widths())
    first = [run for run in folder.runs() if run.block == 1]
    assert [(run.attempt, run.disturbed) for run in first] == [(1, None)] * 2
    assert all("the hypervisor took 30 %" in (run.reason or "") for run in first)


def test_a_pair_that_would_not_end_in_time_is_not_begun(tmp_path: Path) -> None:
    """Its length is that of the last pair of the same comparison."""
    folder = SuiteFolder.begin(tmp_path, a_duet(minutes=9))
    executed(folder, TwoSets(), Widths(*[planned_pairs(a_duet())] * 99), look_s=10)
    ends = [run.ended_s for run in folder.runs() if run.block][1::2]
    assert len(ends) > 4
    assert ends[-1] <= 540 < ends[-1] + (ends[-1] - ends[-2]) + 30


def test_an_interrupted_suite_goes_on_with_the_pair_that_is_left(tmp_path: Path) -> None:
    """Its servers are others, which are warmed first."""
    folder = SuiteFolder.begin(tmp_path, a_duet())

    with contextlib.suppress(KeyboardInterrupt):
        executed(folder, Interrupted(), Widths())
    bench = TwoSets()
    executed(folder, bench, Widths())
    assert bench.pairs[0] == folder.plan().order[2]
    assert len(bench.pairs) == 2 * FIRST_BLOCKS_OF_FEW - 2


def test_what_a_suite_was_interrupted_for_is_no_part_of_a_pair(tmp_path: Path) -> None:
    """A suite that is resumed the next day has as many pairs as one that was not."""
    wide = Widths(*[planned_pairs(a_duet())] * 99)
    folder = SuiteFolder.begin(tmp_path, a_duet(minutes=30))

    def clock_from(start_s: float) -> Callable[[], float]:
        instants = itertools.count()
        return lambda: start_s + next(instants) * 10.0

    for bench, start_s in ((Interrupted(), 0.0), (TwoSets(), 80_000.0)):
        with contextlib.suppress(KeyboardInterrupt):
            DuetExecution(
                folder, bench, Silent(), is_warm=lambda rates: len(rates) > 1, too_wide=wide, clock=clock_from(start_s)
            ).execute()
    assert len(folder.plan().order) > 2 * FIRST_BLOCKS_OF_FEW


def test_runs_at_the_same_time_have_ids_of_their_own(tmp_path: Path) -> None:
    """What is published of one would take the place of the other's."""
    folder = SuiteFolder.begin(tmp_path, a_duet())
    executed(folder, TwoSets(), Widths())
    ids = [Path(run.folder or "").name for run in folder.runs()]
    assert len(set(ids)) == len(ids)
