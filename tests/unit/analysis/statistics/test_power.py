"""What so many repeats can show, against published figures."""

from math import log1p

import numpy as np
import pytest

from lab.analysis.statistics.effects import among_comparisons, effect
from lab.analysis.statistics.power import detectable_spreads, smallest_detectable
from lab.records.suite import MetricKey

RATE = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")


@pytest.mark.parametrize(("standardised", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_cohens_published_numbers_of_pairs_show_the_effects_that_they_are_for(standardised: float, pairs: int) -> None:
    """A small, a medium and a large effect: 80 % at 5 %, two tails (Cohen 1988), with intervals a little wider here."""
    assert detectable_spreads(pairs) == pytest.approx(standardised, rel=0.07)


def test_more_repeats_detect_less_and_more_comparisons_detect_more() -> None:
    """Every repeat helps, and every further comparison asks more of each."""
    by_repeats = [detectable_spreads(repeats) for repeats in (3, 5, 11)]
    assert by_repeats == sorted(by_repeats, reverse=True)
    by_comparisons = [detectable_spreads(5, comparisons) for comparisons in (1, 2, 11)]
    assert by_comparisons == sorted(by_comparisons)


def test_the_range_is_that_of_the_spread() -> None:
    """Five values: their true standard deviation is 0.60 to 2.87 times the seen one (chi-square, 4 degrees)."""
    effect, low, high = map(log1p, smallest_detectable(0.031, 5))
    assert effect == pytest.approx(0.031 * detectable_spreads(5))
    assert (low / effect, high / effect) == (pytest.approx(0.599, abs=0.01), pytest.approx(2.874, abs=0.05))


def test_a_spread_beyond_all_reason_gives_a_number() -> None:
    """Not an error in place of a report."""
    assert smallest_detectable(53.0, 3)[0] > 1e40


COMPARISONS, BLOCKS, SPREAD, SUITES = 5, 5, 0.05, 211


def test_an_effect_of_the_smallest_detectable_size_is_found_in_four_suites_of_five() -> None:
    """After Holm among all comparisons of the suite, of which only this one differs."""
    draw = np.random.default_rng(29)
    truth = 1 + smallest_detectable(SPREAD, BLOCKS, COMPARISONS)[0]
    found = 0
    for _ in range(SUITES):
        ratios = np.exp(SPREAD * draw.normal(0, 1, (COMPARISONS, BLOCKS)))
        ratios[0] *= truth
        effects = [effect(f"v{place}", "c", RATE, [(own, 1.0) for own in row]) for place, row in enumerate(ratios)]
        found += among_comparisons(effects)[0].verdict == "faster"
    assert 0.74 <= found / SUITES <= 0.86
