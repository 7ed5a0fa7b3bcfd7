"""Slopes of what was read for hours, against worked examples and simulated noise."""

import numpy as np
import pytest

from tests.endurance.slopes import Slope, Verdict, slope, slope_of_blocks


def test_a_slope_has_the_textbooks_error() -> None:
    """Of 2, 4, 5, 4 and 5: 0.6 ± 3.182 · √(2.4/3/10)."""
    found = slope([1, 2, 3, 4, 5], [2, 4, 5, 4, 5])
    assert (found.mean, found.freedom) == (4.0, 3)
    assert found.growth == pytest.approx(0.6)
    assert found.error == pytest.approx((2.4 / 3 / 10) ** 0.5)
    assert found.interval() == pytest.approx((0.6 - 0.9001, 0.6 + 0.9001), abs=0.0001)


def test_what_never_changes_has_an_interval_without_width() -> None:
    """Threads, as a rule."""
    found = slope_of_blocks(list(range(31)), [17.0] * 31)
    assert (found.mean, found.growth, found.interval()) == (17.0, 0.0, (0.0, 0.0))
    assert found.verdict(0.17) is Verdict.FLAT


@pytest.mark.parametrize("points", [0, 1, 2])
def test_two_points_have_no_interval(points: int) -> None:
    """Nor have fewer."""
    with pytest.raises(ValueError, match=rf"^slope: got {points} points, expected at least 3$"):
        slope_of_blocks([float(place) for place in range(points)], [5.0] * points)


def test_each_block_counts_by_the_mean_of_what_was_read_in_it() -> None:
    """Three blocks, the last with two readings; the means lie on a line, and nothing is left over."""
    found = slope_of_blocks([0.0, 4.0, 7.0, 9.0], [1.0, 9.0, 15.0, 19.0], blocks=3)
    assert (found.growth, found.error, found.freedom) == (pytest.approx(2.0), pytest.approx(0.0, abs=1e-9), 1)


def test_blocks_hold_the_truth_where_single_readings_would_claim_too_much() -> None:
    """AR(1) noise of 0.8: blocks find a slope in about 5 of 100 series that have none, single readings in half."""
    noise = np.random.default_rng(7)
    false_by_blocks = false_by_readings = 0
    places = np.arange(300.0)
    for _ in range(400):
        values = np.zeros(300)
        for place in range(1, 300):
            values[place] = 0.8 * values[place - 1] + noise.standard_normal()
        false_by_blocks += excludes_zero(slope_of_blocks(places, values))
        false_by_readings += excludes_zero(slope(places, values))
    assert 0.02 <= false_by_blocks / 400 <= 0.1
    assert false_by_readings / 400 > 0.3


def excludes_zero(found: Slope) -> bool:
    """Whether the interval claims growth or its opposite."""
    low, high = found.interval()
    return low > 0 or high < 0


@pytest.mark.parametrize(
    ("growth", "judged", "verdict"),
    [
        (-9.0, 1, Verdict.FLAT),
        (0.0, 1, Verdict.UNSEEN),
        (2.0, 1, Verdict.UNSEEN),
        (2.5, 1, Verdict.GROWS),
        (2.5, 20, Verdict.UNSEEN),
        (9.0, 20, Verdict.GROWS),
    ],
)
def test_growth_is_claimed_only_beyond_what_as_many_figures_show_by_chance(
    growth: float, judged: int, verdict: Verdict
) -> None:
    """With 8 degrees of freedom and an error of 1: 2.31 for one figure, more than 4 for twenty."""
    assert Slope(100.0, growth, 1.0, 8).verdict(2.0, judged) is verdict


def test_growth_below_the_bound_is_flat_even_if_it_is_certain() -> None:
    """A kilobyte an hour is nobody's leak."""
    assert Slope(100.0, 0.5, 0.01, 8).verdict(1.0) is Verdict.FLAT
