"""A suite that runs until its intervals are narrow enough, or its time is over."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from lab.analysis.suite.comparisons import Pair, planned_pairs
from lab.records.result import Result
from lab.records.run import Phase
from lab.records.suite import SuitePlan, Variant
from lab.run.folder import RunFolder
from lab.suite.execution import MOST_BLOCKS, SuiteExecution
from lab.suite.folder import SuiteFolder
from lab.suite.loads import MOST_TIMES, LoadSizes
from lab.suite.plan import FIRST_BLOCKS, FIRST_BLOCKS_OF_FEW, least_blocks
from tests.unit.suite.test_suite_execution import Bench, Silent, a_plan, a_result

NAMES = ("control", "static", "flat")
FLAT: tuple[Pair, ...] = (("flat", "control"),)


def a_width(*, minutes: float | None = None) -> SuitePlan:
    """A plan of two comparisons with the control, to 5 %."""
    plan = a_plan(names=NAMES)
    variants = tuple(
        variant.model_copy(update={"against": None if variant.name == "control" else "control"})
        for variant in plan.variants
    )
    return plan.model_copy(
        update={"variants": variants, "repeats": None, "minutes": minutes, "precision": 0.05, "order": ()}
    )


class Widths:
    """Says, block by block, which comparisons are too wide; in the end none."""

    def __init__(self, *answers: Sequence[Pair]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, _: Path) -> Sequence[Pair]:
        """The next answer."""
        self.asked += 1
        return self.answers.pop(0) if self.answers else ()


def counted(folder: SuiteFolder) -> Counter[str]:
    """How often each variant ran and counted."""
    return Counter(run.variant for run in folder.runs() if run.block)


def executed(folder: SuiteFolder, bench: Bench, too_wide: Widths, *, run_s: float = 1.0) -> SuiteExecution:
    """The suite of the folder, executed; each look at the clock takes half the time of a run."""
    instants = itertools.count()
    suite = SuiteExecution(
        folder,
        bench,
        Silent(),
        is_warm=lambda rates: len(rates) > 1,
        too_wide=too_wide,
        clock=lambda: next(instants) * run_s,
    )
    suite.execute()
    return suite


def test_every_comparison_is_in_the_first_blocks(tmp_path: Path) -> None:
    """Whatever they show: of fewer, nobody knows how they scatter."""
    folder, widths = SuiteFolder.begin(tmp_path, a_width()), Widths()
    executed(folder, Bench(), widths)
    assert counted(folder) == dict.fromkeys(NAMES, FIRST_BLOCKS_OF_FEW)
    assert widths.asked == 1


def test_the_rest_of_the_time_goes_where_intervals_are_wide(tmp_path: Path) -> None:
    """A comparison that is narrow enough runs no more, and may be wide again with what the others tell."""
    both = planned_pairs(a_width())
    folder = SuiteFolder.begin(tmp_path, a_width())
    executed(folder, Bench(), Widths(FLAT, FLAT, both, FLAT))
    assert counted(folder) == {"control": 12, "flat": 12, "static": 9}
    assert [set(block) for block in folder.plan().order[FIRST_BLOCKS_OF_FEW:]] == [{"control", "flat"}] * 2 + [
        set(NAMES),
        {"control", "flat"},
    ]


@pytest.mark.parametrize(("window_s", "warm_s"), [(20.0, 450.0), (None, 0.0)], ids=["sized", "as stated"])
def test_new_servers_warm_for_a_quarter_of_the_time(tmp_path: Path, window_s: float | None, warm_s: float) -> None:
    """Where a window sizes the drains: rounds of all variants, so that none finds warmer servers than another."""
    plan = a_width(minutes=30).model_copy(update={"window_s": window_s})
    folder = SuiteFolder.begin(tmp_path, plan)
    executed(folder, Bench(), Widths(*[planned_pairs(plan)] * 99), run_s=10)
    runs = folder.runs()
    uncounted = Counter(run.variant for run in runs if not run.block)
    first_s = next(run.started_s for run in runs if run.block)
    assert warm_s <= first_s < warm_s + 150
    # What runs first has drains of its own, until its rate is stable.
    least, *others = sorted(uncounted.values())
    assert others == [least, least + 1]


def test_a_run_that_fails_ends_the_rounds_that_warm_servers(tmp_path: Path) -> None:
    """What fails at once would fill a quarter of the time with failures."""

    class Failing(Bench):
        def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
            """A void run of one variant, as long as it does not count."""
            super().run(variant, folder, warm_up=warm_up, short=short)
            return a_result(verified=not warm_up or variant.name != "static")

    bench = Failing()
    plan = a_width(minutes=30).model_copy(update={"window_s": 20.0})
    executed(SuiteFolder.begin(tmp_path, plan), bench, Widths(), run_s=10)
    assert sum(warm_up and name == "static" for name, warm_up in bench.ran) == 2


def test_a_stage_on_servers_that_are_warm_does_not_warm_them_on(tmp_path: Path) -> None:
    """As those of a tune follow each other."""
    plan = a_width(minutes=30).model_copy(update={"window_s": 20.0})
    folder, bench, instants = SuiteFolder.begin(tmp_path, plan), Bench(), itertools.count()
    suite = SuiteExecution(
        folder,
        bench,
        Silent(),
        is_warm=lambda rates: len(rates) > 1,
        too_wide=Widths(),
        clock=lambda: 10.0 * next(instants),
    )
    suite.warm = set(bench.prepare(plan.variants[0]))
    suite.execute()
    assert bench.warm_ups == len(NAMES)


def test_few_comparisons_ask_for_more_blocks_first() -> None:
    """They know less of the noise together; A/A is none of them."""
    plan = a_plan(names=[f"v{number}" for number in range(8)])
    against = [
        variant.model_copy(update={"against": None if variant.name == "v0" else "v0"}) for variant in plan.variants
    ]
    many = plan.model_copy(update={"variants": tuple(against), "repetition": "v1"})
    few = many.model_copy(update={"variants": tuple(against[:7])})
    assert (least_blocks(many), least_blocks(few)) == (FIRST_BLOCKS, FIRST_BLOCKS_OF_FEW)


def test_a_block_that_would_not_end_in_time_is_not_begun(tmp_path: Path) -> None:
    """Its length is that of those before it, what comes between two runs included."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=9))
    executed(folder, Bench(), Widths(*[planned_pairs(a_width())] * 99), run_s=10)
    runs, blocks = folder.runs(), len(folder.plan().order)
    last = [run.ended_s for run in runs if run.block in {blocks - 1, blocks}]
    block_s = last[-1] - last[len(last) // 2 - 1]
    assert runs[-1].ended_s <= 540 < runs[-1].ended_s + block_s + 30
    assert blocks > 2


def test_the_display_looks_at_the_intervals_after_each_block(tmp_path: Path) -> None:
    """So that it can say how wide they are."""

    class Listening(Silent):
        looks: ClassVar[list[Path]] = []

        def narrowed(self, folder: Path) -> None:
            self.looks.append(folder)

    folder = SuiteFolder.begin(tmp_path, a_width(minutes=9))
    instants = itertools.count()
    suite = SuiteExecution(
        folder,
        Bench(),
        Listening(),
        is_warm=lambda rates: len(rates) > 1,
        too_wide=Widths(*[planned_pairs(a_width())] * 99),
        clock=lambda: next(instants) * 10.0,
    )
    suite.execute()
    assert len(Listening.looks) == len(folder.plan().order)


def test_the_first_block_is_run_however_little_time_there_is(tmp_path: Path) -> None:
    """A suite that runs nothing tells nothing; that four blocks are needed it says itself."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=0.01))
    executed(folder, Bench(), Widths())
    assert counted(folder) == dict.fromkeys(NAMES, 1)


def test_a_width_that_is_never_reached_ends_all_the_same(tmp_path: Path) -> None:
    """Such as that of a comparison whose runs all fail."""
    folder = SuiteFolder.begin(tmp_path, a_width())
    executed(folder, Bench(), Widths(*[FLAT] * 999))
    assert len(folder.plan().order) == MOST_BLOCKS


def test_the_control_s_repetition_runs_with_the_control(tmp_path: Path) -> None:
    """The check of the method (A/A) asks for no block of its own."""
    plan = a_width()
    again = plan.variants[0].model_copy(update={"name": "control (again)", "against": "control"})
    plan = plan.model_copy(update={"variants": (*plan.variants, again), "repetition": again.name})
    folder = SuiteFolder.begin(tmp_path, plan)
    executed(folder, Bench(), Widths(FLAT))
    runs = counted(folder)
    assert (runs["control (again)"], runs["static"], runs["flat"]) == (9, 8, 9)


class Lasting(Bench):
    """Servers on which a run of each variant takes so many seconds, and nothing else takes any."""

    def __init__(self, seconds: Mapping[str, float]) -> None:
        super().__init__()
        self.seconds, self.now_s = seconds, 0.0

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
        """A run of its time."""
        self.now_s += self.seconds[variant.name]
        return super().run(variant, folder, warm_up=warm_up, short=short)


@pytest.mark.parametrize(
    ("run_s", "minutes", "first_s"),
    [(10.0, 12, 720 * 310 / (310 + 220)), (40.0, 60, 3600 * 310 / (310 + 880)), (1.0, 4, 240 * 310 / (310 + 132))],
    ids=["as long", "four times as long", "shorter than a run can be"],
)
def test_parts_run_one_after_the_other_and_share_the_time(
    tmp_path: Path, run_s: float, minutes: float, first_s: float
) -> None:
    """By what eight blocks and the warm-up of each take; a block of a part holds nothing of another one."""
    seconds = dict.fromkeys("abc", 10.0) | dict.fromkeys("xy", run_s)
    plan = a_plan(names=tuple(seconds))
    against = {"b": "a", "c": "a", "y": "x"}
    variants = tuple(
        variant.model_copy(update={"against": against.get(variant.name), "part": "xy" if variant.name in "xy" else ""})
        for variant in plan.variants
    )
    plan = plan.model_copy(
        update={"variants": variants, "repeats": None, "minutes": minutes, "precision": 0.05, "order": ()}
    )
    folder, bench = SuiteFolder.begin(tmp_path, plan), Lasting(seconds)
    always = Widths(*[planned_pairs(plan)] * 999)
    suite = SuiteExecution(
        folder, bench, Silent(), is_warm=lambda rates: len(rates) > 1, too_wide=always, clock=lambda: bench.now_s
    )
    suite.expected = seconds
    suite.execute()
    parts = [
        "xy" if set(block) <= {"x", "y"} else "abc" if set(block) <= set("abc") else "?"
        for block in folder.plan().order
    ]
    assert parts == sorted(parts)
    assert set(parts) == {"abc", "xy"}
    assert max(run.ended_s for run in folder.runs() if run.variant in "abc") == pytest.approx(first_s, abs=15)
    assert 60 * minutes - 2 * run_s - 20 < folder.runs()[-1].ended_s <= 60 * minutes


def test_a_part_may_take_half_a_block_from_the_next_one(tmp_path: Path) -> None:
    """Otherwise up to a whole block of the larger part would go to the smaller one; the last one ends in time."""
    parts = {"a": "", "b": "", "x": "xy", "y": "xy"}
    against = {"b": "a", "y": "x"}
    ends = []
    for minutes in (9, 9.5, 10, 10.5, 11):
        plan = a_plan(names=tuple(parts))
        variants = tuple(
            each.model_copy(update={"against": against.get(each.name), "part": parts[each.name]})
            for each in plan.variants
        )
        update = {"variants": variants, "repeats": None, "minutes": minutes, "precision": 0.05, "order": ()}
        folder = SuiteFolder.begin(tmp_path / str(minutes), plan.model_copy(update=update))
        executed(folder, Bench(), Widths(*[planned_pairs(plan)] * 99), run_s=10)
        first = [run for run in folder.runs() if run.variant in "ab"]
        ends.append((first[-1].ended_s - 30 * minutes, folder.runs()[-1].ended_s <= 60 * minutes))
    assert all(in_time for _, in_time in ends)
    assert -30 <= min(late for late, _ in ends) < 0 < max(late for late, _ in ends) <= 40


def test_starts_share_the_time_evenly(tmp_path: Path) -> None:
    """Each of them begins with blocks of everything."""
    plan = a_width(minutes=30).model_copy(update={"starts": 2})
    folder, bench = SuiteFolder.begin(tmp_path, plan), Bench()
    executed(folder, bench, Widths(*[planned_pairs(plan)] * 99), run_s=10)
    begun = folder.plan()
    assert len(begun.started) == len(begun.order)
    assert begun.started == tuple(sorted(begun.started))
    ends = [max(run.ended_s for run in folder.runs() if run.block and begun.start_of(run.block) == at) for at in (1, 2)]
    assert 900 - 100 < ends[0] <= 900
    assert 1800 - 100 < ends[1] <= 1800
    assert len(bench.restarts) == 1


class Servers(Bench):
    """Drains take a second for so many documents, and so long before their first one."""

    def __init__(self, takes_s: float, starts_s: float = 0.0) -> None:
        super().__init__()
        self.takes_s, self.starts_s, self.times = takes_s, starts_s, 1

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
        """A run of its size."""
        super().run(variant, folder, warm_up=warm_up, short=short)
        times = 1 if short else self.times
        return a_result(seconds=self.starts_s + times * self.takes_s, documents=times * 1009)


class OneIsFast(Servers):
    """Servers that drain in 3 s, and of one variant in a part of that."""

    def __init__(self, faster: float) -> None:
        super().__init__(takes_s=3.0)
        self.faster = faster

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
        """A run of its size."""
        result = super().run(variant, folder, warm_up=warm_up, short=short)
        times, pace = 1 if short else self.times, self.faster if variant.name == "flat" else 1
        load = Phase(name="load", started_s=0, ended_s=times * self.takes_s / pace)
        return result.model_copy(update={"phases": (load,)})


def sizes_of_drains(tmp_path: Path, bench: Servers) -> list[int | None]:
    """What the loads of a suite with windows of 20 s are multiplied by, one after the other."""
    plan = a_plan(names=NAMES).model_copy(update={"window_s": 20.0})
    variants = tuple(variant.model_copy(update={"documents": 1009}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants}))
    sizes = []

    def resize(wanted: LoadSizes) -> SuitePlan:
        sizes.append(wanted.times)
        bench.times = wanted.times or 1
        folder.write_plan(folder.plan().model_copy(update=vars(wanted)))
        return folder.plan()

    SuiteExecution(folder, bench, Silent(), is_warm=lambda rates: len(rates) > 1, resize=resize).execute()
    return sizes


@pytest.mark.parametrize(("takes_s", "times"), [(25.0, 1), (20.0, 1), (12.0, 2), (3.0, 8), (0.01, MOST_TIMES)], ids=str)
def test_drains_are_lengthened_once_by_the_rate_of_the_warm_up(tmp_path: Path, takes_s: float, times: int) -> None:
    """To 20 s and a fifth more, since others may be faster; what is long enough stays."""
    bench = Servers(takes_s)
    assert sizes_of_drains(tmp_path, bench) == [times]
    # Where runs that count are longer, the control has an uncounted one of that length, too, as all others have.
    uncounted = [name for name, warm_up in bench.ran if warm_up]
    assert uncounted.count("control") - bench.short.count("control") == (times > 1)
    assert bench.short == ["control"] * 2


def test_drains_are_lengthened_again_where_the_first_long_one_is_over_too_soon(tmp_path: Path) -> None:
    """Most of a short warm-up is the start of its load: it tells a third of the rate."""
    assert sizes_of_drains(tmp_path, Servers(takes_s=1.0, starts_s=2.0)) == [8, 20]


@pytest.mark.parametrize(("faster", "sizes"), [(1.5, [8]), (4.0, [8, 14])])
def test_drains_are_lengthened_for_the_fastest_variant(tmp_path: Path, faster: float, sizes: list[int]) -> None:
    """A drain of 6 s has less than the five seconds that are measured after the warm-up; one of 16 s has them."""
    assert sizes_of_drains(tmp_path, OneIsFast(faster)) == sizes


def test_longer_drains_may_leave_time_for_fewer_blocks(tmp_path: Path) -> None:
    """As in a stage of a tune, also where the second variant is the one that asks for them: no other block runs."""
    plan = a_plan(names=NAMES, repeats=3).model_copy(update={"window_s": 20.0, "started": (1, 1, 1)})
    variants = tuple(variant.model_copy(update={"documents": 1009}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants}))
    bench = OneIsFast(faster=4.0)

    def resize(wanted: LoadSizes) -> SuitePlan:
        bench.times, plan = wanted.times or 1, folder.plan()
        fewer = len(plan.order) - 1
        blocks = {"repeats": fewer, "order": plan.order[:fewer], "started": plan.started[:fewer]}
        folder.write_plan(plan.model_copy(update=vars(wanted) | blocks))
        return folder.plan()

    SuiteExecution(folder, bench, Silent(), is_warm=lambda rates: len(rates) > 1, resize=resize).execute()
    assert (folder.plan().repeats, sorted(bench.counted)) == (1, sorted(NAMES))


def test_a_rate_in_documents_is_streamed_as_it_is(tmp_path: Path) -> None:
    """From the warm-up on, whatever that reached; of a share of the limit see test_suite_limit.py."""
    plan = a_plan(names=NAMES).model_copy(update={"rate": "600"})
    variants = tuple(variant.model_copy(update={"documents": 1009}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants}))
    asked = []

    def resize(wanted: LoadSizes) -> SuitePlan:
        asked.append(wanted)
        folder.write_plan(folder.plan().model_copy(update=vars(wanted)))
        return folder.plan()

    suite = SuiteExecution(
        folder, Bench(warm_up_s=[4.0]), Silent(), is_warm=lambda rates: len(rates) > 1, resize=resize
    )
    suite.execute()
    assert asked == [LoadSizes(1009 / 4, 600.0)]


def test_the_control_tells_the_sizes_whatever_runs_first(tmp_path: Path) -> None:
    """Another seed draws another order, and is to load as much."""
    plan = a_plan(names=NAMES).model_copy(update={"window_s": 20.0, "order": (("flat", "control", "static"),)})
    variants = tuple(variant.model_copy(update={"documents": 1009}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants, "repeats": 1}))

    def resize(wanted: LoadSizes) -> SuitePlan:
        folder.write_plan(folder.plan().model_copy(update=vars(wanted)))
        return folder.plan()

    bench = Bench()
    SuiteExecution(folder, bench, Silent(), is_warm=lambda rates: len(rates) > 1, resize=resize).execute()
    assert bench.ran[:2] == [("control", True)] * 2
    assert bench.counted == ["flat", "control", "static"]


@pytest.mark.parametrize("other", [{"load_s": 30.0}, {"layout": "one"}], ids=["at a rate", "queries alone"])
def test_what_is_no_drain_tells_nothing_of_their_length(tmp_path: Path, other: dict[str, object]) -> None:
    """A load at a rate lasts as long as it says."""
    plan = a_plan(names=NAMES).model_copy(update={"window_s": 20.0})
    variants = tuple(variant.model_copy(update={"documents": 1009, **other}) for variant in plan.variants)
    folder = SuiteFolder.begin(tmp_path, plan.model_copy(update={"variants": variants}))
    asked: list[LoadSizes] = []

    def resize(wanted: LoadSizes) -> SuitePlan:
        asked.append(wanted)
        return folder.plan()

    suite = SuiteExecution(folder, Bench(), Silent(), is_warm=lambda rates: len(rates) > 1, resize=resize)
    suite.execute()
    assert asked == []


def test_an_interrupted_suite_goes_on_with_its_block_and_its_time(tmp_path: Path) -> None:
    """Of the time for which it was interrupted, none counts."""

    class Interrupted(Bench):
        def run(self, *arguments: object, **options: object) -> object:
            if len(self.counted) == 4:
                raise KeyboardInterrupt
            return super().run(*arguments, **options)  # type: ignore[arg-type]

    folder = SuiteFolder.begin(tmp_path, a_width())
    with pytest.raises(KeyboardInterrupt):
        executed(folder, Interrupted(), Widths())
    begun = folder.plan().order
    resumed = executed(folder, Bench(), Widths())
    assert folder.plan().order[:2] == begun
    assert counted(folder) == dict.fromkeys(NAMES, FIRST_BLOCKS_OF_FEW)
    assert resumed.earlier == 4 + 4


def test_a_finished_suite_that_is_resumed_begins_no_block_that_would_be_late(tmp_path: Path) -> None:
    """How long its blocks take is known from before."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=9))
    executed(folder, Bench(), Widths(*[planned_pairs(a_width())] * 99), run_s=10)
    before = folder.plan().order
    executed(folder, Bench(), Widths(*[planned_pairs(a_width())] * 99), run_s=10)
    assert folder.plan().order == before


def of_two_parts() -> SuitePlan:
    """Two variants of each, one block of each."""
    plan = a_plan(names=("a", "b", "x", "y"), repeats=1)
    against = {"b": "a", "y": "x"}
    variants = tuple(
        variant.model_copy(update={"against": against.get(variant.name), "part": "xy" if variant.name in "xy" else ""})
        for variant in plan.variants
    )
    return plan.model_copy(update={"variants": variants, "order": (("a", "b"), ("x", "y"))})


def test_between_parts_only_what_the_next_one_lacks_is_changed(tmp_path: Path) -> None:
    """Two more nodes, and all else stays warm."""
    folder, bench = SuiteFolder.begin(tmp_path, of_two_parts()), Bench()
    executed(folder, bench, Widths())
    assert (bench.restarts, bench.changes) == ([], [("", "xy", 2)])


def test_all_variants_of_a_part_run_uncounted_before_one_counts(tmp_path: Path) -> None:
    """The first of those that count would find colder servers than the last."""
    folder, bench = SuiteFolder.begin(tmp_path, of_two_parts()), Bench()
    executed(folder, bench, Widths())
    warm = [("a", True)] * 2 + [("b", True)]
    assert bench.ran == [*warm, ("a", False), ("b", False), ("x", True), ("y", True), ("x", False), ("y", False)]
