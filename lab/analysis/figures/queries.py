"""The figures of a query load: how long answers took, and what they cost the servers meanwhile.

Times are those of the measured part. A server's counters grow between the first and the last sample inside it, the same
two for all of them: within, queries are sent all the time, so that growth per second has no bias, while the samples
around it add what was done in the warm-up and after the last answer. What one query costs is that growth over the
answers read between the same two samples.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from hdrh.histogram import HdrHistogram

from lab.analysis.figures.cost import by_node, gc_time_ms, process_names, used_per_s
from lab.analysis.figures.definitions import metric
from lab.analysis.figures.latency import added, is_known, latency_ms, latency_series, mean_ms, percentiles_of
from lab.analysis.figures.rates import (
    SCOPES,
    Point,
    answered_s,
    counter_series,
    growth,
    mean,
    rate_per_s,
    shard_growth,
    sum_of_all,
)
from lab.analysis.figures.windows import measured_samples
from lab.records.queries import ANSWERS_EVERY_S, QueryLoadResult, QueryTimes
from lab.records.result import Metric
from lab.records.run import Run
from lab.records.samples import ProcessSample, Sample

SHARES = {
    "query_latency_ms": ("mean", "p50", "p90", "p99", "p99_9", "max"),
    "query_service_time_ms": ("mean", "p50", "p90", "p99", "p99_9", "max"),
    "query_took_ms": ("mean", "p50", "p99"),
}
CACHES = ("request_cache", "query_cache")
SERVER = "elasticsearch"

USED: dict[str, Callable[[ProcessSample], float | None]] = {
    "query_cpu_ms": lambda process: 1000 * process.cpu_s,
    "query_read_bytes": lambda process: process.disk_read_bytes,
    "query_major_faults": lambda process: process.major_page_faults,
}
"""Metric → counter of a process, for one answered query."""


def answers_per_s_between(load: QueryLoadResult, window: Sequence[Sample]) -> float | None:
    """Answers read per second from the first sample to the last; answers of one interval count as spread over it."""
    if len(window) < 2:
        return None
    until = np.concatenate(([0], np.cumsum(load.answers_read)))
    instants_s = load.started_s + ANSWERS_EVERY_S * np.arange(len(until))
    first, last = np.interp([window[0].at_s, window[-1].at_s], instants_s, until)
    return float(last - first) / (window[-1].at_s - window[0].at_s)


def answer_rate_series(load: QueryLoadResult) -> list[Point]:
    """Answers read in each whole second of the measured part; each at the end of its second."""
    bins = round(1 / ANSWERS_EVERY_S)
    ends = range(bins, len(load.answers_read) + 1, bins)
    return [Point(load.started_s + end / bins, float(sum(load.answers_read[end - bins : end]))) for end in ends]


def of_queries(run: Run, samples: Sequence[Sample]) -> Iterator[Metric]:
    """Every figure of a run's query load; nothing where there was none."""
    load = run.query_load
    if load is None:
        return
    window = measured_samples(load, samples)
    yield from times(load, load.questions, "run")
    for question in load.questions:
        yield from times(load, (question,), question.name)
        yield from correctness(question)
    yield metric("clients_busy_mean", load.clients_busy_mean)
    yield from searches(window)
    yield from server_costs(window, answers_per_s_between(load, window) if run.load == "query" else None)
    yield from caches(window)
    yield from search_threads(window)
    yield from page_cache(run, window)


def times(load: QueryLoadResult, questions: Sequence[QueryTimes], scope: str) -> Iterator[Metric]:
    """Rate, errors and times of these questions; several questions share one histogram."""
    requests = sum(question.requests for question in questions)
    answers = sum(question.answers for question in questions)
    yield metric("query_rate_per_s", answers / load.measured_s if load.measured_s > 0 else None, scope)
    yield metric("query_requests", requests, scope)
    yield metric("query_errors", requests - answers, scope)
    if any(question.latency is not None for question in questions):
        yield from of_histogram("query_latency_ms", added(question.latency for question in questions), scope)
    service = of_histogram("query_service_time_ms", added(question.service_time for question in questions), scope)
    # The sum is exact, where a histogram keeps three digits of each value.
    service_s = sum(question.service_time_s for question in questions)
    exact = metric("query_service_time_ms_mean", 1000 * service_s / answers if answers else None, scope)
    yield from (exact if figure.name == exact.name else figure for figure in service)
    yield from of_histogram("query_took_ms", added(question.took for question in questions), scope)


def of_histogram(stem: str, histogram: HdrHistogram | None, scope: str) -> Iterator[Metric]:
    """Mean and percentiles of how long something took, as its definition has them."""
    recorded = histogram.get_total_count() if histogram else 0
    figures = {name: value for name, value in percentiles_of(histogram).items() if is_known(name, recorded)}
    for share in SHARES[stem]:
        yield metric(f"{stem}_{share}", mean_ms(histogram) if share == "mean" else figures.get(share), scope)


def correctness(question: QueryTimes) -> Iterator[Metric]:
    """Figures on right and wrong answers; without a comparison none is known to be right or wrong."""
    yield metric("query_hits_mean", question.hits_mean, question.name)
    yield metric("answers", question.checked, question.name)
    is_known = question.checked and not question.not_computed
    yield metric("answers_wrong", question.wrong if is_known else None, question.name)
    yield metric("rows_right_share", question.rows_right, question.name)
    yield metric("values_right_share", question.values_right, question.name)


def searches(window: Sequence[Sample]) -> Iterator[Metric]:
    """Search rate and search latency, as Stack Monitoring defines them."""
    for scope in SCOPES:
        yield metric("search_rate_per_s", search_rate_per_s(window, scope), scope)
    for scope in SCOPES:
        yield metric("search_latency_ms", search_latency_ms(window, scope), scope)


def search_rate_per_s(window: Sequence[Sample], scope: str) -> float | None:
    """Searches of shards per second; a query is one on each shard that it searches.

    `None` where the counters began again.

    Source: Kibana's Stack Monitoring ("Search Rate"): Δ`query_total` / Δt. 1 000 → 1 900 in 9 s is 100 /s.
    """
    return rate_per_s(0, shard_growth(window, scope, "query_total"), answered_s(window))


def search_latency_ms(window: Sequence[Sample], scope: str) -> float | None:
    """Milliseconds that a search of a shard took; a growth that a restart cut off is left out.

    `None` when nothing was searched.

    Source: Kibana's Stack Monitoring ("Search Latency"): Δ`query_time_in_millis` / Δ`query_total`. 2 700 ms for 900
        searches is 3 ms.
    """
    return latency_ms(window, scope, "query")


def search_rate_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Searches of shards per second from each sample to the next."""
    return counter_series(samples, scope, "query_total")


def search_latency_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Search latency from each sample to the next, in ms; 0 when nothing was searched, as in Kibana."""
    return latency_series(samples, scope, "query")


def server_costs(window: Sequence[Sample], answers_per_s: float | None) -> Iterator[Metric]:
    """Cost of the queries for each node and, as `elasticsearch`, for all nodes.

    Args:
        answers_per_s: Answers read per second between the first and the last sample; `None` where something else costs
            the nodes as well, so that what one query costs is not known.

    Source: 1.5 cores busy at 300 queries answered per second are 5 ms of CPU for each.
    """
    nodes = [name for name in process_names(window) if name.startswith(SERVER)]
    used = {name: {cost: used_per_s(window, name, counter) for cost, counter in USED.items()} for name in nodes}
    if nodes and SERVER not in used:
        used[SERVER] = {cost: sum_of_all(per_s[cost] for per_s in used.values()) for cost in USED}
    for name, per_s in used.items():
        for cost, used_in_s in per_s.items():
            yield metric(cost, used_in_s / answers_per_s if used_in_s is not None and answers_per_s else None, name)
        faults = per_s["query_major_faults"]
        yield metric("query_read_bytes_per_s", per_s["query_read_bytes"], name)
        yield metric("query_major_faults_per_min", None if faults is None else 60 * faults, name)


def caches(window: Sequence[Sample]) -> Iterator[Metric]:
    """Hits of Elasticsearch's own caches of results, on all copies of all shards."""
    for cache in CACHES:
        hits = shard_growth(window, "total", f"{cache}_hits")
        misses = shard_growth(window, "total", f"{cache}_misses")
        yield metric(f"{cache}_hit_share", hit_share(hits, misses))
        yield metric(f"{cache}_hits", hits)
        yield metric(f"{cache}_misses", misses)


def hit_share(hits: int | None, misses: int | None) -> float | None:
    """Share of the lookups that found something; `None` when there was none."""
    if hits is None or misses is None or not hits + misses:
        return None
    return hits / (hits + misses)


def search_threads(window: Sequence[Sample]) -> Iterator[Metric]:
    """Search threads and garbage collection of each node."""
    for name, readings in by_node(window).items():
        waiting = [node.search_queue for node in readings if node.search_queue is not None]
        yield metric("query_gc_time_ms", gc_time_ms(readings), name)
        yield metric("search_active_mean", mean(node.search_active for node in readings), name)
        yield metric("search_queue_max", max(waiting, default=None), name)
        yield metric("search_rejected", growth(node.search_rejected for node in readings), name)


def bounded_nodes(samples: Sequence[Sample]) -> list[str]:
    """The nodes with a control group of their own; containers of other servers have one, too."""
    return sorted({name for sample in samples for name in sample.control_groups if name.startswith(SERVER)})


def page_cache(run: Run, window: Sequence[Sample]) -> Iterator[Metric]:
    """Page cache of each server with a control group of its own, and what it has to hold."""
    cached = {
        name: mean(group.page_cache_bytes for sample in window if (group := sample.control_groups.get(name)))
        for name in bounded_nodes(window)
    }
    for name, held_bytes in cached.items():
        yield metric("page_cache_bytes_mean", held_bytes, name)
    stored_bytes, cache_bytes = run.store_size_bytes.get("total"), sum(held or 0 for held in cached.values())
    yield metric("data_to_cache_ratio", stored_bytes / cache_bytes if stored_bytes and cache_bytes else None)
