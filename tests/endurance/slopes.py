"""Whether a figure grows over time: its slope, with an interval that neighbouring readings do not make too narrow."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

import numpy as np

from lab.analysis.statistics.means import SIGNIFICANCE, critical

BLOCKS = 10
"""Of an hour's soak without its warm-up, each of 5 minutes."""
LATE_BLOCKS = 3
LEAST_BLOCKS = 3
"""Two points have a slope and no error."""


class Verdict(StrEnum):
    """What the interval of a slope says of growth."""

    FLAT = "flat"
    UNSEEN = "no growth seen"
    GROWS = "grows"


@dataclass(frozen=True, slots=True)
class Slope:
    """Growth of a figure by a unit of what it was fitted against.

    Attributes:
        mean: Of the figure.
        growth: By one unit; negative where it falls.
        error: Standard error of the growth, 0 for a figure that lies on a line.
        freedom: Degrees of freedom of the error.
    """

    mean: float
    growth: float
    error: float
    freedom: int

    def interval(self, significance: float = SIGNIFICANCE) -> tuple[float, float]:
        """Both ends of what holds the true growth, but for so small a share of cases (0.05 for 5 %)."""
        half = critical(significance, self.freedom) * self.error
        return self.growth - half, self.growth + half

    def verdict(self, bound: float, judged: int = 1) -> Verdict:
        """What can be said of growth.

        Flat: the upper end of the 95 % interval is below the bound. It grows: so many figures would show no such growth
        by chance in 95 of 100 soaks (Bonferroni), and the bound may be broken. Otherwise as much as the upper end says
        may hide in the noise.

        Args:
            bound: Growth that nobody minds, > 0.
            judged: Figures that are judged together.
        """
        if self.interval()[1] < bound:
            return Verdict.FLAT
        return Verdict.GROWS if self.interval(SIGNIFICANCE / judged)[0] > 0 else Verdict.UNSEEN


def slope(at: Sequence[float], values: Sequence[float]) -> Slope:
    """The line of least squares through points whose errors are independent.

    Args:
        at: Where the values were read; at least three places, not all the same.

    Raises:
        ValueError: There are fewer than three points.

    Source: Draper and Smith, "Applied Regression Analysis", 1998, 1.3 and 1.4. Through (1, 2), (2, 4), (3, 5), (4, 4)
        and (5, 5) it rises by 0.6 with a standard error of √(2.4/3/10) = 0.283, 3 degrees of freedom.
    """
    if len(values) < LEAST_BLOCKS:
        raise ValueError(f"slope: got {len(values)} points, expected at least {LEAST_BLOCKS}")
    x, y = np.asarray(at, float) - np.mean(at), np.asarray(values, float) - np.mean(values)
    growth = float(x @ y / (x @ x))
    left = y - growth * x
    freedom = len(values) - 2
    return Slope(float(np.mean(values)), growth, sqrt(float(left @ left) / freedom / float(x @ x)), freedom)


def slope_of_blocks(at: Sequence[float], values: Sequence[float], blocks: int = BLOCKS) -> Slope:
    """The line of least squares through the means of blocks of equal length.

    Readings that follow each other are alike, so that a line through all of them would seem to be known too well. The
    means of blocks that are long against what makes neighbours alike are as good as independent.

    Args:
        at: Instants in ascending order.
        blocks: A block without a reading is left out.

    Raises:
        ValueError: Readings lie in fewer than three blocks.

    Source: Schmeiser, "Batch size effects in the analysis of simulation output", 1982: 10 to 30 blocks.
    """
    return slope(*block_means(at, values, blocks))


def block_means(at: Sequence[float], values: Sequence[float], blocks: int = BLOCKS) -> tuple[list[float], list[float]]:
    """Mean instant and mean value of each block that has a reading."""
    x, y = np.asarray(at, float), np.asarray(values, float)
    edges = np.linspace(x[0], x[-1], blocks + 1) if len(x) else np.zeros(2)
    number = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, blocks - 1)
    filled = np.unique(number)
    return [x[number == block].mean() for block in filled], [y[number == block].mean() for block in filled]


def late_growth(at: Sequence[float], values: Sequence[float]) -> float:
    """By how much the last three blocks together exceed the highest one before them; negative where they do not.

    A figure that grows only at the end is far from any line, whose interval then holds everything.
    """
    _, means = block_means(at, values)
    return float(np.mean(means[-LATE_BLOCKS:]) - max(means[:-LATE_BLOCKS], default=np.inf))
