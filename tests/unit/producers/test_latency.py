"""Latencies of several processes."""

from producers.latency import Latencies


def test_histograms_of_processes_add_up() -> None:
    """What two processes recorded is what one would have."""
    first, second, both = Latencies(), Latencies(), Latencies()
    for latency_ms in range(1, 101):
        (first if latency_ms % 3 else second).record(latency_ms * 1_000_000)
    for part in (first, second):
        both.add(part.encoded(), part.clamped)
    assert both.samples == 100
    assert {name: round(value) for name, value in both.percentiles_ms().items()} == {
        "p50": 50,
        "p90": 90,
        "p99": 99,
        "p99_9": 100,
        "max": 100,
    }


def test_a_latency_over_an_hour_counts_as_one_and_is_counted() -> None:
    """Nothing is dropped for being long."""
    latencies = Latencies()
    latencies.record(7_200_000_000_000)
    assert (latencies.samples, latencies.clamped) == (1, 1)
    assert 3_600_000 <= latencies.percentiles_ms()["max"] < 3_605_000


def test_nothing_recorded_is_no_percentile() -> None:
    """Missing is not zero."""
    latencies = Latencies()
    latencies.add("", 0)
    assert latencies.percentiles_ms() == {}
