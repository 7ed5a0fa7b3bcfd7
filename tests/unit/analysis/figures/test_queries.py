"""The figures of a query load made from known figures are those figures."""

from pathlib import Path

import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.queries import answer_rate_series, search_latency_series, search_rate_series
from lab.analysis.figures.rates import sum_of_all
from lab.analysis.figures.windows import measured_samples
from lab.analysis.result import analyse
from lab.records.result import Window
from lab.records.run import WarningKind
from tests.unit.analysis.query_truth import (
    MEASURED_S,
    PART_S,
    PROFILE,
    QueryTruth,
    analysed,
    query_load,
    query_run,
    query_samples,
)
from tests.unit.analysis.synthetic import START_S, with_samples, written


def test_every_figure_of_a_query_load_is_what_it_was_made_from(tmp_path: Path) -> None:
    """340 answers of 20 to 80 ms, 170 of 10 ms; what they cost is growth per second over answers per second."""
    metrics = analysed(tmp_path, QueryTruth(rate_per_s=30.0)).result.metrics
    expected = {
        ("query_rate_per_s", "run"): 30.0,
        ("query_rate_per_s", "rating"): 20.0,
        ("query_rate_per_s", "total"): 10.0,
        ("query_requests", "run"): 510.0,
        ("query_errors", "run"): 0.0,
        ("query_latency_ms_mean", "rating"): 55.0,
        ("query_latency_ms_p50", "run"): 25.0,
        ("query_latency_ms_max", "run"): 85.0,
        ("query_latency_ms_p99", "total"): 15.0,
        ("query_service_time_ms_mean", "run"): (340 * 50 + 170 * 10) / 510,
        ("query_service_time_ms_mean", "rating"): 50.0,
        ("query_service_time_ms_p50", "run"): 20.0,
        ("query_service_time_ms_p90", "run"): 80.0,
        ("query_service_time_ms_p99", "total"): 10.0,
        ("query_took_ms_mean", "rating"): 25.0,
        ("query_took_ms_p99", "run"): 40.0,
        ("query_hits_mean", "total"): 9001.0,
        ("answers", "rating"): 68.0,
        ("answers_wrong", "rating"): 2.0,
        ("rows_right_share", "rating"): 0.75,
        ("values_right_share", "rating"): 0.5,
        ("clients_busy_mean", "run"): 2.97,
        ("search_rate_per_s", "total"): 210.0,
        ("search_latency_ms", "primaries"): 5.0,
        ("query_cpu_ms", "elasticsearch-1"): 20.0,
        ("query_read_bytes", "elasticsearch-1"): 101_000.0,
        ("query_major_faults", "elasticsearch-1"): 2.0,
        ("query_read_bytes_per_s", "elasticsearch-1"): 30 * 101_000.0,
        ("query_read_bytes_per_s", "elasticsearch"): 30 * 101_000.0,
        ("query_cpu_ms", "elasticsearch"): 20.0,
        ("query_major_faults_per_min", "elasticsearch-1"): 60 * 30 * 2.0,
        ("request_cache_hit_share", "run"): 3 / 7,
        ("request_cache_hits", "run"): 16 * 30 * 3.0,
        ("request_cache_misses", "run"): 16 * 30 * 4.0,
        ("query_cache_hit_share", "run"): 0.0,
        ("query_cache_misses", "run"): 16 * 30.0,
        ("query_gc_time_ms", "elasticsearch-1"): 16 * 11.0,
        ("search_active_mean", "elasticsearch-1"): 2.0,
        ("search_queue_max", "elasticsearch-1"): 0.0,
        ("search_rejected", "elasticsearch-1"): 0.0,
        ("page_cache_bytes_mean", "elasticsearch-1"): 500_000_000.0,
        ("data_to_cache_ratio", "run"): 4.0,
        ("cpu_cores_mean", "elasticsearch-1"): 0.6,
        ("segments_count", "primaries"): 7.0,
        ("phase_wall_time_s", "fill"): 7.0,
    }
    actual = {key: value_of(metrics, *key) for key in expected}
    assert actual == {key: pytest.approx(value, rel=0.001) for key, value in expected.items()}
    assert value_of(metrics, "query_latency_ms_p99_9", "total") is None, "of 170 answers it is not known"


def test_what_a_query_costs_is_of_the_answers_between_the_samples(tmp_path: Path) -> None:
    """The servers did 30 queries a second between all samples; 0.2 s after the last one had 100 answers."""
    run = query_run(QueryTruth())
    load = query_load(QueryTruth())
    read = (*load.answers_read[:-2], 50, 50)
    changed = run.model_copy(update={"query_load": load.model_copy(update={"answers_read": read})})
    metrics = analyse(written(tmp_path, changed, query_samples(QueryTruth()), PROFILE)).result.metrics

    assert value_of(metrics, "query_cpu_ms", "elasticsearch") == pytest.approx(20.0, rel=0.005)


def test_counters_grow_between_the_samples_inside_the_measured_part() -> None:
    """It begins and ends a quarter of a second after a sample; the one before and the one after are outside."""
    inside = measured_samples(query_load(QueryTruth()), query_samples(QueryTruth()))
    first_s, last_s = inside[0].at_s, inside[-1].at_s
    assert (first_s, last_s, len(inside)) == (PART_S + 0.75, PART_S + MEASURED_S - 0.25, 17)


def test_the_measured_window_of_queries_alone_is_their_measured_part(tmp_path: Path) -> None:
    """The sender cuts the warm-up by the clock; no steady state is looked for, and none is missed."""
    result = analysed(tmp_path, QueryTruth()).result
    assert result.measured_window == Window(
        started_s=PART_S, ended_s=PART_S + MEASURED_S, samples=17, warm_up_s=5.0, steady=None
    )
    assert [warning.kind for warning in result.warnings] == []


def test_queries_alone_have_no_figure_of_indexing(tmp_path: Path) -> None:
    """The counters of a kept index are those of the run that made it."""
    names = {metric.name for metric in analysed(tmp_path, QueryTruth()).result.metrics}
    assert not names & {
        "indexing_rate_docs_per_s",
        "indexing_latency_ms",
        "cpu_s_per_million_docs",
        "bulk_requests",
        "merge_count",
        "drain_s",
    }


def test_a_closed_loop_has_no_latency(tmp_path: Path) -> None:
    """Its queries are due when they are sent, so that a latency would be the service time under a better name."""
    names = {metric.name for metric in analysed(tmp_path, QueryTruth()).result.metrics}
    assert not any(name.startswith("query_latency_ms") for name in names)


def test_what_was_not_seen_is_none_and_not_zero(tmp_path: Path) -> None:
    """No answer compared, no sample in the measured part, no bytes from /proc, no lookup in a cache, no group."""
    unchecked = [
        each.model_copy(update={"checked": 0, "wrong": 0, "rows_right": None, "values_right": None})
        for each in query_load(QueryTruth()).questions
    ]
    made = query_run(QueryTruth())
    assert made.query_load
    blind = with_samples(
        query_samples(QueryTruth(cache_bytes=None)), lambda _: {"elasticsearch": None, "processes": {}}
    )
    made = made.model_copy(update={"query_load": made.query_load.model_copy(update={"questions": tuple(unchecked)})})
    metrics = analyse(written(tmp_path, made, blind, PROFILE)).result.metrics
    keys = [
        ("answers_wrong", "rating"),
        ("rows_right_share", "rating"),
        ("search_rate_per_s", "total"),
        ("search_latency_ms", "total"),
        ("request_cache_hits", "run"),
        ("request_cache_hit_share", "run"),
        ("data_to_cache_ratio", "run"),
    ]
    assert {key: value_of(metrics, *key) for key in keys} == dict.fromkeys(keys)
    assert value_of(metrics, "query_rate_per_s") == 30.0


def test_a_cache_that_nobody_asked_has_no_share_of_hits(tmp_path: Path) -> None:
    """Zero of zero is not none of all."""
    metrics = analysed(tmp_path, QueryTruth(request_cache=(0, 0))).result.metrics
    shares = [value_of(metrics, name) for name in ("request_cache_hits", "request_cache_hit_share")]
    assert shares == [0, None]


def test_a_question_without_an_answer_has_no_times(tmp_path: Path) -> None:
    """Its errors are counted, and no percentile is made up."""
    first, second = query_load(QueryTruth()).questions
    failed = second.model_copy(
        update={"errors": {"no answer": second.requests}, "service_time": "", "took": "", "service_time_s": 0.0}
    )
    metrics = analysed(tmp_path, QueryTruth(), questions=(first, failed)).result.metrics
    names = ("query_rate_per_s", "query_errors", "query_service_time_ms_mean", "query_service_time_ms_p99")
    assert [value_of(metrics, name, "total") for name in names] == [0, 170, None, None]
    assert value_of(metrics, "query_service_time_ms_mean") == pytest.approx(50.0)


def test_search_rate_and_search_latency_by_sample_are_those_of_stack_monitoring() -> None:
    """Growth of `query_total` per second, and of time over it; nothing searched takes no time, as Kibana draws it."""
    seen = query_samples(QueryTruth())[5:10]
    rates = [point.value for point in search_rate_series(seen, "total")]
    latencies = [point.value for point in search_latency_series(seen, "total")]
    assert rates == [0, 0, pytest.approx(210), pytest.approx(210)]
    assert latencies == [0, 0, 5, 5]
    assert search_rate_series(seen, "total")[0].at_s == START_S + 6.017


def test_queries_while_documents_stream_are_measured_beside_them(tmp_path: Path) -> None:
    """The index's figures are those of the documents, the queries' those of their own part."""
    made = query_run(QueryTruth()).model_copy(update={"load": "stream", "via": "kafka"})
    result = analyse(written(tmp_path, made, query_samples(QueryTruth()), PROFILE)).result
    # What the servers use is that of both.
    assert value_of(result.metrics, "query_cpu_ms", "elasticsearch-1") is None
    assert value_of(result.metrics, "query_read_bytes_per_s", "elasticsearch") == pytest.approx(30 * 101_000.0)
    assert "indexing_rate_docs_per_s" in {metric.name for metric in result.metrics}
    assert WarningKind.SHORT_WINDOW in {warning.kind for warning in result.warnings}


def test_the_cost_of_all_nodes_is_the_sum_of_theirs() -> None:
    """Nothing where one of them is not known, so that half a cluster is never taken for a whole one."""
    parts = ([2.0, 3.0], [2.0, None], [0.0], [])
    assert [sum_of_all(each) for each in parts] == [5.0, None, 0.0, None]


def test_answers_are_counted_by_the_second() -> None:
    """30 a second of 17 seconds; what is left of the last one is no second."""
    load = query_load(QueryTruth())
    cut = load.model_copy(update={"answers_read": load.answers_read[:-3]})

    assert [point.value for point in answer_rate_series(load)] == [30.0] * MEASURED_S
    assert [point.at_s - PART_S for point in answer_rate_series(cut)] == [float(n) for n in range(1, MEASURED_S)]
