"""The phase `query`: asks a verified index the questions of the profile and holds each answer against the right one."""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from lab.endpoints import OPEN, HttpAccess
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.models import Queries
from lab.profiles.questions import Question, Step, book_fields, load_question, offer_fields
from lab.records import QuestionAsked
from lab.run.query.ask import Asker
from lab.run.query.truth import Answer, Asked, asked
from producers.dataset import Dataset
from producers.datasets.aladin.shelf import shelf_of
from producers.latency import Latencies
from producers.registry import make_dataset

FEW_BOOKS = 97
OnProgress = Callable[[int, str], None]


@dataclass
class _Tally:
    """What the answers to one question came to so far."""

    wrong: int = 0
    first_wrong: str | None = None
    requests: int = 0
    ids_joined: int = 0
    service_time: Latencies = field(default_factory=Latencies)
    took: Latencies = field(default_factory=Latencies)


def ask_questions(
    profile: Profile,
    dataset: Dataset,
    url: str,
    index: str,
    *,
    root: Path,
    on_progress: OnProgress,
    access: HttpAccess = OPEN,
) -> tuple[QuestionAsked, ...]:
    """Ask every question of the profile.

    Args:
        url: The node that is asked.
        on_progress: Told of answers so far, and of what is being done.
        access: How Elasticsearch is entered.

    Raises:
        ProfileError: Elasticsearch refuses a request.
        StackError: It does not answer.
    """
    queries = profile.queries
    if queries is None:
        return ()
    questions = {name: load_question(name, root) for name in queries.questions}
    on_progress(0, "working the right answers out")
    repeats = right_answers(list(questions.values()), dataset, queries)
    model = str(profile.dataset.options["model"])
    asker = Asker(url, index, access=access)
    try:
        return tuple(
            ask_question(name, question, repeats[place], queries, model=model, asker=asker, on_progress=on_progress)
            for place, (name, question) in enumerate(questions.items())
        )
    finally:
        asker.close()


def try_questions_out(profile: Profile, url: str, index: str, *, root: Path, access: HttpAccess = OPEN) -> None:
    """Send every request once to the index while it is empty: what it refuses, it refuses before the load.

    Raises:
        ProfileError: Elasticsearch refuses a request, as for a field that the mapping does not have.
        StackError: It does not answer.
    """
    if profile.queries is None:
        return
    model, few = str(profile.dataset.options["model"]), make_dataset("aladin", books=FEW_BOOKS)
    asker = Asker(url, index, access=access)
    try:
        for name in profile.queries.questions:
            question = load_question(name, root)
            (repeat,) = asked(question, shelf_of(few, book_fields(question), offer_fields(question)), 1, seed=1)
            with named(name, model):
                asker.try_out(question.models[model], repeat.values)
    finally:
        asker.close()


@contextlib.contextmanager
def named(question: str, model: str) -> Iterator[None]:
    """Say of what is refused inside where it stands."""
    try:
        yield
    except ProfileError as error:
        raise ProfileError(f"experiments/queries/{question}.yaml: models.{model}: {error}") from error


def right_answers(questions: Sequence[Question], dataset: Dataset, queries: Queries) -> list[list[Asked]]:
    """For each question what is asked in each repeat, warm-up first, and the right answer."""
    shelf = shelf_of(
        dataset,
        dict.fromkeys(name for question in questions for name in book_fields(question)),
        dict.fromkeys(name for question in questions for name in offer_fields(question)),
    )
    return [asked(question, shelf, queries.warm_up + queries.repeats, queries.seed) for question in questions]


def ask_question(
    name: str,
    question: Question,
    repeats: Sequence[Asked],
    queries: Queries,
    *,
    model: str,
    asker: Asker,
    on_progress: OnProgress,
) -> QuestionAsked:
    """Ask one question as often as the profile says, after its warm-up."""
    steps, tally = question.models[model], _Tally()
    warm_up, counted = repeats[: queries.warm_up], repeats[queries.warm_up :]
    with named(name, model):
        for repeat in warm_up:
            asker.ask(steps, repeat.values)
        for number, repeat in enumerate(counted, start=1):
            ask_once(steps, repeat, asker, tally, number)
            on_progress(number, f"{name}, {tally.wrong} wrong")
    return QuestionAsked(
        name=name,
        question=question.question,
        model=model,
        fingerprint=fingerprint_of(counted),
        answers=len(counted),
        wrong=tally.wrong,
        expected_wrong=name in queries.expect_wrong,
        first_wrong=tally.first_wrong,
        requests=tally.requests,
        ids_joined=tally.ids_joined,
        books=sum(size_of(repeat.right) for repeat in counted),
        service_time=tally.service_time.encoded(),
        took=tally.took.encoded(),
    )


def ask_once(steps: Sequence[Step], repeat: Asked, asker: Asker, tally: _Tally, number: int) -> None:
    """Ask, and add what came of it to the tally."""
    reply = asker.ask(steps, repeat.values)
    tally.requests += reply.requests
    tally.ids_joined += reply.ids_joined
    tally.service_time.record(reply.service_time_ns)
    tally.took.record(reply.took_ms * 1_000_000)
    if reply.answer != repeat.right:
        tally.wrong += 1
        tally.first_wrong = tally.first_wrong or difference(reply.answer, repeat.right, number)


def difference(answer: Answer, right: Answer, number: int) -> str:
    """How an answer differs from the right one, without a word of what is in it."""
    said = f"answer {number}: got {size_of(answer)} books, expected {size_of(right)}"
    if isinstance(answer, int) or isinstance(right, int) or size_of(answer) != size_of(right):
        return said
    if isinstance(answer, dict) and isinstance(right, dict):
        return f"{said}, of which {sum(answer.get(book) != value for book, value in right.items())} differ"
    return f"{said}, of which {sum(book not in answer for book in right)} are missing"


def size_of(answer: Answer) -> int:
    """How many books an answer tells of."""
    return answer if isinstance(answer, int) else len(answer)


def fingerprint_of(repeats: Sequence[Asked]) -> str:
    """16 hexadecimal digits that two runs share exactly when they asked the same and the same was right."""
    told = [(dict(repeat.values), repeat.right) for repeat in repeats]
    return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def problems_of(asked_questions: Sequence[QuestionAsked]) -> list[str]:
    """One sentence for each question whose answers are not as the profile expects."""
    return [problem_of(found) for found in asked_questions if not found.as_expected]


def problem_of(found: QuestionAsked) -> str:
    """What is not as expected."""
    if found.wrong:
        return (
            f"question {found.name}: {found.wrong} of {found.answers} answers are wrong, such as "
            f"{found.first_wrong}; its service times are those of another question"
        )
    return (
        f"question {found.name}: all {found.answers} answers are right, expected wrong ones "
        "(queries.expect_wrong); take it off that list, or load more documents"
    )
