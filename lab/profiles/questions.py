"""Questions that are asked of an index after it was verified, read from experiments/queries.

A question says in words what it asks, which values each repeat draws from the dataset, what the right answer is, and,
for each document model, the requests that answer it and where the answer stands in the responses.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, PositiveInt, model_validator

from lab.profiles.located import Located
from lab.profiles.models import Section
from lab.profiles.problems import Problem, refusal, suggestion
from lab.profiles.yaml_model import dotted, read_model

FOLDER = Path("experiments") / "queries"

IDS = "ids"
"""Stands, as `$ids`, for the book ids that the step before has found."""

Value = str | int
Conditions = Mapping[str, Mapping[Literal["is", "below", "from"], Value]]
"""Field → comparison → a value or `$parameter`."""


def _one_of(section: Section, *names: str) -> None:
    stated = [name for name in names if getattr(section, name) is not None]
    if len(stated) != 1:
        choices = ", ".join(f"`{name}`" for name in names)
        raise ValueError(f"got {' and '.join(stated) or 'none'}, expected one of {choices}")


class Parameter(Section):
    """Where the values of a parameter come from."""

    book: str | None = Field(None, description="a field of a book drawn at random")
    offer: str | None = Field(None, description="a field of an offer drawn at random; its book is then that one's")
    one_of: list[Value] | None = Field(None, min_length=1, description="a list of values to draw from")

    @model_validator(mode="after")
    def _is_one(self) -> "Parameter":
        _one_of(self, "book", "offer", "one_of")
        return self


class RightAnswer(Section):
    """What is asked of the books that qualify."""

    top: PositiveInt | None = Field(None, description="how many books, best first")
    by: str | None = Field(None, description="the field of a book that `top` goes by, highest first, then by id")
    first: list[str] | None = Field(None, min_length=1, description="fields of each book's offer that sorts first")
    count: Literal[True] | None = Field(None, description="true: how many books there are")

    @model_validator(mode="after")
    def _is_one(self) -> "RightAnswer":
        _one_of(self, "top", "first", "count")
        if (self.top is None) != (self.by is None):
            raise ValueError("got one of `top` and `by`, expected both or none")
        return self


class Truth(Section):
    """The right answer, said of books and offers; both models are held against it."""

    books: Conditions = Field(default_factory=dict, description="conditions on fields of the book")
    offers: Conditions = Field(default_factory=dict, description="conditions on fields of one and the same offer")
    at_least: Value = Field(1, description="how many such offers a book needs")
    answer: RightAnswer = Field(description="`top` and `by`, `first`, or `count: true`")


class Reading(Section):
    """Where ids or an answer stand in a response; paths are dotted, a number is a place in a list."""

    entries: str | None = Field(None, description="path of a list that has an entry for each book")
    id: str | None = Field(None, description="path of the book's id in an entry")
    by: str | None = Field(None, description="path of what the entries are sorted by, highest first")
    values: list[str] | None = Field(None, min_length=1, description="paths of the values in an entry")
    number: str | None = Field(None, description="path of a number")
    number_of: str | None = Field(None, description="path of a list that is counted")

    @model_validator(mode="after")
    def _is_one(self) -> "Reading":
        _one_of(self, "entries", "number", "number_of")
        if (self.entries is None) != (self.id is None):
            raise ValueError("got one of `entries` and `id`, expected both or none")
        return self


class Step(Section):
    """One request of an answer, or several of the same kind where there are more ids or hits than one may carry."""

    request: Mapping[str, JsonValue] = Field(description="body of a search, with `$parameter` where values go")
    pages: bool = Field(default=False, description="whether to ask again after the last hit of a full page")
    ids: Reading | None = Field(None, description="where the ids for the next step stand")
    answer: Reading | None = Field(None, description="where the answer stands")

    @model_validator(mode="after")
    def _is_one(self) -> "Step":
        _one_of(self, "ids", "answer")
        if self.pages and not ("sort" in self.request and isinstance(self.request.get("size"), int)):
            raise ValueError("got `pages` without `size` and `sort` in the request, expected both")
        return self


class Question(Section):
    """A question, as its file states it."""

    question: str = Field(min_length=1, description="the question in words")
    dataset: str = Field(description="the dataset whose documents it is about")
    parameters: Mapping[str, Parameter] = Field(description="what each repeat draws, by name")
    truth: Truth = Field(description="the right answer")
    models: Mapping[str, list[Step]] = Field(min_length=1, description="document model → the steps of an answer")

    @model_validator(mode="after")
    def _ends_with_the_answer(self) -> "Question":
        for model, steps in self.models.items():
            if not steps or [step.answer is not None for step in steps] != [False] * (len(steps) - 1) + [True]:
                raise ValueError(f"models.{model}: expected `answer` in the last step, and `ids` in those before it")
        return self


def question_names(root: Path) -> list[str]:
    """Names of all questions, sorted."""
    return sorted(path.stem for path in (root / FOLDER).glob("*.yaml"))


def load_question(name: str, root: Path) -> Question:
    """The question of this name.

    Raises:
        ProfileError: Every problem of its file, a line each.
    """
    question, problems = read_question(name, root)
    if question is None or problems:
        raise refusal(problems)
    return question


def read_question(name: str, root: Path) -> tuple[Question | None, list[Problem]]:
    """The question of this name, which must exist, and what is wrong with its file."""
    label = f"experiments/queries/{name}.yaml"
    path = root / FOLDER / f"{name}.yaml"
    question, tree, problems = read_model(path, label, Question, what="a question")
    if question is None:
        return None, problems
    return question, [*_unknown_values(question, tree), *_unknown_fields(question, tree)]


# --- what a model cannot see ------------------------------------------------------------------------------------------


def _unknown_values(question: Question, tree: Located) -> Iterator[Problem]:
    """Each `$name` that no parameter has."""
    names = {f"${name}" for name in question.parameters}
    for at, allowed in (("truth", names), *((f"models.{name}", names | {f"${IDS}"}) for name in question.models)):
        part = tree.at(*at.split("."))
        for entry in _scalars(part) if part is not None else ():
            if isinstance(entry.value, str) and entry.value.startswith("$") and entry.value not in allowed:
                remedy = suggestion(entry.value, allowed, "a parameter")
                yield Problem(entry.place, at, f'unknown parameter "{entry.value}", {remedy}')


def _scalars(entry: Located) -> Iterator[Located]:
    below = entry.value if isinstance(entry.value, list) else list(entry.entries.values())
    if not isinstance(entry.value, list | dict):
        yield entry
    for part in below:
        yield from _scalars(part)


def _unknown_fields(question: Question, tree: Located) -> Iterator[Problem]:
    """Each field that books or offers do not have."""
    # Only here: reading a profile without questions needs no dataset, and these bring numpy along.
    from producers.datasets.aladin.shelf import BOOK_FIELDS, OFFER_FIELDS  # noqa: PLC0415

    for what, fields in (("book", BOOK_FIELDS), ("offer", OFFER_FIELDS)):
        for path, field in _named(question, what):
            if field not in fields:
                remedy = suggestion(field, fields, f"a field of every {what}")
                yield Problem(tree.place_of(*path), dotted(path), f'no {what} has "{field}", {remedy}')


def book_fields(question: Question) -> list[str]:
    """Fields of a book that a question uses, each once."""
    return list(dict.fromkeys(field for _, field in _named(question, "book")))


def offer_fields(question: Question) -> list[str]:
    """Fields of an offer that a question uses, each once."""
    return list(dict.fromkeys(field for _, field in _named(question, "offer")))


def _named(question: Question, what: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where each field of a `book` or an `offer` is named, and the field."""
    truth = question.truth
    for field in truth.books if what == "book" else truth.offers:
        yield ("truth", f"{what}s", field), field
    if what == "book" and truth.answer.by is not None:
        yield ("truth", "answer", "by"), truth.answer.by
    if what == "offer":
        yield from ((("truth", "answer", "first"), field) for field in truth.answer.first or ())
    for name, parameter in question.parameters.items():
        field = getattr(parameter, what)
        if field is not None:
            yield ("parameters", name, what), field
