"""Limit of queries alone: the stage without slack, with the evidence."""

from collections.abc import Sequence

from lab.analysis.figures.limits import (
    KEPT_UP,
    LATE,
    SATURATED_PERCENT,
    WAITING_PERCENT,
    Evidence,
    cores_text,
    disk_text,
    evidence,
    first_limit,
    late_text,
    machine,
    threads_busy,
    threads_text,
    waiting_mean,
)
from lab.analysis.figures.rates import answered
from lab.analysis.text import number
from lab.records.queries import QueryLoadResult
from lab.records.result import Limit
from lab.records.run import Run
from lab.records.samples import Sample

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
    answers = f"{number(load.answers_per_s)} of {number(load.rate_per_s)} due queries/s answered"
    clients = f"{number(load.clients_busy_mean)} of {load.clients} clients with a query under way"
    busy = threads_busy(window, "search")
    threads = threads_text("search", busy, waiting_mean(window, lambda node: node.search_queue))
    cores, disk = cores_text(run, stages), disk_text(stages, window, "read", "elasticsearch")
    return first_limit(
        ("requested rate", _keeps_requested_rate(load), (answers, clients)),
        ("sender", sender_share(load) > BUSY_SENDER, (sender_text(load),)),
        (machine(run, stages), True, (cores,)),
        ("disk", _waits_for_disk(run, stages), (cores, disk)),
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


def _keeps_requested_rate(load: QueryLoadResult) -> bool:
    if load.rate_per_s is None or load.steps or load.answers_per_s is None:
        return False
    return keeps_rate(load) and not is_sender_limited(load)


def _waits_for_disk(run: Run, stages: Evidence) -> bool:
    """Cores idle for a disk: all of them that did not compute, or more than Elasticsearch kept busy."""
    waiting, busy = stages.iowait_percent, stages.machine_cpu_percent
    if waiting is None or busy is None or waiting < WAITING_PERCENT:
        return False
    waiting_cores = waiting / 100 * run.environment.cpu_cores
    return waiting + busy >= SATURATED_PERCENT or waiting_cores >= stages.cores_of("elasticsearch")
