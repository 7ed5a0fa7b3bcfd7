"""Indexing rate and latency as Kibana draws them, against the worked example of its source."""

import pytest

from tests.kibana_charts import Bucket, Counted, as_kibana_draws, bucket_size_s, counted
from tests.unit.analysis.synthetic import START_S, Truth, samples

NOON_S = 1_767_268_800
MINUTE = (NOON_S, NOON_S + 60)


def read(at_s: float, documents: int | None, time_ms: int | None = 0) -> Counted:
    """Both counters, so many seconds after noon."""
    return Counted(NOON_S + at_s, documents, time_ms)


EXAMPLE = [read(3, 1_000_000, 400_000), read(13, 1_024_000, 406_000), read(23, 1_051_000, 414_100)]


def drawn(*readings: Counted, size_s: int = 10) -> list[tuple[int, float | None, float | None]]:
    """(seconds after noon, rate, latency) of the points in the minute after noon."""
    points = as_kibana_draws(readings, size_s, *MINUTE)
    return [(point.start_s - NOON_S, point.rate_per_s, point.latency_ms) for point in points]


def test_the_worked_example_gives_its_figures() -> None:
    """2 400/s in 0.25 ms each, then 2 700/s in 0.30 ms, drawn at the starts of their buckets."""
    assert drawn(*EXAMPLE) == [(0, None, None), (10, 2400.0, 0.25), (20, 2700.0, pytest.approx(0.30))]


def test_copies_are_counted_in_total_only() -> None:
    """The example's counters of all shards grow twice as fast."""
    total = [Counted(at.at_s, 2 * (at.documents or 0), at.time_ms) for at in EXAMPLE]
    assert [rate for _, rate, _ in drawn(*total)] == [None, 4800.0, 5400.0]


def test_a_sample_a_tenth_of_a_second_early_costs_two_points() -> None:
    """A bucket without a sample is empty, and the next one has nothing to be compared with."""
    assert drawn(EXAMPLE[0], read(9.9, 1_024_000, 406_000), EXAMPLE[2]) == [
        (0, None, None),
        (10, None, None),
        (20, None, None),
    ]


def test_a_document_without_the_counters_is_none() -> None:
    """It fills no bucket."""
    assert drawn(EXAMPLE[0], read(13, None, None), EXAMPLE[2])[1:] == [(10, None, None), (20, None, None)]


def test_a_document_without_one_counter_leaves_the_other_chart() -> None:
    """Kibana asks for rate and latency apart: without the time, or with it alone."""
    assert drawn(EXAMPLE[0], read(13, 1_024_000, None), read(23, None, 414_100))[1:] == [
        (10, 2400.0, None),
        (20, None, None),
    ]


def test_a_counter_that_fell_is_a_gap_of_one_point() -> None:
    """A restarted server begins at zero; what it counts from there on is drawn."""
    assert drawn(read(3, 5003, 7), read(13, 11, 1), read(23, 1021, 102)) == [
        (0, None, None),
        (10, None, None),
        (20, 101.0, pytest.approx(0.1)),
    ]


def test_time_that_fell_leaves_the_rate() -> None:
    """Only the latency is not known then; time that stood still is known, and zero."""
    assert drawn(read(3, 0, 307), read(13, 1009, 11))[1] == (10, 100.9, None)
    assert drawn(read(3, 0, 11), read(13, 1009, 11))[1] == (10, 100.9, 0.0)


@pytest.mark.parametrize("time_ms", [0, 401, -1])
def test_no_growth_is_zero_whatever_the_time_did(time_ms: int) -> None:
    """Kibana draws 0 for both, where a division would give nothing."""
    assert drawn(read(3, 1009, 11), read(13, 1009, 11 + time_ms))[1] == (10, 0.0, 0.0)


def test_several_documents_of_a_bucket_count_once() -> None:
    """The largest value of each counter is taken, so that a document sent twice is harmless."""
    assert drawn(*EXAMPLE, read(11, 1_007_000, 401_000), EXAMPLE[1]) == drawn(*EXAMPLE)


def test_only_whole_buckets_of_the_window_are_drawn() -> None:
    """The last one here ends a second after the window; the first begins before it."""
    points = as_kibana_draws(EXAMPLE, 10, NOON_S + 1, NOON_S + 29)
    assert points == [Bucket(NOON_S + 10, 2400.0, 0.25)]


def test_nothing_read_is_nothing_drawn() -> None:
    """No point, not even an empty one."""
    assert drawn() == []


@pytest.mark.parametrize(
    ("window_s", "size_s"),
    [
        *[(60, 10), (1499, 10), (1500, 30), (4499, 30), (4500, 60), (18_000, 300), (54_000, 600), (120_000, 1800)],
        *[(270_000, 3600), (720_000, 10_800), (2_159_999, 10_800), (2_160_000, 43_200), (8_640_000, 86_400)],
        *[(60_480_000, 604_800), (181_440_000, 2_592_000)],
    ],
)
def test_the_bucket_follows_the_window(window_s: float, size_s: int) -> None:
    """Kibana's table, raised to its least size of 10 s."""
    assert bucket_size_s(window_s) == size_s


def test_the_least_bucket_is_a_setting() -> None:
    """`monitoring.ui.min_interval_seconds` raises the size, and lowers it in a short window."""
    assert [bucket_size_s(window_s, least_s=1) for window_s in (499, 500, 749, 750)] == [1, 5, 5, 10]
    assert bucket_size_s(60, least_s=17) == 17


def test_the_counters_are_those_of_the_samples() -> None:
    """Of the asked scope; a sample that Elasticsearch did not answer has none."""
    seen = samples(Truth(replicas=1))
    lost = [*seen[:-1], seen[-1].model_copy(update={"elasticsearch": None})]

    primaries, total = counted(lost, "primaries"), counted(lost, "total")

    assert len(primaries) == len(seen) - 1
    assert primaries[0] == Counted(START_S + 0.017, 0, 0)
    assert (total[-1].documents or 0) == 2 * (primaries[-1].documents or 1)
