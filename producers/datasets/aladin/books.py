"""The JSON of books and offers: each field a pure function of the seed and the book, made a batch at a time."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from producers.datasets.aladin.shops import ShopCounts
from producers.datasets.aladin.tables import (
    HIGHEST_PRICE,
    ITEM_COUNTS,
    LOWEST_PRICE,
    PRODUCT_LINK,
    SHELF_ORDERS,
    shelf_orders,
    tables,
)
from producers.datasets.fields import ASCII_ZERO, Digits, digits_of, texts
from producers.hashing import GOLDEN_GAMMA, Permutation, hashed, mixed, part

MOST_BOOKS: Final = 900_000_000
"""As many as there are item ids of nine digits that do not begin with 0."""
ISBN_BODIES: Final = 2_000_000_000
"""Nine digits after 978 and nine after 979."""

IDENTITY, WORDS, FIGURES, NEW_BOOK, OFFERS = range(5)
"""What the random-looking bits are for."""

ASCII_X: Final = 88
ASCII_K: Final = 75

Books = NDArray[np.uint64]
"""Book numbers."""


class FixedWidth:
    """A stretch of JSON in which every number always has the same number of digits.

    `{item:0-5}` stands for the first five digits of the numbers called item, `{{` for a brace.
    """

    def __init__(self, template: bytes) -> None:
        self._fields: list[tuple[slice, bytes, slice]] = []
        text = bytearray()
        for literal, name, first, last in re.findall(
            rb"([^{]*)(?:\{(\w+):(\d+)-(\d+)\})?", template.replace(b"{{", b"\0")
        ):
            text += literal.replace(b"\0", b"{")
            if name:
                width = int(last) - int(first)
                self._fields.append((slice(len(text), len(text) + width), name, slice(int(first), int(last))))
                text += bytes(width)
        self._row = np.frombuffer(bytes(text), dtype=np.uint8)

    def filled(self, numbers: Mapping[bytes, Digits]) -> Digits:
        """The stretch for each row of the numbers."""
        rows = len(next(iter(numbers.values())))
        result = np.empty((rows, len(self._row)), dtype=np.uint8)
        result[:] = self._row
        for place, name, digits in self._fields:
            result[:, place] = numbers[name][:, digits]
        return result


FIRST_NUMBERS: Final = FixedWidth(b'{{"itemId":{item:0-9},"isbn13":"{isbn13:0-13}')
LATER_NUMBERS: Final = FixedWidth(
    b'{item:0-5}/{item:5-7}/coversum/{isbn:0-10}_1.jpg","link":'
    + PRODUCT_LINK
    + b'{item:0-9}","subInfo":{{"usedType":"aladinUsed",'
    + b'"newBookList":{{"newBook":{{"itemId":{new:0-9},"isbn":"{isbn:0-10}'
)
"""The shop files its covers by the item's leading digits."""


@dataclass(frozen=True)
class Identities:
    """The numbers a book is known by.

    Attributes:
        isbn13: 978 or 979, nine digits, check digit.
        isbn: ISBN-10 for a 978 number; for a 979 number, which has none, the shop's own "K" and nine digits.
        item_id: The used book's number in the shop, nine digits.
    """

    isbn13: Digits
    isbn: Digits
    item_id: Digits


@dataclass(frozen=True)
class Catalogue:
    """Catalogue of all books of one seed.

    Attributes:
        ascending: ISBNs grow with the book's number; otherwise they come in no visible order.
    """

    seed: int
    ascending: bool
    shop_counts: ShopCounts

    def identities(self, books: Books) -> Identities:
        """Identifiers of the books; no two of MOST_BOOKS books share an ISBN or an item id."""
        if self.ascending:
            bodies = books + np.uint64(ISBN_BODIES // 2 - MOST_BOOKS // 2)
        else:
            bodies = Permutation(ISBN_BODIES, self.seed)(books)
        item_ids = Permutation(MOST_BOOKS, self.seed + 1)(books) + np.uint64(100_000_000)
        in_979 = bodies >= np.uint64(ISBN_BODIES // 2)
        body = digits_of(bodies % np.uint64(ISBN_BODIES // 2), 9)
        return Identities(_isbn13(body, in_979), _isbn(body, in_979), digits_of(item_ids, 9))

    def keys(self, books: Books) -> list[bytes]:
        """The ISBN-13 of each book."""
        return texts(self.identities(books).isbn13)

    def shops_per_book(self, books: Books) -> NDArray[np.intp]:
        """Number of shops that offer each book, at least one."""
        return self.shop_counts(hashed(self.seed, OFFERS, books))

    def heads(self, books: Books, identities: Identities) -> list[Iterable[bytes]]:
        """The pieces of each book's JSON, piece by piece for all books, up to the link of its new book.

        That link is left open for what follows. A string of fixed width holds several fields, to save pieces.
        """
        table = tables()
        words = hashed(self.seed, WORDS, books)
        figures = hashed(self.seed, FIGURES, books)
        price = self._price_numbers(books)
        new_items = digits_of(hashed(self.seed, NEW_BOOK, books) % np.uint64(900_000_000) + np.uint64(100_000_000), 9)
        numbers = {
            b"item": identities.item_id,
            b"isbn13": identities.isbn13,
            b"isbn": identities.isbn,
            b"new": new_items,
        }
        return [
            texts(FIRST_NUMBERS.filled(numbers)),
            table.title_beginnings(part(words, 0, 20, len(table.title_beginnings))),
            table.title_endings(part(words, 20, 12, len(table.title_endings))),
            table.authors(part(words, 32, 16, len(table.authors))),
            table.publishers(part(words, 48, 16, len(table.publishers))),
            table.publication_dates(part(figures, 0, 20, len(table.publication_dates))),
            table.categories(part(figures, 20, 12, len(table.categories))),
            table.first_prices(price),
            table.sales_points(part(figures, 32, 16, len(table.sales_points))),
            table.ranks(part(figures, 48, 16, len(table.ranks))),
            texts(LATER_NUMBERS.filled(numbers)),
            table.sales_prices(price),
            texts(new_items),
        ]

    def shops(self, books: Books, slots: NDArray[np.intp]) -> NDArray[np.intp]:
        """Shop of the offer at each book's slot; no shop twice in one book."""
        orders = shelf_orders(self.seed)
        return orders[part(hashed(self.seed, OFFERS, books), 0, 10, SHELF_ORDERS), slots]

    def offers(
        self,
        books: Books,
        slots: NDArray[np.intp],
        item_ids: list[bytes],
        repriced_by: NDArray[np.int64] | None = None,
    ) -> list[Iterable[bytes]]:
        """The pieces of one offer's JSON for each book and slot, piece by piece, up to its link, which is left open.

        Args:
            books: The book of each offer.
            slots: Its place among the book's offers.
            item_ids: The item id of its book.
            repriced_by: The number of the document that changed the offer, or -1 where it is as first published;
                `None` when all are. A changed offer's price differs from the first one.
        """
        table = tables()
        bits = mixed(
            hashed(self.seed, OFFERS, books) + (slots.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN_GAMMA)
        )
        standard = self._price_numbers(books)
        lowest = standard // 5
        choices = standard * 7 // 10 - lowest + 1
        above = (bits & np.uint64(0xFFFF)).astype(np.intp) % choices
        item_counts = part(bits, 32, 16, ITEM_COUNTS) * part(bits, 48, 16, ITEM_COUNTS) // ITEM_COUNTS
        if repriced_by is not None:
            changed = repriced_by >= 0
            new_bits = mixed(bits ^ repriced_by.astype(np.uint64))
            shift = 1 + (new_bits & np.uint64(0xFFFF)).astype(np.intp) % (choices - 1)
            above = np.where(changed, (above + shift) % choices, above)
            item_counts = np.where(changed, part(new_bits, 32, 16, ITEM_COUNTS), item_counts)
        return [
            table.offers(self.shops(books, slots) * ITEM_COUNTS + item_counts),
            table.offer_prices(lowest + above),
            item_ids,
        ]

    def _price_numbers(self, books: Books) -> NDArray[np.intp]:
        bits = hashed(self.seed, NEW_BOOK, books)
        return LOWEST_PRICE + part(bits, 32, 32, HIGHEST_PRICE - LOWEST_PRICE + 1)


def _isbn13(body: Digits, in_979: NDArray[np.bool_]) -> Digits:
    result = np.empty((len(body), 13), dtype=np.uint8)
    result[:, 0] = ASCII_ZERO + 9
    result[:, 1] = ASCII_ZERO + 7
    result[:, 2] = ASCII_ZERO + 8 + in_979
    result[:, 3:12] = body
    weights = np.array([1, 3] * 6, dtype=np.uint16)
    sums = (result[:, :12] - np.uint8(ASCII_ZERO)) @ weights
    result[:, 12] = (10 - sums % 10) % 10 + ASCII_ZERO
    return result


def _isbn(body: Digits, in_979: NDArray[np.bool_]) -> Digits:
    result = np.empty((len(body), 10), dtype=np.uint8)
    sums = (body - np.uint8(ASCII_ZERO)) @ np.arange(10, 1, -1, dtype=np.uint16)
    check = (11 - sums % 11) % 11
    result[:, :9] = body
    result[:, 9] = np.where(check == 10, ASCII_X, check + ASCII_ZERO)
    result[in_979, 0] = ASCII_K
    result[in_979, 1:] = body[in_979]
    return result
