"""Searches whose truth is known: settings have effects, runs have noise, and time passes as it does on real servers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, exp, log

import numpy as np

from lab.analysis.statistics.effects import among_comparisons, effect
from lab.analysis.suite.comparisons import is_detected
from lab.analysis.tune.estimates import LEAST_CONFIRM_BLOCKS, Measured
from lab.analysis.tune.goals import parsed_goal
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect
from lab.records.tune import START, Bound, Candidate, Combination, Stage, combination_name
from lab.tune.plan import Expected, fitting
from lab.tune.search import Search, Times, block_s
from tools.random_search import RandomSearch

GOAL = parsed_goal("rate")
WINDOW_S, AROUND_S, STARTING_S = 8.0, 10.0, 104.0
"""As on the machine of docs/method.md: a drain of the start, what comes before and after any, and the warm-up."""
RUN_S = WINDOW_S + AROUND_S
NOISE = 0.08
"""Standard deviation of a run's log rate there."""
END_S = 12**-0.5
"""Of a drain's end, of which only the samples before and after it are known, a second apart."""


@dataclass(frozen=True)
class World:
    """What is so, and nobody knows.

    Attributes:
        alone: Candidate, written `knob=value`, → its effect on the log rate.
        together: Candidates → what they have besides, where all of them are set.
        noise: Of one run.
    """

    alone: Mapping[str, float]
    together: Mapping[frozenset[str], float] = field(default_factory=dict)
    noise: float = NOISE

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All of them."""
        return tuple(
            Candidate(name=name, setting=name.partition("=")[0], value=name.partition("=")[2]) for name in self.alone
        )

    def truth(self, combination: Combination) -> float:
        """The log rate of a combination against the start."""
        present = frozenset(combination)
        own = sum(self.alone[name] for name in combination)
        return own + sum(besides for names, besides in self.together.items() if names <= present)

    @cached_property
    def combinations(self) -> list[Combination]:
        """Every combination that there is: a candidate of each knob, or none."""
        by_knob: dict[str, list[str]] = {}
        for candidate in self.candidates:
            by_knob.setdefault(candidate.setting, []).append(candidate.name)
        made: list[Combination] = [()]
        for names in by_knob.values():
            made = [(*combination, *extra) for combination in made for extra in ((), *((name,) for name in names))]
        return made

    @cached_property
    def best(self) -> float:
        """The log rate of the best of them."""
        return max(map(self.truth, self.combinations))


@dataclass(frozen=True)
class Bottleneck(World):
    """One stage after the other takes its time, and settings change that of one: whoever limits less hides the others.

    Attributes:
        alone: Candidate → the effect on the log rate of its own stage.
        stage: Knob → the stage that it changes.
        shares: Stage → its share of the time at the start; all of them make 1.
    """

    stage: Mapping[str, str] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    def truth(self, combination: Combination) -> float:
        """The log rate: the time of all stages together, against 1."""
        effects = dict.fromkeys(self.shares, 0.0)
        for name in combination:
            effects[self.stage[name.partition("=")[0]]] += self.alone[name]
        return -log(sum(share * exp(-effects[stage]) for stage, share in self.shares.items()))


@dataclass(frozen=True)
class Outcome:
    """What came of a search.

    Attributes:
        confirmed: The effect of the confirmation; `None` where there was nothing to confirm.
        recommended: What was confirmed, or the start.
        confirm_s: Time that was left for the confirmation.
    """

    stages: tuple[Stage, ...]
    chosen: Combination | None
    confirmed: Effect | None
    recommended: Combination
    confirm_s: float


@dataclass
class Bench:
    """Runs blocks of a world.

    Attributes:
        budget_s: The time that there is.
        spent_s: What of it is over.
        fastest: The log rate of the fastest combination that has run.
    """

    world: World
    draw: np.random.Generator
    budget_s: float
    spent_s: float = STARTING_S
    fastest: float = 0.0
    ran: set[Combination] = field(default_factory=lambda: {()})

    def drain_s(self, combination: Combination) -> float:
        """How long a drain takes, when that of the fastest one so far has to last for a window."""
        return WINDOW_S * exp(self.fastest - self.world.truth(combination))

    def run_s(self, combination: Combination) -> float:
        """How long a run takes."""
        return AROUND_S + self.drain_s(combination)

    def times(self) -> Times:
        """What time there is, and what it buys."""
        runs_s = {combination_name(each): self.run_s(each) for each in self.ran}
        return Times(self.budget_s - self.spent_s, self.budget_s, RUN_S, runs_s)

    def value(self, combination: Combination) -> float:
        """The rate that a run shows."""
        return exp(self.world.truth(combination) + self.draw.normal(0, self.noise(combination)))

    def start(self, runs: int) -> float:
        """The geometric mean of so many runs of the start."""
        return exp(self.draw.normal(0, self.noise(()) / runs**0.5))

    def noise(self, combination: Combination) -> float:
        """Standard deviation of a run's log rate: that of drains as long as a window, and more of shorter ones."""
        end, usual = END_S / self.drain_s(combination), END_S / WINDOW_S
        return float(max(self.world.noise**2 + end**2 - usual**2, 0.0) ** 0.5)

    def measured(self, stage: Stage, blocks: int, *, new: bool) -> Measured:
        """A stage's effects, and the time that it takes."""
        size = len(stage.combinations)
        runs_s = [self.run_s(each) for each in stage.combinations]
        self.spent_s += blocks * block_s(runs_s, self.run_s(())) + (sum(runs_s) if new else 0.0)
        starts = [self.start(ceil(size / 2)) for _ in range(blocks)]
        effects = [
            effect(combination_name(each), START, GOAL.metric, [(self.value(each), start) for start in starts])
            for each in stage.combinations
        ]
        self.ran |= {*stage.combinations}
        self.fastest = max(map(self.world.truth, self.ran))
        return Measured(stage, effects)

    def confirmed(self, chosen: Combination, seconds: float) -> Effect:
        """The effect of the choice in as many blocks as there is time for, judged beside the start's own repetition."""
        block_s = self.run_s(chosen) + 2 * self.run_s(())
        blocks = max(LEAST_CONFIRM_BLOCKS, int(seconds / block_s))
        pairs = [(self.value(chosen), self.start(1), self.start(1)) for _ in range(blocks)]
        again = effect(START + AGAIN, START, GOAL.metric, [(other, start) for _, start, other in pairs])
        own = effect(
            combination_name(chosen), START, GOAL.metric, [(value, (one * two) ** 0.5) for value, one, two in pairs]
        )
        return among_comparisons([again, own], repetition=START + AGAIN)[1]


def searched(world: World, minutes: float, seed: int, bounds: Sequence[Bound] = ()) -> Outcome:
    """A search in the world, and its confirmation."""
    takes = Expected(RUN_S, STARTING_S)
    candidates = world.candidates[: fitting(world.candidates, minutes, takes)]
    search, bench = Search(candidates, GOAL, bounds, seed=seed), Bench(world, np.random.default_rng(seed), 60 * minutes)
    measured: list[Measured] = []
    while True:
        times = bench.times()
        stage = search.next_stage(measured, times)
        stages = tuple(each.stage for each in measured)
        if stage is None:
            return Outcome(stages, None, None, (), times.left_s)
        if stage.blocks is None:
            chosen = stage.combinations[0]
            return concluded((*stages, stage), chosen, bench, times.left_s)
        measured.append(bench.measured(stage, stage.blocks, new=not measured))


def concluded(stages: tuple[Stage, ...], chosen: Combination, bench: Bench, seconds: float) -> Outcome:
    """What the confirmation makes of a choice."""
    found = bench.confirmed(chosen, seconds)
    is_better = is_detected(found) and (found.ratio or 0.0) > 1
    return Outcome(stages, chosen, found, chosen if is_better else (), seconds)


def drawn_at_random(world: World, minutes: float, seed: int) -> Outcome:
    """Random search with the same time and the same confirmation."""
    bench = Bench(world, np.random.default_rng(seed), 60 * minutes)
    search = RandomSearch(world.candidates, GOAL, (), seed=seed)
    stage = search.next_stage([], bench.times())
    assert stage is not None
    measured = [bench.measured(stage, 1, new=False)]
    chosen = search.chosen(search.known(measured), measured)
    if chosen is None:
        return Outcome((stage,), None, None, (), bench.times().left_s)
    return concluded((stage,), chosen, bench, bench.times().left_s)


def seeds(number: int) -> Iterator[int]:
    """So many of them."""
    return iter(range(1, number + 1))
