"""Wrong answers: how they are described, and what they do to a run."""

from typing import Any

from rest_server import rest

from lab.profiles import load_profile
from lab.profiles.loader import REPOSITORY
from lab.records import QuestionAsked
from lab.run.queries import ask_questions, difference, problems_of
from producers.registry import make_dataset


def asked(*, wrong: int, expected_wrong: bool) -> QuestionAsked:
    """A question with 23 answers."""
    return QuestionAsked(
        name="shop-below-price",
        question="Which?",
        model="flat",
        fingerprint="0123456789abcdef",
        answers=23,
        wrong=wrong,
        expected_wrong=expected_wrong,
        first_wrong="answer 3: got 20 books, expected 19" if wrong else None,
        requests=47,
        ids_joined=1009,
        books=401,
        service_time="",
        took="",
    )


def test_a_wrong_answer_is_a_problem_of_the_run() -> None:
    """What is fast and wrong is not fast."""
    assert problems_of([asked(wrong=7, expected_wrong=False)]) == [
        "question shop-below-price: 7 of 23 answers are wrong, such as answer 3: got 20 books, expected 19; its "
        "service times are those of another question"
    ]


def test_an_expected_wrong_answer_is_none() -> None:
    """A profile may be there to show a wrong answer."""
    assert problems_of([asked(wrong=7, expected_wrong=True), asked(wrong=0, expected_wrong=False)]) == []


def test_a_right_answer_where_a_wrong_one_is_expected_is_a_problem() -> None:
    """Then the profile shows nothing."""
    assert problems_of([asked(wrong=0, expected_wrong=True)]) == [
        "question shop-below-price: all 23 answers are right, expected wrong ones (queries.expect_wrong); take it off "
        "that list, or load more documents"
    ]


def test_a_difference_is_told_in_numbers() -> None:
    """No id and no value of a document is in it."""
    assert difference(["a", "b"], ["a", "b", "c"], 3) == "answer 3: got 2 books, expected 3"
    assert difference(["a", "b"], ["a", "c"], 3) == "answer 3: got 2 books, expected 2, of which 1 are missing"
    assert difference({"a": [1], "b": [2]}, {"a": [1], "b": [3]}, 3) == (
        "answer 3: got 2 books, expected 2, of which 1 differ"
    )
    assert difference(5, 7, 3) == "answer 3: got 5 books, expected 7"


def test_every_answer_of_an_index_without_books_is_counted_as_wrong() -> None:
    """Warm-up is asked and not counted; each repeat is compared by itself."""
    empty: dict[str, Any] = {
        "took": 3,
        "timed_out": False,
        "_shards": {"failed": 0},
        "hits": {"total": {"value": 0}, "hits": []},
    }
    profile = load_profile(
        "aladin/search-nested",
        overrides=[
            "dataset.books=1009",
            "queries.repeats=7",
            "queries.warm_up=2",
            "queries.questions=[cheapest-in-category]",
        ],
    )
    dataset = make_dataset("aladin", books=1009)
    with rest((200, empty)) as server:
        (found,) = ask_questions(
            profile, dataset, server.url, "sluice-books", root=REPOSITORY, on_progress=lambda *_: None
        )
    assert len(server.requests) == 9
    assert (found.answers, found.wrong, found.requests, found.ids_joined) == (7, 7, 7, 0)
