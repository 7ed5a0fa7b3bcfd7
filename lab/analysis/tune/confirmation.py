"""Confirmation of a choice, with the objections to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log

import numpy as np
import scipy

from lab.analysis.suite.comparisons import is_detected
from lab.analysis.tune.estimates import CONFIDENCE, LEAST_CONFIRM_BLOCKS, keeps
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, Bound, Combination, Gain, TunePlan, combination_name

STEPS = 2001
REACH = 5.0
"""Standard errors beyond an estimate within which the truth is looked for."""


@dataclass(frozen=True)
class Confirmation:
    """The choice of a search against the start, by runs that did not choose it.

    Attributes:
        effects: By every metric, of the choice and of the start against itself (A/A).
        rise: Ratio by which the rates of the drains still rose after the warm-up, so that none are compared; `None`
            where no rise is shown.
    """

    plan: TunePlan
    chosen: Combination
    effects: Sequence[Effect]
    rise: float | None = None

    def of(self, variant: str, metric: MetricKey) -> Effect | None:
        """The effect of a variant by a metric; `None` where no block has one."""
        those = (each for each in self.effects if each.variant == variant and each.key == metric.key)
        return next((each for each in those if each.ratio is not None), None)

    def on(self, metric: MetricKey) -> Effect | None:
        """The effect of the choice by a metric."""
        return self.of(combination_name(self.chosen), metric)

    @property
    def goal(self) -> Effect | None:
        """The effect of the choice by the goal."""
        return self.on(self.plan.goal.metric)

    @property
    def check(self) -> Effect | None:
        """The start against itself by the goal."""
        return self.of(START + AGAIN, self.plan.goal.metric)

    @property
    def blocks(self) -> int:
        """Blocks in which the choice has the goal's figure."""
        return len(self.goal.ratios) if self.goal else 0

    @cached_property
    def gain(self) -> Gain | None:
        """The gain by the goal, given that only what shows is told; `None` where nothing shows."""
        effect, goal = self.goal, self.plan.goal
        if effect is None or effect.ratio is None or not is_detected(effect) or goal.gain(effect.ratio) < 1:
            return None
        told = Gain(ratio=effect.ratio, low=effect.low, high=effect.high)
        return given_that_it_shows(told, effect.confidence)

    @property
    def by_bound(self) -> list[tuple[Bound, Effect | None]]:
        """Each bound with the effect of the choice on it."""
        return [(bound, self.on(bound.metric)) for bound in self.plan.bounds]

    @property
    def broken(self) -> Bound | None:
        """A bound that the choice is beyond by its estimate, or that was not measured; `None` if there is none."""
        for bound, effect in self.by_bound:
            if effect is None or effect.ratio is None or bound.is_broken(effect.ratio):
                return bound
        return None

    @property
    def is_better(self) -> bool:
        """Check that enough blocks show a gain above the start's own difference (A/A), and that no bound is broken."""
        if self.gain is None or self.blocks < LEAST_CONFIRM_BLOCKS or self.broken is not None:
            return False
        ends = (self.gain.low or self.gain.ratio, self.gain.high or self.gain.ratio)
        least = min(log(self.plan.goal.gain(end)) for end in ends)
        apart = self.check.ratio if self.differs_from_itself and self.check else None
        return least >= abs(log(apart or 1.0))

    @property
    def differs_from_itself(self) -> bool:
        """Check that the start differs from itself (A/A), by chance or by a fault of the method."""
        return is_detected(self.check)

    @property
    def is_confirmed(self) -> bool:
        """Check that the choice is better, within all bounds by its intervals, and that A/A shows no difference."""
        kept = (effect is not None and keeps(bound, effect) for bound, effect in self.by_bound)
        return self.is_better and all(kept) and self.check is not None and not self.differs_from_itself


def given_that_it_shows(told: Gain, confidence: float) -> Gain:
    """An effect whose interval leaves out "no change", without the luck that it takes to be shown.

    Of a small effect only runs show something that have made it large by chance. So the likelihood of a true effect is
    that of the estimate among those that are far enough from none to be told; all effects of its sign are as likely
    before. The estimate is their mean, and the interval holds all but 2.5 % on either side.

    Args:
        told: Estimate and interval as they are.
        confidence: Of that interval.

    Source: Ghosh, Zou and Wright, "Estimating odds ratios in genome scans: an approximate conditional likelihood
        approach", 2008, second estimator. Of an estimate 2 standard errors from none 1.2 are left (0.04 to 3.4), of one
        3 from none 2.4 (0.2 to 4.7), of one 6 from none all.
    """
    if told.low is None or told.high is None:
        return told
    half = log(told.high / told.low) / 2
    least = float(scipy.special.ndtri((1 + confidence) / 2))
    errors = least * abs(log(told.ratio)) / half
    truths = np.linspace(0.0, errors + REACH, STEPS)
    likelihood = np.exp(-((errors - truths) ** 2) / 2 - scipy.special.log_ndtr(truths - least))
    shares = likelihood / likelihood.sum()
    ends = np.interp(((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2), np.cumsum(shares), truths)
    sign = half / least if told.ratio > 1 else -half / least
    low, high = sorted(exp(sign * end) for end in ends.tolist())
    return Gain(ratio=exp(sign * float(shares @ truths)), low=low, high=high)
