"""Machines of each kind that a rate needs, the resource that decides, and the cut of index and topic.

Every demand is a rate × a measured cost of one document × assumptions. So it is proportional to what was measured, and
the interval of that is carried through as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from lab.analysis.sizing.assumptions import Assumptions
from lab.analysis.sizing.measured import Measured
from lab.analysis.sizing.ranges import Range, largest

DAY_S = 86_400
QUORUM = 3
"""Fewer voting nodes, or controllers of Kafka, than these do not survive the loss of one."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Need of a resource by all machines of a kind, as a sum.

    Attributes:
        amount: In `unit`.
        of_machine: What one machine has of it to give, in the same unit.
        formula: How the amount comes about.
    """

    resource: str
    amount: Range
    unit: str
    of_machine: float
    formula: str

    @property
    def machines(self) -> Range:
        """Machines that have as much."""
        return self.amount / self.of_machine


@dataclass(frozen=True, slots=True)
class Part:
    """The machines of a kind.

    Attributes:
        machines: How many, spare ones included.
        decided_by: The resource of which one machine has least; `redundancy` where fewer would do.
    """

    name: str
    machines: Range
    decided_by: str
    demands: tuple[Demand, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """Load to size for.

    Attributes:
        rate_docs_per_s: As long as the days last, without a pause: the peak decides about cores, the mean about disks.
        replicas: Of each primary shard.
    """

    rate_docs_per_s: float
    days: float
    replicas: int

    @property
    def copies(self) -> int:
        """Copies of each document in Elasticsearch."""
        return 1 + self.replicas


@dataclass(frozen=True, slots=True)
class Sizing:
    """The outcome.

    Attributes:
        source_tb_per_day: JSON.
        stored_tb: In the index at the end of the days, all copies.
        tasks: Of the connector.
        partitions: Of the topic.
        primaries: Primary shards that hold the documents of all days.
        primaries_written: Those of the index that is written just then, one copy of a shard on each node.
        rollover_hours: How long until these have grown to their size.
        limits: What must be changed beside machines, in sentences.
    """

    target: Target
    measured: Measured
    assumptions: Assumptions
    source_tb_per_day: Range
    stored_tb: Range
    parts: tuple[Part, ...]
    tasks: Range
    tasks_decided_by: str
    partitions: int
    primaries: Range
    primaries_written: int
    rollover_hours: float
    limits: tuple[str, ...]

    @property
    def nodes(self) -> Range:
        """Data nodes."""
        return self.parts[0].machines


def sizing(target: Target, measured: Measured, assumed: Assumptions) -> Sizing:
    """Machines, tasks, partitions and shards for a rate."""
    costs, rate = measured.costs, target.rate_docs_per_s
    parts = (
        part("data nodes", elasticsearch_demands(target, measured, assumed), assumed, max(QUORUM, target.copies)),
        part("brokers", kafka_demands(target, measured, assumed), assumed, max(QUORUM, int(assumed.kafka_copies))),
        part("workers", connect_demands(target, measured, assumed), assumed, 2),
        part("drivers", producer_demands(target, measured, assumed), assumed, 1, spare=0),
    )
    tasks, decided_by = tasks_needed(target, measured, assumed, workers=int(parts[2].machines.most))
    stored_of_primaries = costs.stored_bytes * (rate * DAY_S * target.days)
    primaries = (stored_of_primaries / (assumed.shard_gb * 1e9)).whole()
    written = ceil(parts[0].machines.most / target.copies)
    source_mb_per_s = costs.source_bytes * (rate / 1e6)
    partitions = max(
        ceil(tasks.most * assumed.partition_headroom),
        ceil(source_mb_per_s.most * assumed.kafka_compression / assumed.partition_mb_per_s),
    )
    outcome = Sizing(
        target=target,
        measured=measured,
        assumptions=assumed,
        source_tb_per_day=source_mb_per_s * (DAY_S / 1e6),
        stored_tb=stored_of_primaries * (target.copies / 1e12),
        parts=parts,
        tasks=tasks,
        tasks_decided_by=decided_by,
        partitions=partitions,
        primaries=primaries,
        primaries_written=written,
        rollover_hours=written * assumed.shard_gb * 1e9 / (rate * costs.stored_bytes.most) / 3600,
        limits=(),
    )
    return replace(outcome, limits=tuple(limits(outcome)))


def part(name: str, demands: Iterator[Demand], assumed: Assumptions, least: int, *, spare: float | None = None) -> Part:
    """So many machines that each resource suffices, and some more that may be lost."""
    all_demands = tuple(demands)
    machines = largest([demand.machines for demand in all_demands])
    decisive = max(all_demands, key=lambda demand: demand.machines.value)
    spare_machines = int(assumed.spare if spare is None else spare)
    needed, whole = machines.whole(1, 0), machines.whole(least, spare_machines)
    # One machine would do whatever it is that fills it: what makes it more is only that one may be lost.
    is_redundancy = needed.value == 1 < whole.value or machines.whole(1, spare_machines).value < whole.value
    return Part(name, whole, "redundancy" if is_redundancy else decisive.resource, all_demands)


# --- what each kind needs -------------------------------------------------------------------------------------------


def cpu(per_document_us: Range, rate: float, assumed: Assumptions, formula: str) -> Demand:
    """Cores that are busy all the time."""
    cores = per_document_us * (rate / 1e6 / assumed.core_speed)
    return Demand("CPU", cores, "cores", assumed.cores * assumed.utilisation, formula)


def network(bytes_per_s: Range, assumed: Assumptions, formula: str) -> Demand:
    """Bytes that all machines together receive."""
    of_machine = assumed.network_gbit * 1e3 / 8 * assumed.utilisation
    return Demand("network", bytes_per_s / 1e6, "MB/s", of_machine, formula)


def disk(stored_bytes: Range, assumed: Assumptions, formula: str) -> Demand:
    """Bytes that are kept."""
    return Demand("disk", stored_bytes / 1e12, "TB", assumed.disk_tb * assumed.disk_fill, formula)


def disk_writes(bytes_per_s: Range, assumed: Assumptions, formula: str) -> Demand:
    """Bytes that are written."""
    return Demand("disk writes", bytes_per_s / 1e6, "MB/s", assumed.disk_mb_per_s * assumed.utilisation, formula)


def elasticsearch_demands(target: Target, measured: Measured, assumed: Assumptions) -> Iterator[Demand]:
    """Demands of the data nodes; a replica indexes each document again, so it costs as much as the primary."""
    costs, rate, copies = measured.costs, target.rate_docs_per_s, target.copies
    yield cpu(costs.elasticsearch_cpu_us * copies, rate, assumed, "rate × CPU of a copy × copies ÷ core speed")
    kept_s = DAY_S * target.days
    yield disk(costs.stored_bytes * (rate * kept_s * copies), assumed, "rate × time × bytes stored × copies")
    # To the node that is asked, to that of the primary, and to each replica's.
    yield network(costs.source_bytes * (rate * (1 + copies)), assumed, "rate × source × (1 + copies)")
    if costs.written_bytes is not None:
        yield disk_writes(costs.written_bytes * (rate * copies), assumed, "rate × bytes written × copies")


def kafka_demands(target: Target, measured: Measured, assumed: Assumptions) -> Iterator[Demand]:
    """Demands of the brokers; a follower counts as a leader, which is more than its cost."""
    costs, rate, copies = measured.costs, target.rate_docs_per_s, assumed.kafka_copies
    if costs.kafka_cpu_us is not None:
        yield cpu(costs.kafka_cpu_us * copies, rate, assumed, "rate × CPU of a record × copies ÷ core speed")
    bytes_per_s = costs.source_bytes * (rate * assumed.kafka_compression * copies)
    yield disk(bytes_per_s * (assumed.kafka_hours * 3600), assumed, "rate × time × source × compression × copies")
    yield network(bytes_per_s, assumed, "rate × source × compression × copies, in as well as out")
    yield disk_writes(bytes_per_s, assumed, "rate × source × compression × copies")


def connect_demands(target: Target, measured: Measured, assumed: Assumptions) -> Iterator[Demand]:
    """Demands of the workers."""
    costs, rate = measured.costs, target.rate_docs_per_s
    yield cpu(costs.connect_cpu_us, rate, assumed, "rate × CPU of a document ÷ core speed")
    yield network(costs.source_bytes * rate, assumed, "rate × source, in as well as out")


def producer_demands(target: Target, measured: Measured, assumed: Assumptions) -> Iterator[Demand]:
    """Demands of the sending hosts: Sluice's in a test, the user's in production."""
    costs, rate = measured.costs, target.rate_docs_per_s
    if costs.producer_cpu_us is not None:
        yield cpu(costs.producer_cpu_us, rate, assumed, "rate × CPU of a document ÷ core speed")
    yield network(costs.source_bytes * rate, assumed, "rate × source")


def tasks_needed(target: Target, measured: Measured, assumed: Assumptions, *, workers: int) -> tuple[Range, str]:
    """Tasks of the connector, and what decides how many.

    A task has one thread that reads and encodes, so that it gets one core at most. And it has so many requests in
    flight, for each of which a document waits its part of the mean service time: by Little's law it writes requests ÷
    that time. Of either no more is planned for than of other resources: a task without a pause never catches up.

    Source: Little, "A proof for the queuing formula L = λW", 1961. 5 requests of 2,000 documents, 0.25 s each on
        average: 125 µs for a document, 40,000 documents/s, of which 20,000 are planned for.
    """
    costs, rate = measured.costs, target.rate_docs_per_s
    planned_for = rate / 1e6 / assumed.utilisation
    needs = {
        "CPU of a task": costs.connect_cpu_us * (planned_for / assumed.core_speed),
        "requests in flight": costs.request_us * (planned_for / measured.requests_in_flight),
        "one task for each worker": Range(workers),
    }
    decided_by = max(needs, key=lambda name: needs[name].most)
    return largest(list(needs.values())).whole(), decided_by


# --- limits that no machine removes ---------------------------------------------------------------------------------


MOST_PRIMARIES = 1024
"""Of one index, unless a node is started with es.index.max_number_of_shards. Source: Elasticsearch's IndexMetadata."""


def limits(outcome: Sizing) -> Iterator[str]:
    """Limits that more machines do not lift."""
    target, assumed = outcome.target, outcome.assumptions
    shards_of_node = outcome.primaries.most * target.copies / outcome.nodes.most
    if shards_of_node > assumed.shards_per_node:
        yield (
            f"shards: {ceil(shards_of_node):,} on a node, Elasticsearch allows {assumed.shards_per_node:,.0f}: "
            "make shards larger, or nodes smaller and more"
        )
    if outcome.primaries_written > MOST_PRIMARIES:
        yield (
            f"primaries: {outcome.primaries_written:,} to write to at a time, an index may have {MOST_PRIMARIES:,}: "
            "split the documents over several indices"
        )
    if outcome.rollover_hours < 1:
        yield (
            f"rollover: shards are full after {outcome.rollover_hours * 60:.0f} min: write to more primaries "
            "than one copy on each node"
        )
    if outcome.tasks.most > assumed.connector_tasks:
        yield (
            f"tasks: {outcome.tasks.most:,.0f} in one consumer group, whose members wait for each other when one "
            f"joins; above {assumed.connector_tasks:,.0f}, split the documents into topics with a connector each"
        )
    if outcome.nodes.most > assumed.cluster_nodes:
        yield (
            f"nodes: {outcome.nodes.most:,.0f} in one cluster, whose one master keeps the state of all; above "
            f"{assumed.cluster_nodes:,.0f}, split the documents over several clusters and search across them"
        )
