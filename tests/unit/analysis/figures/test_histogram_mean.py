"""Figures of histograms."""

import random

import pytest
from hdrh.histogram import HdrHistogram

from lab.analysis.figures.latency import mean_ms, values_ms


def drawn(seed: int) -> HdrHistogram:
    """Durations from 1 µs to minutes."""
    draw = random.Random(seed)  # noqa: S311 - durations, no secret
    recorded = HdrHistogram(1, 3_600_000_000, 3)
    for _ in range(1_009):
        recorded.record_value(1 + int(draw.lognormvariate(8, 3)))
    return HdrHistogram.decode(recorded.encode())


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_is_that_of_the_library(seed: int) -> None:
    """To the last digit."""
    histogram = drawn(seed)
    assert mean_ms(histogram) == histogram.get_mean_value() / 1000


@pytest.mark.parametrize("seed", range(3))
def test_percentiles_are_those_of_the_library(seed: int) -> None:
    """To the last digit, also where one value is larger than any other."""
    histogram = drawn(seed)
    percents = [0.001, 0.1, 1, *range(5, 100, 5), 99, 99.9, 99.99, 100]
    known_us = histogram.get_percentile_to_value_dict(percents)
    assert values_ms(histogram, percents) == [known_us[percent] / 1000 for percent in percents]


def test_without_a_histogram_there_is_no_mean() -> None:
    """A sink of somebody else's keeps none."""
    assert mean_ms(None) is None
