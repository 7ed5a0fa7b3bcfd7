"""A run in Rally's words.

Rally counts all indices of a cluster; these rows are of the run's own index. Its rows of errors of bulk requests, of
heap for segments (0 since Elasticsearch 8) and of ingest pipelines have no counterpart here, nor have those of the
least, median and largest shard where there are several.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Final

from hdrh.histogram import HdrHistogram

from lab.analysis.figures.cost import by_node
from lab.analysis.figures.latency import decoded
from lab.analysis.figures.rates import answered, growth, index_totals, read_s
from lab.analysis.rally.summary import BY_KEY, Field, Line
from lab.analysis.result import RunAnalysis
from lab.records.samples import Sample, ShardCounters

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
"""Field of a race → counter of each node."""

RALLY_READS_AFTER_S: Final = 2.0
"""From the last answer of a bulk task until Rally reads the counters, about."""

PERCENTILES: Final = ((50.0, 2), (90.0, 10), (99.0, 100), (99.9, 1000), (99.99, 10_000), (100.0, 1))
"""Percentile, and of how many values Rally tells it at least."""


def rally_lines(analysis: RunAnalysis) -> list[Line]:
    """The rows of a run: of its index first, then of each task."""
    return [*_of_index(analysis), *_of_load(analysis), *_of_queries(analysis)]


def _of_index(analysis: RunAnalysis) -> Iterator[Line]:
    """The rows about a cluster, of the run's index: as they were when Rally read them, or else at the end."""
    run = analysis.folder.run
    counted = _until_rally_read(analysis) if run.rally else analysis.windows.run
    readings = answered(counted)
    values: dict[str, float] = {}
    if readings and (last := readings[-1].elasticsearch):
        values |= {key: counter(last.primaries) for key, counter in COUNTERS.items()}
        values |= {"translog_size": last.total.translog_size_bytes}
        values |= {"segment_count": last.primaries.segments_count}
        # Elasticsearch counts sizes anew every 10 s, so that after a short load Rally's are too small.
        sizes = {"total": last.total.store_size_bytes} if run.rally else run.store_size_bytes
        # Of every copy, as Rally has both.
        values |= {key: sizes["total"] for key in ("dataset_size", "store_size") if "total" in sizes}
    for key, counter_of_node in COLLECTIONS.items():
        grown = [growth(getattr(node, counter_of_node) for node in nodes) for nodes in by_node(counted).values()]
        known = [value for value in grown if value is not None]
        if known:
            values[key] = sum(known)
    has_one_shard = run.environment.index_settings.get("index.number_of_shards") == "1"
    for key, field in BY_KEY.items():
        if key in values:
            yield from _rows(field, values[key] / field.divisor, has_one_shard=has_one_shard)


def _until_rally_read(analysis: RunAnalysis) -> list[Sample]:
    """Samples of a load that Rally sent, until it had read the counters itself."""
    load, run = analysis.windows.load, analysis.windows.run
    return [sample for sample in run if load and load[0].at_s <= sample.at_s <= load[-1].at_s + RALLY_READS_AFTER_S]


def _rows(field: Field, value: float, *, has_one_shard: bool) -> Iterator[Line]:
    """The row of a value, and where one shard is all there is those of the least, median and largest shard."""
    yield Line(field.metric, "", value, field.unit)
    if field.across and has_one_shard:
        for share in ("Min", "Median", "Max"):
            yield Line(f"{share} {field.across}", "", value, field.unit)


def _of_load(analysis: RunAnalysis) -> Iterator[Line]:
    """Lines of bulk requests; none for a run that only asks."""
    run = analysis.folder.run
    if run.load == "query":
        return
    rates = running_rates(answered(analysis.windows.load))
    if rates:
        for share, of in (("Min", min), ("Mean", fmean), ("Median", median), ("Max", max)):
            yield Line(f"{share} Throughput", INDEXING, of(rates), "docs/s")
    # At a rate Rally's latency holds the wait for a request's turn as well, which is not known of bulk requests.
    service = decoded(run.sink_histograms.bulk_service_time)
    yield from (line for line in _times(INDEXING, service) if run.load != "stream" or "latency" not in line.metric)


def running_rates(load: Sequence[Sample]) -> list[float]:
    """Documents per second since the first one was sent, once a second: what Rally calls throughput.

    Each value is a mean over all that has passed, so that the mean of them follows a rate that rises with delay.

    Args:
        load: Samples of the load; the last before documents are seen is taken for the beginning.

    Source: `ThroughputCalculator` of Rally 2.13, which has the same of the requests that have been answered.
    """
    pairs = zip(load, index_totals(load), strict=True)
    totals = [(read_s(sample), total) for sample, total in pairs if total is not None]
    grown = [place for place, ((_, before), (_, after)) in enumerate(pairwise(totals)) if after > before]
    if not grown:
        return []
    (started_s, first), *following = totals[grown[0] : grown[-1] + 2]
    rates, bucket_s = [], 1.0
    for at_s, total in following:
        if at_s - started_s >= bucket_s:
            rates.append((total - first) / (at_s - started_s))
            bucket_s = int(at_s - started_s) + 1.0
    at_s, total = following[-1]
    return rates or [(total - first) / (at_s - started_s)]


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
        if load.measured_s > 0:
            yield Line("Mean Throughput", question.name, question.answers / load.measured_s, "ops/s")
        yield from _times(question.name, decoded(question.service_time), decoded(question.latency))
        failed = question.requests - question.answers
        yield Line("error rate", question.name, 100 * failed / question.requests if failed else 0.0, "%")
