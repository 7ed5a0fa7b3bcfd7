"""Limit of a run: the stage of the pipeline without slack, with the evidence."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lab.analysis.figures.cost import by_node, cpu_cores_mean, process_names, servers_are_here, used_per_s
from lab.analysis.figures.disturbance import machine_cpu_percent, machine_steal_percent, other_cpu_percent
from lab.analysis.figures.rates import (
    answered,
    answered_s,
    indexing_rate_docs_per_s,
    mean,
    mean_over_time,
    shard_growth,
)
from lab.analysis.text import bytes_text, count, number
from lab.engines import DEFAULT
from lab.records.queries import QueryLoadResult
from lab.records.result import Limit, Stage
from lab.records.run import Run
from lab.records.samples import NodeCounters, ProcessSample, Sample

SATURATED_PERCENT = 95.0
MOST = 2 / 3
KEPT_UP = 0.95
THROTTLED = 0.10
LATE = 0.01
BUSY_WRITE_THREADS = 0.9
BACKLOG_S = 2.0
WAITING_PERCENT = 20.0
BUSY_BROKER_CORES = 0.9
BUSY_SEARCH_THREADS = 0.9
BUSY_SENDER = 0.9
LEAST_LATE = 5
"""Of a few queries, one that is late is a large share."""
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
        write_threads_busy: Share of Elasticsearch's write threads at work, 0 to 1; `None` where the index grew and no
            time of indexing was counted, as of one that reads its topic itself, by threads of its own.
        write_queue: Mean number of requests that waited for one, over all nodes.
        bulks_in_flight: Mean number of bulk requests under way.
        bulks_allowed: How many the connector may have under way, over its tasks.
        throttled: Times in which indexing was held back, of all primary shards, over the length of the window.
        iowait_percent: Share of these cores that were idle because a program waited for a disk.
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
    rate = indexing_rate_docs_per_s(window, "primaries")
    reads_topic = bool(rate) and shard_growth(window, "primaries", "index_time_ms") == 0
    here = window if servers_are_here(run) else ()
    busy = {name: cpu_cores_mean(window, name) for name in process_names(window)}
    cores = {name: known for name, known in busy.items() if known is not None}
    # What drives the load counts for itself.
    cores |= _producer_cores(run, busy) | _query_sender_cores(run, busy)
    return Evidence(
        rate_docs_per_s=rate,
        lag_records=mean(sample.kafka.lag_records for sample in window if sample.kafka),
        machine_cpu_percent=machine_cpu_percent(here),
        cores=cores,
        other_cores=_other_cores(run, here, sum(cores.values())),
        others="other programs" if other_cpu_percent(here) is not None else UNKNOWN_PROCESSES,
        stolen_cores=(machine_steal_percent(here) or 0.0) / 100 * run.environment.cpu_cores,
        write_threads_busy=None if reads_topic else threads_busy(window, "write"),
        write_queue=waiting_mean(window, lambda node: node.write_queue),
        bulks_in_flight=mean(sample.sink.bulk_requests_in_flight for sample in window if sample.sink),
        bulks_allowed=_bulks_allowed(run),
        throttled=_throttled(window),
        iowait_percent=mean_over_time(here, lambda sample: sample.machine_iowait_percent),
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
    requested, late = requested_rate_docs_per_s(run), run.delivery.late_documents if run.delivery else 0
    rate = f"{number(stages.rate_docs_per_s)} of {number(requested)} requested documents/s indexed"
    throttling = f"indexing throttled for {number(100 * (stages.throttled or 0))} % of the measured window"
    lag = "" if stages.lag_records is None else f"a mean lag of {count(stages.lag_records)} records"
    sent_late = late_text(late, run.documents.produced, "documents", 100) if late else ""
    threads = threads_text("write", stages.write_threads_busy, stages.write_queue)
    allowed = f" of {stages.bulks_allowed} allowed" if stages.bulks_allowed else ""
    known = stages.bulks_in_flight
    flight = "" if known is None else f"{number(known)}{allowed} bulk requests under way"
    cores, is_through_kafka = cores_text(run, stages), run.direct is None and run.rally is None
    return first_limit(
        ("requested rate", _keeps_requested_rate(run, stages), (rate, lag)),
        ("merge throttling", (stages.throttled or 0) >= THROTTLED, (f"{throttling}, added up shard by shard",)),
        (machine(run, stages), True, (cores,)),
        ("disk", _waits_for_disk(stages), (cores, disk_text(stages, window, "written"))),
        ("producer", _is_short_of_documents(run, stages), (lag, sent_late)),
        ("elasticsearch", (stages.write_threads_busy or 0) >= BUSY_WRITE_THREADS, (threads,)),
        ("broker", _is_short_of_broker(run, stages), (lag, cores, flight)),
        (
            "sink" if is_through_kafka else "sender",
            stages.write_threads_busy is not None and (stages.records_waited or not is_through_kafka),
            (threads, cores, lag, flight),
        ),
    )


def first_limit(*stages: tuple[Stage | None, bool, Sequence[str]]) -> Limit | None:
    """The first stage that has no slack, with the readings that show it.

    Args:
        stages: The stage, its predicate, and its readings, those that are not known empty.
    """
    return next(
        (
            Limit(stage=stage, evidence=f"{', '.join(filter(None, readings))}.")
            for stage, has_no_slack, readings in stages
            if stage is not None and has_no_slack
        ),
        None,
    )


def cores_text(run: Run, stages: Evidence) -> str:
    """Reading of the machine's cores and of those who took them; empty where they are not known."""
    if stages.machine_cpu_percent is None:
        return ""
    others = ((stages.others, stages.other_cores), ("the hypervisor", stages.stolen_cores))
    takers = sorted([*stages.cores.items(), *others], key=lambda taker: -taker[1])
    shares = ", ".join(f"{name} {cores:.2f}" for name, cores in takers if cores >= 0.005)
    return f"{number(stages.machine_cpu_percent)} % of {run.environment.cpu_cores} cores busy ({shares})"


def disk_text(stages: Evidence, window: Sequence[Sample], moved: Literal["read", "written"], who: str = "") -> str:
    """Reading of the disk that cores waited for, and of the bytes that servers moved, as far as they are known.

    Args:
        who: Beginning of the servers' names.
    """
    names = [name for name in process_names(window) if name.startswith(who)]
    rates = [used_per_s(window, name, MOVED[moved]) for name in names]
    known = [rate for rate in rates if rate is not None]
    bytes_moved = f" with {bytes_text(sum(known), 'bytes/s')} {moved}" if known else ""
    return f"{number(stages.iowait_percent)} % waiting for a disk{bytes_moved}"


MOVED: Mapping[str, Callable[[ProcessSample], float | None]] = {
    "read": lambda process: process.disk_read_bytes,
    "written": lambda process: process.disk_write_bytes,
}


def late_text(late: int, sent: int, what: str, ms: int) -> str:
    """Reading of a sender that was behind its schedule."""
    return f"{count(late)} of {count(sent)} {what} sent more than {ms} ms after they were due"


def threads_text(kind: str, busy: float | None, waiting: float | None) -> str:
    """Reading of a thread pool and its queue, over all nodes; empty where it is not known."""
    if busy is None:
        return ""
    return f"{number(100 * busy)} % of Elasticsearch's {kind} threads at work with {number(waiting)} requests waiting"


def stage_text(stage: str, product: str = DEFAULT.engine.title) -> str:
    """A stage as a sentence names it: `the sink`, `Elasticsearch`, `merge throttling`."""
    return {"elasticsearch": product, "merge throttling": stage}.get(stage, f"the {stage}")


def no_slack_text(limit: Limit) -> str:
    """The stage and its readings, within a sentence of a warning."""
    return f"{stage_text(limit.stage)} had no slack left ({limit.evidence.rstrip('.')})"


def recorded_product(result: Mapping[str, Any]) -> str:
    """The servers under test of a `result.json` that is not checked, as `Environment.product` gives them."""
    products = (server.get("product") for server in result["environment"]["servers"])
    return next(filter(None, products), DEFAULT.engine.title)


def requested_rate_docs_per_s(run: Run) -> float | None:
    """The rate that a load was asked for; `None` for as fast as possible, for a ramp and for stages."""
    if run.direct is not None:
        return run.direct.rate_docs_per_s
    is_at_one = run.load == "stream" and run.document_ramp is None and run.course is None
    return run.delivery.rate_docs_per_s if run.delivery and is_at_one else None


def is_delivered_late(run: Run) -> bool:
    """Check that the documents came into Kafka more slowly than the requested rate."""
    return run.delivery is not None and run.delivery.late_documents > LATE * run.documents.produced


def keeps_up(requested_docs_per_s: float, rate_docs_per_s: float) -> bool:
    """Check that an indexing rate keeps up with the stream."""
    return rate_docs_per_s >= KEPT_UP * requested_docs_per_s


def _keeps_requested_rate(run: Run, stages: Evidence) -> bool:
    requested, rate = requested_rate_docs_per_s(run), stages.rate_docs_per_s
    if not requested or rate is None:
        return False
    has_backlog = run.direct is None and not stages.lag_is_small
    return keeps_up(requested, rate) and not has_backlog and not is_delivered_late(run)


def _is_short_of_documents(run: Run, stages: Evidence) -> bool:
    """A producer without a schedule, or behind it, before a topic that holds little."""
    if run.delivery is None or run.load != "stream" or not stages.lag_is_small:
        return False
    is_timed = requested_rate_docs_per_s(run) is not None or run.delivery.pace is not None
    return is_delivered_late(run) or not (is_timed or run.document_ramp is not None)


def machine(run: Run, stages: Evidence) -> Literal["elasticsearch", "machine"] | None:
    """No core was left, be it for Elasticsearch, which took most of them, or for all that shared the machine."""
    busy = stages.machine_cpu_percent
    if busy is None or busy < SATURATED_PERCENT:
        return None
    is_elasticsearch = stages.cores_of("elasticsearch") >= MOST * busy / 100 * run.environment.cpu_cores
    return "elasticsearch" if is_elasticsearch and not stages.lag_is_small else "machine"


def _waits_for_disk(stages: Evidence) -> bool:
    """Cores idle for a disk: no core was left that had anything else to do."""
    busy, waiting = stages.machine_cpu_percent, stages.iowait_percent
    if busy is None or waiting is None:
        return False
    return waiting >= WAITING_PERCENT and busy + waiting >= SATURATED_PERCENT


def _is_short_of_broker(run: Run, stages: Evidence) -> bool:
    """A broker that works all it can while a sink with room for more has too few records to send."""
    flight, allowed = stages.bulks_in_flight, stages.bulks_allowed
    if run.via != "kafka" or flight is None or not allowed or not stages.records_waited:
        return False
    return stages.cores.get("kafka", 0.0) >= BUSY_BROKER_CORES and flight <= allowed / 2


def threads_busy(window: Sequence[Sample], pool: Literal["write", "search"]) -> float | None:
    """Share of a pool's threads at work, 0 to 1, over all nodes; `None` where Elasticsearch does not say."""
    nodes = [node for readings in by_node(window).values() for node in readings]
    threads = sum(getattr(node, f"{pool}_threads") or 0 for node in nodes)
    return sum(getattr(node, f"{pool}_active") or 0 for node in nodes) / threads if threads else None


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


def _other_cores(run: Run, here: Sequence[Sample], own_cores: float) -> float:
    """Cores of other programs; where they were not measured, the busy cores without the run's processes."""
    cores, percent = run.environment.cpu_cores, other_cpu_percent(here)
    if percent is not None:
        return percent / 100 * cores
    return max(0.0, (machine_cpu_percent(here) or 0.0) / 100 * cores - own_cores)


def _query_sender_cores(run: Run, sampled: Collection[str]) -> dict[str, float]:
    load = run.query_load
    if load is None or load.measured_s <= 0 or QUERY_SENDER in sampled:
        return {}
    return {QUERY_SENDER: load.sender_cpu_s / load.measured_s}


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


def _throttled(window: Sequence[Sample]) -> float | None:
    throttled_ms, elapsed_s = shard_growth(window, "primaries", "throttle_time_ms"), answered_s(window)
    return throttled_ms / 1000 / elapsed_s if throttled_ms is not None and elapsed_s > 0 else None


# --- queries alone --------------------------------------------------------------------------------------------------


def queries_limited_by(run: Run, load: QueryLoadResult, window: Sequence[Sample]) -> Limit | None:
    """The stage with no slack; `None` when there are too few samples to tell.

    Asked in this order, the first that applies: the rate of an open loop, which was kept; the sender, which has one
    core at most; the machine's cores; the disk that searches waited for; Elasticsearch's search threads; the sender, if
    it was late for another reason; and, in a closed loop, the clients, none of which sends a query before the one
    before is answered.
    """
    if len(answered(window)) < 2:
        return None
    stages = evidence(run, window)
    answers = f"{number(load.answers_per_s)} of {number(load.rate_per_s)} due queries/s answered"
    clients = f"{number(load.clients_busy_mean)} of {load.clients} clients with a query under way"
    busy = threads_busy(window, "search")
    threads = threads_text("search", busy, waiting_mean(window, lambda node: node.search_queue))
    cores, disk = cores_text(run, stages), disk_text(stages, window, "read", "elasticsearch")
    return first_limit(
        ("requested rate", _keeps_query_rate(load), (answers, clients)),
        ("sender", sender_share(load) > BUSY_SENDER, (sender_text(load),)),
        (machine(run, stages), True, (cores,)),
        ("disk", _queries_wait_for_disk(run, stages), (cores, disk)),
        ("elasticsearch", (busy or 0) >= BUSY_SEARCH_THREADS, (threads,)),
        ("sender", is_sender_limited(load), (sender_text(load),)),
        # Nothing else had a limit: who waits for each answer asks no more.
        ("clients", load.rate_per_s is None and busy is not None, (clients, threads, cores)),
    )


def sender_share(load: QueryLoadResult) -> float:
    """Share of the measured part that the sending process computed: it has one core at most."""
    return load.sender_cpu_s / load.measured_s if load.measured_s > 0 else 0.0


def is_sender_limited(load: QueryLoadResult) -> bool:
    """Check that the sending process computed all the time, or sent queries late although a client was free."""
    is_late = load.late_starts >= LEAST_LATE and load.late_starts > LATE * load.requests
    return is_late or sender_share(load) > BUSY_SENDER


def keeps_rate(load: QueryLoadResult) -> bool:
    """Check that an open loop was answered as fast as it asked; a ramp ends where it is not."""
    answers = load.answers_per_s
    return load.rate_per_s is None or bool(load.steps) or answers is None or answers >= KEPT_UP * load.rate_per_s


def sender_text(load: QueryLoadResult) -> str:
    """Reading of the work of the sending process."""
    late = ""
    if load.late_starts:
        late = f", {late_text(load.late_starts, load.requests, 'queries', 10)} although a client was free"
    return f"the sending process computing {number(100 * sender_share(load))} % of the time{late}"


def _keeps_query_rate(load: QueryLoadResult) -> bool:
    if load.rate_per_s is None or load.steps or load.answers_per_s is None:
        return False
    return keeps_rate(load) and not is_sender_limited(load)


def _queries_wait_for_disk(run: Run, stages: Evidence) -> bool:
    """Cores idle for a disk: all of them that did not compute, or more than Elasticsearch kept busy."""
    waiting, busy = stages.iowait_percent, stages.machine_cpu_percent
    if waiting is None or busy is None or waiting < WAITING_PERCENT:
        return False
    waiting_cores = waiting / 100 * run.environment.cpu_cores
    return waiting + busy >= SATURATED_PERCENT or waiting_cores >= stages.cores_of("elasticsearch")
