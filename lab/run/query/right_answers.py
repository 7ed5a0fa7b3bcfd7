"""The right answers to a question, computed from the dataset and not from the index."""

import math
import operator
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from lab.errors import ProfileError
from lab.extensions import QUESTION_KINDS, Answer
from lab.profiles.models import QueryWindow
from lab.profiles.questions import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_THIRD,
    Conditions,
    Parameter,
    Question,
    RightAnswer,
    Truth,
    Value,
)
from producers.dataset import Dataset, Timeline
from producers.datasets.aladin.shelf import Column, Shelf
from producers.datasets.vectors import SCALE, Vectors

Values = Mapping[str, Value]
"""Parameter → value of one repeat."""

Key = str | tuple[str, ...]
"""A book's id, or a value that is counted, with the values below it."""

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "is": operator.eq,
    "below": operator.lt,
    "from": operator.ge,
}
TRIES: Final = 50
MOST_COUNTED_IN_A_TABLE: Final = 1 << 16


@dataclass(frozen=True)
class QuestionValues:
    """One repeat of a question: its values and the right answer; `None` where none can be computed."""

    values: Values
    right: Answer | None


def question_values(question: Question, shelf: Shelf, count: int, seed: int) -> list[QuestionValues]:
    """So many repeats of a question about books; the same for every document model."""
    return repeats_of(
        question,
        count,
        seed,
        drawn=lambda draw: drawn_values(question.parameters, shelf, draw),
        right=lambda values: right_answer(question, shelf, values),
    )


def values_of_kind(question: Question, dataset: Dataset, count: int, seed: int) -> list[QuestionValues]:
    """So many repeats of a question whose kind an installed package has."""
    try:
        kind = QUESTION_KINDS[str(question.kind)]()
        return repeats_of(
            question,
            count,
            seed,
            drawn=lambda draw: kind.draw(dataset, draw),
            right=lambda values: kind.right_answer(dataset, values),
        )
    except ProfileError:
        raise
    except Exception as error:
        raise ProfileError(f"kind: {question.kind}: {type(error).__name__}: {error}") from error


def chosen_values(question: Question, draw: random.Random) -> dict[str, Value]:
    """A value of its list for each parameter."""
    return {name: draw.choice(parameter.one_of or []) for name, parameter in question.parameters.items()}


def repeats_of(
    question: Question,
    count: int,
    seed: int,
    *,
    drawn: Callable[[random.Random], Values],
    right: Callable[[Values], Answer | None],
) -> list[QuestionValues]:
    """So many repeats, no two with the same values while there are others."""
    draw = random.Random(f"{seed} {question.question}")  # noqa: S311 - a sample, no secret
    used: set[tuple[Value, ...]] = set()
    repeats = []
    for _ in range(count):
        for _ in range(TRIES):
            values = drawn(draw)
            if tuple(values.values()) not in used:
                break
        used.add(tuple(values.values()))
        repeats.append(QuestionValues(values, right(values)))
    return repeats


def drawn_values(parameters: Mapping[str, Parameter], shelf: Shelf, draw: random.Random) -> dict[str, Value]:
    """A value for each parameter: fields of one offer and its book, or of one book, and choices."""
    offer = draw.randrange(len(shelf.owners))
    of_an_offer = any(parameter.offer for parameter in parameters.values())
    book = int(shelf.owners[offer]) if of_an_offer else draw.randrange(len(shelf.ids))
    values: dict[str, Value] = {}
    for name, parameter in parameters.items():
        if parameter.one_of is not None:
            values[name] = draw.choice(parameter.one_of)
        elif parameter.book is not None:
            values[name] = shelf.books[parameter.book][book].item()
        elif parameter.offer is not None:
            values[name] = shelf.offers[parameter.offer][offer].item()
    return values


def right_answer(question: Question, shelf: Shelf, values: Values) -> Answer:
    """What these values must be answered with.

    A book qualifies when it meets the conditions on books and has `at_least` offers each of which meets all conditions
    on offers.
    """
    truth = question.truth
    fit = holding(truth.offers, shelf.offers, len(shelf.owners), values)
    fit &= holding(truth.books, shelf.books, len(shelf.ids), values)[shelf.owners]
    counts = np.bincount(shelf.owners[fit], minlength=len(shelf.ids))
    qualify = counts >= int(resolved(truth.at_least, values))
    answer = truth.answer
    if answer.top is not None and answer.by is not None:
        rows = np.flatnonzero(qualify)
        best = rows[np.argsort(-shelf.books[answer.by][rows], kind="stable")]
        return list(shelf.ids[best[: answer.top]].tolist())
    if answer.first is not None:
        fit &= qualify[shelf.owners]
        return first_offers(shelf, np.flatnonzero(fit), answer.first)
    return int(qualify.sum())


def first_offers(shelf: Shelf, offers: NDArray[np.intp], fields: list[str]) -> dict[Key, list[Any]]:
    """Of each book with one of these offers, the fields of the offer that sorts first by them, in their order."""
    owners = shelf.owners[offers]
    sorted_by = [shelf.offers[field][offers] for field in fields]
    order = np.lexsort((*reversed(sorted_by), owners))
    books, firsts = np.unique(owners[order], return_index=True)
    values = zip(*(column[order][firsts].tolist() for column in sorted_by), strict=True)
    firsts_by_id: dict[Key, list[Any]] = dict(zip(shelf.ids[books].tolist(), map(list, values), strict=True))
    return firsts_by_id


def holding(conditions: Conditions, table: Mapping[str, Column], rows: int, values: Values) -> NDArray[np.bool_]:
    """The rows of a table that meet all conditions."""
    met = np.ones(rows, dtype=np.bool_)
    for field, comparisons in conditions.items():
        for name, value in comparisons.items():
            met &= COMPARISONS[name](table[field], resolved(value, values))
    return met


def query_vectors(vectors: Vectors, count: int) -> list[tuple[float, ...]]:
    """The first query vectors, as a request has them."""
    return [tuple(row) for row in (vectors.queries(np.arange(count)) / SCALE).tolist()]


def drawn_vector(parameters: Mapping[str, Parameter], vector: tuple[float, ...], draw: random.Random) -> dict[str, Any]:
    """The query vector for the parameter that is near the others, and a choice for each other one."""
    return {
        name: vector if parameter.near else draw.choice(parameter.one_of or [])
        for name, parameter in parameters.items()
    }


# --- events -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Part of a timeline, in ms since the Unix epoch.

    Attributes:
        end_ms: Its first instant that is excluded.
        rows: The first document in it, and the first behind it.
    """

    start_ms: int
    end_ms: int
    rows: tuple[int, int]

    @property
    def values(self) -> Values:
        """What `$window_start`, `$window_end` and `$window_third` stand for."""
        third_ms = max(1, -(-(self.end_ms - self.start_ms) // 3))
        return {
            WINDOW_START: _instant(self.start_ms),
            WINDOW_END: _instant(self.end_ms),
            WINDOW_THIRD: f"{third_ms}ms",
        }


def _instant(instant_ms: int) -> str:
    return f"{np.datetime64(instant_ms, 'ms')}Z"


def drawn_window(timeline: Timeline, wanted: QueryWindow | None, draw: random.Random, searchable: int) -> Window:
    """A window of the first `searchable` documents; all of them where none is asked for.

    It ends before the instant of the first document that is not searchable yet, so that none that comes later can fall
    into it. Where there is less than a window, it reaches back before the first document.
    """
    first_ms = timeline.instant_ms(0)
    end_ms = _end_ms(timeline, searchable)
    if wanted is None:
        return Window(first_ms, end_ms, (0, timeline.first_at(end_ms)))
    length_ms = max(1, round(wanted.seconds * 1000))
    start_ms = end_ms - length_ms
    if wanted.place == "drawn":
        start_ms = _end_ms(timeline, int(searchable * wanted.within)) - length_ms
        start_ms = draw.randint(first_ms, start_ms) if start_ms > first_ms else start_ms
    rows = timeline.first_at(start_ms), timeline.first_at(start_ms + length_ms)
    return Window(start_ms, start_ms + length_ms, rows)


def _end_ms(timeline: Timeline, documents: int) -> int:
    """The first instant behind so many documents that no other one shares."""
    if documents < timeline.documents:
        return timeline.instant_ms(documents)
    return timeline.instant_ms(timeline.documents - 1) + 1


def drawn_event_values(
    parameters: Mapping[str, Parameter], dataset: Dataset, rows: tuple[int, int], draw: random.Random
) -> dict[str, Value]:
    """A value for each parameter: fields of one event of these rows, and choices."""
    start, stop = rows
    event = draw.randrange(start, stop) if start < stop else 0
    values: dict[str, Value] = {}
    for name, parameter in parameters.items():
        if parameter.one_of is not None:
            values[name] = draw.choice(parameter.one_of)
        elif parameter.event is not None:
            column = dataset.column(parameter.event, event, event + 1)
            values[name] = column.value(int(column.codes[0]))
    return values


def right_answer_about_events(
    truth: Truth, dataset: Dataset, rows: tuple[int, int], values: Values
) -> tuple[Answer, int]:
    """What a question about the events of these rows must be answered with, and how many events it is about."""
    start, stop = rows
    numbers = events_holding(truth.events, dataset, rows, values)
    answer = truth.answer
    if answer.counts_by is not None:
        counts = event_counts(dataset, answer.counts_by, rows, numbers)
        return {key: [count] for key, count in most_first(counts, answer.most)}, len(numbers)
    if answer.counts_per is not None and dataset.timeline is not None:
        interval_ms = int(str(resolved(answer.counts_per, values)).removesuffix("ms"))
        return counts_per_interval(dataset.timeline, numbers, interval_ms), len(numbers)
    if answer.unique is not None:
        codes = dataset.column(answer.unique, start, stop).codes[numbers - start]
        return len(np.unique(codes)), len(numbers)
    if answer.ids is not None:
        return [key.decode() for key in dataset.keys(numbers)], len(numbers)
    return len(numbers), len(numbers)


def events_holding(
    conditions: Conditions, dataset: Dataset, rows: tuple[int, int], values: Values
) -> NDArray[np.int64]:
    """Numbers of the events of these rows that meet all conditions, ascending."""
    numbers = np.arange(*rows, dtype=np.int64)
    met = np.ones(len(numbers), dtype=np.bool_)
    for field, comparisons in conditions.items():
        column = dataset.column(field, *rows)
        codes, places = np.unique(column.codes, return_inverse=True)
        table = np.array([column.value(code) for code in codes.tolist()])
        met &= holding({field: comparisons}, {field: table}, len(codes), values)[places]
    return numbers[met]


def event_counts(
    dataset: Dataset, fields: Sequence[str], rows: tuple[int, int], numbers: NDArray[np.int64]
) -> dict[Key, int]:
    """How many of these events have each value of a field, or each combination of several."""
    columns = [dataset.column(field, *rows) for field in fields]
    combined, size = np.zeros(len(numbers), dtype=np.int64), 1
    for column in columns:
        combined = combined * column.size + column.codes[numbers - rows[0]]
        size *= column.size
    if size <= MOST_COUNTED_IN_A_TABLE:
        table = np.bincount(combined, minlength=size)
        codes = np.flatnonzero(table)
        counts = table[codes]
    else:
        codes, counts = np.unique(combined, return_counts=True)
    names: list[list[str]] = []
    for column in reversed(columns):
        codes, own = np.divmod(codes, column.size)
        names.insert(0, [str(column.value(code)) for code in own.tolist()])
    keys: Iterable[Key] = zip(*names, strict=True) if len(names) > 1 else names[0]
    return dict(zip(keys, counts.tolist(), strict=True))


def most_first(counts: Mapping[Key, int], most: int | None) -> Iterable[tuple[Key, int]]:
    """The largest counts in the order of Elasticsearch: of equal ones the lower value first; all where none is cut."""
    if most is None:
        return counts.items()
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:most]


def counts_per_interval(timeline: Timeline, numbers: NDArray[np.int64], interval_ms: int) -> dict[Key, list[Any]]:
    """How many of these events there are in each interval, which begins at a multiple of its length since the epoch."""
    counts: dict[Key, list[Any]] = {}
    at = 0
    while at < len(numbers):
        key_ms = timeline.instant_ms(int(numbers[at])) // interval_ms * interval_ms
        behind = int(np.searchsorted(numbers, timeline.first_at(key_ms + interval_ms)))
        counts[str(key_ms)] = [behind - at]
        at = behind
    return counts


# --- answers compared -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """An answer, compared with the right one.

    Attributes:
        rows_right: Share of the rows of the right answer that the answer has, wherever they stand; `None` where there
            are no rows.
        values_right: Share of them whose value is right, too.
        difference: One sentence without a word of what is in the documents; `None` for a right answer.
        hits: Documents that matched; `None` where Elasticsearch does not tell or stopped counting.
    """

    is_right: bool
    rows_right: float | None
    values_right: float | None
    difference: str | None
    hits: int | None


def compared(stated: RightAnswer, answer: Answer, right: Answer, what: str) -> Outcome:
    """How an answer stands to the right one; nothing is said of hits.

    Args:
        what: What answers are made of, in the plural.
    """
    rows = values = None
    if stated.whole:
        answer = as_close(answer, right)
        return Outcome(answer == right, None, None, None if answer == right else difference(answer, right, what), None)
    is_right = answer == right
    if isinstance(right, dict) and isinstance(answer, dict) and right:
        rows = sum(key in answer for key in right) / len(right)
        values = sum(answer.get(key) == value for key, value in right.items()) / len(right)
        is_right = is_right and (stated.most is None or list(answer) == list(right))
    elif isinstance(right, list) and isinstance(answer, list):
        rows = len(set(answer) & set(right)) / len(right) if right else None
        is_right = sorted(answer) == sorted(right) if stated.ids else is_right
        if stated.nearest:
            # An index of vectors is an approximation: how near it comes is the recall, and no error.
            is_right = len(set(answer)) == len(right)
    elif isinstance(right, int) and isinstance(answer, int):
        is_right = abs(answer - right) <= stated.within * right
        bound = f" ± {int(stated.within * right):,}" if stated.within else ""
        return Outcome(is_right, None, None, None if is_right else f"{difference(answer, right, what)}{bound}", None)
    return Outcome(is_right, rows, values, None if is_right else difference(answer, right, what), None)


RELATIVE, ABSOLUTE = 1e-9, 1e-9
"""Sums of the same numbers in another order differ by less."""


class Within(float):
    """A right number from which an answer may differ by so much."""

    within: float

    def __new__(cls, value: float, within: float) -> Self:
        """The number with its bound."""
        number = super().__new__(cls, value)
        number.within = within
        return number


def as_close(answer: Answer, right: Answer) -> Answer:
    """The answer, with the right answer's number for each that differs from it by rounding alone."""
    if not (isinstance(answer, dict) and isinstance(right, dict)):
        return answer
    return {path: right[path] if is_close(values, right.get(path, [])) else values for path, values in answer.items()}


def is_close(values: Sequence[Any], others: Sequence[Any]) -> bool:
    """Check that values are the same, numbers but for rounding: within the bound of the other one, if it has one."""
    return len(values) == len(others) and all(map(is_same, values, others))


def is_same(one: object, other: object) -> bool:
    """Check that two values are the same, numbers but for rounding."""
    if not (isinstance(one, int | float) and isinstance(other, int | float)):
        return one == other
    if isinstance(other, Within):
        return one == other or abs(one - other) <= other.within
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def difference(answer: Answer, right: Answer, what: str) -> str:
    """How an answer differs from the right one, without a word of what is in it."""
    sizes = f"got {size_of(answer):,} {what}, expected {size_of(right):,}"
    if isinstance(answer, int) or isinstance(right, int) or size_of(answer) != size_of(right):
        return sizes
    if isinstance(answer, dict) and isinstance(right, dict):
        differ = sum(answer.get(key) != value for key, value in right.items())
        return f"{sizes}, of which {differ} differ" if differ else f"{sizes}, in another order"
    return f"{sizes}, of which {sum(name not in answer for name in right)} are missing"


def size_of(answer: Answer) -> int:
    """How many rows an answer has, or the number that it is."""
    return answer if isinstance(answer, int) else len(answer)


def resolved(value: Value, values: Values) -> Value:
    """A value, or what a `$parameter` stands for."""
    return values[value[1:]] if isinstance(value, str) and value.startswith("$") else value
