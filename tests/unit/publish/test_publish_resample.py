"""One reading for each of Kibana's buckets, out of samples that lie where they happen to lie."""

import pytest

from lab.publish.monitoring import Reading, empty_buckets, resampled
from lab.records.samples import Sample
from tests.kibana_charts import as_kibana_draws, counted
from tests.unit.analysis.synthetic import Truth, samples

NOON_S = 1_767_268_800.0
A_SAMPLE = samples(Truth())[0]


def sample(at_s: float, documents: int | None) -> Sample:
    """A sample so many seconds after noon, 3 ms for each document; `None` for one without an answer."""
    if documents is None:
        return Sample(at_s=NOON_S + at_s, phase="load")
    assert A_SAMPLE.elasticsearch is not None
    shards = A_SAMPLE.elasticsearch.primaries.model_copy(
        update={"index_total": documents, "index_time_ms": 3 * documents}
    )
    answered = A_SAMPLE.elasticsearch.model_copy(update={"primaries": shards, "total": shards, "read_s": None})
    return Sample(at_s=NOON_S + at_s, phase="load", elasticsearch=answered)


def with_searches(seen: Sample, searches: int) -> Sample:
    """The same sample of an index that has been searched so often."""
    assert seen.elasticsearch is not None
    shards = seen.elasticsearch.primaries.model_copy(update={"query_total": searches})
    answered = seen.elasticsearch.model_copy(update={"primaries": shards, "total": shards})
    return seen.model_copy(update={"elasticsearch": answered})


def steady(first_s: float, last_s: float, per_s: int, interval_s: float = 1.0) -> list[Sample]:
    """Samples of an index that grows by so many documents a second from the first of them on."""
    ticks = int((last_s - first_s) / interval_s) + 1
    return [sample(first_s + tick * interval_s, round(tick * interval_s * per_s)) for tick in range(ticks)]


def read(readings: list[Reading]) -> list[tuple[float, int]]:
    """(seconds after noon, documents)."""
    return [(round(reading.at_s - NOON_S, 3), reading.elasticsearch.primaries.index_total) for reading in readings]


def rates(readings: list[Reading], size_s: int = 10) -> list[float | None]:
    """What Kibana draws of them in the two minutes around noon."""
    as_samples = [Sample(at_s=reading.at_s, phase="load", elasticsearch=reading.elasticsearch) for reading in readings]
    points = as_kibana_draws(counted(as_samples, "primaries"), size_s, NOON_S - 60, NOON_S + 60)
    return [point.rate_per_s for point in points]


@pytest.mark.parametrize("offset_s", [0.0, 0.37, 0.93])
def test_a_steady_rate_is_drawn_steady_wherever_the_samples_lie(offset_s: float) -> None:
    """1 009 documents a second are 1 009 in every whole bucket; raw samples would be off by up to a tenth."""
    drawn = rates(resampled(steady(offset_s, 42, per_s=1009), 10))
    assert drawn[2:5] == [pytest.approx(1009, abs=0.2)] * 3


@pytest.mark.parametrize("interval_s", [1.0, 2.3, 7.0, 10.0])
def test_every_bucket_has_one_reading(interval_s: float) -> None:
    """At its very end, but for the last one, whose sample stays where it is."""
    readings = resampled(steady(3.1, 47.9, per_s=101, interval_s=interval_s), 10)
    assert [at_s for at_s, _ in read(readings)][:-1] == [-0.001, 9.999, 19.999, 29.999, 39.999]
    assert 40 <= read(readings)[-1][0] <= 47.9


def test_empty_buckets_are_those_between_the_first_reading_and_the_last() -> None:
    """Two of these five hold no reading; a bucket begins at its edge."""
    readings = [Reading(NOON_S + at_s, A_SAMPLE.elasticsearch) for at_s in (3, 30, 44) if A_SAMPLE.elasticsearch]
    assert (empty_buckets(readings, 10), empty_buckets([], 10)) == (2, 0)


def test_what_was_counted_is_conserved() -> None:
    """Every document is in one point of the line, those of the first bucket and of a part of the last one as well."""
    taken = steady(4.4, 33.3, per_s=997)
    drawn = rates(resampled(taken, 10))
    assert taken[-1].elasticsearch is not None
    assert sum((rate or 0) * 10 for rate in drawn) == pytest.approx(taken[-1].elasticsearch.primaries.index_total)


def test_documents_that_were_there_before_are_no_growth() -> None:
    """The first sample found 5 003 of them: nobody knows when they came."""
    taken = [sample(3, 5003), *(sample(3 + tick, 5003 + 101 * tick) for tick in range(1, 20))]
    readings = resampled(taken, 10)
    assert read(readings)[0] == (9.999, 5003 + 707)
    assert rates(readings)[0] is None


def test_a_gap_is_not_bridged() -> None:
    """Elasticsearch did not answer for 20 s: no reading is made up, and Kibana draws a gap."""
    lost = [sample(10 + tick, None) for tick in range(20)]
    readings = resampled([*steady(0, 9, 101), *lost, *(sample(30 + tick, 3030 + 101 * tick) for tick in range(5))], 10)
    assert read(readings) == [(-0.001, 0), (9.0, 909), (34.0, 3434)]
    assert rates(readings) == [None, 90.9, None, None, None]


def test_a_restarted_counter_is_not_averaged_with_its_past() -> None:
    """Half-way between 1 009 and 0 there never were 505."""
    readings = resampled([sample(9.5, 1009), sample(10.5, 0), sample(11.5, 53)], 10)
    assert read(readings) == [(9.999, 1009), (11.5, 53)]


def test_a_kept_index_that_forgot_its_searches_is_not_averaged_with_its_past() -> None:
    """Nothing is indexed there, so that only the searches show that its counters began again."""
    searched = [(9.5, 1009), (10.5, 0), (11.5, 53)]
    readings = resampled([with_searches(sample(at_s, 7), searches) for at_s, searches in searched], 10)
    totals = [reading.elasticsearch.total.query_total for reading in readings]
    assert totals == [1009, 53]


def test_without_an_answer_there_is_no_reading() -> None:
    """Neither of no samples nor of samples that were all lost."""
    assert resampled([], 10) == resampled([sample(1, None), sample(2, None)], 10) == []


def test_a_reading_says_one_instant_only() -> None:
    """That of the bucket's end it stands for, also where it repeats what a sample said at another one."""
    readings = resampled(samples(Truth(ticks=31)), 10)
    assert [reading.elasticsearch.read_s for reading in readings[:-1]] == [reading.at_s for reading in readings[:-1]]
