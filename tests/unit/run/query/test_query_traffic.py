"""Clients that send queries: when each is due, which count, and what is made of every kind of answer."""

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

import orjson
import pytest

import lab.run.query.traffic as traffic_module
from lab.profiles.models import Queries, QueryLoad
from lab.run.query.draw import DrawnQuery
from lab.run.query.traffic import (
    KEPT_BESIDES,
    NO_ANSWER,
    NOT_SENT,
    KeptAnswers,
    QueryConnection,
    Reply,
    Stage,
    StageUnderWay,
    Task,
    Traffic,
    search_result,
)
from tests.unit.clients.rest_server import rest, rest_with_headers

MS = 1_000_000
S = 1_000 * MS
RESULT = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 1, "successful": 1, "failed": 0},
    "hits": {"total": {"value": 17, "relation": "eq"}, "hits": []},
}


def task(url: str = "http://127.0.0.1:9", **load: Any) -> Task:
    """A task of two questions."""
    return Task(
        urls=(url,),
        index="books",
        dataset={},
        root="",
        queries=Queries(questions=["a", "b"], seed=5),
        load=QueryLoad(**load),
        ramp=None,
        models={},
        documents_stream=False,
    )


@dataclass
class Now:
    """A clock that a test sets."""

    ns: int = 1009 * S

    def __call__(self) -> int:
        """The instant."""
        return self.ns


@dataclass
class StubTraffic:
    """Takes a time for each query, by the test's clock, and keeps its number.

    Attributes:
        error: Why there is no answer.
        meanwhile: Called while each query is under way.
    """

    now: Now
    task: Task = field(default_factory=task)
    service_ns: int = 50 * MS
    error: str | None = None
    meanwhile: Callable[[], None] = lambda: None
    questions: tuple[str, ...] = ("a", "b")
    numbers: list[int] = field(default_factory=list)

    def exchange(
        self, _: int, number: int, due_ns: int | None, *, was_free: bool, counts: Callable[[int, int], bool]
    ) -> Reply:
        """Answer after the service time."""
        self.numbers.append(number)
        sent_ns = self.now.ns
        self.now.ns += self.service_ns
        self.meanwhile()
        due_ns = sent_ns if due_ns is None else due_ns
        return Reply(number % 2, due_ns, sent_ns, self.now.ns, was_free, self.error, counts=counts(due_ns, self.now.ns))


def sent(stage: Stage, **stub: Any) -> tuple[StageUnderWay, list[Reply]]:
    """One client's work on a stage, in which waiting takes no time: the clock jumps to the due time."""
    now = Now()
    traffic = StubTraffic(now, **stub)
    under_way = StageUnderWay(traffic, stage, now)  # type: ignore[arg-type]

    def wait(seconds: float) -> bool:
        now.ns += round(seconds * S)
        return False

    under_way._over.wait = wait  # type: ignore[method-assign,assignment]
    under_way.work(0)
    return under_way, list(under_way.result(0.0).replies)


def test_latency_counts_from_the_due_time_of_a_query_that_waited_for_a_client() -> None:
    """One client that takes 150 ms and queries due every 100 ms: each waits 50 ms longer than the one before."""
    _, replies = sent(Stage(10, 0, 0.5), service_ns=150 * MS)

    assert [(reply.read_ns - reply.due_ns) // MS for reply in replies] == [150, 200, 250, 300, 350]
    assert [(reply.read_ns - reply.sent_ns) // MS for reply in replies] == [150] * 5
    assert [reply.was_free for reply in replies] == [False] * 5


def test_of_an_open_loop_count_the_queries_that_are_due_after_the_warm_up() -> None:
    """The first that is due then begins the measured part; before and behind it none counts."""
    under_way, replies = sent(Stage(10, 0.25, 0.5), service_ns=20 * MS)

    assert [(reply.due_ns - under_way.began_ns) // MS for reply in replies] == [300, 400, 500, 600, 700]
    assert (under_way.started_ns - under_way.began_ns) // MS == 300
    assert all(reply.was_free for reply in replies[1:])


@pytest.mark.parametrize("rate", [3, 7, 11.3, 1009])
@pytest.mark.parametrize("warm_up_s", [0, 0.1, 5, 5.1])
def test_an_open_loop_of_so_many_requests_sends_exactly_those(rate: float, warm_up_s: float) -> None:
    """Whatever the warm-up is a multiple of."""
    _, replies = sent(Stage(rate, warm_up_s, requests=13), service_ns=MS)

    assert len(replies) == 13


def test_a_closed_loop_of_so_many_requests_ends_with_the_last_of_them() -> None:
    """Those that were read in the warm-up are not among them."""
    under_way, replies = sent(Stage(None, 0.12, requests=7))

    assert [(reply.read_ns - under_way.began_ns) // MS for reply in replies] == [150, 200, 250, 300, 350, 400, 450]
    assert under_way.ends_ns == replies[-1].read_ns


def test_of_a_closed_loop_counts_what_is_read_between_warm_up_and_end() -> None:
    """An answer that is read after the end is not among it."""
    under_way, replies = sent(Stage(None, 0.1, 0.22))

    assert [(reply.read_ns - under_way.began_ns) // MS for reply in replies] == [100, 150, 200, 250, 300]
    result = under_way.result(0.0)
    assert (result.started_ns - under_way.began_ns, result.ended_ns - under_way.began_ns) == (100 * MS, 320 * MS)


def test_think_time_does_not_reach_beyond_the_end() -> None:
    """A client that would think for an hour is done when the stage is."""
    under_way, replies = sent(Stage(None, 0, 0.5), task=task(think_time_s=3600))

    assert len(replies) == 1
    assert under_way._now_ns() - under_way.began_ns == 500 * MS


def test_queries_that_no_client_could_send_10_s_after_the_end_are_errors() -> None:
    """Due at 0, 100, 200, 300 and 400 ms: the first two are answered after 6 and 12 s, the others are not sent."""
    under_way, replies = sent(Stage(10, 0, 0.5), service_ns=6 * S)

    assert [reply.error for reply in replies] == [None, None, NOT_SENT, NOT_SENT, NOT_SENT]
    assert under_way.result(0.0).ended_ns - under_way.began_ns == 12 * S


def test_queries_that_were_due_before_an_early_end_are_still_sent() -> None:
    """Told to stop after 350 ms, with three queries waiting for the only client."""
    now = Now()
    traffic = StubTraffic(now, service_ns=350 * MS)
    under_way = StageUnderWay(traffic, Stage(10, 0), now)  # type: ignore[arg-type]
    traffic.meanwhile = lambda: under_way.end(now.ns)
    under_way.work(0)

    assert traffic.numbers == [0, 1, 2, 3]
    assert under_way.ends_ns == under_way.began_ns + 350 * MS
    assert [reply.due_ns - under_way.began_ns for reply in under_way.result(0.0).replies] == [
        0, 100 * MS, 200 * MS, 300 * MS
    ]  # fmt: skip


def test_a_stage_that_is_ended_in_its_warm_up_has_no_replies_and_no_length() -> None:
    """It ends when it starts, not before."""
    now = Now()
    under_way = StageUnderWay(StubTraffic(now), Stage(10, 5, 1), now)  # type: ignore[arg-type]
    under_way.end(now.ns)
    under_way.work(0)

    result = under_way.result(0.0)
    assert (list(result.replies), result.ended_ns - result.started_ns) == ([], 0)


def test_a_client_of_a_dead_server_pauses_between_its_tries() -> None:
    """0.1 s each: in a second it has 10 errors, not a thousand."""
    _, replies = sent(Stage(None, 0, 1), service_ns=MS, error=NO_ANSWER)

    assert len(replies) == 10


def test_what_a_client_fails_with_ends_the_load() -> None:
    """An error that nobody expects is not lost with the thread that had it."""
    now = Now()
    traffic = StubTraffic(now)

    def fail() -> None:
        raise KeyError("field")

    traffic.meanwhile = fail
    under_way = StageUnderWay(traffic, Stage(10, 0), now)  # type: ignore[arg-type]
    under_way.work(0)

    assert under_way.ends_ns == now.ns
    with pytest.raises(KeyError, match="field"):
        under_way.result(0.0)


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "content", "error"),
    [
        (200, orjson.dumps(RESULT), None),
        (429, b'{"error":{"type":"es_rejected_execution_exception"}}', "429 es_rejected_execution_exception"),
        (503, b"<html>Service Unavailable</html>", "503 without a type"),
        (301, b"", "301 without a type"),
        (400, b'{"error":"no handler found"}', "400 without a type"),
        (200, b"<html>welcome</html>", "no search result"),
        (200, b"[]", "no search result"),
        (200, b"{}", "no search result"),
        (200, orjson.dumps({**RESULT, "timed_out": True}), "timed out"),
        (200, orjson.dumps({**RESULT, "_shards": {"failed": 1}}), "shards failed"),
    ],
)
def test_every_answer_that_is_no_whole_result_is_an_error_of_its_kind(
    status: int, content: bytes, error: str | None
) -> None:
    """Whatever stands between us and Elasticsearch, and whatever that says."""
    assert search_result(status, content)[1] == error


def content(took: int, value: int) -> bytes:
    """An answer."""
    return b'{"took":%d,"timed_out":false,"_shards":{"failed":0},"hits":%d}' % (took, value)


def test_equal_answers_are_kept_once_and_counted() -> None:
    """`took` makes no difference; another answer to the same query does."""
    kept, drawn = KeptAnswers(10_000), DrawnQuery({}, (0, 1))
    for took, value in ((1, 5), (2, 5), (3, 6), (4, 5)):
        kept.keep(drawn, b"body", content(took, value))

    assert [(answer["hits"], count) for _, answer, count in kept.answers()] == [(5, 3), (6, 1)]


def test_answers_beyond_the_bound_are_thinned_out_evenly() -> None:
    """97 different ones with room for 10: what is left comes from all parts of the load."""
    size = KEPT_BESIDES + 4 + len(content(1, 10)[content(1, 10).find(b'"_shards"') :])
    kept, drawn = KeptAnswers(10 * size), DrawnQuery({}, (0, 1))
    for value in range(10, 107):
        kept.keep(drawn, b"body", content(1, value))

    values = [answer["hits"] for _, answer, _ in kept.answers()]
    assert 5 <= len(values) <= 10
    assert (values[0], values[-1] > 90) == (10, True)


# --- on the wire --------------------------------------------------------------------------------------------------


class StubAsker:
    """Asks for a number that it draws."""

    def draw(self, draw: Any, searchable: int) -> DrawnQuery:
        """The next query."""
        return DrawnQuery({"n": draw.randrange(1_000_000)}, (0, searchable))

    def body(self, drawn: DrawnQuery) -> bytes:
        """Its body."""
        return orjson.dumps(drawn.values)


def asked(url: str, **load: Any) -> tuple[Traffic, list[Reply]]:
    """What came of 12 queries."""
    traffic = Traffic(task(url, **load), [StubAsker(), StubAsker()], lambda: 23)  # type: ignore[list-item]
    result = traffic.run(Stage(load.get("rate_per_s"), 0, requests=12), threading.Event(), lambda: None)
    traffic.close()
    return traffic, list(result.replies)


def test_a_seed_draws_the_same_queries_whoever_sends_them() -> None:
    """Numbers belong to the query, not to the client that happens to be free."""
    drawn = []
    for clients in (1, 5):
        with rest((200, RESULT)) as server:
            asked(server.url, clients=clients, rate_per_s=1000)
        drawn.append(sorted(body["n"] for _, _, body in server.requests))

    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 12


def test_another_step_draws_other_queries() -> None:
    """A server that has seen a step's queries has none of the next one's in its caches."""
    with rest((200, RESULT)) as server:
        traffic = Traffic(task(server.url), [StubAsker()], lambda: 23)  # type: ignore[list-item]
        for _ in range(2):
            traffic.run(Stage(None, 0, requests=7), threading.Event(), lambda: None)
        traffic.close()

    assert len({body["n"] for _, _, body in server.requests}) == 14


def test_each_question_has_its_share_and_its_answers_are_kept() -> None:
    """Six of twelve each; hits, size and the documents of the window come along."""
    with rest((200, RESULT)) as server:
        traffic, replies = asked(server.url, clients=3, rate_per_s=1000)

    assert sorted(reply.question for reply in replies) == [0] * 6 + [1] * 6
    assert {(reply.hits, reply.took_ms, reply.documents, reply.error) for reply in replies} == {(17, 3, 23, None)}
    assert {path for _, path, _ in server.requests} == {"/books/_search?request_cache=false"}
    counts = [
        sum(count for _, _, count in client[question].answers()) for client in traffic.kept for question in (0, 1)
    ]
    assert sum(counts) == 12


def test_reading_what_an_answer_says_is_no_part_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Service time ends with the last byte, however long our own JSON takes."""
    parsed_ns = []

    def late(status: int, content: bytes) -> Any:
        parsed_ns.append(time.monotonic_ns())
        return search_result(status, content)

    monkeypatch.setattr(traffic_module, "search_result", late)
    with rest((200, RESULT)) as server:
        _, replies = asked(server.url)

    assert [reply.read_ns <= at_ns for reply, at_ns in zip(replies, parsed_ns, strict=True)] == [True] * 12


def test_a_count_that_stopped_at_its_bound_is_no_count_of_hits() -> None:
    """`gte` says that there are more."""
    bounded = {**RESULT, "hits": {"total": {"value": 10_000, "relation": "gte"}}}
    with rest((200, bounded)) as server:
        _, replies = asked(server.url)

    assert {reply.hits for reply in replies} == {None}


def test_a_server_that_is_not_there_gives_errors_and_an_end() -> None:
    """Nobody listens; every query is counted."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    traffic, replies = asked(f"http://127.0.0.1:{port}", rate_per_s=1000)

    assert [reply.error for reply in replies] == [NO_ANSWER] * 12
    assert (traffic.sent, traffic.errors) == (12, 12)


def test_credentials_go_with_every_query() -> None:
    """As the target says, behind the path of its URL."""
    with rest_with_headers() as (url, headers):
        made = task(url + "/es/")
        connection = QueryConnection(made.urls[0], Task(**{**vars(made), "headers": {"Authorization": "ApiKey x"}}))
        connection.post("/_search", b"{}")
        connection.close()

    assert [(sent["Authorization"], sent["Content-Type"]) for sent in headers] == [("ApiKey x", "application/json")]


def answer_once(server: socket.socket, answers: int) -> None:
    """Accept connections, answer one request on each and close it; accept the last without an answer."""
    for number in range(answers + 1):
        there, _ = server.accept()
        with there:
            there.recv(65536)
            if number < answers:
                there.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


def test_a_connection_that_the_server_closed_while_idle_is_no_error_and_one_that_breaks_is() -> None:
    """The first is opened again before a query is sent; the second has lost a query, which nobody sends again."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_once, args=(server, 3))
        thread.start()
        connection = QueryConnection(f"http://127.0.0.1:{server.getsockname()[1]}", task())
        for _ in range(3):
            assert connection.post("/_search", b"{}") == (200, b"{}")
            assert _is_closed_soon(connection)
        with pytest.raises((OSError, HTTPException)):
            connection.post("/_search", b"{}")
        thread.join()
        connection.close()


def _is_closed_soon(connection: QueryConnection) -> bool:
    """Whether the end of the connection arrives; it is under way."""
    give_up = threading.Event()
    return any(connection._was_closed() or give_up.wait(0.01) for _ in range(500))
