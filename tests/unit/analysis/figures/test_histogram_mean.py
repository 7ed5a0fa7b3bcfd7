"""Figures of histograms."""

import random

import pytest
from hdrh.histogram import HdrHistogram

from lab.analysis.figures.latency import mean_ms


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_is_that_of_the_library(seed: int) -> None:
    """From 1 µs to minutes, to the last digit."""
    draw = random.Random(seed)  # noqa: S311 - durations, no secret
    recorded = HdrHistogram(1, 3_600_000_000, 3)
    for _ in range(1_009):
        recorded.record_value(1 + int(draw.lognormvariate(8, 3)))

    histogram = HdrHistogram.decode(recorded.encode())

    assert mean_ms(histogram) == histogram.get_mean_value() / 1000


def test_without_a_histogram_there_is_no_mean() -> None:
    """A sink of somebody else's keeps none."""
    assert mean_ms(None) is None
