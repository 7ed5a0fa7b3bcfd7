"""Cases that a pipeline is put to: each a schedule of faults, acts between waves of records, or odd records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from lab.prove.faults import (
    Failure,
    Schedule,
    during,
    every,
    half_answer,
    limited,
    no_answer,
    partly,
    refused,
    reset_after,
    reset_before,
    slow,
    stored_but,
)
from lab.prove.history import POISON, UNUSUAL
from lab.prove.http import Response

if TYPE_CHECKING:
    from lab.prove.trial import Trial

ACT_AT_WAVE = 8
IN_FLIGHT = during(2, 60, slow(0.5))
"""Requests are under way whenever something is stopped or killed."""
LIFTED_AT_WAVE = 20
HTML = {"content-type": "text/html", "server": "nginx"}
Act = Callable[["Trial"], None]


@dataclass(frozen=True)
class Case:
    """One way in which something goes wrong.

    Attributes:
        asks: The question that it answers.
        faults: How write requests are answered; `None`: by the cluster.
        acts: By number of the wave of records after which they are done.
        odd: Names of odd records among the others.
        deletes: True if there are tombstones also for a pipeline that does not delete.
        kills: The server that it ends by SIGKILL, which only servers of this command's own may suffer: the `node`, or
            the `worker` of a connector.
    """

    name: str
    asks: str
    faults: Schedule | None = None
    acts: Mapping[int, Act] = field(default_factory=dict)
    odd: tuple[str, ...] = ()
    deletes: bool = False
    kills: Literal["", "node", "worker"] = ""


def nginx(status: int, words: str) -> Response:
    """An error page of a proxy."""
    page = f"<html>\n<head><title>{status} {words}</title></head>\n<body>\n<center><h1>{status} {words}</h1></center>"
    return Response(f"{page}\n<hr><center>nginx</center>\n</body>\n</html>\n".encode(), status, HTML)


FULL_QUEUE = Failure(
    429,
    "es_rejected_execution_exception",
    "rejected execution of TimedRunnable{original=org.elasticsearch.action.bulk.TransportBulkAction} on "
    "TaskExecutionTimeTrackingEsThreadPoolExecutor[name = node/write, queue capacity = 10000]",
)
PRESSURE = Failure(
    429,
    "es_rejected_execution_exception",
    "rejected execution of coordinating operation [coordinating_and_primary_bytes=53687091, replica_bytes=0, "
    "all_bytes=53687091, coordinating_operation_bytes=1048576, max_coordinating_and_primary_bytes=53687091]",
)
NO_PRIMARY = Failure(
    503,
    "unavailable_shards_exception",
    "[index][0] primary shard is not active Timeout: [1m], request: [BulkShardRequest [[index][0]] containing "
    "[8] requests]",
)
NO_MASTER = Failure(
    503, "cluster_block_exception", "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered / initialized];"
)
FAILED_ITEM = Failure(500, "null_pointer_exception", 'Cannot invoke "Object.toString()" because "value" is null')
EXPIRED = Failure(
    401,
    "security_exception",
    "unable to authenticate with provided credentials and anonymous access is not allowed for this request",
)


def second(at: int, _: bytes) -> bool:
    """Every second operation of a request."""
    return at % 2 == 0


def third(at: int, _: bytes) -> bool:
    """Every third operation of a request."""
    return at % 3 == 1


def of_one_key(_: int, content: bytes) -> bool:
    """Operations of one key."""
    return b'"key-7"' in content


def act(done: Act) -> dict[int, Act]:
    """One act in mid-stream."""
    return {ACT_AT_WAVE: done}


def block(setting: str) -> dict[int, Act]:
    """Acts that set a block on the index and lift it."""
    return {
        ACT_AT_WAVE: lambda trial: trial.set_block(setting, on=True),
        LIFTED_AT_WAVE: lambda trial: trial.set_block(setting, on=False),
    }


CASES: Final = (
    Case("calm", "Does all arrive where nothing goes wrong?"),
    Case("deletes", "Do tombstones delete, or do no harm?", deletes=True),
    Case("unusual", "Are unusual documents and keys stored as they are?", odd=tuple(UNUSUAL)),
    Case(
        "full-queue", "429 by item: is exactly what was rejected sent again?", during(2, 9, partly(FULL_QUEUE, second))
    ),
    Case("pressure", "429 for the request: is it sent again?", during(2, 9, refused(PRESSURE.response()))),
    Case("no-primary", "503 by item: is it sent again?", during(2, 6, partly(NO_PRIMARY, third))),
    Case("no-master", "503 for the request: is it sent again?", during(2, 9, refused(NO_MASTER.response()))),
    Case("failed-items", "500 by item, then fine: is it sent again?", during(2, 4, partly(FAILED_ITEM, third))),
    Case(
        "one-key-fails",
        "500 for one key's operations again and again: do the others go on, and is it told?",
        during(2, 40, partly(FAILED_ITEM, of_one_key)),
    ),
    Case("reset-before", "Connection reset, nothing stored: is it sent again?", every((2, 4, 5, 9), reset_before)),
    Case("reset-after", "Connection reset, all stored: is nothing doubled or stale?", every((2, 4, 5, 9), reset_after)),
    Case("half-answer", "The answer breaks off: is nothing lost or doubled?", every((2, 4, 5, 9), half_answer)),
    Case("no-answer", "No answer, all stored: does it go on?", every((3,), no_answer)),
    Case(
        "gateway",
        "502 and 504 pages of a load balancer, some after all was stored: is it sent again?",
        during(2, 9, refused(nginx(502, "Bad Gateway")), stored_but(nginx(504, "Gateway Time-out"))),
    ),
    Case(
        "too-large",
        "413 above 3 kB: is a request cut into smaller ones?",
        during(1, 1 << 30, limited(3_000, nginx(413, "Request Entity Too Large"))),
    ),
    Case("slow", "Each answer takes a second: does all arrive, in order?", during(2, 9, slow(1.0))),
    Case("expired", "401 for eight requests: is nothing lost?", during(3, 10, refused(EXPIRED.response()))),
    Case(
        "redirect",
        "A redirect to another address: followed, or sent again?",
        every((2, 4), refused(Response(b"", 307, {**HTML, "location": "http://127.0.0.1:9/"}))),
    ),
    Case("write-block", "The index is blocked for writes for 2 s or longer (403).", acts=block("index.blocks.write")),
    Case(
        "flood-stage",
        "The disk was full: read-only-allow-delete for 2 s or longer.",
        acts=block("index.blocks.read_only_allow_delete"),
    ),
    *(
        Case(name, f"A record is bad ({name.replace('-', ' ')}): do the others arrive, and is it told?", odd=(name,))
        for name in POISON
    ),
    Case("restart", "Stopped and started in mid-stream: nothing lost?", IN_FLIGHT, act(lambda t: t.subject.restart())),
    Case("join", "A second worker joins in mid-stream: nothing lost?", IN_FLIGHT, act(lambda t: t.subject.join())),
    Case(
        "killed", "Killed (-9) while requests wait: nothing lost?", IN_FLIGHT, act(lambda t: t.kill()), kills="worker"
    ),
    Case(
        "node-killed",
        "The search node is killed (-9) and comes back.",
        IN_FLIGHT,
        act(lambda t: t.kill_node()),
        kills="node",
    ),
)
BY_NAME: Final = {case.name: case for case in CASES}


def is_for_pulling(case: Case) -> bool:
    """True if a case fits a cluster that reads the topic itself: no answers to requests, no process of a pipeline."""
    return case.faults in (None, IN_FLIGHT) and case.name not in {"join", "killed"}
