"""A share of a dataset: what one of several drivers sends, each on a host of its own, of one load.

Together they send what one driver with all their processes would send: the same documents, each at the same instant,
and all documents of a key through one process.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset
from producers.sending import owned_blocks

MOST_SHARES = 1000


@dataclass(frozen=True)
class Share:
    """The n-th of so many shares.

    Attributes:
        number: From 1.
        of: How many there are; every driver has as many processes as the others.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of <= MOST_SHARES:
            raise ValueError(f"share: got {self}, expected such as 2/5, from 1/1 to {MOST_SHARES}/{MOST_SHARES}")

    def __str__(self) -> str:
        """As a user writes it: `2/5`."""
        return f"{self.number}/{self.of}"

    @classmethod
    def parsed(cls, text: str) -> "Share":
        """The share that a user has written; raises ValueError if it is none."""
        found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
        if found is None:
            raise ValueError(f"share: got {text}, expected such as 2/5")
        return cls(int(found[1]), int(found[2]))

    def processes(self, each: int) -> range:
        """The numbers of this driver's processes among those of all drivers, of which each has so many."""
        return range((self.number - 1) * each, self.number * each)

    def blocks(self, dataset: Dataset, bounds: tuple[int, int], each: int) -> Iterator[NDArray[np.int64]]:
        """The document numbers of [start, stop) that this driver sends, a block of one process at a time."""
        for process in self.processes(each):
            yield from owned_blocks(dataset, bounds, process, each * self.of)

    def size(self, dataset: Dataset, bounds: tuple[int, int], each: int) -> tuple[int, int]:
        """How many documents of [start, stop) this driver sends, and how many entities they describe."""
        if self.of == 1:
            return bounds[1] - bounds[0], dataset.entities(*bounds)
        documents = entities = 0
        for numbers in self.blocks(dataset, bounds, each):
            documents += len(numbers)
            entities += sum(dataset.entities(first, last) for first, last in stretches(numbers))
        return documents, entities


def stretches(numbers: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges [first, last) without a gap."""
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        if len(run):
            yield int(run[0]), int(run[-1]) + 1
