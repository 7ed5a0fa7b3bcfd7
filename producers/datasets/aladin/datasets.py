"""The two models of the same books: `NestedBooks`, one document each, and `FlatBooks`, one for every offer besides."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset, DatasetError, Record
from producers.datasets.aladin.books import MOST_BOOKS, Catalogue
from producers.datasets.aladin.shops import ShopCounts
from producers.datasets.aladin.stream import FlatIndex, Mixture, Numbers, update_share_per_million
from producers.datasets.aladin.tables import tables
from producers.datasets.fields import texts
from producers.hashing import hashed

TARGET_BOOK, TARGET_SLOT = 100, 101
CHUNK_DOCUMENTS: Final = 1 << 16


def _chosen_below(bits: NDArray[np.uint64], sizes: Numbers) -> Numbers:
    """A choice below each size; sizes are below 2**31."""
    return ((bits >> np.uint64(32)) * sizes.astype(np.uint64) >> np.uint64(32)).astype(np.int64)


@dataclass(frozen=True)
class BookStream(Dataset):
    """Base of the two models: a catalogue, and a mixture of new documents and re-pricings.

    A re-pricing picks a book at random among those that are complete, and one of its offers, and gives that offer
    another price and count; the offers beside it are as first published.
    """

    seed: int
    documents: int
    catalogue: Catalogue
    mixture: Mixture

    name: ClassVar[str] = "aladin"

    def latest(self) -> Numbers:
        """Document numbers, ascending, that are the last of their key."""
        if not self.mixture.updates_per_million:
            return np.arange(self.documents, dtype=np.int64)
        last = np.empty(self.mixture.new_before(self.documents), dtype=np.int64)
        for first in range(0, self.documents, CHUNK_DOCUMENTS):
            numbers = np.arange(first, min(first + CHUNK_DOCUMENTS, self.documents), dtype=np.int64)
            last[self._new_documents(numbers)] = numbers
        last.sort()
        return last

    def groups(self, numbers: Numbers) -> Numbers | None:
        """For each document the number of the new document whose key it has; `None` when nothing is re-priced."""
        return self._new_documents(numbers) if self.mixture.updates_per_million else None

    def _new_documents(self, numbers: Numbers) -> Numbers:
        """For each document the place, among all new documents, of the one with its key."""
        raise NotImplementedError

    def _is_update(self, numbers: Numbers) -> NDArray[np.bool_]:
        return self.mixture.updates_before(numbers + 1) > self.mixture.updates_before(numbers)

    def _target(self, numbers: Numbers, complete_books: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """The book and the slot that each of these re-pricings changes."""
        events = numbers.astype(np.uint64)
        books = _chosen_below(hashed(self.seed, TARGET_BOOK, events), complete_books).astype(np.uint64)
        shops = self.catalogue.shops_per_book(books)
        slots = _chosen_below(hashed(self.seed, TARGET_SLOT, events), shops.astype(np.int64))
        return books, slots.astype(np.intp)


@dataclass(frozen=True)
class NestedBooks(BookStream):
    """Books with all their offers inside; a re-pricing sends the whole book again."""

    @property
    def model(self) -> Literal["nested"]:
        """Name of the model: each book holds its offers."""
        return "nested"

    def records(self, numbers: Numbers) -> Sequence[Record]:
        """ISBN-13 and JSON of each document."""
        if not self.mixture.updates_per_million:
            return self._records(numbers.astype(np.uint64), None)
        books, slots, is_update = self._resolved(numbers)
        return self._records(books, np.where(is_update, slots, -1), numbers)

    def keys(self, numbers: Numbers) -> list[bytes]:
        """ISBN-13 of each document's book."""
        return self.catalogue.keys(self._resolved(numbers)[0])

    def _resolved(self, numbers: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.intp], NDArray[np.bool_]]:
        is_update = self._is_update(numbers)
        new_before = numbers - self.mixture.updates_before(numbers)
        targets, slots = self._target(numbers, np.maximum(new_before, 1))
        return np.where(is_update, targets, new_before.astype(np.uint64)), slots, is_update

    def _new_documents(self, numbers: Numbers) -> Numbers:
        return self._resolved(numbers)[0].astype(np.int64)

    def _records(
        self, books: NDArray[np.uint64], changed_slots: NDArray[np.intp] | None, numbers: Numbers | None = None
    ) -> Sequence[Record]:
        catalogue = self.catalogue
        identities = catalogue.identities(books)
        counts = catalogue.shops_per_book(books)
        ends = counts.cumsum()
        owners = np.repeat(np.arange(len(books)), counts)
        slots = np.arange(len(owners)) - (ends - counts)[owners]
        repriced_by = None
        if changed_slots is not None and numbers is not None:
            repriced_by = np.where(changed_slots[owners] == slots, numbers[owners], -1)
        offers = catalogue.offers(books[owners], slots, texts(identities.item_id[owners]), repriced_by)
        flat = list(map(b"".join, zip(*offers, strict=True)))
        lists = [
            b'"},'.join(flat[end - count : end]) for end, count in zip(ends.tolist(), counts.tolist(), strict=True)
        ]
        pieces = (*catalogue.heads(books, identities), repeat(b'"}},"usedList":['), lists, repeat(b'"}]}}'))
        return list(zip(texts(identities.isbn13), map(b"".join, zip(*pieces, strict=False)), strict=True))


@dataclass(frozen=True)
class FlatBooks(BookStream):
    """Flat model: a document for each book, followed by one for each of its offers.

    A re-pricing sends just the offer again.
    """

    index: FlatIndex

    @property
    def model(self) -> Literal["flat"]:
        """Name of the model: each offer is a document of its own."""
        return "flat"

    def entities(self, start: int, stop: int) -> int:
        """Books whose own document lies in the range, and re-pricings, each of which describes one book anew."""
        bounds = np.array([start, stop], dtype=np.int64)
        updates = self.mixture.updates_before(bounds)
        begun = self._books_begun(bounds - updates)
        return int(begun[1] - begun[0] + updates[1] - updates[0])

    def records(self, numbers: Numbers) -> Sequence[Record]:
        """Key and JSON of each document: `<isbn13>` for a book, `<isbn13>-<shop_id>` for an offer."""
        books, slots, is_update = self._resolved(numbers)
        is_book = slots < 0
        records = np.empty(len(numbers), dtype=object)
        if is_book.any():
            records[is_book] = _listed(self._book_records(books[is_book]))
        if not is_book.all():
            repriced_by = np.where(is_update, numbers, -1)[~is_book] if is_update.any() else None
            records[~is_book] = _listed(self._offer_records(books[~is_book], slots[~is_book], repriced_by))
        result: list[Record] = records.tolist()
        return result

    def keys(self, numbers: Numbers) -> list[bytes]:
        """`<isbn13>` for a book, `<isbn13>-<shop_id>` for an offer."""
        books, slots, _ = self._resolved(numbers)
        shops = tables().shops(self.catalogue.shops(books, np.maximum(slots, 0)))
        ends = np.where(slots < 0, b"", [b"-" + shop for shop in shops]).tolist()
        return list(map(b"".join, zip(self.catalogue.keys(books), ends, strict=True)))

    def _resolved(self, numbers: Numbers) -> tuple[NDArray[np.uint64], NDArray[np.intp], NDArray[np.bool_]]:
        is_update = self._is_update(numbers)
        places = numbers - self.mixture.updates_before(numbers)
        # An update's place is that of the next new document, which may be one past the last.
        books, slots = self.index.located(np.minimum(places, self.index.documents - 1))
        if is_update.any():
            begun = self._books_begun(places[is_update])
            complete = self._complete_books(places[is_update], begun)
            books[is_update], slots[is_update] = self._target(numbers[is_update], complete)
        return books, slots, is_update

    def _books_begun(self, places: Numbers) -> Numbers:
        """Books whose own document comes before each place."""
        inside = np.minimum(places, self.index.documents - 1)
        books, slots = self.index.located(inside)
        begun = books.astype(np.int64) + (slots >= 0)
        return np.where(places >= self.index.documents, self.index.books, begun)

    def _complete_books(self, places: Numbers, begun: Numbers) -> Numbers:
        """Books all of whose documents come before each place; at least one, as the lead-in is the first book."""
        _, slots = self.index.located(np.minimum(places, self.index.documents - 1))
        within_a_book = (slots >= 0) & (places < self.index.documents)
        return begun - within_a_book

    def _new_documents(self, numbers: Numbers) -> Numbers:
        books, slots, is_update = self._resolved(numbers)
        places = numbers - self.mixture.updates_before(numbers)
        if is_update.any():
            places[is_update] = self.index.place_of(books[is_update]) + slots[is_update] + 1
        return places

    def _book_records(self, books: NDArray[np.uint64]) -> list[Record]:
        identities = self.catalogue.identities(books)
        keys = texts(identities.isbn13)
        pieces = (
            *self.catalogue.heads(books, identities),
            repeat(b'"}}},"doc_type":"book","book_id":"'),
            keys,
            repeat(b'"}'),
        )
        return list(zip(keys, map(b"".join, zip(*pieces, strict=False)), strict=True))

    def _offer_records(
        self, books: NDArray[np.uint64], slots: NDArray[np.intp], repriced_by: Numbers | None
    ) -> list[Record]:
        identities = self.catalogue.identities(books)
        isbns = texts(identities.isbn13)
        offers = self.catalogue.offers(books, slots, texts(identities.item_id), repriced_by)
        shops = tables().shops(self.catalogue.shops(books, slots))
        keys = map(b"".join, zip(isbns, repeat(b"-"), shops, strict=False))
        pieces = (*offers, repeat(b'","doc_type":"offer","book_id":"'), isbns, repeat(b'"}'))
        return list(zip(keys, map(b"".join, zip(*pieces, strict=False)), strict=True))


def _listed(records: list[Record]) -> NDArray[np.object_]:
    """A one-dimensional array of pairs; numpy left alone would make it two-dimensional."""
    array = np.empty(len(records), dtype=object)
    array[:] = records
    return array


DEFAULT_BOOKS: Final = 100_000
DEFAULT_SHOPS_MEAN: Final = 1.5
DEFAULT_SHOPS_MAX: Final = 50


def make_aladin(
    *,
    documents: int | None,
    seed: int,
    model: str = "nested",
    books: int | None = None,
    shops_mean: float = DEFAULT_SHOPS_MEAN,
    shops_max: int = DEFAULT_SHOPS_MAX,
    updates: float = 0.0,
    key_order: str = "shuffled",
) -> BookStream:
    """Books for this size, which is given as documents or as books.

    As documents, nested: exactly so many. Flat: no book is cut in half, so there are as many more as it takes to
    complete the last one. As books: the shortest stream that has them all, re-pricings included.

    Raises:
        DatasetError: Both sizes are given, or one is out of range.
    """
    if documents is not None and books is not None:
        raise DatasetError(f"books: got {books} books and {documents} documents, expected one of the two")
    if books is not None and not 1 <= books <= MOST_BOOKS:
        raise DatasetError(f"books: got {books}, expected 1 to {MOST_BOOKS}")
    if documents is None and books is None:
        books = DEFAULT_BOOKS
    catalogue = Catalogue(seed, key_order == "ascending", ShopCounts(shops_mean, shops_max))
    share = update_share_per_million(updates)
    if model == "nested":
        return _nested(catalogue, Mixture(share, lead_in=1), documents, books)
    lead_in = FlatIndex.of_books(catalogue, 1).documents
    return _flat(catalogue, Mixture(share, lead_in), documents, books)


def _nested(catalogue: Catalogue, mixture: Mixture, documents: int | None, books: int | None) -> NestedBooks:
    size = documents if books is None else mixture.shortest_with(books)
    if size is None or mixture.new_before(size) > MOST_BOOKS:
        raise DatasetError(f"documents: got {documents}, expected at most {MOST_BOOKS} books")
    return NestedBooks(catalogue.seed, size, catalogue, mixture)


def _flat(catalogue: Catalogue, mixture: Mixture, documents: int | None, books: int | None) -> FlatBooks:
    if documents is None:
        index = FlatIndex.of_books(catalogue, books or DEFAULT_BOOKS)
    else:
        index = FlatIndex.with_documents(catalogue, mixture.new_before(documents))
    size = mixture.shortest_with(index.documents)
    if documents is not None:
        size = max(size, documents)
    return FlatBooks(catalogue.seed, size, catalogue, mixture, index)
