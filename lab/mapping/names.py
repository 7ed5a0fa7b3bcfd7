"""Hints in the name of a field: an identifier, a time, a version, a measure, a key."""

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
    "date", "timestamp", "stamp", "ts", "at", "created", "updated", "modified", "published", "expires",
    "seen", "since", "until",
})  # fmt: skip
TIMES_BEFORE = TIMES | {
    "start", "end", "begin", "finish", "event", "create", "creation", "update", "change", "order", "log", "record",
    "arrival", "departure", "pickup", "dropoff", "expiry", "last", "first", "publish", "receive", "received",
}  # fmt: skip
"""Before `time`, which else may be a duration, as in `response_time`."""
VERSIONS = frozenset({"version", "ver", "release", "build", "firmware", "revision"})
MEASURES = frozenset({
    "price", "cost", "amount", "total", "subtotal", "fee", "tax", "vat", "revenue", "salary", "balance",
    "discount", "payment", "sum", "rate", "ratio", "score", "rating", "weight", "height", "width", "depth", "distance",
    "speed", "percent", "percentage", "pct", "average", "avg", "mean", "median", "temperature", "temp", "humidity",
    "pressure", "voltage", "latitude", "longitude", "lat", "lon", "lng", "latency", "duration", "time", "elapsed",
    "took", "load", "usage", "value", "volume", "area", "share", "probability", "confidence",
})  # fmt: skip
"""Quantities that may have decimals, although those seen have none."""
COUNTS = frozenset({"count", "counts", "number", "num", "quantity", "qty"})
WHOLE_QUANTITIES = frozenset({
    "count", "counts", "quantity", "qty", "population", "bytes", "size", "length", "age", "views", "clicks", "votes",
    "likes", "followers", "downloads", "sales", "visits", "mileage",
})  # fmt: skip
"""Quantities that are whole numbers; `number` is none of them, as in `order_number`."""


def words_of(name: str) -> list[str]:
    """The words of a field's own name, in lower case: `source`, `ip` for `client.SourceIp`."""
    return [word.lower() for word in WORD.findall(name.rpartition(".")[2])]


def names_identifier(name: str) -> bool:
    """Check that the last word of a name is one for identifiers, such as `bookId` or `zip`."""
    words = words_of(name)
    return bool(words) and words[-1] in IDENTIFIERS and not (words[-1] == "code" and STATES & set(words))


def names_time(name: str) -> bool:
    """Check that the last word of a name is one for instants, such as `createdAt`, or `time` behind such a word."""
    words = words_of(name)
    return words == ["time"] or (
        bool(words) and (words[-1] in TIMES or (words[-1] == "time" and not TIMES_BEFORE.isdisjoint(words[-2:-1])))
    )


def names_version(name: str) -> bool:
    """Check that a word of a name is one for versions, such as `agent_version`."""
    return not VERSIONS.isdisjoint(words_of(name))


def names_measure(name: str) -> bool:
    """Check that a word of a name is one for quantities that may have decimals, such as `listPrice` or `avg_age`."""
    words = words_of(name)
    return not MEASURES.isdisjoint(words) and words[-1] not in COUNTS


def names_quantity(name: str) -> bool:
    """Check that a name is one for quantities, with decimals or without, such as `price` or `population`."""
    return names_measure(name) or not WHOLE_QUANTITIES.isdisjoint(words_of(name))


def key_rank(name: str) -> int:
    """Rank of a name among names of keys: 0 is best; above `len(KEY_NAMES)` it is no name of a key."""
    last = name.rpartition(".")[2]
    if last.lower() in KEY_NAMES:
        return KEY_NAMES.index(last.lower())
    return len(KEY_NAMES) + (KEY_ENDING.fullmatch(name) is None)
