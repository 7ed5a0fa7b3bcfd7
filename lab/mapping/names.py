"""Hints in the name of a field: an identifier, a time, a price, a key."""

import re

KEY_NAMES = ("id", "uuid", "guid", "key", "isbn13", "isbn", "isbn10", "ean", "gtin", "sku", "doi")
KEY_ENDING = re.compile(r"(?:.*[_.-])?(?:id|uuid|guid|key|isbn|isbn1[03])|.*[a-z](?:Id|ID|Uuid|UUID|Key|Isbn|ISBN)")

WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]")
IDENTIFIERS = frozenset({
    "id", "uuid", "guid", "key", "isbn", "issn", "ean", "gtin", "upc", "sku", "doi", "asn", "asin", "code", "zip",
    "zipcode", "postcode", "phone", "ssn", "iban",
})  # fmt: skip
STATES = frozenset({"status", "exit", "return", "response", "error", "result"})
"""Before `code`: such codes are compared and counted in ranges, as 500 to 599."""
TIMES = frozenset({
    "time", "date", "timestamp", "stamp", "ts", "at", "created", "updated", "modified", "published", "expires",
    "seen", "since", "until",
})  # fmt: skip
PRICES = frozenset({
    "price", "cost", "amount", "total", "subtotal", "fee", "tax", "vat", "revenue", "salary", "balance",
    "discount", "payment",
})  # fmt: skip


def words_of(name: str) -> list[str]:
    """The words of a field's own name, in lower case: `source`, `ip` for `client.SourceIp`."""
    return [word.lower() for word in WORD.findall(name.rpartition(".")[2])]


def names_identifier(name: str) -> bool:
    """Check that the last word of a name is one for identifiers, such as `bookId` or `zip`."""
    words = words_of(name)
    return bool(words) and words[-1] in IDENTIFIERS and not (words[-1] == "code" and STATES & set(words))


def names_time(name: str) -> bool:
    """Check that the last word of a name is one for instants, such as `createdAt`."""
    words = words_of(name)
    return bool(words) and words[-1] in TIMES


def names_price(name: str) -> bool:
    """Check that the last word of a name is one for money, such as `listPrice`."""
    words = words_of(name)
    return bool(words) and words[-1] in PRICES


def key_rank(name: str) -> int:
    """Rank of a name among names of keys: 0 is best; above `len(KEY_NAMES)` it is no name of a key."""
    last = name.rpartition(".")[2]
    if last.lower() in KEY_NAMES:
        return KEY_NAMES.index(last.lower())
    return len(KEY_NAMES) + (KEY_ENDING.fullmatch(name) is None)
