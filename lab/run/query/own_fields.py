"""Fields of a user's file as an index holds them: which are computed with, and the form that their values must have."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

Json = Mapping[str, Any]


class NotComputedError(Exception):
    """A search, a mapping or a document that does not translate exactly; the message says which."""


WHOLE: Final = {"long": 63, "integer": 31, "short": 15, "byte": 7}
"""Type of whole numbers → its bits without the sign."""
NUMBERS: Final = frozenset({"double", *WHOLE})
PARAMETERS: Final = frozenset(
    {"type", "index", "doc_values", "store", "fields", "meta", "norms", "ignore_above", "ignore_malformed", "coerce"}
    | {"format", "eager_global_ordinals", "copy_to", "similarity", "index_options"}
)
"""Parameters of a field that leave values that fit its type as they stand."""
ISO: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?")
"""Texts that the format `strict_date_optional_time` reads, without its rarer forms."""
FORMATS: Final = frozenset({"strict_date_optional_time", "date_optional_time"})
OTHER_FORMATS: Final = frozenset({"epoch_millis", "strict_date_time", "strict_date", "strict_date_time_no_millis"})
HALF_A_PAIR: Final = re.compile(r"[\ud800-\udfff]")
LEAST_MILLIS: Final = 10**8
"""Smaller numbers may be years."""


@dataclass(frozen=True)
class Field:
    """A field that a search uses.

    Attributes:
        source: Its path in documents, which of a multi-field is that of its parent.
    """

    name: str
    source: str
    settings: Json

    @property
    def table(self) -> str:
        """Name of its table in DuckDB: a row for each value (`v`) of each document (`doc`)."""
        return '"of ' + self.name.replace('"', '""') + '"'

    @property
    def sql_type(self) -> str:
        """Type of its values in DuckDB; of booleans 0 and 1, of dates milliseconds since the epoch."""
        return {"keyword": "VARCHAR", "double": "DOUBLE"}.get(self.type, "BIGINT")

    @property
    def type(self) -> str:
        """Type in the mapping."""
        return str(self.settings["type"])

    def value(self, given: Any) -> Any:
        """A value as the index holds it; `None` for one that it leaves out.

        Raises:
            NotComputedError: It may not be indexed as it stands.
        """
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if self.type == "keyword" and (isinstance(given, str | bool) or (is_number and isinstance(given, int))):
            text = given if isinstance(given, str) else json.dumps(given)
            if HALF_A_PAIR.search(text):
                raise NotComputedError(f"`{self.name}` has texts with half a surrogate pair")
            return text if len(text.encode("utf-16-le")) // 2 <= self.settings.get("ignore_above", math.inf) else None
        if self.type == "boolean" and isinstance(given, bool):
            return int(given)
        if self.type == "double" and is_number:
            # Lucene's order tells -0.0 from 0.0 (`NumericUtils.doubleToSortableLong`), SQL's does not.
            if given == 0 and math.copysign(1, given) < 0:
                raise NotComputedError(f"`{self.name}` (double) has values of -0.0")
            return float(given)
        if self.type in WHOLE and is_number and isinstance(given, int):
            limit = 1 << WHOLE[self.type]
            if -limit <= given < limit:
                return given
        if self.type == "date" and (millis := self._millis(given)) is not None:
            return millis
        raise NotComputedError(f"`{self.name}` ({self.type}) has values of another form in the file")

    def _millis(self, given: Any) -> int | None:
        formats = self.settings.get("format", "strict_date_optional_time||epoch_millis").split("||")
        if isinstance(given, int) and not isinstance(given, bool):
            return given if "epoch_millis" in formats and given >= LEAST_MILLIS else None
        is_read = isinstance(given, str) and ISO.fullmatch(given) and FORMATS & {*formats}
        return millis_of(given) if is_read and {*formats} <= FORMATS | OTHER_FORMATS else None

    @property
    def has_repeats(self) -> bool:
        """Check that values of one document count as often as they stand there: doc values of keywords are a set."""
        return self.type != "keyword"


def whole_number(text: str) -> float:
    """A whole number of JSON; the float of `-0`, whose text a keyword may keep."""
    return -0.0 if text == "-0" else int(text)


def millis_of(text: str) -> int | None:
    """Milliseconds since the epoch of an ISO 8601 text, UTC where it names no zone; `None` for no day of a calendar."""
    whole = re.sub(r"(\.\d{6})\d+", r"\1", text)
    try:
        instant = datetime.fromisoformat(whole)
    except ValueError:
        return None
    since = (instant if instant.tzinfo else instant.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def values_in(document: Any, path: Sequence[str]) -> Iterator[Any]:
    """Values under a path of a document, those of lists one by one; names of a document may hold dots."""
    if isinstance(document, list):
        yield from chain.from_iterable(values_in(part, path) for part in document)
    elif not path:
        yield from () if document is None else (document,)
    elif isinstance(document, dict):
        for length in range(1, len(path) + 1):
            if (name := ".".join(path[:length])) in document:
                yield from values_in(document[name], path[length:])
    elif document is not None:
        raise NotComputedError(f"`{'.'.join(path)}` has values in place of objects in the file")


def only(body: Json, known: frozenset[str] | set[str], what: str) -> None:
    """Raise NotComputedError for a key beside the known ones."""
    for key in body:
        if key not in known:
            raise NotComputedError(f"`{key}` in {what} is not computed")


def literal(field: Field, value: Any) -> str:
    """A value of a query as a literal of SQL; NULL, which equals none, for one that no document can have."""
    held = field.value(value)
    return "NULL" if held is None else sql(field, held)


def sql(field: Field, held: Any) -> str:
    """A value of a field, as its table has it, as a literal of SQL."""
    if isinstance(held, str) and "\0" in held:
        raise NotComputedError("a text with a zero character is not computed")
    text = held.replace("'", "''") if isinstance(held, str) else repr(held)
    return f"'{text}'::{field.sql_type}"


def located(mappings: Json, name: str) -> tuple[str, Json]:
    """Path in documents, and settings, of a field of the mapping whose values are indexed as they stand."""
    entry: Any = mappings
    source: list[str] = []
    for part in name.split("."):
        if part in entry.get("properties", {}):
            entry = entry["properties"][part]
            source.append(part)
        elif part in entry.get("fields", {}):
            entry = entry["fields"][part]
        else:
            raise NotComputedError(f"`{name}` is no field of the mapping")
        if entry.get("type", "object") == "nested" or entry.get("enabled") is False:
            raise NotComputedError(f"`{name}` is in a nested or disabled object")
    if entry.get("type") not in {"keyword", "boolean", "date", *NUMBERS}:
        raise NotComputedError(f"`{name}` is of type `{entry.get('type', 'object')}`")
    only(entry, PARAMETERS, f"the mapping of `{name}`")
    if entry.get("index", True) is not True and entry.get("doc_values", True) is not True:
        raise NotComputedError(f"`{name}` is neither indexed nor has doc values")
    runtime = any(f"{name}.".startswith(f"{other}.") for other in mappings.get("runtime", {}))
    if runtime or name in copied_to(mappings):
        raise NotComputedError(f"`{name}` has values of other fields")
    return ".".join(source), entry


def copied_to(entry: Json) -> Iterator[str]:
    """Names of the fields that `copy_to` fills."""
    to = entry.get("copy_to", [])
    yield from [to] if isinstance(to, str) else to
    templates = (template for named in entry.get("dynamic_templates", ()) for template in named.values())
    for below in (*entry.get("properties", {}).values(), *(of.get("mapping", {}) for of in templates)):
        yield from copied_to(below)
