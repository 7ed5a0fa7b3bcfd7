"""Queries on their way: clients, each a thread with a connection, that send them when they are due."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from random import Random
from typing import Any, Final
from urllib.parse import quote, urlsplit

import orjson

from lab.profiles.models import Queries, QueryLoad, Ramp
from lab.run.load.direct_sender import http_connection
from lab.run.query.draw import Asker, DrawnQuery

ANSWER_WITHIN_S: Final = 60.0
LATE_NS: Final = 10_000_000
"""A query that is sent this much after it was due, by a client that was free, is late by our own doing."""
DRAIN_S: Final = 10.0
"""Queries that were due but found no free client are sent for so long after the last due time."""
PROGRESS_S: Final = 0.5
KEPT_BYTES: Final = 256 << 20
"""Answers kept for the check; of more, every second, every fourth … is checked."""
NOT_SENT: Final = "not sent"
NO_ANSWER: Final = "no answer"


@dataclass(frozen=True)
class Task:
    """What the sender is told.

    Attributes:
        headers: Those that authenticate; they hold secrets.
        ca: PEM file of the authorities that are trusted; `None` for those of this machine.
        dataset: Arguments of `make_dataset`.
        models: Question → which of its requests are sent.
        documents_stream: Whether documents are indexed meanwhile, so that windows follow them and `stop` ends it all.
        hold_s: How long what one copy of a shard finds may not be found by another one.
    """

    urls: tuple[str, ...]
    index: str
    dataset: Mapping[str, Any]
    root: str
    queries: Queries
    load: QueryLoad
    ramp: Ramp | None
    models: Mapping[str, str]
    documents_stream: bool
    hold_s: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Task":
        """The task as it was sent."""
        ramp = given["ramp"] and Ramp.model_validate(given["ramp"])
        models = {"queries": Queries.model_validate(given["queries"]), "load": QueryLoad.model_validate(given["load"])}
        return cls(**{**given, **models, "ramp": ramp, "urls": tuple(given["urls"])})

    @property
    def path(self) -> str:
        """Where queries go, on each node."""
        cache = str(self.queries.request_cache).lower()
        return f"/{quote(self.index, safe='')}/_search?request_cache={cache}"


@dataclass(frozen=True, slots=True)
class Reply:
    """One query and what came back; instants of the monotonic clock.

    Attributes:
        question: Its place among the questions.
        due_ns: When it was due; in a closed loop, when it was sent.
        was_free: Whether a client was free when it was due.
        error: Why it has no answer; `None` for an answered one.
        took_ms: Elasticsearch's own time.
        hits: Documents that matched; `None` where the answer does not say.
        documents: Documents in the window that it asked about.
    """

    question: int
    due_ns: int
    sent_ns: int
    read_ns: int
    was_free: bool
    error: str | None
    took_ms: int = 0
    hits: int | None = None
    size_bytes: int = 0
    documents: int = 0


@dataclass(frozen=True)
class Stage:
    """Queries at one rate, or as fast as answers come (`rate_per_s` is `None`).

    Attributes:
        duration_s: After the warm-up; `None`: until told to stop, or until enough queries were answered.
    """

    rate_per_s: float | None
    warm_up_s: float
    duration_s: float | None = None
    requests: int | None = None


class KeptAnswers:
    """Answers of one client that are to be checked, equal ones once."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._every = 1
        self._seen = 0
        self._kept: dict[tuple[int, bytes, bytes], list[Any]] = {}

    def keep(self, question: int, drawn: DrawnQuery, body: bytes, content: bytes) -> None:
        """Keep an answer, `took` left out."""
        self._seen += 1
        if self._seen % self._every:
            return
        key = (question, body, content[content.find(b'"_shards"') :])
        if key in self._kept:
            self._kept[key][1] += 1
            return
        self._kept[key] = [drawn, 1]
        self._bytes += len(body) + len(content)
        if self._bytes > self._most_bytes:
            self._kept = dict(itertools.islice(self._kept.items(), 0, None, 2))
            self._every *= 2
            self._bytes = sum(len(body) + len(tail) for _, body, tail in self._kept)

    def answers(self) -> Iterator[tuple[int, DrawnQuery, Mapping[str, Any], int]]:
        """Question, query, answer and how often it came."""
        for (question, _, tail), (drawn, count) in self._kept.items():
            yield question, drawn, orjson.loads(b"{" + tail), count


class QueryConnection:
    """One keep-alive connection, opened again after an error."""

    def __init__(self, url: str, task: Task) -> None:
        base = urlsplit(url)
        self._http = http_connection(base, task.ca, ANSWER_WITHIN_S)
        self._prefix = base.path.rstrip("/")
        self._headers = {"Content-Type": "application/json", **task.headers}

    def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and content of the answer.

        Raises:
            OSError, HTTPException: There is none.
        """
        try:
            self._http.request("POST", self._prefix + path, body, self._headers)
            response = self._http.getresponse()
            return response.status, response.read()
        except (OSError, HTTPException):
            self._http.close()
            raise

    def close(self) -> None:
        """Close it."""
        self._http.close()


def error_of(status: int, parsed: Mapping[str, Any]) -> str | None:
    """Why this is no answer: refused, in part only, or too late; `None` for a whole answer."""
    if status != 200:
        error = parsed.get("error")
        kind = error.get("type", "without a type") if isinstance(error, dict) else "without a type"
        return f"{status} {kind}"
    if parsed["timed_out"]:
        return "timed out"
    return "shards failed" if parsed["_shards"]["failed"] else None


class Traffic:
    """Clients that send queries side by side."""

    def __init__(self, task: Task, askers: Sequence[Asker], searchable: Callable[[], int]) -> None:
        self.task = task
        self.askers = askers
        self.searchable = searchable
        self.sent = 0
        self.errors = 0
        self.kept = [KeptAnswers(KEPT_BYTES // task.load.clients) for _ in range(task.load.clients)]
        self._connections = [
            QueryConnection(task.urls[number % len(task.urls)], task) for number in range(task.load.clients)
        ]
        self._numbers = itertools.count()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()

    def run(self, stage: Stage, stop: threading.Event, tell: Callable[[], None]) -> "StageResult":
        """Send the queries of a stage and read their answers.

        Args:
            stop: Ends it.
            tell: Called twice a second.
        """
        under_way = StageUnderWay(self, stage, stop)
        threads = [threading.Thread(target=under_way.work, args=(number,)) for number in range(self.task.load.clients)]
        for thread in threads:
            thread.start()
        began_cpu_s = 0.0
        while any(thread.is_alive() for thread in threads):
            time.sleep(min(PROGRESS_S, max(0.01, (under_way.started_ns - time.monotonic_ns()) / 1e9)))
            if not began_cpu_s and time.monotonic_ns() >= under_way.started_ns:
                began_cpu_s = time.process_time()
            tell()
        return under_way.result(time.process_time() - began_cpu_s)

    def exchange(self, client: int, question: int, due_ns: int | None, *, was_free: bool, is_kept: bool) -> Reply:
        """Draw a query, send it and read its answer."""
        asker = self.askers[question]
        drawn = asker.draw(Random((self.task.queries.seed << 40) + next(self._numbers)), self.searchable())  # noqa: S311
        body = asker.body(drawn)
        self.sent += 1
        sent_ns = time.monotonic_ns()
        due_ns = sent_ns if due_ns is None else due_ns
        try:
            status, content = self._connections[client].post(self.task.path, body)
            read_ns = time.monotonic_ns()
            parsed = orjson.loads(content)
            error = error_of(status, parsed)
        except (OSError, HTTPException, orjson.JSONDecodeError):
            read_ns, error = time.monotonic_ns(), NO_ANSWER
        if error is not None:
            self.errors += 1
            return Reply(question, due_ns, sent_ns, read_ns, was_free, error)
        if is_kept:
            self.kept[client].keep(question, drawn, body, content)
        hits = parsed["hits"].get("total", {}).get("value")
        first, stop = drawn.rows
        return Reply(
            question, due_ns, sent_ns, read_ns, was_free, None, parsed["took"], hits, len(content), stop - first
        )


class StageUnderWay:
    """One stage, while its clients work on it. Warm-up and what follows are one: clients never pause between them."""

    def __init__(self, traffic: Traffic, stage: Stage, stop: threading.Event) -> None:
        self._traffic = traffic
        self._stage = stage
        self._stop = stop
        self._tickets = itertools.count()
        self._replies: list[Reply] = []
        self._counted = itertools.count(1)
        self.began_ns = time.monotonic_ns()
        self.started_ns = self.began_ns + int(stage.warm_up_s * 1e9)
        self.ends_ns = self._ends_ns()

    def _ends_ns(self) -> int | None:
        duration_s = self._stage.duration_s
        if duration_s is None and self._stage.requests and self._stage.rate_per_s:
            duration_s = self._stage.requests / self._stage.rate_per_s
        return None if duration_s is None else self.started_ns + int(duration_s * 1e9)

    def work(self, client: int) -> None:
        """Send one query after the other until the stage ends."""
        send = self._send_due if self._stage.rate_per_s else self._send_next
        for ticket in self._tickets:
            if not send(client, ticket):
                return

    def _send_next(self, client: int, ticket: int) -> bool:
        """Closed loop: the next query of a client that has its answer; whether there is one."""
        now_ns = time.monotonic_ns()
        if self._stop.is_set():
            self.ends_ns = min(now_ns, self.ends_ns or now_ns)
        if self.ends_ns is not None and now_ns >= self.ends_ns:
            return False
        reply = self._traffic.exchange(
            client,
            ticket % len(self._traffic.askers),
            None,
            was_free=True,
            is_kept=now_ns >= self.started_ns,
        )
        self._replies.append(reply)
        if self._stage.requests and reply.read_ns >= self.started_ns and next(self._counted) == self._stage.requests:
            self.ends_ns = reply.read_ns
        if reply.error == NO_ANSWER:
            self._stop.wait(0.1)
        if self._traffic.task.load.think_time_s:
            self._stop.wait(self._traffic.task.load.think_time_s)
        return True

    def _send_due(self, client: int, ticket: int) -> bool:
        """Open loop: the query of this number when it is due, or at once if that is past; whether there is one."""
        due_ns = self.began_ns + int(ticket / (self._stage.rate_per_s or 1) * 1e9)
        if self.ends_ns is not None and due_ns >= self.ends_ns:
            return False
        waits_ns = due_ns - time.monotonic_ns()
        if self._stop.wait(max(0, waits_ns) / 1e9):
            now_ns = time.monotonic_ns()
            self.ends_ns = min(now_ns, self.ends_ns or now_ns)
            return False
        question = ticket % len(self._traffic.askers)
        if self.ends_ns is not None and time.monotonic_ns() > self.ends_ns + int(DRAIN_S * 1e9):
            self._replies.append(Reply(question, due_ns, due_ns, due_ns, was_free=False, error=NOT_SENT))
            return True
        reply = self._traffic.exchange(
            client, question, due_ns, was_free=waits_ns > 0, is_kept=due_ns >= self.started_ns
        )
        self._replies.append(reply)
        return True

    def result(self, cpu_s: float) -> "StageResult":
        """What counts: of an open loop what was due after the warm-up, of a closed one what was read after it."""
        ends_ns = self.ends_ns or time.monotonic_ns()
        if self._stage.rate_per_s:
            counted = [reply for reply in self._replies if self.started_ns <= reply.due_ns < ends_ns]
            ends_ns = max([ends_ns, *(reply.read_ns for reply in counted)])
        else:
            counted = [reply for reply in self._replies if self.started_ns <= reply.read_ns <= ends_ns]
        return StageResult(self._stage.rate_per_s, self.started_ns, ends_ns, cpu_s, counted)


@dataclass(frozen=True)
class StageResult:
    """The replies of a stage that count.

    Attributes:
        started_ns: First instant after the warm-up.
        ended_ns: The last one that counts.
        cpu_s: CPU time of this process between them.
    """

    rate_per_s: float | None
    started_ns: int
    ended_ns: int
    cpu_s: float
    replies: Sequence[Reply]

    @property
    def answered(self) -> list[Reply]:
        """Those with an answer."""
        return [reply for reply in self.replies if reply.error is None]
