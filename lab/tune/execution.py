"""A tune under way: stage after stage on the same warm servers, each of them a suite with a folder of its own."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from math import ceil
from random import Random
from shutil import rmtree
from statistics import median
from typing import Protocol, Unpack

from pydantic import JsonValue

from lab.analysis.statistics import warm_up
from lab.analysis.suite.report import write_suite_report
from lab.analysis.suite.result import analyse_suite
from lab.analysis.tune.estimates import LEAST_CONFIRM_BLOCKS
from lab.analysis.tune.folder import FINISHED, read_stages
from lab.analysis.tune.goals import METRICS
from lab.errors import ProfileError, StackError
from lab.monitor import CLOCK
from lab.profiles import Profile
from lab.profiles.spaces import Start
from lab.profiles.suites import AGAIN, Measures, Suite, SuiteVariant
from lab.records.result import Result
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.records.tune import START, Combination, Stage, TunePlan, combination_name
from lab.run.folder import RunFolder
from lab.suite.bench import Bench, RunOptions, SuiteProgress
from lab.suite.durations import MOST_OVER, NoTimeError, room_text
from lab.suite.execution import SuiteExecution
from lab.suite.folder import SuiteFolder
from lab.suite.loads import MOST_TIMES, LoadSizes, resized, sizes_of
from lab.suite.plan import INTERRUPTED_S, RUN_BASE_S, kind_of, make_plan, next_block, pairs_of_part, taken_s
from lab.tune.folder import TuneFolder
from lab.tune.plan import BETWEEN_S, Expected
from lab.tune.search import Search, Times
from producers.dataset import Dataset

CONFIRM_PRECISION = 0.02
"""Half-width of an interval that the confirmation need not narrow any more."""
SEEDS = 100
"""Between those of two tunes: each stage draws its own order."""
QUESTIONS = {
    "mixed": "What does each setting give, whatever the others are?",
    "together": "Which of the best combinations is the best?",
    "confirm": "Is what the search has chosen better than the start?",
}


class TuneBench(Bench, Protocol):
    """The servers of all stages."""

    def add(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Have other variants run as well from here on."""
        ...


class ForgivingBench:
    """A bench on which a setting that a server refuses ends the runs of its combination, and not the search.

    Attributes:
        start: Names of the variants that must not be refused: nothing could be compared with them.
    """

    def __init__(self, bench: TuneBench) -> None:
        self._bench = bench
        self.start = (START, START + AGAIN)
        self.add, self.replace, self.prepare = bench.add, bench.replace, bench.prepare
        self.restart, self.change_part = bench.restart, bench.change_part

    @property
    def run_ids(self) -> set[str]:
        """Runs of the tune so far."""
        return self._bench.run_ids

    @run_ids.setter
    def run_ids(self, ids: set[str]) -> None:
        self._bench.run_ids = ids

    def run(self, variant: Variant, folder: RunFolder, **how: Unpack[RunOptions]) -> Result:
        """Run the variant once; raises StackError if it came to no end, or a server refused what it sets."""
        try:
            return self._bench.run(variant, folder, **how)
        except ProfileError as error:
            if variant.name in self.start:
                raise
            raise StackError(str(error)) from error


class TuneProgress(Protocol):
    """Shows the stages of a tune."""

    def stage(self, stage: Stage, plan: SuitePlan, folder: SuiteFolder) -> SuiteProgress:
        """A stage begins, or goes on; what shows its runs."""
        ...


@dataclass(frozen=True)
class Profiles:
    """The profiles of combinations, as they run on the servers.

    Attributes:
        start: As it is searched.
        fitted: `Servers.fitted`.
        dataset_of: The dataset of a profile; that of all combinations is the same.
        documents: That there are; `None` where as many can be made as a window asks for.
    """

    plan: TunePlan
    start: Start
    fitted: Callable[[Profile], Profile]
    dataset_of: Callable[[Profile], Dataset]
    documents: int | None = None
    _made: dict[Combination, SuiteVariant] = field(default_factory=dict, init=False, repr=False, compare=False)

    def settings(self, combination: Combination) -> dict[str, JsonValue]:
        """Settings of a combination, with all that its candidates require."""
        return self.start.settings(map(self.plan.candidate, combination))

    def variant(self, combination: Combination) -> SuiteVariant:
        """A combination as a variant, compared with the start; the start itself with nothing."""
        if combination not in self._made:
            changed = self.start.changed(self.settings(combination))
            against = START if combination else None
            name = combination_name(combination)
            self._made[combination] = SuiteVariant(name, self.fitted(changed.profile), changed.overrides, against)
        return self._made[combination]

    def is_possible(self, combination: Combination) -> bool:
        """Check that a combination makes a profile that can run on the servers."""
        try:
            self.variant(combination)
        except ProfileError:
            return False
        return True

    def suite(self, stage: Stage, minutes: float | None) -> Suite:
        """The suite of a stage.

        Args:
            minutes: Of a confirmation, which has as many blocks as there is time for.
        """
        start = self.variant(())
        again = [replace(start, name=START + AGAIN, against=START)] if stage.kind == "confirm" else []
        measures = Measures(minutes=minutes, precision=CONFIRM_PRECISION)
        return Suite(
            name=f"tune {self.plan.tune}, stage {stage.number} ({stage.kind})",
            question=QUESTIONS[stage.kind],
            control=START,
            repetition=again[0].name if again else None,
            variants=(start, *again, *map(self.variant, stage.combinations)),
            measures=measures if stage.kind == "confirm" else Measures(repeats=len(stage.blocks)),
            seed=SEEDS * self.plan.seed + stage.number,
            metrics=tuple((metric.name, metric.scope) for metric in self.plan.metrics),
            published=None,
            window_s=self.plan.window_s,
            rate=self.plan.goal.rate,
        )

    def datasets(self, suite: Suite) -> dict[str, Dataset]:
        """The dataset of each variant."""
        return {variant.name: self.dataset_of(variant.profile) for variant in suite.variants}

    def with_sizes(self, suite: Suite, sizes: LoadSizes) -> Suite:
        """The suite with loads of these sizes."""
        return resized(suite, sizes, {name: dataset.documents for name, dataset in self.datasets(suite).items()})

    def capped(self, sizes: LoadSizes) -> LoadSizes:
        """Sizes for which there are documents.

        Raises:
            ProfileError: There are too few for a stream at a share of the limit, which only the warm-up tells.
        """
        if self.documents is None:
            return sizes
        if sizes.rate_docs_per_s and sizes.rate_docs_per_s * self.plan.window_s > self.documents:
            needed = sizes.rate_docs_per_s * self.plan.window_s
            share = int(100 * self.documents / self.plan.window_s / sizes.limit_docs_per_s)
            raise ProfileError(
                f"--goal: latency at {self.plan.goal.rate}: got a file of {self.documents:,} documents, expected"
                f" {needed:,.0f} for {self.plan.window_s:g} s; choose {share} % or less"
            )
        if sizes.times is None:
            return sizes
        each = self.dataset_of(self.start.profile).documents
        return replace(sizes, times=max(1, min(sizes.times, self.documents // each)))


class StageExecution(SuiteExecution):
    """A stage, which ends within the time of its tune.

    Attributes:
        to_confirm: Runs of the fewest blocks of a confirmation; 0 where there is none to come.
        room_s: Time that was left when the first run that counts was to begin; 0 before.
        least_runs: Runs of the stage that are worth their time.
        fewest_runs: Runs below which it tells nothing.
        what: Noun that needs them all.
    """

    to_confirm = 0
    room_s = 0.0
    least_runs = fewest_runs = 0
    what = ""

    def until_s(self) -> float:
        """Time by which the last run must have ended, in seconds that the suite has taken.

        A confirmation keeps its time as long as the stage has some beside it, by what runs take now: where those that
        count take longer than the warm-up told, a stage would otherwise end at once, and nothing be told.
        """
        run_s = self.durations_s()[START]
        is_room = self.room_s >= (self.to_confirm + self.least_runs) * run_s
        return self.limit_s - (self.to_confirm * run_s if is_room else 0.0)

    def look_ahead(self) -> None:
        """Say, once servers are warm, that the time is too short for a confirmation.

        Raises:
            NoTimeError: What is left of it would tell nothing.
        """
        needed, left_s = self.to_confirm + self.least_runs, self.limit_s - self.spent_s()
        run_s, minutes = self.durations_s()[START], self.minutes or 0.0
        text = room_text(minutes, left_s=left_s, run_s=run_s, needed=needed, what=self.what) if needed else ""
        if text and not self.counted and left_s < self.fewest_runs * run_s:
            raise NoTimeError(minutes, self.spent_s(), text)
        self.room_s = left_s
        self.progress.warned(text)


@dataclass
class TuneExecution:
    """Runs what is left of a tune.

    Attributes:
        takes: How long runs are expected to take, until some have ended.
        side_by_side: Whether different servers run at the same time.
        warm, tried: What `SuiteExecution` knows of the servers, which stay from stage to stage.
        begun_s: When this session began.
        earlier: Runs of sessions before it.
        is_over: Whether a stage had no time for a run.
    """

    folder: TuneFolder
    profiles: Profiles
    search: Search
    bench: TuneBench
    progress: TuneProgress
    takes: Expected
    side_by_side: bool = False
    is_warm: Callable[[Sequence[float]], bool] = warm_up.is_warm
    clock: Callable[[], float] = CLOCK.now_s
    warm: set[Hashable] = field(default_factory=set)
    tried: set[tuple[Hashable, str]] = field(default_factory=set)
    begun_s: float = field(default=0.0, init=False)
    earlier: list[SuiteRun] = field(default_factory=list, init=False)
    is_over: bool = field(default=False, init=False)

    def execute(self) -> None:
        """Finish the stage that was interrupted, if there is one, and run the others one after the other.

        Raises:
            ProfileError: A server refuses a setting of the start.
            StackError: The servers cannot be brought up.
        """
        self.bench = ForgivingBench(self.bench)
        self.begun_s = self.clock()
        stages = self.folder.stages()
        self.earlier = [run for _, folder in stages for run in folder.runs()]
        for _, folder in stages:
            self.bench.run_ids |= folder.run_ids()
        for stage, folder in stages:
            if not (folder.path / FINISHED).is_file():
                self.run(stage, folder)
        while (wanted := self.next_stage()) is not None:
            self.run(wanted, self.begin(wanted))

    def next_stage(self) -> Stage | None:
        """Next stage, by the measurements so far and the time left."""
        if self.is_over:
            return None
        measured = list(read_stages(self.folder.path))
        return self.search.next_stage(measured, self.times())

    # --- time -------------------------------------------------------------------------------------------------------

    def times(self) -> Times:
        """Times left after the start, and times of runs so far, with loads of the next stage's size."""
        budget_s = 60 * self.profiles.plan.minutes
        starting_s = 0.0 if self.folder.stages() else self.takes.starting_s
        walls = self.walls_s()
        run_s = median(chain(*walls.values())) if walls else self.takes.run_s
        runs_s = {name: median(of_variant) for name, of_variant in walls.items()}
        return Times(budget_s - self.spent_s() - starting_s, budget_s, run_s, runs_s)

    def walls_s(self) -> dict[str, list[float]]:
        """Times of each variant's verified runs, scaled to loads of the next stage's size."""
        sizes = self.sizes()
        walls: dict[str, list[float]] = defaultdict(list)
        for _, folder in self.folder.stages():
            grown = growth(folder.plan(), sizes)
            for run, wall_s in walls_s(folder.runs()):
                around_s = min(wall_s, RUN_BASE_S + BETWEEN_S)
                walls[run.variant].append(around_s + (wall_s - around_s) * grown)
        return walls

    def spent_s(self) -> float:
        """Time that the tune has taken, without the time for which it was interrupted."""
        return taken_s(self.earlier) + self.clock() - self.begun_s

    # --- stages -----------------------------------------------------------------------------------------------------

    def begin(self, stage: Stage) -> SuiteFolder:
        """A new folder with the plan of a stage."""
        minutes = (self.times().left_s / 60) if stage.kind == "confirm" else None
        settings = {combination_name(each): self.profiles.settings(each) for each in stage.combinations}
        plan = self.planned(self.profiles.suite(stage, minutes), self.sizes())
        plan = with_first_blocks(plan) if stage.kind == "confirm" else in_blocks(plan, stage)
        return self.folder.begin_stage(stage.model_copy(update={"settings": settings}), plan)

    def run(self, stage: Stage, folder: SuiteFolder) -> None:
        """Run what is left of a stage, and write down what it says."""
        plan = folder.plan()
        suite = self.profiles.suite(stage, plan.minutes)
        self.bench.add({each.name: each.profile for each in suite.variants}, self.profiles.datasets(suite))
        if sizes := sizes_of(plan):
            self.use(self.profiles.with_sizes(suite, sizes))
        execution = StageExecution(
            folder,
            self.bench,
            self.progress.stage(stage, plan, folder),
            is_warm=self.is_warm,
            resize=lambda wanted: self.resize(wanted, suite, folder),
            clock=self.clock,
        )
        execution.warm, execution.tried = self.warm, self.tried
        execution.minutes = self.profiles.plan.minutes
        execution.expected = dict.fromkeys((each.name for each in suite.variants), self.takes.run_s)
        left_s = 60 * execution.minutes - self.spent_s()
        execution.limit_s = execution.spent_s() + left_s
        if stage.kind == "confirm":
            execution.limit_s += MOST_OVER * 60 * execution.minutes
        elif self.search.runs_to_confirm == 0 or self.times().can_confirm:
            execution.to_confirm, execution.what = self.search.runs_to_confirm, self.search.what
            if stage.number == 1:
                execution.least_runs, execution.fewest_runs = self.search.least_runs, self.search.fewest_runs
        try:
            execution.execute()
        except NoTimeError:
            if stage.number == 1:
                raise
            # What the stages before it tell is told.
            self.is_over = True
            rmtree(folder.path)
            return
        analyse_suite(folder.path)
        write_suite_report(folder.path)

    def planned(self, suite: Suite, sizes: LoadSizes | None) -> SuitePlan:
        """The plan of a stage, whose loads have these sizes; `None` where the warm-up is still to tell them."""
        sized = self.profiles.with_sizes(suite, sizes) if sizes else suite
        documents = {name: dataset.documents for name, dataset in self.profiles.datasets(sized).items()}
        plan = make_plan(
            sized,
            seed=None,
            skipped={},
            documents=documents,
            command=self.profiles.plan.command,
            side_by_side=self.side_by_side,
        )
        kinds = {each.name: kind_of(each.profile) for each in suite.variants}
        variants = tuple(each.model_copy(update={"kind": kinds[each.name]}) for each in plan.variants)
        known = vars(sizes) if sizes else {}
        return plan.model_copy(update={"variants": variants, "started_s": self.clock(), **known})

    def sizes(self) -> LoadSizes | None:
        """Size of the next stage's loads; `None` before the first warm-up.

        The warm-up decides. Where a combination is much faster than the start, its drains still have to last as long as
        asked for: a shorter one has too few samples for a rate.
        """
        plans = (folder.plan() for _, folder in self.folder.stages())
        known = next((sizes for plan in plans if (sizes := sizes_of(plan))), None)
        if known is None or known.times is None:
            return known
        base_documents = self.profiles.dataset_of(self.profiles.start.profile).documents
        least = ceil(self.profiles.plan.window_s * self.largest_docs_per_s() / base_documents)
        return self.profiles.capped(replace(known, times=min(MOST_TIMES, max(known.times, least))))

    def largest_docs_per_s(self) -> float:
        """The indexing rate of the fastest combination so far; 0 where none is known."""
        rate = METRICS["rate"]
        figures = (figure for each in read_stages(self.folder.path) for figure in each.figures)
        of_rate = (figure.median for figure in figures if figure.key == rate.key)
        return max((median for median in of_rate if median is not None), default=0.0)

    def resize(self, wanted: LoadSizes, suite: Suite, folder: SuiteFolder) -> SuitePlan:
        """Give the loads of a stage these sizes, in its servers' bench and in its plan; the plan as it is then."""
        sizes = self.profiles.capped(wanted)
        self.use(self.profiles.with_sizes(suite, sizes))
        planned, plan = self.planned(suite, sizes), folder.plan()
        plan = plan.model_copy(update={"variants": planned.variants, **vars(sizes), **self.blocks_in_time(plan, sizes)})
        folder.write_plan(plan)
        return plan

    def blocks_in_time(self, plan: SuitePlan, sizes: LoadSizes) -> dict[str, object]:
        """The blocks that there is time for, where the warm-up tells that runs take longer than was expected."""
        if plan.repeats is None or sizes.times is None or plan.rate is not None:
            return {}
        documents = self.profiles.dataset_of(self.profiles.start.profile).documents * sizes.times
        run_s = RUN_BASE_S + BETWEEN_S + documents / sizes.limit_docs_per_s
        budget_s = 60 * self.profiles.plan.minutes
        times = Times(budget_s - self.spent_s(), budget_s, run_s)
        blocks = min(plan.repeats, self.search.blocks_in_time(times, len(plan.order[0])))
        return {"repeats": blocks, "order": plan.order[:blocks], "started": plan.started[:blocks]}

    def use(self, suite: Suite) -> None:
        """Have runs that count use these profiles."""
        profiles = {variant.name: variant.profile for variant in suite.variants}
        self.bench.replace(profiles, self.profiles.datasets(suite))


def growth(plan: SuitePlan, sizes: LoadSizes | None) -> float:
    """Factor by which loads are larger than those of a stage."""
    return sizes.times / plan.times if sizes and sizes.times and plan.times else 1.0


def with_first_blocks(plan: SuitePlan) -> SuitePlan:
    """A confirmation whose fewest blocks are drawn: they run whatever their intervals are."""
    numbers = range(1, LEAST_CONFIRM_BLOCKS + 1)
    order = tuple(next_block(plan, pairs_of_part(plan, ""), number, "") for number in numbers)
    return plan.model_copy(update={"order": order, "started": (1,) * LEAST_CONFIRM_BLOCKS})


def in_blocks(plan: SuitePlan, stage: Stage) -> SuitePlan:
    """The plan with the blocks of a stage, each in an order of its own, with the start in each."""
    draw = Random(plan.seed)  # noqa: S311 - an order that can be had again, no secret
    orders = []
    for block in stage.blocks:
        names = list(dict.fromkeys((START, *map(combination_name, block))))
        draw.shuffle(names)
        orders.append(tuple(names))
    return plan.model_copy(update={"order": tuple(orders), "started": (1,) * len(orders)})


def walls_s(runs: Iterable[SuiteRun]) -> list[tuple[SuiteRun, float]]:
    """Each verified run that counts, and how long it took with what came before it."""
    ordered = list(runs)
    return [
        (run, run.ended_s - (before.ended_s if run.started_s - before.ended_s < INTERRUPTED_S else run.started_s))
        for before, run in pairwise(ordered)
        if run.block and run.status == "verified"
    ]


def first_suite(profiles: Profiles) -> Suite:
    """Suite of each candidate alone, for which the servers are started."""
    singles = tuple((candidate.name,) for candidate in profiles.plan.candidates)
    return profiles.suite(Stage(number=1, kind="mixed", blocks=(singles,)), None)
