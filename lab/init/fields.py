"""What a sample of documents shows of each field: its types, its values, whether it could be the key."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

LONG = range(-(2**63), 2**63)
MOST_CHILDREN = 200
"""More names in one object are taken for values, such as dates or ids, and not for fields."""
DEEPEST = 18
"""Elasticsearch takes 20 levels; an object at this one still has room for its fields."""
VALUES_TOLD_APART = 1000
SENTENCE_WORDS = 3
LONGEST_KEY_BYTES = 512

DATE_FORMATS = (
    (
        re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?"),
        "strict_date_optional_time",
    ),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "yyyy-MM-dd HH:mm:ss"),
    (re.compile(r"\d{4}/\d\d/\d\d"), "yyyy/MM/dd"),
    (re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d"), "yyyy/MM/dd HH:mm:ss"),
)
"""Notation of a date → what Elasticsearch calls it."""


@dataclass
class Strings:
    """The strings of one field.

    Attributes:
        sentences: Those of three words or more.
        distinct: Hashes of the first thousand different ones.
        date_formats: Formats that take all of them together; `None` where one is no date.
    """

    count: int = 0
    sentences: int = 0
    longest: int = 0
    distinct: set[int] = field(default_factory=set)
    date_formats: set[str] | None = field(default_factory=set)

    def see(self, text: str) -> None:
        """Count one more."""
        self.count += 1
        self.longest = max(self.longest, len(text))
        self.sentences += text.count(" ") >= SENTENCE_WORDS - 1
        if len(self.distinct) < VALUES_TOLD_APART:
            self.distinct.add(hash(text))
        if self.date_formats is not None:
            found = date_format(text)
            self.date_formats = self.date_formats | {found} if found else None

    @property
    def repeat(self) -> bool:
        """Whether a value occurs twice or more on average, as a category's does."""
        return len(self.distinct) < VALUES_TOLD_APART and 2 * len(self.distinct) <= self.count


def date_format(text: str) -> str | None:
    """Elasticsearch's name of the format of a date; `None` for other texts, and for days that do not exist."""
    for notation, name in DATE_FORMATS:
        if notation.fullmatch(text):
            try:
                datetime.fromisoformat(text.replace("/", "-"))
            except ValueError:
                return None
            return name
    return None


@dataclass
class Field:
    """What a sample shows of one field.

    Attributes:
        depth: Objects that it is in.
        kinds: `boolean`, `long`, `double`, `string`, `object`, and `number` for whole numbers beyond 64 bits.
        keys: Hashes of the values as long as each document has had one of its own; `None` from then on.
        has_several: Whether an array of it held two objects or more.
        unfit: Whether the fields of an object cannot be declared one by one: their names are values, or too deep.
    """

    name: str
    depth: int = 0
    kinds: set[str] = field(default_factory=set)
    strings: Strings = field(default_factory=Strings)
    children: dict[str, "Field"] = field(default_factory=dict)
    keys: set[int] | None = field(default_factory=set)
    has_several: bool = False
    unfit: bool = False

    def see(self, value: Any, document: int, *, in_array: bool = False) -> None:
        """Take note of a value.

        Args:
            document: Number of the document, from 1.
        """
        if isinstance(value, list):
            self.has_several |= sum(isinstance(each, dict) for each in value) > 1
            for each in value:
                self.see(each, document, in_array=True)
        elif isinstance(value, dict):
            self.kinds.add("object")
            self.keys = None
            self.see_object(value, document, in_array=in_array)
        elif value is not None:
            kind = kind_of(value)
            self.kinds.add(kind)
            if kind == "string":
                self.strings.see(value)
            self.see_key(value, document, in_array=in_array)

    def see_object(self, value: dict[str, Any], document: int, *, in_array: bool = False) -> None:
        """Take note of an object's fields; a name with dots is a path, as Elasticsearch takes it."""
        for path, of in value.items():
            at = self
            for name in path.split("."):
                at.kinds.add("object")
                if (child := at.child(name)) is None:
                    break
                at = child
            else:
                at.see(of, document, in_array=in_array)

    def child(self, name: str) -> "Field | None":
        """The field of that name in this object; `None` for no name, or where there are too many or too deep ones."""
        if not name:
            return None
        if not self.unfit and name not in self.children:
            self.unfit = len(self.children) == MOST_CHILDREN or self.depth == DEEPEST
            self.children[name] = Field(f"{self.name}.{name}" if self.name else name, self.depth + 1)
        if self.unfit:
            self.children.clear()
        return self.children.get(name)

    def see_key(self, value: Any, document: int, *, in_array: bool) -> None:
        """Drop the field as a key if a document before had none, or the same, or if this is none."""
        if self.keys is None:
            return
        fits = not in_array and self.kinds <= {"long", "string"} and value != ""
        if not fits or len(self.keys) + 1 < document or len(str(value).encode()) > LONGEST_KEY_BYTES:
            self.keys = None
            return
        self.keys.add(hash(str(value)))
        if len(self.keys) < document:
            self.keys = None

    def leaves(self) -> Iterator["Field"]:
        """The fields below this one that hold values."""
        for child in self.children.values():
            if child.kinds - {"object"}:
                yield child
            yield from child.leaves()


def kind_of(value: object) -> str:
    """Which kind of value it is."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long" if value in LONG else "number"
    return "double" if isinstance(value, float) else "string"
