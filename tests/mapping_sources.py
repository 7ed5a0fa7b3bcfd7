"""Sources of the values of one field: a kind, a name, a shape, and odd values."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.mapping_hostile import HOSTILE
from tests.mapping_kinds import ABSENT, NULL, ORDINARY, Raw, Sort, Value

KINDS = {**ORDINARY, **HOSTILE}
ODD: Mapping[Sort, tuple[Any, ...]] = {
    "number": ("NaN", "1,5", "12", True, Raw("1e400"), [], {}, {"value": 1}),
    "time": ("0000-00-00", "2026-02-30", "2026-13-45", "2026-11-25T24:00:00Z", "now", True, [], {}, {"$date": 1}),
    "address": ("localhost", "10.0.0.1:80", "10.0.0.0/8", "010.1.1.1", 3232235777, True, [], {}),
    "flag": ("Y", "1", 1, 0, "True", "yes", " ", [], {}),
    "word": (1, 1.5, True, [], {}, {"id": 1}, "\U0001f600" * 9000, "x" * 40_000),
    "text": (1, True, [], {}, {"text": "x"}),
    "place": ("test", "u33d", "POINT (1 2)", "1,2,3", "91,181", 12, [1.5], [], {}, {"lat": None, "lon": None}),
    "objects": ("text", 1, True, [], {}, NULL, [NULL]),
    "anything": (),
}
"""Sort → values that are none of it, beside those of every sort."""
ANY_ODD = ("N/A", "unknown", "-", "")
SHAPES = ("alone", "alone", "alone", "array", "array later", "alone later")


@dataclass(frozen=True)
class Source:
    """A source of the values of one field.

    Attributes:
        odd_share: Share of values that are none of its kind.
        absent_share: Share of documents that lack it.
        shape: Whether a value stands in an array, on both days or on one of them.
    """

    kind: str
    name: str
    seed: int
    odd_share: float = 0.0
    absent_share: float = 0.0
    shape: str = "alone"

    @property
    def sort(self) -> Sort:
        """What its values are, whatever their notation."""
        return KINDS[self.kind][0]

    def values(self, day: int, count: int) -> list[Value]:
        """The values of so many documents of a day; the same ones each time."""
        draw = KINDS[self.kind][1](Random(f"{self.kind} {self.seed}"))  # noqa: S311 - no secret
        random = Random(f"{self.kind} {self.seed} {day}")  # noqa: S311 - no secret
        values = [ABSENT if random.random() < self.absent_share else draw(random, day) for _ in range(count)]
        odd = [number for number in range(count) if random.random() < self.odd_share]
        # As many on the first day as half of its documents may have.
        for number in odd[: count // 200] if day == 1 else odd:
            values[number] = Value(random.choice((*ANY_ODD, *ODD[self.sort])))
        if self.shape in ("array", "array later" if day == 2 else "alone later"):
            return [value if value.json is None else Value([value.json], value.means) for value in values]
        return values


@st.composite
def sources(draw: st.DrawFn) -> Source:
    """Any source."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    return Source(
        kind,
        draw(st.sampled_from(KINDS[kind][2])),
        draw(st.integers(0, 2**32 - 1)),
        draw(st.sampled_from((0.0, 0.0, 0.0, 0.003, 0.008))),
        draw(st.sampled_from((0.0, 0.0, 0.2))),
        draw(st.sampled_from(SHAPES)),
    )
