"""Vectors in clusters, as embeddings of texts and pictures lie, with queries whose exact neighbours are known.

Rally's `dense_vector` track searches 10 million vectors of 96 dimensions; these are made, not downloaded. All
arithmetic is of integers, so that every machine makes the same digits: values are whole numbers of ten-thousandths.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset, DatasetError, Record
from producers.datasets.aladin.stream import MILLION, update_share_per_million
from producers.datasets.fields import Pieces, digits_of, texts
from producers.hashing import Permutation, hashed, part

DEFAULT_VECTORS: Final = 100_000
MOST_VECTORS: Final = 1 << 32
MOST_DIMENSIONS: Final = 4096
CLUSTERS: Final = 300
CENTRE, NOISE, CLUSTER, QUERY, TARGET = range(5)
"""What the random-looking bits are for."""
CHUNK_DOCUMENTS: Final = 1 << 16

SCALE: Final = 10_000
CENTRE_SIZE: Final = 2_500
NOISE_SIZE: Final = 1_000
"""Standard deviations of a centre's values and of those around it, in ten-thousandths."""
SUM_SIZE: Final = 37_837
"""Standard deviation of the sum of four numbers below 2**16: 2 · 2**16 / √12."""
LARGEST: Final = (4 * 65_535 // 2) * (CENTRE_SIZE + NOISE_SIZE) // SUM_SIZE + 2
COMPARED_AT_ONCE: Final = 8192
"""Vectors that all queries are compared with at a time."""

Values = NDArray[np.int64]
"""Ten-thousandths, shape (vectors, dimensions)."""


def _normal(bits: NDArray[np.uint64], size: int) -> Values:
    """About normal, with a standard deviation of `size`: four uniform numbers added (Irwin and Hall)."""
    fields = [(bits >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    total = sum(field.astype(np.int64) for field in fields) - 4 * 65_535 // 2
    return np.asarray(total * size // SUM_SIZE, dtype=np.int64)


@cache
def _digits() -> Pieces:
    """Ten-thousandths from -LARGEST on, as JSON has them."""
    return Pieces.of("%.4f", [number / SCALE for number in range(-LARGEST, LARGEST + 1)])


@dataclass(frozen=True)
class Vectors(Dataset):
    """Vectors, each around the centre of one of 300 clusters.

    The documents from number `vectors` on are updates: each indexes one of those before anew, drawn at random, with the
    same vector and its own number. So the neighbours of a query stay the same while the index has all its work.

    Attributes:
        dimensions: Of each vector.
        ascending: Keys grow with the vector's number; otherwise they come in no visible order.
        vectors: How many there are; as many as documents without updates.
    """

    seed: int
    documents: int
    dimensions: int
    ascending: bool
    vectors: int

    name: ClassVar[str] = "vectors"

    def values(self, numbers: NDArray[np.int64]) -> Values:
        """The vectors of these documents, in ten-thousandths."""
        return self._around(self._vectors(numbers).astype(np.uint64), NOISE)

    def _vectors(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of each document's vector."""
        if self.vectors == self.documents:
            return numbers
        bits = hashed(self.seed, TARGET, numbers.astype(np.uint64))
        targets = ((bits >> np.uint64(32)) * np.uint64(self.vectors) >> np.uint64(32)).astype(np.int64)
        return np.where(numbers < self.vectors, numbers, targets)

    def latest(self) -> NDArray[np.int64]:
        """Document numbers, ascending, that are the last of their key."""
        last = np.arange(self.vectors, dtype=np.int64)
        for first in range(self.vectors, self.documents, CHUNK_DOCUMENTS):
            numbers = np.arange(first, min(first + CHUNK_DOCUMENTS, self.documents), dtype=np.int64)
            last[self._vectors(numbers)] = numbers
        last.sort()
        return last

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """For each document the number of its vector; `None` without updates."""
        return None if self.vectors == self.documents else self._vectors(numbers)

    def queries(self, numbers: NDArray[np.int64]) -> Values:
        """Vectors that are of the same clusters, and in no document."""
        return self._around(numbers.astype(np.uint64), QUERY)

    def _around(self, numbers: NDArray[np.uint64], purpose: int) -> Values:
        clusters = self._clusters(numbers, purpose).astype(np.uint64)
        return self._drawn(clusters, CENTRE, CENTRE_SIZE) + self._drawn(numbers, purpose, NOISE_SIZE)

    def _clusters(self, numbers: NDArray[np.uint64], purpose: int) -> NDArray[np.intp]:
        return part(hashed(self.seed, CLUSTER, numbers * np.uint64(QUERY + 1) + np.uint64(purpose)), 0, 32, CLUSTERS)

    def _drawn(self, numbers: NDArray[np.uint64], purpose: int, size: int) -> Values:
        places = numbers[:, np.newaxis] * np.uint64(self.dimensions) + np.arange(self.dimensions, dtype=np.uint64)
        return _normal(hashed(self.seed, purpose, places.ravel().astype(np.uint64)).reshape(places.shape), size)

    def neighbours(self, queries: Values, k: int) -> NDArray[np.int64]:
        """The documents nearest to each query by cosine, nearest first, shape (queries, k); all are compared."""
        best = np.full((len(queries), 0), -np.inf)
        chosen = np.zeros((len(queries), 0), dtype=np.int64)
        asked = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        for first in range(0, self.vectors, COMPARED_AT_ONCE):
            numbers = np.arange(first, min(first + COMPARED_AT_ONCE, self.vectors), dtype=np.int64)
            values = self.values(numbers).astype(np.float64)
            cosines = asked @ (values / np.linalg.norm(values, axis=1, keepdims=True)).T
            best = np.hstack((best, cosines))
            chosen = np.hstack((chosen, np.broadcast_to(numbers, cosines.shape)))
            if best.shape[1] > k:
                kept = np.argpartition(-best, k - 1, axis=1)[:, :k]
                best, chosen = np.take_along_axis(best, kept, 1), np.take_along_axis(chosen, kept, 1)
        return np.take_along_axis(chosen, np.lexsort((chosen, -best), axis=1), 1)

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and JSON of each vector."""
        vectors, digits = self._vectors(numbers).astype(np.uint64), _digits()
        rows = (b",".join(digits(row)) for row in self.values(numbers) + LARGEST)
        columns: tuple[Iterable[bytes], ...] = (
            repeat(b'{"number":'),
            map(b"%d".__mod__, numbers.tolist()),
            repeat(b',"cluster":'),
            map(b"%d".__mod__, self._clusters(vectors, NOISE).tolist()),
            repeat(b',"vector":['),
            rows,
            repeat(b"]}"),
        )
        return list(zip(self.keys(numbers), map(b"".join, zip(*columns, strict=False)), strict=True))

    def keys(self, numbers: NDArray[np.int64]) -> list[bytes]:
        """Ten digits each."""
        vectors = self._vectors(numbers).astype(np.uint64)
        return texts(digits_of(vectors if self.ascending else Permutation(MOST_VECTORS, self.seed)(vectors), 10))


def make_vectors(
    *, documents: int | None, seed: int, dimensions: int = 96, updates: float = 0.0, key_order: str = "shuffled"
) -> Vectors:
    """So many documents (100,000 unless asked otherwise).

    Args:
        updates: Fraction of them, the last ones, that index an earlier vector anew.

    Raises:
        DatasetError: An option is out of range.
    """
    size = DEFAULT_VECTORS if documents is None else documents
    if size > MOST_VECTORS:
        raise DatasetError(f"documents: got {size}, expected at most {MOST_VECTORS} vectors")
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise DatasetError(f"dimensions: got {dimensions}, expected 1 to {MOST_DIMENSIONS}")
    vectors = size - size * update_share_per_million(updates) // MILLION
    return Vectors(seed, size, dimensions, key_order == "ascending", vectors)
