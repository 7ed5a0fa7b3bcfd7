"""Confidence interval for the mean of a small sample, by a studentised bootstrap that holds for few values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
DRAWS = 9999
SEED = 2508
TINY = np.finfo(np.float64).tiny

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean and where the true one lies.

    Attributes:
        low, high: `None` with fewer than two values, or when all are equal: then nothing is known of their spread.
        p_value: How often a mean of zero would have given values as far from it; `None` likewise.
        spread: Standard deviation of one value.
    """

    mean: float
    low: float | None
    high: float | None
    p_value: float | None
    spread: float | None


def mean_interval(values: Sequence[float], *, confidence: float = CONFIDENCE, draws: int = DRAWS) -> MeanInterval:
    """The mean of the values with a symmetric bootstrap-t interval, by weights from Beta(1/2, 3/2).

    The usual bootstrap draws values again with replacement. For 3 to 10 values that fails either way: percentiles of
    the resampled means lie within the values and cover the truth in 75 % of cases for n = 3 instead of 95 %, and the
    bootstrap-t has no bound there, since one resample in nine is three times the same value. Weights that are drawn
    from a Beta distribution instead of counted have the same mean, variance and third moment, and no such ties. The
    studentised mean of a resample is |x̄_w − x̄| · √(n−1) / s_w, with s_w the weighted standard deviation; it is taken
    without its sign, because a log ratio of two runs that vary alike is symmetric whatever each of them is.

    Coverage for n = 3, 5 and 10 (`tests/unit/analysis/statistics/test_coverage.py`): 94 to 96 % for normal noise,
    to 98.5 % for skewed noise. Where only one of the two variants varies, and very lopsidedly, it fell in trials: to
    85, 80 and 73 % for n = 3, 5 and 10 where one run in ten takes twice as long beside a noise of 5 %.

    Source: Owen, "Better bootstrap t confidence intervals for the mean", 2025 (arXiv 2508.10083): the weights; Hall,
        "On symmetric bootstrap confidence intervals", 1988; Hesterberg, "What teachers should know about the
        bootstrap", 2015: why percentiles fall short for few values.

    Raises:
        ValueError: There is no value.
    """
    if not values:
        raise ValueError("no values: a mean needs at least one")
    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    if sample.size < 2 or np.ptp(sample) == 0:
        return MeanInterval(mean, None, None, None, None)
    spread = float(sample.std(ddof=1))
    shifts, squares = _resampled(sample, weights(sample.size, draws))
    return _interval(mean, spread / sqrt(sample.size), np.abs(shifts) / np.sqrt(squares), confidence, spread)


def difference_interval(first: Sequence[float], second: Sequence[float], *, draws: int = DRAWS) -> MeanInterval:
    """The mean of the first values minus that of the second, which are not paired, with an interval made likewise.

    Each side has its own spread, as in Welch's t-test. No interval with fewer than two values on a side, or when all
    values of a side are equal.

    Raises:
        ValueError: A side has no value.
    """
    if not first or not second:
        raise ValueError("no values: a mean needs at least one on either side")
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    mean = float(one.mean() - two.mean())
    if min(one.size, two.size) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return MeanInterval(mean, None, None, None, None)
    error = sqrt(one.var(ddof=1) / one.size + two.var(ddof=1) / two.size)
    own, own_squares = _resampled(one, weights(one.size, draws))
    other, other_squares = _resampled(two, weights(two.size, draws, SEED + 1))
    return _interval(mean, error, np.abs(own - other) / np.sqrt(own_squares + other_squares), CONFIDENCE, None)


def reaches(samples: Floats, draws: int, *, confidence: float = CONFIDENCE) -> Floats:
    """How far the interval of each sample reaches from its mean to either side.

    Args:
        samples: samples × values.
    """
    shifts, squares = _resampled(samples, weights(samples.shape[1], draws))
    errors = samples.std(axis=1, ddof=1) / sqrt(samples.shape[1])
    reach: Floats = np.quantile(np.abs(shifts) / np.sqrt(squares), confidence, axis=1) * errors
    return reach


def _resampled(samples: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """How far the mean of each resample lies from its sample's, and the square of its standard error.

    Args:
        samples: values, or samples × values.
        drawn: draws × values, from `weights`.

    Returns:
        draws, or samples × draws, twice.
    """
    deviations = samples - samples.mean(axis=-1, keepdims=True)
    shifts = deviations @ drawn.T
    # Two weights of a resample can be so small that what rounding leaves of its variance is below zero.
    variances = np.maximum(deviations**2 @ drawn.T - shifts**2, TINY)
    return shifts, variances / (drawn.shape[1] - 1)


def _interval(mean: float, error: float, studentised: Floats, confidence: float, spread: float | None) -> MeanInterval:
    """The interval of a mean with this standard error, from the studentised means of its resamples, unsigned."""
    reach = float(np.quantile(studentised, confidence)) * error
    as_far = int(np.count_nonzero(studentised >= abs(mean) / error))
    return MeanInterval(mean, mean - reach, mean + reach, (as_far + 1) / (studentised.size + 1), spread)


@cache
def weights(size: int, draws: int = DRAWS, seed: int = SEED) -> Floats:
    """Weights that stand for resamples of `size` values: draws × size, each row sums to 1.

    The same in each call, so that a report says the same when it is drawn again.
    """
    drawn = np.random.default_rng(seed).beta(0.5, 1.5, (draws, size))
    shares: Floats = drawn / drawn.sum(axis=1, keepdims=True)
    return shares
