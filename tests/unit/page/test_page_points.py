"""What is shown live is what the report says."""

from dataclasses import replace
from itertools import accumulate, cycle, islice

import pytest

from lab.analysis.figures.cost import cpu_cores_series, other_cores_series, process_names
from lab.analysis.figures.latency import indexing_latency_series
from lab.analysis.figures.rates import indexing_rate_series
from lab.page.points import BEFORE, LivePoint, points_of
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, samples, varied, with_samples

TRUTH = replace(varied(Truth(ticks=41, replicas=1)), dead_lettered=29)
CORES = 2.0


def one_by_one(seen: list[Sample]) -> list[LivePoint]:
    """The points as they are made while a run goes on: of each sample when it comes."""
    return [points_of(seen[: place + 1], CORES, first=place)[0] for place in range(len(seen))]


def test_points_are_the_values_of_the_reports_charts() -> None:
    """Rate and latency, as its charts draw them, whichever samples come together."""
    seen = samples(TRUTH)
    for live in (points_of(seen, CORES), one_by_one(seen)):
        assert [point.at_s for point in live] == [sample.at_s for sample in seen]
        for name, series in (
            ("indexing_rate_docs_per_s", indexing_rate_series(seen, "primaries")),
            ("indexing_rate_total_docs_per_s", indexing_rate_series(seen, "total")),
            ("indexing_latency_ms", indexing_latency_series(seen, "primaries")),
        ):
            assert [getattr(point, name) for point in live] == [None, *(drawn.value for drawn in series)]


def test_the_cpu_of_processes_is_that_of_the_reports_chart() -> None:
    """What else the machine did included."""
    seen = samples(TRUTH)
    lines = {name: cpu_cores_series(seen, name) for name in process_names(seen)}
    lines["everything else"] = other_cores_series(seen, list(lines.values()), CORES)
    live = one_by_one(seen)
    assert {name: [point.cpu[name] for point in live[1:]] for name in lines} == {
        name: [drawn.value for drawn in series] for name, series in lines.items()
    }


def test_a_gap_is_not_bridged() -> None:
    """As in the report: three samples were lost."""
    seen = [*samples(TRUTH)[:23], *samples(TRUTH)[26:]]
    series = indexing_rate_series(seen, "primaries")
    live = one_by_one(seen)
    assert live[23].indexing_rate_docs_per_s is None
    assert [point.indexing_rate_docs_per_s for point in live[1:]] == [drawn.value for drawn in series]


def test_a_source_that_did_not_answer_is_none_and_not_zero() -> None:
    """Neither are rates that need it."""
    seen = with_samples(
        samples(TRUTH), lambda _: {"elasticsearch": None, "kafka": None, "sink": None, "produced": None}
    )
    live = points_of(seen, CORES)[-1]
    known = {name: value for name, value in live.row().items() if value is not None}
    assert sorted(known) == ["at_s", "cpu", "machine_cpu_percent", "phase"]


def test_latencies_that_are_read_now_and_then_stand_for_a_while() -> None:
    """Then they are not known any more."""
    seen = samples(TRUTH)

    def age(sample: Sample) -> dict[str, object]:
        is_read = sample.sink is not None and sample.at_s == seen[10].at_s
        ages = {"record_age_ms_p50": 7.0, "record_age_ms_p99": 71.0}
        return {"sink": sample.sink.model_copy(update=ages)} if is_read and sample.sink else {}

    live = one_by_one(with_samples(seen, age))
    assert {point.end_to_end_latency_ms_p99 for point in live[:10]} == {None}
    assert {point.end_to_end_latency_ms_p50 for point in live[10:23]} == {7.0}
    assert live[10 + BEFORE].end_to_end_latency_ms_p99 is None


def test_the_delivery_rate_has_no_steps_of_the_producers_own() -> None:
    """They tell five times a second how far they are: of a steady rate, a second has four, five or six such steps."""
    seen = [sample for sample in samples(Truth(load="stream")) if sample.phase == "load"]
    told = [0, *accumulate(200 * each for each in islice(cycle([6, 4, 5, 5, 5]), len(seen) - 1))]
    stepped = [sample.model_copy(update={"produced": count}) for sample, count in zip(seen, told, strict=True)]
    for live in (points_of(stepped, CORES), one_by_one(stepped)):
        rates = [point.produced_docs_per_s for point in live]
        assert (rates[0], rates[10:]) == (None, pytest.approx([1000] * len(rates[10:])))


def test_counts_are_those_of_the_sample() -> None:
    """Lag and dead letters as they stand; the rate of the sink from sample to sample."""
    seen = samples(Truth(load="stream", lag_records=503, dead_lettered=29))
    live = points_of(seen, CORES)[20]
    assert (live.lag_records, live.dead_letters) == (503, 29)
    assert live.produced_docs_per_s == pytest.approx(5003)
    assert live.sink_docs_per_s == pytest.approx(5003)
