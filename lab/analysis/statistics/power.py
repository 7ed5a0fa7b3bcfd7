"""Power of so many repeats: the smallest effect that a comparison within blocks would have found."""

from math import expm1, sqrt

import scipy

from lab.analysis.statistics.means import PRIOR_FREEDOM, SIGNIFICANCE, critical

POWER = 0.8
MOST = 100.0
"""Beyond this log ratio there is nothing to tell apart."""


def smallest_detectable(error: float, freedom: float, comparisons: int = 1) -> tuple[float, float, float]:
    """The smallest relative effect (0.03 for 3 %) that a comparison known so well shows four times in five.

    Args:
        error: Standard error of its mean log ratio.
        freedom: Degrees of freedom of that, 2 or more.
        comparisons: Of the metric; Holm's procedure asks the more of each. Counted is the first of its steps, which is
            the one that matters where nothing else differs.

    Returns:
        The effect, and between which two it lies in 95 of 100 cases, since the true spread is not known: with 8 degrees
        of freedom that is 0.7 to 1.9 times the estimate.
    """
    log_ratio = detectable_errors(freedom, comparisons) * error
    least, most = _true_errors(freedom)
    effect, low, high = (expm1(min(MOST, share * log_ratio)) for share in (1.0, least, most))
    return effect, low, high


def detectable_errors(freedom: float, comparisons: int = 1) -> float:
    """The effect, in standard errors, that the interval leaves out four times in five.

    That the opposite is shown instead is too rare to matter.

    Source: the noncentral t distribution. Cohen, "Statistical Power Analysis", 1988: 34 pairs show half a standard
        deviation, which is 2.9 standard errors.
    """
    return float(scipy.special.nctdtrinc(freedom, 1 - POWER, critical(SIGNIFICANCE / comparisons, freedom)))


def expected_width(spread: float, blocks: int, comparisons: int, beside: int = 0) -> float:
    """The relative half-width (0.05 for 5 %) of an interval after 2 blocks or more, among so many comparisons.

    All of them know their noise together (see `lab.analysis.statistics.means`), and Holm's procedure asks the most.

    Args:
        spread: Standard deviation of a comparison's log ratio from block to block.
        beside: Comparisons that tell of the noise only, such as A/A.
    """
    freedom = blocks - 1 + min(PRIOR_FREEDOM, (comparisons + beside - 1) * (blocks - 1) / 2)
    return expm1(min(MOST, critical(SIGNIFICANCE / max(1, comparisons), freedom) * spread / sqrt(blocks)))


def _true_errors(freedom: float) -> tuple[float, float]:
    """The true standard error as multiples of the estimated one, in 95 of 100 cases.

    Source: that of χ²: with 8 degrees of freedom 0.68 and 1.92, with 2, the fewest, 0.52 and 6.3.
    """
    least, most = (
        sqrt(freedom / float(scipy.special.chdtri(freedom, share)))
        for share in (SIGNIFICANCE / 2, 1 - SIGNIFICANCE / 2)
    )
    return least, most
