"""Questions about the nearest vectors: what is sent is what the exact neighbours are of, and recall is told."""

import random
from typing import Any

import numpy as np
import orjson
import pytest

from lab.profiles.loader import REPOSITORY
from lab.profiles.models import Queries
from lab.profiles.questions import load_question
from lab.run.query.draw import QUERY_VECTORS, BoundQuestion
from producers.datasets.vectors import SCALE, make_vectors

VECTORS = make_vectors(documents=3001, seed=7, dimensions=12)


@pytest.fixture(scope="module")
def bound_question() -> BoundQuestion:
    """The question of the ten nearest."""
    return BoundQuestion(
        "nearest-10", load_question("nearest-10", REPOSITORY), VECTORS, Queries(questions=["nearest-10"])
    )


def drawn_body(bound_question: BoundQuestion, seed: int) -> tuple[int, np.ndarray]:
    """The number of a drawn query, and the vector in its body, in ten-thousandths."""
    drawn = bound_question.draw(random.Random(seed), 3001)  # noqa: S311 - a sample
    body = orjson.loads(bound_question.body(drawn))
    return drawn.rows[0], np.rint(np.array(body["knn"]["query_vector"]) * SCALE).astype(int)


def test_the_vector_that_is_sent_is_one_of_the_querys(bound_question: BoundQuestion) -> None:
    """To its last digit."""
    numbers = set()
    for seed in range(20):
        number, vector = drawn_body(bound_question, seed)
        numbers.add(number)
        assert (vector == VECTORS.queries(np.array([number]))[0]).all()
    assert len(numbers) > 15
    assert max(numbers) < QUERY_VECTORS


@pytest.mark.parametrize(("missed", "recall"), [(0, 1.0), (3, 0.7)])
def test_recall_is_the_share_of_the_true_neighbours(bound_question: BoundQuestion, missed: int, recall: float) -> None:
    """As an approximate index answers: others in place of those that it missed, which is no error."""
    drawn = bound_question.draw(random.Random(5), 3001)  # noqa: S311 - a sample
    ranked = VECTORS.neighbours(VECTORS.queries(np.array([drawn.rows[0]])), 10 + missed)[0]
    outcome = bound_question.check(drawn, response(ranked[missed:]))

    assert (outcome.is_right, outcome.rows_right, outcome.difference) == (True, recall, None)


def test_an_answer_of_another_length_is_wrong(bound_question: BoundQuestion) -> None:
    """Fewer than were asked for, although there are enough."""
    drawn = bound_question.draw(random.Random(5), 3001)  # noqa: S311 - a sample
    ranked = VECTORS.neighbours(VECTORS.queries(np.array([drawn.rows[0]])), 9)[0]
    outcome = bound_question.check(drawn, response(ranked))

    assert (outcome.is_right, outcome.rows_right) == (False, 0.9)
    assert outcome.difference == "got 9 vectors, expected 10"


def response(numbers: np.ndarray) -> dict[str, Any]:
    """That of Elasticsearch with these vectors."""
    return {"hits": {"hits": [{"_id": key.decode()} for key in VECTORS.keys(numbers)]}}
