"""Figures of a run, each under a name of `definitions`."""

from collections.abc import Iterable, Iterator, Sequence

from lab.analysis.figures.clocks import end_to_end_ms
from lab.analysis.figures.cost import (
    by_node,
    cpu_cores_mean,
    cpu_s_per_million_docs,
    cpu_s_used,
    gc_time_ms,
    process_names,
    servers_are_here,
    used,
)
from lab.analysis.figures.definitions import BY_NAME, metric
from lab.analysis.figures.delay import of_delay
from lab.analysis.figures.deployment import of_deployment
from lab.analysis.figures.disturbance import (
    machine_cpu_percent,
    machine_steal_percent,
    other_cpu_percent,
    probe_slowdown,
)
from lab.analysis.figures.indices import of_indices
from lab.analysis.figures.latency import decoded, indexing_latency_ms, percentiles_ms
from lab.analysis.figures.queries import of_histogram, of_queries
from lab.analysis.figures.rates import (
    SCOPES,
    consumed_rate_docs_per_s,
    counts,
    entities_per_s,
    go_on,
    growth,
    growth_from_zero,
    has_fallen,
    indexing_rate_docs_per_s,
    read_s,
    shard_growth,
    source_mb_per_s,
    sum_of_all,
)
from lab.analysis.figures.windows import Windows
from lab.analysis.statistics.knee import knee
from lab.errors import ProfileError
from lab.extensions import RunMetric
from lab.records.queries import QuestionAnswers
from lab.records.result import Metric
from lab.records.run import Run
from lab.records.samples import Sample

BULK_COUNTERS = {
    "bulk_requests": "bulk_requests",
    "bulk_documents": "bulk_documents_total",
    "bulk_bytes": "bulk_bytes_total",
    "bulk_requests_failed": "bulk_requests_failed",
    "bulk_retries": "bulk_retries",
    "item_retries": "item_retries",
}
"""What a direct load calls a counter → what the sink calls it."""

NODE_COUNTERS = ("gc_young_count", "gc_young_time_ms", "gc_old_count", "gc_old_time_ms", "write_rejected")

OF_THE_RUN = {
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
"""Metric → counter of the index, over the run."""

OF_THE_WINDOW = {
    "window_merge_count": "merges_total",
    "window_merge_time_ms": "merges_time_ms",
    "window_refresh_count": "refresh_total",
    "window_refresh_time_ms": "refresh_time_ms",
}
"""The same over the measured window."""

OF_TOPICS = ("connect", "kafka")
"""Servers that documents pass only where they go through a topic."""
NOT_VIRTUAL_MACHINES = ("producer", "direct", "rally", "sink", "queries")


def metrics(run: Run, cut: Windows) -> tuple[Metric, ...]:
    """Every figure that the run's records allow; one that they do not allow is there with the value `None`."""
    own = of_queries_alone(run, cut) if run.load == "query" else of_documents(run, cut)
    answers_right = (figure for question in run.questions for figure in answers(question))
    installed = of_packages(run, cut.window)
    return (*own, *answers_right, *of_queries(run, cut.run), *_knee(run), *of_deployment(run), *installed)


def _knee(run: Run) -> Iterator[Metric]:
    if run.ramp is not None:
        yield metric("knee_rate_per_s", knee(run.ramp.steps, run.ramp.p99_bound_ms).rate_per_s)


def of_packages(run: Run, window: Sequence[Sample]) -> Iterator[Metric]:
    """The figures of installed packages.

    Raises:
        ProfileError: A package cannot be used, or its metric fails on this run.
    """
    for name in BY_NAME.offers():
        definition = BY_NAME[name]
        if not isinstance(definition, RunMetric):
            continue
        try:
            value = definition.value(run, window)
        except Exception as error:
            raise ProfileError(
                f"metric {name} of {BY_NAME.package(name)}: {type(error).__name__}: {error}; uninstall it, or mend it, "
                "and make the report anew with: ./sluice report"
            ) from error
        yield metric(name, value)


def of_queries_alone(run: Run, cut: Windows) -> tuple[Metric, ...]:
    """The figures that have nothing to do with documents on their way into the index.

    An earlier run may have made that index, whose counters tell of that run, too.
    """
    return (
        *machine_and_processes(run, cut),
        *nodes(cut.run),
        *(figure for scope in SCOPES for figure in index_size(run, cut.run, scope)),
        *window_activity(cut.window, process_names(cut.run)),
        *durations(run, cut.growing),
    )


def of_documents(run: Run, cut: Windows) -> tuple[Metric, ...]:
    """The figures of documents on their way into the index."""
    # A sink that stores nothing is measured by what it has read.
    consumed = (metric("consumed_rate_docs_per_s", consumed_rate_docs_per_s(cut.window)),)
    is_stored = run.verification.expect == "stored"
    return (
        *(indexing(run, cut.window) if is_stored else consumed),
        *of_indices(run, cut),
        *through_kafka(run, cut.load),
        *(bulks(run, cut.load) if is_stored and run.rally is None else ()),
        *costs(run, cut),
        *nodes(cut.run),
        *index_activity(run, cut.run),
        *window_activity(cut.window, process_names(cut.run)),
        *durations(run, cut.growing),
    )


def indexing(run: Run, window: Sequence[Sample]) -> Iterator[Metric]:
    """Rates and latencies of the measured window."""
    rates = {scope: indexing_rate_docs_per_s(window, scope) for scope in SCOPES}
    for scope in SCOPES:
        yield metric("indexing_rate_docs_per_s", rates[scope], scope)
    for scope in SCOPES:
        yield metric("indexing_latency_ms", indexing_latency_ms(window, scope), scope)
    loaded = run.documents.loaded
    yield metric("source_mb_per_s", source_mb_per_s(rates["primaries"], run.source_bytes, loaded))
    yield metric("entities_per_s", entities_per_s(rates["primaries"], run.entities, loaded))


def through_kafka(run: Run, load: Sequence[Sample]) -> Iterator[Metric]:
    """Figures of documents on their way into Kafka and through it; none for a load without Kafka."""
    if run.delivery is None:
        return
    # Of a topic that an earlier run has filled, they are figures of that run.
    if run.delivery.earlier_run is None:
        elapsed_s = run.delivery.last_acknowledged_s - run.delivery.first_intended_s
        yield metric("delivery_rate_docs_per_s", run.documents.loaded / elapsed_s if elapsed_s > 0 else None)
        for name in ("p50", "p99"):
            yield metric(f"delivery_latency_ms_{name}", run.delivery.latency_ms.get(name))
    if run.verification.expect == "stored":
        percentiles = end_to_end_ms(run)
        for name in ("p50", "p90", "p99", "p99_9", "max"):
            yield metric(f"end_to_end_latency_ms_{name}", percentiles.get(name))
    yield from of_delay(run, load)
    lags = [sample.kafka.lag_records for sample in load if sample.kafka and sample.phase == "load"]
    yield metric("lag_records_max", max(lags, default=None))


def bulks(run: Run, load: Sequence[Sample]) -> Iterator[Metric]:
    """The bulk requests of the sink, over the load phase, or of a direct load."""
    percentiles = percentiles_ms(run.sink_histograms.bulk_service_time)
    for name in ("p50", "p99"):
        yield metric(f"bulk_service_time_ms_{name}", percentiles.get(name))
    counts: dict[str, int | None] = {
        name: getattr(run.direct, name)
        if run.direct
        else growth_from_zero(getattr(sample.sink, name_of_sink) for sample in load if sample.sink)
        for name, name_of_sink in BULK_COUNTERS.items()
    }
    for name, total in (("bulk_size_docs_mean", "bulk_documents"), ("bulk_size_bytes_mean", "bulk_bytes")):
        whole, requests = counts[total], counts["bulk_requests"]
        yield metric(name, whole / requests if whole is not None and requests else None)
    for name in ("bulk_requests", "bulk_requests_failed", "bulk_retries", "item_retries"):
        yield metric(name, counts[name])


def costs(run: Run, cut: Windows) -> Iterator[Metric]:
    """Costs of each process; producers count their own, since they may live for less than a sampling interval."""
    for name, spent_s in cpu_s_by_stage(run, cut, _servers(cut)).items():
        yield metric("cpu_s_per_million_docs", cpu_s_per_million_docs(spent_s, run.documents.loaded), name)
    yield from machine_and_processes(run, cut)


def machine_and_processes(run: Run, cut: Windows) -> Iterator[Metric]:
    """Costs of the machine and of each process, whatever they worked for."""
    servers = _servers(cut)
    for name in servers:
        yield metric("cpu_cores_mean", cpu_cores_mean(cut.of_machine, name), name)
    machine = cut.of_machine if servers_are_here(run) else ()
    yield metric("machine_cpu_percent_mean", machine_cpu_percent(machine))
    yield metric("machine_steal_percent_mean", machine_steal_percent(machine))
    yield metric("other_cpu_percent_mean", other_cpu_percent(machine))
    yield metric("probe_slowdown", probe_slowdown(cut.run, machine))
    for name in process_names(cut.run):
        largest = max(sample.processes[name].rss_bytes for sample in cut.run if name in sample.processes)
        yield metric("rss_bytes_max", largest, name)
    for name in servers:
        yield metric("major_page_faults", used(cut.load, name, lambda process: process.major_page_faults), name)
    for name in servers:
        yield metric("disk_write_bytes", used(cut.load, name, lambda process: process.disk_write_bytes), name)


def _servers(cut: Windows) -> list[str]:
    return [name for name in process_names(cut.run) if not name.startswith("producer")]


def cpu_s_by_stage(run: Run, cut: Windows, servers: Sequence[str]) -> dict[str, float | None]:
    """CPU seconds of each server and of the producers; `None` for those that ran on other machines.

    Those of Elasticsearch go on to the end of the merges that the load has left, which somebody has to pay. All nodes
    together are `elasticsearch`, so that clusters of several sizes can be compared; for the same reason
    `sender` is whatever sent the documents where no sink did. Kafka and Connect are left out where there is no topic:
    what they take then has nothing to do with documents.
    """
    merged = [sample for sample in cut.run if cut.load and sample.at_s >= cut.load[0].at_s]
    idle = () if run.topic is not None else OF_TOPICS
    spent_s = {
        name: cpu_s_used(merged if name.startswith("elasticsearch-") else cut.load, name)
        for name in servers
        if name not in idle
    }
    of_nodes = [node_s for name, node_s in spent_s.items() if name.startswith("elasticsearch-")]
    if run.topic is not None and not servers_are_here(run):
        spent_s |= dict.fromkeys(OF_TOPICS)
    spent_s["elasticsearch"] = sum_of_all(of_nodes)
    if run.delivery and run.delivery.earlier_run is None:
        spent_s["producer"] = run.delivery.cpu_s
    if run.topic is None and run.via in spent_s:
        spent_s["sender"] = spent_s[run.via]
    return spent_s


def nodes(samples: Sequence[Sample]) -> Iterator[Metric]:
    """Garbage collection, heap and rejections of each Elasticsearch node over the run."""
    for name, readings in by_node(samples).items():
        yield metric("heap_used_bytes_max", max(counters.heap_used_bytes for counters in readings), name)
        for counter in NODE_COUNTERS:
            yield metric(counter, growth(getattr(counters, counter) for counters in readings), name)


def index_activity(run: Run, samples: Sequence[Sample]) -> Iterator[Metric]:
    """Merges and refreshes of the index over the run, whose counters begin at zero with the index.

    `None` where they began again: what was counted before is lost in part.
    """
    for scope in SCOPES:
        are_whole = go_on(samples, scope)
        for name, counter in OF_THE_RUN.items():
            grown = growth_from_zero(counts(samples, scope, counter)) if are_whole else None
            yield metric(name, grown, scope)
        yield from index_size(run, samples, scope)


def index_size(run: Run, samples: Sequence[Sample], scope: str) -> Iterator[Metric]:
    """Segments and size on disk of the index at the end."""
    segments = [count for count in counts(samples, scope, "segments_count") if count is not None]
    yield metric("segments_count", segments[-1] if segments else None, scope)
    # A sample's is out of a cache of 10 s, in which most of a short run has not happened yet.
    yield metric("store_size_bytes", run.store_size_bytes.get(scope), scope)


def window_activity(window: Sequence[Sample], processes: Iterable[str]) -> Iterator[Metric]:
    """Background work within the measured window; a counter that a server does not offer is `None`.

    Elasticsearch's node statistics hold no compiling time, and the JMX agent runs in the Connect worker only.
    """
    for name, readings in by_node(window).items():
        yield metric("window_gc_time_ms", gc_time_ms(readings), name)
    for scope in SCOPES:
        for name, counter in OF_THE_WINDOW.items():
            yield metric(name, shard_growth(window, scope, counter), scope)
    spent_ms = [sample.sink.jit_time_ms for sample in window if sample.sink]
    # It is a sum over workers: one that did not answer once would come back as growth.
    compiling_ms = None if has_fallen(spent_ms) else growth(spent_ms)
    for name in processes:
        if not name.startswith(NOT_VIRTUAL_MACHINES):
            yield metric("window_jit_time_ms", compiling_ms if name == "connect" else None, name)


def durations(run: Run, growing: Sequence[Sample]) -> Iterator[Metric]:
    """Wall time of each phase, and of the drain."""
    for phase in run.phases:
        yield metric("phase_wall_time_s", phase.ended_s - phase.started_s, phase.name)
    if run.load == "drain":
        load = run.phase("load")
        yield metric("drain_s", read_s(growing[-1]) - load.started_s if growing and load else None)


def answers(question: QuestionAnswers) -> Iterator[Metric]:
    """The figures of one question, under its name."""
    yield from of_histogram("query_service_time_ms", decoded(question.service_time), question.name)
    yield from of_histogram("query_took_ms", decoded(question.took), question.name)
    for name, total in (
        ("requests_per_answer", question.requests),
        ("ids_joined_per_answer", question.ids_joined),
        ("books_per_answer", question.books),
    ):
        yield metric(name, total / question.answers if question.answers else None, question.name)
    yield metric("answers", question.answers, question.name)
    yield metric("answers_wrong", None if question.not_computed else question.wrong, question.name)
