"""Questions of a query load: drawn one by one, filled in, and each answer held against the dataset."""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import orjson

from lab.extensions import QUESTION_KINDS, Answer
from lab.profiles.models import Queries
from lab.profiles.questions import Question, book_fields, filled, offer_fields
from lab.run.query.ask import read_answer
from lab.run.query.own_answers import OwnAnswers
from lab.run.query.right_answers import (
    Outcome,
    Values,
    chosen_values,
    compared,
    drawn_event_values,
    drawn_values,
    drawn_vector,
    drawn_window,
    query_vectors,
    right_answer,
    right_answer_about_events,
)
from producers.dataset import Dataset
from producers.datasets.aladin.shelf import Shelf, shelf_of
from producers.datasets.vectors import Vectors

ANSWERS_KEPT: Final = 32
"""Right answers that are not worked out again: without a window, and in the same one, there is but one."""

QUERY_VECTORS: Final = 1000
"""Vectors that are asked about: more would only take longer to find the exact neighbours of."""


@dataclass(frozen=True)
class DrawnQuery:
    """What one query asks.

    Attributes:
        rows: The first document that it is about, and the first behind them; of a vector, its number and the next.
    """

    values: Values
    rows: tuple[int, int]


class BoundQuestion:
    """One question about one dataset: draws queries, writes their bodies and checks their answers.

    Args:
        model: Which requests of the question are sent; the first where it does not say.
        shelf: The dataset's books and offers, for a question about them.
        own: Right answers to a question about the user's own file.
    """

    def __init__(
        self,
        name: str,
        question: Question,
        dataset: Dataset,
        queries: Queries,
        *,
        model: str | None = None,
        shelf: Shelf | None = None,
        own: OwnAnswers | None = None,
    ) -> None:
        self.name = name
        self.question = question
        self.model = model or next(iter(question.models))
        (self._step,) = question.models[self.model]
        self._dataset = dataset
        self._queries = queries
        self._shelf = shelf
        self._kind = QUESTION_KINDS[question.kind]() if question.kind else None
        self._vectors = dataset if isinstance(dataset, Vectors) and question.is_about_vectors else None
        if shelf is None and question.is_about_books:
            self._shelf = shelf_of(dataset, book_fields(question), offer_fields(question))
        self._own = own
        self._firsts: dict[tuple[Any, ...], Answer] = {}
        self._kept = lru_cache(ANSWERS_KEPT)(self._right)

    @property
    def not_computed(self) -> str | None:
        """Why no right answer can be computed; `None` where it can."""
        return self._own.not_computed if self._own is not None else None

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that two runs share exactly when they ask the same of the same documents."""
        question = self.question.model_dump(include={"question", "parameters", "truth"})
        window = self._queries.window
        content = [
            self.name,
            question,
            window.model_dump() if window is not None else None,
            self._queries.seed,
            # Books are the same in both of their models.
            repr(self._dataset) if self._shelf is None else ["aladin", self._dataset.seed, len(self._shelf.ids)],
            *([QUESTION_KINDS.package(self.question.kind)] if self.question.kind else ()),
            *([self.question.request, self._dataset.content_hash] if self.question.is_about_a_file else ()),
        ]
        return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]

    def draw(self, draw: random.Random, searchable: int) -> DrawnQuery:
        """The next query.

        Args:
            searchable: Documents 0 … `searchable` - 1 can be found by now; others may come while the query is under
                way, and none of them can fall into its window.
        """
        if self._own is not None:
            return DrawnQuery(chosen_values(self.question, draw), (0, self._dataset.documents))
        if self._kind is not None:
            return DrawnQuery(self._kind.draw(self._dataset, draw), (0, self._dataset.documents))
        if self._shelf is not None:
            values = drawn_values(self.question.parameters, self._shelf, draw)
            return DrawnQuery(values, (0, self._dataset.documents))
        if self._vectors is not None:
            number = draw.randrange(QUERY_VECTORS)
            return DrawnQuery(
                drawn_vector(self.question.parameters, self._query_vectors[number], draw), (number, number + 1)
            )
        assert self._dataset.timeline is not None  # noqa: S101 - events have one
        window = drawn_window(self._dataset.timeline, self._queries.window, draw, searchable)
        values = drawn_event_values(self.question.parameters, self._dataset, window.rows, draw)
        return DrawnQuery({**values, **window.values}, window.rows)

    def body(self, drawn: DrawnQuery) -> bytes:
        """The body of its search."""
        return orjson.dumps(filled(self._step.request, drawn.values))

    def check(self, drawn: DrawnQuery, response: Mapping[str, Any]) -> Outcome:
        """The response, compared with what the dataset says.

        Args:
            response: A whole one, of all shards: see `parsed_response`.

        Raises:
            ProfileError: The answer does not stand where the question's file says.
        """
        right, documents = self._kept(drawn.rows, tuple(drawn.values.items()))
        answer = read_answer(self._step, [response])
        if right is None:
            right = self._firsts.setdefault(tuple(drawn.values.values()), answer)
        outcome = compared(self.question.truth.answer, answer, right, self._what)
        hits = exact_hits(response)
        if documents is not None and hits is not None and hits != documents:
            difference = outcome.difference or f"got {hits:,} hits, expected {documents:,}"
            return replace(outcome, is_right=False, difference=difference, hits=hits)
        return replace(outcome, hits=hits)

    @property
    def _what(self) -> str:
        answer = self.question.truth.answer
        if self._shelf is not None:
            return "books"
        if self._vectors is not None:
            return "vectors"
        if self._own is not None:
            return "values"
        has_rows = answer.kind or answer.counts_by or answer.counts_per
        return "rows" if has_rows else "values" if answer.unique else "events"

    @cached_property
    def _query_vectors(self) -> list[tuple[float, ...]]:
        """All query vectors."""
        return query_vectors(self._vectors, QUERY_VECTORS) if self._vectors is not None else []

    @cached_property
    def _nearest(self) -> list[list[str]]:
        """The ids nearest to each query vector; worked out for all at once, since each looks at every vector."""
        assert self._vectors is not None  # noqa: S101 - as the caller has seen
        queries = self._vectors.queries(np.arange(QUERY_VECTORS))
        nearest = self._vectors.neighbours(queries, self.question.truth.answer.nearest or 1)
        return [[key.decode() for key in self._vectors.keys(row)] for row in nearest]

    def _right(self, rows: tuple[int, int], values: tuple[tuple[str, Any], ...]) -> tuple[Answer | None, int | None]:
        if self._own is not None:
            return self._own.right(dict(values)), None
        if self._kind is not None:
            return self._kind.right_answer(self._dataset, dict(values)), None
        if self._shelf is not None:
            return right_answer(self.question, self._shelf, dict(values)), None
        if self._vectors is not None:
            return self._nearest[rows[0]], None
        return right_answer_about_events(self.question.truth, self._dataset, rows, dict(values))


def bound_questions(
    questions: Mapping[str, Question],
    dataset: Dataset,
    queries: Queries,
    models: Mapping[str, str],
    *,
    mappings: Mapping[str, Any] | None = None,
    stored: int = 0,
    changed: str | None = None,
) -> list[BoundQuestion]:
    """One for each question by its name; books and offers are read once for all.

    Args:
        models: Question → which requests of it are sent.
        mappings: Of the index, for questions about the user's own file.
        stored: Documents in the index, likewise.
        changed: Setting by which it holds other values than the file, likewise.
    """
    about_books = [question for question in questions.values() if question.is_about_books]
    shelf = None
    if about_books:
        shelf = shelf_of(
            dataset,
            dict.fromkeys(field for question in about_books for field in book_fields(question)),
            dict.fromkeys(field for question in about_books for field in offer_fields(question)),
        )
    return [
        BoundQuestion(
            name,
            question,
            dataset,
            queries,
            model=models[name],
            shelf=shelf if question.is_about_books else None,
            own=OwnAnswers(question, dataset, mappings or {}, stored, changed=changed)
            if question.is_about_a_file
            else None,
        )
        for name, question in questions.items()
    ]


def exact_hits(response: Mapping[str, Any]) -> int | None:
    """How many documents matched; `None` where Elasticsearch stopped counting or was not asked to."""
    total = response["hits"].get("total")
    return int(total["value"]) if total is not None and total["relation"] == "eq" else None
