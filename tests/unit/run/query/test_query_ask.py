"""How requests are sent and answers are read, against a server whose responses are laid out."""

from typing import Any

import pytest

from lab.errors import ProfileError, StackError
from lab.profiles.questions import Step
from lab.run.query import ask as asking
from lab.run.query.ask import QuestionClient
from tests.unit.clients.rest_server import rest
from tests.unit.messages import MakeMessage

PAGE = 3
IDS = {
    "request": {"size": PAGE, "sort": [{"book_id": "asc"}], "query": {"term": {"shop_id": "$shop"}}},
    "pages": True,
    "ids": {"entries": "hits.hits", "id": "sort.0"},
}
BEST = {
    "request": {"size": 2, "query": {"terms": {"book_id": "$ids"}}},
    "answer": {"entries": "hits.hits", "id": "sort.1", "by": "sort.0"},
}


def steps(*stated: dict[str, Any]) -> list[Step]:
    """Steps of an answer."""
    return [Step.model_validate(step) for step in stated]


def found(*sorts: list[Any], took: int = 7, failed: int = 0) -> dict[str, Any]:
    """A response with hits of these sort values."""
    hits = [{"sort": sort} for sort in sorts]
    return {"took": took, "timed_out": False, "_shards": {"failed": failed}, "hits": {"hits": hits}}


def ask(url: str, asked: list[Step], **values: str | int) -> asking.Reply:
    """One answer, by a clock that moves on by a millisecond whenever it is read."""
    ticks = iter(range(0, 1_000_000_000, 1_000_000))
    client = QuestionClient(url, "sluice-books", clock_ns=lambda: next(ticks))
    try:
        return client.ask(asked, values)
    finally:
        client.close()


def test_a_join_sends_the_ids_of_every_page_on() -> None:
    """A full page may not be the last; time runs from the first request to the last response."""
    pages = found(["a"], ["b"], ["c"]), found(["d"])
    with rest(*((200, answer) for answer in (*pages, found([90, "d"], [80, "a"], took=11)))) as server:
        reply = ask(server.url, steps(IDS, BEST), shop="Jeju")
    assert reply == asking.Reply(["d", "a"], service_time_ns=5_000_000, took_ms=25, requests=3, ids_joined=4)
    first, second, third = (body for _, _, body in server.requests)
    assert first == {**IDS["request"], "query": {"term": {"shop_id": "Jeju"}}}
    assert second == {**first, "search_after": ["c"]}
    assert third["query"] == {"terms": {"book_id": ["a", "b", "c", "d"]}}
    assert {path for _, path, _ in server.requests} == {"/sluice-books/_search?request_cache=false"}


def test_more_ids_than_one_request_may_carry_go_in_lots(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of all lots are the best there are, also when no lot holds all of them."""
    monkeypatch.setattr(asking, "IDS_AT_ONCE", 2)
    with rest(
        *((200, answer) for answer in (found(["a"], ["b"], ["c"]), found())),
        (200, found([50, "a"])),
        (200, found([70, "c"])),
    ) as server:
        reply = ask(server.url, steps(IDS, BEST), shop="Jeju")
    assert reply.answer == ["c", "a"]
    assert [body["query"]["terms"]["book_id"] for _, _, body in server.requests[2:]] == [["a", "b"], ["c"]]


def test_an_order_that_elasticsearch_got_wrong_is_not_mended() -> None:
    """A single response is taken as it is, or a wrong order would pass for a right one."""
    with rest((200, found(["a"])), (200, found([10, "a"], [20, "b"]))) as server:
        assert ask(server.url, steps(IDS, BEST), shop="Jeju").answer == ["a", "b"]


def test_without_an_id_there_is_no_second_request() -> None:
    """Nothing found in the first step is an answer."""
    with rest((200, found())) as server:
        reply = ask(server.url, steps(IDS, BEST), shop="Jeju")
    assert (reply.answer, reply.requests, reply.ids_joined) == ([], 1, 0)


def test_values_numbers_and_lengths_are_read() -> None:
    """The three other shapes of an answer."""
    values = {"request": {}, "answer": {"entries": "hits.hits", "id": "sort.0", "values": ["sort.2", "sort.1"]}}
    number = {"request": {}, "answer": {"number": "hits.total.value"}}
    length = {"request": {}, "answer": {"number_of": "hits.hits"}}
    response = found(["a", 1, 2], ["b", 3, 4])
    response["hits"]["total"] = {"value": 13}
    with rest((200, response)) as server:
        answers = [ask(server.url, steps(step)).answer for step in (values, number, length)]
    assert answers == [{"a": [2, 1], "b": [4, 3]}, 13, 2]


def test_a_refused_request_says_why(message: MakeMessage) -> None:
    """The first cause, not that all shards failed."""
    refused = {"error": {"reason": "all shards failed", "root_cause": [{"reason": "No mapping found for [isbn13]"}]}}
    with rest((400, refused)) as server, pytest.raises(ProfileError) as caught:
        ask(server.url, steps(BEST), ids="a")
    assert str(caught.value) == message("isbn13")


def test_an_answer_of_some_shards_is_none(message: MakeMessage) -> None:
    """Elasticsearch gives partial results with status 200."""
    with rest((200, found([1, "a"], failed=1))) as server, pytest.raises(StackError) as caught:
        ask(server.url, steps(BEST), ids="a")
    assert str(caught.value) == message(1)


def test_a_path_that_leads_nowhere_is_named(message: MakeMessage) -> None:
    """Another mapping may answer in another shape."""
    with rest((200, found([1]))) as server, pytest.raises(ProfileError) as caught:
        ask(server.url, steps(BEST), ids="a")
    assert str(caught.value) == message("sort.1")
