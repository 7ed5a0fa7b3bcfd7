"""The process that sends ready-made bulk bodies: one connection per thread, each body from the file to the socket.

It is told the task, then the bodies, which is the word to start, a line of JSON each; it answers `ready`, then `done`.
"""

import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Final
from urllib.parse import SplitResult, quote, urlsplit

from lab.endpoints import tls_context
from producers.children import Answers, end_with, serve
from producers.latency import Latencies

WANTED: Final = "errors,error.type,items.*.status,items.*.error.type"
"""The parts of an answer that decide; of documents it holds nothing."""

NO_ERRORS: Final = b'{"errors":false'
BUSY: Final = frozenset({408, 429, 502, 503, 504})
CONFLICT: Final = 409
ANSWER_WITHIN_S: Final = 60.0
FIRST_WAIT_S: Final = 0.1
LONGEST_WAIT_S: Final = 30.0
GIVE_UP_S: Final = 600.0
"""How long one body is sent again without any progress, as the sink does by default."""

Body = tuple[int, int] | bytes
"""Offset and length of a body in the file, or the body itself."""


Span = tuple[int, int, int, int, int]
"""Offset, length and documents of a body, the number of its index, and that of its node among those of a connection."""

Bodies = SimpleQueue[tuple[Span, float]]
"""The bodies that are left, and when each is due, in seconds after the start; whichever of the connections that share
them is free takes the next."""


class RefusedError(Exception):
    """Elasticsearch refuses requests for good, or has not answered for too long."""


@dataclass(frozen=True)
class Task:
    """What all connections share.

    Attributes:
        headers: Those that let in; they hold secrets.
        ca: PEM file of the authorities that are trusted; `None` for those of this machine.
        rate_docs_per_s: Documents due per second; `None` for as fast as answered.
        nodes: URL of each node that bodies name; empty where each connection is to one of `urls`.
    """

    urls: tuple[str, ...]
    indices: tuple[str, ...]
    connections: int
    file_descriptor: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca: str | None = None
    rate_docs_per_s: float | None = None
    nodes: tuple[str, ...] = ()


@dataclass
class OutcomeCounts:
    """What became of the bodies of one connection."""

    bulk_requests: int = 0
    bulk_requests_failed: int = 0
    bulk_retries: int = 0
    bulk_documents: int = 0
    bulk_bytes: int = 0
    item_retries: int = 0
    accepted: int = 0
    already_there: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, other: "OutcomeCounts") -> None:
        """Add what became of another connection's."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def wait_s(attempt: int, draw: Callable[[float, float], float] = random.uniform) -> float:  # noqa: S311 - no secret
    """How long to wait before another attempt: at random, below a bound that doubles and is capped."""
    return draw(0.0, min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**attempt))


def lines_of(body: bytes, places: Sequence[int]) -> bytes:
    """The operations at these places of a body, two lines each."""
    lines = body.split(b"\n")
    return b"".join(b"%b\n%b\n" % (lines[2 * place], lines[2 * place + 1]) for place in places)


def count_outcomes(items: Sequence[Mapping[str, Mapping[str, Any]]], counts: OutcomeCounts) -> list[int]:
    """Count what became of each item; the places of those that are to be sent again."""
    again = []
    for place, item in enumerate(items):
        (answer,) = item.values()
        status = int(answer["status"])
        if status in BUSY:
            again.append(place)
        elif status < 300:
            counts.accepted += 1
        elif status == CONFLICT:
            counts.already_there += 1
        else:
            counts.refused[f"{status} {answer.get('error', {}).get('type', 'without a type')}"] += 1
    return again


class Connection:
    """One bulk request at a time, over a keep-alive connection to each node that it may be for."""

    def __init__(self, task: Task, number: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
        bases = [urlsplit(url) for url in task.nodes or (task.urls[number % len(task.urls)],)]
        self._nodes = [http_connection(base, task.ca, ANSWER_WITHIN_S) for base in bases]
        self._http = self._nodes[0]
        self._headers = task.headers
        self._paths = [
            [f"{base.path.rstrip('/')}/{quote(index, safe='')}/_bulk?filter_path={WANTED}" for index in task.indices]
            for base in bases
        ]
        self._path = self._paths[0][0]
        self._file = os.fdopen(os.dup(task.file_descriptor), "rb", buffering=0)
        self._sleep = sleep
        self.counts = OutcomeCounts()
        self.service_times_ns: list[int] = []
        self.ended_ns: dict[int, int] = {}
        self.failure: str | None = None

    def connect(self) -> None:
        """Open the connections before the load starts.

        Raises:
            RefusedError: A node cannot be reached at its address.
        """
        for http in self._nodes:
            try:
                http.connect()
            except OSError as error:
                raise RefusedError(f"{http.host}:{http.port}: cannot be reached: {error}") from error

    def send_all(self, bodies: Bodies, began_s: float = 0.0) -> None:
        """Send bodies until none is left, each when it is due; what ends it before is kept in `failure`.

        Args:
            began_s: The start, by the monotonic clock.
        """
        try:
            while True:
                (offset, length, documents, index, node), due_s = bodies.get_nowait()
                if (early_s := began_s + due_s - time.monotonic()) > 0:
                    self._sleep(early_s)
                self._http, self._path = self._nodes[node], self._paths[node][index]
                self._deliver((offset, length), documents)
                self.ended_ns[index] = time.monotonic_ns()
        except Empty:
            pass
        except RefusedError as error:
            self.failure = str(error)
        finally:
            for http in self._nodes:
                http.close()

    def _deliver(self, body: Body, documents: int) -> None:
        attempt, give_up_s = 0, time.monotonic() + GIVE_UP_S
        while documents:
            status, answer = self._answer(body)
            again = self._items_to_retry(status, answer, body, documents)
            if again is None:
                self.counts.bulk_retries += 1
            elif again:
                if len(again) < documents:
                    give_up_s = time.monotonic() + GIVE_UP_S
                self.counts.item_retries += len(again)
                content = body if isinstance(body, bytes) else os.pread(self._file.fileno(), body[1], body[0])
                body = lines_of(content, again)
                documents = len(again)
            else:
                return
            if time.monotonic() > give_up_s:
                last = "there was no answer" if status is None else f"the last status was {status}"
                raise RefusedError(f"a bulk request was not accepted for {GIVE_UP_S:.0f} s; {last}")
            self._sleep(wait_s(attempt))
            attempt += 1

    def _items_to_retry(self, status: int | None, answer: bytes, body: Body, documents: int) -> list[int] | None:
        """Places of the items to be sent again; `None` for all of them, because the request itself failed."""
        if status is None or status in BUSY:
            self.counts.bulk_requests_failed += 1
            return None
        if status >= 300:
            self.counts.bulk_requests_failed += 1
            raise RefusedError(f"a bulk request was refused with status {status} ({error_type(answer)})")
        self.counts.bulk_requests += 1
        self.counts.bulk_documents += documents
        self.counts.bulk_bytes += len(body) if isinstance(body, bytes) else body[1]
        if answer.startswith(NO_ERRORS):
            self.counts.accepted += documents
            return []
        return count_outcomes(json.loads(answer)["items"], self.counts)

    def _answer(self, body: Body) -> tuple[int | None, bytes]:
        """Status and content of the answer; no status when there was none."""
        started_ns = time.monotonic_ns()
        try:
            self._write(body)
            response = self._http.getresponse()
            content = response.read()
        except (OSError, HTTPException):
            self._http.close()
            return None, b""
        self.service_times_ns.append(time.monotonic_ns() - started_ns)
        return response.status, content

    def _write(self, body: Body) -> None:
        length = len(body) if isinstance(body, bytes) else body[1]
        self._http.putrequest("POST", self._path, skip_accept_encoding=True)
        self._http.putheader("Content-Type", "application/x-ndjson")
        self._http.putheader("Content-Length", str(length))
        for name, value in self._headers.items():
            self._http.putheader(name, value)
        self._http.endheaders()
        if isinstance(body, bytes):
            self._http.send(body)
        else:
            # The bytes go from the page cache to the socket and never through this process.
            self._http.sock.sendfile(self._file, *body)


def http_connection(base: SplitResult, ca: str | None, timeout_s: float) -> HTTPConnection:
    """A connection to the node with this URL, not open yet.

    Args:
        ca: PEM file of the authorities that are trusted; `None` for those of this machine.
    """
    host = base.hostname or ""
    if base.scheme == "http":
        return HTTPConnection(host, base.port, timeout=timeout_s)
    return HTTPSConnection(host, base.port, timeout=timeout_s, context=tls_context(None if ca is None else Path(ca)))


def error_type(answer: bytes) -> str:
    """The type that an error answer gives; its reason might quote a document."""
    try:
        return str(json.loads(answer)["error"]["type"])
    except (ValueError, LookupError, TypeError):
        return "without a type"


def queues_of(spans: Sequence[Span], connections: int, rate_docs_per_s: float | None = None) -> list[Bodies]:
    """The bodies in queues, each of which equally many connections share: one for each index, or one for all of them.

    With two connections for three indices, one of them would otherwise have twice the work of the other. A body is due
    when its last document is.
    """
    indices = 1 + max(span[3] for span in spans)
    queues = [Bodies() for _ in range(indices if connections % indices == 0 else 1)]
    documents = 0
    for span in spans:
        documents += span[2]
        queues[span[3] % len(queues)].put((span, documents / rate_docs_per_s if rate_docs_per_s else 0.0))
    return queues


def send(
    connections: Sequence[Connection], spans: Sequence[Span], rate_docs_per_s: float | None = None
) -> dict[str, Any]:
    """Send all bodies; what became of them.

    Raises:
        RefusedError: One connection could not go on.
    """
    queues = queues_of(spans, len(connections), rate_docs_per_s)
    started_s, began_s = time.time(), time.monotonic()
    threads = [
        threading.Thread(target=connection.send_all, args=(queues[number % len(queues)], began_s))
        for number, connection in enumerate(connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended_s = started_s + time.monotonic() - began_s
    total, service_times = OutcomeCounts(), Latencies()
    index_ended_s: dict[int, float] = {}
    for connection in connections:
        if connection.failure:
            raise RefusedError(connection.failure)
        total.add(connection.counts)
        for index, ended_ns in connection.ended_ns.items():
            index_ended_s[index] = max(index_ended_s.get(index, 0.0), started_s - began_s + ended_ns / 1e9)
        for service_time_ns in connection.service_times_ns:
            service_times.record(service_time_ns)
    encoded = service_times.encoded() if service_times.samples else None
    return {
        **vars(total),
        "started_s": started_s,
        "ended_s": ended_s,
        "index_ended_s": [index_ended_s[index] for index in sorted(index_ended_s)],
        "service_times": encoded,
    }


def work(commands: BinaryIO, answers: Answers) -> None:
    """Open the connections of the task, wait for the bodies, send them."""
    given = json.loads(commands.readline())
    task = Task(**{**given, **{name: tuple(given[name]) for name in ("urls", "indices", "nodes")}})
    connections = [Connection(task, number) for number in range(task.connections)]
    for connection in connections:
        connection.connect()
    answers.write("ready")
    spans = json.loads(commands.readline())
    end_with(commands)
    answers.write("done", **send(connections, spans, task.rate_docs_per_s))


if __name__ == "__main__":
    sys.exit(serve(work, (RefusedError, OSError, HTTPException, json.JSONDecodeError)))
