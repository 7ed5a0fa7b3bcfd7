"""The sending process: what it sends, and what it makes of each kind of answer."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import IO

import pytest

from lab.run.load.direct_sender import (
    Connection,
    OutcomeCounts,
    RefusedError,
    Task,
    count_outcomes,
    error_type,
    queues_of,
    send,
    wait_s,
)
from tests.unit.clients.rest_server import Rest, Time, rest
from tests.unit.messages import MakeMessage

FINE = (200, '{"errors":false,"items":[{"index":{"status":201}}]}')
OPERATIONS = [b'{"index":{"_id":"%d"}}\n{"n":%d}\n' % (number, number) for number in range(7)]


def answer(*statuses: int, kind: str = "document_parsing_exception") -> tuple[int, object]:
    """Elasticsearch's answer to a bulk request of which these became."""
    items = [
        {"index": {"status": status} | ({"error": {"type": kind}} if status >= 300 else {})} for status in statuses
    ]
    return 200, {"errors": True, "items": items}


@pytest.fixture
def file() -> Iterator[IO[bytes]]:
    """Seven operations in a file."""
    with tempfile.TemporaryFile() as made:
        made.write(b"".join(OPERATIONS))
        made.flush()
        yield made


def spans(*documents: int) -> list[tuple[int, int, int, int, int]]:
    """Bodies of so many documents each, for the first index and the first node."""
    made, first = [], 0
    for count in documents:
        offset = sum(map(len, OPERATIONS[:first]))
        made.append((offset, sum(map(len, OPERATIONS[first : first + count])), count, 0, 0))
        first += count
    return made


def connection(server: Rest, file: IO[bytes], time: Time | None = None) -> Connection:
    """A connection to the server that sleeps by the test's own clock."""
    task = Task((server.url,), ("sluice-books",), 1, file.fileno())
    return Connection(task, 0, sleep=(time or Time()).sleep)


def test_bodies_arrive_as_they_lie_in_the_file(file: IO[bytes]) -> None:
    """Byte for byte, on the index's own path, asking for nothing of a document in the answer."""
    with rest(FINE) as server:
        done = send([connection(server, file)], spans(3, 4))

    assert [content for _, _, content in server.requests] == [b"".join(OPERATIONS[:3]), b"".join(OPERATIONS[3:])]
    assert {path for _, path, _ in server.requests} == {
        "/sluice-books/_bulk?filter_path=errors,error.type,items.*.status,items.*.error.type"
    }
    assert (done["accepted"], done["bulk_requests"], done["bulk_documents"]) == (7, 2, 7)
    assert done["bulk_bytes"] == sum(map(len, OPERATIONS))
    assert done["started_s"] <= done["ended_s"]
    assert done["service_times"].startswith("HISTF")


def test_connections_share_the_bodies_and_send_each_once(file: IO[bytes]) -> None:
    """Whichever is free takes the next."""
    with rest(FINE) as server:
        done = send([connection(server, file), connection(server, file)], spans(1, 1, 1, 1, 1, 1, 1))

    assert Counter(content for _, _, content in server.requests) == Counter(OPERATIONS)
    assert done["accepted"] == 7


def test_each_index_has_connections_of_its_own_where_that_is_even() -> None:
    """Seven bodies of three indices: a queue each for three or six connections, and one for all otherwise."""
    bodies = [(0, 1, 10, number % 3, 0) for number in range(7)]

    def indices(connections: int) -> list[list[int]]:
        queues = queues_of(bodies, connections)
        return [[queue.get()[0][3] for _ in range(queue.qsize())] for queue in queues]

    assert indices(3) == indices(6) == [[0, 0, 0], [1, 1], [2, 2]]
    assert indices(5) == indices(2) == indices(1) == [[0, 1, 2, 0, 1, 2, 0]]


def test_at_a_rate_a_body_is_due_when_its_last_document_is() -> None:
    """Over all connections together."""
    (queue,) = queues_of([(0, 1, 30, 0, 0), (1, 1, 50, 0, 0)], 1, 20.0)
    assert [queue.get()[1] for _ in range(2)] == [1.5, 4.0]


def test_a_body_waits_until_it_is_due(file: IO[bytes]) -> None:
    """Both are due at once, so that none waits for the time that the other took."""
    time = Time()
    with rest(FINE) as server:
        send([connection(server, file, time)], spans(3, 4), rate_docs_per_s=0.001)
    assert [round(nap / 1000) for nap in time.naps] == [3, 7]


def test_bodies_of_another_index_go_there(file: IO[bytes]) -> None:
    """The answer is awaited for each index, and the last one's instant kept."""
    first, second = spans(3, 4)
    with rest(FINE) as server:
        task = Task((server.url,), ("books", "films"), 1, file.fileno())
        done = send([Connection(task, 0)], [first, (*second[:3], 1, 0)])
    assert [path.split("?")[0] for _, path, _ in server.requests] == ["/books/_bulk", "/films/_bulk"]
    assert done["started_s"] <= done["index_ended_s"][0] <= done["index_ended_s"][1] <= done["ended_s"]


def test_bodies_of_another_node_go_there_over_the_same_connection(file: IO[bytes]) -> None:
    """Both nodes are reached before the first body is sent, and none is sent to a URL of the cluster."""
    first, second = spans(3, 4)
    with rest(FINE) as one, rest(FINE) as other:
        task = Task(("http://127.0.0.1:1",), ("books",), 1, file.fileno(), nodes=(one.url, other.url))
        made = Connection(task, 0)
        made.connect()
        done = send([made], [first, (*second[:4], 1)])
    assert [content for _, _, content in one.requests] == [b"".join(OPERATIONS[:3])]
    assert [content for _, _, content in other.requests] == [b"".join(OPERATIONS[3:])]
    assert (done["accepted"], done["bulk_requests"]) == (7, 2)


def test_a_node_that_cannot_be_reached_ends_the_load_before_it_starts(file: IO[bytes]) -> None:
    """By its address, which the cluster may have told."""
    task = Task(("http://127.0.0.1:7",), ("books",), 1, file.fileno(), nodes=("http://127.0.0.1:1",))
    with pytest.raises(RefusedError, match=r"^127\.0\.0\.1:1: cannot be reached: "):
        Connection(task, 0).connect()


def test_a_busy_server_is_sent_the_same_body_again(file: IO[bytes]) -> None:
    """A 429 for the request counts as a failed one and as a retry; nothing is accepted twice."""
    time = Time()
    with rest((429, {"error": {"type": "circuit_breaking_exception"}}), (503, "busy"), FINE) as server:
        done = send([connection(server, file, time)], spans(7))

    assert [content for _, _, content in server.requests] == [b"".join(OPERATIONS)] * 3
    assert (done["accepted"], done["bulk_requests"], done["bulk_requests_failed"], done["bulk_retries"]) == (7, 1, 2, 2)
    assert len(time.naps) == 2


def test_only_the_items_that_were_turned_away_go_again(file: IO[bytes]) -> None:
    """Their neighbours are stored already."""
    with rest(answer(201, 429, 201, 201, 503, 201, 201), FINE) as server:
        done = send([connection(server, file)], spans(7))

    assert server.requests[1][2] == OPERATIONS[1] + OPERATIONS[4]
    assert (done["accepted"], done["item_retries"], done["bulk_retries"]) == (7, 2, 0)


def test_refused_and_present_documents_are_counted_by_what_was_said(file: IO[bytes]) -> None:
    """A conflict of versions is a document that is there already; anything else is refused, with status and type."""
    with rest(answer(201, 409, 400, 400, 200, 201, 404)) as server:
        done = send([connection(server, file)], spans(7))

    assert (done["accepted"], done["already_there"]) == (3, 1)
    assert done["refused"] == {"400 document_parsing_exception": 2, "404 document_parsing_exception": 1}


def test_a_request_refused_for_good_ends_the_load(file: IO[bytes], message: MakeMessage) -> None:
    """With the status and the type; the reason, which may quote a document, is not in the sentence."""
    refusal = (400, {"error": {"type": "illegal_argument_exception", "reason": "of the book"}, "status": 400})
    with (
        rest(refusal) as server,
        pytest.raises(RefusedError) as error,
    ):
        send([connection(server, file)], spans(7))
    assert str(error.value) == message(400, "illegal_argument_exception")


def test_a_server_that_goes_away_is_tried_again(file: IO[bytes]) -> None:
    """The connection is opened anew."""
    with rest(FINE) as server:
        made = connection(server, file)
        made.connect()
        made._http.sock.close()
        done = send([made], spans(7))

    assert (done["accepted"], done["bulk_requests_failed"], done["bulk_retries"]) == (7, 1, 1)


def test_waits_double_up_to_a_bound() -> None:
    """At random below it: the upper ends are what is looked at here."""
    assert [wait_s(attempt, lambda _low, high: high) for attempt in (0, 1, 2, 20)] == [0.1, 0.2, 0.4, 30.0]


def test_items_without_a_type_are_counted_too() -> None:
    """An answer may lack the part that says why."""
    counts = OutcomeCounts()
    assert count_outcomes([{"create": {"status": 500}}], counts) == []
    assert counts.refused == {"500 without a type": 1}


@pytest.mark.parametrize("content", [b"", b"[]", b"not JSON", b'{"error":"text"}'])
def test_an_error_answer_of_any_shape_has_words(content: bytes) -> None:
    """A proxy answers in its own way."""
    assert error_type(content) == "without a type"


def test_a_bulk_request_says_who_sends_it(file: IO[bytes]) -> None:
    """The credentials are in its headers."""
    headers: list[dict[str, str]] = []
    with rest(FINE, on_headers=headers.append) as server:
        task = Task((server.url,), ("sluice-books",), 1, file.fileno(), headers={"Authorization": "ApiKey aWQ6a2V5"})
        send([Connection(task, 0)], spans(3))

    assert [found.get("Authorization") for found in headers] == ["ApiKey aWQ6a2V5"]
