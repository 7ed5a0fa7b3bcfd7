"""What so many repeats can show: the smallest effect that a comparison within blocks would have found."""

from functools import cache
from math import expm1

import numpy as np

from lab.analysis.statistics.bootstrap import CONFIDENCE, DRAWS, reaches

POWER = 0.8
SUITES = 501
SPREADS = 100_000
SEED = 1988
MOST = 100.0
"""Beyond this log ratio there is nothing to tell apart."""


def smallest_detectable(spread: float, repeats: int, comparisons: int = 1) -> tuple[float, float, float]:
    """The smallest relative effect (0.03 for 3 %) that so many repeats, at least 2, show four times in five.

    Args:
        spread: Standard deviation of the log ratios of the blocks, estimated from as many of them.
        comparisons: Of the metric; Holm's procedure asks the more of each. Counted is the first of its steps, which is
            the one that matters where nothing else differs.

    Returns:
        The effect, and between which two it lies in 95 of 100 cases, since the true spread is not known: with 5 repeats
        that is 0.6 to 2.9 times the estimate.
    """
    log_ratio = detectable_spreads(repeats, comparisons) * spread
    least, most = _true_spreads(repeats)
    effect, low, high = (expm1(min(MOST, share * log_ratio)) for share in (1.0, least, most))
    return effect, low, high


@cache
def detectable_spreads(repeats: int, comparisons: int = 1) -> float:
    """The effect, in standard deviations of one block's value, that so many repeats show four times in five.

    Found by trying: suites of normal log ratios are drawn, and an effect is shown when the interval of
    `lab.analysis.statistics.bootstrap` leaves out none. Its intervals are a little wider than the t-test's (5 repeats
    need an effect of 1.8 instead of 1.7 standard deviations), so that the t-test's power would promise too much.
    """
    suites = np.random.default_rng(SEED).normal(0, 1, (SUITES, repeats))
    reach = reaches(suites, DRAWS, confidence=1 - (1 - CONFIDENCE) / comparisons)
    # An effect e is shown when mean + e > reach; that the opposite is shown instead is too rare to matter here.
    return float(np.quantile(reach - suites.mean(axis=1), POWER))


@cache
def _true_spreads(repeats: int) -> tuple[float, float]:
    """The true standard deviation as multiples of one estimated from so many values, in 95 of 100 cases."""
    freedom = repeats - 1
    drawn = np.random.default_rng(SEED).chisquare(freedom, SPREADS)
    low, high = np.quantile(np.sqrt(freedom / drawn), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
