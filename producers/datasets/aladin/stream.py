"""The stream of an Aladin dataset: which book or offer a document describes, first or re-priced.

New documents and re-pricings are spread evenly: of the documents before number i, floor(max(0, i - lead-in) * fraction)
are re-pricings. So what a document is follows from its number alone, with no history.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import DatasetError
from producers.datasets.aladin.books import MOST_BOOKS, Catalogue

MILLION: Final = 1_000_000
BOOKS_PER_BLOCK: Final = 64
CHUNK_BOOKS: Final = BOOKS_PER_BLOCK * 4096

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Mixture:
    """Order of new documents and re-pricings.

    Attributes:
        updates_per_million: Share of re-pricings after the lead-in.
        lead_in: The first documents, all new, so that there is something to re-price.
    """

    updates_per_million: int
    lead_in: int

    def updates_before(self, numbers: Numbers) -> Numbers:
        """Re-pricings among the documents before each number."""
        return np.maximum(numbers - self.lead_in, 0) * self.updates_per_million // MILLION

    def new_before(self, number: int) -> int:
        """New documents among those before this number."""
        return number - max(number - self.lead_in, 0) * self.updates_per_million // MILLION

    def shortest_with(self, new_documents: int) -> int:
        """The length of the shortest stream with this many new documents."""
        low, high = new_documents, new_documents * MILLION // (MILLION - self.updates_per_million) + 1
        while low < high:
            middle = (low + high) // 2
            if self.new_before(middle) >= new_documents:
                high = middle
            else:
                low = middle + 1
        return low


def update_share_per_million(updates: float) -> int:
    """The fraction in exact millionths, so that no rounding differs between machines.

    Raises:
        DatasetError: Not 0 ≤ updates < 1.
    """
    if not 0 <= updates < 1:
        raise DatasetError(f"updates: got {updates}, expected a fraction from 0 to below 1")
    return min(round(updates * MILLION), MILLION - 1)


@dataclass(frozen=True)
class FlatIndex:
    """Places of each book's documents when every book is followed by its offers.

    Attributes:
        starts: Documents before each block of BOOKS_PER_BLOCK books, then all of them; 1 MB for 8 million books.
    """

    catalogue: Catalogue
    books: int
    starts: Numbers = field(repr=False, compare=False)

    @classmethod
    def of_books(cls, catalogue: Catalogue, books: int) -> "FlatIndex":
        """The index of the first `books` books."""
        return cls._grown(catalogue, most_books=books, documents=None)

    @classmethod
    def with_documents(cls, catalogue: Catalogue, documents: int) -> "FlatIndex":
        """The index of as many whole books as it takes to have at least this many documents."""
        return cls._grown(catalogue, most_books=MOST_BOOKS, documents=documents)

    @classmethod
    def _grown(cls, catalogue: Catalogue, *, most_books: int, documents: int | None) -> "FlatIndex":
        starts = [np.zeros(1, dtype=np.int64)]
        for first in range(0, most_books, CHUNK_BOOKS):
            sizes = _sizes(catalogue, np.arange(first, min(first + CHUNK_BOOKS, most_books), dtype=np.uint64))
            if documents is not None:
                needed = int(np.searchsorted(sizes.cumsum(), documents - int(starts[-1][-1]))) + 1
                sizes = sizes[:needed]
            blocks = np.add.reduceat(sizes, np.arange(0, len(sizes), BOOKS_PER_BLOCK))
            starts.append(starts[-1][-1] + blocks.cumsum())
            if documents is not None and starts[-1][-1] >= documents:
                return cls(catalogue, first + len(sizes), np.concatenate(starts))
        return cls(catalogue, most_books, np.concatenate(starts))

    @property
    def documents(self) -> int:
        """Books and offers together."""
        return int(self.starts[-1])

    def located(self, places: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """The book of each document and its slot among the book's offers; slot -1 is the book itself."""
        if not len(places):
            return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.intp)
        first = int(np.searchsorted(self.starts, places.min(), side="right")) - 1
        last = int(np.searchsorted(self.starts, places.max(), side="right"))
        if last - first <= 2 + len(places):
            return self._located_between(first, last, places)
        blocks = np.searchsorted(self.starts, places, side="right") - 1
        return self._located_apart(blocks, places)

    def _located_between(self, first: int, last: int, places: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        books = np.arange(first * BOOKS_PER_BLOCK, min(last * BOOKS_PER_BLOCK, self.books), dtype=np.uint64)
        ends = self.starts[first] + _sizes(self.catalogue, books).cumsum()
        chosen = np.searchsorted(ends, places, side="right")
        begins = np.concatenate((self.starts[first : first + 1], ends))[chosen]
        return books[chosen], (places - begins - 1).astype(np.intp)

    def _located_apart(self, blocks: NDArray[np.intp], places: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        books = blocks[:, None] * BOOKS_PER_BLOCK + np.arange(BOOKS_PER_BLOCK)
        sizes = _sizes(self.catalogue, books.ravel().astype(np.uint64)).reshape(books.shape)
        ends = self.starts[blocks][:, None] + sizes.cumsum(axis=1)
        inside = (ends <= places[:, None]).sum(axis=1)
        rows = np.arange(len(places))
        begins = ends[rows, inside] - sizes[rows, inside]
        return books[rows, inside].astype(np.uint64), (places - begins - 1).astype(np.intp)

    def place_of(self, books: NDArray[np.uint64]) -> Numbers:
        """The document number of each book itself; its offers follow at once."""
        blocks = books.astype(np.int64) // BOOKS_PER_BLOCK
        members = blocks[:, None] * BOOKS_PER_BLOCK + np.arange(BOOKS_PER_BLOCK)
        sizes = _sizes(self.catalogue, members.ravel().astype(np.uint64)).reshape(members.shape)
        before = np.where(members < books.astype(np.int64)[:, None], sizes, 0).sum(axis=1)
        places: Numbers = self.starts[blocks] + before
        return places


def _sizes(catalogue: Catalogue, books: NDArray[np.uint64]) -> Numbers:
    return catalogue.shops_per_book(books).astype(np.int64) + 1
