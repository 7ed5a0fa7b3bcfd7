"""Wrong answers: how they are described, and what they do to a run."""

from pathlib import Path
from typing import Any

import pytest

from lab.clients.target import Target
from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.loader import REPOSITORY
from lab.records.queries import QuestionAnswers
from lab.run.folder import RunFolder
from lab.run.phases import RunContext
from lab.run.query.ask import ask_questions, problems_of, try_questions_out
from lab.run.query.right_answers import difference
from producers.registry import make_dataset
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage
from tests.unit.run.displays import SilentProgress


def run_on(url: str, name: str, *overrides: str, dataset: Any = None) -> RunContext:
    """A run of a profile, with this Elasticsearch."""
    target = Target("local", Endpoints("127.0.0.1:1", "", (url,), None), dict, (), {}, fresh=False)
    profile = load_profile(name, overrides=overrides)
    return RunContext(profile, dataset, target, RunFolder(Path(), "7"), REPOSITORY, progress=SilentProgress())


def asked(*, wrong: int, expected_wrong: bool) -> QuestionAnswers:
    """A question with 23 answers."""
    return QuestionAnswers(
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


def test_a_wrong_answer_is_a_problem_of_the_run(message: MakeMessage) -> None:
    """What is fast and wrong is not fast."""
    assert list(problems_of([asked(wrong=7, expected_wrong=False)])) == [message(7, 23, 3, 20, 19)]


def test_an_expected_wrong_answer_is_none() -> None:
    """A profile may be there to show a wrong answer."""
    assert list(problems_of([asked(wrong=7, expected_wrong=True), asked(wrong=0, expected_wrong=False)])) == []


def test_a_right_answer_where_a_wrong_one_is_expected_is_a_problem(message: MakeMessage) -> None:
    """Then the profile shows nothing."""
    assert list(problems_of([asked(wrong=0, expected_wrong=True)])) == [message(23, "queries.expect_wrong")]


def test_answers_that_differ_from_each_other_are_a_problem_and_none_is_called_wrong(message: MakeMessage) -> None:
    """Where no right answer can be computed."""
    differing = asked(wrong=7, expected_wrong=False).model_copy(update={"not_computed": "`match` is not computed"})
    assert list(problems_of([differing])) == [message(7, 23)]


def test_a_search_of_a_users_file_is_compared_with_its_first_answer_where_none_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first answer of the warm-up is the reference of no other; each value of a parameter has its own."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("mappings/own.json", '{"mappings": {"properties": {"note": {"type": "text"}}}}'),
        ("experiments/profiles/own.yaml", PROFILE),
        ("experiments/queries/near.yaml", NEAR),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "own.ndjson").write_text('{"note": "x"}\n')
    whole = {"took": 3, "timed_out": False, "_shards": {"failed": 0}}
    answers = [{**whole, "hits": {"total": {"value": hits, "relation": "eq"}, "hits": []}} for hits in (9, 5, 5, 6)]
    with rest((200, {"count": 1}), *((200, answer) for answer in answers)) as server:
        run = run_on(server.url, "own", dataset=make_dataset("file", path="own.ndjson"))
        assert run.profile.queries is not None
        (found,) = ask_questions(run, run.profile.queries)
    assert (found.answers, found.wrong, found.first_wrong) == (
        3,
        1,
        "answer 3: got 1 values, expected 1, of which 1 differ",
    )
    assert found.not_computed is not None
    assert server.requests[1][2]["query"] == {"match": {"note": "x"}}


PROFILE = """question: How fast?
dataset: {name: file, path: own.ndjson}
mapping: own
load: {mode: drain}
queries: {questions: [near], repeats: 3, warm_up: 1}
"""
NEAR = """question: Which notes are near?
dataset: file
parameters: {text: {one_of: [x]}}
request: {size: 0, query: {match: {note: $text}}}
"""


def test_a_difference_is_told_in_numbers(message: MakeMessage) -> None:
    """No id and no value of a document is in it."""
    assert difference(["a", "b"], ["a", "b", "c"], "books") == "got 2 books, expected 3"
    assert difference(["a", "b"], ["a", "c"], "books") == message(2, 1)
    assert difference({"a": [1], "b": [2]}, {"a": [1], "b": [3]}, "books") == message(2, 1)
    assert difference(5, 7, "books") == "got 5 books, expected 7"


def test_every_answer_of_an_index_without_books_is_counted_as_wrong() -> None:
    """Warm-up is asked and not counted; each repeat is compared by itself."""
    empty: dict[str, Any] = {
        "took": 3,
        "timed_out": False,
        "_shards": {"failed": 0},
        "hits": {"total": {"value": 0}, "hits": []},
    }
    overrides = "queries.repeats=7", "queries.warm_up=2", "queries.questions=[cheapest-in-category]"
    with rest((200, empty)) as server:
        dataset = make_dataset("aladin", books=1009)
        run = run_on(server.url, "aladin/search-nested", "dataset.books=1009", *overrides, dataset=dataset)
        assert run.profile.queries is not None
        (found,) = ask_questions(run, run.profile.queries)
    assert len(server.requests) == 9
    assert (found.answers, found.wrong, found.requests, found.ids_joined) == (7, 7, 7, 0)


def test_every_request_is_tried_before_the_load(message: MakeMessage) -> None:
    """Each step of each question, the second of a join too, though no id was found; a refusal names the file."""
    shards = {"took": 3, "timed_out": False, "_shards": {"failed": 0}}
    with rest((200, shards)) as server:
        try_questions_out(run_on(server.url, "aladin/search-flat"))
    assert len(server.requests) == 6

    refused = {"error": {"root_cause": [{"reason": "No mapping found for [book_id] in order to sort on"}]}}
    with rest((400, refused)) as server, pytest.raises(ProfileError) as caught:
        try_questions_out(run_on(server.url, "aladin/search-flat"))
    assert str(caught.value) == message("experiments/queries/shop-below-price.yaml: models.flat", "book_id")


def test_requests_about_events_are_tried_with_a_window() -> None:
    """Those of the model that the profile names."""
    shards = {"took": 3, "timed_out": False, "_shards": {"failed": 0}}
    overrides = (
        "load={mode: query, queries: {requests: 7}}",
        "queries.questions=[ratings, total-events]",
        "queries.model=source",
    )
    with rest((200, shards)) as server:
        events = make_dataset("events", documents=1009)
        try_questions_out(run_on(server.url, "events/static", *overrides, dataset=events))
    bodies = [body for _, _, body in server.requests]
    assert [body.get("runtime_mappings") for body in bodies] == [{"Rating": {"type": "keyword"}}, None]
    assert {str(body["query"]) for body in bodies} == {
        str({"range": {"DateTimeReceivedUtc": {"gte": "2016-02-01T00:00:00.000Z", "lt": "2016-02-01T00:00:00.097Z"}}})
    }


def test_a_profile_without_questions_tries_nothing() -> None:
    """The dataset need not be one that questions are about."""
    with rest((500, {})) as server:
        try_questions_out(run_on(server.url, "events/static"))
    assert server.requests == []
