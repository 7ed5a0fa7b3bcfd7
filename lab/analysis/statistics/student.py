"""Student's t distribution, for any degrees of freedom: what few values are judged by."""

from functools import cache

import scipy

CONFIDENCE = 0.95
SIGNIFICANCE = 1 - CONFIDENCE


def p_value(t: float, freedom: float) -> float:
    """Two-sided p-value: the probability of a t at least as far from zero as this one.

    With 4 degrees of freedom, 5 of 100 are beyond 2.776.
    """
    return float(2 * scipy.special.stdtr(freedom, -abs(t)))


@cache
def critical(level: float, freedom: float) -> float:
    """The t that so small a share (0.05 for 5 %) exceeds by chance, either way."""
    return float(-scipy.special.stdtrit(freedom, level / 2))
