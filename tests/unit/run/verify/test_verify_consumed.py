"""Verification of a sink that stores nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from lab.clients.kafka import DeadLetter, Place
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.verify import VerificationTarget, verify_consumed
from producers.delivery import Failure
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage, Naming
from tests.unit.run.verify.worlds import Message

RECORDS = 1009


@dataclass
class FakeKafka:
    """A topic of two partitions and a group that has committed so much of each."""

    committed: dict[int, int]
    letters: list[DeadLetter] = field(default_factory=list)
    first: int = 0
    """The document that its first record is."""

    def end_offsets(self, _topic: str) -> dict[int, int]:
        """Records in each partition."""
        return {0: 506, 1: 503}

    def records(self, _topic: str) -> Iterator[Message]:
        """Every record."""
        numbers = np.r_[self.first, 1:RECORDS]
        yield from map(Message, TARGET.dataset.records(numbers))

    def committed_offsets(self, _topic: str, _group: str) -> dict[int, int]:
        """Of each partition."""
        return self.committed

    def dead_letters(self, _topic: str) -> Iterator[DeadLetter]:
        """The refused records."""
        yield from self.letters


@dataclass
class FakeCluster:
    """An index of so many documents."""

    documents: int = 0

    def count(self, _index: str) -> int:
        """Documents in the index."""
        return self.documents


TARGET = VerificationTarget(
    dataset=make_dataset("aladin", documents=RECORDS),
    names=Names("sluice-books", "books", "books"),
    records=DeliveredRecords(RECORDS, RECORDS, 0),
    key_is_id=True,
    sample=1000,
    seed="1",
)
LETTER = DeadLetter(b"k", Place("books", 0, 7), "no reason given")


def problems(kafka: FakeKafka, cluster: FakeCluster | None = None) -> tuple[str, ...]:
    """What is found wrong."""
    target = replace(TARGET, compared_topics={})
    return verify_consumed(target, kafka, cluster or FakeCluster())[1].problems  # type: ignore[arg-type]


def test_a_sink_that_has_committed_everything_and_stored_nothing_is_verified() -> None:
    """Delivered = dropped + dead-lettered, and nothing was compared, for there is nothing."""
    documents, verification = verify_consumed(
        TARGET,
        FakeKafka({0: 506, 1: 503}, [LETTER]),  # type: ignore[arg-type]
        FakeCluster(),  # type: ignore[arg-type]
    )

    assert (verification.verified, verification.expect) == (True, "consumed")
    assert (documents.dropped, documents.dead_lettered, documents.indexed, documents.sampled) == (1008, 1, 0, 0)


def test_a_topic_that_holds_other_documents_than_the_dataset_voids_the_run() -> None:
    """What the sink has read is then not what it was to read."""
    assert problems(FakeKafka({0: 506, 1: 503}, first=7)) == (Naming("1 document too often", "lacks 1 document"),)


@pytest.mark.parametrize("committed", [{0: 506, 1: 502}, {0: 506}, {}])
def test_a_record_that_was_not_committed_voids_the_run(committed: dict[int, int], message: MakeMessage) -> None:
    """The sink cannot be shown to have read it."""
    assert problems(FakeKafka(committed)) == (message(sum(committed.values()), RECORDS, "has committed"),)


def test_a_document_in_the_index_voids_the_run(message: MakeMessage) -> None:
    """Then the sink did more than it was to do."""
    assert problems(FakeKafka({0: 506, 1: 503}), FakeCluster(13)) == (message(13, "to store none"),)


def test_why_documents_were_not_delivered_is_said_and_written_down(message: MakeMessage) -> None:
    """In the problem that voids the run, and by reason in the record."""
    failures = (
        Failure("MSG_SIZE_TOO_LARGE", "Broker: Message size too large", 5),
        Failure("_MSG_TIMED_OUT", "late", 2),
    )
    target = replace(TARGET, records=DeliveredRecords(RECORDS + 7, RECORDS, 7, failures=failures))

    _, verification = verify_consumed(target, FakeKafka({0: 506, 1: 503}), FakeCluster())  # type: ignore[arg-type]

    assert verification.problems == (message(7, 5, "MSG_SIZE_TOO_LARGE", 2, "_MSG_TIMED_OUT", "not delivered"),)
    assert [(found.code, found.documents) for found in verification.delivery_failures] == [
        ("MSG_SIZE_TOO_LARGE", 5),
        ("_MSG_TIMED_OUT", 2),
    ]
