"""Values with the interval in which they lie, as far as several runs tell one."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log

from lab.analysis.statistics.means import plain_mean

ROUNDING = 1e-9
"""Sums of floating-point numbers are right to more digits than these; three machines must not become four by them."""


@dataclass(frozen=True, slots=True)
class Range:
    """A value and where the true one lies at 95 %.

    Attributes:
        low: `None`, as `high`, where the spread is not known: of one run.
    """

    value: float
    low: float | None = None
    high: float | None = None

    def __mul__(self, factor: float) -> "Range":
        """The range of a value that is so many times as large."""
        if self.low is None or self.high is None:
            return Range(self.value * factor)
        return Range(self.value * factor, self.low * factor, self.high * factor)

    def __truediv__(self, divisor: float) -> "Range":
        """The range of a value that is so many times as small."""
        return self * (1 / divisor)

    @property
    def most(self) -> float:
        """The upper end, where it is known: what must be planned for."""
        return self.value if self.high is None else self.high

    def whole(self, least: int = 1, spare: int = 0) -> "Range":
        """As whole things, rounded up, with so many more for the loss of some, and at least so many."""

        def rounded(value: float) -> int:
            return max(least, ceil(value - ROUNDING) + spare)

        ends = (None if end is None else rounded(end) for end in (self.low, self.high))
        return Range(rounded(self.value), *ends)


def largest(ranges: Sequence[Range]) -> Range:
    """The range that satisfies all of these: the largest value, and the largest of each end."""
    lows = [one.value if one.low is None else one.low for one in ranges]
    highs = [one.most for one in ranges]
    if all(one.high is None for one in ranges):
        return Range(max(one.value for one in ranges))
    return Range(max(one.value for one in ranges), max(lows), max(highs))


def estimated(values: Sequence[float]) -> Range:
    """The geometric mean of what runs measured, with the interval that Student's t gives for the mean of its logarithm.

    Args:
        values: One of each run, above 0; of one, or of equal ones, there is no interval.

    Source: Of 32, 35 and 38: logarithms 3.466, 3.555 and 3.638, mean 3.553 and standard error 0.0496; with 2 degrees of
        freedom t is 4.303: 34.9, between 28.2 and 43.2.
    """
    mean = plain_mean([log(value) for value in values])
    interval = mean.interval()
    return Range(exp(mean.mean), *map(exp, interval or ()))
