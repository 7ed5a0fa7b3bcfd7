"""The rules: which type a field gets, from what a sample shows of it, and why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from lab.mapping.fields import DEEPEST, NONE, PROSE_WORDS, VALUES_TOLD_APART, Field, Strings, Tally
from lab.mapping.names import names_identifier, names_measure, names_quantity, names_time, names_version
from lab.mapping.odd import Odd, counted, other_century, quoted
from lab.mapping.values import FRACTION_FORMAT, OPTIONAL_TIME, ZONE_FORMAT

LEAST_TO_TRUST = 100
"""In fewer documents, values may be unique by chance."""
LONG_STRING = 256
LONGEST_TERM = 8191
"""Lucene takes terms of 32,766 bytes, and UTF-8 up to four for a character."""
LONGEST_FLATTENED = 4096
"""The same, with room for the path, which `flattened` puts before each value."""
TOLERATED = 0.01
"""Share of the values of a field that may be none of its type, if the user does not say another one."""
FLOAT_RANGE = (1.2e-38, 3.4e38)
"""Of the magnitudes of floats of 32 bits: servers reject what is larger, and smaller ones become 0."""
EXACT = 2**53
"""A double gives back every whole number up to it."""
MILLIS_DECIMALS = 3
SCALED = "scaled_float"
FLATTENED = "flattened"
LENIENT_BOOLEAN = "boolean with ignore_malformed"
"""In Elasticsearch from 8.8 on (pull request 94121); all versions have it for numbers, `date`, `ip` and `geo_point`,
none has it for objects (issue 12366)."""
NUMBER: Mapping[str, Any] = MappingProxyType({"coerce": False, "ignore_malformed": True})
"""With `coerce`, a field of whole numbers indexes 10.5 as 10 (`AbstractXContentParser.longValue`)."""

UNINDEXED: Mapping[str, Any] = MappingProxyType({"type": "object", "enabled": False})
"""Takes any value and indexes none."""
ANALYZERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"korean_text": ("nori", "cjk", "standard"), "cjk_text": ("cjk", "standard")}
)
"""Name in a mapping file → the analyzers that may stand for it, best first."""
SELDOM_SEARCHED: Mapping[str, str] = MappingProxyType(
    {"link": "links", "digest": "digests", "base64": "encoded bytes", "empty": "always empty"}
)
"""Notation of strings → why nobody may search them, which data alone cannot say."""


@dataclass(frozen=True)
class Choice:
    """Declaration that is chosen for a field, and the reason.

    Attributes:
        declaration: As a mapping file has it, without the fields of an object.
        why: A few words.
        unsearched: Why nobody may ever search it; empty where nothing hints at that.
        has_odd: Whether some values of the sample are none of its type.
        ignored: Values of the sample that are stored and not indexed, as the reason says.
    """

    declaration: Mapping[str, Any]
    why: str
    unsearched: str = ""
    has_odd: bool = False
    ignored: int = 0

    @property
    def is_indexed(self) -> bool:
        """Check that anything of the field can be searched."""
        return self.declaration != UNINDEXED and self.declaration.get("index") is not False


IDENTIFIER = Choice({"type": "keyword"}, "an identifier by its name: looked up, not compared")
VERSION = Choice({"type": "keyword"}, "a version by its name: 1.10 is not 1.1")


@dataclass(frozen=True)
class Wishes:
    """Wishes of the user, who knows more of the fields than the data show.

    Attributes:
        key: The field that is the key of the documents.
        searched: Fields that are searched, whatever they look like.
        unsearched: Fields that never are.
        objects: Arrays of objects of which no question concerns two fields of the same object.
        nested: Objects that are documents of their own, in arrays or not.
        tolerated: Share of the values of a field that may be none of its type.
    """

    key: str | None = None
    searched: frozenset[str] = frozenset()
    unsearched: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    tolerated: float = TOLERATED


NO_WISHES = Wishes()


@dataclass(frozen=True)
class Rules:
    """The rules for one sample.

    Attributes:
        documents: Of the sample.
        has_type: Whether the servers have a type that not all builds have.
    """

    documents: int
    wishes: Wishes = field(default_factory=Wishes)
    has_type: Callable[[str], bool] = lambda _: False

    def choice(self, of: Field) -> Choice:
        """Choose the declaration of a field."""
        if of.name in self.wishes.unsearched and "object" in of.kinds:
            return Choice(UNINDEXED, NEVER_SEARCHED)
        chosen = self.by_values(of)
        if chosen.declaration == {"type": "keyword"}:
            chosen = replace(chosen, declaration=BOUNDED)
        if of.name in self.wishes.unsearched:
            return Choice(without_index(chosen.declaration), NEVER_SEARCHED)
        if of.name in self.wishes.searched:
            return self.searched(of, chosen)
        return chosen

    def by_values(self, of: Field) -> Choice:
        """Type that the values of a field suggest."""
        if not of.kinds:
            return Choice(UNINDEXED, "only null or empty: any value is stored, none indexed")
        kinds = of.majority()
        if of.name == self.wishes.key and of.kinds <= {"long", "string"}:
            return Choice({"type": "keyword"}, "the key")
        is_object = kinds == {"object"}
        chosen = self.of_objects(of) if is_object else self.of_scalars(of, kinds, of.except_kinds(kinds | {"object"}))
        if chosen.declaration.get("type") == "geo_point" or chosen.declaration == UNINDEXED:
            return chosen
        if of.misplaced.count:
            few = counted(of.misplaced, of.values, NO_OBJECT if is_object else AN_OBJECT)
            return replace(chosen, why=f"{chosen.why}; {few}: Elasticsearch rejects their documents", has_odd=True)
        return replace(chosen, why=f"{chosen.why}; {LATER_VALUE}") if is_object else chosen

    def of_scalars(self, of: Field, kinds: frozenset[str], others: Tally) -> Choice:
        """Strings, numbers or booleans; what is too often something else is a keyword.

        Args:
            kinds: Kinds of most values.
            others: Values of other kinds, without objects.
        """
        if others.count <= self.wishes.tolerated * of.values:
            if kinds == {"string"}:
                return self.of_strings(of, others)
            if kinds == {"boolean"}:
                return self.of_booleans(of, others)
            if kinds == {"long", "double"}:
                return self.of_numbers(of, others)
        mixed = f"{' and '.join(sorted(NAMES[kind] for kind in of.kinds))}: keyword takes all"
        if kinds != {"long", "double"} or "string" not in of.kinds or 2 * others.count >= of.values:
            return Choice(keyword(of.strings), mixed)
        few = counted(others, of.values, NO_NUMBER)
        return Choice(keyword(of.strings), f"{mixed}; {few}: {AS_TEXT}", has_odd=True)

    def of_strings(self, of: Field, others: Tally) -> Choice:
        """Strings, among which the name of a field tells identifiers and versions."""
        strings = of.strings
        chosen = of_strings(strings, others, self.wishes.tolerated, version=names_version(of.name), read_as=of.read_as)
        if chosen is TEXT_BOOLEAN:
            return self.of_booleans(of, others + strings.misfits["boolean"])
        is_identifier = names_identifier(of.name) and strings.longest <= LONG_STRING
        return IDENTIFIER if is_identifier and chosen.declaration.get("type") == "text" else chosen

    def of_booleans(self, of: Field, others: Tally) -> Choice:
        """Booleans, as JSON has them or as text; a keyword where one odd value would reject its document."""
        if self.has_type(LENIENT_BOOLEAN):
            reader = "boolean as text" if of.majority() == {"string"} else "boolean"
            return lenient({"type": "boolean"}, BOOLEAN, "boolean", Odd.of(of, others, reader))
        if of.kinds == {"boolean"}:
            why = f"{BOOLEAN}; a later value that is neither rejects its document"
            return Choice({"type": "boolean"}, why)
        return Choice({"type": "keyword"}, "true or false as text; a boolean could reject later values")

    def searched(self, of: Field, chosen: Choice) -> Choice:
        """Type of a field that is searched."""
        if not chosen.is_indexed and of.kinds == {"object"} and self.has_type(FLATTENED):
            declared = {"type": FLATTENED, "ignore_above": LONGEST_FLATTENED}
            return Choice(declared, VARYING)
        return replace(chosen, unsearched="")

    # --- objects ----------------------------------------------------------------------------------------------------

    def of_objects(self, of: Field) -> Choice:
        """Objects, in arrays or not."""
        if of.is_place(self.wishes.tolerated) and of.name not in self.wishes.nested | self.wishes.objects:
            return lenient({"type": "geo_point"}, PLACE, "place", Odd.of(of, of.misplaced, "geo_point"))
        if of.unfit:
            deep = of.depth == DEEPEST
            return Choice(UNINDEXED, "too deep" if deep else "its names are values: each would be a field")
        if not of.children:
            return Choice(UNINDEXED, "only empty objects: any value is stored, none indexed")
        if of.name in self.wishes.nested:
            return Choice({"type": "nested"}, "each object is stored as a document, as you said")
        return self.of_fields(of)

    def of_fields(self, of: Field) -> Choice:
        """Objects with fields, in arrays or not."""
        if not (of.has_several and len(of.children) > 1):
            return Choice({}, "an object")
        if of.name in self.wishes.objects:
            return Choice({}, "no question asks for two fields of one object, as you said")
        return Choice({"type": "nested"}, f"{of.objects_mean:.1f} objects a document, each stored as a document")

    # --- numbers ----------------------------------------------------------------------------------------------------

    def of_numbers(self, of: Field, others: Tally) -> Choice:
        """Identifiers, instants, vectors, decimals, whole numbers; whole ones beyond 64 bits are read as decimals."""
        numbers, odd = of.numbers, Odd(others, of.values)
        if named := self.by_name(of):
            return named
        unit = self.unit_since_1970(of)
        is_instant = names_time(of.name)
        if unit in EPOCH_FORMATS and is_instant:
            why = EPOCH_FORMATS[unit] + (TO_THE_MILLISECOND if numbers.decimals else "")
            why += ANOTHER_UNIT
            if numbers.others[unit].count:
                why = f"{why}; {other_century(numbers.others[unit], of.values, unit)}"
            chosen = lenient({"type": "date", "format": unit}, why, "date", Odd.of(of, others, "epoch"))
            return replace(chosen, has_odd=chosen.has_odd or numbers.others[unit].count > 0)
        if self.is_identifier(of):
            return Choice(
                {"type": "keyword"}, f"its own in each document, always {min(numbers.digits)} digits: an identifier"
            )
        least, most = FLOAT_RANGE
        vector = len(of.array_lengths) == 1 and max(of.array_lengths) >= LEAST_DIMENSIONS
        if vector and "double" in of.kinds and least <= (numbers.smallest or 1.0) and numbers.largest <= most:
            return lenient({"type": "float"}, VECTOR, "number", odd, also=NUMBER)
        seen = f"{numbers.least:,} to {numbers.most:,}"
        if "double" in of.kinds or (names_measure(of.name) and numbers.largest <= EXACT and not (unit and is_instant)):
            return lenient({"type": "double"}, f"{seen}; rounded beyond 15 digits", "number", odd, also=NUMBER)
        since = f", {unit} since 1970, for which there is no format" if unit in UNITS_WITHOUT_FORMAT else ""
        return lenient({"type": "long"}, f"{seen}{since}", "64-bit integer", odd, also=NUMBER)

    def by_name(self, of: Field) -> Choice | None:
        """Identifiers and versions, which the name of a field tells; `None` for other numbers."""
        if names_identifier(of.name) and not of.numbers.decimals:
            return IDENTIFIER
        is_version = "double" in of.kinds and names_version(of.name) and not names_quantity(of.name)
        return VERSION if is_version else None

    def unit_since_1970(self, of: Field) -> str:
        """Unit of numbers of which all but a few are instants of this century; empty where they are none."""
        most = max(of.numbers.instants.items(), key=lambda each: each[1], default=("", 0))
        return most[0] if most[1] and most[1] >= (1 - self.wishes.tolerated) * of.numbers.count else ""

    def is_identifier(self, of: Field) -> bool:
        """Check that each of many documents has a number of its own, always of as many digits.

        Quantities and instants by their name have such numbers by chance.
        """
        return (
            not (names_quantity(of.name) or names_time(of.name))
            and of.kinds == {"long"}
            and self.documents >= LEAST_TO_TRUST
            and of.is_unique(self.documents)
            and len(of.numbers.digits) == 1
        )


VARYING = (
    "searched, and its names vary: every value is a keyword of one field; what has more than 20 levels, a name "
    "with \\0, or more than 32,766 bytes in path and value rejects its document"
)
"""`FlattenedFieldParser` and its `depth_limit`; path and value are one term, of at most 32,766 bytes."""
NEVER_SEARCHED = "never searched, as you said"
BOOLEAN = "true or false; an empty string is false"
"""`Booleans.parseBoolean` takes the empty string for false in every version."""
PLACE = (
    "latitude and longitude, beyond 90 and 180 degrees wrapped around the earth; "
    "an array of one number is refused with its document; a word may be a geohash"
)
"""`GeoPointFieldMapper` normalizes such points where it ignores malformed ones, and rejects them elsewhere."""
EPOCH_FORMATS = {"epoch_second": "seconds since 1970", "epoch_millis": "milliseconds since 1970"}
ANOTHER_UNIT = "; a later number in another unit is indexed as another date"
UNITS_WITHOUT_FORMAT = ("microseconds", "nanoseconds")
TO_THE_MILLISECOND = ", indexed to the millisecond"
LEAST_DIMENSIONS = 16
VECTOR = "arrays of one length: a vector? see mappings/vectors.*; indexed to 7 digits"
NAMES = {
    "boolean": "booleans",
    "long": "whole numbers",
    "double": "decimals",
    "number": "numbers beyond 64 bits or a double",
    "string": "strings",
    "object": "objects",
}


def lenient(
    declaration: Mapping[str, Any],
    why: str,
    noun: str,
    odd: Odd,
    *,
    also: Mapping[str, Any] | None = None,
) -> Choice:
    """Type whose field stores a value of another type without indexing it, and says so.

    Args:
        noun: A value of the type.
        also: Further parameters of the declaration.
    """
    others, count, taken = odd.others, odd.values, odd.taken
    ignored = others.count - taken.count
    declared = {**declaration, **(also or {}), "ignore_malformed": True}
    none = (f"no {noun}", f"no {noun}{'es' if noun.endswith('s') else 's'}")
    if taken.count:
        are = "is" if taken.count == 1 else "are"
        why = f"{why}; {taken.count:,} of {count:,} {are} indexed as something else ({quoted(taken)}: {odd.meaning})"
    left = replace(others, count=ignored)
    rest = f"{counted(left, count, none, taken.first)}:" if ignored else f"what is no {noun} is"
    return Choice(declared, f"{why}; {rest} stored, not indexed", has_odd=others.count > 0, ignored=ignored)


NO_NUMBER = ("no number", "no numbers")
AS_TEXT = "ranges and sums need one notation"
LATER_VALUE = "a value that is no object rejects its document"
AN_OBJECT, NO_OBJECT = ("an object", "objects"), ("no object", "no objects")


# --- strings --------------------------------------------------------------------------------------------------------


TEXT_BOOLEAN = Choice({"type": "boolean"}, "true or false, as text")
"""A boolean if servers are lenient with it."""


def of_strings(
    strings: Strings,
    others: Tally = NONE,
    tolerated: float = TOLERATED,
    *,
    version: bool = False,
    read_as: Mapping[str, Tally] = MappingProxyType({}),
) -> Choice:
    """Dates, addresses, points, booleans; `text` for what is read, `keyword` for all else.

    Args:
        others: Values of the field that are no strings.
        tolerated: Share of the values that may be none of the type.
        version: Whether the field has a version by its name, which looks like an address.
        read_as: Values that servers take for something that few mean, as a `Field` has them.
    """
    count = strings.count + others.count
    fitting = {
        name: others + misfits
        for name, misfits in strings.misfits.items()
        if others.count + misfits.count <= tolerated * count
    }
    odd = {name: Odd.read(of, count, read_as, READERS[name]) for name, of in fitting.items() if name in READERS}
    if typed := typed_strings(strings, odd, fitting, version=version):
        return typed
    if is_text(strings):
        return of_text(strings)
    unsearched = next((why for name, why in SELDOM_SEARCHED.items() if name in strings.notations), "")
    if strings.longest > LONGEST_TERM:
        why = f"up to {strings.longest:,} characters; beyond {LONGEST_TERM:,} stored, not indexed"
        return Choice(BOUNDED, why, unsearched)
    if mostly := most_are(strings):
        return Choice(keyword(strings), f"{why_keyword(strings)}; {mostly}: {AS_TEXT}", has_odd=True)
    return Choice(keyword(strings), why_keyword(strings), unsearched)


def most_are(strings: Strings) -> str:
    """Clause on strings of which most are dates, or numbers with decimals, and too many are not; else empty."""
    few = {name: of for name, of in strings.misfits.items() if 0 < 2 * of.count < strings.count}
    if "date" in few:
        return counted(few["date"], strings.count, ("no date", "no dates"))
    are_whole = "digits" in strings.notations or "digits" in few
    return counted(few["number"], strings.count, NO_NUMBER) if "number" in few and not are_whole else ""


READERS: Mapping[str, str] = MappingProxyType(
    {"date": OPTIONAL_TIME, "point": "geo_point as text", "address": "address"}
)
"""Notation of strings → what reads them, of `READ_BY`."""


def typed_strings(
    strings: Strings, odd: Mapping[str, Odd], fitting: Mapping[str, Tally], *, version: bool
) -> Choice | None:
    """Dates, addresses, points or booleans; `None` for other strings.

    Args:
        odd: Notation that all but a few values of the field are in → the values that are not.
        fitting: The same, without what servers make of them.
    """
    if "date" in odd:
        return of_dates(strings, odd["date"])
    longer = "version" in fitting and "address" in fitting and fitting["version"].count < fitting["address"].count
    if "address" in fitting and not (version or longer):
        return lenient({"type": "ip"}, "addresses, without the zone behind %", "address", odd["address"])
    if "point" in odd:
        return lenient({"type": "geo_point"}, PLACE, "place", odd["point"])
    return TEXT_BOOLEAN if "boolean" in fitting else None


def of_dates(strings: Strings, odd: Odd) -> Choice:
    """Dates; the few values that are none are stored and not indexed, so that they reject no document."""
    formats = sorted(strings.date_formats)
    if any("[" in each for each in formats):
        # The first one is how servers write dates, and none with choices serves for that.
        formats = list(dict.fromkeys([OPTIONAL_TIME, *formats]))
    if OPTIONAL_TIME not in formats:
        odd = replace(odd, taken=NONE)
    declared = {"type": "date", "format": "||".join(formats)}
    if any("MMM" in each for each in formats):
        declared["locale"] = "en"
    precision = TO_THE_MILLISECOND if strings.date_decimals > MILLIS_DECIMALS else ""
    shown = "||".join(each.replace(FRACTION_FORMAT, "[.S]").replace(ZONE_FORMAT, "[X]") for each in formats)
    year = "; a bare year is its first day" if OPTIONAL_TIME in formats else ""
    return lenient(declared, f"dates: {shown}{precision}{year}", "date", odd)


def is_text(strings: Strings) -> bool:
    """Check that most strings are of several words, and long, or prose, or seldom the same."""
    if 2 * strings.sentences <= strings.count:
        return False
    return strings.longest > LONG_STRING or strings.words_mean >= PROSE_WORDS or not strings.repeat


def of_text(strings: Strings) -> Choice:
    """Words that are searched one by one, by the analyzer of their language."""
    words = f"{strings.words_mean:.0f} words on average"
    if 2 * strings.hangul > strings.letters:
        return Choice({"type": "text", "analyzer": "korean_text"}, f"Korean, {words}")
    if 2 * strings.ideographs > strings.letters:
        return Choice({"type": "text", "analyzer": "cjk_text"}, f"Chinese or Japanese, {words}")
    return Choice({"type": "text"}, f"{words}; analyzer standard")


BOUNDED: Mapping[str, Any] = MappingProxyType({"type": "keyword", "ignore_above": LONGEST_TERM})
"""A keyword whose longer strings are stored only: Lucene would reject their documents."""


def keyword(strings: Strings) -> Mapping[str, Any]:
    """A keyword, whose terms Lucene takes."""
    return BOUNDED if strings.longest > LONG_STRING else {"type": "keyword"}


def why_keyword(strings: Strings) -> str:
    """Why strings are no text."""
    if strings.leading_zeros:
        return "digits with leading zeros, which a number would lose"
    if "digits" in strings.notations:
        return "digits written as text: an identifier"
    if "empty" in strings.notations:
        return "always empty here"
    if len(strings.distinct) == 1 and strings.repeat:
        return "always the same here"
    if strings.repeat:
        about = "about " if len(strings.distinct) == VALUES_TOLD_APART else ""
        return f"{about}{strings.values:,.0f} different values that repeat"
    named = next((why for name, why in SELDOM_SEARCHED.items() if name in strings.notations), "")
    characters = f"{strings.longest:,} character{'' if strings.longest == 1 else 's'}"
    return named or f"up to {characters}, looked up as a whole"


# --- what is not searched -------------------------------------------------------------------------------------------

CAN_BE_UNINDEXED = frozenset(
    {"keyword", "boolean", "byte", "short", "integer", "long", "float", "double", SCALED, "date", "ip"}
)
"""Types that take both `index: false` and `doc_values: false` in every version."""


def without_index(declaration: Mapping[str, Any]) -> Mapping[str, Any]:
    """Type of a field that is stored without anything for searches and aggregations."""
    if declaration.get("type") not in CAN_BE_UNINDEXED:
        return UNINDEXED
    kept = {name: value for name, value in declaration.items() if name != "ignore_above"}
    return {**kept, "index": False, "doc_values": False}
