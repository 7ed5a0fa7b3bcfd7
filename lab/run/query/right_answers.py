"""The right answers to a question, computed from the dataset and not from the index."""

import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lab.profiles.questions import Conditions, Parameter, Question, Value
from producers.datasets.aladin.shelf import Column, Shelf

Values = Mapping[str, Value]
"""Parameter → value of one repeat."""

Answer = list[str] | dict[str, list[Any]] | int
"""Book ids, best first; or book id → values; or a number."""

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "is": operator.eq,
    "below": operator.lt,
    "from": operator.ge,
}
TRIES: Final = 50


@dataclass(frozen=True)
class QuestionValues:
    """One repeat of a question: its values and the right answer."""

    values: Values
    right: Answer


def question_values(question: Question, shelf: Shelf, count: int, seed: int) -> list[QuestionValues]:
    """So many repeats, no two with the same values while there are others; the same for every document model."""
    draw = random.Random(f"{seed} {question.question}")  # noqa: S311 - a sample, no secret
    used: set[tuple[Value, ...]] = set()
    repeats = []
    for _ in range(count):
        for _ in range(TRIES):
            values = drawn_values(question.parameters, shelf, draw)
            if tuple(values.values()) not in used:
                break
        used.add(tuple(values.values()))
        repeats.append(QuestionValues(values, right_answer(question, shelf, values)))
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


def first_offers(shelf: Shelf, offers: NDArray[np.intp], fields: list[str]) -> dict[str, list[Any]]:
    """Of each book with one of these offers, the fields of the offer that sorts first by them, in their order."""
    owners = shelf.owners[offers]
    sorted_by = [shelf.offers[field][offers] for field in fields]
    order = np.lexsort((*reversed(sorted_by), owners))
    books, firsts = np.unique(owners[order], return_index=True)
    values = zip(*(column[order][firsts].tolist() for column in sorted_by), strict=True)
    return dict(zip(shelf.ids[books].tolist(), map(list, values), strict=True))


def holding(conditions: Conditions, table: Mapping[str, Column], rows: int, values: Values) -> NDArray[np.bool_]:
    """The rows of a table that meet all conditions."""
    met = np.ones(rows, dtype=np.bool_)
    for field, comparisons in conditions.items():
        for name, value in comparisons.items():
            met &= COMPARISONS[name](table[field], resolved(value, values))
    return met


def resolved(value: Value, values: Values) -> Value:
    """A value, or what a `$parameter` stands for."""
    return values[value[1:]] if isinstance(value, str) and value.startswith("$") else value
