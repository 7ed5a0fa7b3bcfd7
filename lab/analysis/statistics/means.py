"""Means of few values, and how well each is known where several comparisons share what they know of the noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from statistics import fmean, median

import scipy

CONFIDENCE = 0.95
SIGNIFICANCE = 1 - CONFIDENCE
PRIOR_FREEDOM = 4.0
"""What the other comparisons weigh in a comparison's variance, at most: so many of its own degrees of freedom."""
OUTLYING = 0.01
"""A variance that so small a share exceeds by chance stays apart."""
TRIM = 0.2
LEAST_TRIMMED = 6
"""Of fewer values a trimmed mean keeps 2 degrees of freedom or none."""
LEAST_COMPARISONS = 6
"""Fewer are too few to choose by: where nothing hiccups, the choice would follow chance and intervals fall short."""
WORTH_TRIMMING = 0.8


def p_value(t: float, freedom: float) -> float:
    """Two-sided p-value: the probability of a t at least as far from zero as this one.

    With 4 degrees of freedom, 5 of 100 are beyond 2.776.
    """
    return float(2 * scipy.special.stdtr(freedom, -abs(t)))


@cache
def critical(level: float, freedom: float) -> float:
    """The t that so small a share (0.05 for 5 %) exceeds by chance, either way."""
    return float(-scipy.special.stdtrit(freedom, level / 2))


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and how well it is known.

    Attributes:
        values: How many it is of.
        variance: Of one value, so that the mean's own is this over `values`; `None` where it is not known: of one
            value, or where all are equal.
        freedom: Degrees of freedom of the variance.
        trimmed: Values left out at either end.
    """

    mean: float
    values: int
    variance: float | None
    freedom: float
    trimmed: int = 0

    @property
    def error(self) -> float | None:
        """Standard error of the mean."""
        return None if self.variance is None else sqrt(self.variance / self.values)

    def interval(self, level: float = SIGNIFICANCE) -> tuple[float, float] | None:
        """Interval of the true mean at 1 − `level`; `None` without a variance."""
        if self.error is None:
            return None
        reach = critical(level, self.freedom) * self.error
        return self.mean - reach, self.mean + reach

    def less(self, freedom_lost: float) -> "Mean":
        """Mean with fewer degrees of freedom, since an estimate from the same values made them look closer."""
        if self.variance is None or not freedom_lost:
            return self
        freedom = self.freedom - freedom_lost
        return replace(self, variance=self.variance * self.freedom / freedom, freedom=freedom)

    @property
    def p_value(self) -> float | None:
        """Probability of values at least as far from a mean of zero (p-value); `None` without a variance."""
        return None if self.error is None else p_value(self.mean / self.error, self.freedom)


def plain_mean(values: Sequence[float], freedom_lost: float = 0.0) -> Mean:
    """The arithmetic mean with the variance of its own values.

    Args:
        freedom_lost: Degrees of freedom that an estimate has taken which the values are corrected by, below their own.

    Raises:
        ValueError: There is no value.
    """
    if not values:
        raise ValueError("no values: a mean needs at least one")
    known = len(values) > 1 and min(values) < max(values)
    mean = Mean(fmean(values), len(values), _variance(values) if known else None, len(values) - 1)
    return mean.less(freedom_lost)


def trimmed_mean(values: Sequence[float]) -> Mean:
    """The mean without the lowest and the highest fifth, by number, which one slow run in ten hardly moves.

    Its variance is that of the values of which the outer ones are moved to the next that is kept (winsorised), scaled
    so that the mean's own is this over the number of all values.

    Source: Yuen, "The two-sample trimmed t for unequal population variances", 1974; Wilcox, "Introduction to Robust
        Estimation and Hypothesis Testing", 2017, 3.3.3. Of 1, 2, 3, 4, 5 and 60: mean 3.5, winsorised variance 1.9,
        squared standard error 1.9 · 5/(4 · 3) = 0.79, 3 degrees of freedom.
    """
    size, cut = len(values), int(TRIM * len(values))
    kept = sorted(values)[cut : size - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    squared_error = _variance(winsorised) * (size - 1) / (len(kept) * (len(kept) - 1))
    return Mean(fmean(kept), size, squared_error * size, len(kept) - 1, cut)


def means(
    samples: Sequence[Sequence[float]], freedom_lost: Sequence[float] = (), runs: Sequence[float] = ()
) -> tuple[Mean, ...]:
    """The mean of each comparison's values, with a variance to which all comparisons add what they know of it.

    Trimmed means are taken, of all comparisons that have 6 values or more, where half of these have standard errors
    that trimming makes smaller by a fifth or more. In simulated ladders of 11 comparisons and an A/A
    (`tests/unit/analysis/statistics/test_coverage.py`; noise of 8 % a run) that is so in 3 of 100 without hiccups,
    whose intervals change by less than 1 %. Where one run in ten takes twice as long it is so in half of the suites of
    7 blocks and in 9 of 10 of 10 blocks: ±30 % instead of ±51 %, ±20 % instead of ±38 % (after Holm). Always trimming
    would widen the intervals of those without hiccups by 10 to 14 %. With 5 blocks it would halve them beside hiccups,
    too, but a comparison that scatters ten times as much then makes 7 % of false alarms.

    Args:
        samples: Values by comparison, of one metric, each at least two and not all equal.
        freedom_lost: By comparison, as for `plain_mean`; none if not given.
        runs: By comparison, the variance of its values over that of a run's logarithm: 2 for the ratio of two runs, 1.5
            where one of them is the mean of two; all alike if not given.
    """
    lost = freedom_lost or [0.0] * len(samples)
    plain = [plain_mean(values, less) for values, less in zip(samples, lost, strict=True)]
    trimmed = [
        trimmed_mean(values).less(less) if len(values) >= LEAST_TRIMMED else None
        for values, less in zip(samples, lost, strict=True)
    ]
    ratios = [
        cut.error / whole.error for whole, cut in zip(plain, trimmed, strict=True) if cut and cut.error and whole.error
    ]
    if len(ratios) < LEAST_COMPARISONS or median(ratios) > WORTH_TRIMMING:
        return moderated(plain, runs)
    best = [cut if cut and cut.variance else whole for whole, cut in zip(plain, trimmed, strict=True)]
    return moderated(best, runs)


def moderated(single: Sequence[Mean], runs: Sequence[float] = ()) -> tuple[Mean, ...]:
    """Means with the variance of each drawn towards the pooled one of the others: s̃² = (d₀·s₀² + d·s²)/(d₀ + d).

    A comparison of n blocks knows its own noise by n − 1 degrees of freedom only. Eleven of them have eleven times as
    many, and the noise of a machine is much the same for all. d₀ is 4, or half of what the others have where that is
    less, so that one comparison alone keeps its own variance. One that scatters more than the others do by chance (1 in
    100) keeps its own, too, and is no part of the pool. Without that a comparison of ten times the others' spread was
    covered in 76 % (3 blocks) to 92 % (10) instead of 95 %, and the others widened more than twofold.

    Coverage of 95 % intervals, and suites with any false alarm after Holm (nominally 5 %), of 11 comparisons in the
    ladder's shape: 95 to 98 % and 0 to 4 % for white noise, noise that lasts for some runs (AR(1), 0.6) and hiccups;
    95 % and 2 to 5 % where one comparison scatters a tenth and one ten times as much. Of one to three comparisons and
    an A/A 95 to 96 % and 4 to 5 %, from 3 blocks on; with its own variance in the pool, and all that the others have,
    it was 91 to 95 % and up to 7 %. Half-widths after Holm, white
    noise of 8 %: 30, 20, 16 and 12 % for 3, 5, 7 and 10 blocks; by their own variances alone: 120, 30, 19 and 14 %. A
    prior estimated from the suite (Smyth's) is narrower by a fifth, and had up to 7 % false alarms.

    It falls short where spreads differ by less than shows: evenly from half to twice the others', the one of twice is
    covered in 86 % (3 blocks), 90 % (5) and 92 % (10), with 4 to 6 % false alarms. Of two comparisons of which one
    scatters three times as much, 8, 10 and 6 % of suites have one (3, 5 and 8 blocks), and of three of a spread of 2 %
    beside three of 10 %, 8, 11 and 6 %.

    Args:
        single: Each with a variance above zero.
        runs: As for `means`.

    Source: Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
        experiments", 2004, formula for s̃²; Phipson et al., "Robust hyperparameter estimation protects against
        hypervariable genes", 2016: why the wild ones stay apart.
    """
    weights = runs or [1.0] * len(single)
    alike = [_scaled(one, 1 / weight) for one, weight in zip(single, weights, strict=True)]
    wild = [_is_outlying(one, [*alike[:place], *alike[place + 1 :]]) for place, one in enumerate(alike)]
    drawn = []
    for place, (one, apart) in enumerate(zip(alike, wild, strict=True)):
        # Without its own: it would count twice, and for more degrees of freedom than there are.
        pool = [] if apart else [other for at, other in enumerate(alike) if at != place and not wild[at]]
        drawn.append(_scaled(_drawn_towards(pool, one), weights[place]))
    return tuple(drawn)


def _scaled(one: Mean, factor: float) -> Mean:
    return replace(one, variance=(one.variance or 0.0) * factor)


def _drawn_towards(pool: Sequence[Mean], one: Mean) -> Mean:
    known = sum(other.freedom for other in pool)
    if not known:
        return one
    pooled = sum(other.freedom * (other.variance or 0.0) for other in pool) / known
    prior = min(PRIOR_FREEDOM, known / 2)
    freedom = prior + one.freedom
    return replace(one, variance=(prior * pooled + one.freedom * (one.variance or 0.0)) / freedom, freedom=freedom)


def _is_outlying(one: Mean, others: Sequence[Mean]) -> bool:
    """Test that a variance exceeds the others' at 1 %, by an F-test.

    Theirs is the median, which a second wild one does not move, put right for a variance's own skewness.

    Source: F of 2 and 20 degrees of freedom is above 5.85 once in a hundred. The median of χ²/ν is that of SciPy.
    """
    if not others:
        return False
    usual = median((other.variance or 0.0) * other.freedom / _median_of_chi_square(other.freedom) for other in others)
    freedom = sum(other.freedom for other in others)
    return float(scipy.special.fdtrc(one.freedom, freedom, (one.variance or 0.0) / usual)) < OUTLYING


@cache
def _median_of_chi_square(freedom: float) -> float:
    return float(scipy.special.chdtri(freedom, 0.5))


def difference(first: Sequence[float], second: Sequence[float]) -> Mean:
    """The mean of the first values minus that of the second, which are not paired; each side has its own spread.

    Without a variance where a side has fewer than two values, or neither side varies.

    Source: Welch, "The generalization of 'Student's' problem when several different population variances are
        involved", 1947; degrees of freedom by Satterthwaite, 1946.

    Raises:
        ValueError: A side has no value.
    """
    sides = (first, second)
    mean, values = plain_mean(first).mean - plain_mean(second).mean, len(first) + len(second)
    squares = [_variance(side) / len(side) if len(side) > 1 else 0.0 for side in sides]
    if min(map(len, sides)) < 2 or sum(squares) == 0:
        return Mean(mean, values, None, 0)
    freedom = sum(squares) ** 2 / sum(s**2 / (len(side) - 1) for s, side in zip(squares, sides, strict=True))
    return Mean(mean, values, sum(squares) * values, freedom)


def _variance(values: Sequence[float]) -> float:
    """Variance of at least two values; `statistics.variance` computes in fractions, twenty times as long."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)
