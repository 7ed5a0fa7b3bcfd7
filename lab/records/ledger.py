"""What became of each record that the sink has read, by its own ledger, and the laws that this must keep."""

from typing import Literal

from lab.records.base import Count, Record


class Ledger(Record):
    """What became of the records that a sink has read; `read` is the sum of the others.

    Attributes:
        in_flight: Read and not decided; below 0 if a record was decided twice, which a sink must never do.
    """

    read: Count
    indexed: Count
    updated: Count
    deleted: Count
    already_there: Count
    stale: Count
    dead_lettered: Count
    dropped: Count
    in_flight: int

    @property
    def accounted(self) -> int:
        """Records of which it is known where they are."""
        return self.stored + self.deleted + self.dead_lettered + self.dropped + self.in_flight

    @property
    def stored(self) -> int:
        """Records whose document, or a later one of the same id, is stored."""
        return self.indexed + self.updated + self.already_there + self.stale


class TaskLedger(Record):
    """The ledger of one task of the sink.

    Attributes:
        total: As the task counts it.
        partitions: As it counts it by partition, `topic-partition` → ledger.
    """

    total: Ledger
    partitions: dict[str, Ledger]


class SinkLedger(Record):
    """The sink's own ledger at the end of the load, by number of the task. It starts again with a task."""

    tasks: dict[str, TaskLedger]


class LedgerCheck(Record):
    """One law of the sink's ledger, and whether it holds.

    Attributes:
        law: `balance`: what a task has read of a partition is somewhere, and nothing is in flight; `totals`: a task's
            sums are those of its partitions; `topic`: as many records were read as each partition holds; `index`: as
            many were stored as verification has found; `dead letters`: as many were refused as lie in their topic.
        found: What was seen, in one sentence; for a law that was not checked: why not.
    """

    law: Literal["balance", "totals", "topic", "index", "dead letters"]
    outcome: Literal["holds", "broken", "not checked"]
    found: str


class LedgerVerdict(Record):
    """Whether the sink's ledger balances and agrees with topic and index.

    Attributes:
        covers: What has been counted; after a restart of a task only what was read since, and after one, or after
            partitions have moved between tasks, some records may be counted twice; `None` without a ledger.
    """

    covers: Literal["each record once", "some records twice", "since a task's last start"] | None
    checks: tuple[LedgerCheck, ...]
