"""Queries on their way: clients, each a thread with a connection, that send them when they are due."""

import itertools
import math
import select
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
from lab.run.load.direct_sender import error_type, http_connection
from lab.run.query.draw import BoundQuestion, DrawnQuery, exact_hits

ANSWER_WITHIN_S: Final = 60.0
LATE_NS: Final = 10_000_000
"""A query that is sent this much after it was due, by a client that was free, is late by our own doing."""
DRAIN_S: Final = 10.0
"""Queries that were due but found no free client are sent for so long after the last due time."""
PROGRESS_S: Final = 0.5
KEPT_BYTES: Final = 256 << 20
"""Answers kept for the check; of more, every second, every fourth … of each question is checked."""
KEPT_BESIDES: Final = 1000
"""Bytes that an answer takes beside its query's and its own."""
NO_ANSWER_PAUSE_S: Final = 0.1
"""Of a client in a closed loop, which would ask a dead server as fast as it can."""
NOT_SENT: Final = "not sent"
NO_ANSWER: Final = "no answer"
TOO_LATE: Final = f"no answer within {ANSWER_WITHIN_S:.0f} s"
NO_SEARCH_RESULT: Final = "no search result"
PARTS: Final = {"took", "timed_out", "_shards", "hits"}
"""Of every search result."""


@dataclass(frozen=True)
class Task:
    """What the sender is told.

    Attributes:
        headers: Those that authenticate; they hold secrets.
        ca: PEM file of the authorities that are trusted; `None` for those of this machine.
        dataset: Arguments of `make_dataset`.
        models: Question → which of its requests are sent.
        documents_stream: Whether documents are indexed meanwhile, so that windows follow them and `stop` ends it all.
        mappings: Of the index; empty where no question is about a user's own file.
        stored: Documents in the index, likewise.
        changed: Setting by which it holds other values than the file, likewise.
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
    mappings: Mapping[str, Any] = field(default_factory=dict)
    stored: int = 0
    changed: str | None = None
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
        counts: Whether it belongs to the measured part.
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
    counts: bool = True


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
    """Answers to one question, as one client got them, that are to be checked; equal ones once."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._every = 1
        self._seen = 0
        self._kept: dict[tuple[bytes, bytes], tuple[DrawnQuery, int]] = {}

    def keep(self, drawn: DrawnQuery, body: bytes, content: bytes) -> None:
        """Keep an answer, `took` left out."""
        self._seen += 1
        if self._seen % self._every:
            return
        key = (body, content[content.find(b'"_shards"') :])
        drawn, count = self._kept.get(key, (drawn, 0))
        self._kept[key] = (drawn, count + 1)
        self._bytes += 0 if count else size_of(key)
        if self._bytes > self._most_bytes:
            self._kept = dict(itertools.islice(self._kept.items(), 0, None, 2))
            self._every *= 2
            self._bytes = sum(map(size_of, self._kept))

    def __len__(self) -> int:
        """How many different ones there are."""
        return len(self._kept)

    def answers(self) -> Iterator[tuple[DrawnQuery, Mapping[str, Any], int]]:
        """Query, answer and how often it came."""
        for (_, tail), (drawn, count) in self._kept.items():
            yield drawn, orjson.loads(b"{" + tail), count


def size_of(kept: tuple[bytes, bytes]) -> int:
    """Bytes that a query and its answer take."""
    return sum(map(len, kept)) + KEPT_BESIDES


class QueryConnection:
    """One keep-alive connection, opened again after an error, and where the server has closed it while it was idle."""

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
        if self._was_closed():
            self._http.close()
        try:
            self._http.request("POST", self._prefix + path, body, self._headers)
            response = self._http.getresponse()
            return response.status, response.read()
        except (OSError, HTTPException):
            self._http.close()
            raise

    def _was_closed(self) -> bool:
        """Whether there is something to read, which before a request can only be the end of the connection."""
        if self._http.sock is None:
            return False
        poll = select.poll()
        poll.register(self._http.sock, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Close it."""
        self._http.close()


def search_result(status: int, content: bytes) -> tuple[Mapping[str, Any], str | None]:
    """The result of a search, and why it is none: refused, in part only, too late; `None` for a whole one."""
    if status != 200:
        return {}, f"{status} {error_type(content)}"
    try:
        parsed = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}, NO_SEARCH_RESULT
    if not isinstance(parsed, dict) or not parsed.keys() >= PARTS:
        return {}, NO_SEARCH_RESULT
    if parsed["timed_out"]:
        return parsed, "timed out"
    return parsed, "shards failed" if parsed["_shards"]["failed"] else None


class Traffic:
    """Clients that send queries side by side.

    Attributes:
        sent: Queries so far, those of the warm-up, too.
        errors: Those without an answer.
        kept: Client → question → its answers.
        read_ns: When each answer was read, those of the warm-up, too.
    """

    def __init__(self, task: Task, questions: Sequence[BoundQuestion], searchable: Callable[[], int]) -> None:
        self.task = task
        self.questions = questions
        self.searchable = searchable
        self.sent = 0
        self.errors = 0
        self.read_ns: list[int] = []
        clients = range(task.load.clients)
        most_bytes = KEPT_BYTES // (len(clients) * max(1, len(questions)))
        self.kept = [[KeptAnswers(most_bytes) for _ in questions] for _ in clients]
        self._connections = [QueryConnection(task.urls[number % len(task.urls)], task) for number in clients]
        self._stages = 0
        self._under_way: StageUnderWay | None = None

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
        self._stages += 1
        self._under_way = under_way = StageUnderWay(self, stage)
        threads = [threading.Thread(target=under_way.work, args=(number,)) for number in range(self.task.load.clients)]
        for thread in threads:
            thread.start()
        began_cpu_s = None
        while alive := [thread for thread in threads if thread.is_alive()]:
            now_ns = time.monotonic_ns()
            if stop.is_set():
                under_way.end(now_ns)
                alive[0].join(PROGRESS_S)
            else:
                before_start_s = (under_way.started_ns - now_ns) / 1e9
                stop.wait(min(PROGRESS_S, before_start_s) if before_start_s > 0 else PROGRESS_S)
            if began_cpu_s is None and time.monotonic_ns() >= under_way.started_ns:
                began_cpu_s = time.process_time()
            tell()
        return under_way.result(0.0 if began_cpu_s is None else time.process_time() - began_cpu_s)

    def progress(self) -> dict[str, Any]:
        """How far it is."""
        here = self._under_way
        return {
            "sent": self.sent,
            "errors": self.errors,
            "rate_per_s": here and here.stage.rate_per_s,
            "elapsed_s": here and here.elapsed_s,
            "lasts_s": here and here.lasts_s,
        }

    def exchange(
        self, client: int, number: int, due_ns: int | None, *, was_free: bool, counts: Callable[[int, int], bool]
    ) -> Reply:
        """Draw a query, send it and read its answer.

        Args:
            number: Of the query within its stage; the same one asks the same.
            due_ns: `None` for at once.
            counts: Whether it counts, by when it was due and when its answer was read.
        """
        place = number % len(self.questions)
        question = self.questions[place]
        draw = Random((self.task.queries.seed << 40) + (self._stages << 32) + number)  # noqa: S311 - no secret
        drawn = question.draw(draw, self.searchable())
        body = question.body(drawn)
        self.sent += 1
        sent_ns = time.monotonic_ns()
        due_ns = sent_ns if due_ns is None else due_ns
        status, content = self._answer(client, body)
        read_ns = time.monotonic_ns()
        parsed, error = ({}, status) if isinstance(status, str) else search_result(status, content)
        is_counted = counts(due_ns, read_ns)
        if error is not None:
            self.errors += 1
            return Reply(place, due_ns, sent_ns, read_ns, was_free, error, counts=is_counted)
        self.read_ns.append(read_ns)
        if is_counted:
            self.kept[client][place].keep(drawn, body, content)
        first, stop = drawn.rows
        return Reply(
            place,
            due_ns,
            sent_ns,
            read_ns,
            was_free,
            error=None,
            took_ms=parsed["took"],
            hits=exact_hits(parsed),
            size_bytes=len(content),
            documents=stop - first,
            counts=is_counted,
        )

    def _answer(self, client: int, body: bytes) -> tuple[int | str, bytes]:
        """Status and content of the answer, or why there is none."""
        try:
            return self._connections[client].post(self.task.path, body)
        except TimeoutError:
            return TOO_LATE, b""
        except (OSError, HTTPException):
            return NO_ANSWER, b""


class StageUnderWay:
    """One stage, while its clients work on it. Warm-up and what follows are one: clients never pause between them.

    Of an open loop counts what was due after the warm-up, the first of which begins the measured part; of a closed one
    what was read after it.

    Attributes:
        ends_ns: From then on no query is due; `None` while that is open.
    """

    def __init__(self, traffic: Traffic, stage: Stage, now_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._traffic = traffic
        self.stage = stage
        self._now_ns = now_ns
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._counted = 0
        self._replies: list[Reply] = []
        self._failure: BaseException | None = None
        self.began_ns = now_ns()
        first = math.ceil(stage.warm_up_s * (stage.rate_per_s or 0))
        self.started_ns = self._due_ns(first) if stage.rate_per_s else self.began_ns + int(stage.warm_up_s * 1e9)
        self.ends_ns: int | None = None
        if stage.duration_s is not None:
            self.ends_ns = self.started_ns + int(stage.duration_s * 1e9)
        elif stage.requests and stage.rate_per_s:
            self.ends_ns = self._due_ns(first + stage.requests)

    def _due_ns(self, number: int) -> int:
        return self.began_ns + int(number * 1e9 / (self.stage.rate_per_s or 1.0))

    @property
    def elapsed_s(self) -> float:
        """Since its first query was due."""
        return (self._now_ns() - self.began_ns) / 1e9

    @property
    def lasts_s(self) -> float | None:
        """From there to its end, as far as that is known."""
        return None if self.ends_ns is None else (self.ends_ns - self.began_ns) / 1e9

    def end(self, at_ns: int) -> None:
        """No query is due from this instant on; those that were due before are still sent."""
        with self._lock:
            self.ends_ns = at_ns if self.ends_ns is None else min(at_ns, self.ends_ns)
        self._over.set()

    def work(self, client: int) -> None:
        """Send one query after the other until the stage ends."""
        send = self._send_due if self.stage.rate_per_s else self._send_next
        try:
            for number in self._numbers:
                if not send(client, number):
                    return
        except BaseException as error:
            # `result` raises it in the thread that can end the process.
            self._failure = error
            self.end(self._now_ns())

    def _is_over(self, instant_ns: int) -> bool:
        return self.ends_ns is not None and instant_ns >= self.ends_ns

    def _send_next(self, client: int, number: int) -> bool:
        """Closed loop: the next query of a client that has its answer; whether there is one."""
        if self._is_over(self._now_ns()):
            return False
        reply = self._traffic.exchange(client, number, None, was_free=True, counts=self._was_read_in_time)
        if reply.counts:
            self._replies.append(reply)
        pause_s = self._traffic.task.load.think_time_s + (NO_ANSWER_PAUSE_S if reply.error == NO_ANSWER else 0)
        if self.ends_ns is not None:
            pause_s = min(pause_s, (self.ends_ns - self._now_ns()) / 1e9)
        if pause_s > 0:
            self._over.wait(pause_s)
        return True

    def _was_read_in_time(self, _: int, read_ns: int) -> bool:
        """Whether the answer came after the warm-up and before the end, which the last of so many answers makes."""
        with self._lock:
            if read_ns < self.started_ns or self._is_over(read_ns):
                return False
            self._counted += 1
            if self._counted != self.stage.requests:
                return True
            self.ends_ns = read_ns
        self._over.set()
        return True

    def _send_due(self, client: int, number: int) -> bool:
        """Open loop: the query of this number when it is due, or at once if that is past; whether there is one."""
        due_ns = self._due_ns(number)
        waits_ns = due_ns - self._now_ns()
        if waits_ns > 0 and not self._is_over(due_ns):
            self._over.wait(waits_ns / 1e9)
        if self._is_over(due_ns):
            return False
        if self._is_over(self._now_ns() - int(DRAIN_S * 1e9)):
            question = number % len(self._traffic.questions)
            reply = Reply(question, due_ns, due_ns, due_ns, was_free=False, error=NOT_SENT)
        else:
            reply = self._traffic.exchange(
                client, number, due_ns, was_free=waits_ns > 0, counts=lambda due_ns, _: due_ns >= self.started_ns
            )
        if reply.due_ns >= self.started_ns:
            self._replies.append(reply)
        return True

    def result(self, cpu_s: float) -> "StageResult":
        """What counts; the measured part ends with the last answer to what was due in it.

        Raises:
            BaseException: What a client could not go on with.
        """
        if self._failure is not None:
            raise self._failure
        ends_ns = self._now_ns() if self.ends_ns is None else self.ends_ns
        last_ns = max((reply.read_ns for reply in self._replies if reply.error is None), default=0)
        ended_ns = max(self.started_ns, ends_ns, last_ns)
        return StageResult(self.stage.rate_per_s, self.started_ns, ended_ns, cpu_s, self._replies)


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
