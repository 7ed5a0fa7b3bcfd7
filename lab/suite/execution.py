"""A suite under way: warm the servers, run what the plan says in its order, and write down each run that ends."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import ceil, inf, isfinite, isinf
from pathlib import Path
from statistics import fmean

from lab.analysis.figures.disturbance import disturbance
from lab.analysis.statistics.effects import LEAST_BLOCKS
from lab.analysis.suite.comparisons import Pair
from lab.analysis.suite.folder import ATTEMPTS, planned_runs, runs_left
from lab.analysis.suite.result import comparisons_too_wide
from lab.errors import StackError
from lab.monitor import CLOCK
from lab.profiles.suites import rate_docs_per_s
from lab.records.result import Result
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.suite.bench import Bench, SuiteProgress
from lab.suite.durations import (
    MOST_OVER,
    NoTimeError,
    TimeIsOver,
    comparison_text,
    durations_s,
    limit_s,
    slowdown,
    uncounted_run_s,
)
from lab.suite.folder import Attempt, SuiteFolder
from lab.suite.limit import LIMIT_SHARE, MOST_LIMIT_S, measured_limit, steady_rate, warm_up_rate
from lab.suite.loads import (
    LEAST_DRAIN_S,
    MARGIN,
    MOST_TIMES,
    LoadSizes,
    UncountedRun,
    drains_last_s,
    is_share,
    shortened,
    sizes_of_drains,
)
from lab.suite.plan import RUN_BASE_S, WARM_SHARE, least_blocks, next_block, pairs_of_part, part_s, taken_s

MOST_BLOCKS = 60
LEAST_REPEATED, MOST_REPEATED = 3, 0.2  # disturbed runs that are repeated: so many, or such a share of all
LAST_RATES = 2
MOST_LENGTHENED = 3  # times that drains are made longer: a rate that rests on the start of a load tells too few
MOST_WARM_UPS = 8
MOST_WARM_UP_S = 180.0  # of drains, after which no other begins: a load of minutes has compiled what there is
LONGER_S = 30.0  # than the shortest run: what takes so much longer warms no servers


@dataclass(eq=False)
class SuiteExecution:
    """Runs what is left of a plan.

    Attributes:
        most_warm_up_s: Of warm-up drains, after which no other begins, but for the first `least_warm_ups`.
        is_warm: Whether the rates of successive warm-up drains, in docs/s, have become stable.
        too_wide: The comparisons in a suite's folder whose intervals are not yet narrow enough.
        resize: Gives all drains another size, or makes them streams; the plan as it is then.
        minutes: Of the whole measurement: of the tune, where the suite is a stage of one.
        limit_s: Time by which the last run must have ended, in seconds that the suite has taken.
        expected: By variant, expected duration of a run, until some have ended.
        was_warm: Whether the servers were warm before the suite, as they are between stages of a tune.
        asking: Comparisons that take turns in the blocks to come; 1 where a block holds all of them.
    """

    most_warm_up_s = MOST_WARM_UP_S
    least_warm_ups = 1

    folder: SuiteFolder
    bench: Bench
    progress: SuiteProgress
    _: KW_ONLY
    is_warm: Callable[[Sequence[float]], bool]
    too_wide: Callable[[Path], Sequence[Pair]] = comparisons_too_wide
    resize: Callable[[LoadSizes], SuitePlan] | None = None
    clock: Callable[[], float] = CLOCK.now_s

    def __post_init__(self) -> None:
        self.plan = self.folder.plan()
        self.minutes = self.plan.minutes
        self.limit_s = inf if self.plan.minutes is None else limit_s(self.plan.minutes)
        self.expected: Mapping[str, float] = {}
        self.uncounted: dict[str, UncountedRun] = {}
        self.warm: set[Hashable] = set()
        self.tried: set[tuple[Hashable, str]] = set()
        self.was_warm = False
        self.ended = list(self.folder.runs())
        self.earlier = len(self.ended)
        self.begun_s = self.clock()
        self.session: tuple[int, str, str] | None = None
        self.asking = 1
        self.bench.run_ids |= self.folder.run_ids()

    def execute(self) -> None:
        """Run the blocks that are drawn, then others as long as intervals are too wide and time is left.

        A run that is not verified, or that was disturbed, is repeated once. None begins that would end after the limit.

        Raises:
            ProfileError: A server refuses a setting of a variant, which no repetition would change.
            NoTimeError: The time is over before the first run that counts.
            StackError: The servers cannot be brought up.
        """
        self.was_warm = bool(self.warm)
        try:
            self.run_all()
        except TimeIsOver:
            if not self.counted:
                raise NoTimeError(self.minutes or 0.0, self.spent_s()) from None
            self.plan = self.folder.cut_short()

    def run_all(self) -> None:
        """Warm the servers, run the blocks that are drawn, and others as long as there is reason and time."""
        self.size_by_control()
        self.run_blocks()
        if self.plan.repeats is not None:
            return
        for start in range(1, self.plan.starts + 1):
            for part in self.plan.parts:
                while order := self.another_block(part, start):
                    self.plan = self.folder.add_block(order, start)
                    self.run_blocks()

    def another_block(self, part: str, start: int) -> tuple[str, ...]:
        """The next block of a part on a start; empty where none is asked for any more, or it would not end in time."""
        blocks = zip(self.plan.order, self.plan.started, strict=True)
        drawn = [order for order, of in blocks if of == start and self.plan.variant(order[0]).part == part]
        order = self.next_order(part, drawn)
        if not order:
            return ()
        left_s, takes_s = self.ends_s(part, start) - self.spent_s(), self.expected_s(order)
        if drawn and takes_s and len(drawn) % self.asking == 0:
            self.progress.narrowed(self.folder.path)
        # Where other parts or starts follow, half a block too late is no worse than half a block too early.
        is_last = (part, start) == (self.plan.parts[-1], self.plan.starts)
        needs_s = takes_s if is_last else takes_s / 2
        return () if self.plan.order and needs_s > left_s else order

    def next_order(self, part: str, drawn: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """The next block after those that are drawn of a part on this start; empty where none is asked for any more."""
        pairs = pairs_of_part(self.plan, part)
        fewest = least_blocks(self.plan)
        if len(drawn) >= fewest:
            too_wide = self.too_wide(self.folder.path)
            pairs = tuple(pair for pair in pairs if pair in too_wide)
        is_over = len(drawn) >= (MOST_BLOCKS if pairs else fewest)
        return () if is_over else next_block(self.plan, pairs, len(self.plan.order) + 1, part)

    def ends_s(self, part: str, start: int) -> float:
        """When a part of a start must have ended, in seconds that the suite has taken.

        Starts share the time evenly, the parts of each by what their first blocks take here, with their warm-up.
        """
        if self.plan.minutes is None:
            return inf
        each_s = self.durations_s()
        weights = {each: part_s(self.plan, each, each_s) for each in self.plan.parts}
        until = self.plan.parts[: self.plan.parts.index(part) + 1]
        share = sum(weights[each] for each in until) / sum(weights.values())
        return 60 * self.plan.minutes * (start - 1 + share) / self.plan.starts

    def spent_s(self, now_s: float | None = None) -> float:
        """Time that the suite has taken until now, without the time for which it was interrupted."""
        now_s = self.clock() if now_s is None else now_s
        return taken_s(self.ended[: self.earlier]) + now_s - self.begun_s

    @property
    def counted(self) -> list[SuiteRun]:
        """Runs that count, or were to."""
        return [run for run in self.ended if run.block]

    def durations_s(self) -> dict[str, float]:
        """Duration of a run of each variant that counts, by what ran so far."""
        return durations_s(self.plan, self.ended, uncounted=self.uncounted, expected=self.expected)

    def expected_s(self, order: Sequence[str]) -> float:
        """Duration of a block."""
        return sum(map(self.durations_s().__getitem__, order))

    def until_s(self) -> float:
        """Time by which the last run must have ended, in seconds that the suite has taken."""
        return self.limit_s

    def begin_in_time(self, seconds: float) -> float:
        """Instant at which a run begins that takes so long; TimeIsOver if it would end after the limit."""
        now_s = self.clock()
        if self.spent_s(now_s) + seconds > self.until_s():
            raise TimeIsOver
        return now_s

    def takes_s(self, variant: Variant, *, counts: bool, short: bool) -> float:
        """Duration of the next run of a variant, with the first that counts where that is still to come."""
        each, session = self.durations_s(), self.ended[self.earlier :]
        run_s = each[variant.name] * slowdown(self.ended, each)
        if counts:
            return run_s
        uncounted_s = uncounted_run_s(self.plan, session, variant, run_s=run_s, short=short)
        # Without a run that counts after it, it would be for nothing.
        return uncounted_s if self.counted or short else uncounted_s + run_s

    def look_ahead(self) -> None:
        """Say of a suite without runs, once servers are warm, if its time holds fewer than a comparison needs."""
        if self.plan.minutes is not None and self.plan.repeats is None and not self.counted:
            self.progress.warned(comparison_text(self.plan, self.durations_s(), self.plan.minutes, self.spent_s()))

    def size_by_control(self) -> None:
        """Warm the servers with the control first where its rate sizes the loads: no order then changes the sizes."""
        control = self.plan.variant(self.plan.control)
        if self.is_sized_by(control):
            self.warm_up(control)

    def run_blocks(self) -> None:
        """Run what is left of the blocks that are drawn."""
        for block, name, turn in runs_left(self.plan, self.ended):
            if block > len(self.plan.order):
                return  # a warm-up has told that loads are to be longer, and there is time for fewer blocks
            self.have_servers(block, name)
            made = sum(run.cell == (block, name, turn) for run in self.ended)
            for attempt in range(1 + made, ATTEMPTS + 1):
                self.warm_up(self.plan.variant(name))
                variant = self.plan.variant(name)
                of_all = "" if self.plan.repeats is None else f" of {self.plan.repeats}"
                what = f"block {block}{of_all}" + (", again" if attempt > 1 else "")
                if not any(run.block for run in self.ended[self.earlier :]):
                    self.look_ahead()
                if self.run(variant, what, block=block, turn=turn, attempt=attempt)[0].is_sound:
                    break

    def have_servers(self, block: int, name: str) -> None:
        """Servers of this start and part for a run of a block; new ones are warmed for all of the block that use them.

        Each of its variants then runs once, uncounted: what runs first would find colder servers than what runs last.
        """
        variant, before = self.plan.variant(name), self.session
        begun_s = self.clock() if before and self.plan.window_s else self.begun_s
        self.session = (self.plan.start_of(block), variant.part, variant.servers)
        if before == self.session:
            return
        if before and before[0] != self.session[0]:
            self.bench.restart()
        elif before and before[1] != variant.part:
            self.bench.change_part(before[1], variant.part)
        variants = map(self.plan.variant, self.warmed_together(block))
        together = [other for other in variants if other.servers == variant.servers]
        each = self.durations_s()
        long_s = LONGER_S + min(each[other.name] for other in together)
        # What the variants of a pipeline have in common is warmed by its drains, not by streams of minutes.
        for other in sorted(together, key=lambda other: each[other.name] > long_s):
            self.warm_up(other)
        is_first = before is None or before[:2] != self.session[:2]
        if is_first and not self.was_warm:
            self.shorten(block, begun_s)
            self.warm_on(together, self.plan.start_of(block), begun_s)
        if is_share(self.plan.rate) and self.plan.rate_docs_per_s is None and self.resize:
            self.stream_below_limit(together)

    def stream_below_limit(self, together: Sequence[Variant]) -> None:
        """Measure the limit on warm servers, and make all drains streams at a share of it, which run once uncounted.

        Raises:
            ProfileError: The control's drains are too short to tell it.
            StackError: They fail.
        """
        plan, begun_s = self.plan, self.clock()
        assert plan.rate is not None and self.resize is not None  # noqa: S101, PT018 - its caller has looked
        control = plan.variant(plan.control)
        self.bench.prepare(control)
        most_s = LIMIT_SHARE * 60 * self.minutes if self.minutes else MOST_LIMIT_S
        limit, drains = measured_limit(
            lambda number: self.run(control, f"limit {number}", block=0, attempt=number)[1],
            is_warm=self.is_warm,
            is_late=lambda: self.clock() - begun_s > most_s,
        )
        rate = rate_docs_per_s(plan.rate, limit.value)
        self.plan = self.resize(
            LoadSizes(limit.value, rate, limit_low=limit.low, limit_high=limit.high, limit_drains=drains)
        )
        for other in together:
            self.bench.prepare(other)
            self.run(other, "first stream", block=0, attempt=1)

    def warm_on(self, together: Sequence[Variant], start: int, begun_s: float) -> None:
        """More uncounted rounds of what runs on new servers, until a share of the time is over that their part has.

        Args:
            begun_s: When their warm-up began.
        """
        if not (self.plan.minutes and self.plan.window_s):
            return
        part_s = self.ends_s(together[0].part, start) - self.spent_s() + self.clock() - begun_s
        while self.clock() - begun_s < WARM_SHARE * part_s:
            # What fails at once would fill the time with failures; the blocks say why it does.
            if any(self.run(other, "warm-up", block=0, attempt=1)[0].status != "verified" for other in together):
                return

    def warmed_together(self, block: int) -> tuple[str, ...]:
        """The variants that run before servers change."""
        return tuple(dict.fromkeys(self.plan.order[block - 1]))

    def may_repeat(self) -> bool:
        """Check that another disturbed run is repeated.

        Where most runs are, that is how this machine is today; and none takes the time of the fewest blocks.
        """
        disturbed = sum(run.disturbed is not None for run in self.counted)
        is_rare = disturbed < max(LEAST_REPEATED, MOST_REPEATED * len(self.counted))
        if not is_rare or isinf(self.limit_s):
            return is_rare
        each = self.durations_s()
        # The run that has just ended is still among those that are left, so that its repetition is in the sum.
        needs_s = sum(each[name] for _, name, _ in runs_left(self.plan, self.ended))
        if self.plan.repeats is None:
            needs_s += max(0, LEAST_BLOCKS - len(self.plan.order)) * self.expected_s(self.plan.order[-1])
        return self.spent_s() + needs_s <= self.until_s() / (1 + MOST_OVER)

    def warm_up(self, variant: Variant) -> None:
        """Drains that do not count: until the servers are warm for the variant, and one of its own kind and full size.

        A warm server still compiles what a variant is the first to ask for: with another mapping or write method its
        first run was seen to reach half the rate of its later ones. It is as long as those that count: where it was
        short, the next run of each variant still cost 4 to 30 % more than later ones.
        """
        needed = self.bench.prepare(variant)
        is_new = any((each, variant.kind) not in self.tried for each in needed)
        if needed <= self.warm and is_new:
            _, result = self.run(variant, "first of its kind", block=0, attempt=1)
            if result is not None:
                self.lengthen(result)
            needed = self.bench.prepare(variant)
        if not needed <= self.warm:
            sizes = self.is_sized_by(variant)
            needed = self.until_stable(variant, needed)
            for _ in range(MOST_LENGTHENED if self.counts_longer else 0):
                _, result = self.run(variant, "first of its kind", block=0, attempt=1)
                if not (sizes and result is not None and self.enlarge(result)):
                    break
        self.warm |= needed
        self.tried |= {(each, variant.kind) for each in needed}

    @property
    def counts_longer(self) -> bool:
        """Whether runs that count are not what warms the servers."""
        return (self.plan.times or 1) > 1 or self.plan.rate_docs_per_s is not None

    @property
    def warm_share_s(self) -> float:
        """Time of a limited measurement in which drains wait for stable rates; each server and way has as much."""
        warmed = {(variant.part, variant.servers, variant.way) for variant in self.plan.variants}
        return WARM_SHARE * 60 * self.minutes / self.plan.starts / len(warmed) if self.minutes else inf

    def until_stable(self, variant: Variant, needed: frozenset[Hashable]) -> frozenset[Hashable]:
        """Drains until their rate is stable, or their share of the time is over; what is warm then."""
        rates: list[float] = []
        begun_s = self.clock()
        for attempt in range(1, MOST_WARM_UPS + 1):
            run, result = self.run(variant, f"warm-up {attempt}", block=0, attempt=attempt, short=True)
            rate = warm_up_rate(result, of_queries=variant.layout is not None) if result else None
            if rate is not None and run.status == "verified":
                rates.append(rate)
            now_s = self.clock()
            # Another drain would end after its share of the time: what counts would have none of it.
            is_late = now_s - begun_s + run.ended_s - run.started_s > self.warm_share_s
            took_long = is_late or now_s - begun_s > self.most_warm_up_s
            if self.is_warm(rates) or (took_long and len(rates) >= self.least_warm_ups):
                break
            needed = self.bench.prepare(variant)
        self.size(variant, rates)
        return needed

    def is_sized_by(self, variant: Variant) -> bool:
        """Whether a warm-up with the variant is to tell how large the loads are."""
        is_wanted = self.resize is not None and bool(self.plan.window_s or self.plan.rate)
        is_drain = variant.layout is None and variant.load_s is None and variant.documents is not None
        return is_wanted and is_drain and self.plan.limit_docs_per_s is None

    def size(self, variant: Variant, rates: Sequence[float]) -> None:
        """Size the loads by the rates of the first warm-up, drains or streams as the plan asks for; sizes stay then.

        Merges come in bursts, so windows of a few seconds mean little; beyond 8 s more blocks help
        (docs/measurements/suites.md).
        """
        if not (rates and variant.documents and self.resize and self.is_sized_by(variant)):
            return
        rate, rough_docs_per_s = self.plan.rate, fmean(rates[-LAST_RATES:])
        self.plan = self.resize(
            sizes_of_drains(self.plan, rough_docs_per_s, variant.documents)
            if rate is None or is_share(rate)
            else LoadSizes(rough_docs_per_s, float(rate))
        )

    def enlarge(self, result: Result) -> bool:
        """Make drains longer where one of full size is over too soon; whether it was.

        Half of a short warm-up is the start of its load: 60,000 events told 23,000/s of servers that take 60,000/s.
        """
        times, documents = self.plan.times, result.documents.produced
        rate = steady_rate(result) or warm_up_rate(result)
        if rate is None or times is None or self.resize is None or result.status != "verified":
            return False
        sizes = sizes_of_drains(self.plan, rate, documents // times)
        if documents / rate >= drains_last_s(self.plan) or (sizes.times or 1) <= times:
            return False
        self.plan = self.resize(sizes)
        return (self.plan.times or 1) > times  # a file has no more documents than it has

    @property
    def sizes_are_open(self) -> bool:
        """True while no drain counts."""
        return self.plan.times is not None and self.plan.rate is None and not self.counted

    def lengthen(self, result: Result) -> None:
        """Make drains longer where those of a fast variant are too short for a rate; once runs count, sizes stay."""
        plan, rate = self.plan, steady_rate(result) or warm_up_rate(result)
        if not (self.sizes_are_open and rate and self.resize and plan.limit_docs_per_s and result.status == "verified"):
            return
        takes_s, times = result.documents.produced / rate, plan.times or 1
        longer = min(MOST_TIMES, ceil(times * LEAST_DRAIN_S / takes_s))
        if longer > times:
            self.plan = self.resize(LoadSizes(plan.limit_docs_per_s, times=longer))

    def shorten(self, block: int, begun_s: float) -> None:
        """Make drains shorter where fewer blocks would fit in the time than a comparison needs.

        Args:
            begun_s: When the warm-up began.
        """
        plan, names, times = self.plan, self.plan.order[block - 1], self.plan.times
        runs = [run for name in names if (run := self.uncounted.get(name) or self.uncounted.get(plan.control))]
        is_known = self.sizes_are_open and len(runs) == len(names) and not plan.duets
        if not (is_known and times and self.resize and plan.limit_docs_per_s):
            return
        start = plan.start_of(block)
        part_s, warmed_s = self.ends_s(plan.variant(names[0]).part, start) - self.spent_s(), self.clock() - begun_s
        left_s = min(part_s, (1 - WARM_SHARE) * (part_s + warmed_s)) / MARGIN
        if isfinite(left_s):
            of_block_s = left_s / ceil(LEAST_BLOCKS / plan.starts)
            shorter = shortened(times, runs, around_s=RUN_BASE_S, block_s=of_block_s)
            if shorter < times:
                self.plan = self.resize(LoadSizes(plan.limit_docs_per_s, times=shorter))

    def run(
        self, variant: Variant, what: str, *, block: int, attempt: int, turn: int = 1, short: bool = False
    ) -> tuple[SuiteRun, Result | None]:
        """One run, recorded whatever its outcome; block 0 is a warm-up drain."""
        total, warm_up = len(planned_runs(self.plan)), block == 0
        started_s = self.begin_in_time(self.takes_s(variant, counts=not warm_up, short=short))
        self.progress.begins(what, variant, total - len(runs_left(self.plan, self.ended)), total)
        folder = self.folder.new_run(variant, warm_up=warm_up)
        begun = Attempt(variant, folder, block, turn, attempt, started_s)
        times = 1 if short else self.plan.times or 1
        outcome: Result | StackError
        try:
            outcome = self.bench.run(variant, folder, warm_up=warm_up, short=short, display=self.progress.of_run())
        except StackError as error:
            outcome = error
        run, result = self.ends(begun, outcome, may_repeat=lambda: attempt > 1 or self.may_repeat())
        rate = (steady_rate(result) or warm_up_rate(result)) if result and run.status == "verified" else None
        if warm_up and result and rate:
            load_s = result.documents.produced / rate
            self.uncounted[variant.name] = UncountedRun(run.ended_s - run.started_s, load_s, times)
        return run, result

    def ends(
        self, begun: Attempt, outcome: Result | StackError, *, may_repeat: Callable[[], bool]
    ) -> tuple[SuiteRun, Result | None]:
        """Write a run down.

        Args:
            outcome: Its result, or why it has come to no end.
            may_repeat: Whether it is repeated where more was taken from it than it may lose.
        """
        result = outcome if isinstance(outcome, Result) else None
        reason = None if result else str(outcome)
        if result is not None and result.status != "verified":
            reason = "; ".join(result.verification.problems)
        counts = result is not None and result.status == "verified" and begun.block != 0
        taken = disturbance(result) if result is not None and counts else None
        is_repeated = taken is not None and may_repeat()
        run = SuiteRun(
            block=begun.block,
            variant=begun.variant.name,
            turn=begun.turn,
            attempt=begun.attempt,
            folder=str(begun.folder.path.relative_to(self.folder.path)),
            status="broken" if result is None else "verified" if result.status == "verified" else "void",
            reason=taken if taken and not is_repeated else reason,
            disturbed=taken if is_repeated else None,
            warm_up=begun.block == 0,
            started_s=begun.started_s,
            ended_s=self.clock(),
        )
        self.folder.append(run)
        self.ended.append(run)
        self.progress.ended(run, result)
        return run, result
