"""Several producers of one stream: which documents each of them sends, and what all of them have sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset


def share_numbers(dataset: Dataset, positions: NDArray[np.int64], of: int) -> NDArray[np.int64]:
    """The share, from 1, that sends the document at each of these positions of a stream.

    It is the same one in every lap, and for all documents of a key: order per key is kept.
    """
    if of == 1:
        return np.ones_like(positions)
    documents = positions % dataset.documents
    groups = dataset.groups(documents)
    return (documents if groups is None else groups) % of + 1


@dataclass(frozen=True)
class SentDocuments:
    """How often each document was sent.

    Attributes:
        reached: For each document of a lap, up to the furthest that anybody has come to: how far the producer that
            sends it is, over all laps.
        lap_documents: Documents of a lap.
    """

    reached: NDArray[np.int64]
    lap_documents: int

    @classmethod
    def by(cls, dataset: Dataset, positions: Sequence[int]) -> Self:
        """What producers have sent.

        Args:
            positions: How far each is over all laps, in the order of their shares.
        """
        numbers = np.arange(min(max(positions), dataset.documents), dtype=np.int64)
        shares = share_numbers(dataset, numbers, len(positions))
        return cls(np.array(positions, dtype=np.int64)[shares - 1], dataset.documents)

    @cached_property
    def times(self) -> NDArray[np.int64]:
        """How often each document was sent, by number; one that was sent again after a kill counts once a lap."""
        laps, begun = np.divmod(self.reached, self.lap_documents)
        times: NDArray[np.int64] = laps + (np.arange(len(self.reached)) < begun)
        return times

    @property
    def total(self) -> int:
        """Documents sent over all laps."""
        return int(self.times.sum())
