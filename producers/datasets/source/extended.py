"""Content of a document beside its fields: its `_id`, a search hit around it, MongoDB's extended JSON.

Elasticsearch rejects a document with a field `_id` or `_source`, and reads MongoDB's values as objects.
Source: MongoDB Extended JSON (v2), and the strict mode of v1, which mongoexport wrote up to 4.0.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from producers.dataset import DatasetError
from producers.datasets.source.document import Document
from producers.json_values import JSON_NUMBER, refuse_constant

HIT: Final = frozenset({"_id", "_source"})
"""Keys of every search hit, as elasticdump writes one per line."""
HIT_METADATA: Final = HIT | frozenset(
    {"_index", "_type", "_score", "_routing", "_parent", "_version", "_seq_no", "_primary_term", "_timestamp", "_ttl"}
    | {"_ignored", "_nested", "_shard", "_node", "_rank", "_explanation", "found", "sort", "fields", "highlight"}
    | {"ignored_field_values", "inner_hits", "matched_queries"}
)
"""Keys that a search hit may have, by `SearchHit` of Elasticsearch 9 and of earlier versions."""
NOT_FINITE: Final = frozenset({"NaN", "Infinity", "-Infinity"})
WHOLE_NUMBER: Final = re.compile(r"-?\d{1,18}")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NO_WRAPPER: Final = object()


class NoNumberError(Exception):
    """A text where MongoDB's extended JSON has a number."""


class Number(str):
    """A number in the digits of its text."""

    __slots__ = ()


def rewritten(document: Document) -> Document:
    """The document without `_id`, which becomes its id, and with plain values; itself where it has none of these.

    Raises:
        DatasetError: It cannot be written anew: it holds half a surrogate pair, a name twice in an object, or a text
            where MongoDB has a number.
    """
    text = document.text
    if b"$" not in text and b'"_id"' not in text:
        return document
    parsed, wrappers, repeated = _read(document)
    if not isinstance(parsed, dict) or not (wrappers or "_id" in parsed):
        return document
    if repeated:
        raise DatasetError(f"{document.place}: an object has a name twice, which Elasticsearch rejects")
    if HIT <= parsed.keys() <= HIT_METADATA and isinstance(parsed["_source"], dict):
        source, routing, index = parsed["_source"], parsed.get("_routing"), parsed.get("_index")
    else:
        source, routing, index = {name: value for name, value in parsed.items() if name != "_id"}, None, None
    try:
        identity = parsed.get("_id")
        if not isinstance(identity, str | None):
            identity = json_of(identity).decode()
        routing = document.routing or (routing if isinstance(routing, str) else None)
        index = document.index_name or (index if isinstance(index, str) else None)
        json_of([identity, routing, index])
        return Document(document.place, json_of(source), document.id or (identity and str(identity)), routing, index)
    except TypeError as error:
        raise DatasetError(f"{document.place}: cannot be written without its _id: {error}") from error


def _read(document: Document) -> tuple[object, int, int]:
    """The plain value of a document, how many values were wrapped, and how many names repeated; `None` if no JSON."""
    wrappers = repeated = 0

    def plain(pairs: list[tuple[str, Any]]) -> Any:
        nonlocal wrappers, repeated
        value = dict(pairs)
        repeated += len(pairs) - len(value)
        found = plain_value(value)
        if found is NO_WRAPPER:
            return value
        wrappers += 1
        return found

    try:
        parsed = json.loads(
            document.text.decode(),
            parse_int=Number,
            parse_float=Number,
            parse_constant=refuse_constant,
            object_pairs_hook=plain,
        )
    except NoNumberError as error:
        raise DatasetError(f"{document.place}: {error}") from error
    except (ValueError, RecursionError):
        return None, 0, 0
    return parsed, wrappers, repeated


def json_of(value: object) -> bytes:
    """A value as JSON, numbers in their own digits."""
    return orjson.dumps(value, default=_fragment, option=orjson.OPT_PASSTHROUGH_SUBCLASS)


def _fragment(value: object) -> orjson.Fragment:
    if isinstance(value, Number):
        return orjson.Fragment(value.encode())
    raise TypeError(type(value).__name__)


def plain_value(value: dict[str, Any]) -> object:
    """The value that an object of MongoDB's extended JSON stands for; `NO_WRAPPER` for any other object."""
    match value:
        case {"$binary": str(encoded), "$type": str()}:
            return encoded
        case {"$regex": str(pattern), "$options": str(options)}:
            return f"/{pattern}/{options}"
    if len(value) != 1:
        return NO_WRAPPER
    [(name, inner)] = value.items()
    try:
        return PLAIN[name](inner) if name in PLAIN else NO_WRAPPER
    except NoNumberError as error:
        raise NoNumberError(f"{name}: got other text, expected a number") from error


def _text(inner: object) -> object:
    return inner if isinstance(inner, str) else NO_WRAPPER


def _number(inner: object) -> object:
    """A number; `None` for NaN and the infinities, which JSON does not have.

    Raises:
        NoNumberError: It is another text.
    """
    if not isinstance(inner, str):
        return NO_WRAPPER
    if JSON_NUMBER.fullmatch(inner):
        return Number(inner)
    if inner not in NOT_FINITE:
        raise NoNumberError
    return None


def _date(inner: object) -> object:
    if isinstance(inner, Number):
        return instant(int(inner)) if WHOLE_NUMBER.fullmatch(inner) else NO_WRAPPER
    return _text(inner)


def _timestamp(inner: object) -> object:
    match inner:
        case {"t": Number(seconds), "i": _} if WHOLE_NUMBER.fullmatch(seconds):
            return instant(1000 * int(seconds))
    return NO_WRAPPER


def _binary(inner: object) -> object:
    match inner:
        case {"base64": str(encoded), "subType": _}:
            return encoded
    return NO_WRAPPER


def _pattern(inner: object) -> object:
    match inner:
        case {"pattern": str(pattern), "options": str(options)}:
            return f"/{pattern}/{options}"
    return NO_WRAPPER


PLAIN: Final[Mapping[str, Callable[[object], object]]] = {
    **dict.fromkeys(("$oid", "$uuid", "$symbol", "$code"), _text),
    **dict.fromkeys(("$numberLong", "$numberInt", "$numberDouble", "$numberDecimal"), _number),
    **dict.fromkeys(("$minKey", "$maxKey", "$undefined"), lambda _: None),
    "$date": _date,
    "$timestamp": _timestamp,
    "$binary": _binary,
    "$regularExpression": _pattern,
}
"""Name of a wrapper → the plain value of what it holds."""


def instant(milliseconds: int) -> object:
    """An instant since the Unix epoch as ISO 8601; the number where the year has more than four digits."""
    try:
        at = EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return Number(milliseconds)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z".rjust(24, "0")
