"""What so many repeats can show, against published figures."""

from math import log1p, sqrt

import pytest

from lab.analysis.statistics.power import detectable_errors, expected_width, smallest_detectable
from tests.unit.analysis.statistics.suites_drawn import COMPARISONS, judged, log_ratios


@pytest.mark.parametrize(("standardised", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_cohens_published_numbers_of_pairs_show_the_effects_that_they_are_for(standardised: float, pairs: int) -> None:
    """A small, a medium and a large effect: 80 % at 5 %, two tails (Cohen 1988); his pairs are rounded up."""
    assert detectable_errors(pairs - 1) / sqrt(pairs) == pytest.approx(standardised, rel=0.03)


def test_more_freedom_detects_less_and_more_comparisons_detect_more() -> None:
    """Whatever is known of the noise helps, and every further comparison asks more of each."""
    by_freedom = [detectable_errors(freedom) for freedom in (2, 4, 8, 50)]
    assert by_freedom == sorted(by_freedom, reverse=True)
    by_comparisons = [detectable_errors(8, comparisons) for comparisons in (1, 2, 11)]
    assert by_comparisons == sorted(by_comparisons)


@pytest.mark.parametrize(("freedom", "least", "most", "off"), [(4, 0.599, 2.874, 0.05), (8, 0.675, 1.916, 0.01)])
def test_the_range_is_that_of_the_spread(freedom: int, least: float, most: float, off: float) -> None:
    """How far the true standard error may lie from the seen one, by tables of chi-square."""
    effect, low, high = map(log1p, smallest_detectable(0.031, freedom))
    assert effect == pytest.approx(0.031 * detectable_errors(freedom))
    assert (low / effect, high / effect) == pytest.approx((least, most), rel=off)


def test_a_spread_beyond_all_reason_gives_a_number() -> None:
    """Not an error in place of a report."""
    assert smallest_detectable(53.0, 2)[0] > 1e40


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_an_effect_of_the_smallest_detectable_size_is_found_in_four_suites_of_five(blocks: int) -> None:
    """After Holm among all comparisons of the suite, of which only this one differs.

    The truth is the size that is detectable by the true noise: two runs of 8 % in each ratio.
    """
    freedom = blocks - 1 + 4
    truth = log1p(smallest_detectable(0.08 * sqrt(2 / blocks), freedom, COMPARISONS)[0])
    drawn = log_ratios("white", 500, blocks, seed=29)
    drawn[:, 1] += truth
    found = [judged(suite).detected[1] for suite in drawn.tolist()]
    assert 0.77 <= sum(found) / len(found) <= 0.9


def test_the_width_that_blocks_will_buy() -> None:
    """One comparison alone, 5 blocks: t of 4 degrees of freedom is 2.776; eleven after Holm, 8 degrees: 3.892.

    An A/A beside one comparison makes that 6 degrees: 2.447.
    """
    assert log1p(expected_width(0.08, 5, 1)) == pytest.approx(2.776 * 0.08 / sqrt(5), rel=0.001)
    assert log1p(expected_width(0.08, 5, 1, beside=1)) == pytest.approx(2.447 * 0.08 / sqrt(5), rel=0.001)
    assert log1p(expected_width(0.08, 5, 11)) == pytest.approx(3.892 * 0.08 / sqrt(5), rel=0.01)


def test_more_blocks_and_fewer_comparisons_buy_narrower_intervals() -> None:
    """As less noise does, in proportion."""
    assert expected_width(0.08, 10, 11) < expected_width(0.08, 5, 11)
    assert expected_width(0.08, 5, 4) < expected_width(0.08, 5, 11)
    assert log1p(expected_width(0.02, 5, 4)) == pytest.approx(log1p(expected_width(0.08, 5, 4)) / 4)
