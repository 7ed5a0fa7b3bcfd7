"""What two sets of servers differ by leaves the ratios of pairs that change places, and no more than that."""

from statistics import fmean

import numpy as np
import pytest

from lab.analysis.statistics.means import SIGNIFICANCE, critical, means
from lab.analysis.statistics.sides import Placed, side_effect

SUITES, NOISE = 1500, 0.02


def alternating(values: list[float], *, first: int = 1) -> list[Placed]:
    """The values on the first and on the second set in turns."""
    return [(value, first * (-1) ** place) for place, value in enumerate(values)]


def test_the_effect_is_half_of_what_a_change_of_places_changes() -> None:
    """Whatever the comparison itself differs by; one with twice the change of places takes twice the freedom."""
    one, two = [0.03, 0.07, 0.05, 0.09, 0.04, 0.08], [1.02, 0.98, 1.02]
    effect, shares = side_effect([alternating(one), alternating(two, first=-1)])
    assert effect == pytest.approx(-0.02)
    assert shares == pytest.approx((6 / (6 + 8 / 3), (8 / 3) / (6 + 8 / 3)))


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [[]],
        [alternating([0.03, 0.07, 0.05, 0.09, 0.04])],
        [[(value, 1) for value in (0.03, 0.07, 0.05, 0.09, 0.04, 0.08)]],
        [[(0.03, 1), (0.07, -1)], [(value, 1) for value in (0.05, 0.09, 0.04, 0.08, 0.02)]],
    ],
)
def test_too_few_pairs_tell_no_effect(samples: list[list[Placed]]) -> None:
    """Nor do those that never change places, or one comparison that would have no freedom left."""
    assert side_effect(samples) == (0.0, (0.0,) * len(samples))


@pytest.mark.parametrize(("comparisons", "pairs"), [(1, 8), (2, 5), (2, 8), (12, 3), (12, 4)])
@pytest.mark.parametrize("side", [0.0, 0.03])
def test_intervals_of_corrected_ratios_hold(comparisons: int, pairs: int, side: float) -> None:
    """Between 93 and 98 of 100 at 95 %; and where sets differ they are narrower by a third or more."""
    draw = np.random.default_rng(11)
    covered, reaches, uncorrected = [], [], []
    for noise in draw.normal(0, NOISE, (SUITES, comparisons, pairs)):
        placed = [
            [(value + at * side, at) for value, at in alternating(values, first=(-1) ** number)]
            for number, values in enumerate(noise.tolist())
        ]
        effect, lost = side_effect(placed)
        known = means([[value - at * effect for value, at in values] for values in placed], lost)
        reach = [critical(SIGNIFICANCE, mean.freedom) * (mean.error or 0.0) for mean in known]
        covered += [abs(mean.mean) <= one for mean, one in zip(known, reach, strict=True)]
        reaches += reach
        plain = means([[value for value, _ in values] for values in placed])
        uncorrected += [critical(SIGNIFICANCE, mean.freedom) * (mean.error or 0.0) for mean in plain]
    assert 0.93 <= fmean(covered) <= 0.98
    if side:
        assert fmean(reaches) < 2 / 3 * fmean(uncorrected)
