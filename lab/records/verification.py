"""The books of a run, and whether what is stored is what was produced."""

from typing import Literal

from lab.records.base import Count, Record
from lab.records.dead_letters import DeadLetterReason
from lab.records.ledger import LedgerVerdict
from lab.records.load import DeliveryFailure


class Documents(Record):
    """The books of a run, in records; `Verification.problems` says where they do not balance.

    Attributes:
        produced: Handed to the producer.
        delivered: Acknowledged by Kafka; `None` for a direct load, which knows no Kafka.
        failed: Given up by the producer; produced = delivered + failed; `None` for a direct load.
        indexed: Records whose document is in the index (counted in the index itself, id by id).
        already_there: Records whose document a later record of the same key has replaced, as in a stream of updates.
        dead_lettered: Records in the dead-letter topic; delivered = indexed + already there + dead-lettered. `None` for
            a direct load, for which produced = indexed + already there.
        dropped: Records that a sink which is to store nothing has read and let go; they belong to that sum.
        missing: Documents that ought to be in the index and are not.
        unexpected: Documents in the index that nothing of this run produced.
        sampled: Documents drawn at random and compared with the dataset.
        sample_mismatches: Those of them that differ from what the dataset says.
    """

    produced: Count
    delivered: Count | None
    failed: Count | None
    indexed: Count
    already_there: Count
    dead_lettered: Count | None
    dropped: Count = 0
    missing: Count
    unexpected: Count
    sampled: Count
    sample_mismatches: Count

    @property
    def loaded(self) -> int:
        """Documents that were there to be indexed: those delivered, or those of a direct load."""
        return self.produced if self.delivered is None else self.delivered


class Verification(Record):
    """Whether what is stored is what was produced.

    Attributes:
        expect: `stored`: every document in the index; `consumed`: every record read by a sink that stores nothing.
        problems: One sentence for each law that does not hold; none when the run is verified.
        dead_letters: The refused records by reason, most frequent first.
        delivery_failures: The documents that Kafka did not take, by reason, most frequent first.
        ledger: What the sink's own ledger says to it.
    """

    verified: bool
    expect: Literal["stored", "consumed"] = "stored"
    problems: tuple[str, ...]
    dead_letters: tuple[DeadLetterReason, ...] = ()
    delivery_failures: tuple[DeliveryFailure, ...] = ()
    ledger: LedgerVerdict | None = None
