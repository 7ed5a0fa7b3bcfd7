"""A suite keeps to its time: no run begins that is not expected to end within it."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.analysis.suite.comparisons import planned_pairs
from lab.analysis.suite.folder import runs_left
from lab.errors import ProfileError
from lab.records.result import Result
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.run.folder import RunFolder
from lab.suite.durations import comparison_text, durations_s, room_text, slowdown, uncounted_run_s
from lab.suite.execution import SuiteExecution
from lab.suite.folder import SuiteFolder
from lab.suite.loads import UncountedRun
from lab.suite.plan import LAYOUT_BASE_S, RATE_DOCS_PER_S, RUN_BASE_S, taken_s
from tests.unit.messages import MakeMessage
from tests.unit.suite.test_suite_execution import Bench, Silent, a_plan, a_result
from tests.unit.suite.test_suite_time import a_run
from tests.unit.suite.test_suite_width import NAMES, Widths, a_width

EXPECTED = {"control": 20.0, "static": 20.0, "flat": 40.0}


class SlowServers(Bench):
    """Servers whose runs take so long, whatever was expected, and are all disturbed where others use the machine.

    Attributes:
        spread: Of a run's duration, relative, evenly to either side.
    """

    def __init__(self, run_s: float, *, spread: float = 0.0, steal_percent: float = 0.0) -> None:
        super().__init__()
        self.run_s, self.spread, self.steal_percent = run_s, spread, steal_percent
        self.draw = random.Random(11)  # noqa: S311 - noise, no secret
        self.now_s = 0.0

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
        """A run for which the time passes."""
        super().run(variant, folder, warm_up=warm_up, short=short)
        self.now_s += self.run_s * (1 + self.draw.uniform(-self.spread, self.spread))
        return a_result(steal_percent=self.steal_percent)


class Listening(Silent):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def warned(self, text: str) -> None:
        """Keep it."""
        self.heard += [text] if text else []


def ran(folder: SuiteFolder, bench: SlowServers, progress: Silent | None = None) -> tuple[SuiteRun, ...]:
    """The runs of the folder's suite, all of whose comparisons stay too wide."""
    execution = SuiteExecution(
        folder,
        bench,
        progress or Silent(),
        is_warm=lambda rates: len(rates) > 1,
        too_wide=Widths(*[planned_pairs(a_width())] * 99),
        clock=lambda: bench.now_s,
    )
    execution.expected = EXPECTED
    execution.execute()
    return folder.runs()


# --- the warm-up's share --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "drains"),
    [
        pytest.param(None, 8, id="no limit: as many as ever"),
        (7, 1),
        (10, 2),
        pytest.param(60, 4, id="3 min are enough"),
    ],
)
def test_drains_wait_for_stable_rates_for_a_quarter_of_the_time(
    tmp_path: Path, minutes: float | None, drains: int
) -> None:
    """On a busy machine they took all of it; a first run of each other variant remains, and what counts is as long."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=minutes))
    bench = SlowServers(59.0 if minutes else 7.0)
    execution = SuiteExecution(
        folder, bench, Silent(), is_warm=lambda _: False, too_wide=Widths(), clock=lambda: bench.now_s
    )
    execution.execute()
    uncounted = Counter(run.variant for run in folder.runs() if not run.block)
    assert sum(uncounted.values()) == drains + len(NAMES) - 1
    assert set(uncounted) == set(NAMES)


def test_servers_of_each_start_part_and_way_have_as_much_of_the_warm_up_s_share(tmp_path: Path) -> None:
    """Else the last ones would be colder than the first."""
    plan = a_width(minutes=40)
    one, two, *others = plan.variants
    apart = (
        one,
        two.model_copy(update={"way": "rsyslog"}),
        *(each.model_copy(update={"servers": "others"}) for each in others),
    )
    of_two = plan.model_copy(update={"variants": apart, "starts": 2})
    execution = SuiteExecution(SuiteFolder.begin(tmp_path, of_two), SlowServers(1.0), Silent(), is_warm=lambda _: False)
    assert execution.warm_share_s == 600 / 6


# --- durations ------------------------------------------------------------------------------------------------------


def failed(seconds: float) -> SuiteRun:
    """A run of a variant that was to count and was not verified."""
    return a_run("static", seconds, block=1, status="broken")


@pytest.mark.parametrize(
    ("ended", "each_s"),
    [
        pytest.param([], (20, 20, 40), id="nothing has run: as expected"),
        pytest.param([a_run("static", 50, block=1)], (50, 50, 100), id="one tells of the others"),
        pytest.param(
            [a_run("static", seconds, block=1) for seconds in (50, 51, 400)], (51, 51, 102), id="one is no rule"
        ),
        pytest.param([a_run("control", 90), a_run("flat", 10, block=1)], (5, 5, 10), id="a warm-up is no run"),
    ],
)  # fmt: skip
def test_a_run_takes_as_long_as_those_of_its_variant_or_else_as_those_of_others(
    ended: Sequence[SuiteRun], each_s: tuple[float, ...]
) -> None:
    """By what ran here rather than by what was expected of another machine; the pause before a run is its own."""
    apart = [
        run.model_copy(update={"started_s": day * 86_400.0, "ended_s": day * 86_400 + run.ended_s - run.started_s})
        for day, run in enumerate(ended)
    ]
    assert durations_s(a_plan(), apart, uncounted={}, expected=EXPECTED) == dict(zip(NAMES, each_s, strict=True))


@pytest.mark.parametrize(
    ("ended", "each_s"),
    [
        pytest.param([failed(3)], (20, 20, 40), id="as expected"),
        pytest.param([failed(3), failed(3), a_run("static", 50, block=2)], (50, 50, 100), id="as a good one"),
        pytest.param([a_run("control", 30, block=1), failed(3)], (30, 30, 60), id="as others tell"),
        pytest.param([failed(300)], (20, 300, 40), id="the next may wait for the same timeout"),
    ],
)
def test_a_run_that_failed_at_once_does_not_shorten_what_a_good_one_takes(
    ended: Sequence[SuiteRun], each_s: tuple[float, ...]
) -> None:
    """A plan would promise blocks that do not fit."""
    assert durations_s(a_plan(), ended, uncounted={}, expected=EXPECTED) == dict(zip(NAMES, each_s, strict=True))


def test_a_run_after_one_that_failed_at_once_is_no_slowdown() -> None:
    """It was twenty times as long as what had told nothing; one that is slower than a good one is."""
    static = {"static": 60.0}
    assert slowdown([failed(3), a_run("static", 60, block=1)], static) == 1.0
    assert slowdown([a_run("static", seconds, block=1) for seconds in (40, 60)], static) == 1.5


def test_the_pause_before_a_run_is_a_part_of_it() -> None:
    """Servers are prepared in it; an interruption is none."""
    first, second = a_run("static", 50, block=1), a_run("flat", 30, block=1)
    after = second.model_copy(update={"started_s": first.ended_s + 7, "ended_s": first.ended_s + 37})
    assert durations_s(a_plan(), [first, after], uncounted={}, expected={})["flat"] == 37


@pytest.mark.parametrize(
    ("pause_s", "taken"),
    [(7, 87), (-20, 60), (86_400, 80), (-3600, 80)],
    ids=["a pause", "side by side", "an interruption", "a clock that was set back between two sessions"],
)
def test_a_suite_has_taken_its_runs_and_the_pauses_between_them(pause_s: float, taken: float) -> None:
    """No time is given back, or a resumed suite would run for an hour more than it may."""
    first, second = a_run("static", 50, block=1), a_run("flat", 30, block=1)
    began_s = first.ended_s + pause_s
    after = second.model_copy(update={"started_s": began_s, "ended_s": began_s + 30})
    assert taken_s([first, after]) == taken


def test_an_uncounted_run_tells_how_long_one_of_another_size_takes() -> None:
    """Only its load grows: 6 s of 20 are around it."""
    plan = a_plan().model_copy(update={"times": 3})
    each_s = durations_s(plan, [], uncounted={"control": UncountedRun(20.0, 10.0, 1)}, expected=EXPECTED)
    assert each_s["control"] == RUN_BASE_S + 3 * (20 - RUN_BASE_S)


def test_a_kept_index_takes_time_until_it_is_there() -> None:
    """As much more than expected as the one before it."""
    update = {"documents": 120_000, "layout": "one", "kind": "one"}
    plan = a_plan()
    one, two, _ = plan.variants
    kept = plan.model_copy(
        update={
            "variants": (one.model_copy(update=update), two.model_copy(update=update | {"layout": "two"})),
        }
    )
    makes_s = 10 + LAYOUT_BASE_S + 120_000 / RATE_DOCS_PER_S
    made = [a_run("control", 3 * makes_s)]
    first, second = kept.variants
    assert uncounted_run_s(kept, [], first, run_s=10, short=True) == makes_s
    assert uncounted_run_s(kept, made, first, run_s=10, short=True) == 10
    assert uncounted_run_s(kept, made, second, run_s=10, short=False) == pytest.approx(3 * makes_s)


# --- the limit ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [6, 10, 23])
@pytest.mark.parametrize(("run_s", "spread"), [(17, 0.0), (50, 0.6)], ids=["as expected", "slow and restless"])
@pytest.mark.parametrize("steal_percent", [0, 36], ids=["quiet", "disturbed"])
def test_a_suite_ends_within_a_tenth_of_its_time(
    tmp_path: Path, minutes: float, run_s: float, spread: float, steal_percent: float
) -> None:
    """Whatever runs take, and however often one is repeated; what is left out is not missing."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=minutes))
    runs = ran(folder, SlowServers(run_s, spread=spread, steal_percent=steal_percent))
    longest_s = run_s * (1 + spread)
    assert 60 * minutes - 4 * longest_s < runs[-1].ended_s <= 66 * minutes
    assert runs_left(folder.plan(), runs) == []


def test_repetitions_leave_the_time_for_the_fewest_blocks(tmp_path: Path) -> None:
    """Three of a comparison; eight minutes once were one block, and repetitions."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=5.7))
    runs = ran(folder, SlowServers(25, steal_percent=36))
    assert [run.attempt for run in runs if run.block] == [1] * 9
    assert len(folder.plan().order) == 3


def test_a_block_that_takes_longer_than_expected_is_cut_short(tmp_path: Path) -> None:
    """Half a minute was expected, and its first run takes two: the next one may be as slow."""

    class Slowing(SlowServers):
        def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, short: bool, **_: object) -> Result:
            """Slow from the second block on."""
            self.run_s = 120 if len(self.counted) >= len(NAMES) else 10
            return super().run(variant, folder, warm_up=warm_up, short=short)

    folder = SuiteFolder.begin(tmp_path, a_width(minutes=4))
    runs = ran(folder, Slowing(10))
    assert runs[-1].ended_s == 70 + 120
    assert [len(block) for block in folder.plan().order] == [3, 1]
    assert runs_left(folder.plan(), runs) == []


def test_a_warm_up_that_takes_all_of_the_time_is_told(tmp_path: Path, message: MakeMessage) -> None:
    """And ended: nothing can be compared, as where kept indices take longer to make than the whole was to last."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=3))
    bench = SlowServers(100)
    with pytest.raises(ProfileError) as refusal:
        ran(folder, bench)
    assert str(refusal.value) == message("--minutes", 3)
    assert bench.now_s <= 198


def test_a_suite_without_a_limit_runs_as_long_as_it_takes(tmp_path: Path) -> None:
    """Its number of blocks is stated."""
    folder = SuiteFolder.begin(tmp_path, a_plan())
    assert len(runs_left(folder.plan(), ran(folder, SlowServers(10_000)))) == 0


# --- what is said ---------------------------------------------------------------------------------------------------


def test_a_time_too_short_for_a_comparison_is_told_once_servers_are_warm(tmp_path: Path, message: MakeMessage) -> None:
    """Before the first run that counts, by what the warm-up has taken."""
    progress = Listening()
    ran(SuiteFolder.begin(tmp_path, a_width(minutes=8)), SlowServers(50), progress)
    assert progress.heard == [message(8, 5, 9, "--minutes", 11)]
    enough = Listening()
    ran(SuiteFolder.begin(tmp_path / "b", a_width(minutes=11)), SlowServers(50), enough)
    assert enough.heard == []


def test_a_resumed_suite_is_not_told_that_its_comparisons_lack_time(tmp_path: Path) -> None:
    """They have their three blocks, and what is left holds another one."""
    folder = SuiteFolder.begin(tmp_path, a_width(minutes=11))
    for block in (1, 2, 3):
        folder.add_block(NAMES, 1)
        for place, name in enumerate(NAMES):
            began_s = 50.0 * (3 * block + place)
            timed = {"started_s": began_s, "ended_s": began_s + 50}
            folder.append(a_run(name, 50, block=block).model_copy(update=timed))
    progress = Listening()
    runs = ran(folder, SlowServers(5), progress)
    assert max(run.block for run in runs) > 3
    assert progress.heard == []


def test_what_a_time_holds_is_told_in_runs(message: MakeMessage) -> None:
    """With the time that would do; nothing where it holds them, or nobody knows how long they take."""
    text = room_text(10, left_s=450, run_s=50, needed=21, what="a confirmation")
    assert text == message(10, 9, 50, 21, "--minutes", 20)
    assert room_text(10, left_s=450, run_s=50, needed=9, what="x") == ""
    assert room_text(10, left_s=450, run_s=0, needed=9, what="x") == ""


def test_all_comparisons_need_their_blocks() -> None:
    """Three of 110 s."""
    plan: SuitePlan = a_width(minutes=9)
    each = {"control": 30.0, "static": 30.0, "flat": 50.0}
    assert comparison_text(plan, each, 9, spent_s=200) == ""
    assert comparison_text(plan, each, 9, spent_s=220).endswith("--minutes 10")
