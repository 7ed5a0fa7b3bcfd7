"""Limit of queries alone: the stage without slack, with the evidence."""

from collections.abc import Sequence

from lab.analysis.figures.cost import process_names, used_per_s
from lab.analysis.figures.limits import (
    KEPT_UP,
    LATE,
    SATURATED_PERCENT,
    WAITING_PERCENT,
    Evidence,
    evidence,
    machine,
    waiting_mean,
)
from lab.analysis.figures.queries import answers_per_s, measured_s
from lab.analysis.figures.rates import answered
from lab.analysis.text import bytes_text, count, number
from lab.records.queries import QueryLoadResult
from lab.records.result import Limit
from lab.records.run import Run
from lab.records.samples import NodeCounters, Sample

BUSY_SEARCH_THREADS = 0.9
BUSY_SENDER = 0.9
LEAST_LATE = 5
"""Of a few queries, one that is late is a large share."""


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
    return (
        _requested_rate(load)
        or _sender(load, is_limit=sender_share(load) > BUSY_SENDER)
        or machine(run, stages)
        or _disk(run, stages, window)
        or _search_threads(window)
        or _sender(load, is_limit=is_sender_limited(load))
        or _clients(load, stages, window)
    )


def sender_share(load: QueryLoadResult) -> float:
    """Share of the measured part that the sending process computed: it has one core at most."""
    lasted_s = measured_s(load)
    return load.sender_cpu_s / lasted_s if lasted_s > 0 else 0.0


def late_share(load: QueryLoadResult) -> float:
    """Share of the queries that were sent late although a client was free."""
    requests = sum(question.requests for question in load.questions)
    return load.late_starts / requests if requests else 0.0


def is_sender_limited(load: QueryLoadResult) -> bool:
    """Check that the sending process had no slack."""
    return sender_share(load) > BUSY_SENDER or (load.late_starts >= LEAST_LATE and late_share(load) > LATE)


def keeps_rate(load: QueryLoadResult) -> bool:
    """Check that an open loop was answered as fast as it asked; a ramp ends where it is not."""
    answers = answers_per_s(load)
    return load.rate_per_s is None or bool(load.steps) or answers is None or answers >= KEPT_UP * load.rate_per_s


def sender_text(load: QueryLoadResult) -> str:
    """Sentence on the work of the sending process."""
    requests = sum(question.requests for question in load.questions)
    how_many = f"{count(load.late_starts)} of {count(requests)} queries"
    late = f" and sent {how_many} more than 10 ms late although a client was free" if load.late_starts else ""
    return f"the sending process computed {number(100 * sender_share(load))} % of the time{late}"


def _requested_rate(load: QueryLoadResult) -> Limit | None:
    answers = answers_per_s(load)
    if load.rate_per_s is None or load.steps or answers is None or not keeps_rate(load) or is_sender_limited(load):
        return None
    return Limit(
        stage="requested rate",
        evidence=f"{number(load.rate_per_s)} queries/s were due and {number(answers)}/s were answered, with"
        f" {number(load.clients_busy_mean)} of {load.clients} clients busy.",
    )


def _sender(load: QueryLoadResult, *, is_limit: bool) -> Limit | None:
    return Limit(stage="sender", evidence=f"{sender_text(load)}.") if is_limit else None


def _disk(run: Run, stages: Evidence, window: Sequence[Sample]) -> Limit | None:
    """Cores idle for a disk: all of them that did not compute, or more than Elasticsearch kept busy."""
    waiting, busy = stages.iowait_percent, stages.machine_cpu_percent
    if waiting is None or busy is None or waiting < WAITING_PERCENT:
        return None
    waiting_cores = waiting / 100 * run.environment.cpu_cores
    if waiting + busy < SATURATED_PERCENT and waiting_cores < stages.cores_of("elasticsearch"):
        return None
    read = [
        used_per_s(window, name, lambda process: process.disk_read_bytes)
        for name in process_names(window)
        if name.startswith("elasticsearch")
    ]
    known = [each for each in read if each is not None]
    from_disk = f", while Elasticsearch read {bytes_text(sum(known), 'bytes/s')}" if known else ""
    return Limit(
        stage="disk",
        evidence=f"{number(waiting)} % of the machine waited for a disk{from_disk}, and {number(busy)} % was busy.",
    )


def search_threads_busy(window: Sequence[Sample]) -> float | None:
    """Share of Elasticsearch's search threads at work, 0 to 1, over all nodes; `None` where it does not say."""
    nodes = _nodes(window)
    threads = sum(node.search_threads or 0 for node in nodes)
    return sum(node.search_active or 0 for node in nodes) / threads if threads else None


def _search_threads(window: Sequence[Sample]) -> Limit | None:
    busy = search_threads_busy(window)
    if busy is None or busy < BUSY_SEARCH_THREADS:
        return None
    return Limit(
        stage="elasticsearch",
        evidence=f"{number(100 * busy)} % of Elasticsearch's search threads were at work, with"
        f" {number(waiting_mean(window, lambda node: node.search_queue))} searches waiting for one.",
    )


def _clients(load: QueryLoadResult, stages: Evidence, window: Sequence[Sample]) -> Limit | None:
    """Nothing else had a limit: who waits for each answer asks no more."""
    busy = search_threads_busy(window)
    if load.rate_per_s is not None or busy is None:
        return None
    cores = "" if stages.machine_cpu_percent is None else f" and the machine {number(stages.machine_cpu_percent)} %"
    think = f", each of which paused {number(load.think_time_s)} s after an answer" if load.think_time_s else ""
    return Limit(
        stage="clients",
        evidence=f"{number(load.clients_busy_mean)} of {load.clients} clients had a query under way{think};"
        f" Elasticsearch's search threads were {number(100 * busy)} % busy{cores}.",
    )


def _nodes(window: Sequence[Sample]) -> list[NodeCounters]:
    return [node for sample in window if sample.elasticsearch for node in sample.elasticsearch.nodes.values()]
