"""Searches whose truth is known: settings have effects, runs have noise, and time passes as it does on real servers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import exp, log
from statistics import fmean

import numpy as np

from lab.analysis.statistics.effects import among_comparisons, effect, is_settled
from lab.analysis.tune.confirmation import Confirmation
from lab.analysis.tune.estimates import LEAST_CONFIRM_BLOCKS, Measured
from lab.analysis.tune.goals import parsed_goal
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect, VariantMetric
from lab.records.tune import START, Bound, Candidate, Combination, Stage, TunePlan, combination_name
from lab.suite.execution import MOST_BLOCKS
from lab.suite.plan import FIRST_BLOCKS_OF_FEW
from lab.tune.execution import CONFIRM_PRECISION
from lab.tune.search import Search, Times

GOAL = parsed_goal("rate")
WINDOW_S, AROUND_S, STARTING_S = 8.0, 10.0, 104.0
"""A drain of the start, what surrounds any drain, and the warm-up, as measured in docs/measurements/suites.md."""
RUN_S = WINDOW_S + AROUND_S
NOISE = 0.08
"""Standard deviation of a run's log rate there."""
END_S = 12**-0.5
"""Of a drain's end, of which only the samples before and after it are known, a second apart."""


# --- what is so, and nobody knows -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Settings whose effects add up, but for those that have something together.

    Attributes:
        alone: Candidate, written `knob=value`, → its effect on the log rate.
        together: Candidates → what they have besides, where all of them are set.
        failing: Candidates that servers refuse, where all of them are set.
    """

    alone: Mapping[str, float]
    together: Mapping[frozenset[str], float] = field(default_factory=dict)
    failing: Sequence[frozenset[str]] = ()

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

    def fails(self, combination: Combination) -> bool:
        """Whether servers refuse it."""
        return any(names <= {*combination} for names in self.failing)

    def without(self, knob: str) -> Iterator[Combination]:
        """Every combination of the other knobs' values."""
        by_knob: dict[str, list[Combination]] = {}
        for candidate in self.candidates:
            if candidate.setting != knob:
                by_knob.setdefault(candidate.setting, [()]).append((candidate.name,))
        return (sum(values, ()) for values in product(*by_knob.values()))

    @cached_property
    def best(self) -> float:
        """The log rate of the best of all combinations."""
        return max(self.truth(each) for each in self.without("") if not self.fails(each))

    @property
    def adds_up(self) -> bool:
        """Whether a candidate gives the same beside all others."""
        return not self.together

    @cached_property
    def in_the_mix(self) -> dict[str, float]:
        """What each candidate adds to the log rate on average over all values of the other knobs."""
        if self.adds_up:
            return dict(self.alone)
        return {
            candidate.name: fmean(
                self.truth((*others, candidate.name)) - self.truth(others) for others in self.without(candidate.setting)
            )
            for candidate in self.candidates
        }


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

    @property
    def adds_up(self) -> bool:
        """Whoever limits decides what others give."""
        return False

    def truth(self, combination: Combination) -> float:
        """The log rate: the time of all stages together, against 1."""
        effects = dict.fromkeys(self.shares, 0.0)
        for name in combination:
            effects[self.stage[name.partition("=")[0]]] += self.alone[name]
        return -log(sum(share * exp(-effects[stage]) for stage, share in self.shares.items()))


@dataclass(frozen=True)
class Machine:
    """What a run shows besides the truth, as log rates.

    Attributes:
        noise: Standard deviation of one run.
        near: Of what neighbours share, which half of them still do 3 runs later.
        cold: How much slower servers are at the beginning; half of it is over after 5.5 minutes.
        drift: In an hour.
        stolen: Share of the runs that lose 10 to 50 %.
        first: How much slower the first run of a candidate is; five times as much of a mapping, if it counts.
        first_s: How much longer it takes.
        bias: How much faster the start is the second time in a block, as no machine is: what A/A is there to show.
    """

    noise: float = NOISE
    near: float = 0.0
    cold: float = 0.0
    drift: float = 0.0
    stolen: float = 0.0
    first: float = 0.0
    first_s: float = 0.0
    bias: float = 0.0


STEADY = Machine()
RESTLESS = Machine(noise=0.06, near=0.05, cold=0.15, drift=-0.1, stolen=0.04, first=0.1, first_s=4.0)
SHARED, COLD_S = 0.8, 480.0


# --- a search in it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What came of a search.

    Attributes:
        recommended: What was confirmed or likely, or the start.
        over_s: Time beyond the budget.
    """

    stages: tuple[Stage, ...]
    measured: tuple[Measured, ...]
    confirmation: Confirmation | None
    recommended: Combination
    over_s: float


@dataclass
class Servers:
    """Run combinations in a world.

    Attributes:
        spent_s: What of the time is over.
        fastest: The log rate of the fastest combination that had run when the stage began, whose drain is a window.
        seen: Candidates that have run.
    """

    world: World
    machine: Machine
    draw: np.random.Generator
    spent_s: float = STARTING_S
    fastest: float = 0.0
    shared: float = 0.0
    ran: set[Combination] = field(default_factory=lambda: {()})
    seen: set[str] = field(default_factory=set)

    def drain_s(self, combination: Combination) -> float:
        """How long a drain takes, but for noise."""
        return WINDOW_S * exp(self.fastest - self.world.truth(combination))

    def times(self, budget_s: float) -> Times:
        """What time there is, and what it buys with loads of the next stage."""
        self.fastest = max(map(self.world.truth, self.ran))
        runs_s = {combination_name(each): AROUND_S + self.drain_s(each) for each in self.ran}
        return Times(budget_s - self.spent_s, budget_s, RUN_S, runs_s)

    def run(self, combination: Combination) -> float | None:
        """The log rate that a run shows; `None` where servers refuse it, twice."""
        if self.world.fails(combination):
            self.spent_s += 2 * AROUND_S
            return None
        if any(name.startswith("mapping=") for name in {*combination} - self.seen):
            self.count(combination)  # A kind of its own has a run that does not count.
        return self.count(combination)

    def count(self, combination: Combination) -> float:
        """The log rate of a run, for which the time passes."""
        machine, drain_s = self.machine, self.drain_s(combination)
        self.shared = SHARED * self.shared + self.draw.normal(0, machine.near * (1 - SHARED**2) ** 0.5)
        end, usual = END_S / drain_s, END_S / WINDOW_S
        value = self.world.truth(combination) + self.shared
        value += self.draw.normal(0, max(machine.noise**2 + end**2 - usual**2, 0.0) ** 0.5)
        value += machine.drift * self.spent_s / 3600 - machine.cold * exp(-self.spent_s / COLD_S)
        if self.draw.random() < machine.stolen:
            value -= self.draw.uniform(0.1, 0.5)
        new = {*combination} - self.seen
        value -= machine.first * max((5 if name.startswith("mapping=") else 1 for name in new), default=0)
        self.seen |= new
        self.ran.add(combination)
        slower = exp(self.world.truth(combination) - value)
        self.spent_s += AROUND_S + drain_s * slower + (machine.first_s if new else 0.0)
        return value

    def measured(self, stage: Stage) -> Measured:
        """A stage, run block by block in random order with the start in each."""
        shown: dict[str, list[float | None]] = {
            combination_name(each): [None] * len(stage.blocks) for each in ((), *stage.combinations)
        }
        for number, block in enumerate(stage.blocks):
            together = list(dict.fromkeys(((), *block)))
            for place in self.draw.permutation(len(together)):
                value = self.run(together[place])
                shown[combination_name(together[place])][number] = None if value is None else exp(value)
        effects = [
            effect(name, START, GOAL.metric, list(zip(values, shown[START], strict=True)))
            for name, values in shown.items()
            if name != START
        ]
        return Measured(stage, effects, [figure(name, values) for name, values in shown.items()])

    def confirmed(self, chosen: Combination, seconds: float) -> tuple[Effect, Effect]:
        """The effects of the choice and of the start's own repetition, in as many blocks as there is time for."""
        ends_s = self.spent_s + seconds
        block_s = 3 * AROUND_S + 2 * self.drain_s(()) + self.drain_s(chosen)
        own: list[tuple[float | None, float]] = []
        again: list[tuple[float, float]] = []
        while len(own) < LEAST_CONFIRM_BLOCKS or (self.spent_s + block_s <= ends_s and len(own) < MOST_BLOCKS):
            runs = {place: self.run(chosen if place == 0 else ()) for place in self.draw.permutation(3).tolist()}
            first, second = exp(runs[1] or 0.0), exp((runs[2] or 0.0) + self.machine.bias)
            own.append((None if runs[0] is None else exp(runs[0]), (first * second) ** 0.5))
            again.append((second, first))
            so_far = effect(combination_name(chosen), START, GOAL.metric, own)
            if len(own) >= FIRST_BLOCKS_OF_FEW and is_settled(so_far, CONFIRM_PRECISION):
                break
        check = effect(START + AGAIN, START, GOAL.metric, again)
        judged = among_comparisons([check, so_far], repetition=START + AGAIN)
        return judged[1], judged[0]


def figure(variant: str, values: Sequence[float | None]) -> VariantMetric:
    """A variant's rate by block."""
    return VariantMetric.model_construct(
        variant=variant, name=GOAL.metric.name, scope=GOAL.metric.scope, unit="docs/s", values=tuple(values)
    )


def searched(
    world: World, minutes: float, seed: int, machine: Machine = STEADY, bounds: Sequence[Bound] = ()
) -> Outcome:
    """A search in the world, and its confirmation."""
    search = Search(world.candidates, GOAL, bounds, seed=seed)
    servers, budget_s = Servers(world, machine, np.random.default_rng(seed)), 60 * minutes
    measured: list[Measured] = []
    while True:
        stage = search.next_stage(measured, servers.times(budget_s))
        stages = tuple(each.stage for each in measured)
        if stage is None:
            return Outcome(stages, tuple(measured), None, (), servers.spent_s - budget_s)
        if stage.kind == "confirm":
            (chosen,) = stage.combinations
            found = Confirmation(a_plan(bounds), chosen, servers.confirmed(chosen, budget_s - servers.spent_s))
            recommended = chosen if found.is_better else ()
            return Outcome((*stages, stage), tuple(measured), found, recommended, servers.spent_s - budget_s)
        measured.append(servers.measured(stage))


def a_plan(bounds: Sequence[Bound] = ()) -> TunePlan:
    """A plan with the goal `rate`."""
    return TunePlan.model_construct(goal=GOAL, bounds=tuple(bounds), metrics=(GOAL.metric,))


def seeds(number: int) -> Iterator[int]:
    """So many of them."""
    return iter(range(1, number + 1))
