"""What a dataset is: documents as pure functions of their number, with keys, entities and the last word on each key."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

BATCH_DOCUMENTS: Final = 1024
"""Documents made at a time: enough to spread numpy's cost per call, few enough to stay in the processor's cache."""

Record = tuple[bytes, bytes]
"""A record's key and value."""
Header = tuple[str, bytes | str | None]
ROUTING_HEADER: Final = "sluice.routing"
"""The routing of a document that has one, as UTF-8."""


class Null(bytes):
    """Kafka's null as a key or value: no bytes to whoever reads them, and told apart from empty ones by who sends."""


NULL: Final = Null()


class DatasetError(ValueError):
    """A dataset cannot be had as asked for: an unknown name, an option out of range, a file that does not serve."""


@dataclass(frozen=True)
class Timeline:
    """When each document happened: at even intervals, as the documents say it themselves.

    Attributes:
        field: The field of the instant, which the JSON cuts off after the millisecond.
        start_us: Instant of document 0, microseconds since the Unix epoch.
        interval_us: From one document to the next.
    """

    field: str
    start_us: int
    interval_us: int
    documents: int

    def instant_ms(self, number: int) -> int:
        """The instant of a document as it is stored, milliseconds since the Unix epoch."""
        return (self.start_us + number * self.interval_us) // 1000

    def first_at(self, instant_ms: int) -> int:
        """The first document at or after an instant; `documents` where there is none."""
        ahead_us = instant_ms * 1000 - self.start_us
        if ahead_us <= 0:
            return 0
        if not self.interval_us:
            return self.documents
        return min(self.documents, -(-ahead_us // self.interval_us))


@dataclass(frozen=True)
class Column:
    """A field of several documents, as numbers that stand for its values.

    Attributes:
        codes: One for each document.
        value: Code → the value as the JSON has it.
        size: Codes are below it.
    """

    codes: NDArray[np.int64]
    value: Callable[[int], str | int]
    size: int


class Dataset(ABC):
    """Documents 0 … `documents` - 1, each a pure function of its number; frozen and picklable.

    Attributes:
        name: As in the registry.
        documents: How many there are for the size that was asked for.
        seed: Another seed gives other documents of the same kind.
        content_hash: Tells documents that come from outside from others; `None` where the seed does.
        is_routed: True where a document has a routing.
        unindexable: Records that make no document: tombstones, and those without a key or JSON object.
    """

    name: ClassVar[str]
    documents: int
    seed: int
    content_hash: str | None = None
    is_routed: bool = False
    unindexable: int = 0

    @property
    def timeline(self) -> Timeline | None:
        """When each document happened; `None` where documents do not say, or not in the order of their numbers."""
        return None

    def column(self, field: str, start: int, stop: int) -> Column:  # noqa: ARG002 - for those that have some
        """A field of the documents [start, stop), made without their JSON.

        Raises:
            KeyError: The dataset has no such column.
        """
        raise KeyError(field)

    @abstractmethod
    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value of each of these documents, in this order."""

    def keys(self, numbers: NDArray[np.int64]) -> Sequence[bytes]:
        """The key of each of these documents: its id in the index."""
        return [key for key, _ in self.records(numbers)]

    def routings(self, numbers: NDArray[np.int64]) -> Sequence[str | None]:
        """The routing of each of these documents; documents of one key share it."""
        return [None] * len(numbers)

    def headers(self, numbers: NDArray[np.int64]) -> Sequence[list[Header]]:
        """The headers of each of these documents; empty where no document has any."""
        if not self.is_routed:
            return ()
        return [[] if routing is None else [(ROUTING_HEADER, routing)] for routing in self.routings(numbers)]

    def recorded_ns(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:  # noqa: ARG002 - for those that have
        """When each of these records was written, since the first one of all; `None` for documents that were made."""
        return None

    def tombstones(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:  # noqa: ARG002 - for those that have
        """True for each of these records that deletes the document of its key; `None` where none does."""
        return None

    def blocks(self, start: int, stop: int) -> Iterator[NDArray[np.int64]]:
        """The numbers [start, stop), in order, as many at a time as are made at once."""
        for first in range(start, stop, BATCH_DOCUMENTS):
            yield np.arange(first, min(first + BATCH_DOCUMENTS, stop), dtype=np.int64)

    def batches(self, start: int, stop: int) -> Iterator[Sequence[Record]]:
        """Key and value of the documents [start, stop), in order, some at a time."""
        return map(self.records, self.blocks(start, stop))

    def document(self, number: int) -> bytes:
        """One document, as it goes into Kafka."""
        return self.records(self._checked(number))[0][1]

    def key(self, number: int) -> bytes:
        """The key of one document."""
        return self.keys(self._checked(number))[0]

    def _checked(self, number: int) -> NDArray[np.int64]:
        if not 0 <= number < self.documents:
            raise IndexError(f"document {number}: there are documents 0 to {self.documents - 1}")
        return np.array([number], dtype=np.int64)

    def entities(self, start: int, stop: int) -> int:
        """How many entities (books, events, lines) the documents [start, stop) describe: here one each."""
        return stop - start

    def latest(self) -> NDArray[np.int64]:
        """Document numbers, ascending, that are the last of their key: what must be in the index at the end."""
        return np.arange(self.documents, dtype=np.int64)

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:  # noqa: ARG002 - for those that need it
        """For each document a number that all documents of its key share; `None` when no two documents share a key.

        Documents of one group must be sent by one producer, in order, or an older one could overwrite a newer one.
        """
        return None
