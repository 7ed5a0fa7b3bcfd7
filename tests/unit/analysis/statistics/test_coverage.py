"""Whether intervals cover the truth as often as they claim, on data whose truth is known."""

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
import pytest

from lab.analysis.statistics.bootstrap import DRAWS, Floats, difference_interval, mean_interval, weights
from lab.analysis.statistics.effects import DETECTED, effect
from lab.records.suite import MetricKey

TRIALS = 1009
BAND = (0.93, 0.99)
"""With 1009 trials, a true coverage of 95 % is seen between 93.6 and 96.4 % in 19 of 20 cases. Long tails widen
studentised intervals, which then cover more than they claim; the band reaches further up than down for that reason."""
TRUTH = 1.07
NOISE = 0.03
DRIFT = 0.30
RATE = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")

Draw = Callable[[np.random.Generator, int], Floats]
Interval = Callable[[Floats], tuple[float, float]]
DrawRatios = Callable[[np.random.Generator, Draw, int], Floats]


def normal(draw: np.random.Generator, size: int) -> Floats:
    """Noise as in a textbook."""
    return draw.normal(0, 1, size)


def skewed(draw: np.random.Generator, size: int) -> Floats:
    """Noise with a long tail to one side."""
    return (np.exp(draw.normal(0, 1, size)) - exp(0.5)) / sqrt((exp(1) - 1) * exp(1))


def heavy_tailed(draw: np.random.Generator, size: int) -> Floats:
    """Noise with an outlier now and then: Student's t with 3 degrees of freedom."""
    return draw.standard_t(3, size) / sqrt(3)


def slow_runs(draw: np.random.Generator, size: int) -> Floats:
    """Noise of which one run in four is far slower, as when something else was at work."""
    return draw.normal(0, 0.5, size) - draw.exponential(2.5, size) * (draw.random(size) < 0.25)


NOISES = {"normal": normal, "skewed": skewed, "heavy-tailed": heavy_tailed, "slow runs": slow_runs}


def pairs(draw: np.random.Generator, noise: Draw, blocks: int, truth: float = TRUTH) -> list[tuple[float, float]]:
    """Rates of a variant and its control in blocks that drift by up to 30 % either way."""
    drift = draw.uniform(-DRIFT, DRIFT, blocks)
    own = 40_009 * truth * (1 + drift) * np.exp(NOISE * noise(draw, blocks))
    other = 40_009 * (1 + drift) * np.exp(NOISE * noise(draw, blocks))
    return [(float(one), float(two)) for one, two in zip(own, other, strict=True)]


def log_ratios(draw: np.random.Generator, noise: Draw, blocks: int) -> Floats:
    """What the interval is made of."""
    return log_ratios_of(pairs(draw, noise, blocks))


def log_ratios_of(seen: list[tuple[float, float]]) -> Floats:
    """Log ratios of the pairs."""
    return np.array([log(own / other) for own, other in seen])


def lopsided_log_ratios(draw: np.random.Generator, _noise: Draw, blocks: int) -> Floats:
    """Log ratios, of which only the variant's runs are now and then far slower, around the truth."""
    own = normal(draw, blocks) - (draw.exponential(2.5, blocks) * (draw.random(blocks) < 0.25) - 0.625)
    return log(TRUTH) + NOISE * (own - normal(draw, blocks))


def coverage(interval: Interval, noise: Draw, blocks: int, drawn: DrawRatios = log_ratios) -> float:
    """Share of trials whose interval holds the truth."""
    draw = np.random.default_rng(20_071)
    hits = 0
    for _ in range(TRIALS):
        low, high = interval(drawn(draw, noise, blocks))
        hits += low <= log(TRUTH) <= high
    return hits / TRIALS


def ours(ratios: Floats) -> tuple[float, float]:
    """The interval of a suite."""
    found = mean_interval(ratios.tolist(), draws=1999)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def plain_percentiles(ratios: Floats) -> tuple[float, float]:
    """The interval that a bootstrap gives when nothing is done about few values."""
    places = np.random.default_rng(1).integers(0, ratios.size, (1999, ratios.size))
    low, high = np.quantile(ratios[places].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


@pytest.mark.parametrize("blocks", [3, 5, 10])
@pytest.mark.parametrize("noise", NOISES)
def test_an_interval_covers_the_truth_as_often_as_it_claims(noise: str, blocks: int) -> None:
    """In 95 of 100 suites, whatever the noise and although blocks drift by 30 %."""
    covered = coverage(ours, NOISES[noise], blocks)
    print(f"{noise}, {blocks} blocks: {100 * covered:.1f} %")  # noqa: T201 - the figures, for `pytest -s`
    assert BAND[0] <= covered <= BAND[1]


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_an_interval_falls_a_little_short_where_only_the_variant_has_slow_runs(blocks: int) -> None:
    """The one weakness that the method is known to have, at its size: 3 in 100 at most."""
    covered = coverage(ours, normal, blocks, lopsided_log_ratios)
    print(f"lopsided, {blocks} blocks: {100 * covered:.1f} %")  # noqa: T201 - the figures, for `pytest -s`
    assert 0.92 <= covered <= 0.96


@pytest.mark.parametrize(("one", "other"), [(3, 3), (5, 5), (3, 10)])
def test_an_interval_of_two_series_without_blocks_covers_the_truth_too(one: int, other: int) -> None:
    """Two suites of different days have no blocks in common; the second varies twice as much here."""
    draw = np.random.default_rng(7)
    hits = 0
    for _ in range(TRIALS):
        found = difference_interval(
            (log(TRUTH) + NOISE * normal(draw, one)).tolist(), (2 * NOISE * normal(draw, other)).tolist(), draws=1999
        )
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= log(TRUTH) <= found.high
    print(f"{one} and {other} runs: {100 * hits / TRIALS:.1f} %")  # noqa: T201 - the figures, for `pytest -s`
    assert BAND[0] <= hits / TRIALS <= BAND[1]


@pytest.mark.parametrize("blocks", [3, 5, 10])
def test_the_plain_percentile_bootstrap_would_fail_the_same_test(blocks: int) -> None:
    """The band tells intervals that keep their claim from those that do not."""
    assert coverage(plain_percentiles, normal, blocks) < BAND[0]


def test_a_control_compared_with_itself_shows_a_difference_in_one_suite_of_twenty() -> None:
    """A/A: false alarms come as often as 95 % allows, and no more."""
    draw = np.random.default_rng(13)
    verdicts = [effect("a", "b", RATE, pairs(draw, normal, 5, truth=1.0)).verdict for _ in range(101)]
    assert 1 <= sum(verdict in DETECTED for verdict in verdicts) <= 10


def test_resamples_do_not_depend_on_who_asks_first() -> None:
    """A report that is drawn again says the same."""
    before = mean_interval([0.011, 0.013, 0.017])
    weights(7, DRAWS)
    assert before == mean_interval([0.011, 0.013, 0.017])
