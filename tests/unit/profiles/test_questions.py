"""Questions: files of experiments/queries, and the section of a profile that names them."""

from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles.loader import REPOSITORY
from lab.profiles.questions import load_question, question_names
from tests.unit.messages import MakeMessage
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


OWN = """question: How many are paid?
dataset: file
parameters: {status: {one_of: [paid]}}
request: {size: 0, query: {term: {status: $status}}}
"""


def test_a_question_about_ones_own_file_is_a_search(tmp_path: Path) -> None:
    """What is compared is the whole answer; its author states no truth."""
    write(tmp_path, OWN)
    question = load_question("cheap", tmp_path)
    assert (question.is_about_a_file, question.is_about_books, list(question.models)) == (True, False, ["file"])
    (step,) = question.models["file"]
    assert step.request == question.request


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        ("request:", "body:", ("`request`", "`file`")),
        ("$status", "$state", ("cheap.yaml:4", "$state", "$status")),
        ("one_of: [paid]", "book: title", ("`one_of`", "`file`")),
        ("dataset: file", "dataset: aladin", ("truth",)),
    ],
)
def test_a_search_of_ones_own_file_is_checked(tmp_path: Path, before: str, after: str, facts: tuple[str, ...]) -> None:
    """With its line, where one stands for it."""
    write(tmp_path, OWN.replace(before, after))
    with pytest.raises(ProfileError) as caught:
        load_question("cheap", tmp_path)
    assert [fact for fact in facts if fact not in str(caught.value)] == []


@pytest.mark.parametrize("name", question_names(REPOSITORY))
def test_every_question_of_the_repository_loads(name: str) -> None:
    """A question that cannot be loaded is no use to anyone."""
    question = load_question(name, REPOSITORY)
    assert question.question.endswith("?")
    models = {"columns", "source"} if question.is_about_events else {"nested", "flat"}
    models = {"knn", "rescored", "scripted"} if question.is_about_vectors else models
    assert question.models.keys() <= models


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        ("by: salesPoint", "bye: salesPoint", ("cheap.yaml:7: truth.answer.bye", "by")),
        (
            "lt: $price",
            "lt: $prise",
            ("cheap.yaml:10: models.nested", "$prise", "$price"),
        ),
        (
            "by: salesPoint",
            "by: salesPoints",
            ("cheap.yaml:7: truth.answer.by", "salesPoints", "salesPoint"),
        ),
        (
            "offers: {minPrice",
            "offers: {price",
            ("cheap.yaml:6: truth.offers.price", "minPrice"),
        ),
        ("top: 7", "top: 0", ("cheap.yaml:7: truth.answer.top", 0)),
        ("dataset: aladin\n", "", ("cheap.yaml:1: dataset",)),
        (
            "{offer: minPrice}",
            "{offer: minPrice, book: salesPoint}",
            ("cheap.yaml:4: parameters.price", "book", "offer", "event", "near", "one_of"),
        ),
        (
            "      answer: {entries: hits.hits, id: sort.1, by: sort.0}",
            "      ids: {entries: hits.hits, id: sort.1}",
            ("cheap.yaml:1: models.nested", "answer", "ids"),
        ),
    ],
)
def test_a_broken_question_says_where_and_what(
    tmp_path: Path, before: str, after: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """File, line, key, and what was expected."""
    assert message(*facts) in refusal(tmp_path, before, after)


def test_a_profile_is_refused_for_questions_that_it_cannot_ask(repository: Repository, message: MakeMessage) -> None:
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
        message("asks.yaml:6: queries.questions", "cheap", "flat", "nested"),
        message("asks.yaml:6: queries.questions", "cheap"),
        message("asks.yaml:7: queries.questions", "chaep", "cheap"),
        message("asks.yaml:9: queries.questions", "cheap", "flat", "nested"),
        message("asks.yaml:9: queries.questions", "cheap"),
        message("asks.yaml:10: queries.expect_wrong", "dear", "queries.questions", "broken", "chaep", "cheap"),
        message("asks.yaml:11: queries.repeats", 0),
        message("experiments/queries/broken.yaml:10: models.nested", "$prise", "$price"),
    ]


def test_a_profile_without_questions_needs_none(repository: Repository) -> None:
    """Most profiles ask nothing."""
    assert repository.load("books").queries is None


def test_a_question_about_books_is_not_asked_of_events(repository: Repository, message: MakeMessage) -> None:
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
    assert repository.refusal("asks") == [message("asks.yaml:3: queries.questions", "cheap", "aladin", "events")]


def of_events(root: Path, before: str, after: str) -> list[str]:
    """The lines with which a question about events is refused once `before` is replaced."""
    text = (REPOSITORY / "experiments" / "queries" / "ratings.yaml").read_text(encoding="utf-8")
    assert before in text
    write(root, text.replace(before, after), "ratings")
    with pytest.raises(ProfileError) as caught:
        load_question("ratings", root)
    return [line.removeprefix("experiments/queries/") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("before", "after", "facts"),
    [
        (
            "terms: {field: Rating, size: 20}",
            "terms: {field: Rating, size: 5}",
            [("ratings.yaml:9: models.columns", 5, 20), ("ratings.yaml:17: models.source", 5, 20)],
        ),
        (
            "lt: $window_end",
            "lt: now",
            [("ratings.yaml:9: models.columns", "$window_end"), ("ratings.yaml:17: models.source", "$window_end")],
        ),
        (
            "counts_by: [Rating]",
            "counts_by: [Grade]",
            [
                (
                    "ratings.yaml:6: truth.answer.counts_by",
                    "Grade",
                    "Host",
                    "HttpMethod",
                    "HttpUserAgent",
                    "Organization",
                    "Rating",
                    "SourceIp",
                    "SourceIpCity",
                    "SourceIpCountryCode",
                    "TargetPort",
                )
            ],
        ),
        (
            "counts_by: [Rating]",
            "top: 5, by: Rating",
            [("ratings.yaml:3: truth.answer", "count", "counts_by", "counts_per", "unique", "ids", "events")],
        ),
        (
            "counts_by: [Rating]",
            "count: true, most: 7",
            [("ratings.yaml:6: truth.answer", "most", "counts_by")],
        ),
    ],
)
def test_a_broken_question_about_events_says_where_and_what(
    tmp_path: Path, before: str, after: str, facts: list[tuple[object, ...]], message: MakeMessage
) -> None:
    """A window that is not asked for, fields that no event has, and fewer rows than the truth has."""
    assert of_events(tmp_path, before, after) == [message(*each) for each in facts]
