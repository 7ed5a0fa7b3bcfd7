"""Whether a stored document is what was produced: as JSON, or by the rules of an index that rebuilds `_source`.

As JSON: objects have no order, `true` is not `1`, and `1` is not `1.0`, since Elasticsearch keeps the bytes that it was
sent. Numbers beyond 64 bits and decimals are compared as doubles. A document with NaN or a key twice is no JSON that
Elasticsearch takes.

Source of the rules: Elasticsearch's reference, "Synthetic `_source` modifications" (mapping-source-field.md), the
"Synthetic `_source`" of each field type, and "Columnar index mode" (columnar.md). What they leave open was read off
8.19.21 and 9.5.3: nulls and empty arrays and objects vanish, and `columnar` drops what is not mapped.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from ipaddress import ip_address
from math import floor, isclose
from typing import Any, Literal

import numpy as np

from producers.json_values import dumped

VECTOR_ROUNDING = 1e-6
"""A vector that is normalised, stored and multiplied again passes some roundings of 6e-8 each."""
REBUILDING_MODES = frozenset({"time_series", "logsdb", "columnar", "logsdb_columnar"})
GEO_STEPS = 1 << 32
"""Latitudes, and longitudes, that Lucene tells apart (`GeoEncodingUtils`)."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_OR_MONTH = re.compile(r"\d{4}(-\d{2})?")
DATE_FORMATS = re.compile(
    r"(strict_)?(date(_optional)?(_time)?(_no_millis|_nanos)?|year|year_month)|epoch_millis|epoch_second"
    r"|yyyy(-MM(-dd(( |'T')HH:mm(:ss(\.SSS)?)?)?)?)?"
)
WHOLE_INSTANTS = re.compile(r"(strict_)?date_optional_time(_nanos)?|(strict_)?date_time|epoch_millis")
"""Formats that cut nothing off an instant that was sent in another one: dates come back in the first format."""
DEFAULT_DATE_FORMAT = "strict_date_optional_time||epoch_millis"

FieldMapping = Mapping[str, Any]
Kind = Literal["stored", "rebuilt", "none"]


# --- as JSON --------------------------------------------------------------------------------------------------------


def is_same_json(produced: object, stored: object, vectors: Set[str] = frozenset()) -> bool:
    """Whether two values are the same JSON.

    Args:
        vectors: Fields of the document whose vectors may differ by the rounding of 32-bit numbers.
    """
    if type(produced) is not type(stored):
        return False
    if isinstance(produced, dict) and isinstance(stored, dict):
        return produced.keys() == stored.keys() and all(
            is_same_json(value, stored[name]) or (name in vectors and is_same_vector(value, stored[name]))
            for name, value in produced.items()
        )
    if isinstance(produced, list) and isinstance(stored, list):
        return len(produced) == len(stored) and all(map(is_same_json, produced, stored))
    return produced == stored


def is_same_vector(produced: object, stored: object) -> bool:
    """Whether two lists of numbers differ by no more than the rounding of 32-bit numbers."""
    if not (isinstance(produced, list) and isinstance(stored, list) and len(produced) == len(stored)):
        return False
    if not all(type(value) in (int, float) for value in (*produced, *stored)):
        return False
    return all(isclose(value, other, rel_tol=VECTOR_ROUNDING) for value, other in zip(produced, stored, strict=True))


# --- of a rebuilt source --------------------------------------------------------------------------------------------


def text(value: object, _: FieldMapping) -> str:
    """A value as a field of strings takes it: `true`, `1`."""
    return value if isinstance(value, str) else dumped(value).decode()


def number(value: object, of: FieldMapping) -> float:
    """A value of a field of strings as a number: 1.50, which was sent as one, comes back as `"1.50"`."""
    return float(text(value, of))


def whole(value: Any, _: FieldMapping) -> int:
    """A value as a field of whole numbers takes it: `7.9` and `"7"` are 7."""
    if isinstance(value, str):
        return int(value) if value.lstrip("+-").isdigit() else int(float(value))
    return int(value)


def rounded(value: Any, of: FieldMapping) -> float:
    """A value as a field of decimals keeps it."""
    if of["type"] == "scaled_float":
        return float(floor(float(value) * of["scaling_factor"] + 0.5))
    bits: Mapping[str, Callable[[float], Any]] = {"half_float": np.float16, "float": np.float32}
    return float(bits.get(of["type"], float)(float(value)))


def truth(value: object, _: FieldMapping) -> bool:
    """A value as a boolean field takes it."""
    return {"true": True, "false": False, "": False}[value] if isinstance(value, str) else bool(value)


def instant(value: object, of: FieldMapping) -> int:
    """A date in milliseconds since the epoch, one of `date_nanos` in microseconds."""
    unit = timedelta(microseconds=1) if of["type"] == "date_nanos" else timedelta(milliseconds=1)
    formats, written = of.get("format", DEFAULT_DATE_FORMAT), text(value, of)
    if YEAR_OR_MONTH.fullmatch(written) and not formats.startswith("epoch"):
        written = f"{written}-01-01"[:10]
    elif written.lstrip("-").isdigit():
        first = re.search("epoch_second|epoch_millis", formats)
        times = timedelta(seconds=1) if first and first[0] == "epoch_second" else timedelta(milliseconds=1)
        return int(written) * (times // unit)
    parsed = datetime.fromisoformat(written)
    return (parsed.replace(tzinfo=parsed.tzinfo or UTC) - EPOCH) // unit


def place(value: Any, _: FieldMapping) -> tuple[int, int]:
    """A point of `geo_point` as Lucene keeps it: latitude and longitude in 2³² steps."""
    if isinstance(value, str):
        lat, lon = map(float, value.split(","))
    elif isinstance(value, dict):
        lat, lon = (value["lat"], value["lon"]) if "lat" in value else value["coordinates"][1::-1]
    else:
        lon, lat = value[:2]
    return floor((float(lat) + 90) / (180 / GEO_STEPS)), floor((float(lon) + 180) / (360 / GEO_STEPS))


def address(value: object, _: FieldMapping) -> str:
    """An IP address in its shortest form."""
    return str(ip_address(str(value)))


ONCE: Mapping[str, Callable[[Any, FieldMapping], Hashable]] = {
    **dict.fromkeys(("keyword", "wildcard", "text", "match_only_text", "binary"), text),
    "ip": address,
}
"""Types of which equal values come back once, in another order."""

AS_OFTEN: Mapping[str, Callable[[Any, FieldMapping], Hashable]] = {
    **dict.fromkeys(("long", "integer", "short", "byte", "unsigned_long"), whole),
    **dict.fromkeys(("double", "float", "half_float", "scaled_float"), rounded),
    **dict.fromkeys(("date", "date_nanos"), instant),
    "boolean": truth,
    "geo_point": place,
}
"""Types of which each value comes back, in another order."""

OTHERS = frozenset({"object", "nested", "flattened", "dense_vector", "alias"})
CHANGING = frozenset({"null_value", "normalizer", "script"})
"""Parameters that make other values of those that were sent."""


@dataclass(frozen=True)
class SourceRules:
    """How an index gives its documents back.

    Attributes:
        kind: `stored`: as they were sent; `rebuilt`: from what else is stored of their fields; `none`: not, or in part.
        fields: Of a rebuilt source, the path of each field and its part of the mapping.
        keeps_unmapped: Whether what has no field comes back, too.
        is_dynamic: Whether every value gets a field.
        vectors: Fields whose vectors come back rounded to 32 bits: from 9.2 on Elasticsearch stores none in `_source`,
            but rebuilds them from what it searches, 0.1245 as 0.12450001.
    """

    kind: Kind = "stored"
    fields: Mapping[str, FieldMapping] = field(default_factory=dict)
    keeps_unmapped: bool = True
    is_dynamic: bool = True
    vectors: frozenset[str] = frozenset()

    @classmethod
    def of_all(cls, described: Iterable[tuple[Mapping[str, object], Mapping[str, Any]]]) -> "SourceRules":
        """Those of all indices behind a name; `none` where they differ: which one has a document is not known then."""
        rules = [cls.of(*each) for each in described]
        vectors = frozenset(name for each in rules for name in each.vectors)
        first, *others = (replace(each, vectors=vectors) for each in rules)
        return first if all(each == first for each in others) else cls("none")

    @classmethod
    def of(cls, settings: Mapping[str, object], mapping: Mapping[str, Any]) -> "SourceRules":
        """Those of an index with these settings, the defaults included, and this mapping."""
        source, mode = mapping.get("_source", {}), str(settings.get("index.mode", "standard")).lower()
        # OpenSearch rebuilds a derived source by rules of its own.
        is_derived = str(settings.get("index.derived_source.enabled", False)).lower() == "true"
        if is_derived or not is_enabled(source) or source.get("includes") or source.get("excludes"):
            return cls("none")
        leaves_out = str(settings.get("index.mapping.exclude_source_vectors")).lower() == "true"
        properties = mapping.get("properties", {}) if leaves_out else {}
        vectors = frozenset(name for name, of in properties.items() if of.get("type") == "dense_vector")
        default = "synthetic" if mode in REBUILDING_MODES else "stored"
        of_mapping = source.get("mode", "stored")
        of_index = settings.get("index.mapping.source.mode", default)
        if {str(of_mapping).lower(), str(of_index).lower()} == {"stored"}:
            return cls(vectors=vectors)
        # A columnar index keeps objects out of its fields, but for those that are not mapped at all.
        objects = {name: of for name, of in mapping.get("prefix_properties", {}).items() if not is_enabled(of)}
        return cls(
            "rebuilt",
            {**objects, **dict(fields_of(mapping))},
            keeps_unmapped="columnar" not in mode,
            is_dynamic=str(mapping.get("dynamic", True)).lower() not in {"false", "runtime"},
            vectors=vectors,
        )

    @cached_property
    def compared(self) -> Set[str]:
        """Paths of the fields that a rule is known for."""
        return {path for path, of in self.fields.items() if self.has_rule(of)}

    @property
    def not_compared(self) -> tuple[str, ...]:
        """Fields that no rule is known for, and what else is not compared of a rebuilt source."""
        unmapped = () if self.keeps_unmapped or self.is_dynamic else ("what is not mapped",)
        return (*(path for path in self.fields if path not in self.compared), *unmapped)

    def has_rule(self, of: FieldMapping) -> bool:
        """Whether it is known how such a field comes back."""
        kind = of.get("type", "object")
        if kind == "object" and not is_enabled(of):
            return self.keeps_unmapped
        if kind in {"date", "date_nanos"} and not has_known_format(of):
            return False
        return kind in {*ONCE, *AS_OFTEN, *OTHERS} and not CHANGING & of.keys()

    def is_same(self, produced: object, stored: object) -> bool:
        """Whether a document came back as it was produced; for `none` it always did."""
        if self.kind == "rebuilt":
            return isinstance(produced, dict) and isinstance(stored, dict) and self.is_rebuilt(produced, stored)
        return self.kind == "none" or is_same_json(produced, stored, self.vectors)

    def is_rebuilt(self, produced: Mapping[str, Any], stored: Mapping[str, Any], prefix: str = "") -> bool:
        """Whether an object, or a nested one below `prefix`, is what Elasticsearch makes of the one produced."""
        due, found = (self.leaves(document, prefix) for document in (produced, stored))
        return all(self.is_same_field(path, due[path], found[path]) for path in {*due, *found})

    def leaves(self, document: Mapping[str, Any], prefix: str) -> defaultdict[str, list[Any]]:
        """The values of each field, by its path: arrays are moved to the leaves, and what is empty vanishes."""
        leaves: defaultdict[str, list[Any]] = defaultdict(list)

        def visit(path: str, value: Any) -> None:
            of = self.fields.get(path)
            kind = of.get("type", "object") if of else "object"
            is_one = kind == "dense_vector" or (kind == "geo_point" and is_pair(value))
            if isinstance(value, list) and not is_one:
                for each in value:
                    visit(path, each)
            elif isinstance(value, dict) and kind == "object" and (of is None or is_enabled(of)):
                for name, each in value.items():
                    visit(f"{path}.{name}", each)
            elif value is not None:
                leaves[path].append(value)

        for name, value in document.items():
            visit(f"{prefix}{name}", value)
        return leaves

    def is_same_field(self, path: str, produced: Sequence[Any], stored: Sequence[Any]) -> bool:
        """Whether the values of a field are what Elasticsearch makes of those produced."""
        of = self.fields.get(path)
        if of is None:
            return not self.keeps_unmapped or is_same_json(produced, stored)
        if path not in self.compared:
            return True
        kind = of.get("type", "object")
        one_by_one: Mapping[str, Callable[[Any, Any], bool]] = {
            "nested": lambda one, other: self.is_rebuilt(one, other, f"{path}."),
            "dense_vector": is_same_vector,
            "object": is_same_json,
        }
        if kind in one_by_one:
            return len(produced) == len(stored) and all(map(one_by_one[kind], produced, stored))
        if kind in ONCE and has_decimal(produced):
            return set(kept(produced, of, number)) == set(kept(stored, of, number))
        return self.form_of_field(path, produced) == self.form_of_field(path, stored)

    def form(self, document: object, prefix: str = "") -> Hashable:
        """A form that a document has before and after it was stored, and no other document has, by the same rules.

        Raises:
            FormlessError: It may have a vector, or has a decimal in a field of strings: only two documents side by
                side can be compared. Or no document comes back.
        """
        if self.kind == "none" or self.vectors:
            raise FormlessError("_source")
        if self.kind != "rebuilt" or not isinstance(document, dict):
            return dumped(document)
        return frozenset(
            (path, self.form_of_field(path, values))
            for path, values in self.leaves(document, prefix).items()
            if path in self.compared or (self.keeps_unmapped and path not in self.fields)
        )

    def form_of_field(self, path: str, values: Sequence[Any]) -> Hashable:
        """What such a form has of the values of one field; raises as `form` does."""
        of = self.fields.get(path, {})
        kind = of.get("type", "object")
        if kind == "dense_vector" or (kind in ONCE and has_decimal(values)):
            raise FormlessError(path)
        if kind == "nested":
            return tuple(self.form(each, f"{path}.") for each in values)
        if kind in AS_OFTEN:
            return frozenset(Counter(kept(values, of, AS_OFTEN[kind])).items())
        if kind == "flattened":
            return frozenset(flattened(values))
        if kind in ONCE:
            return frozenset(kept(values, of, ONCE[kind]))
        return dumped(values)


AS_STORED = SourceRules()


def fields_of(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, FieldMapping]]:
    """The path of each field of a mapping, and its part of it; objects come before their fields."""
    for name, of in mapping.get("properties", {}).items():
        yield f"{prefix}{name}", of
        yield from fields_of(of, f"{prefix}{name}.")


class FormlessError(Exception):
    """A document has no form of its own: a value of the field that the argument names has several."""


def has_decimal(values: Sequence[Any]) -> bool:
    """Check that a value was sent as a decimal: a field of strings writes 1.50, which is `1.5` here, as it was sent."""
    return float in set(map(type, values))


def is_enabled(of: FieldMapping) -> bool:
    """Whether the fields of an object are mapped at all, or `_source` is kept."""
    return str(of.get("enabled", True)).lower() != "false"


def has_known_format(of: FieldMapping) -> bool:
    """Whether the dates of a field can be read, and come back whole."""
    first, *others = of.get("format", DEFAULT_DATE_FORMAT).split("||")
    if others and not WHOLE_INSTANTS.fullmatch(first):
        return False
    return all(map(DATE_FORMATS.fullmatch, (first, *others)))


def is_pair(value: object) -> bool:
    """Whether a value is one point, as longitude and latitude."""
    return isinstance(value, list) and len(value) in (2, 3) and all(type(each) in (int, float) for each in value)


def kept(values: Sequence[Any], of: FieldMapping, rule: Callable[[Any, FieldMapping], Hashable]) -> Iterator[Hashable]:
    """Each value as its field keeps it; one that the field cannot take is kept as it is (`ignore_malformed`)."""
    for value in values:
        try:
            yield rule(value, of)
        except (KeyError, TypeError, ValueError, OverflowError):
            yield value if isinstance(value, str) else dumped(value).decode()


def flattened(values: Sequence[Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Key and text of each leaf of a field of the type `flattened`."""
    for value in values:
        if isinstance(value, dict):
            for name, each in value.items():
                yield from flattened([each], f"{path}.{name}")
        elif isinstance(value, list):
            yield from flattened(value, path)
        elif value is not None:
            yield path, text(value, {})
