"""What a dataset is: documents as pure functions of their number, with keys, entities and the last word on each key."""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

BATCH_DOCUMENTS: Final = 1024
"""Documents made at a time: enough to spread numpy's cost per call, few enough to stay in the processor's cache."""

Record = tuple[bytes, bytes]
"""A record's key and value."""


class DatasetError(ValueError):
    """A dataset cannot be had as asked for: an unknown name, an option out of range, a file that does not serve."""


class Dataset(Protocol):
    """Documents 0 … `documents` - 1, each a pure function of its number; frozen and picklable.

    Attributes:
        name: As in the registry.
        documents: How many there are for the size that was asked for.
        seed: Another seed gives other documents of the same kind.
    """

    @property
    def name(self) -> str:
        """The name under which the registry makes it."""
        ...

    @property
    def documents(self) -> int:
        """How many documents there are."""
        ...

    @property
    def seed(self) -> int:
        """What tells it from another of the same kind and size."""
        ...

    @property
    def content_hash(self) -> str | None:
        """What tells documents that come from outside from others; `None` where the seed does."""
        ...

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value of each of these documents, in this order."""
        ...

    def batches(self, start: int, stop: int) -> Iterator[Sequence[Record]]:
        """Key and value of the documents [start, stop), in order, some at a time."""
        ...

    def document(self, number: int) -> bytes:
        """One document, as it goes into Kafka."""
        ...

    def key(self, number: int) -> bytes:
        """The key of one document: its id in the index."""
        ...

    def entities(self, start: int, stop: int) -> int:
        """How many entities (books, events, lines) the documents [start, stop) describe."""
        ...

    def latest(self) -> NDArray[np.int64]:
        """Document numbers, ascending, that are the last of their key: what must be in the index at the end."""
        ...

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """For each document a number that all documents of its key share; `None` when no two documents share a key.

        Documents of one group must be sent by one producer, in order, or an older one could overwrite a newer one.
        """
        ...


class NumberedDataset:
    """What follows from `records` alone; a base for the datasets of this package."""

    documents: int
    content_hash: str | None = None

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value of each of these documents, in this order."""
        raise NotImplementedError

    def batches(self, start: int, stop: int) -> Iterator[Sequence[Record]]:
        """Key and value of the documents [start, stop), in order, some at a time."""
        for first in range(start, stop, BATCH_DOCUMENTS):
            yield self.records(np.arange(first, min(first + BATCH_DOCUMENTS, stop), dtype=np.int64))

    def document(self, number: int) -> bytes:
        """One document, as it goes into Kafka."""
        return self._record(number)[1]

    def key(self, number: int) -> bytes:
        """The key of one document: its id in the index."""
        return self._record(number)[0]

    def _record(self, number: int) -> Record:
        if not 0 <= number < self.documents:
            raise IndexError(f"document {number}: there are documents 0 to {self.documents - 1}")
        return self.records(np.array([number], dtype=np.int64))[0]

    def entities(self, start: int, stop: int) -> int:
        """How many entities the documents [start, stop) describe: one each, unless the dataset says otherwise."""
        return stop - start

    def latest(self) -> NDArray[np.int64]:
        """All of them: no key occurs twice, unless the dataset says otherwise."""
        return np.arange(self.documents, dtype=np.int64)

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:  # noqa: ARG002 - for those that need it
        """No key occurs twice, unless the dataset says otherwise."""
        return None
