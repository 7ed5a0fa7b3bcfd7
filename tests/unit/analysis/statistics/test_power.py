"""What so many repeats can show, against published figures."""

from math import exp, log

import pytest

from lab.analysis.statistics.power import (
    SIMULATED_MOST,
    detectable_spreads,
    repeats_needed,
    smallest_detectable,
    t_test_spreads,
)


@pytest.mark.parametrize(("standardised", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_the_t_test_needs_cohens_published_numbers_of_pairs(standardised: float, pairs: int) -> None:
    """A small, a medium and a large effect: 80 % at 5 %, two tails (Cohen 1988; G*Power)."""
    assert t_test_spreads(pairs) <= standardised < t_test_spreads(pairs - 1)


def test_a_small_effect_needs_the_published_number_of_repeats() -> None:
    """So many that the bootstrap's intervals are those of the t-test."""
    assert repeats_needed(exp(0.2) - 1, 1.0) == 199


@pytest.mark.parametrize(("standardised", "pairs"), [(0.5, 34), (0.8, 15)])
def test_cohens_medium_and_large_effects_need_hardly_more_than_the_published_number(
    standardised: float, pairs: int
) -> None:
    """34 and 15 pairs for a t-test; the bootstrap's wider intervals cost one or two more."""
    needed = repeats_needed(exp(standardised) - 1, 1.0)
    assert needed is not None
    assert pairs <= needed <= pairs + 3


def test_what_is_simulated_goes_over_into_the_t_test() -> None:
    """Where the one ends and the other begins there is no step of more than 5 %."""
    last, next_one = detectable_spreads(SIMULATED_MOST), detectable_spreads(SIMULATED_MOST + 1)
    assert last == pytest.approx(next_one, rel=0.05)


def test_more_repeats_detect_less() -> None:
    """From two repeats on, every one of them helps."""
    detectable = [detectable_spreads(repeats) for repeats in range(2, 20)]
    assert detectable == sorted(detectable, reverse=True)


def test_the_smallest_detectable_effect_is_the_one_that_needs_exactly_these_repeats() -> None:
    """Both ask the same curve, once for the effect and once for the repeats."""
    spread = 0.031
    detectable = smallest_detectable(spread, 7)
    assert log(1 + detectable) == pytest.approx(spread * detectable_spreads(7))
    assert repeats_needed(1.001 * detectable, spread) == 7
    assert repeats_needed(0.999 * detectable, spread) == 8


def test_repeats_beyond_all_patience_are_not_named() -> None:
    """A spread a thousand times the effect: no suite of any length shows it."""
    assert repeats_needed(0.05, 53.0) is None


def test_two_repeats_are_the_least_that_are_ever_asked_for() -> None:
    """One run has no spread."""
    assert repeats_needed(0.05, 0.0001) == 2
