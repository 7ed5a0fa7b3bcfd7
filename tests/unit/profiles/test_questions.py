"""Questions: files of experiments/queries, and the section of a profile that names them."""

from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles.loader import REPOSITORY
from lab.profiles.questions import load_question, question_names
from tests.unit.profiles.profile_repository import Repository

TEXT = """question: Which books cost less?
dataset: aladin
parameters:
  price: {offer: minPrice}
truth:
  offers: {minPrice: {below: $price}}
  answer: {top: 7, by: salesPoint}
models:
  nested:
    - request: {size: 7, query: {range: {subInfo.usedList.minPrice: {lt: $price}}}}
      answer: {entries: hits.hits, id: sort.1, by: sort.0}
"""


def write(root: Path, text: str, name: str = "cheap") -> None:
    """A question of this name."""
    folder = root / "experiments" / "queries"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def refusal(root: Path, before: str, after: str) -> list[str]:
    """The lines with which the question is refused once `before` is replaced, without the folder they all share."""
    assert before in TEXT
    write(root, TEXT.replace(before, after))
    with pytest.raises(ProfileError) as caught:
        load_question("cheap", root)
    return [line.removeprefix("experiments/queries/") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize("name", question_names(REPOSITORY))
def test_every_question_of_the_repository_loads(name: str) -> None:
    """A question that cannot be loaded is no use to anyone."""
    question = load_question(name, REPOSITORY)
    assert question.question.endswith("?")
    models = {"columns", "source"} if question.is_about_events else {"nested", "flat"}
    models = {"knn", "rescored", "scripted"} if question.is_about_vectors else models
    assert question.models.keys() <= models


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("by: salesPoint", "bye: salesPoint", "cheap.yaml:7: truth.answer.bye: unknown key, did you mean `by`?"),
        (
            "lt: $price",
            "lt: $prise",
            'cheap.yaml:10: models.nested: unknown parameter "$prise", did you mean `$price`?',
        ),
        (
            "by: salesPoint",
            "by: salesPoints",
            'cheap.yaml:7: truth.answer.by: no book has "salesPoints", did you mean `salesPoint`?',
        ),
        (
            "offers: {minPrice",
            "offers: {price",
            'cheap.yaml:6: truth.offers.price: no offer has "price", did you mean `minPrice`?',
        ),
        ("top: 7", "top: 0", "cheap.yaml:7: truth.answer.top: got 0, expected more than 0"),
        ("dataset: aladin\n", "", "cheap.yaml:1: dataset: missing, expected the dataset whose documents it is about"),
        (
            "{offer: minPrice}",
            "{offer: minPrice, book: salesPoint}",
            "cheap.yaml:4: parameters.price: got book and offer, expected one of `book`, `offer`, `event`, "
            "`near`, `one_of`",
        ),
        (
            "      answer: {entries: hits.hits, id: sort.1, by: sort.0}",
            "      ids: {entries: hits.hits, id: sort.1}",
            "cheap.yaml:1: models.nested: expected `answer` in the last step, and `ids` in those before it",
        ),
    ],
)
def test_a_broken_question_says_where_and_what(tmp_path: Path, before: str, after: str, expected: str) -> None:
    """File, line, key, and what was expected."""
    assert expected in refusal(tmp_path, before, after)


def test_a_profile_is_refused_for_questions_that_it_cannot_ask(repository: Repository) -> None:
    """All at once, each at its line, before any server starts."""
    write(repository.root, TEXT)
    write(repository.root, TEXT.replace("lt: $price", "lt: $prise"), "broken")
    repository.write(
        "asks",
        """
        question: How fast are they found?
        extends: books
        dataset: {model: flat}
        queries:
          questions:
            - cheap
            - chaep
            - broken
            - cheap
          expect_wrong: [dear]
          repeats: 0
        """,
    )
    assert repository.refusal("asks") == [
        'asks.yaml:6: queries.questions: "cheap" has no request for model `flat`, expected a model: `nested`',
        'asks.yaml:6: queries.questions: "cheap" is listed twice, expected once',
        'asks.yaml:7: queries.questions: unknown question "chaep", did you mean `cheap`?',
        'asks.yaml:9: queries.questions: "cheap" has no request for model `flat`, expected a model: `nested`',
        'asks.yaml:9: queries.questions: "cheap" is listed twice, expected once',
        'asks.yaml:10: queries.expect_wrong: unknown question "dear", expected one of `queries.questions`: '
        "`broken`, `chaep`, `cheap`",
        "asks.yaml:11: queries.repeats: got 0, expected more than 0",
        'experiments/queries/broken.yaml:10: models.nested: unknown parameter "$prise", did you mean `$price`?',
    ]


def test_a_profile_without_questions_needs_none(repository: Repository) -> None:
    """Most profiles ask nothing."""
    assert repository.load("books").queries is None


def test_a_question_about_books_is_not_asked_of_events(repository: Repository) -> None:
    """The documents of another dataset have no offers."""
    write(repository.root, TEXT)
    repository.write(
        "asks",
        """
        question: How fast are they found?
        dataset: {name: events, documents: 1009}
        queries: {questions: [cheap]}
        """,
    )
    assert repository.refusal("asks") == [
        'asks.yaml:3: queries.questions: "cheap" is about the dataset `aladin`, got `events`'
    ]


def of_events(root: Path, before: str, after: str) -> list[str]:
    """The lines with which a question about events is refused once `before` is replaced."""
    text = (REPOSITORY / "experiments" / "queries" / "ratings.yaml").read_text(encoding="utf-8")
    assert before in text
    write(root, text.replace(before, after), "ratings")
    with pytest.raises(ProfileError) as caught:
        load_question("ratings", root)
    return [line.removeprefix("experiments/queries/") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "terms: {field: Rating, size: 20}",
            "terms: {field: Rating, size: 5}",
            [
                f"ratings.yaml:{line}: models.{model}: `ratings` returns 5 values of Rating, expected 20 (`size`) as "
                "in the truth"
                for line, model in ((9, "columns"), (17, "source"))
            ],
        ),
        (
            "lt: $window_end",
            "lt: now",
            [
                f"ratings.yaml:{line}: models.{model}: expected a range from `$window_start` to `$window_end` in the "
                "query"
                for line, model in ((9, "columns"), (17, "source"))
            ],
        ),
        (
            "counts_by: [Rating]",
            "counts_by: [Grade]",
            [
                'ratings.yaml:6: truth.answer.counts_by: no event has "Grade", expected a field of every event: '
                "`Host`, `HttpMethod`, `HttpUserAgent`, `Organization`, `Rating`, `SourceIp`, "
                "`SourceIpCity`, `SourceIpCountryCode`, `TargetPort`"
            ],
        ),
        (
            "counts_by: [Rating]",
            "top: 5, by: Rating",
            [
                "ratings.yaml:3: truth.answer: expected one of `count`, `counts_by`, `counts_per`, `unique`, `ids` for "
                "the dataset `events`"
            ],
        ),
        (
            "counts_by: [Rating]",
            "count: true, most: 7",
            ["ratings.yaml:6: truth.answer: got `most` without `counts_by`, expected both or none"],
        ),
    ],
)
def test_a_broken_question_about_events_says_where_and_what(
    tmp_path: Path, before: str, after: str, expected: list[str]
) -> None:
    """A window that is not asked for, fields that no event has, and fewer rows than the truth has."""
    assert of_events(tmp_path, before, after) == expected
