"""The accounting of a run: sums that a reader can check, and the sink's own ledger with its laws."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.analysis.text import UNKNOWN, count
from lab.records.fates import FATES
from lab.records.run import Run
from lab.records.samples import Sample
from lab.records.verification import Documents, Ledger, LedgerVerdict, SinkLedger

SINK_PARTS = {fate.name: fate.meaning for fate in FATES} | {"in_flight": "in flight at the end"}


@dataclass(frozen=True, slots=True)
class Sum:
    """Parts that must add up to a whole.

    Attributes:
        parts: What each part is called and how many records it holds.
    """

    whole: tuple[str, int]
    parts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """Sum of the parts."""
        return sum(records for _, records in self.parts)

    @property
    def difference(self) -> int:
        """Records that the parts lack; negative when they hold too many."""
        return self.whole[1] - self.total


def last_sink_sum(run: Run, samples: Sequence[Sample]) -> Sum | None:
    """The sink's own books at the end of the load, or at its last sample; `None` when neither is known."""
    if run.sink_ledger is not None:
        return ledger_sum([task.total for task in run.sink_ledger.tasks.values()])
    last = next((sample.sink for sample in reversed(samples) if sample.sink), None)
    if last is None:
        return None
    # A sample is summed over the tasks already.
    return ledger_sum([Ledger(**{field: getattr(last, f"records_{field}") for field in Ledger.model_fields})])


def run_sums(documents: Documents) -> tuple[Sum, ...]:
    """The run's two laws: produced = delivered + failed; delivered = indexed + overwritten + dead-lettered + dropped.

    What is known to be elsewhere belongs to the second. A direct load knows no Kafka and has one law: produced =
    indexed + overwritten.
    """
    stored = (
        ("indexed: found in the index", documents.indexed),
        ("overwritten: by a later record of the same key", documents.already_there),
    )
    dropped = [("dropped: read and discarded, as this sink should", documents.dropped)] if documents.dropped else []
    if documents.delivered is None or documents.failed is None:
        return (Sum(("documents made ready", documents.produced), stored),)
    return (
        Sum(
            ("documents produced", documents.produced),
            (
                ("delivered: acknowledged by Kafka", documents.delivered),
                ("failed: given up by the producer", documents.failed),
            ),
        ),
        Sum(
            ("records delivered", documents.delivered),
            (
                *stored,
                ("dead-lettered: rejected, kept with the reason", documents.dead_lettered or 0),
                *((("tombstones", documents.deleted),) if documents.deleted else ()),
                *documents.elsewhere,
                *dropped,
            ),
        ),
    )


def ledger_sum(ledgers: Sequence[Ledger]) -> Sum:
    """The sink's conservation law: what its tasks have read is somewhere."""

    def records(field: str) -> int:
        return sum(getattr(ledger, field) for ledger in ledgers)

    return Sum(
        ("read by the sink", records("read")),
        tuple((name, records(field)) for field, name in SINK_PARTS.items()),
    )


LEDGER_COLUMNS = {"read": "read"} | {fate.name: fate.heading for fate in FATES} | {"in_flight": "in flight"}
PARTITIONS_HEAD = ("task", "partition", *LEDGER_COLUMNS.values())
MARKS = {"holds": "✓", "broken": "✗", "not checked": UNKNOWN}


def law_rows(verdict: LedgerVerdict | None) -> list[tuple[str, ...]]:
    """Each law, whether it holds, and what was seen or why it could not be checked."""
    return [(MARKS[check.outcome], check.law, check.found) for check in verdict.checks] if verdict else []


def broken_laws(verdict: LedgerVerdict | None) -> list[str]:
    """Sentence for each law of conservation that does not hold, with its figures."""
    return [check.found for check in verdict.checks if check.outcome == "broken"] if verdict else []


def partition_rows(ledger: SinkLedger | None) -> list[tuple[str, ...]]:
    """The counts of each partition of each task."""
    return [
        (number, partition, *(count(getattr(counts, field)) for field in LEDGER_COLUMNS))
        for number, task in (ledger.tasks.items() if ledger else ())
        for partition, counts in task.partitions.items()
    ]
