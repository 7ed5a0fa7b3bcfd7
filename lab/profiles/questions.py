"""Questions that are asked of an index, read from experiments/queries.

A question says in words what it asks, which values each repeat draws from the dataset, what the right answer is, and,
for each document model, the requests that answer it and where the answer stands in the responses.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, JsonValue, PositiveInt, SerializerFunctionWrapHandler, model_serializer, model_validator

from lab.errors import ProfileError
from lab.extensions import QUESTION_KINDS
from lab.profiles.files import file_of, names_in
from lab.profiles.located import Located
from lab.profiles.models import Section
from lab.profiles.problems import Problem, refusal, suggestion
from lab.profiles.yaml_model import dotted, read_model

FOLDER = Path("experiments") / "queries"

IDS = "ids"
"""Stands, as `$ids`, for the book ids that the step before has found."""

WINDOW_START: Final = "window_start"
WINDOW_END: Final = "window_end"
WINDOW_THIRD: Final = "window_third"
OF_THE_WINDOW: Final = (WINDOW_START, WINDOW_END, WINDOW_THIRD)
"""Stand, with `$`, for the instants of the window, its end excluded, and for a third of it, such as `300000ms`."""

Value = str | int
OF_BOOKS: Final = ("top", "first", "count")
OF_EVENTS: Final = ("count", "counts_by", "counts_per", "unique", "ids")
OF_VECTORS: Final = ("nearest",)
OF_PACKAGES: Final = ("kind",)
OF_FILES: Final = ("whole",)
"""Kinds of answers: about books, events or vectors, as an installed package knows them, or about a user's file."""

FILE: Final = "file"
"""The dataset of a user's own documents, whose questions are a search as it is sent."""
WHOLE: Final = {"answer": {"whole": True}}
"""Truth of a question about it, and where the answer stands in the response: its author writes neither."""

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
    offer: str | None = Field(None, description="a field of an offer drawn at random, and its book")
    event: str | None = Field(None, description="a field of an event of the window, drawn at random")
    near: Literal[True] | None = Field(None, description="true: a vector like the dataset's that is in no document")
    one_of: list[Value] | None = Field(None, min_length=1, description="a list of values to draw from")

    @model_validator(mode="after")
    def _is_one(self) -> "Parameter":
        _one_of(self, "book", "offer", "event", "near", "one_of")
        return self


class RightAnswer(Section):
    """What is asked of the books that qualify, or of the events."""

    top: PositiveInt | None = Field(None, description="how many books, best first")
    by: str | None = Field(None, description="the field of a book that `top` goes by, highest first, then by id")
    first: list[str] | None = Field(None, min_length=1, description="fields of each book's offer that sorts first")
    count: Literal[True] | None = Field(None, description="true: how many books or events there are")
    counts_by: list[str] | None = Field(None, min_length=1, description="how many events have each value of a field")
    most: PositiveInt | None = Field(None, description="keep this many of the counts, largest first, then by value")
    counts_per: str | None = Field(None, description="how many events there are in each interval, such as `300000ms`")
    unique: str | None = Field(None, description="how many values a field has")
    within: float = Field(0, ge=0, lt=1, description="the allowed error of that number, as a share of it")
    ids: Literal[True] | None = Field(None, description="true: the ids of the events, in any order")
    nearest: PositiveInt | None = Field(None, description="how many ids, those nearest to the `near` parameter first")
    kind: str | None = Field(None, description="a kind of question of an installed package, which draws the parameters")
    whole: Literal[True] | None = Field(None, description="true: hits and aggregations of a search of a user's file")

    @model_serializer(mode="wrap")
    def _without_an_absent_kind(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """An answer without one leaves fingerprints as they were before there was such a key."""
        values: dict[str, Any] = written(self)
        return {name: value for name, value in values.items() if value is not None or name not in ("kind", "whole")}

    @model_validator(mode="after")
    def _is_one(self) -> "RightAnswer":
        _one_of(self, *dict.fromkeys((*OF_BOOKS, *OF_EVENTS, *OF_VECTORS, *OF_PACKAGES, *OF_FILES)))
        for name, other in (("top", "by"), ("by", "top"), ("most", "counts_by"), ("within", "unique")):
            if getattr(self, name) and getattr(self, other) is None:
                raise ValueError(f"got `{name}` without `{other}`, expected both or none")
        return self


class Truth(Section):
    """The right answer, said of books and offers, or of the events of the window; all models are held against it."""

    books: Conditions = Field(default_factory=dict, description="conditions on fields of the book")
    offers: Conditions = Field(default_factory=dict, description="conditions on fields of the same offer")
    at_least: Value = Field(1, description="how many such offers a book needs")
    events: Conditions = Field(default_factory=dict, description="conditions on fields of the event")
    answer: RightAnswer = Field(description="`top` and `by`, `first`, `count`, `counts_by`, `counts_per`, …")


class Reading(Section):
    """Where ids or an answer stand in a response; paths are dotted, a number is a place in a list."""

    entries: str | None = Field(None, description="path of a list that has an entry for each book")
    id: str | None = Field(None, description="path of the id in an entry, or of the value that is counted")
    by: str | None = Field(None, description="path of what the entries are sorted by, highest first")
    values: list[str] | None = Field(None, min_length=1, description="paths of the values in an entry")
    below: "Reading | None" = Field(None, description="the same of a list in each entry; its ids follow the entry's")
    number: str | None = Field(None, description="path of a number")
    number_of: str | None = Field(None, description="path of a list that is counted")
    whole: Literal[True] | None = Field(None, description="true: hits and aggregations, each value by its path")

    @model_validator(mode="after")
    def _is_one(self) -> "Reading":
        _one_of(self, "entries", "number", "number_of", "whole")
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
    parameters: Mapping[str, Parameter] = Field(default_factory=dict, description="what each repeat draws, by name")
    truth: Truth = Field(description="the right answer")
    models: Mapping[str, list[Step]] = Field(min_length=1, description="document model → the steps of an answer")
    request: Mapping[str, JsonValue] | None = Field(
        None, description="of your own documents (dataset `file`), in place of `truth` and `models`: a search's body"
    )

    @model_validator(mode="before")
    @classmethod
    def _asked_of_a_file(cls, values: Any) -> Any:
        """A question about a user's file is a search: what is compared is the whole of its answer."""
        if not isinstance(values, dict) or values.get("dataset") != FILE or "truth" in values:
            return values
        if not isinstance(values.get("request"), dict):
            message = "got no `request`, expected the body of a search for the dataset `file`"
            raise ValueError(message)  # noqa: TRY004 - pydantic tells of no other
        return {**values, "truth": WHOLE, "models": {FILE: [{"request": values["request"], **WHOLE}]}}

    @property
    def kind(self) -> str | None:
        """The kind of an installed package; `None` for a question whose truth is stated."""
        return self.truth.answer.kind

    @property
    def is_about_events(self) -> bool:
        """Whether its truth is said of the events of a window, and not of books."""
        return self.dataset == "events" and self.kind is None

    @property
    def is_about_vectors(self) -> bool:
        """Whether its truth is said of the nearest vectors."""
        return self.dataset == "vectors" and self.kind is None

    @property
    def is_about_a_file(self) -> bool:
        """Check that it is a search of a user's own documents."""
        return self.dataset == FILE and self.kind is None

    @property
    def is_about_books(self) -> bool:
        """Whether its truth is said of books and offers."""
        return self.kind is None and not (self.is_about_events or self.is_about_vectors or self.is_about_a_file)

    @model_validator(mode="after")
    def _answers_of_its_dataset(self) -> "Question":
        allowed = OF_EVENTS if self.is_about_events else OF_VECTORS if self.is_about_vectors else OF_BOOKS
        answer, truth = self.truth.answer, self.truth
        if (self.request is not None) != self.is_about_a_file:
            wanted = "`request` in place of `truth`" if self.is_about_a_file else "no `request`"
            raise ValueError(f"expected {wanted} for the dataset `{self.dataset}`")
        if self.is_about_a_file:
            if any(parameter.one_of is None for parameter in self.parameters.values()):
                raise ValueError("parameters: expected `one_of` for the dataset `file`")
            return self
        if self.kind is not None:
            if self.parameters or truth.books or truth.offers or truth.events:
                raise ValueError("truth.answer: got `kind` beside parameters or conditions, expected `kind` alone")
            return self
        if not any(getattr(answer, name) is not None for name in allowed):
            choices = ", ".join(f"`{name}`" for name in allowed)
            raise ValueError(f"truth.answer: expected one of {choices} for the dataset `{self.dataset}`")
        return self

    @model_validator(mode="after")
    def _is_near_something(self) -> "Question":
        near = sum(parameter.near is not None for parameter in self.parameters.values())
        if near != self.is_about_vectors:
            wanted = "one parameter" if self.is_about_vectors else f"none for the dataset `{self.dataset}`"
            raise ValueError(f"parameters: got {near} with `near`, expected {wanted}")
        if self.is_about_vectors and any(not (p.near or p.one_of) for p in self.parameters.values()):
            raise ValueError("parameters: expected `near` or `one_of` for the dataset `vectors`")
        if self.is_about_vectors and (self.truth.books or self.truth.offers or self.truth.events):
            raise ValueError("truth: got conditions, expected `answer` alone for the dataset `vectors`")
        return self

    @model_validator(mode="after")
    def _ends_with_the_answer(self) -> "Question":
        for model, steps in self.models.items():
            if not steps or [step.answer is not None for step in steps] != [False] * (len(steps) - 1) + [True]:
                raise ValueError(f"models.{model}: expected `answer` in the last step, and `ids` in those before it")
        return self


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with the value of each `$parameter`."""
    if isinstance(template, Mapping):
        return {name: filled(part, values) for name, part in template.items()}
    if isinstance(template, list):
        return [filled(part, values) for part in template]
    if isinstance(template, str) and template.startswith("$"):
        return values[template[1:]]
    return template


def question_names(root: Path) -> list[str]:
    """Names of all questions, sorted."""
    return names_in(FOLDER, root)


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
    path = file_of(FOLDER, f"{name}.yaml", root)
    question, tree, problems = read_model(path, label, Question, what="a question")
    if question is None:
        return None, problems
    if question.kind is not None and (problem := _kind_problem(question.kind, tree)):
        return question, [problem]
    checks = _unknown_values, _missing_windows, _unknown_fields, _cut_counts
    return question, [problem for check in checks for problem in check(question, tree)]


# --- what a model cannot see ------------------------------------------------------------------------------------------


def _kind_problem(kind: str, tree: Located) -> Problem | None:
    """A kind that no installed package has, or that cannot be used."""
    place, at = tree.place_of("truth", "answer", "kind"), "truth.answer.kind"
    if kind not in QUESTION_KINDS:
        return Problem(place, at, f'unknown kind "{kind}", {suggestion(kind, QUESTION_KINDS, "a kind")}')
    try:
        QUESTION_KINDS[kind]
    except ProfileError as error:
        return Problem(place, at, str(error))
    return None


def _unknown_values(question: Question, tree: Located) -> Iterator[Problem]:
    """Each `$name` that no parameter has."""
    drawn = QUESTION_KINDS[question.kind].parameters if question.kind else ()
    windows = OF_THE_WINDOW if question.is_about_events else ()
    names = {f"${name}" for name in (*question.parameters, *drawn, *windows)}
    for at, allowed in (
        ("truth", names),
        ("request", names),
        *((f"models.{name}", names | {f"${IDS}"}) for name in question.models),
    ):
        part = tree.at(*at.split("."))
        for entry in _scalars(part) if part is not None else ():
            if isinstance(entry.value, str) and entry.value.startswith("$") and entry.value not in allowed:
                remedy = suggestion(entry.value, allowed, "a parameter")
                yield Problem(entry.place, at, f'unknown parameter "{entry.value}", {remedy}')


def _missing_windows(question: Question, tree: Located) -> Iterator[Problem]:
    """Each request about events that is not bounded to the window, which its truth is about."""
    for model, steps in question.models.items() if question.is_about_events else ():
        used = {entry.value for entry in _scalars(tree.at("models", model) or tree) if isinstance(entry.value, str)}
        if not {f"${WINDOW_START}", f"${WINDOW_END}"} <= used:
            message = f"expected a range from `${WINDOW_START}` to `${WINDOW_END}` in the query"
            yield Problem(tree.place_of("models", model), f"models.{model}", message)
        if len(steps) > 1:
            message = f"got {len(steps)} steps, expected one for the dataset `{question.dataset}`"
            yield Problem(tree.place_of("models", model), f"models.{model}", message)


def _scalars(entry: Located) -> Iterator[Located]:
    below = entry.value if isinstance(entry.value, list) else list(entry.entries.values())
    if not isinstance(entry.value, list | dict):
        yield entry
    for part in below:
        yield from _scalars(part)


def _unknown_fields(question: Question, tree: Located) -> Iterator[Problem]:
    """Each field that books, offers or events do not have."""
    # Only here: reading a profile without questions needs no dataset, and these bring numpy along.
    from producers.datasets.aladin.shelf import BOOK_FIELDS, OFFER_FIELDS  # noqa: PLC0415
    from producers.datasets.events import COLUMNS  # noqa: PLC0415

    for what, fields in (("book", BOOK_FIELDS), ("offer", OFFER_FIELDS), ("event", tuple(COLUMNS))):
        for path, field in _named(question, what):
            if field not in fields:
                remedy = suggestion(field, fields, f"a field of every {what}")
                yield Problem(tree.place_of(*path), dotted(path), f'no {what} has "{field}", {remedy}')


def _cut_counts(question: Question, tree: Located) -> Iterator[Problem]:
    """Each `terms` aggregation that returns fewer values than the right answer has."""
    # Only here: reading a profile without questions needs no dataset, and these bring numpy along.
    from producers.datasets.events import COLUMNS  # noqa: PLC0415

    counted, most = question.truth.answer.counts_by or [], question.truth.answer.most
    for model, steps in question.models.items() if question.is_about_events else ():
        for name, kind, body in aggregations_of(steps[-1].request):
            if kind != "terms" or body.get("field") not in counted:
                continue
            values = COLUMNS[body["field"]] or ()
            size, rows = body.get("size", 10), min(len(values), most or len(values))
            if isinstance(size, int) and size < rows:
                message = f"`{name}` returns {size} values of {body['field']}, expected {rows} (`size`) as in the truth"
                yield Problem(tree.place_of("models", model), f"models.{model}", message)


def aggregations_of(request: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Name, kind and body of every aggregation of a request, those inside others included."""
    for key in ("aggs", "aggregations"):
        below = request.get(key)
        for name, aggregation in below.items() if isinstance(below, Mapping) else ():
            yield from (
                (name, kind, body) for kind, body in aggregation.items() if kind not in ("aggs", "aggregations")
            )
            yield from aggregations_of(aggregation)


def book_fields(question: Question) -> list[str]:
    """Fields of a book that a question uses, each once."""
    return list(dict.fromkeys(field for _, field in _named(question, "book")))


def offer_fields(question: Question) -> list[str]:
    """Fields of an offer that a question uses, each once."""
    return list(dict.fromkeys(field for _, field in _named(question, "offer")))


def _named(question: Question, what: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Where each field of a `book`, an `offer` or an `event` is named, and the field."""
    truth, answer = question.truth, question.truth.answer
    for field in getattr(truth, f"{what}s"):
        yield ("truth", f"{what}s", field), field
    in_answer = {
        "book": (("by", [answer.by]),),
        "offer": (("first", answer.first),),
        "event": (("counts_by", answer.counts_by), ("unique", [answer.unique])),
    }
    for key, fields in in_answer[what]:
        yield from ((("truth", "answer", key), field) for field in fields or () if field is not None)
    for name, parameter in question.parameters.items():
        field = getattr(parameter, what)
        if field is not None:
            yield ("parameters", name, what), field
