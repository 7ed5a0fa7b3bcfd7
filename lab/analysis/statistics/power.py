"""What so many repeats can show: the smallest effect that a comparison within blocks would have found."""

from functools import cache
from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np

from lab.analysis.statistics.bootstrap import CONFIDENCE, reaches

POWER = 0.8
SIMULATED_MOST = 40
"""Up to so many repeats the bootstrap's own intervals are tried out; beyond, they are those of the t-test."""
SUITES = 4001
DRAWS = 999
SEED = 1988
MOST_REPEATS = 100_000


def smallest_detectable(spread: float, repeats: int) -> float:
    """The smallest relative effect (0.03 for 3 %) that so many repeats, at least 2, show four times in five.

    Args:
        spread: Standard deviation of the log ratios of the blocks. Estimated from a handful of blocks it is itself
            uncertain: with 5 of them the true one is 0.6 to 2.9 times as large, in 95 of 100 cases.
    """
    return exp(detectable_spreads(repeats) * spread) - 1


def repeats_needed(relative: float, spread: float) -> int | None:
    """The fewest repeats, from 2 on, that show a relative effect (0.05 for 5 %) four times in five.

    `None` when 100 000 are not enough.
    """
    standardised = log(1 + relative) / spread
    low, high = 1, 2
    while detectable_spreads(high) > standardised:
        low, high = high, 2 * high
        if high > MOST_REPEATS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detectable_spreads(middle) <= standardised else (middle, high)
    return high


@cache
def detectable_spreads(repeats: int) -> float:
    """The effect, in standard deviations of one block's value, that so many repeats show four times in five.

    Found by trying: suites of normal log ratios are drawn, and an effect is shown when the interval of
    `lab.analysis.statistics.bootstrap` leaves out none. Its intervals are a little wider than the t-test's (5 repeats
    need an effect of 1.8 instead of 1.7 standard deviations), so that the t-test's power would promise too much.
    """
    if repeats > SIMULATED_MOST:
        return t_test_spreads(repeats)
    suites = np.random.default_rng(SEED).normal(0, 1, (SUITES, repeats))
    # An effect e is shown when mean + e > reach; that the opposite is shown instead is too rare to matter here.
    return float(np.quantile(reaches(suites, DRAWS) - suites.mean(axis=1), POWER))


def t_test_spreads(repeats: int) -> float:
    """The same for a two-sided one-sample t-test at 5 %, from 4 repeats on.

    Source: Guenther, "Sample size formulas for normal theory t tests", 1981: n = (z_α + z_β)² / d² + z_α² / 2. For
        d = 0.2, 0.5 and 0.8 it gives Cohen's 199, 34 and 15.
    """
    bound, beyond = (NormalDist().inv_cdf(share) for share in ((1 + CONFIDENCE) / 2, POWER))
    return (bound + beyond) / sqrt(repeats - bound**2 / 2)
