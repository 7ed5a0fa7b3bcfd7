"""The rules: which type a field gets, from what a sample shows of it, and why."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from lab.mapping.fields import DEEPEST, VALUES_TOLD_APART, Field, Numbers, Strings
from lab.mapping.names import names_identifier, names_price, names_time
from lab.mapping.values import EPOCH_MS, EPOCH_S

LEAST_TO_TRUST = 100
"""In fewer documents, values may be unique by chance."""
LONG_STRING = 256
LONGEST_TERM = 8191
"""Lucene takes terms of 32,766 bytes, and UTF-8 up to four for a character."""
LONGEST_FLATTENED = 4096
"""The same, with room for the path, which `flattened` puts before each value."""
LONGEST_SHOWN = 20
"""Characters of a value that is quoted."""
PROSE_WORDS = 8
"""On average: such texts are read, even where they repeat."""
HEADROOM = 10
"""How many times the largest value seen a whole number's type must hold."""
WIDTHS = (("byte", 8), ("short", 16), ("integer", 32))
FLOAT_DIGITS = 6
"""A float of 32 bits gives back every number of six significant digits."""
FLOAT_RANGE = (1.2e-38, 3.4e38)
"""Of the magnitudes of floats of 32 bits: servers reject what is larger, and smaller ones become 0."""
EXACT = 2**53
"""A double gives back every whole number up to it, and `scaled_float` is computed by doubles."""
MOST_DECIMALS = 4
SCALED = "scaled_float"
FLATTENED = "flattened"

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
    """

    declaration: Mapping[str, Any]
    why: str
    unsearched: str = ""


IDENTIFIER = Choice({"type": "keyword"}, "an identifier by its name: looked up, not compared")


@dataclass(frozen=True)
class Wishes:
    """Wishes of the user, who knows more of the fields than the data show.

    Attributes:
        key: The field that is the key of the documents.
        searched: Fields that are searched, whatever they look like.
        unsearched: Fields that never are.
        objects: Arrays of objects of which no question concerns two fields of the same object.
    """

    key: str | None = None
    searched: frozenset[str] = frozenset()
    unsearched: frozenset[str] = frozenset()
    objects: frozenset[str] = frozenset()


NO_WISHES = Wishes()


@dataclass(frozen=True)
class Rules:
    """The rules for one sample.

    Attributes:
        documents: Of the sample.
        has_type: Whether the servers have a type that not all builds have.
        is_whole: Whether the sample is all there is; otherwise longer strings may come.
    """

    documents: int
    wishes: Wishes = field(default_factory=Wishes)
    has_type: Callable[[str], bool] = lambda _: False
    is_whole: bool = True

    def choice(self, of: Field) -> Choice:
        """Choose the declaration of a field."""
        chosen = self.by_values(of)
        if chosen.declaration == {"type": "keyword"} and not self.is_whole:
            chosen = replace(chosen, declaration=BOUNDED)
        if of.name in self.wishes.unsearched:
            return Choice(without_index(chosen.declaration), "never searched, as you said")
        if of.name in self.wishes.searched:
            return self.searched(of, chosen)
        return chosen

    def by_values(self, of: Field) -> Choice:
        """Type that the values of a field suggest."""
        kinds = of.kinds
        if not kinds:
            return Choice(UNINDEXED, "only null or empty: any value is stored, none indexed")
        if "object" in kinds:
            return self.of_objects(of)
        if of.name == self.wishes.key and kinds <= {"long", "string"}:
            return Choice({"type": "keyword"}, "the key")
        return self.of_scalars(of)

    def of_scalars(self, of: Field) -> Choice:
        """Strings, numbers and booleans; what is now one, now the other, is a keyword."""
        kinds = of.kinds
        if kinds == {"string"}:
            chosen = of_strings(of.strings)
            is_identifier = names_identifier(of.name) and of.strings.longest <= LONG_STRING
            return IDENTIFIER if is_identifier and chosen.declaration.get("type") == "text" else chosen
        if kinds == {"boolean"}:
            return Choice({"type": "boolean"}, "true or false")
        if kinds == {"long"}:
            return self.of_whole_numbers(of)
        if kinds <= {"long", "double"}:
            return self.of_decimals(of)
        mixed = " and ".join(sorted(NAMES[kind] for kind in kinds))
        return Choice(keyword(of.strings), f"{mixed}: keyword takes all")

    def searched(self, of: Field, chosen: Choice) -> Choice:
        """Type of a field that is searched."""
        if chosen.declaration != UNINDEXED:
            return Choice(chosen.declaration, chosen.why)
        if of.kinds == {"object"} and not self.has_type(FLATTENED):
            return Choice(UNINDEXED, f"{chosen.why}; {FLATTENED}, which would index it, is not there")
        if of.kinds == {"object"}:
            declared = {"type": FLATTENED, "ignore_above": LONGEST_FLATTENED}
            return Choice(declared, "searched, and its names vary: every value is a keyword of one field")
        if of.kinds and "object" not in of.kinds:
            declared = {"type": "keyword", "ignore_above": LONGEST_TERM}
            return Choice(declared, f"searched; of more than {LONGEST_TERM:,} characters only stored")
        return chosen

    # --- objects ----------------------------------------------------------------------------------------------------

    def of_objects(self, of: Field) -> Choice:
        """Objects, in arrays or not."""
        if of.kinds != {"object"}:
            return Choice(UNINDEXED, "objects and other values: no type takes both")
        if of.is_place:
            return Choice({"type": "geo_point"}, "latitude and longitude")
        if of.unfit:
            deep = of.depth == DEEPEST
            return Choice(UNINDEXED, "too deep" if deep else "its names are values: each would be a field")
        if not (of.has_several and len(of.children) > 1):
            return Choice({}, "an object")
        if of.name in self.wishes.objects:
            return Choice({}, "no question asks for two fields of one object, as you said")
        return Choice({"type": "nested"}, f"{of.objects_mean:.1f} objects a document, each stored as a document")

    # --- numbers ----------------------------------------------------------------------------------------------------

    def of_whole_numbers(self, of: Field) -> Choice:
        """Identifiers, instants, and numbers."""
        numbers = of.numbers
        if names_identifier(of.name):
            return IDENTIFIER
        if names_time(of.name) and numbers.lie_in(EPOCH_MS):
            return Choice({"type": "date", "format": "epoch_millis"}, "milliseconds since 1970")
        if names_time(of.name) and numbers.lie_in(EPOCH_S):
            return Choice({"type": "date", "format": "epoch_second"}, "seconds since 1970")
        if self.documents >= LEAST_TO_TRUST and of.is_unique(self.documents) and len(numbers.digits) == 1:
            digits = min(numbers.digits)
            return Choice({"type": "keyword"}, f"its own in each document, always {digits} digits: an identifier")
        room = ", with room for ten times that" if HEADROOM * numbers.largest < 2**63 else ""
        return Choice({"type": width(numbers)}, f"{numbers.least:,} to {numbers.most:,}{room}")

    def of_decimals(self, of: Field) -> Choice:
        """Prices, and numbers with a point; whole ones beyond 64 bits, too, which Python reads as decimals."""
        numbers = of.numbers
        if names_identifier(of.name) and not numbers.decimals:
            return IDENTIFIER
        factor = 10**numbers.decimals
        if names_price(of.name) and 0 < numbers.decimals <= MOST_DECIMALS and numbers.largest * factor < EXACT:
            if self.has_type(SCALED):
                return Choice({"type": SCALED, "scaling_factor": factor}, f"a price of {numbers.decimals} decimals")
            why = f"a price; {SCALED} by {factor:,} is smaller where servers have it"
            return Choice({"type": "double"}, why)
        vector = len(of.array_lengths) == 1 and max(of.array_lengths) >= LEAST_DIMENSIONS
        least, most = FLOAT_RANGE
        is_in_range = least <= (numbers.smallest or 1.0) and numbers.largest <= most
        if numbers.significant <= FLOAT_DIGITS and is_in_range:
            return Choice({"type": "float"}, VECTOR if vector else f"{FLOAT_DIGITS} significant digits or fewer")
        return Choice({"type": "double"}, VECTOR if vector else why_double(numbers))


LEAST_DIMENSIONS = 16
VECTOR = "arrays of one length: a vector? see mappings/vectors.*"
NAMES = {
    "boolean": "booleans",
    "long": "whole numbers",
    "double": "decimals",
    "number": "numbers beyond 64 bits",
    "string": "strings",
}


def why_double(numbers: Numbers) -> str:
    """Why a float would not do."""
    if numbers.significant > FLOAT_DIGITS:
        return f"{numbers.significant} significant digits"
    return f"from {numbers.smallest:g} to {numbers.largest:g}, beyond the range of a float"


def width(numbers: Numbers) -> str:
    """The narrowest type that holds ten times what was seen."""
    return next((name for name, bits in WIDTHS if HEADROOM * numbers.largest < 2 ** (bits - 1)), "long")


# --- strings --------------------------------------------------------------------------------------------------------


TYPED: Mapping[str, Choice] = MappingProxyType(
    {
        "address": Choice({"type": "ip"}, "addresses"),
        "point": Choice({"type": "geo_point"}, "latitude, longitude"),
        "boolean": Choice({"type": "boolean"}, "true or false, as text"),
    }
)
"""Notation of strings → what a field of them becomes."""


def of_strings(strings: Strings) -> Choice:
    """Dates, addresses, points, booleans; `text` for what is read, `keyword` for all else."""
    notations = strings.notations
    if strings.are_dates:
        return of_dates(strings)
    if named := next((choice for name, choice in TYPED.items() if name in notations), None):
        return named
    if is_text(strings):
        return of_text(strings)
    unsearched = next((why for name, why in SELDOM_SEARCHED.items() if name in notations), "")
    if strings.longest > LONGEST_TERM:
        return Choice(UNINDEXED, f"up to {strings.longest:,} characters: no term", unsearched)
    return Choice(keyword(strings), why_keyword(strings), unsearched)


def of_dates(strings: Strings) -> Choice:
    """Dates; the few strings that are none are stored and not indexed, so that they reject no document."""
    formats = "||".join(sorted(strings.date_formats))
    declared: dict[str, Any] = {"type": "date", "format": formats}
    if not strings.no_dates:
        return Choice(declared, f"dates: {formats}")
    some = f"{strings.no_date[:LONGEST_SHOWN]!r}, " if strings.no_date.strip() else ""
    are = f"{strings.no_dates:,} of {strings.count:,} {'is' if strings.no_dates == 1 else 'are'} none"
    return Choice(declared | {"ignore_malformed": True}, f"dates: {formats}; {some}{are}: stored, not indexed")


def is_text(strings: Strings) -> bool:
    """Check that most strings are of several words, and long, or prose, or seldom the same."""
    if 2 * strings.sentences <= strings.count:
        return False
    return strings.longest > LONG_STRING or strings.words_mean >= PROSE_WORDS or not strings.repeat


def of_text(strings: Strings) -> Choice:
    """Words that are searched one by one, by the analyzer of their language."""
    words = f"{strings.words_mean:.0f} words on average"
    if 2 * strings.hangul > strings.count:
        return Choice({"type": "text", "analyzer": "korean_text"}, f"Korean, {words}")
    if 2 * strings.ideographs > strings.count:
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
