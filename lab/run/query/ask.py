"""The phase `query`: asks a verified index the questions of the profile and holds each answer against the right one."""

import contextlib
import hashlib
import heapq
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import httpx
import orjson
from pydantic import JsonValue

from lab.clients.elasticsearch import error_reason
from lab.clients.http import HttpService
from lab.clients.target import cluster_of, topics_of
from lab.endpoints import OPEN, HttpAccess
from lab.errors import ProfileError, StackError
from lab.extensions import Answer
from lab.profiles import Profile
from lab.profiles.mapping import mapping_for
from lab.profiles.models import Queries
from lab.profiles.questions import IDS, Question, Reading, Step, book_fields, filled, load_question, offer_fields
from lab.records.queries import QuestionAnswers
from lab.run.phases import RunContext
from lab.run.query.own_answers import OwnAnswers, changed_by, whole_answer
from lab.run.query.right_answers import (
    Key,
    QuestionValues,
    Values,
    as_close,
    chosen_values,
    difference,
    drawn_event_values,
    drawn_vector,
    drawn_window,
    query_vectors,
    question_values,
    repeats_of,
    size_of,
    values_of_kind,
)
from producers.dataset import Dataset
from producers.datasets.aladin.shelf import shelf_of
from producers.datasets.vectors import Vectors
from producers.latency import Latencies
from producers.registry import make_dataset

FEW_BOOKS = 97
FEW_EVENTS = 97
IDS_AT_ONCE: Final = 10_000
"""Ids in one request: within `index.max_terms_count` (65,536), and one hit for each within `max_result_window`."""
TIMEOUT_S: Final = 120
NO_ID: Final = "0"

Response = Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer and what it took.

    Attributes:
        service_time_ns: First request sent → last response read; between them, the ids are read and sent on.
        took_ms: Elasticsearch's own time, summed over the requests.
        requests: How many there were.
        ids_joined: Ids that went from one step to the next.
    """

    answer: Answer
    service_time_ns: int
    took_ms: int
    requests: int
    ids_joined: int


class QuestionClient:
    """One connection to one node; the request cache is not used."""

    def __init__(
        self, url: str, index: str, clock_ns: Callable[[], int] = time.perf_counter_ns, access: HttpAccess = OPEN
    ) -> None:
        self._path = f"/{index}/_search?request_cache=false"
        self._clock_ns = clock_ns
        self._http = HttpService("Elasticsearch", [url], access, timeout_s=TIMEOUT_S, patience_s=0)

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def ask(self, steps: Sequence[Step], values: Values) -> Reply:
        """Take the steps, one after the other.

        Raises:
            ProfileError: Elasticsearch refuses a request.
            StackError: It does not answer, or only for a part of the index.
        """
        sent_ns: list[int] = []
        read_ns: list[int] = []
        took_ms: list[int] = []

        def send(body: Mapping[str, JsonValue]) -> Response:
            content = orjson.dumps(body)
            sent_ns.append(self._clock_ns())
            response = self._post(content)
            read_ns.append(self._clock_ns())
            parsed = parsed_response(response)
            took_ms.append(parsed["took"])
            return parsed

        ids: list[str] | None = None
        joined = 0
        for step in steps:
            responses = list(responses_of(step, values, ids, send))
            if step.ids is not None:
                ids = [name for response in responses for name, _ in entries_of(step.ids, response)]
                joined += len(ids)
        answer = read_answer(steps[-1], responses)
        return Reply(answer, read_ns[-1] - sent_ns[0], sum(took_ms), len(sent_ns), joined)

    def try_out(self, steps: Sequence[Step], values: Values) -> None:
        """Send every step once, as of an id that there is not.

        Raises:
            ProfileError: Elasticsearch refuses a request.
            StackError: It does not answer.
        """
        for step in steps:
            parsed_response(self._post(orjson.dumps(filled(step.request, {**values, IDS: [NO_ID]}))))

    def _post(self, content: bytes) -> httpx.Response:
        return self._http.send("POST", self._path, content)


def parsed_response(response: httpx.Response) -> Response:
    """The response as JSON.

    Raises:
        ProfileError: Elasticsearch rejects the request.
        StackError: It cannot answer, or only for a part of the index.
    """
    try:
        parsed = orjson.loads(response.content)
    except orjson.JSONDecodeError as error:
        raise StackError(f"Elasticsearch: got no JSON with status {response.status_code} for a question") from error
    if response.status_code == httpx.codes.BAD_REQUEST:
        raise ProfileError(f"Elasticsearch rejects the request: {cause_of(parsed)}")
    if not response.is_success:
        raise StackError(f"Elasticsearch: status {response.status_code} for a question: {error_reason(parsed)}")
    if parsed["timed_out"] or parsed["_shards"]["failed"]:
        raise StackError(f"Elasticsearch: {parsed['_shards']['failed']} shards did not answer a question")
    return dict(parsed)


def cause_of(answer: Any) -> str:
    """Why a search is refused: the first cause, which says more than `all shards failed`."""
    causes = answer.get("error", {}).get("root_cause") if isinstance(answer, dict) else None
    return str(causes[0].get("reason")) if causes else error_reason(answer)


def responses_of(
    step: Step, values: Values, ids: list[str] | None, send: Callable[[Mapping[str, JsonValue]], Response]
) -> Iterator[Response]:
    """Every response of a step: for each lot of ids, page by page. Without an id there is nothing to ask."""
    lots = [None] if ids is None else [ids[at : at + IDS_AT_ONCE] for at in range(0, len(ids), IDS_AT_ONCE)]
    for lot in lots:
        body = filled(step.request, {**values, IDS: lot})
        response = send(body)
        yield response
        while step.pages and len(hits := response["hits"]["hits"]) == body["size"]:
            response = send({**body, "search_after": hits[-1]["sort"]})
            yield response


# --- responses ------------------------------------------------------------------------------------------------------


def entries_of(reading: Reading, response: Response) -> list[tuple[str, Any]]:
    """The entries of a response by their ids, in its order."""
    assert reading.entries is not None and reading.id is not None  # noqa: S101, PT018 - as the model has checked
    return [(str(at(entry, reading.id)), entry) for entry in at(response, reading.entries)]


def read_answer(step: Step, responses: Sequence[Response]) -> Answer:
    """The answer that the responses of the last step hold together."""
    reading = step.answer
    assert reading is not None  # noqa: S101 - a question whose last step has none is not loaded
    if reading.whole:
        return whole_answer(responses[0], step.request)
    if reading.number is not None:
        return sum(int(at(response, reading.number)) for response in responses)
    if reading.number_of is not None:
        return sum(len(at(response, reading.number_of)) for response in responses)
    if reading.values is not None or reading.below is not None:
        return {key: values for response in responses for key, values in values_of(reading, response)}
    lots = [entries_of(reading, response) for response in responses]
    if reading.by is None:
        return [name for lot in lots for name, _ in lot]
    # The best of all responses; a single response stays in its order.
    ranked = [[(-at(entry, reading.by), name) for name, entry in lot] for lot in lots]
    return [name for _, name in heapq.merge(*ranked)][: int(str(step.request["size"]))]


def values_of(reading: Reading, tree: Any) -> Iterator[tuple[Key, list[Any]]]:
    """The values of each entry by its id; those of a list in each entry by its id and theirs."""
    below = reading.below
    for name, entry in entries_of(reading, tree):
        if below is None:
            yield name, [at(entry, path) for path in reading.values or ()]
        for key, values in values_of(below, entry) if below is not None else ():
            yield (name, *((key,) if isinstance(key, str) else key)), values


@cache
def _parts(path: str) -> list[str]:
    return path.split(".")


def at(tree: Any, path: str) -> Any:
    """What stands under a dotted path; a number is a place in a list.

    Raises:
        ProfileError: Nothing stands there.
    """
    for name in _parts(path):
        try:
            tree = tree[int(name)] if isinstance(tree, list) else tree[name]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ProfileError(f"the response has nothing under {path}") from error
    return tree


# --- the questions of a profile ---


def ask_questions(run: RunContext, queries: Queries, dead_letters: int = 0) -> tuple[QuestionAnswers, ...]:
    """Ask every question of the profile.

    Args:
        dead_letters: Records of the run that were rejected, as verification has found.

    Raises:
        ProfileError: Elasticsearch refuses a request.
        StackError: It does not answer.
    """
    questions = {name: load_question(name, run.root) for name in queries.questions}
    run.progress.update(0, "computing the right answers")
    own = own_answers(run, questions, dead_letters)
    answers = right_answers(questions, run.dataset, queries, own)
    with question_client(run) as client:
        return tuple(
            ask_question(run, queries, question, repeats, client).model_copy(
                update={
                    name: getattr(own[question[0]], name) for name in ("not_computed", "left_out") if question[0] in own
                }
            )
            for question, repeats in zip(questions.items(), answers, strict=True)
        )


def own_answers(run: RunContext, questions: Mapping[str, Question], dead_letters: int = 0) -> dict[str, OwnAnswers]:
    """Right answers to the questions about the user's own file, by their names."""
    about_it = {name: question for name, question in questions.items() if question.is_about_a_file}
    index = own_index(run) if about_it else {}
    rejected = rejected_keys(run) if about_it and dead_letters else frozenset()
    return {name: OwnAnswers(question, run.dataset, **index, rejected=rejected) for name, question in about_it.items()}


def rejected_keys(run: RunContext) -> frozenset[bytes]:
    """Keys of the run's records that are dead letters."""
    letters = topics_of(run.target.endpoints).dead_letters(run.names.dead_letter_topic)
    return frozenset(letter.key for letter in letters)


def own_index(run: RunContext) -> dict[str, Any]:
    """Facts of the index of a user's own file: `mappings`, documents that are `stored`, and by what it is `changed`."""
    with contextlib.closing(cluster_of(run.target.endpoints)) as cluster:
        stored = cluster.count(run.names.index)
    mappings = mapping_for(run.profile, run.root).get("mappings", {})
    return {"mappings": mappings, "stored": stored, "changed": changed_by(run.profile, run.root)}


def try_questions_out(run: RunContext) -> None:
    """Send every request once to the index while it is empty: what it refuses, it refuses before the load.

    Raises:
        ProfileError: Elasticsearch refuses a request, as for a field that the mapping does not have.
        StackError: It does not answer.
    """
    if run.profile.queries is None:
        return
    with question_client(run) as client:
        for name in run.profile.queries.questions:
            question = load_question(name, run.root)
            model = requests_of(run.profile, question)
            with named(name, model):
                client.try_out(question.models[model], _values_of_few(question, run.dataset))


def _values_of_few(question: Question, dataset: Dataset) -> Values:
    """Values of a small dataset, of vectors of this one: what matters is how a request is built."""
    if question.kind is not None:
        (repeat,) = values_of_kind(question, dataset, 1, seed=1)
        return repeat.values
    if question.is_about_a_file:
        return chosen_values(question, random.Random(1))  # noqa: S311 - a sample
    if isinstance(dataset, Vectors):
        (vector,) = query_vectors(dataset, 1)
        return drawn_vector(question.parameters, vector, random.Random(1))  # noqa: S311 - a sample
    if question.is_about_events:
        events, draw = make_dataset("events", documents=FEW_EVENTS), random.Random(1)  # noqa: S311 - a sample
        assert events.timeline is not None  # noqa: S101 - as events have one
        window = drawn_window(events.timeline, None, draw, FEW_EVENTS)
        return {**drawn_event_values(question.parameters, events, window.rows, draw), **window.values}
    few = make_dataset("aladin", books=FEW_BOOKS)
    (repeat,) = question_values(question, shelf_of(few, book_fields(question), offer_fields(question)), 1, seed=1)
    return repeat.values


def question_client(run: RunContext) -> contextlib.closing[QuestionClient]:
    """A connection to the first node."""
    endpoints = run.target.endpoints
    access = endpoints.access.elasticsearch
    return contextlib.closing(QuestionClient(endpoints.elasticsearch_urls[0], run.names.index, access=access))


def requests_of(profile: Profile, question: Question) -> str:
    """Which of a question's models the profile asks: `queries.model`, that of its documents, or the first."""
    chosen = profile.queries.model if profile.queries is not None else None
    return str(chosen or profile.dataset.options.get("model") or next(iter(question.models)))


@contextlib.contextmanager
def named(question: str, model: str) -> Iterator[None]:
    """Say of what is refused inside where it stands."""
    try:
        yield
    except ProfileError as error:
        raise ProfileError(f"experiments/queries/{question}.yaml: models.{model}: {error}") from error


def right_answers(
    named_questions: Mapping[str, Question], dataset: Dataset, queries: Queries, own: Mapping[str, OwnAnswers]
) -> list[list[QuestionValues]]:
    """For each question what is asked in each repeat, warm-up first, and the right answer."""
    count, seed = queries.warm_up + queries.repeats, queries.seed
    questions = named_questions.values()
    about_books = [question for question in questions if question.is_about_books]
    books = dict.fromkeys(name for question in about_books for name in book_fields(question))
    offers = dict.fromkeys(name for question in about_books for name in offer_fields(question))
    shelf = shelf_of(dataset, books, offers) if about_books else None
    return [
        own_values(question, own[name], count, seed)
        if name in own
        else values_of_kind(question, dataset, count, seed)
        if shelf is None or question.kind
        else question_values(question, shelf, count, seed)
        for name, question in named_questions.items()
    ]


def own_values(question: Question, own: OwnAnswers, count: int, seed: int) -> list[QuestionValues]:
    """So many repeats of a question about the user's own file."""
    return repeats_of(question, count, seed, drawn=lambda draw: chosen_values(question, draw), right=own.right)


def ask_question(
    run: RunContext,
    queries: Queries,
    question: tuple[str, Question],
    repeats: Sequence[QuestionValues],
    client: QuestionClient,
) -> QuestionAnswers:
    """Ask one question as often as the profile says, after its warm-up."""
    name, stated = question
    model = requests_of(run.profile, stated)
    steps = stated.models[model]
    what = "values" if stated.is_about_a_file else "rows" if stated.kind else "books"
    warm_up, counted = repeats[: queries.warm_up], repeats[queries.warm_up :]
    service_time, took, totals, wrong = Latencies(), Latencies(), Counter[str](), []
    firsts: dict[tuple[Any, ...], Answer] = {}
    with named(name, model):
        for repeat in warm_up:
            client.ask(steps, repeat.values)
        for number, repeat in enumerate(counted, start=1):
            reply = client.ask(steps, repeat.values)
            totals.update(requests=reply.requests, ids_joined=reply.ids_joined)
            service_time.record(reply.service_time_ns)
            took.record(reply.took_ms * 1_000_000)
            right = repeat.right
            if right is None:
                right = firsts.setdefault(tuple(repeat.values.values()), reply.answer)
            answer = as_close(reply.answer, right) if stated.is_about_a_file else reply.answer
            if answer != right:
                wrong.append(f"answer {number}: {difference(answer, right, what)}")
            run.progress.update(number, f"{name}, {len(wrong)} wrong")
    return QuestionAnswers(
        name=name,
        question=stated.question,
        model=model,
        fingerprint=fingerprint_of(counted),
        answers=len(counted),
        wrong=len(wrong),
        expected_wrong=name in queries.expect_wrong,
        first_wrong=wrong[0] if wrong else None,
        requests=totals["requests"],
        ids_joined=totals["ids_joined"],
        books=sum(size_of(repeat.right) for repeat in counted if repeat.right is not None),
        service_time=service_time.encoded(),
        took=took.encoded(),
    )


def fingerprint_of(repeats: Sequence[QuestionValues]) -> str:
    """16 hexadecimal digits that two runs share exactly when they asked the same and the same was right."""
    content = [(dict(repeat.values), repeat.right) for repeat in repeats]
    # A right number with a bound is a float of its own class.
    return hashlib.sha256(orjson.dumps(content, float, orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def problems_of(questions: Sequence[QuestionAnswers]) -> Iterator[str]:
    """One sentence for each question whose answers are not as the profile expects."""
    for question in questions:
        if question.as_expected:
            continue
        if question.wrong and question.not_computed:
            yield (
                f"question {question.name}: {question.wrong} of {question.answers} answers differ from the first one "
                f"to the same request, such as {question.first_wrong}"
            )
        elif question.wrong:
            yield (
                f"question {question.name}: {question.wrong} of {question.answers} answers are wrong, such as "
                f"{question.first_wrong}; its service times do not count"
            )
        else:
            yield (
                f"question {question.name}: all {question.answers} answers are right, expected wrong ones "
                "(queries.expect_wrong); remove it from that list, or load more documents"
            )
