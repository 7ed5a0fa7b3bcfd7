"""A part of a dataset: the documents that go into one of several topics or indices."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset, Record
from producers.sending import owned_blocks


@dataclass(frozen=True)
class Part(Dataset):
    """Some of the documents of another dataset, numbered anew from 0 in the same order.

    Attributes:
        whole: The dataset that they are of.
        numbers: Their numbers there, ascending.
    """

    name: ClassVar[str] = "part"
    whole: Dataset
    numbers: NDArray[np.int64] = field(repr=False)
    documents: int
    seed: int
    content_hash: str | None
    is_routed: bool = False

    @classmethod
    def of(cls, whole: Dataset, numbers: NDArray[np.int64]) -> "Part":
        """These documents of a dataset."""
        return cls(whole, numbers, len(numbers), whole.seed, whole.content_hash, whole.is_routed)

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value of each of these documents, in this order."""
        return self.whole.records(self.numbers[numbers])

    def keys(self, numbers: NDArray[np.int64]) -> Sequence[bytes]:
        """The key of each of these documents."""
        return self.whole.keys(self.numbers[numbers])

    def routings(self, numbers: NDArray[np.int64]) -> Sequence[str | None]:
        """The routing of each of these documents."""
        return self.whole.routings(self.numbers[numbers])

    def tombstones(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """True for each of these records that deletes the document of its key."""
        return self.whole.tombstones(self.numbers[numbers])

    def entities(self, start: int, stop: int) -> int:
        """How many entities the documents [start, stop) describe."""
        runs = np.split(self.numbers[start:stop], np.flatnonzero(np.diff(self.numbers[start:stop]) > 1) + 1)
        return sum(self.whole.entities(int(run[0]), int(run[-1]) + 1) for run in runs if len(run))

    def latest(self) -> NDArray[np.int64]:
        """Document numbers, ascending, that are the last of their key: no key is in two parts."""
        return np.flatnonzero(np.isin(self.numbers, self.whole.latest(), assume_unique=True)).astype(np.int64)

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """For each document a number that all documents of its key share."""
        return self.whole.groups(self.numbers[numbers])


def parts_of(dataset: Dataset, parts: int) -> list[Dataset]:
    """The dataset in so many parts, as its producers share it out: all documents of a key are in one of them."""
    if parts == 1:
        return [dataset]
    shares = (owned_blocks(dataset, (0, dataset.documents), part, parts) for part in range(parts))
    return [Part.of(dataset, np.concatenate([*share, np.empty(0, dtype=np.int64)])) for share in shares]
