"""A tune under way: its stages, its time, and how it goes on after an interruption or a refusal."""

from dataclasses import fields
from math import log
from pathlib import Path
from typing import Any

import pytest

from lab.analysis.tune.paste import BEST, write_recommended
from lab.analysis.tune.report import write_tune_report
from lab.analysis.tune.result import analyse_tune
from lab.cli.tune import OneDataset
from lab.errors import ProfileError
from lab.monitor import CLOCK
from lab.profiles import Profile, load_profile
from lab.profiles.spaces import Start
from lab.records.result import Result
from lab.records.suite import SuiteRun, Variant
from lab.records.tune import START, Candidate, Stage, TunePlan
from lab.run.folder import RunFolder
from lab.suite.loads import LoadSizes
from lab.suite.plan import RUN_BASE_S
from lab.tune.execution import ForgivingBench, Profiles, TuneExecution, walls_s
from lab.tune.folder import TuneFolder
from lab.tune.plan import BETWEEN_S
from tests.unit.messages import MakeMessage, Naming
from tests.unit.tune.benches import AROUND_S, BEGUN_S, GAINS, OVERRIDDEN, RATE, Bench, Finished, Listening, execution

pytestmark = pytest.mark.usefixtures("no_stage_reports")


def test_it_keeps_to_its_time(finished: Finished) -> None:
    """The confirmation included, which has a quarter of it or more."""
    _, result, bench = finished
    assert bench.now_s - BEGUN_S <= 1200
    (confirm,) = [each for each in result.stages if each.stage.kind == "confirm"]
    assert confirm.blocks >= 4


@pytest.mark.parametrize("minutes", [7, 10, 20])
@pytest.mark.parametrize("around_s", [4, 30, 75])
def test_it_keeps_to_its_time_whatever_runs_take(
    tmp_path: Path, plan: TunePlan, start: Start, minutes: float, around_s: float
) -> None:
    """Eighteen seconds were expected of each; and it never says that the start is best where it does not know."""
    folder = TuneFolder.begin(tmp_path, plan.model_copy(update={"minutes": minutes}))
    bench = Bench(GAINS, around_s=around_s, noise=0.3)
    execution(folder, start, bench).execute()
    result = analyse_tune(folder.path, ended=True)
    assert bench.now_s - BEGUN_S <= 66 * minutes
    assert result.is_known or any(words in result.headline for words in ("Not known", "not known", "void"))


def test_a_time_without_a_confirmation_is_told_before_a_run_counts(
    tmp_path: Path, plan: TunePlan, start: Start, message: MakeMessage
) -> None:
    """The mix has the rest of it, and what it tells is not confirmed."""
    folder, progress = TuneFolder.begin(tmp_path, plan.model_copy(update={"minutes": 10})), Listening()
    execution(folder, start, Bench(GAINS, around_s=50.0), progress).execute()
    result = analyse_tune(folder.path, ended=True)
    assert progress.heard == [(0, message("10 min", 20, "--minutes", 21))]
    assert {each.stage.kind for each in result.stages} == {"mixed"}
    assert (result.chosen, result.recommended, result.is_known) == (None, (), False)
    assert result.headline == message("Not confirmed", 8, "tasks=2 +29 %", "Keep the start")


class SlowerThanWarm(Bench):
    """Servers whose runs that count take longer than the warm-up told, as where a neighbour has come."""

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool, **how: Any) -> Result:
        """A run of either kind."""
        self.now_s += 0.0 if warm_up else 30.0
        return super().run(variant, folder, warm_up=warm_up, **how)


@pytest.mark.parametrize("minutes", [8, 10, 12])
def test_a_mix_has_its_time_where_runs_that_count_are_slower_than_the_warm_up(
    tmp_path: Path, plan: TunePlan, start: Start, minutes: float
) -> None:
    """The time of a confirmation, which would not fit any more, is not kept: the mix would end after one run."""
    folder = TuneFolder.begin(tmp_path, plan.model_copy(update={"minutes": minutes}))
    bench = SlowerThanWarm(GAINS)
    execution(folder, start, bench).execute()
    counted = [run for _, stage in folder.stages() for run in stage.runs() if run.block]
    assert len(counted) == 8
    assert bench.now_s - BEGUN_S <= 66 * minutes


def test_a_confirmation_is_not_repeated_into_the_time_of_nobody(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Its fewest blocks end in time, since the mix has left it."""
    folder = TuneFolder.begin(tmp_path, plan.model_copy(update={"minutes": 20}))
    bench = Bench(GAINS, around_s=30.0)
    execution(folder, start, bench).execute()
    (confirm,) = [each for each in analyse_tune(folder.path, ended=True).stages if each.stage.kind == "confirm"]
    assert confirm.blocks >= 4
    assert bench.now_s - BEGUN_S <= 1260


def test_a_stage_without_time_for_a_run_is_none(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Its servers are new to a mapping, say, and warm up for longer than is left; the mix is told."""
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS)
    tune = execution(folder, start, bench)
    tune.bench, tune.begun_s = ForgivingBench(bench), bench.now_s
    mix = Stage(number=1, kind="mixed", blocks=((("tasks=2",), ("refresh_interval=30s",)),) * 3)
    tune.run(mix, tune.begin(mix))
    confirm = Stage(number=2, kind="confirm", blocks=((("tasks=2",),),))
    begun = tune.begin(confirm)
    bench.now_s += 1250
    tune.run(confirm, begun)
    assert tune.next_stage() is None
    assert [stage.number for stage, _ in folder.stages()] == [1]
    assert analyse_tune(folder.path, ended=True).stages[0].blocks == 3


def test_only_the_start_has_runs_that_do_not_count(finished: Finished) -> None:
    """Servers stay, and none of these settings makes them compile anything."""
    _, _, bench = finished
    assert [name for name, warm_up in bench.ran if warm_up] == [START, START]


def test_another_mapping_has_a_run_that_does_not_count(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Its first run makes servers compile what they have not done before; a combination with it need not again."""
    dynamic = Candidate(name="dynamic", setting="mapping", value="dynamic")
    mapped = plan.model_copy(update={"candidates": (*plan.candidates, dynamic)})
    tune = execution(TuneFolder.begin(tmp_path, mapped), start, Bench(GAINS))
    block = ((), ("tasks=2",), ("dynamic",), ("tasks=2", "dynamic"))
    suite = tune.begin(Stage(number=1, kind="mixed", blocks=(block,))).plan()
    kinds = {each.name: each.kind for each in suite.variants}
    assert kinds[START] == kinds["tasks=2"] != kinds["dynamic"] == kinds["tasks=2 + dynamic"]


def test_a_stage_runs_its_blocks_with_the_start_in_each(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Once, whether the block has drawn it or not, and in another order each time."""
    tune = execution(TuneFolder.begin(tmp_path, plan), start, Bench(GAINS))
    names = ("tasks=2", "refresh_interval=30s", "codec=best_compression")
    blocks = (((), *((name,) for name in names)), tuple((name,) for name in names)) * 3
    order = tune.begin(Stage(number=1, kind="mixed", blocks=blocks)).plan().order
    assert [sorted(each) for each in order] == [sorted((START, *names))] * 6
    assert len(set(order)) > 3


def test_the_first_stage_has_fewer_blocks_where_runs_take_longer(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Than was expected before there was one, or where the warm-up did; at least one is left."""
    bench = Bench(GAINS)
    tune = execution(TuneFolder.begin(tmp_path, plan), start, bench)
    tune.begun_s = bench.now_s
    stage = Stage(number=1, kind="mixed", blocks=((("tasks=2",), ("refresh_interval=30s",)),) * 6)
    suite = tune.begin(stage).plan()
    assert tune.blocks_in_time(suite, LoadSizes(5000.0, times=1))["repeats"] == 6
    slow = tune.blocks_in_time(suite, LoadSizes(1000.0, times=1))
    assert (slow["repeats"], slow["order"]) == (2, suite.order[:2])
    assert tune.blocks_in_time(suite, LoadSizes(7.0, times=1))["repeats"] == 1
    bench.now_s += 600
    assert tune.blocks_in_time(suite, LoadSizes(5000.0, times=1))["repeats"] == 1


def test_drains_that_only_measure_the_limit_change_no_blocks(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Runs that count are streams, which last as long as was planned."""
    tune = execution(TuneFolder.begin(tmp_path, plan), start, Bench(GAINS))
    drains = tune.begin(Stage(number=1, kind="mixed", blocks=((("tasks=2",),),) * 6)).plan()
    streams = drains.model_copy(update={"rate": "70%"})
    assert tune.blocks_in_time(drains, LoadSizes(7.0, times=50))["repeats"] == 1
    assert tune.blocks_in_time(streams, LoadSizes(7.0, times=50)) == {}


def test_loads_grow_where_a_combination_is_much_faster(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """At three times the rate the first stage's drain would be over in a third of the window."""
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS | {"sink.tasks": log(3)})
    execution(folder, start, bench).execute()

    times = [stage.plan().times for _, stage in folder.stages()]
    assert (times[0], set(times[1:])) == (1, {4})
    assert bench.now_s - BEGUN_S <= 1200


def test_times_to_come_are_those_of_larger_loads(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Only drains grow, and each variant has its own time; three times the rate needs four times the documents."""
    folder, bench = TuneFolder.begin(tmp_path, plan), Bench(GAINS | {"sink.tasks": log(3)})
    tune = execution(folder, start, bench)
    tune.bench, tune.begun_s = ForgivingBench(bench), bench.now_s
    tune.run(stage := Stage(number=1, kind="mixed", blocks=((("tasks=2",),),) * 2), tune.begin(stage))
    times = tune.times()
    fixed_s = RUN_BASE_S + BETWEEN_S
    walls_s = {START: AROUND_S + OVERRIDDEN / RATE, "tasks=2": AROUND_S + OVERRIDDEN / RATE / 3}
    assert times.runs_s == pytest.approx({name: fixed_s + 4 * (wall_s - fixed_s) for name, wall_s in walls_s.items()})


def test_a_run_that_failed_says_nothing_of_how_long_runs_take() -> None:
    """It may have waited for minutes."""
    made = [
        SuiteRun(block=block, variant="a", attempt=1, folder=None, status=status, started_s=begun_s, ended_s=ended_s)
        for block, status, begun_s, ended_s in [
            (0, "verified", 0, 10),
            (1, "verified", 12, 20),
            (1, "broken", 21, 321),
            (2, "void", 322, 330),
        ]
    ]
    assert walls_s(made) == [(made[1], 10)]


def test_an_interrupted_tune_goes_on_where_it_was(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """No run that counts is done twice, and the stage's plan stays."""
    folder = TuneFolder.begin(tmp_path, plan)
    with pytest.raises(KeyboardInterrupt):
        execution(folder, start, Bench(GAINS, break_off=9)).execute()
    ((stage, suite),) = folder.stages()
    before, order = suite.runs(), suite.plan().order
    assert analyse_tune(folder.path).headline == Naming("Not finished", 1)

    execution(folder, start, Bench(GAINS)).execute()

    (again, of_it), *others = folder.stages()
    assert (again, of_it.plan().order) == (stage, order)
    assert of_it.runs()[: len(before)] == before
    cells = [(run.block, run.variant, run.turn) for run in of_it.runs() if run.block]
    assert len(set(cells)) == len(cells)
    assert others[-1][0].kind == "confirm"
    assert analyse_tune(folder.path).recommended == ("tasks=2", "refresh_interval=30s")


def test_a_setting_that_a_server_refuses_ends_its_own_runs_only(
    tmp_path: Path, plan: TunePlan, start: Start, message: MakeMessage
) -> None:
    """The search goes on without it, and says why."""
    folder = TuneFolder.begin(tmp_path, plan)
    execution(folder, start, Bench(GAINS, refused="index.refresh_interval")).execute()
    result = analyse_tune(folder.path, ended=True)
    assert result.recommended == ("tasks=2",)
    assert [(each.name, each.reason) for each in result.not_tried] == [
        ("refresh_interval=30s", message("index.refresh_interval"))
    ]


def test_a_combination_that_makes_no_profile_is_not_possible(plan: TunePlan, start: Start) -> None:
    """Such as one that does not fit the servers; its parts do."""

    def fitted(profile: Profile) -> Profile:
        if profile.sink.tasks > 1 and profile.index.get("refresh_interval") == "30s":
            raise ProfileError("one of them")
        return profile

    profiles = Profiles(plan, start, fitted, OneDataset())
    combinations = (("tasks=2",), ("refresh_interval=30s",), ("tasks=2", "refresh_interval=30s"))
    assert [profiles.is_possible(each) for each in combinations] == [True, True, False]


def test_where_nothing_gains_the_start_is_recommended(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Its profile is the start, and nothing was spent on a confirmation."""
    folder = TuneFolder.begin(tmp_path, plan)
    execution(folder, start, Bench(dict.fromkeys(GAINS, -0.2))).execute()
    result = analyse_tune(folder.path, ended=True)
    write_recommended(folder.path, result)
    write_tune_report(folder.path)
    assert (result.chosen, result.recommended, result.settings) == (None, (), {})
    assert result.headline == Naming("Keep the start")
    assert load_profile(str(folder.path / BEST)).fingerprint() == start.profile.fingerprint()


def test_a_refusal_of_the_start_ends_the_tune(tmp_path: Path, plan: TunePlan, start: Start) -> None:
    """Nothing could be compared with it; the folder stays, since a stage has begun."""
    folder = TuneFolder.begin(tmp_path, plan)
    with pytest.raises(ProfileError, match="the server refuses it"):
        execution(folder, start, Bench(GAINS, refused="index.number_of_shards")).execute()
    assert not folder.removed_if_empty()


def test_a_clock_that_is_set_takes_no_time_of_a_tune() -> None:
    """It has the clock of runs and of suites, which goes on where the machine's is set."""
    (clock,) = (each.default for each in fields(TuneExecution) if each.name == "clock")
    assert clock == CLOCK.now_s
