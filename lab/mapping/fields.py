"""Fields of a sample of documents: kinds, values, and fitness as the key."""

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf, isfinite
from typing import Any, NamedTuple

from lab.mapping.values import EPOCHS, NOTATIONS, READ_BY, date_of, is_on_earth, ways_of, words_of_text

LONG = range(-(2**63), 2**63)
MOST_FIELDS = 1000
"""Elasticsearch's default limit (`index.mapping.total_fields.limit`)."""
MOST_CHILDREN = 200
"""More names in an object below the top are taken for values, such as dates or ids, and not for fields."""
DEEPEST = 18
"""Elasticsearch takes 20 levels; an object at this one still has room for its fields."""
VALUES_TOLD_APART = 1000
OBJECT = "{…}"
"""Stands for an object where values are shown."""
YEARS = range(1000, 10_000)
"""Numbers that servers read as a year where a field has dates in ISO 8601."""
SENTENCE_WORDS, PROSE_WORDS = 3, 8
"""Texts of so many words on average are read, even where they repeat."""
LONGEST_KEY_BYTES = 512
FIRST_OTHERS = 20
"""As many strings may be none of a notation at the beginning of a file whose later strings are."""
GROUPS = (frozenset({"object"}), frozenset({"string"}), frozenset({"long", "double"}), frozenset({"boolean"}),
          frozenset({"number"}))  # fmt: skip
"""Kinds of values that one type takes together."""


class Origin(NamedTuple):
    """A document of the sample.

    Attributes:
        number: Its number in the sample, from 1.
        where: Its place in the file, as a message names it.
    """

    number: int
    where: object = ""


@dataclass
class Tally:
    """Values that have something in common.

    Attributes:
        first: The first of them, as text.
        origin: The document of that one.
    """

    count: int = 0
    first: str = ""
    origin: Origin = field(default_factory=lambda: Origin(0))

    def see(self, value: object, origin: Origin) -> None:
        """Count one more."""
        if not self.count:
            self.first, self.origin = str(value), origin
        self.count += 1

    def __add__(self, other: "Tally") -> "Tally":
        """Both, the first of which is the one in the earlier document."""
        if not (self.count and other.count):
            return self if self.count else other
        earlier = min(self, other, key=lambda tally: tally.origin.number)
        return Tally(self.count + other.count, earlier.first, earlier.origin)


NONE = Tally()


class BlankNameError(ValueError):
    """A field has no name, or a part of its path has none: Elasticsearch rejects the document, whatever the mapping.

    A name of blanks alone 7.17 takes, and later versions do not.
    """


@dataclass
class Strings:
    """The strings of one field.

    Attributes:
        sentences: Those of three words or more. Few words with more digits than letters are none, such as a date, a
            phone number or a size.
        words: Of all of them together.
        longest: Characters of the longest.
        distinct: Hashes of the first thousand different ones.
        told_apart: Strings until those were together.
        known: Strings after that which are one of them.
        date_formats: Formats that take all dates among them together.
        date_decimals: Most decimals of the seconds of a date.
        misfits: Notation of `NOTATIONS` → the strings that are not in it; without notations that few of them are in.
        leading_zeros: Those of digits that begin with a zero.
        letters: Of all of them together.
        hangul, ideographs: Letters of these among them.
    """

    count: int = 0
    sentences: int = 0
    words: int = 0
    longest: int = 0
    distinct: set[int] = field(default_factory=set)
    told_apart: int = 0
    known: int = 0
    date_formats: set[str] = field(default_factory=set)
    date_decimals: int = 0
    misfits: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in NOTATIONS})
    leading_zeros: int = 0
    letters: int = 0
    hangul: int = 0
    ideographs: int = 0

    def see(self, text: str, origin: Origin) -> None:
        """Count one more."""
        self.count += 1
        self.longest = max(self.longest, len(text))
        words = words_of_text(text)
        self.words += words.count
        is_prose = words.letters > words.digits or words.count >= PROSE_WORDS
        self.sentences += words.count >= SENTENCE_WORDS and is_prose
        self.letters += words.letters
        self.hangul += words.hangul
        self.ideographs += words.ideographs
        if len(self.distinct) < VALUES_TOLD_APART:
            self.distinct.add(hash(text))
            self.told_apart = self.count
        else:
            self.known += hash(text) in self.distinct
        self.leading_zeros += "digits" in self.misfits and text.isdecimal() and len(text) > 1 and text[0] == "0"
        for name in tuple(self.misfits):
            if not NOTATIONS[name](text):
                self.see_misfit(name, text, origin)
        if "date" in self.misfits and (date := date_of(text)):
            self.date_formats.add(date.format)
            self.date_decimals = max(self.date_decimals, date.decimals)

    def see_misfit(self, notation: str, text: str, origin: Origin) -> None:
        """Count a string that is not in a notation, which is dropped where most strings are not in it."""
        misfits = self.misfits[notation]
        misfits.see(text, origin)
        if misfits.count > max(FIRST_OTHERS, self.count / 2):
            del self.misfits[notation]

    @property
    def notations(self) -> set[str]:
        """Notations that all strings are in."""
        return {name for name, misfits in self.misfits.items() if not misfits.count}

    @property
    def repeat(self) -> bool:
        """Check that a value occurs twice or more on average, as a category's does."""
        return 2 * self.values <= self.count

    @property
    def values(self) -> float:
        """Number of different strings; an estimate where they are too many to keep.

        Of V values that are equally frequent, a thousand are known, and of the later strings 1,000/V are one of those.
        """
        later = self.count - self.told_apart
        if not later:
            return len(self.distinct)
        return len(self.distinct) * later / self.known if self.known else inf

    @property
    def words_mean(self) -> float:
        """Words of a string, on average."""
        return self.words / self.count if self.count else 0.0


@dataclass
class Numbers:
    """The numbers of one field.

    Attributes:
        least, most: The smallest and the largest; `None` before the first.
        smallest: The smallest magnitude that is not zero.
        decimals: Most digits after the point.
        instants: Name of a unit of `EPOCHS` → numbers that are instants of this century in it.
        others: The same unit → those that are not.
        digits: How many digits whole numbers have.
    """

    count: int = 0
    least: float | None = None
    most: float | None = None
    smallest: float | None = None
    decimals: int = 0
    digits: set[int] = field(default_factory=set)
    instants: dict[str, int] = field(default_factory=dict)
    others: dict[str, Tally] = field(default_factory=lambda: {unit: Tally() for unit in EPOCHS})

    def see(self, value: float, origin: Origin) -> None:
        """Count one more."""
        self.count += 1
        self.least = value if self.least is None else min(self.least, value)
        self.most = value if self.most is None else max(self.most, value)
        self.see_instant(value, origin)
        if value:
            self.smallest = abs(value) if self.smallest is None else min(self.smallest, abs(value))
        if isinstance(value, int):
            self.digits.add(len(str(abs(value))))
            return
        exact = Decimal(repr(value)).normalize().as_tuple()
        self.decimals = max(self.decimals, -int(exact.exponent))

    def see_instant(self, value: float, origin: Origin) -> None:
        """Count a number under the unit in which it is an instant of this century."""
        for unit, span in EPOCHS.items():
            if span.start <= value < span.stop:
                self.instants[unit] = self.instants.get(unit, 0) + 1
            else:
                self.others[unit].see(value, origin)

    @property
    def largest(self) -> float:
        """The largest magnitude."""
        return max(abs(self.least or 0), abs(self.most or 0))


@dataclass
class Field:
    """Field of a sample: its values in all documents.

    Attributes:
        depth: Objects that it is in.
        tallies: Values by kind: `boolean`, `long`, `double`, `string`, `object`, and `number` for whole numbers beyond
            64 bits and those beyond a double.
        documents: How many have it.
        objects: How many objects it has held, in arrays or not.
        array_lengths: The first two different lengths of its arrays.
        keys: Hashes of the values as long as each document has had one of its own; `None` from then on.
        read_as: What reads values, of `READ_BY` → strings that are written in ways that it takes, although few mean it.
        has_several: Whether an array of it held two objects or more.
        unfit: Whether the fields of an object cannot be declared one by one: their names are values, or too deep.
    """

    name: str
    depth: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)
    strings: Strings = field(default_factory=Strings)
    numbers: Numbers = field(default_factory=Numbers)
    children: dict[str, "Field"] = field(default_factory=dict)
    documents: int = 0
    objects: int = 0
    array_lengths: set[int] = field(default_factory=set)
    keys: set[int] | None = field(default_factory=set)
    read_as: dict[str, Tally] = field(default_factory=dict)
    has_several: bool = False
    unfit: bool = False
    _last_document: int = 0

    @property
    def kinds(self) -> set[str]:
        """Kinds of its values."""
        return set(self.tallies)

    @property
    def values(self) -> int:
        """Number of its values, those of arrays one by one."""
        return sum(tally.count for tally in self.tallies.values())

    def count(self, kind: str, value: object, origin: Origin) -> None:
        """Count a value of a kind."""
        if kind not in self.tallies:
            self.tallies[kind] = Tally()
        self.tallies[kind].see(value, origin)

    def majority(self) -> frozenset[str]:
        """Kinds of most values, which one type takes together."""
        return max(GROUPS, key=lambda kinds: sum(self.tallies.get(kind, NONE).count for kind in kinds))

    def except_kinds(self, kinds: Set[str]) -> Tally:
        """Values of other kinds than these."""
        return sum((tally for kind, tally in self.tallies.items() if kind not in kinds), NONE)

    @property
    def misplaced(self) -> Tally:
        """Objects where most values are none, or the values that are none where most are objects with fields."""
        is_bare = "object" in self.majority() and not (self.children or self.unfit)
        if "object" not in self.tallies or is_bare:
            return NONE
        return self.except_kinds({"object"}) if "object" in self.majority() else self.tallies["object"]

    def see(self, value: Any, document: Origin, *, in_array: bool = False) -> None:
        """Take note of a value.

        Raises:
            BlankNameError: An object in it has a field without a name.
        """
        self.documents += document.number != self._last_document
        self._last_document = document.number
        if isinstance(value, list):
            self.see_array(value, document)
        elif isinstance(value, dict):
            self.count("object", OBJECT, document)
            self.keys = None
            self.objects += 1
            self.see_object(value, document, in_array=in_array)
        elif value is not None:
            self.see_scalar(value, document, in_array=in_array)

    def see_array(self, values: list[Any], document: Origin) -> None:
        """Take note of each value of an array."""
        self.has_several |= sum(isinstance(each, dict) for each in values) > 1
        if len(self.array_lengths) < 2:
            self.array_lengths.add(len(values))
        for each in values:
            self.see(each, document, in_array=True)

    def see_scalar(self, value: Any, document: Origin, *, in_array: bool) -> None:
        """Take note of a string, a number or a boolean."""
        kind = kind_of(value)
        self.count(kind, value, document)
        if kind == "string":
            self.strings.see(value, document)
            self.see_ways(value, ways_of(value), document)
        elif kind in ("long", "double"):
            self.numbers.see(value, document)
            if kind == "long" and YEARS[0] <= value <= YEARS[-1]:
                self.see_ways(value, frozenset({"year"}), document)
        self.see_key(value, document.number, in_array=in_array)

    def see_ways(self, value: object, ways: Set[str], document: Origin) -> None:
        """Count a value under what would read it in one of these ways."""
        for reader, taken in READ_BY.items() if ways else ():
            if not ways.isdisjoint(taken):
                self.read_as.setdefault(reader, Tally()).see(value, document)

    def see_object(self, value: dict[str, Any], document: Origin, *, in_array: bool = False) -> None:
        """Take note of an object's fields; a name with dots is a path, as Elasticsearch takes it."""
        for path, of in value.items():
            names = path.split(".")
            # Most names begin and end with a letter, and have no dot.
            if not (path.isalnum() or all(map(str.strip, names))):
                raise BlankNameError(f"{self.name}.{path}".lstrip("."))
            at: Field | None = self
            for name in names:
                assert at is not None  # noqa: S101 - the loop ends where there is none
                if at is not self:
                    at.count("object", OBJECT, document)
                if (at := at.child(name)) is None:
                    break
            else:
                assert at is not None  # noqa: S101 - every name has been found
                at.see(of, document, in_array=in_array)

    def child(self, name: str) -> "Field | None":
        """The field of that name in this object; `None` where there are too many or too deep ones."""
        if not self.unfit and name not in self.children:
            most = MOST_CHILDREN if self.depth else MOST_FIELDS
            self.unfit = len(self.children) == most or self.depth == DEEPEST
            self.children[name] = Field(f"{self.name}.{name}" if self.name else name, self.depth + 1)
        if self.unfit:
            self.children.clear()
        return self.children.get(name)

    def see_key(self, value: Any, document: int, *, in_array: bool) -> None:
        """Drop the field as a key if a document before had none, or the same, or if this is none."""
        if self.keys is None:
            return
        fits = not in_array and self.kinds <= {"long", "string"} and value != ""
        if (
            not fits
            or len(self.keys) + 1 < document
            or len(str(value).encode(errors="surrogatepass")) > LONGEST_KEY_BYTES
        ):
            self.keys = None
            return
        self.keys.add(hash(str(value)))
        if len(self.keys) < document:
            self.keys = None

    def is_unique(self, documents: int) -> bool:
        """Check that each of so many documents has a value of its own."""
        return self.keys is not None and len(self.keys) == documents

    @property
    def objects_mean(self) -> float:
        """Objects of it in a document that has it, on average."""
        return self.objects / self.documents if self.documents else 0.0

    def is_place(self, tolerated: float) -> bool:
        """Check that its objects hold a latitude and a longitude and nothing else; a few may lack them."""
        if self.children.keys() != {"lat", "lon"} or not all(
            child.kinds <= {"long", "double"}
            and child.numbers.count <= self.objects
            and child.numbers.count >= (1 - tolerated) * self.objects > 0
            for child in self.children.values()
        ):
            return False
        latitude, longitude = (self.children[name].numbers for name in ("lat", "lon"))
        ends = ((latitude.least, longitude.least), (latitude.most, longitude.most))
        return all(is_on_earth(lat or 0, lon or 0) for lat, lon in ends)

    def all_below(self) -> Iterator["Field"]:
        """Every field below this one, objects included."""
        for child in self.children.values():
            yield child
            yield from child.all_below()

    def leaves(self) -> Iterator["Field"]:
        """The fields below this one that hold values."""
        return (child for child in self.all_below() if child.kinds - {"object"})


def kind_of(value: object) -> str:
    """Kind of a JSON value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long" if value in LONG else "number"
    if isinstance(value, float):
        return "double" if isfinite(value) else "number"
    return "string"
