"""Means of few values, against worked examples."""

from math import sqrt

import pytest

from lab.analysis.statistics.means import Mean, difference, means, moderated, plain_mean, trimmed_mean
from tests.unit.messages import MakeMessage

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Student 1908: hours of sleep gained, mean 1.58, standard deviation 1.23."""


def of(variance: float, freedom: float = 4) -> Mean:
    """A mean of zero with this variance."""
    return Mean(0.0, int(freedom) + 1, variance, freedom)


def test_a_mean_has_students_error_and_p_value() -> None:
    """Student 1908: t = 4.06, p = 0.0028."""
    found = plain_mean(SLEEP)
    assert (found.mean, found.freedom) == (pytest.approx(1.58), 9)
    assert found.error == pytest.approx(1.23 / sqrt(10), abs=0.001)
    assert found.p_value == pytest.approx(0.00283, abs=0.00002)


@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0, 7.0]])
def test_without_a_spread_there_is_a_mean_and_nothing_else(values: list[float]) -> None:
    """One value, or all the same."""
    found = plain_mean(values)
    assert (found.mean, found.variance, found.error, found.p_value) == (7.0, None, None, None)


def test_there_is_no_mean_of_nothing(message: MakeMessage) -> None:
    """Whoever asks has counted wrongly."""
    with pytest.raises(ValueError, match="mean") as error:
        plain_mean([])
    assert str(error.value) == message()


def test_a_trimmed_mean_leaves_out_a_fifth_at_either_end_and_winsorises_the_spread() -> None:
    """Of 1, 2, 3, 4, 5, 60: 2, 3, 4, 5 are kept; 2, 2, 3, 4, 5, 5 have variance 1.9; its share is 1.9 · 5/(4 · 3)."""
    found = trimmed_mean([4.0, 60.0, 1.0, 3.0, 2.0, 5.0])
    assert (found.mean, found.values, found.freedom, found.trimmed) == (3.5, 6, 3, 1)
    assert found.error == pytest.approx(sqrt(1.9 * 5 / 12))


def test_variances_are_drawn_towards_those_of_the_others_as_by_four_degrees_of_freedom() -> None:
    """Of 1, 2 and 3 with 4 degrees each the others' are 2.5, 2 and 1.5: they become 1.75, 2 and 2.25, with 8."""
    found = moderated([of(1.0), of(2.0), of(3.0)])
    assert [(one.variance, one.freedom) for one in found] == [(1.75, 8), (2.0, 8), (2.25, 8)]


def test_a_comparison_counts_for_the_pool_by_its_degrees_of_freedom() -> None:
    """1 with 2 degrees beside 2 with 8, of which half count and 4 at most; and the other way round."""
    small, large = moderated([of(1.0, 2), of(2.0, 8)])
    assert (small.variance, small.freedom) == (pytest.approx((4 * 2.0 + 2 * 1.0) / 6), 6)
    assert (large.variance, large.freedom) == (pytest.approx((1 * 1.0 + 8 * 2.0) / 9), 9)


def test_a_ratio_to_the_mean_of_two_runs_is_held_beside_one_to_a_single_run_by_what_both_scatter() -> None:
    """3 for two runs and 2.25 for one and the mean of two are the same noise of a run."""
    found = moderated([of(3.0), of(2.25)], [2.0, 1.5])
    assert [one.variance for one in found] == pytest.approx([3.0, 2.25])


def test_one_comparison_alone_keeps_its_own_variance() -> None:
    """There is nothing to draw it to."""
    assert moderated([of(3.0)]) == (of(3.0),)


def test_a_wild_comparison_keeps_its_variance_and_leaves_the_others_theirs() -> None:
    """Ten times the others' spread; what is far below them is drawn up all the same."""
    *usual, wild = moderated([of(1.0), of(1.0), of(0.01), of(1.0), of(100.0)])
    assert (wild.variance, wild.freedom) == (100.0, 4)
    drawn = [((3.01 - own) / 3 + own) / 2 for own in (1.0, 1.0, 0.01, 1.0)]
    assert [one.variance for one in usual] == pytest.approx(drawn)


@pytest.mark.parametrize(("variance", "is_wild"), [(5.2, False), (6.4, True)])
def test_wild_is_what_one_in_a_hundred_is_by_chance(variance: float, *, is_wild: bool) -> None:
    """F with 2 and 20 degrees of freedom exceeds 5.85 so often; the median of χ²/2 is 0.70 of its mean."""
    usual = of((1 - 2 / 18) ** 3, 2)
    found = moderated([of(variance, 2), *[usual] * 10])
    assert (found[0].freedom == 2) is is_wild


def test_means_are_trimmed_only_where_that_pays_for_half_of_enough_comparisons() -> None:
    """Six comparisons of six blocks with one slow run each; without slow runs, or of five comparisons: not."""
    calm = [0.01, 0.03, -0.02, 0.0, -0.01, 0.02]
    hiccup = [*calm[:5], -0.69]
    assert {one.trimmed for one in means([hiccup] * 6)} == {1}
    assert {one.trimmed for one in means([calm] * 6)} == {0}
    assert {one.trimmed for one in means([hiccup] * 5)} == {0}
    assert [one.trimmed for one in means([*[hiccup] * 6, calm[:5]])] == [1] * 6 + [0]


def test_a_difference_is_welchs() -> None:
    """Of 1, 2, 3 and 2, 4, 6, 8: variances 1 and 6.67, so that the error is √2 and there are 4 degrees of freedom."""
    found = difference([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0])
    assert (found.mean, found.values) == (-3.0, 7)
    assert found.error == pytest.approx(sqrt(1 / 3 + 5 / 3))
    assert found.freedom == pytest.approx(2**2 / ((1 / 3) ** 2 / 2 + (5 / 3) ** 2 / 3))


def test_against_values_that_do_not_vary_a_difference_is_as_sure_as_the_mean() -> None:
    """A control that is the same in all runs adds nothing to the error."""
    found, alone = difference(SLEEP, [1.0, 1.0, 1.0]), plain_mean(SLEEP)
    assert (found.error, found.freedom) == (pytest.approx(alone.error), pytest.approx(9))


@pytest.mark.parametrize(("first", "second"), [([7.0], [1.0, 3.0]), ([1.0, 3.0], [7.0]), ([7.0, 7.0], [1.0, 1.0])])
def test_a_difference_needs_two_values_of_either_side_and_a_spread_of_one(
    first: list[float], second: list[float]
) -> None:
    """Otherwise there is a difference and nothing else."""
    assert difference(first, second).error is None
