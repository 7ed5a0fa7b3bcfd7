"""A run in Rally's words.

Rally counts all indices of a cluster; these rows are of the run's own index. Its rows of the least, median and largest
shard, of errors of bulk requests, of heap for segments (0 since Elasticsearch 8) and of ingest pipelines have no
counterpart here.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hdrh.histogram import HdrHistogram

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.latency import decoded
from lab.analysis.figures.queries import measured_s
from lab.analysis.figures.rates import answered
from lab.analysis.rally.summary import BY_KEY, Line
from lab.analysis.result import RunAnalysis
from lab.records.run import QueryTimes
from lab.records.samples import ShardCounters

INDEXING: Final = "index-append"
"""What Rally's tracks call the task that adds documents."""

COUNTERS: Final[dict[str, Callable[[ShardCounters], int]]] = {
    "total_time": lambda shards: shards.index_time_ms,
    "indexing_throttle_time": lambda shards: shards.throttle_time_ms,
    "merge_time": lambda shards: shards.merges_time_ms,
    "merge_count": lambda shards: shards.merges_total,
    "merge_throttle_time": lambda shards: shards.merges_throttled_time_ms,
    "refresh_time": lambda shards: shards.refresh_time_ms,
    "refresh_count": lambda shards: shards.refresh_total,
    "flush_time": lambda shards: shards.flush_time_ms,
    "flush_count": lambda shards: shards.flush_total,
}
"""Field of a race → counter of the primary shards."""

COLLECTIONS: Final = {
    "young_gc_time": "gc_young_time_ms",
    "young_gc_count": "gc_young_count",
    "old_gc_time": "gc_old_time_ms",
    "old_gc_count": "gc_old_count",
}
"""Field of a race → metric of each node."""

PERCENTILES: Final = ((50.0, 2), (90.0, 10), (99.0, 100), (99.9, 1000), (99.99, 10_000), (100.0, 1))
"""Percentile, and of how many values Rally tells it at least."""


def rally_lines(analysis: RunAnalysis) -> list[Line]:
    """The rows of a run: of its index first, then of each task."""
    return [*_of_index(analysis), *_of_load(analysis), *_of_queries(analysis)]


def _of_index(analysis: RunAnalysis) -> Iterator[Line]:
    run, metrics = analysis.folder.run, analysis.result.metrics
    seen = answered(analysis.windows.run)
    if seen and (last := seen[-1].elasticsearch):
        values: dict[str, float] = {key: counter(last.primaries) for key, counter in COUNTERS.items()}
        values |= {"translog_size": last.total.translog_size_bytes}
        values |= {"segment_count": last.primaries.segments_count}
    else:
        values = {}
    for key, name in COLLECTIONS.items():
        known = [metric.value for metric in metrics if metric.name == name and metric.value is not None]
        if known:
            values[key] = sum(known)
    for key, scope in (("dataset_size", "primaries"), ("store_size", "total")):
        if scope in run.store_size_bytes:
            values[key] = run.store_size_bytes[scope]
    for key, field in BY_KEY.items():
        if key in values:
            yield Line(field.metric, "", values[key] / field.divisor, field.unit)


def _of_load(analysis: RunAnalysis) -> Iterator[Line]:
    """What bulk requests did; nothing for a run that only asks.

    Rally's least, median and largest throughput are of rates since the task began; only the mean is the same as ours.
    """
    run, metrics = analysis.folder.run, analysis.result.metrics
    if run.load == "query":
        return
    rate = value_of(metrics, "indexing_rate_docs_per_s", "primaries")
    if rate is not None:
        yield Line("Mean Throughput", INDEXING, rate, "docs/s")
    # At a rate Rally's latency holds the wait for a request's turn as well, which is not known of bulk requests.
    service = decoded(run.sink_histograms.bulk_service_time)
    yield from (line for line in _times(INDEXING, service) if run.load != "stream" or "latency" not in line.metric)


def _times(task: str, service: HdrHistogram | None, latency: HdrHistogram | None = None) -> Iterator[Line]:
    """Percentiles; without a target rate Rally gives the service time as the latency as well."""
    for what, histogram in (("latency", latency or service), ("service time", service)):
        for percent, least in PERCENTILES:
            if histogram is not None and histogram.get_total_count() >= least:
                value_ms = histogram.get_value_at_percentile(percent) / 1000
                yield Line(f"{percent:g}th percentile {what}", task, value_ms, "ms")


def _of_queries(analysis: RunAnalysis) -> Iterator[Line]:
    """Each question as a task; of several that take turns only the mean rate of one is known."""
    load = analysis.folder.run.query_load
    if load is None:
        return
    for question in load.questions:
        lasted_s = measured_s(load)
        if lasted_s > 0:
            yield Line("Mean Throughput", question.name, question.answers / lasted_s, "ops/s")
        yield from _times(question.name, decoded(question.service_time), decoded(question.latency))
        yield Line("error rate", question.name, _error_rate(question), "%")


def _error_rate(question: QueryTimes) -> float:
    return 100 * sum(question.errors.values()) / question.requests if question.requests else 0.0
