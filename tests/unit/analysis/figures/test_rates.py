"""Indexing rate and latency, against Stack Monitoring's worked example."""

import pytest

from lab.analysis.figures.latency import (
    indexing_latency,
    indexing_latency_ms,
    indexing_latency_series,
    percentile_curve_ms,
    percentiles_ms,
)
from lab.analysis.figures.rates import (
    Point,
    consumed,
    consumed_rate_docs_per_s,
    entities_per_s,
    growth,
    growth_from_zero,
    has_fallen,
    indexing_rate_docs_per_s,
    indexing_rate_series,
    rate_per_s,
    source_mb_per_s,
)
from lab.records.samples import ElasticsearchSample, KafkaSample, Sample
from tests.unit.analysis.synthetic import Truth, encoded, samples

NOON_S = 1_767_268_800.0


def seen(at_s: float, primaries: int | None, total: int = 0, primaries_ms: int = 0) -> Sample:
    """A sample of which only the counters of the example matter; `None` for one that was lost."""
    if primaries is None:
        return Sample(at_s=NOON_S + at_s, phase="load")
    template = samples(Truth())[0].elasticsearch
    assert template is not None
    return Sample(
        at_s=NOON_S + at_s,
        phase="load",
        elasticsearch=ElasticsearchSample(
            primaries=template.primaries.model_copy(update={"index_total": primaries, "index_time_ms": primaries_ms}),
            total=template.total.model_copy(update={"index_total": total, "index_time_ms": 2 * primaries_ms}),
            nodes={},
        ),
    )


EXAMPLE = [
    seen(3, 1_000_000, 2_000_000, 400_000),
    seen(13, 1_024_000, 2_048_000, 406_000),
    seen(23, 1_051_000, 2_102_000, 414_100),
]


def values(points: list[Point]) -> list[float | None]:
    """The values alone."""
    return [point.value for point in points]


def test_the_worked_example_gives_stack_monitorings_rates() -> None:
    """2 400 and 2 700 documents a second on primaries, twice that with the replica."""
    assert values(indexing_rate_series(EXAMPLE, "primaries")) == [2400.0, 2700.0]
    assert values(indexing_rate_series(EXAMPLE, "total")) == [4800.0, 5400.0]


def test_the_worked_example_gives_stack_monitorings_latencies() -> None:
    """0.25 and 0.30 ms."""
    assert values(indexing_latency_series(EXAMPLE, "primaries")) == [0.25, 0.3]


def test_an_index_whose_time_is_not_counted_has_no_latency_to_draw() -> None:
    """It reads its topic itself; an interval without a millisecond, or without documents, is 0 as in Kibana."""
    assert indexing_latency_series([seen(0, 1009), seen(10, 2003), seen(20, 3001)], "primaries") == []
    assert values(
        indexing_latency_series([seen(0, 1009), seen(10, 1010, 0, 0), seen(20, 1012, 0, 8)], "primaries")
    ) == [0, 4]
    assert values(indexing_latency_series([seen(0, 1009), seen(10, 1009)], "primaries")) == [0]


def test_the_window_of_the_worked_example() -> None:
    """51 000 documents in 20 s, for 14 100 ms."""
    assert indexing_rate_docs_per_s(EXAMPLE, "primaries") == 2550.0
    assert indexing_latency_ms(EXAMPLE, "primaries") == pytest.approx(14_100 / 51_000)


def test_a_window_is_as_long_as_its_answers_reach() -> None:
    """A sample that was lost at its end adds no time; half a second is time, none at all is not."""
    assert indexing_rate_docs_per_s([*EXAMPLE, seen(33, None)], "primaries") == 2550.0
    assert indexing_rate_docs_per_s([seen(0, 1009), seen(0.5, 2003)], "primaries") == 1988.0
    assert indexing_rate_docs_per_s([seen(3, 1009), seen(3, 2003)], "primaries") is None


def test_a_sink_that_counts_is_believed_before_its_commits() -> None:
    """Also where one of its samples was lost; what it had committed meanwhile is another count."""
    template = samples(Truth())[-1]
    assert template.sink is not None
    counts = [
        None if read is None else template.sink.model_copy(update={"records_read": read}) for read in (7, None, 1013)
    ]
    assert consumed([template.model_copy(update={"sink": count}) for count in counts]) == [7, None, 1013]


def committed(at_s: float, offset: int | None) -> Sample:
    """A sample of a sink that keeps no count of its own; `None` for one that Kafka did not answer."""
    kafka = None if offset is None else KafkaSample(end_offset=5003, committed_offset=offset)
    return Sample(at_s=NOON_S + at_s, phase="load", kafka=kafka)


@pytest.mark.parametrize(
    ("window", "rate"),
    [
        ([committed(-3, None), committed(0, 101), committed(2, 1103), committed(9, None)], 501.0),
        ([committed(0, 101), committed(1, 101)], 0.0),
        ([committed(0, 101), committed(1, 307), committed(2, 11), committed(4, 1013)], None),
        ([committed(0, None), committed(1, 101)], None),
        ([committed(1, 101), committed(1, 307)], None),
        ([], None),
    ],
    ids=["lost samples", "an idle sink", "a fall", "one value", "no time", "nothing"],
)
def test_what_a_sink_reads_per_second(window: list[Sample], rate: float | None) -> None:
    """From the first value to the last that are known; where it fell, nobody knows what was read meanwhile."""
    assert consumed_rate_docs_per_s(window) == rate


def test_a_point_stands_at_the_end_of_its_interval() -> None:
    """The growth until an instant is drawn there."""
    assert [point.at_s - NOON_S for point in indexing_rate_series(EXAMPLE, "primaries")] == [13.0, 23.0]


def test_a_counter_that_falls_gives_no_rate_and_no_latency() -> None:
    """A server that was started again has forgotten what it did."""
    fallen = [seen(0, 1009, 0, 101), seen(1, 2003, 0, 211), seen(2, 307, 0, 31), seen(3, 1301, 0, 131)]
    assert values(indexing_rate_series(fallen, "primaries")) == [994.0, None, 994.0]
    assert values(indexing_latency_series(fallen, "primaries")) == [110 / 994, None, 100 / 994]


def test_no_growth_is_zero_and_known() -> None:
    """An idle index has a rate, and Kibana draws its latency at zero."""
    idle = [seen(0, 1009), seen(1, 1009)]
    assert values(indexing_rate_series(idle, "primaries")) == [0.0]
    assert values(indexing_latency_series(idle, "primaries")) == [0.0]


def test_a_lost_sample_is_not_bridged() -> None:
    """Neither the lost sample nor the one after it has a predecessor."""
    gap = [seen(0, 1009), seen(1, 2003, 0, 994), seen(2, None), seen(3, 4001, 0, 994), seen(4, 5003, 0, 1996)]
    assert values(indexing_rate_series(gap, "primaries")) == [994.0, None, None, 1002.0]
    assert values(indexing_latency_series(gap, "primaries")) == [1.0, None, None, 1.0]


@pytest.mark.parametrize("alone", [[], [seen(0, 1009)]])
def test_fewer_than_two_samples_are_no_series(alone: list[Sample]) -> None:
    """There is no interval, and so no point."""
    assert indexing_rate_series(alone, "primaries") == []


def test_a_tick_that_did_not_take_place_is_not_bridged() -> None:
    """Three seconds without a sample are a gap, though their ends are known; half a second more than one is none."""
    for missed_s, bridged in ((3.0, None), (1.625, None), (1.5, 4000 / 1.5)):
        ends = [seen(0, 1009), seen(1, 2003), *(seen(missed_s + at, 5003 + 1000 * at) for at in (1, 2, 3))]
        assert values(indexing_rate_series(ends, "primaries")) == [994.0, bridged, 1000.0, 1000.0]


@pytest.mark.parametrize(
    ("before", "after", "elapsed_s", "rate"),
    [(100, 300, 2.0, 100.0), (None, 300, 2.0, None), (100, None, 2.0, None), (300, 100, 2.0, None), (1, 3, 0.0, None)],
)
def test_a_rate_needs_two_values_and_some_time(
    before: int | None, after: int | None, elapsed_s: float, rate: float | None
) -> None:
    """Whatever is missing, the rate is missing and not zero."""
    assert rate_per_s(before, after, elapsed_s) == rate


@pytest.mark.parametrize(("documents", "time_ms", "latency"), [(-1, 5, None), (5, -1, None), (0, 7, 0.0), (4, 1, 0.25)])
def test_latency_follows_kibanas_table(documents: int, time_ms: int, latency: float | None) -> None:
    """Fallen counters are null, no documents are zero whatever the time."""
    assert indexing_latency(documents, time_ms) == latency


@pytest.mark.parametrize(
    ("window", "latency"),
    [
        ([seen(0, 1009, 0, 101), seen(1, 2003, 0, 211), seen(2, 307, 0, 31), seen(3, 1301, 0, 131)], 210 / 1988),
        ([seen(0, 1009, 0, 400), seen(1, 2003, 0, 11), seen(2, 3004, 0, 112)], 101 / 1001),
        ([seen(0, 1009, 0, 1), seen(1, 307, 0, 11), seen(2, 1301, 0, 131)], 120 / 994),
        ([seen(0, 1000, 0, 100), seen(1, None), seen(2, 3000, 0, 300)], 0.1),
        ([seen(0, 1000, 0, 100), seen(1, 1000, 0, 107), seen(2, 1001, 0, 107)], 7.0),
        ([seen(0, 1009, 0, 1), seen(1, 1009, 0, 5)], None),
        ([seen(0, 1009, 0, 5), seen(1, 2003, 0, 5)], None),
    ],
    ids=[
        "both fell",
        "the time fell",
        "the count fell",
        "a lost sample",
        "late documents",
        "nothing indexed",
        "no time counted",
    ],
)
def test_the_latency_of_a_window_leaves_out_what_is_not_known(window: list[Sample], latency: float | None) -> None:
    """Of time and of documents alike, interval by interval; what is known counts in full."""
    assert indexing_latency_ms(window, "primaries") == (latency and pytest.approx(latency))


def test_the_latency_on_all_shards_is_theirs() -> None:
    """Copies take time of their own."""
    assert indexing_latency_ms(EXAMPLE, "total") == pytest.approx(2 * 14_100 / 102_000)


def test_growth_sums_increases_and_passes_over_what_is_not_known() -> None:
    """100 → 130, then started again: 10 → 17."""
    assert growth([100, None, 130, 10, 17]) == 37
    assert growth([100, 130]) == 30


def test_a_counter_has_fallen_if_any_value_is_below_the_one_before_it() -> None:
    """Also across one that is not known, and although it has risen since; one that stands still has not."""
    assert has_fallen([3, 11, None, 7, 13])
    assert not has_fallen([3, None, 7, 7])


@pytest.mark.parametrize("known", [[], [None], [7], [None, 7]])
def test_growth_of_fewer_than_two_values_is_not_known(known: list[int | None]) -> None:
    """One value tells nothing of growth."""
    assert growth(known) is None


def test_growth_from_zero_counts_the_first_value() -> None:
    """A counter that began with the run has grown to its first value already."""
    assert growth_from_zero([7, 11]) == 11
    assert growth_from_zero([None]) is None


def test_source_rate_in_megabytes() -> None:
    """52 700 documents of 840 bytes a second."""
    assert source_mb_per_s(52_700, 42_000_000, 50_000) == pytest.approx(44.268)
    assert source_mb_per_s(52_700, 0, 0) is None
    assert source_mb_per_s(None, 1, 1) is None


def test_entities_make_models_comparable() -> None:
    """30 000 offers a second, five to a book, are 6 000 books."""
    assert entities_per_s(30_000, 10_000, 50_000) == 6000
    assert entities_per_s(30_000, 0, 0) is None


def test_percentiles_of_a_histogram() -> None:
    """Of 1 to 1000 ms, the p99 is 990 ms, to the three digits that the histogram keeps."""
    found = percentiles_ms(encoded(list(range(1, 1001))))
    expected = {"p50": 500, "p90": 900, "p99": 990, "p99_9": 999, "max": 1000}
    assert found == {name: pytest.approx(value, rel=0.001) for name, value in expected.items()}
    assert percentiles_ms(encoded([1])) == dict.fromkeys(expected, 1.0)


@pytest.mark.parametrize("nothing", [None, "", encoded([])])
def test_percentiles_of_nothing_are_missing(nothing: str | None) -> None:
    """An empty histogram has no median of zero."""
    assert percentiles_ms(nothing) == {}
    assert percentile_curve_ms(nothing) == []


def test_the_curve_ends_where_the_records_do() -> None:
    """A thousand records say nothing of one in ten thousand; one has a median. There are eight points a tenfold."""
    curve = percentile_curve_ms(encoded(list(range(1, 1001))))
    ns = [2 * 10 ** (step / 8) for step in range(22)]
    assert curve == [(n, pytest.approx(round(1000 - 1000 / n), rel=0.001)) for n in ns]
    assert percentile_curve_ms(encoded([1])) == [(2.0, 1.0)]
