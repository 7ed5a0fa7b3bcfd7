"""All figures of a run."""

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from statistics import fmean

from lab.analysis.figures.activity import activity
from lab.analysis.figures.answers import answers
from lab.analysis.figures.cost import (
    cpu_cores_mean,
    cpu_s_per_million_docs,
    cpu_s_used,
    process_names,
    servers_are_here,
    used,
)
from lab.analysis.figures.definitions import metric
from lab.analysis.figures.latency import indexing_latency_ms, percentiles_ms
from lab.analysis.figures.rates import (
    consumed_rate_docs_per_s,
    entities_per_s,
    growth,
    growth_from_zero,
    indexing_rate_docs_per_s,
    read_s,
    shards,
    source_mb_per_s,
)
from lab.analysis.figures.windows import Windows
from lab.records import Delivery, Metric, NodeCounters, Run, Sample, SinkSample

SCOPES = ("primaries", "total")

BULK_COUNTERS = {
    "bulk_requests": "bulk_requests",
    "bulk_documents": "bulk_documents_total",
    "bulk_bytes": "bulk_bytes_total",
    "bulk_requests_failed": "bulk_requests_failed",
    "bulk_retries": "bulk_retries",
    "item_retries": "item_retries",
}
"""What a direct load calls a counter → what the sink calls it."""

CUMULATIVE = {
    "merge_count": "merges_total",
    "merge_time_ms": "merges_time_ms",
    "merge_throttled_time_ms": "merges_throttled_time_ms",
    "refresh_count": "refresh_total",
    "refresh_time_ms": "refresh_time_ms",
    "flush_count": "flush_total",
    "flush_time_ms": "flush_time_ms",
    "indexing_throttle_time_ms": "throttle_time_ms",
    "index_failed_docs": "index_failed",
}


def metrics(run: Run, cut: Windows) -> tuple[Metric, ...]:
    """Every figure that the run's records allow; one that they do not allow is there with the value `None`."""
    return (
        *(indexing(run, cut.window) if run.verification.expect == "stored" else consumption(cut.window)),
        *through_kafka(run, cut.load),
        *(bulks(run, cut.load) if run.verification.expect == "stored" else []),
        *costs(run, cut),
        *nodes(cut.run),
        *cumulative(run, cut.run),
        *activity(cut.window, process_names(cut.run)),
        *durations(run, cut.growing),
        *answers(run),
    )


def indexing(run: Run, window: Sequence[Sample]) -> list[Metric]:
    """Rates and latencies of the measured window."""
    rates = {scope: indexing_rate_docs_per_s(window, scope) for scope in SCOPES}
    loaded = run.documents.loaded
    return [
        *(metric("indexing_rate_docs_per_s", rates[scope], scope) for scope in SCOPES),
        *(metric("indexing_latency_ms", indexing_latency_ms(window, scope), scope) for scope in SCOPES),
        metric("source_mb_per_s", source_mb_per_s(rates["primaries"], run.source_bytes, loaded)),
        metric("entities_per_s", entities_per_s(rates["primaries"], run.entities, loaded)),
    ]


def consumption(window: Sequence[Sample]) -> list[Metric]:
    """What a sink that stores nothing can be measured by."""
    return [metric("consumed_rate_docs_per_s", consumed_rate_docs_per_s(window))]


def through_kafka(run: Run, load: Sequence[Sample]) -> list[Metric]:
    """What there is to measure only where documents go through Kafka; nothing for a direct load."""
    if run.delivery is None:
        return []
    return [
        *delivery(run.delivery, run.documents.loaded),
        *(end_to_end(run) if run.verification.expect == "stored" else []),
        metric("lag_records_max", lag_records_max(load)),
    ]


def delivery(delivered: Delivery, documents: int) -> list[Metric]:
    """How the documents came into Kafka."""
    elapsed_s = delivered.last_acknowledged_s - delivered.first_intended_s
    latency = delivered.latency_ms
    return [
        metric("delivery_rate_docs_per_s", documents / elapsed_s if elapsed_s > 0 else None),
        metric("delivery_latency_ms_p50", latency.get("p50")),
        metric("delivery_latency_ms_p99", latency.get("p99")),
    ]


def end_to_end(run: Run) -> list[Metric]:
    """Intended send → acknowledged by Elasticsearch."""
    percentiles = percentiles_ms(run.sink_histograms.record_age)
    return [
        metric(f"end_to_end_latency_ms_{name}", percentiles.get(name)) for name in ("p50", "p90", "p99", "p99_9", "max")
    ]


def bulks(run: Run, load: Sequence[Sample]) -> list[Metric]:
    """The bulk requests of the sink, over the load phase, or of a direct load."""
    percentiles = percentiles_ms(run.sink_histograms.bulk_service_time)

    def counted(counter: Callable[[SinkSample], int]) -> int | None:
        return growth_from_zero(counter(sample.sink) for sample in load if sample.sink)

    requests, documents, size_bytes, failed, retries, item_retries = (
        getattr(run.direct, name) if run.direct else counted(attrgetter(name_of_sink))
        for name, name_of_sink in BULK_COUNTERS.items()
    )
    return [
        metric("bulk_service_time_ms_p50", percentiles.get("p50")),
        metric("bulk_service_time_ms_p99", percentiles.get("p99")),
        metric("bulk_size_docs_mean", ratio(documents, requests)),
        metric("bulk_size_bytes_mean", ratio(size_bytes, requests)),
        metric("bulk_requests", requests),
        metric("bulk_requests_failed", failed),
        metric("bulk_retries", retries),
        metric("item_retries", item_retries),
    ]


def ratio(part: float | None, whole: float | None) -> float | None:
    """`part` / `whole`; `None` when either is not known or there is nothing to divide by."""
    return part / whole if part is not None and whole else None


def lag_records_max(load: Sequence[Sample]) -> int | None:
    """The largest lag of the load phase."""
    return max((sample.kafka.lag_records for sample in load if sample.kafka and sample.phase == "load"), default=None)


def costs(run: Run, cut: Windows) -> list[Metric]:
    """What each process used; producers count themselves, since they may live for less than a sampling interval."""
    loaded = run.documents.loaded
    producer_cpu_s = run.delivery.cpu_s if run.delivery else None
    servers = [name for name in process_names(cut.run) if not name.startswith("producer")]
    machine = cut.window if servers_are_here(run) else ()
    busy = [sample.machine_cpu_percent for sample in machine if sample.machine_cpu_percent is not None]
    return [
        *(
            metric("cpu_s_per_million_docs", cpu_s_per_million_docs(cpu_s_used(cut.load, name), loaded), name)
            for name in servers
        ),
        *(metric("cpu_s_per_million_docs", None, name) for name in stages_elsewhere(run)),
        metric("cpu_s_per_million_docs", cluster_cpu_s_per_million_docs(cut.load, servers, loaded), "elasticsearch"),
        *(
            [metric("cpu_s_per_million_docs", cpu_s_per_million_docs(producer_cpu_s, loaded), "producer")]
            if run.delivery
            else []
        ),
        *(metric("cpu_cores_mean", cpu_cores_mean(cut.window, name), name) for name in servers),
        metric("machine_cpu_percent_mean", fmean(busy) if busy else None),
        *(metric("rss_bytes_max", rss_bytes_max(cut.run, name), name) for name in process_names(cut.run)),
        *(
            metric("major_page_faults", used(cut.load, name, lambda process: process.major_page_faults), name)
            for name in servers
        ),
        *(
            metric("disk_write_bytes", used(cut.load, name, lambda process: process.disk_write_bytes), name)
            for name in servers
        ),
    ]


def stages_elsewhere(run: Run) -> tuple[str, ...]:
    """The stages before Elasticsearch whose processes are not known, as they ran on other machines."""
    return () if servers_are_here(run) or run.topic is None else ("connect", "kafka")


def cluster_cpu_s_per_million_docs(load: Sequence[Sample], servers: Iterable[str], delivered: int) -> float | None:
    """CPU seconds of all Elasticsearch nodes together, so that clusters of several sizes can be compared."""
    used_by_nodes = [cpu_s_used(load, name) for name in servers if name.startswith("elasticsearch-")]
    if not used_by_nodes or None in used_by_nodes:
        return None
    return cpu_s_per_million_docs(sum(cpu_s or 0.0 for cpu_s in used_by_nodes), delivered)


def rss_bytes_max(samples: Iterable[Sample], name: str) -> int:
    """The largest resident memory of a process that was seen at least once."""
    return max(sample.processes[name].rss_bytes for sample in samples if name in sample.processes)


def nodes(samples: Sequence[Sample]) -> list[Metric]:
    """Garbage collection, heap and rejections of each Elasticsearch node over the run."""
    seen: dict[str, list[NodeCounters]] = {}
    for sample in samples:
        if sample.elasticsearch:
            for name, counters in sample.elasticsearch.nodes.items():
                seen.setdefault(name, []).append(counters)
    return [figure for name, counters in sorted(seen.items()) for figure in node(name, counters)]


def node(name: str, seen: Sequence[NodeCounters]) -> list[Metric]:
    """The figures of one node."""
    return [
        metric("heap_used_bytes_max", max(counters.heap_used_bytes for counters in seen), name),
        metric("gc_young_count", growth(counters.gc_young_count for counters in seen), name),
        metric("gc_young_time_ms", growth(counters.gc_young_time_ms for counters in seen), name),
        metric("gc_old_count", growth(counters.gc_old_count for counters in seen), name),
        metric("gc_old_time_ms", growth(counters.gc_old_time_ms for counters in seen), name),
        metric("write_rejected", growth(counters.write_rejected for counters in seen), name),
    ]


def cumulative(run: Run, samples: Sequence[Sample]) -> list[Metric]:
    """What the index has done over the run, beside indexing; a run makes its index, whose counters begin at zero."""
    found = []
    for scope in SCOPES:
        seen = [counters for sample in samples if (counters := shards(sample, scope))]
        found += [
            metric(name, growth_from_zero(getattr(counters, field) for counters in seen), scope)
            for name, field in CUMULATIVE.items()
        ]
        found += [
            metric("segments_count", seen[-1].segments_count if seen else None, scope),
            # A sample's is out of a cache of 10 s, in which most of a short run has not happened yet.
            metric("store_size_bytes", run.store_size_bytes.get(scope), scope),
        ]
    return found


def durations(run: Run, window: Sequence[Sample]) -> list[Metric]:
    """Wall time of each phase, and of the drain."""
    walls = [metric("phase_wall_time_s", phase.ended_s - phase.started_s, phase.name) for phase in run.phases]
    if run.load != "drain":
        return walls
    started_s = next((phase.started_s for phase in run.phases if phase.name == "load"), None)
    drained_s = read_s(window[-1]) - started_s if window and started_s is not None else None
    return [*walls, metric("drain_s", drained_s)]
