"""Whether intervals cover the truth as often as they claim, on suites whose truth is known."""

from math import log
from statistics import fmean, median

import numpy as np
import pytest

from lab.analysis.statistics.means import SIGNIFICANCE, critical, difference
from tests.unit.analysis.statistics.suites_drawn import COMPARISONS, NOISES, judged, log_ratios

SUITES = 800
LEAST_COVERED, LEAST_COVERED_OF_ANY = 0.93, 0.91
"""Of 800 suites of 11 comparisons a true 95 % is seen within 0.6 points, of one comparison within 1.6."""
MOST_FALSE_ALARMS = 0.06


@pytest.mark.parametrize("blocks", [3, 5, 7, 10])
@pytest.mark.parametrize("noise", NOISES)
def test_a_suite_keeps_its_claims(noise: str, blocks: int) -> None:
    """95 % intervals cover, of each comparison, and after Holm one suite in twenty has a false alarm.

    Whatever the size of the noise: all is scaled by it alike, but for the hiccups.
    """
    suites = [judged(suite) for suite in log_ratios(noise, SUITES, blocks, seed=5).tolist()]
    covered = np.array(
        [[abs(one.mean) <= reach for one, reach in zip(s.means, s.reaches, strict=True)] for s in suites]
    )
    alarms = fmean(any(suite.detected) for suite in suites)
    held = median(reach for suite in suites for reach in suite.held)
    print(  # noqa: T201 - the figures, for `pytest -s`
        f"{noise}, {blocks} blocks: {100 * covered.mean():.1f} %, least {100 * covered.mean(0).min():.1f} %,"
        f" false alarms {100 * alarms:.1f} %, half-width {100 * np.expm1(held):.1f} %"
    )
    assert covered.shape == (SUITES, COMPARISONS)
    assert covered.mean() >= LEAST_COVERED
    assert covered.mean(axis=0).min() >= LEAST_COVERED_OF_ANY
    assert alarms <= MOST_FALSE_ALARMS


@pytest.mark.parametrize("size", [0.02, 0.17])
def test_hiccups_are_covered_beside_less_and_more_noise(size: float) -> None:
    """They are 35 times and 4 times a run's own noise."""
    suites = [judged(suite) for suite in log_ratios("hiccups", SUITES, 7, size=size).tolist()]
    covered = [
        abs(one.mean) <= reach for suite in suites for one, reach in zip(suite.means, suite.reaches, strict=True)
    ]
    assert fmean(covered) >= LEAST_COVERED
    assert fmean(any(suite.detected) for suite in suites) <= MOST_FALSE_ALARMS


@pytest.mark.parametrize(("change", "blocks", "least"), [(0.1, 5, 0.05), (0.2, 5, 0.4), (0.1, 10, 0.2), (0.2, 10, 0.9)])
def test_a_suite_detects_what_is_there(change: float, blocks: int, least: float) -> None:
    """One of eleven differs, with a noise of 8 % a run; by their own spreads alone 5 blocks found +20 % in 18 %."""
    drawn = log_ratios("white", SUITES, blocks, seed=9)
    drawn[:, 1] += log(1 + change)
    found = fmean(judged(suite).detected[1] for suite in drawn.tolist())
    print(f"+{100 * change:.0f} %, {blocks} blocks: {100 * found:.0f} %")  # noqa: T201 - the figures, for `pytest -s`
    assert found >= least


@pytest.mark.parametrize("comparisons", [1, 2, 3, 5])
def test_small_suites_keep_their_claims_too(comparisons: int) -> None:
    """With an A/A and three blocks; what the others know counts by how many they are."""
    drawn = log_ratios("white", SUITES, 3, seed=3)[:, [*range(comparisons), COMPARISONS]]
    suites = [judged(suite) for suite in drawn.tolist()]
    covered = [
        abs(one.mean) <= reach for suite in suites for one, reach in zip(suite.means, suite.reaches, strict=True)
    ]
    assert fmean(covered) >= 0.92
    assert fmean(any(suite.detected) for suite in suites) <= 0.075


def test_means_of_starts_cover_what_blocks_of_them_do_not() -> None:
    """Each start of the servers shifts a ratio by 5 %, each block by 3 % more: three starts of three blocks."""
    draw = np.random.default_rng(17)
    by_start = draw.normal(0, 0.05, (SUITES, COMPARISONS + 1, 3, 1)) + draw.normal(
        0, 0.03, (SUITES, COMPARISONS + 1, 3, 3)
    )
    shares = []
    for samples in (by_start.mean(axis=3), by_start.reshape(SUITES, COMPARISONS + 1, 9)):
        suites = [judged(suite) for suite in samples.tolist()]
        shares.append(
            fmean(abs(one.mean) <= reach for s in suites for one, reach in zip(s.means, s.reaches, strict=True))
        )
    of_starts, of_blocks = shares
    assert of_starts >= LEAST_COVERED
    assert of_blocks < 0.8


@pytest.mark.parametrize(("one", "other"), [(3, 3), (5, 5), (3, 10)])
def test_an_interval_of_two_series_without_blocks_covers_the_truth_too(one: int, other: int) -> None:
    """Two suites of different days have no blocks in common; the second varies twice as much here."""
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(1009):
        found = difference(draw.normal(0.07, 0.03, one).tolist(), draw.normal(0, 0.06, other).tolist())
        hits += abs(found.mean - 0.07) <= critical(SIGNIFICANCE, round(found.freedom, 1)) * (found.error or 0.0)
    assert 0.93 <= hits / 1009 <= 0.98
