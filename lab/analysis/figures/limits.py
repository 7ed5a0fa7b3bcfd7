"""Limit of a run: the stage of the pipeline without slack, with the evidence."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.analysis.figures.cost import cpu_cores_mean, process_names, servers_are_here, used
from lab.analysis.figures.disturbance import machine_steal_percent, other_cpu_percent
from lab.analysis.figures.queries import measured_s
from lab.analysis.figures.rates import answered, answered_s, indexing_rate_docs_per_s, mean, shard_growth
from lab.analysis.text import count, number
from lab.engines import DEFAULT
from lab.records.result import Limit
from lab.records.run import Run
from lab.records.samples import NodeCounters, Sample

SATURATED_PERCENT = 95.0
MOST = 2 / 3
KEPT_UP = 0.95
THROTTLED = 0.10
LATE = 0.01
BUSY_WRITE_THREADS = 0.9
BACKLOG_S = 2.0
WAITING_PERCENT = 20.0
BUSY_BROKER_CORES = 0.9
QUERY_SENDER = "queries"
UNKNOWN_PROCESSES = "unknown processes"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence on each stage from the samples of the measured window; `None` where there is none.

    Attributes:
        rate_docs_per_s: Indexing rate on primaries.
        lag_records: Mean lag.
        cores: Mean cores busy, by process.
        machine_cpu_percent: Busy share of the cores that the run could use, where the servers ran on this machine.
        other_cores: Mean cores that others than the run's processes kept busy.
        others: What is known of those: that they are other programs, or only that no process of the run is known to be.
        stolen_cores: Mean cores that the hypervisor took.
        write_threads_busy: Share of Elasticsearch's write threads at work, 0 to 1.
        write_queue: Mean number of requests that waited for one, over all nodes.
        bulks_in_flight: Mean number of bulk requests under way.
        bulks_allowed: How many the connector may have under way, over its tasks.
        throttled: Times in which indexing was held back, of all primary shards, over the length of the window.
        iowait_percent: Share of these cores that were idle because a program waited for a disk.
        disk_write_mb_per_s: What the processes of the run wrote together, as far as it is known.
    """

    rate_docs_per_s: float | None
    lag_records: float | None
    machine_cpu_percent: float | None
    cores: dict[str, float]
    other_cores: float
    others: str
    stolen_cores: float
    write_threads_busy: float | None
    write_queue: float | None
    bulks_in_flight: float | None
    bulks_allowed: int | None
    throttled: float | None
    iowait_percent: float | None
    disk_write_mb_per_s: float | None

    def cores_of(self, stage: str) -> float:
        """Cores of all processes of a stage, such as all nodes of Elasticsearch."""
        return sum(cores for name, cores in self.cores.items() if name.startswith(stage))

    @property
    def lag_is_small(self) -> bool:
        """Check that the topic held less than two seconds of work, on average."""
        if self.lag_records is None or not self.rate_docs_per_s:
            return False
        return self.lag_records < BACKLOG_S * self.rate_docs_per_s

    @property
    def records_waited(self) -> bool:
        """Check that the topic held two seconds of work or more; false where the lag is not known."""
        return bool(self.lag_records) and not self.lag_is_small


def evidence(run: Run, window: Sequence[Sample]) -> Evidence:
    """Collect the evidence on each stage from the samples of the measured window."""
    nodes = [node for sample in window if sample.elasticsearch for node in sample.elasticsearch.nodes.values()]
    threads = sum(node.write_threads or 0 for node in nodes)
    active = sum(node.write_active or 0 for node in nodes)
    here = window if servers_are_here(run) else ()
    busy = {name: cpu_cores_mean(window, name) for name in process_names(window)}
    cores = {name: known for name, known in busy.items() if known is not None} | _driver_cores(run, busy)
    return Evidence(
        rate_docs_per_s=indexing_rate_docs_per_s(window, "primaries"),
        lag_records=mean(sample.kafka.lag_records for sample in window if sample.kafka),
        machine_cpu_percent=mean(sample.machine_cpu_percent for sample in here),
        cores=cores,
        other_cores=_other_cores(run, here, sum(cores.values())),
        others="other programs" if other_cpu_percent(here) is not None else UNKNOWN_PROCESSES,
        stolen_cores=(machine_steal_percent(here) or 0.0) / 100 * run.environment.cpu_cores,
        write_threads_busy=active / threads if threads else None,
        write_queue=waiting_mean(window, lambda node: node.write_queue),
        bulks_in_flight=mean(sample.sink.bulk_requests_in_flight for sample in window if sample.sink),
        bulks_allowed=_bulks_allowed(run),
        throttled=_throttled(window),
        iowait_percent=mean(sample.machine_iowait_percent for sample in here),
        disk_write_mb_per_s=_disk_write_mb_per_s(window),
    )


def limited_by(run: Run, window: Sequence[Sample]) -> Limit | None:
    """The stage with no slack; `None` when the samples show none, there are too few, or the load was one in stages.

    Asked in this order, the first that applies: the profile's own rate; Elasticsearch throttling itself for its merges;
    the machine's cores; the disk that they waited for; the producer; Elasticsearch's write threads; the broker; the
    sink, or the sender of a direct load.
    """
    # Stages differ in what limits them, and a mean over all of them says nothing of any.
    if len(answered(window)) < 2 or run.course is not None:
        return None
    stages = evidence(run, window)
    return (
        _requested_rate(run, stages)
        or _merge_throttling(stages)
        or machine(run, stages)
        or _disk(stages)
        or _producer(run, stages)
        or _write_threads(stages)
        or _broker(run, stages)
        or _sink(run, stages)
    )


def stage_text(stage: str, product: str = DEFAULT.engine.title) -> str:
    """A stage as a sentence names it: `the sink`, `Elasticsearch`, `merge throttling`."""
    return {"elasticsearch": product, "merge throttling": stage}.get(stage, f"the {stage}")


def recorded_product(result: Mapping[str, Any]) -> str:
    """The servers under test of a `result.json` that is not checked, as `Environment.product` gives them."""
    products = (server.get("product") for server in result["environment"]["servers"])
    return next(filter(None, products), DEFAULT.engine.title)


def requested_rate_docs_per_s(run: Run) -> float | None:
    """The rate that a load was asked for; `None` for as fast as possible, and for a ramp."""
    if run.direct is not None:
        return run.direct.rate_docs_per_s
    is_at_one = run.load == "stream" and run.document_ramp is None
    return run.delivery.rate_docs_per_s if run.delivery and is_at_one else None


def is_delivered_late(run: Run) -> bool:
    """Check that the documents came into Kafka more slowly than the requested rate."""
    return run.delivery is not None and run.delivery.late_documents > LATE * run.documents.produced


def keeps_up(requested_docs_per_s: float, rate_docs_per_s: float) -> bool:
    """Check that an indexing rate keeps up with the stream."""
    return rate_docs_per_s >= KEPT_UP * requested_docs_per_s


def _requested_rate(run: Run, stages: Evidence) -> Limit | None:
    requested = requested_rate_docs_per_s(run)
    if not requested or stages.rate_docs_per_s is None:
        return None
    waits = run.direct is None and not stages.lag_is_small
    if not keeps_up(requested, stages.rate_docs_per_s) or waits or is_delivered_late(run):
        return None
    lag = "" if run.direct else f", with a lag of {count(stages.lag_records)} records"
    return Limit(
        stage="requested rate",
        evidence=f"{number(requested)} documents/s were requested and {number(stages.rate_docs_per_s)}/s indexed{lag}.",
    )


def _merge_throttling(stages: Evidence) -> Limit | None:
    if stages.throttled is None or stages.throttled < THROTTLED:
        return None
    return Limit(
        stage="merge throttling",
        evidence="Elasticsearch held indexing back in times that add up, shard by shard, to"
        f" {number(100 * stages.throttled)} % of the measured window.",
    )


def _producer(run: Run, stages: Evidence) -> Limit | None:
    if run.delivery is None or run.load != "stream" or not stages.lag_is_small:
        return None
    is_timed = requested_rate_docs_per_s(run) is not None or run.delivery.pace is not None
    has_schedule = is_timed or run.document_ramp is not None
    if has_schedule and not is_delivered_late(run):
        return None
    late = run.delivery.late_documents
    how_late = f", and {count(late)} documents were sent more than 100 ms late" if late else ""
    return Limit(
        stage="producer",
        evidence=f"the lag was {count(stages.lag_records)} records on average, less than {number(BACKLOG_S)} s of work"
        f"{how_late}.",
    )


def machine(run: Run, stages: Evidence) -> Limit | None:
    """No core was left, be it for Elasticsearch, which took most of them, or for all that shared the machine."""
    busy = stages.machine_cpu_percent
    if busy is None or busy < SATURATED_PERCENT:
        return None
    cores = run.environment.cpu_cores
    elasticsearch = stages.cores_of("elasticsearch")
    others = ((stages.others, stages.other_cores), ("the hypervisor", stages.stolen_cores))
    takers = sorted([*stages.cores.items(), *others], key=lambda taker: -taker[1])
    shares = ", ".join(f"{name} {cores:.2f}" for name, cores in takers if cores >= 0.005)
    if elasticsearch >= MOST * busy / 100 * cores and not stages.lag_is_small:
        return Limit(
            stage="elasticsearch",
            evidence=f"the machine was {number(busy)} % busy and Elasticsearch took {number(elasticsearch)} of its"
            f" {cores} cores ({shares}).",
        )
    return Limit(
        stage="machine",
        evidence=f"the machine was {number(busy)} % busy. Cores used of its {cores}: {shares}.",
    )


def _disk(stages: Evidence) -> Limit | None:
    """Cores idle for a disk: no core was left that had anything else to do."""
    busy, waiting = stages.machine_cpu_percent, stages.iowait_percent
    if busy is None or waiting is None or waiting < WAITING_PERCENT or busy + waiting < SATURATED_PERCENT:
        return None
    written = stages.disk_write_mb_per_s
    wrote = "" if written is None else f", while the run wrote {number(written)} MB/s"
    return Limit(
        stage="disk",
        evidence=f"the machine was {number(busy)} % busy and {number(waiting)} % of it waited for a disk{wrote}.",
    )


def _broker(run: Run, stages: Evidence) -> Limit | None:
    """A broker that works all it can while a sink with room for more has too few records to send."""
    flight, cores = stages.bulks_in_flight, stages.cores.get("kafka", 0.0)
    if run.via != "kafka" or flight is None or not stages.bulks_allowed or not stages.records_waited:
        return None
    if cores < BUSY_BROKER_CORES or flight > stages.bulks_allowed / 2:
        return None
    return Limit(
        stage="broker",
        evidence=f"records waited in the topic while the broker kept {number(cores)} of"
        f" {run.environment.cpu_cores} cores busy and only"
        f" {number(flight)} of {stages.bulks_allowed} allowed bulk requests were under way.",
    )


def _write_threads(stages: Evidence) -> Limit | None:
    if stages.write_threads_busy is None or stages.write_threads_busy < BUSY_WRITE_THREADS:
        return None
    return Limit(
        stage="elasticsearch",
        evidence=f"{number(100 * stages.write_threads_busy)} % of Elasticsearch's write threads were at work, with"
        f" {number(stages.write_queue)} requests waiting for one.",
    )


def _sink(run: Run, stages: Evidence) -> Limit | None:
    is_through_kafka = run.direct is None and run.rally is None
    if stages.write_threads_busy is None or (is_through_kafka and not stages.records_waited):
        return None
    idle = f"only {number(100 * stages.write_threads_busy)} % of Elasticsearch's write threads were at work"
    busy = stages.machine_cpu_percent
    cores = "" if busy is None else f", the machine was {number(busy)} % busy"
    if run.direct is not None:
        in_flight = f"{run.direct.connections} bulk request{'s' if run.direct.connections > 1 else ''} under way"
        return Limit(stage="sender", evidence=f"{idle}{cores}, with {in_flight}.")
    if run.rally is not None:
        clients = f"{run.rally.clients} client{'s' if run.rally.clients > 1 else ''} of Rally's"
        return Limit(stage="sender", evidence=f"{idle}{cores}, with {clients}.")
    flight = ""
    if stages.bulks_in_flight is not None:
        allowed = f" of {stages.bulks_allowed} allowed" if stages.bulks_allowed else ""
        one = number(stages.bulks_in_flight) == "1" and not allowed
        flight = f", and {number(stages.bulks_in_flight)}{allowed} bulk request{' was' if one else 's were'} under way"
    return Limit(stage="sink", evidence=f"records waited in the topic while {idle}{cores}{flight}.")


def waiting_mean(window: Sequence[Sample], waiting: Callable[[NodeCounters], int | None]) -> float | None:
    """Mean length of the queues of all nodes together; `None` where none is known."""
    by_sample = (
        [known for node in sample.elasticsearch.nodes.values() if (known := waiting(node)) is not None]
        for sample in window
        if sample.elasticsearch
    )
    return mean(sum(queues) for queues in by_sample if queues)


def driver_share(stages: Evidence) -> float | None:
    """Share of the run's busy cores that went to everything but Elasticsearch; `None` when it is not known."""
    elasticsearch = stages.cores_of("elasticsearch")
    return 1 - elasticsearch / sum(stages.cores.values()) if elasticsearch else None


def _driver_cores(run: Run, sampled: Collection[str]) -> dict[str, float]:
    """Cores of the processes that drive the load and count for themselves."""
    return _producer_cores(run, sampled) | _query_sender_cores(run, sampled)


def _other_cores(run: Run, here: Sequence[Sample], own_cores: float) -> float:
    """Cores of other programs; where they were not measured, the busy cores without the run's processes."""
    cores, percent = run.environment.cpu_cores, other_cpu_percent(here)
    if percent is not None:
        return percent / 100 * cores
    return max(0.0, (mean(sample.machine_cpu_percent for sample in here) or 0.0) / 100 * cores - own_cores)


def _query_sender_cores(run: Run, sampled: Collection[str]) -> dict[str, float]:
    load = run.query_load
    lasted_s = measured_s(load) if load else 0.0
    return {QUERY_SENDER: load.sender_cpu_s / lasted_s} if load and lasted_s > 0 and QUERY_SENDER not in sampled else {}


def _producer_cores(run: Run, sampled: Collection[str]) -> dict[str, float]:
    """Cores that the producers of a stream kept busy, by their own count, where they are not sampled."""
    if run.delivery is None or run.delivery.earlier_run is not None:
        return {}
    elapsed_s = run.delivery.last_acknowledged_s - run.delivery.first_intended_s
    if run.load != "stream" or elapsed_s <= 0 or any(name.startswith("producer") for name in sampled):
        return {}
    return {"producer": run.delivery.cpu_s / elapsed_s}


def _bulks_allowed(run: Run) -> int | None:
    """Bulk requests that all tasks together may have under way; `None` when the connector does not say."""
    settings = run.environment.connector
    at_once, tasks = (str(settings.get(name, "")) for name in ("max.in.flight.requests", "tasks.max"))
    return int(at_once) * (int(tasks) if tasks.isdigit() else 1) if at_once.isdigit() else None


def _disk_write_mb_per_s(window: Sequence[Sample]) -> float | None:
    lasted_s = window[-1].at_s - window[0].at_s if window else 0.0
    wrote = [used(window, name, lambda process: process.disk_write_bytes) for name in process_names(window)]
    known = [wrote_bytes for wrote_bytes in wrote if wrote_bytes is not None]
    return sum(known) / 1e6 / lasted_s if known and lasted_s > 0 else None


def _throttled(window: Sequence[Sample]) -> float | None:
    throttled_ms, elapsed_s = shard_growth(window, "primaries", "throttle_time_ms"), answered_s(window)
    return throttled_ms / 1000 / elapsed_s if throttled_ms is not None and elapsed_s > 0 else None
