"""Costs of a document from recorded runs: the only measured part of a sizing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.analysis.figures.cost import cpu_s_used, process_names, servers_are_here, used
from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.load_figures import why_no_window
from lab.analysis.figures.rates import growth_from_zero, sum_of_all
from lab.analysis.result import RunAnalysis
from lab.analysis.sizing.ranges import Range, estimated
from lab.errors import ProfileError
from lab.profiles.mapping import leaves

NO_SETTINGS = frozenset({"name", "question", "where"})
REQUESTS_IN_FLIGHT = "max.in.flight.requests"
DEFAULT_IN_FLIGHT = 5


MOST_SENT_AGAIN = 0.01
"""Of requests, or of documents, so that the time that each takes is told 1 % too low at most."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of one document; CPU in microseconds, which is CPU-seconds per million documents.

    Attributes:
        elasticsearch_cpu_us: Of one copy, to the end of the merges that the run waited for: the runs' own replicas are
            divided out.
        kafka_cpu_us: Of one copy, taking records in and handing them out once; `None` where another run filled the
            topic.
        source_bytes: Its JSON.
        stored_bytes: On the disk, of one copy, at the end of the run.
        written_bytes: By Elasticsearch to the disk, of one copy: translog, segments, and the merges that the run waited
            for; `None` where the disk was not counted.
        bulk_docs: Documents in a bulk request.
        request_us: Time for which a document keeps a request in flight: service time of all bulk requests, from sent to
            answered, ÷ their documents.
    """

    elasticsearch_cpu_us: Range
    connect_cpu_us: Range
    kafka_cpu_us: Range | None
    producer_cpu_us: Range | None
    source_bytes: Range
    stored_bytes: Range
    written_bytes: Range | None
    bulk_docs: Range
    request_us: Range


@dataclass(frozen=True, slots=True)
class Measured:
    """The costs, and the runs that they are from.

    Attributes:
        runs: Their ids.
        requests_in_flight: Of one task, as the runs' connector had it.
        unsteady: Runs without a steady state, whose costs may be those of a cold server.
        stream_docs_per_s: Rate of the streams that they are of; `None` for drains.
    """

    profile: str
    runs: tuple[str, ...]
    cpu_model: str
    costs: Costs
    requests_in_flight: int
    unsteady: tuple[str, ...]
    stream_docs_per_s: float | None = None


def measured(analyses: Sequence[RunAnalysis]) -> Measured:
    """Costs of one document by these runs.

    Raises:
        ProfileError: A run cannot be sized from, or they differ in processor, profile or any setting of it.
    """
    for analysis in analyses:
        if refusal := unsuitable(analysis):
            raise ProfileError(f"{analysis.result.run_id}: {refusal}")
    first = analyses[0].result
    of_first = in_common(analyses[0])
    for analysis in analyses[1:]:
        others = in_common(analysis)
        for name in (*of_first, *others):
            if (got := others.get(name)) != (wanted := of_first.get(name)):
                raise ProfileError(
                    f"{analysis.result.run_id}: {name}: got {got}, expected {wanted} as in {first.run_id};"
                    " size from runs that differ in nothing"
                )
    steady = {a.result.run_id: bool(a.result.measured_window and a.result.measured_window.steady) for a in analyses}
    return Measured(
        profile=first.profile,
        runs=tuple(steady),
        cpu_model=first.environment.cpu_model,
        costs=costs(analyses),
        requests_in_flight=in_flight(analyses[0]),
        unsteady=tuple(run for run, is_steady in steady.items() if not is_steady),
        stream_docs_per_s=stream_docs_per_s(analyses[0]),
    )


def unsuitable(analysis: RunAnalysis) -> str | None:
    """Why no sizing can rest on a run; `None` when one can."""
    result, run = analysis.result, analysis.folder.run
    if result.status != "verified":
        return "got a run that is not verified, expected one whose figures count"
    if run.delivery is None or not result.documents.indexed:
        return "got a load without Kafka and a sink that stores, expected one through both"
    if run.query_load is not None:
        return "got a load with queries beside it, whose CPU is not that of indexing, expected a load alone"
    if not servers_are_here(run) or value(analysis, "cpu_s_per_million_docs", "elasticsearch") is None:
        return "got servers whose CPU is not known, expected servers that Sluice has started"
    return not_measured(analysis)


def not_measured(analysis: RunAnalysis) -> str | None:
    """Reason why a run of the right kind gives no sizing; `None` if it gives one."""
    if request_us(analysis) is None:
        return "got a sink that does not tell how long its requests take, expected a connector of Sluice"
    if (again := sent_again(analysis)) is not None:
        return again
    if analysis.result.measured_window is None:
        why = why_no_window(analysis.result)
        return f"got no measured window, since {why}, expected one of at least 5 s; load more documents"
    if elasticsearch_cpu_us(analysis) is None:
        return "got counters of the index that began again in the measured window, expected ones that go on; run again"
    return None


def sent_again(analysis: RunAnalysis) -> str | None:
    """Documents that a run sent again, whose requests cost time and stored nothing; `None` for next to none.

    The sink counts the time of answered requests, and the documents of every attempt.
    """
    failed, requests = value(analysis, "bulk_requests_failed"), value(analysis, "bulk_requests")
    if failed and requests and failed > MOST_SENT_AGAIN * requests:
        return f"got {failed:,.0f} bulk requests of {requests:,.0f} that failed, expected a run without"
    retried, stored = value(analysis, "item_retries"), analysis.result.documents.loaded
    if retried and retried > MOST_SENT_AGAIN * stored:
        return f"got {retried:,.0f} documents sent again, beside {stored:,}, expected a run without: servers were full"
    return None


def in_flight(analysis: RunAnalysis) -> int:
    """Bulk requests that a task may have under way, which is ours to know only of our own sink."""
    return int(str(analysis.result.environment.connector.get(REQUESTS_IN_FLIGHT, DEFAULT_IN_FLIGHT)))


def in_common(analysis: RunAnalysis) -> dict[str, object]:
    """Settings by name that all runs of a sizing share, since the effect of a setting is no uncertainty."""
    settings = analysis.folder.profile or {}
    return {
        "profile": analysis.result.profile,
        "processor": analysis.result.environment.cpu_model,
        REQUESTS_IN_FLIGHT: in_flight(analysis),
        **dict(leaves({name: of for name, of in settings.items() if name not in NO_SETTINGS})),
    }


# --- of one run -----------------------------------------------------------------------------------------------------


def value(analysis: RunAnalysis, name: str, scope: str = "run") -> float | None:
    """A figure of a run; `None` where it is not known or nothing."""
    return value_of(analysis.result.metrics, name, scope) or None


def stream_docs_per_s(analysis: RunAnalysis) -> float | None:
    """Rate of a stream: what was asked for, or what was reached of it; `None` for a drain."""
    delivery = analysis.folder.run.delivery
    if delivery is None or delivery.rate_docs_per_s is None:
        return None
    asked = delivery.rate_docs_per_s
    return min(asked, value(analysis, "indexing_rate_docs_per_s", "primaries") or asked)


def copies(analysis: RunAnalysis) -> float | None:
    """Copies indexed of each document: its primary, and the replicas that had a node.

    Source: 12,000 operations on all shards, 6,000 on primaries: 2 copies.
    """
    primaries, total = (value(analysis, "indexing_rate_docs_per_s", scope) for scope in ("primaries", "total"))
    return total / primaries if primaries and total else None


def elasticsearch_cpu_us(analysis: RunAnalysis) -> float | None:
    """CPU of one copy of a document."""
    spent, times = value(analysis, "cpu_s_per_million_docs", "elasticsearch"), copies(analysis)
    return spent / times if spent and times else None


def kafka_cpu_us(analysis: RunAnalysis) -> float | None:
    """CPU of the broker for a record, from its producer and to the sink: the fill of a drain counts, too."""
    delivery, phases = analysis.folder.run.delivery, ("fill", "load")
    if delivery is None or delivery.earlier_run is not None:
        return None
    spent_s = cpu_s_used([sample for sample in analysis.folder.samples if sample.phase in phases], "kafka")
    return spent_s / analysis.result.documents.loaded * 1e6 if spent_s else None


def source_bytes(analysis: RunAnalysis) -> float | None:
    """Bytes of a document's JSON."""
    size = analysis.folder.run.source_bytes
    return size / analysis.result.documents.loaded if size else None


def stored_bytes(analysis: RunAnalysis) -> float | None:
    """Bytes on disk of one copy, for a record that was sent: one that overwrites a document adds none."""
    size = value(analysis, "store_size_bytes", "primaries")
    return size / analysis.result.documents.loaded if size else None


def written_bytes(analysis: RunAnalysis) -> float | None:
    """Bytes that Elasticsearch wrote to the disk for one copy of a document."""
    samples = [sample for sample in analysis.folder.samples if sample.phase in ("load", "settle")]
    nodes = [name for name in process_names(samples) if name.startswith("elasticsearch-")]
    written = sum_of_all(used(samples, name, lambda process: process.disk_write_bytes) for name in nodes)
    times = copies(analysis)
    return written / analysis.result.documents.loaded / times if written and times else None


def request_us(analysis: RunAnalysis) -> float | None:
    """Time for which a document keeps a request in flight, by the sink's own counters over the load.

    A mean: requests that wait for a merge are few and keep their place for long, so that by the median a task that
    reached 18,500 documents/s would be taken for one of 28,200.
    """
    sinks = [sample.sink for sample in analysis.windows.load if sample.sink]
    taken_ms = growth_from_zero(sink.bulk_service_time_ms_total for sink in sinks)
    documents = growth_from_zero(sink.bulk_documents_total for sink in sinks)
    return 1000 * taken_ms / documents if taken_ms and documents else None


# --- of all ---------------------------------------------------------------------------------------------------------


def costs(analyses: Sequence[RunAnalysis]) -> Costs:
    """The costs of a document, each from all runs."""

    def known(of: Callable[[RunAnalysis], float | None]) -> Range | None:
        values = [of(analysis) for analysis in analyses]
        present = [one for one in values if one is not None]
        return estimated(present) if len(present) == len(values) else None

    def needed(of: Callable[[RunAnalysis], float | None], what: str) -> Range:
        values = known(of)
        if values is None:
            raise ProfileError(f"{analyses[0].result.run_id}: {what}: not measured, expected in every run")
        return values

    return Costs(
        elasticsearch_cpu_us=needed(elasticsearch_cpu_us, "CPU of Elasticsearch"),
        connect_cpu_us=needed(lambda of: value(of, "cpu_s_per_million_docs", "connect"), "CPU of Connect"),
        kafka_cpu_us=known(kafka_cpu_us),
        producer_cpu_us=known(lambda of: value(of, "cpu_s_per_million_docs", "producer")),
        source_bytes=needed(source_bytes, "size of the documents"),
        stored_bytes=needed(stored_bytes, "size on disk"),
        written_bytes=known(written_bytes),
        bulk_docs=needed(lambda of: value(of, "bulk_size_docs_mean"), "documents per bulk request"),
        request_us=needed(request_us, "bulk service time"),
    )
