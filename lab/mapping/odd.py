"""Values of a field that are not written as its type is: how many, what servers make of them, and the first."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from lab.mapping.fields import NONE, OBJECT, Field, Tally
from lab.mapping.values import EPOCHS, READ_BY, WRITTEN_AS, ways_of

LONGEST_SHOWN = 20
"""Characters of a value that is quoted."""
SECONDS_OF_A_YEAR = 31_556_952


@dataclass(frozen=True)
class Odd:
    """Values of a field that are not written as its type is.

    Attributes:
        values: Number of all values of the field.
        taken: Those of the others that servers index nevertheless, as something that few mean.
        meaning: What the first of these is indexed as.
    """

    others: Tally
    values: int
    taken: Tally = field(default_factory=Tally)
    meaning: str = ""

    @classmethod
    def of(cls, of: Field, others: Tally, reader: str) -> "Odd":
        """Odd values of a field, some of which a reader of `READ_BY` takes."""
        return cls.read(others, of.values, of.read_as, reader)

    @classmethod
    def read(cls, others: Tally, values: int, read_as: Mapping[str, Tally], reader: str) -> "Odd":
        """Odd ones of so many values, some of which a reader of `READ_BY` takes."""
        taken = read_as.get(reader, NONE)
        meaning = next((WRITTEN_AS[way] for way in READ_BY[reader] if way in ways_of(taken.first)), "")
        return cls(others, values, taken, meaning) if taken.count else cls(others, values)


def quoted(tally: Tally) -> str:
    """The first value of several, and its place."""
    value = OBJECT if tally.first == OBJECT else repr(tally.first[:LONGEST_SHOWN])
    return f"{value}, {place_text(tally.origin.where)}"


def other_century(others: Tally, count: int, unit: str) -> str:
    """Number of values that are no instants of this century in their unit, and the year that servers read."""
    year = 1970 + int(float(others.first) // (SECONDS_OF_A_YEAR * EPOCHS[unit].start // EPOCHS["epoch_second"].start))
    are = "is indexed as a date" if others.count == 1 else "are indexed as dates"
    return f"{others.count:,} of {count:,} {are} of {year} ({quoted(others)})"


def counted(others: Tally, count: int, forms: tuple[str, str], unlike: str | None = None) -> str:
    """Number of values that are something else than most, with the first of them and its place.

    Args:
        forms: What they are, one and several: `no date`, `no dates`.
        unlike: A value that is none of them, and so no example.
    """
    one, several = forms
    are = f"is {one}" if others.count == 1 else f"are {several}"
    example = "" if others.first == unlike else f" ({quoted(others)})"
    return f"{others.count:,} of {count:,} {are}{example}"


@cache
def place_text(where: object) -> str:
    """Text on a place in a file, which may be read up to there."""
    return str(where)
