"""What all stages of a search say together of each combination."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from lab.analysis.statistics.effects import among_comparisons, effect
from lab.analysis.statistics.student import SIGNIFICANCE, critical
from lab.analysis.suite.comparisons import is_detected
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, Bound, Combination, Goal, Stage, combination_name

LEAST_GAIN = log(1.01)
"""A smaller gain is not pursued: it could not be confirmed either."""
A_TIE = log(1.01)
"""Of combinations that are as good as the best but for so much, the one that changes least is chosen."""
LEAST_CONFIRM_BLOCKS = 4
"""Of a confirmation, however little time is left: fewer say too little of their own noise to be a headline."""
SHRINKAGE = 0.5
"""Of a fit to a mix: variance of a run's logarithm ÷ that of the effects that are expected."""
LEAST_FREEDOM = 4.0
"""Degrees of freedom that a fit must leave for an interval."""
BEYOND = 1.1
"""A bound is taken for broken without an interval only where the estimate is a tenth beyond it."""


@dataclass(frozen=True)
class Measured:
    """A stage that has been run.

    Attributes:
        effects: Of each combination against the start, by each metric; their ratios are what counts.
    """

    stage: Stage
    effects: Sequence[Effect]


def pooled(measured: Iterable[Measured]) -> dict[tuple[str, MetricKey], Effect]:
    """Each combination's ratio to the start over the blocks of all stages, judged as one of all.

    Stages run on the same warm servers, and each block holds the start beside its combinations; so a block is a block,
    whichever stage it is of. The confirmation is none of them: it must not have chosen.
    """
    ratios: dict[tuple[str, MetricKey], list[float]] = defaultdict(list)
    for each in measured:
        if each.stage.kind != "confirm":
            for one in each.effects:
                ratios[one.variant, MetricKey(name=one.metric, scope=one.scope)].extend(one.ratios)
    alone = [effect(name, START, metric, [(ratio, 1.0) for ratio in of]) for (name, metric), of in ratios.items()]
    judged = among_comparisons(alone)
    return dict(zip(ratios, judged, strict=True))


@dataclass(frozen=True)
class Estimates:
    """What is known so far of the combinations that have run."""

    goal: Goal
    bounds: Sequence[Bound]
    effects: dict[tuple[str, MetricKey], Effect]

    @classmethod
    def of(cls, goal: Goal, bounds: Sequence[Bound], measured: Iterable[Measured]) -> "Estimates":
        """Over all stages but the confirmation."""
        return cls(goal, bounds, pooled(measured))

    def on(self, combination: Combination, metric: MetricKey) -> Effect | None:
        """A combination's effect; `None` where it has not run, or never to a figure."""
        effect = self.effects.get((combination_name(combination), metric))
        return effect if effect is not None and effect.ratio is not None else None

    def log_gain(self, combination: Combination) -> float | None:
        """By how much it is better than the start, as a logarithm: below 0 is worse; `None` where that is not known."""
        effect = self.on(combination, self.goal.metric)
        return None if effect is None or effect.ratio is None else log(self.goal.gain(effect.ratio))

    def is_worse(self, combination: Combination) -> bool:
        """Whether its interval shows that it is worse than the start."""
        effect, gain = self.on(combination, self.goal.metric), self.log_gain(combination)
        return gain is not None and gain < 0 and is_detected(effect)

    def broken(self, combination: Combination) -> Bound | None:
        """A bound that its interval, or without one its estimate by a tenth, is beyond; `None` if there is none."""
        for bound in self.bounds:
            effect = self.on(combination, bound.metric)
            if effect is not None and breaks(bound, effect):
                return bound
        return None


def breaks(bound: Bound, effect: Effect) -> bool:
    """Whether an effect is beyond a bound, all of its interval included."""
    if effect.ratio is None:
        return False
    if effect.low is not None and effect.high is not None:
        return bound.is_broken(effect.low) and bound.is_broken(effect.high)
    if effect.ratio == 1 or len(set(effect.ratios)) == 1 < len(effect.ratios):
        return bound.is_broken(effect.ratio)
    return bound.is_broken(effect.ratio / BEYOND) and bound.is_broken(effect.ratio * BEYOND)


def keeps(bound: Bound, effect: Effect) -> bool:
    """Whether all of an effect's interval is within a bound; without an interval, its estimate."""
    if effect.ratio is None:
        return False
    ends = [end for end in (effect.low, effect.high) if end is not None] or [effect.ratio]
    return not any(map(bound.is_broken, ends))


@dataclass(frozen=True)
class Fit:
    """What one candidate adds in a mix, on average over all that the other knobs have there, as a logarithm.

    Attributes:
        gain: Above 0 is better.
        half_width: Of the interval, 95 %; `None` where too few runs tell their own noise.
        runs: Combinations with it.
    """

    name: str
    gain: float
    half_width: float | None
    runs: int


def base_of(combinations: Sequence[Combination]) -> Combination:
    """What all combinations of a mix have in common."""
    first, *others = combinations
    return tuple(name for name in first if all(name in each for each in others))


def fitted(known: Estimates, combinations: Sequence[Combination]) -> list[Fit]:
    """What each candidate of a mix gives, the most first: a linear model of the logarithms, fitted by ridge regression.

    Effects are expected to be little larger than the noise of a run: so few runs make no large ones of noise, and those
    that many runs show lose little. Interactions are noise here.

    Source: Hoerl and Kennard, "Ridge regression", 1970; the interval is that of the posterior, with residuals' variance
    over the effective degrees of freedom.
    """
    gains = {each: gain for each in combinations if (gain := known.log_gain(each)) is not None}
    base = base_of(combinations)
    names = sorted({name for each in gains for name in each} - {*base})
    if not names:
        return []
    present = np.array([[float(name in each) for name in names] for each in gains])
    centred, values = present - present.mean(axis=0), np.array([*gains.values()])
    values = values - values.mean()
    inverse = np.linalg.inv(centred.T @ centred + SHRINKAGE * np.eye(len(names)))
    effects = inverse @ centred.T @ values
    freedom = len(values) - 1 - float(np.trace(centred @ inverse @ centred.T))
    widths: list[float | None] = [None] * len(names)
    if freedom >= LEAST_FREEDOM:
        variance = float(np.sum((values - centred @ effects) ** 2)) / freedom
        widths = (critical(SIGNIFICANCE, freedom) * np.sqrt(variance * np.diag(inverse))).tolist()
    runs = present.sum(axis=0).astype(int).tolist()
    return sorted(map(Fit, names, effects.tolist(), widths, runs), key=lambda fit: fit.gain, reverse=True)
