"""The audited index as its cluster answers: pages, and documents as they are this instant."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from lab.audit.index import Contents, Index, Pace, form_text
from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError, StackError
from lab.run.verify.contents import SourceRules
from tests.unit.clients.rest_server import Rest, rest
from tests.unit.messages import MakeMessage

NO_VECTORS: tuple[int, Any] = (200, {"books": {"settings": {}}})


@contextmanager
def index(*answers: tuple[int, Any]) -> Iterator[tuple[Index, Rest]]:
    """The index `books` of a cluster that gives these answers."""
    with rest(*answers) as server:
        client = ElasticsearchClient([server.url], patience_s=0)
        yield Index(client, "books", Pace(None)), server
        client.close()


def hits(*ids: str, failed: int = 0, **more: Any) -> tuple[int, Any]:
    """An answer with these documents."""
    found = [{"_index": "books", "_id": name, "_version": 1, "_seq_no": 1, "sort": [ord(name)]} for name in ids]
    return 200, {"_shards": {"failed": failed}, "hits": {"hits": found}, **more}


def ids_of(pages: Iterator[Any]) -> list[list[str]]:
    """The ids of each page."""
    return [[hit["_id"] for hit in page.hits] for page in pages]


def test_pages_follow_a_point_in_time_that_is_closed_at_the_end() -> None:
    """Each request has the id that the answer before gave."""
    first, second, last = hits("a", "b", pit_id="p1"), hits("c", pit_id="p2"), hits(pit_id="p3")
    with index((200, {"id": "p0"}), NO_VECTORS, first, second, last, (200, {})) as (books, server):
        assert ids_of(books.pages(sources=False)) == [["a", "b"], ["c"]]
    searches = [body for _, path, body in server.requests if path.startswith("/_search")]
    assert [(body["pit"]["id"], body.get("search_after")) for body in searches] == [
        ("p0", None),
        ("p1", [ord("b")]),
        ("p2", [ord("c")]),
    ]
    assert server.requests[-1] == ("DELETE", "/_pit", {"id": "p3"})


def test_a_reading_that_ends_early_closes_its_point_in_time() -> None:
    """As Ctrl-C ends it."""
    with index((200, {"id": "p0"}), NO_VECTORS, hits("a", pit_id="p1"), (200, {})) as (books, server):
        pages = books.pages(sources=False)
        page = next(pages)
        pages.close()  # type: ignore[attr-defined]
    assert page.place == f"p1 {ord('a')}"
    assert server.requests[-1] == ("DELETE", "/_pit", {"id": "p1"})


def test_a_reading_goes_on_at_its_place() -> None:
    """Without a new point in time."""
    with index(NO_VECTORS, hits("c", pit_id="p1"), hits(pit_id="p1"), (200, {})) as (books, server):
        assert ids_of(books.pages(sources=False, place="p1 98")) == [["c"]]
    assert server.requests[1][2]["search_after"] == [98]


def test_a_server_without_points_in_time_is_scrolled() -> None:
    """OpenSearch, and Elasticsearch before 7.12."""
    answers = (405, {}), NO_VECTORS, NO_VECTORS, hits("a", _scroll_id="s"), hits(_scroll_id="s"), (200, {})
    with index(*answers) as (books, server):
        assert ids_of(books.pages(sources=True)) == [["a"]]
    assert server.requests[-1] == ("DELETE", "/_search/scroll", {"scroll_id": ["s"]})


def test_a_shard_that_does_not_answer_ends_the_reading(message: MakeMessage) -> None:
    """Else its documents were missing."""
    with index((200, {"id": "p0"}), NO_VECTORS, hits("a", failed=2), (200, {})) as (books, _):
        with pytest.raises(StackError) as error:
            list(books.pages(sources=False))
        assert str(error.value) == message("books", 2)


def test_a_search_that_was_cut_off_ends_the_reading(message: MakeMessage) -> None:
    """Its documents would be missing."""
    with index((200, {"id": "p0"}), NO_VECTORS, hits("a", timed_out=True), (200, {})) as (books, server):
        with pytest.raises(StackError) as error:
            list(books.pages(sources=False))
        assert str(error.value) == message("books", "default_search_timeout")
        assert "timed_out" in server.requests[2][1]


@pytest.mark.parametrize(
    ("searched", "got", "there"),
    [
        ({}, False, []),
        ({}, True, ["got"]),
        ({"_id": "a"}, False, []),
        ({"_id": "a", "_routing": "r"}, False, ["searched"]),
        ({"_id": "a"}, True, ["got"]),
    ],
    ids=["nowhere", "not refreshed", "deleted and not refreshed", "routed", "both"],
)
def test_a_document_is_found_as_it_is_this_instant(searched: dict[str, str], got: bool, there: list[str]) -> None:  # noqa: FBT001
    """A search is as old as the last refresh, and a get does not find what is routed."""
    found = [{"_index": "books", "from": "searched", **searched}] if searched else []
    answer = (200, {"_shards": {"failed": 0}, "hits": {"hits": found}})
    docs = {"docs": [{"_index": "books", "_id": "a", "found": got, "from": "got"}]}
    with index(NO_VECTORS, answer, NO_VECTORS, (200, docs)) as (books, _):
        assert [each["from"] for each in books.find(["a"]).get("a", [])] == there


def test_documents_of_one_id_and_several_routings_are_all_found() -> None:
    """Each shard may hold one, also the one that a get finds; where a routing is required, only a search finds any."""
    found = [{"_index": "books", "_id": "a", "_routing": routing} for routing in "rs"]
    answer = (200, {"_shards": {"failed": 0}, "hits": {"hits": found}})
    plain = {"_index": "books", "_id": "a", "found": True}
    required = {"_index": "books", "_id": "a", "error": {"type": "routing_missing_exception", "reason": "required"}}
    for got, number in ((plain, 3), (plain | {"_routing": "r"}, 2), (required, 2)):
        with index(NO_VECTORS, answer, NO_VECTORS, (200, {"docs": [got]})) as (books, _):
            assert len(books.find(["a"])["a"]) == number


def test_indices_that_a_rollover_made_meanwhile_are_asked() -> None:
    """Else a document that is not refreshed yet would be missing."""
    rolled: Any = {name: {"settings": {}} for name in ("books", "books-2")}
    with index(NO_VECTORS, NO_VECTORS, hits(), (200, rolled), (200, {"docs": []})) as (books, server):
        assert list(books.backing) == ["books"]
        books.find(["a"])
    assert [each["_index"] for each in server.requests[-1][2]["docs"]] == ["books", "books-2"]


def test_indices_that_keep_documents_in_several_ways_are_not_compared() -> None:
    """One of them rebuilds `_source`, and which has a record's document is not known."""
    settings = {"a": {"settings": {}}, "b": {"settings": {"index.mapping.source.mode": "synthetic"}}}
    mappings: Any = {name: {"mappings": {}} for name in "ab"}
    with index((200, settings), (200, mappings)) as (books, _):
        assert books.contents(()).rules.kind == "none"


def test_requests_are_no_larger_than_a_second_of_the_rate() -> None:
    """A point in time would be over before the next page of 10,000."""
    with index((200, {"id": "p0"}), NO_VECTORS, hits(pit_id="p1"), (200, {})) as (_, server):
        client = ElasticsearchClient([server.url], patience_s=0)
        list(Index(client, "books", Pace(20)).pages(sources=False))
        client.close()
    assert server.requests[2][2]["size"] == 20


def test_gets_wait_for_their_turn() -> None:
    """Of two indices behind the name."""
    waits: list[float] = []
    pace = Pace(1, clock=lambda: 0.0, sleep=waits.append)
    answers = NO_VECTORS, hits(), (200, {name: {"settings": {}} for name in "ab"}), *[(200, {"docs": []})] * 2
    with index(*answers) as (_, server):
        client = ElasticsearchClient([server.url], patience_s=0)
        Index(client, "books", pace).find(["a"])
        client.close()
    assert waits == [1.0, 2.0, 3.0]


def test_pages_are_no_larger_than_every_index_allows() -> None:
    """Else the cluster would reject the search."""
    narrow: Any = {name: {"settings": {"index.max_result_window": size}} for name, size in (("a", "9000"), ("b", "6"))}
    scripted = (200, narrow), hits(), (200, narrow), (200, {"docs": []}), (200, {"id": "p0"}), hits(), (200, {})
    with index(*scripted) as (books, server):
        vars(books)["_vectors"] = ""
        assert list(books.backing) == ["a", "b"]
        books.find(["x", "y", "z"])
        list(books.pages(sources=False))
    searches = [body for _, path, body in server.requests if "/_search?" in path]
    assert [body["size"] for body in searches] == [6, 6]


def test_documents_that_one_answer_does_not_hold_are_asked_for_by_halves() -> None:
    """Of two ids there are three documents, and the index returns two at a time."""
    narrow: Any = {"books": {"settings": {"index.max_result_window": "2"}}}
    halves = [hits("a", "a"), hits("a"), hits("b", "b")]
    with index((200, narrow), *halves, (200, narrow), (200, {"docs": []})) as (books, server):
        vars(books)["_vectors"] = ""
        assert list(books.backing) == ["books"]
        assert books.search(["a", "b"]) == {"a", "b"}
    asked = [body["query"]["ids"]["values"] for _, path, body in server.requests if "/_search?" in path]
    assert asked == [["a", "b"], ["a"], ["b"]]


@pytest.mark.parametrize(
    ("name", "path"), [("a/b?c#d", "/a%2Fb%3Fc%23d"), ("<logs-{now/d}>,x*", "/%3Clogs-%7Bnow%2Fd%7D%3E,x*")]
)
def test_a_name_is_no_path(name: str, path: str) -> None:
    """And date math is a name."""
    with index(NO_VECTORS) as (_, server):
        client = ElasticsearchClient([server.url], patience_s=0)
        assert list(Index(client, name, Pace(None)).backing) == ["books"]
        client.close()
    assert server.requests[0][1].startswith(f"{path}/_settings/")


@pytest.mark.parametrize("name", ["", " ", ".."])
def test_an_empty_name_is_refused(name: str, message: MakeMessage) -> None:
    """It would be every index."""
    with index(NO_VECTORS) as (_, server):
        client = ElasticsearchClient([server.url], patience_s=0)
        with pytest.raises(ProfileError) as error:
            Index(client, name, Pace(None))
        client.close()
    assert str(error.value) == message()


def test_a_name_that_the_cluster_rejects_is_invalid_input(message: MakeMessage) -> None:
    """Exit status 2, with the cluster's reason."""
    rejected = {"error": {"type": "invalid_index_name_exception", "reason": "Invalid index name [_x]"}, "status": 400}
    with index((400, rejected)) as (books, _), pytest.raises(ProfileError) as error:
        _ = books.backing
    assert str(error.value) == message("books", "[_x]")


def test_an_index_that_does_not_exist_is_refused(message: MakeMessage) -> None:
    """Exit status 2."""
    with index((404, {})) as (books, _), pytest.raises(ProfileError) as error:
        _ = books.backing
    assert str(error.value) == message("books")


REFUSED: tuple[int, Any] = (403, {"error": {"type": "security_exception", "reason": "action [x] is unauthorized"}})


@pytest.mark.parametrize(
    ("answers", "read"),
    [
        ([REFUSED], lambda books: books.backing),
        ([REFUSED], lambda books: books.count()),
        ([REFUSED], lambda books: books.first_ids()),
        ([REFUSED], lambda books: books.contents(())),
        ([NO_VECTORS, REFUSED], lambda books: books.contents(())),
        ([REFUSED], lambda books: list(books.pages(sources=True))),
        ([(200, {"id": "p0"}), NO_VECTORS, REFUSED], lambda books: list(books.pages(sources=True))),
        ([(405, {}), NO_VECTORS, REFUSED], lambda books: list(books.pages(sources=True))),
        ([NO_VECTORS, REFUSED], lambda books: books.search(["a"])),
        ([NO_VECTORS, hits(), NO_VECTORS, REFUSED], lambda books: books.find(["a"])),
    ],
)
def test_a_refusal_of_any_request_is_one_sentence(
    answers: list[tuple[int, Any]], read: Callable[[Index], object]
) -> None:
    """With the cluster's words, which name the privilege; nothing counts as missing."""
    with index(*answers) as (books, _), pytest.raises(StackError, match=r"403: action \[x\] is unauthorized"):
        read(books)


def test_one_of_two_indices_that_may_not_be_read_ends_the_audit() -> None:
    """Its documents are not missing: a get answers for each document, and not with a status."""
    both: Any = {name: {"settings": {}} for name in ("books-1", "books-2")}
    docs = [{"_index": "books-1", "_id": "a", "found": False}, {"_index": "books-2", "_id": "a"} | REFUSED[1]]
    scripted, why = (NO_VECTORS, hits(), (200, both), (200, {"docs": docs})), r"cannot be read: action \[x\] is unauth"
    with index(*scripted) as (books, _), pytest.raises(StackError, match=why):
        books.find(["a"])


def role(*names: str, privileges: Sequence[str] = ("read",), **limits: Any) -> dict[str, Any]:
    """A part of a user's roles."""
    return {"names": list(names), "privileges": list(privileges), **limits}


QUERY, FIELDS = {"query": ["{}"]}, {"field_security": [{"grant": ["title"]}]}


@pytest.mark.parametrize(
    ("roles", "facts"),
    [
        ([role("*")], []),
        ([role("bo*", **QUERY)], [("documents", "query", "missing")]),
        ([role("books", **QUERY, **FIELDS)], [("documents", "missing"), ("fields", "field_security", "different")]),
        ([role("books", **QUERY), role("*")], []),
        ([role("books", **QUERY), role("*", privileges=["monitor"])], [("documents", "missing")]),
        ([role("shops", **QUERY), role("books")], []),
    ],
)
def test_what_a_role_hides_is_said(roles: list[Any], facts: list[tuple[str, ...]], message: MakeMessage) -> None:
    """A role without a query takes the query of another one away, if it may read."""
    with index(NO_VECTORS, (200, {"indices": roles})) as (books, _):
        assert list(books.restrictions()) == [message("books", *each) for each in facts]


@pytest.mark.parametrize("may_read_all", [True, False])
def test_a_pattern_of_which_a_user_may_read_a_part_is_said(message: MakeMessage, *, may_read_all: bool) -> None:
    """Elasticsearch leaves the other indices out without a word."""
    with rest((200, {"has_all_requested": may_read_all}), NO_VECTORS, (200, {"indices": []})) as server:
        client = ElasticsearchClient([server.url], patience_s=0)
        found = list(Index(client, "books-*,-books-old", Pace(None)).restrictions())
        client.close()
    assert found == [message("books-*", "missing")] * (not may_read_all)
    assert server.requests[0][2] == {"index": [{"names": ["books-*"], "privileges": ["read"]}]}


@pytest.mark.parametrize("status", [400, 401, 403, 405, 500])
def test_a_cluster_that_tells_nothing_of_roles_has_no_restrictions(status: int) -> None:
    """As one without security, OpenSearch, or Elasticsearch of an API key."""
    with index(NO_VECTORS, (status, {"error": "no handler found"})) as (books, _):
        assert list(books.restrictions()) == []


def test_a_failure_store_that_may_not_be_read_is_told_from_an_empty_one() -> None:
    """Where there is none, as of an index, it may be refused as well."""
    stream: Any = (200, {".ds-logs-1": {"settings": {}}})
    with index(stream, REFUSED) as (logs, _), pytest.raises(StackError, match="unauthorized"):
        logs.failures("a")
    with index(NO_VECTORS, REFUSED) as (books, _):
        assert books.failures("a") == []


def test_a_pace_lets_through_a_second_at_once_and_then_its_rate() -> None:
    """Of 100 a second."""
    now, waits = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        waits.append(round(seconds, 3))
        now[0] += seconds

    pace = Pace(100, clock=lambda: now[0], sleep=sleep)
    now[0] = 5.0
    for _ in range(3):
        pace.take(100)
    assert waits == [1.0, 1.0]


def test_contents_differ_by_field() -> None:
    """Without ignored fields; 1.0 is 1."""
    contents = Contents(SourceRules(), ("@timestamp", "a.added"))
    produced = {"a": {"b": 1.0, "c": [1]}, "d": True}
    stored = {"a": {"b": 1, "c": [1, 2], "added": 5}, "d": 1, "@timestamp": 7}
    assert contents.differences(produced, stored) == ["a.c", "d"]
    assert contents.differences({"a": {"b": None}}, {"a": {}}) == ["a.b"]
    assert contents.digest({"a": {"b": 1.0}}) == contents.digest({"@timestamp": 3, "a": {"added": 1, "b": 1}})


def test_a_form_is_the_same_text_in_every_process() -> None:
    """Sets have no order."""
    assert form_text(frozenset({"b", "a", "c"})) == """["'a'", "'b'", "'c'"]"""
    assert form_text(("x", frozenset({2, 1}))) == """("'x'", "['1', '2']")"""
