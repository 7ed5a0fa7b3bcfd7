"""Screenings in a recorded world whose effects are known: what they say of each setting, beside what is so.

python -m tests.worlds.screens --screens 200
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import exp, log
from statistics import fmean

import numpy as np

from lab.analysis.result import analysed
from lab.analysis.suite.figures import value_in
from lab.analysis.tune.estimates import Measured, reported, rows
from lab.analysis.tune.goals import METRICS, parsed_goal
from lab.analysis.tune.result import gain_of
from lab.analysis.tune.screening import LESS, MORE, Group, group_of
from lab.records.suite import VariantMetric
from lab.records.tune import Candidate, Combination, MixedEffect, combination_name
from lab.tune.screening import Screening
from lab.tune.search import Times
from tests.worlds.recorded import Known, Machine, recorded_run

CPU = parsed_goal("cpu")
RUN_S, WARM_UP_S = 16.0, 120.0
RATE, CPU_S = 20_000.0, 40.0


@dataclass(frozen=True, kw_only=True)
class ScreenedWorld:
    """Settings with known effects on the CPU per document.

    Attributes:
        alone: Setting → ratio, with and without it.
        pairs: Two settings → ratio besides, where both are set.
        noise: Standard deviation of a run's logarithm.
        drift: Of a run's logarithm, from the first run to the last.
    """

    alone: Mapping[str, float]
    pairs: Mapping[frozenset[str], float] = field(default_factory=dict)
    noise: float = 0.15
    drift: float = 0.1

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """A value of each setting."""
        return tuple(Candidate(name=f"{name}=1", setting=name, value=1) for name in self.alone)

    def log_cost(self, combination: Combination) -> float:
        """Logarithm of the CPU per document, against the start's."""
        present = {name.removesuffix("=1") for name in combination}
        own = sum(log(self.alone[name]) for name in present)
        return own + sum(log(besides) for names, besides in self.pairs.items() if names <= present)

    def true_ratio(self, candidate: str) -> float:
        """Effect of a setting on average over both levels of the others."""
        name = candidate.removesuffix("=1")
        others = [[(), (f"{other}=1",)] for other in {*self.alone} & {*self._partners(name)}]
        alone: Iterator[Combination] = (sum(levels, ()) for levels in product(*others))
        return exp(fmean(self.log_cost((*rest, candidate)) - self.log_cost(rest) for rest in alone))

    def true_group(self, candidate: str) -> Group:
        """Group that a setting belongs to."""
        return "does not matter" if LESS < self.true_ratio(candidate) < MORE else "matters"

    def _partners(self, name: str) -> Iterator[str]:
        return (other for names in self.pairs if name in names for other in names - {name})


BUSY = ScreenedWorld(
    alone={
        "batch": 1.6,
        "shards": 1.2,
        "refresh": 0.8,
        "tasks": 1.05,
        "codec": 0.95,
        "in_flight": 1.0,
        "flush": 1.0,
        "linger": 1.0,
        "replicas": 1.6,
    },
    pairs={
        frozenset({"batch", "linger"}): 1.1,
        frozenset({"shards", "flush"}): 0.9,
        frozenset({"tasks", "in_flight"}): 1.1,
    },
)
"""As on a busy machine: runs scatter by 15 %; effects of 0, 5, 20 and 60 %, and interactions of 10 %."""


def screened(world: ScreenedWorld, minutes: float, seed: int, *, recorded: bool) -> list[MixedEffect]:
    """What a screening shows of each setting.

    Args:
        recorded: Whether each run is a folder's records, analysed as every run is, rather than its figure alone.
    """
    draw, search = np.random.default_rng(seed), Screening(world.candidates, CPU, (), seed=seed)
    left_s, all_runs, made = 60 * minutes - WARM_UP_S, int((60 * minutes - WARM_UP_S) / RUN_S), 0
    measured: list[Measured] = []
    while (stage := search.next_stage(measured, Times(left_s - RUN_S * made, 60 * minutes, RUN_S))) is not None:
        shown: dict[str, list[float | None]] = {
            combination_name(each): [None] * len(stage.blocks) for each in ((), *stage.combinations)
        }
        for number, block in enumerate(stage.blocks):
            together = list(dict.fromkeys(((), *block)))
            for place in draw.permutation(len(together)):
                if made == all_runs:
                    break
                factor = exp(
                    world.log_cost(together[place]) + draw.normal(0, world.noise) + world.drift * made / all_runs
                )
                shown[combination_name(together[place])][number] = cpu_of_run(factor, draw) if recorded else factor
                made += 1
        measured.append(Measured(stage, (), figures(shown)))
        if made == all_runs:
            break
    fit = reported(rows(measured, METRICS["cpu"]))
    told = {name: gain_of(fit, name) for name in fit.effects} if fit.errors else {}
    return [
        MixedEffect(candidate=name, ratio=each.ratio, low=each.low, high=each.high, runs=1)
        for name, each in told.items()
    ]


def cpu_of_run(factor: float, draw: np.random.Generator) -> float | None:
    """The CPU per document that a short drain's records tell."""
    machine = Machine(ramp=(0.5, 0.8, 0.95), within=0.08)
    known = Known(rate_per_s=RATE / factor, cpu_s_per_million=CPU_S * factor)
    folder = recorded_run(known, machine, int(5 * RATE), draw)
    return value_in(analysed(folder).result.metrics, METRICS["cpu"])


def figures(shown: Mapping[str, list[float | None]]) -> list[VariantMetric]:
    """A variant's CPU by block."""
    metric = METRICS["cpu"]
    return [
        VariantMetric.model_construct(variant=name, name=metric.name, scope=metric.scope, values=tuple(values))
        for name, values in shown.items()
    ]


@dataclass(frozen=True)
class Said:
    """What many screenings say.

    Attributes:
        false_matters, false_does_not: Share of the screenings that say so of a setting wrongly, of any.
        groups: Setting → how often each group.
        held: Setting → share of its intervals that hold the truth; absent without one.
    """

    false_matters: float
    false_does_not: float
    groups: Mapping[str, Counter[Group]]
    held: Mapping[str, float]


def said(world: ScreenedWorld, minutes: float, screens: int, *, recorded: bool = False) -> Said:
    """What so many screenings of a world say."""
    truth = {each.name: world.true_group(each.name) for each in world.candidates}
    told: dict[str, Counter[Group]] = {name: Counter() for name in truth}
    held: dict[str, list[bool]] = defaultdict(list)
    matters, does_not = [], []
    for seed in range(1, screens + 1):
        effects = screened(world, minutes, seed, recorded=recorded)
        found = {each.candidate: group_of(each) for each in effects}
        for each in effects:
            if each.low is not None and each.high is not None:
                held[each.candidate].append(each.low <= world.true_ratio(each.candidate) <= each.high)
        for name, group in found.items():
            told[name][group] += 1
        wrong = {group for name, group in found.items() if group not in ("not told", truth[name])}
        matters.append("matters" in wrong)
        does_not.append("does not matter" in wrong)
    return Said(fmean(matters), fmean(does_not), told, {name: fmean(those) for name, those in held.items()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--screens", type=int, default=200)
    screens = parser.parse_args().screens
    for minutes in (10, 20, 60):
        found = said(BUSY, minutes, screens)
        print(minutes, f"false: {found.false_matters:.3f} {found.false_does_not:.3f}")  # noqa: T201 - its output
        for name, group in found.groups.items():
            print(f"  {name:14} {BUSY.true_group(name):16} {dict(group)}")  # noqa: T201 - its output
