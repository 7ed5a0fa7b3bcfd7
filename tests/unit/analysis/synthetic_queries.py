"""A run of queries whose every figure is known beforehand, because it is made from them."""

from dataclasses import dataclass
from typing import Any

from lab.analysis.figures.latency import decoded, percentiles_ms
from lab.records.result import Metric, Result
from lab.records.run import Layout, QueryLoadResult, QueryTimes, RampStep, Run
from lab.records.samples import ControlGroupSample, ProcessSample, Sample
from tests.unit.analysis.synthetic import GIB, Truth, encoded, run, samples

MIB = 1 << 20
NAMES = ("by-rating", "over-time", "by-country", "top-15", "organizations", "addresses", "total")


@dataclass(frozen=True, kw_only=True)
class QueryTruth:
    """What is so of a query load, and what its figures must therefore say.

    Attributes:
        ms: Median service time of each question; the percentiles above are 2, 4, 8 times that.
        per_tick: Searches of shards from each sample of the load to the next.
        wrong: Wrong answers to `top-15`, of 211.
        rates: Of the steps of a ramp.
    """

    rate_per_s: float | None = None
    think_time_s: float = 0
    ms: tuple[float, ...] = (17, 29, 31, 13, 19, 83, 2.3)
    per_tick: int = 397
    ms_per_search: int = 7
    hits_per_tick: int = 0
    wrong: int = 0
    expected_wrong: bool = False
    limit_mb: int | None = None
    nodes: int = 1
    rates: tuple[float, ...] = ()
    load: str = "query"
    kept: bool = True


def question(truth: QueryTruth, place: int) -> QueryTimes:
    """The answers to one of the seven questions: 211, of which the slowest takes 8 times the median."""
    ms, is_top = truth.ms[place], NAMES[place] == "top-15"
    times = encoded([ms] * 120 + [2 * ms] * 80 + [4 * ms] * 10 + [8 * ms])
    return QueryTimes(
        name=NAMES[place],
        question=f"What does {NAMES[place]} say?",
        model="events",
        fingerprint="0123456789abcdef",
        requests=223,
        errors={"429 es_rejected_execution_exception": 11, "no answer": 1} if place == 2 else {},
        checked=211,
        wrong=truth.wrong if is_top else 0,
        expected_wrong=truth.expected_wrong and is_top,
        first_wrong="query 5: got 9 of 15 names right" if is_top and truth.wrong else None,
        rows_right=0.6 if is_top and truth.wrong else 1.0,
        values_right=0.0 if is_top and truth.wrong else 1.0,
        hits_mean=9001.5,
        response_bytes=1_000_003,
        service_time=times,
        service_time_s=211 * ms * 1.5 / 1000,
        latency=times if truth.rate_per_s or truth.rates else None,
        took=encoded([max(1, ms - 1)] * 211),
    )


def query_load(truth: QueryTruth, started_s: float, ended_s: float) -> QueryLoadResult:
    """The record of the load."""
    return QueryLoadResult(
        clients=8,
        rate_per_s=truth.rate_per_s,
        think_time_s=truth.think_time_s,
        request_cache=truth.hits_per_tick > 0,
        window_s=900,
        window_place="newest",
        window_within=1.0,
        window_documents_mean=9001.5,
        warm_up_s=3,
        started_s=started_s,
        ended_s=ended_s,
        clients_busy_mean=7.93,
        clients_expected=8,
        late_starts=0,
        sender_cpu_s=1.5,
        searchable_lag_s=1.7 if truth.load == "stream" else None,
        questions=tuple(question(truth, place) for place in range(len(truth.ms))),
        steps=tuple(step(rate, started_s + 5 * place) for place, rate in enumerate(truth.rates)),
        p99_bound_ms=250 if truth.rates else None,
    )


def step(rate: float, started_s: float) -> RampStep:
    """A step of a ramp on a server that can do 500 queries per second."""
    ms = 20 / (1 - min(0.98, rate / 500))
    latency_ms = {"p50": ms, "p90": 1.5 * ms, "p99": 2 * ms, "p99_9": 3 * ms, "max": 4 * ms}
    ended_s = started_s + 5
    return RampStep(
        rate_per_s=rate,
        started_s=started_s,
        ended_s=ended_s,
        answered=round(5 * min(rate, 490)),
        errors=0,
        latency_ms=latency_ms,
    )


def queried(truth: QueryTruth) -> tuple[Run, list[Sample]]:
    """The run and its samples."""
    base = Truth(ticks=60, settle_s=2)
    made, seen = run(base), samples(base)
    started_s, ended_s = base.load_starts_s + 3, base.load_starts_s + base.load_s - 1
    changes: dict[str, Any] = {
        "profile": "events/queries",
        "load": truth.load,
        "questions": (),
        "query_load": query_load(truth, started_s, ended_s),
        "layout": layout(made, kept=truth.kept) if truth.load == "query" else None,
    }
    if truth.load == "query":
        changes |= {"via": "direct", "topic": None, "delivery": None}
        changes["sink_histograms"] = made.sink_histograms.model_copy(
            update={"record_age": None, "bulk_service_time": None}
        )
    return made.model_copy(update=changes), [_sample(truth, sample, tick) for tick, sample in enumerate(seen)]


def layout(made: Run, *, kept: bool) -> Layout:
    """An index of four segments, made by another run or by this one."""
    return Layout(
        fingerprint="fedcba9876543210",
        made_by="20270114-070000-events" if kept else made.run_id,
        made_in_s=73.4,
        route="rewritten",
        codecs={"BEST_COMPRESSION": 4},
        segments=4,
    )


def _sample(truth: QueryTruth, sample: Sample, tick: int) -> Sample:
    assert sample.elasticsearch is not None
    busy = min(max(0, tick - 4), 63)
    counters = {
        "query_total": busy * truth.per_tick + 23 * (busy // 3),
        "query_time_ms": (busy * truth.per_tick + 23 * (busy // 3)) * truth.ms_per_search,
        "query_current": 3,
        "request_cache_hits": busy * truth.hits_per_tick,
        "request_cache_misses": busy * 31,
        "query_cache_hits": busy * 11,
        "query_cache_misses": busy * 101,
    }
    shards = sample.elasticsearch.primaries.model_copy(update=counters)
    total = {name: 2 * value for name, value in counters.items()}
    if truth.load == "query":
        fixed = {"index_total": 0, "index_time_ms": 0, "docs_count": 1_000_003}
        shards = shards.model_copy(update=fixed)
    node = sample.elasticsearch.nodes["elasticsearch-1"]
    is_busy = 0 < busy < 63
    told = node.model_copy(
        update={
            "search_threads": 4,
            "search_active": 4 if is_busy else 0,
            "search_queue": busy % 5 if is_busy else 0,
            "search_rejected": 0,
            "search_completed": busy * truth.per_tick,
        }
    )
    names = [f"elasticsearch-{place}" for place in range(1, truth.nodes + 1)]
    elasticsearch = sample.elasticsearch.model_copy(
        update={
            "primaries": shards,
            "total": shards.model_copy(update=total if truth.nodes > 1 else {}),
            "nodes": dict.fromkeys(names, told),
        }
    )
    process = sample.processes["elasticsearch-1"]
    servers = {name: _process(process, place, busy) for place, name in enumerate(names)}
    changes: dict[str, Any] = {
        "elasticsearch": elasticsearch,
        "processes": servers if truth.load == "query" else sample.processes | servers,
        "control_groups": {name: _group(truth, place, busy) for place, name in enumerate(names)}
        if truth.limit_mb
        else {},
    }
    if truth.load == "query":
        changes |= {"kafka": None, "sink": None, "produced": None}
    return sample.model_copy(update=changes)


def _process(process: ProcessSample, place: int, busy: int) -> ProcessSample:
    return process.model_copy(
        update={
            "pid": 100 + place,
            "major_page_faults": busy * (37 + 11 * place) + 5 * (busy % 4),
            "disk_read_bytes": busy * (4_000_037 + 900_001 * place) + 700_001 * (busy % 3),
        }
    )


def _group(truth: QueryTruth, place: int, busy: int) -> ControlGroupSample:
    limit = (truth.limit_mb or 0) * MIB
    anonymous = 700 * MIB
    is_bounded = 0 < busy < 63
    cache = limit - anonymous - place * 10 * MIB if is_bounded else GIB
    return ControlGroupSample(
        memory_limit_bytes=limit if is_bounded else None,
        memory_used_bytes=cache + anonymous,
        page_cache_bytes=cache,
        anonymous_bytes=anonymous,
        major_page_faults=busy * 37,
        read_bytes=busy * 4_000_037,
        read_operations=busy * 101,
    )


def with_query_metrics(result: Result, load: QueryLoadResult) -> Result:
    """The result with the figures of its queries, as far as the page shows them."""
    made = list(_metrics(load))
    known = {(metric.name, metric.scope) for metric in made}
    others = [metric for metric in result.metrics if (metric.name, metric.scope) not in known]
    return result.model_copy(update={"metrics": (*others, *made)})


def _metrics(load: QueryLoadResult) -> Any:
    elapsed_s = load.ended_s - load.started_s
    for each in load.questions:
        yield Metric(name="query_rate_per_s", value=each.answers / elapsed_s, unit="queries/s", scope=each.name)
        for stem, histogram in (("query_latency_ms", each.latency), ("query_service_time_ms", each.service_time)):
            for name, ms in percentiles_ms(histogram).items():
                yield Metric(name=f"{stem}_{name}", value=ms, unit="ms", scope=each.name)
            if histogram:
                mean_us = decoded(histogram).get_mean_value()  # type: ignore[union-attr]
                yield Metric(name=f"{stem}_mean", value=mean_us / 1000, unit="ms", scope=each.name)
        yield Metric(name="query_took_ms_p50", value=percentiles_ms(each.took)["p50"], unit="ms", scope=each.name)
        yield Metric(name="answers_wrong", value=each.wrong, unit="answers", scope=each.name)
    answers = sum(each.answers for each in load.questions)
    yield Metric(name="query_rate_per_s", value=answers / elapsed_s, unit="queries/s", scope="run")
    for name, value, unit in (
        ("query_cpu_ms", 3.7, "ms"),
        ("query_read_bytes", 40_007.0, "bytes"),
        ("query_major_faults", 0.31, "faults"),
        ("page_cache_bytes_mean", 380e6, "bytes"),
    ):
        yield Metric(name=name, value=value, unit=unit, scope="elasticsearch-1")
