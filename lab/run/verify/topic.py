"""What a topic holds against what its dataset is, record by record.

Records and documents are compared as multisets of 64-bit hashes of key and value: which document a record is decides,
not its place. That a wrong record has the hash of a document that is not there has a chance of n/2⁶⁴ for n documents.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from lab.clients.kafka import KafkaTopics, as_bytes
from lab.run.verify.accounting import Hashes, compare_contents, counted
from producers.dataset import Dataset, Record

TOLD_EVERY = 100_000
"""Records between two looks at how far a reading is."""


@dataclass(frozen=True)
class TopicComparison:
    """A topic against its dataset, in records that can be read: what retention has removed is not among them.

    Attributes:
        lacking: Documents, each as often as the dataset has it, that it has no record of.
        doubled: Records of a document beyond those that the dataset has.
        strange: Records that are no document of the dataset.
    """

    lacking: int
    doubled: int
    strange: int

    @property
    def problem(self) -> str | None:
        """In one sentence how it differs; `None` for one that only lacks documents, as producers and offsets tell."""
        found = (
            f"holds {counted(self.doubled, 'too often', 'too often')}" if self.doubled else "",
            f"holds {self.strange:,} record{'s' if self.strange > 1 else ''} of no document" if self.strange else "",
            f"lacks {counted(self.lacking, 'of the dataset', 'of the dataset')}" if self.lacking else "",
        )
        return f"the topic {' and '.join(filter(None, found))}" if self.doubled or self.strange else None


def compare_topic(
    kafka: KafkaTopics, topic: str, dataset: Dataset, on_progress: Callable[[int, str], None]
) -> TopicComparison:
    """Read a topic from end to end, and hold it against its dataset."""

    def told() -> Iterable[int]:
        for number, message in enumerate(kafka.records(topic)):
            if not number % TOLD_EVERY:
                on_progress(number, "reading the topic back")
            yield record_hash((as_bytes(message.key()), as_bytes(message.value())))

    return compared(document_hashes(dataset), np.fromiter(told(), dtype=np.int64))


def record_hash(record: Record) -> int:
    """A hash of key and value, good within this process."""
    return hash(record)


def document_hashes(dataset: Dataset) -> Hashes:
    """The hash of each document with its key, by document number."""
    records = chain.from_iterable(dataset.batches(0, dataset.documents))
    return np.fromiter(map(record_hash, records), dtype=np.int64, count=dataset.documents)


def compared(documents: Hashes, records: Hashes) -> TopicComparison:
    """The two multisets against each other. Sorts both where they are."""
    documents.sort()
    records.sort()
    if np.array_equal(documents, records):
        return TopicComparison(lacking=0, doubled=0, strange=0)
    found = compare_contents(documents, records, np.empty(0, dtype=np.int64))
    return TopicComparison(lacking=len(found.missing), doubled=found.duplicates, strange=found.unexpected)
