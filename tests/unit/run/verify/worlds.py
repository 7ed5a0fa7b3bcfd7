"""A topic and an index that tests of verification fill as they like."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from lab.clients.kafka import DeadLetter
from lab.errors import StackError
from lab.records.verification import Documents, Verification
from lab.run.names import Names
from lab.run.verify.accounting import DeliveredRecords
from lab.run.verify.verify import VerificationTarget, verify
from producers.dataset import Dataset, Record

TOPIC = "sluice-books-1"


@dataclass(frozen=True)
class Message:
    """A record as Kafka's client gives it."""

    record: Record

    def key(self) -> bytes:
        """Its key."""
        return self.record[0]

    def value(self) -> bytes:
        """Its value."""
        return self.record[1]


@dataclass(frozen=True)
class Prices(Dataset):
    """Prices of books: document i is a price of book i mod `books`."""

    documents: int = 211
    books: int = 89
    name: str = "prices"
    seed: int = 1

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value."""
        return [(b"book-%d" % (number % self.books), orjson.dumps({"price": number})) for number in numbers.tolist()]

    def latest(self) -> NDArray[np.int64]:
        """The last price of each book."""
        return np.arange(max(0, self.documents - self.books), self.documents, dtype=np.int64)


@dataclass
class FakeKafka:
    """A topic of two partitions, filled in turn, and a dead-letter topic."""

    dataset: Dataset
    letters: list[DeadLetter] = field(default_factory=list)
    readings: int = 0
    strangers: int = 0
    """Records beyond the dataset's, at the end of partition 0."""

    def places(self) -> dict[tuple[int, int], Record]:
        """The records by partition and offset."""
        records = self.dataset.records(np.arange(self.dataset.documents))
        return {(number % 2, number // 2): record for number, record in enumerate(records)}

    def end_offsets(self, _topic: str) -> dict[int, int]:
        """Records in each partition."""
        return {0: (self.dataset.documents + 1) // 2 + self.strangers, 1: self.dataset.documents // 2}

    def records(self, _topic: str) -> Iterator[Message]:
        """Every record."""
        self.readings += 1
        yield from map(Message, self.places().values())

    def dead_letters(self, _topic: str) -> Iterator[DeadLetter]:
        """The refused records."""
        yield from self.letters

    def records_at(self, _topic: str, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Record]:
        """Some records."""
        everything = self.places()
        return {place: everything[place] for place in places}


@dataclass
class FakeCluster:
    """An index."""

    stored: dict[str, Any]
    failures: int = 0
    """Readings of the ids that break off after their first page."""
    stored_only: Mapping[str, int] | None = field(default_factory=dict)
    """Field → documents of which its value is not indexed; `None` where that cannot be counted."""

    def request(self, _method: str, _path: str, _body: object, **_: Any) -> tuple[int, Any]:
        """Count such documents."""
        if self.stored_only is None:
            raise StackError("a breaker has tripped")
        buckets = [{"key": name, "doc_count": count} for name, count in self.stored_only.items()]
        total = {"value": max(self.stored_only.values(), default=0)}
        return 200, {"hits": {"total": total}, "aggregations": {"fields": {"buckets": buckets}}}

    def ids(self, _index: str) -> Iterator[list[str]]:
        """Every id, some at a time."""
        names = list(self.stored)
        for first in range(0, len(names), 23):
            if first and self.failures:
                self.failures -= 1
                raise StackError("the point in time is gone")
            yield names[first : first + 23]

    def described(self, _index: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Settings and mapping of an index that keeps what it is sent."""
        return [({}, {})]

    def contents(self, _index: str) -> Iterator[list[Any]]:
        """Every document, some at a time."""
        documents = list(self.stored.values())
        for first in range(0, len(documents), 23):
            yield documents[first : first + 23]

    def count(self, _index: str) -> int:
        """How many there are."""
        return len(self.stored)

    def sources(self, _index: str, ids: Sequence[str], _routings: Mapping[str, str]) -> dict[str, Any]:
        """Some documents."""
        return {name: self.stored[name] for name in ids if name in self.stored}


def index_by_key(dataset: Dataset) -> dict[str, Any]:
    """What must be stored if keys are ids: the last price of each book."""
    return {key.decode(): orjson.loads(value) for key, value in dataset.records(dataset.latest())}


def index_by_offset(kafka: FakeKafka) -> dict[str, Any]:
    """What must be stored if offsets are ids: every record."""
    return {
        f"{TOPIC}+{partition}+{offset}": orjson.loads(value)
        for (partition, offset), (_, value) in kafka.places().items()
    }


def verified(
    kafka: FakeKafka, stored: dict[str, Any], *, key_is_id: bool, sample: int = 31, **others: Any
) -> tuple[Documents, Verification]:
    """The accounting of a run with this index."""
    count = kafka.dataset.documents
    target = VerificationTarget(
        **others,
        dataset=kafka.dataset,
        names=Names("sluice-books", TOPIC, TOPIC),
        records=DeliveredRecords(count, count, 0),
        key_is_id=key_is_id,
        sample=sample,
        seed="20260101-000000",
    )
    return verify(target, kafka, FakeCluster(stored), lambda _done, _what: None)  # type: ignore[arg-type]
