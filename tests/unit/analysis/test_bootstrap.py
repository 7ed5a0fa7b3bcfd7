"""The arithmetic of intervals: what a bootstrap-t is by definition, and what must follow from it whatever the draws."""

from math import sqrt

import numpy as np
import pytest

from lab.analysis.statistics.bootstrap import (
    DRAWS,
    SEED,
    MeanInterval,
    difference_interval,
    mean_interval,
    reaches,
    weights,
)

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Student 1908: hours of sleep gained, mean 1.58, standard deviation 1.23."""
OTHERS = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7]


def bounds(found: MeanInterval) -> tuple[float, float, float]:
    """Lower end, upper end and p-value, all known."""
    assert found.low is not None
    assert found.high is not None
    assert found.p_value is not None
    return found.low, found.high, found.p_value


def distances(values: list[float], drawn: list[float]) -> tuple[float, float]:
    """By definition: how far a resample's mean lies from the sample's, and the resample's standard deviation."""
    mean = sum(share * value for share, value in zip(drawn, values, strict=True))
    variance = sum(share * (value - mean) ** 2 for share, value in zip(drawn, values, strict=True))
    return mean - sum(values) / len(values), sqrt(variance)


def test_an_interval_is_the_symmetric_bootstrap_t_of_its_definition() -> None:
    """|x̄_w − x̄| · √(n−1) / s_w of each resample, its 95 % quantile times s / √n to either side."""
    drawn = weights(10, 199).tolist()
    studentised = [abs(shift) * sqrt(9) / deviation for shift, deviation in (distances(SLEEP, row) for row in drawn)]
    found = mean_interval(SLEEP, draws=199)
    assert (found.mean, found.spread) == (pytest.approx(1.58), pytest.approx(1.23, abs=0.005))
    reach = float(np.quantile(studentised, 0.95)) * float(np.std(SLEEP, ddof=1)) / sqrt(10)
    as_far = sum(value >= 1.58 / (float(np.std(SLEEP, ddof=1)) / sqrt(10)) for value in studentised)
    assert bounds(found) == pytest.approx((1.58 - reach, 1.58 + reach, (as_far + 1) / 200))


def test_a_difference_is_the_same_with_the_spread_of_either_side() -> None:
    """Each side is drawn for itself, and the squares of both standard errors are added, as in Welch's test."""
    rows = zip(weights(10, 199).tolist(), weights(7, 199, SEED + 1).tolist(), strict=True)
    pairs = [(distances(SLEEP, one), distances(OTHERS, two)) for one, two in rows]
    studentised = [abs(one[0] - two[0]) / sqrt(one[1] ** 2 / 9 + two[1] ** 2 / 6) for one, two in pairs]
    error = sqrt(float(np.var(SLEEP, ddof=1)) / 10 + float(np.var(OTHERS, ddof=1)) / 7)
    mean = 1.58 - sum(OTHERS) / 7
    reach = float(np.quantile(studentised, 0.95)) * error
    as_far = sum(value >= mean / error for value in studentised)
    found = difference_interval(SLEEP, OTHERS, draws=199)
    assert found.mean == pytest.approx(mean)
    assert bounds(found) == pytest.approx((mean - reach, mean + reach, (as_far + 1) / 200))


def test_against_values_that_hardly_vary_a_difference_is_as_sure_as_the_mean() -> None:
    """A control known to a billionth adds nothing to the interval."""
    found = difference_interval(SLEEP, [-1e-9, 0.0, 1e-9])
    assert bounds(found) == pytest.approx(bounds(mean_interval(SLEEP)), rel=1e-4)


def test_the_two_sides_of_a_difference_vary_apart_from_each_other() -> None:
    """Of a series against itself the mean is zero, and no less sure for that than against a stranger."""
    low, high, p_value = bounds(difference_interval(SLEEP, SLEEP))
    assert (low, p_value) == (pytest.approx(-high), 1.0)
    assert high > 1.96 * sqrt(2) * 1.23 / sqrt(10)


def test_an_interval_moves_and_stretches_with_its_values() -> None:
    """In other units it is the same interval."""
    low, high, _ = bounds(mean_interval(SLEEP))
    moved = bounds(mean_interval([60 * hours - 7 for hours in SLEEP]))
    assert moved[:2] == pytest.approx((60 * low - 7, 60 * high - 7))


def test_interval_and_p_value_agree() -> None:
    """Where the interval ends at zero p is 5 %; values without a mean have p = 1, and none has p = 0."""
    for values in (SLEEP, SLEEP[:3]):
        low, high, _ = bounds(mean_interval(values))
        for end in (low, high):
            assert bounds(mean_interval([value - end for value in values]))[2] == pytest.approx(0.05, abs=2 / DRAWS)
    assert bounds(mean_interval([-3.0, 1.0, 2.0]))[2] == 1.0
    assert bounds(mean_interval([1e9 + value for value in SLEEP]))[2] == 1 / (DRAWS + 1)
    assert bounds(difference_interval([1e9 + value for value in SLEEP], OTHERS))[2] == 1 / (DRAWS + 1)


def test_a_wider_confidence_reaches_further() -> None:
    """By the same draws."""
    assert bounds(mean_interval(SLEEP, confidence=0.99))[1] > bounds(mean_interval(SLEEP))[1]


def test_many_samples_reach_as_far_as_each_by_itself() -> None:
    """What the power is found with is what a suite is judged with."""
    samples = np.array([SLEEP[:5], SLEEP[5:]])
    one_by_one = [bounds(mean_interval(sample, draws=199))[1] - sum(sample) / 5 for sample in samples.tolist()]
    assert reaches(samples, 199).tolist() == pytest.approx(one_by_one)


@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0, 7.0]])
def test_without_a_spread_there_is_a_mean_and_nothing_else(values: list[float]) -> None:
    """One value, or all the same."""
    assert mean_interval(values) == MeanInterval(7.0, None, None, None, None)


@pytest.mark.parametrize("side", [[7.0], [7.0, 7.0]])
def test_both_sides_of_a_difference_need_a_spread(side: list[float]) -> None:
    """Neither makes up for the other."""
    assert difference_interval(side, [1.0, 3.0]) == MeanInterval(5.0, None, None, None, None)
    assert difference_interval([1.0, 3.0], side) == MeanInterval(-5.0, None, None, None, None)
    assert difference_interval([1.0, 3.0], [5.0, 7.0]).low is not None


def test_there_is_no_mean_of_nothing() -> None:
    """Whoever asks has counted wrongly."""
    with pytest.raises(ValueError, match=r"^no values: a mean needs at least one$"):
        mean_interval([])
    for first, second in (([], [1.0]), ([1.0], [])):
        with pytest.raises(ValueError, match=r"^no values: a mean needs at least one on either side$"):
            difference_interval(first, second)


def test_weights_have_the_first_three_moments_of_drawing_with_replacement() -> None:
    """Each row sums to 1; of n values, n times a weight has mean, variance and third moment 1."""
    drawn = 53 * weights(53)
    assert drawn.sum(axis=1) == pytest.approx(53.0)
    deviations = drawn - 1
    assert (float((deviations**2).mean()), float((deviations**3).mean())) == pytest.approx((1.0, 1.0), rel=0.1)
