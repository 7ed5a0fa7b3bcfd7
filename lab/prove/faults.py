"""A proxy before a real cluster that answers chosen write requests as clusters, and what stands before them, do.

It hands all else on, so that a real server decides what is stored. Sources of the answers stand in `docs/prove.md`.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import httpx
import orjson

from lab.errors import StackError
from lab.prove.http import BrokenOffError, Request, Response, serve

JSON = {"content-type": "application/json", "x-elastic-product": "Elasticsearch"}
ASKED_HEADERS = ("accept", "content-type", "authorization")
KEPT_HEADERS = ("content-type", "x-elastic-product", "location")
WRITES = frozenset({"_bulk", "_doc", "_create", "_update"})
NO_ANSWER_S = 45.0
"""A client that waits longer for an answer sees its connection reset."""
STARTED_WITHIN_S = 10.0
HELD_POLL_S = 0.05

Forward = Callable[[Request], Awaitable[Response]]
Fault = Callable[[Request, Forward], Awaitable[Response]]
Schedule = Callable[[int], Fault | None]
"""Number of a write request, from 1 → how it is answered; `None`: as the cluster does."""


@dataclass(frozen=True)
class Operation:
    """One operation of a bulk request: its action, what the action names, and its lines."""

    action: str
    names: Mapping[str, Any]
    lines: tuple[bytes, ...]


@dataclass(frozen=True)
class Failure:
    """An error as the cluster words it."""

    status: int
    type: str
    reason: str

    @property
    def error(self) -> dict[str, str]:
        """Type and reason."""
        return {"type": self.type, "reason": self.reason}

    def response(self) -> Response:
        """The answer to a whole request."""
        body = {"error": {"root_cause": [self.error], **self.error}, "status": self.status}
        return Response(orjson.dumps(body), self.status, JSON)

    def item(self, operation: Operation, index: str) -> dict[str, Any]:
        """The item of one operation in the answer to a bulk request."""
        place = {"_index": operation.names.get("_index", index), "_id": operation.names.get("_id")}
        return {operation.action: {**place, "status": self.status, "error": self.error}}


def is_write(request: Request) -> bool:
    """Check that a request writes documents."""
    return request.method in {"POST", "PUT"} and not WRITES.isdisjoint(request.parts)


def operations(body: bytes) -> Iterator[Operation]:
    """Operations of a bulk request.

    Raises:
        ValueError: A line that must be an action is none.
    """
    lines = (line for line in body.split(b"\n") if line.strip())
    for line in lines:
        ((action, names),) = orjson.loads(line).items()
        yield Operation(action, names, (line,) if action == "delete" else (line, next(lines, b"")))


# --- faults -----------------------------------------------------------------------------------------------------------


def refused(answer: Response) -> Fault:
    """Answer without handing the request on."""

    async def fault(_request: Request, _forward: Forward) -> Response:
        return answer

    return fault


def partly(failure: Failure, chosen: Callable[[int, bytes], bool]) -> Fault:
    """Refuse the operations that are chosen by place in the request and content; the cluster gets the others."""

    async def fault(request: Request, forward: Forward) -> Response:
        if "_bulk" not in request.parts:
            return failure.response() if chosen(0, request.body) else await forward(request)
        try:
            given = list(operations(request.body))
        except ValueError:
            # The cluster says what is wrong with it.
            return await forward(request)
        refusals = {at for at, each in enumerate(given) if chosen(at, b"\n".join(each.lines))}
        if not refusals:
            return await forward(request)
        left = [line for at, each in enumerate(given) if at not in refusals for line in each.lines]
        answered: dict[str, Any] = {"took": 1, "errors": True, "items": []}
        if left:
            body = b"\n".join(left) + b"\n"
            # Without its query, whose `filter_path` might leave items out of the answer.
            response = await forward(replace(request, target=request.path, body=body))
            answered = orjson.loads(response.body)
            if "items" not in answered:
                return response
        stored = iter(answered["items"])
        items = [
            failure.item(each, request.parts[0]) if at in refusals else next(stored) for at, each in enumerate(given)
        ]
        return Response(orjson.dumps({**answered, "errors": True, "items": items}), 200, JSON)

    return fault


def limited(most_bytes: int, answer: Response) -> Fault:
    """Refuse a request with a larger body."""

    async def fault(request: Request, forward: Forward) -> Response:
        return answer if len(request.body) > most_bytes else await forward(request)

    return fault


def slow(seconds: float) -> Fault:
    """Answer late."""

    async def fault(request: Request, forward: Forward) -> Response:
        response = await forward(request)
        await asyncio.sleep(seconds)
        return response

    return fault


def stored_but(answer: Response) -> Fault:
    """Hand the request on, and give another answer than the cluster's."""

    async def fault(request: Request, forward: Forward) -> Response:
        await forward(request)
        return answer

    return fault


async def reset_before(_request: Request, _forward: Forward) -> Response:
    """Reset the connection; the cluster never sees the request."""
    raise BrokenOffError


async def reset_after(request: Request, forward: Forward) -> Response:
    """Reset the connection once the cluster has answered."""
    await forward(request)
    raise BrokenOffError


async def half_answer(request: Request, forward: Forward) -> Response:
    """Break off in the middle of the cluster's answer."""
    whole = (await forward(request)).encoded(without_body=False)
    raise BrokenOffError(whole[: len(whole) - len(whole) // 3])


async def no_answer(request: Request, forward: Forward) -> Response:
    """Never answer, although the cluster has."""
    await forward(request)
    raise BrokenOffError(pause_s=NO_ANSWER_S)


# --- proxy ------------------------------------------------------------------------------------------------------------


class Proxy:
    """Listens on this machine, in a thread of its own, while its `with` block lasts.

    Attributes:
        url: Its address.
        writes: Write requests so far.
        faults: Of these, the ones that a fault has answered.
        holds: True while write requests wait, to be reset in the end; the cluster never gets them.
        is_faulty: True if a fault has answered the last write request.
    """

    def __init__(self, upstream: str, schedule: Schedule | None) -> None:
        self.url = ""
        self.writes = 0
        self.faults = 0
        self.holds = False
        self.is_faulty = False
        self._upstream = upstream
        self._schedule = schedule
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Proxy":
        """Start to listen."""
        self._thread.start()
        if not self._started.wait(STARTED_WITHIN_S):
            raise StackError("the proxy before the cluster has not started")
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Close all connections."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def lift(self) -> None:
        """End the faults: from now on all requests are handed on."""
        self._schedule = None

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self) -> None:
        identity = {"accept-encoding": "identity"}
        async with httpx.AsyncClient(base_url=self._upstream, timeout=120, headers=identity, trust_env=False) as client:
            self._client = client
            server = await serve(self._answer, 0)
            host, port = server.sockets[0].getsockname()
            self.url = f"http://{host}:{port}"
            self._started.set()
            await self._over.wait()
            server.close()

    async def _answer(self, request: Request) -> Response:
        if not is_write(request):
            return await self._forward(request)
        self.writes += 1
        if self.holds:
            self.faults += 1
            while self.holds:
                await asyncio.sleep(HELD_POLL_S)
            raise BrokenOffError
        fault = self._schedule(self.writes) if self._schedule else None
        self.is_faulty = fault is not None
        if fault is None:
            return await self._forward(request)
        self.faults += 1
        return await fault(request, self._forward)

    async def _forward(self, request: Request) -> Response:
        given = {name: request.headers[name] for name in ASKED_HEADERS if name in request.headers}
        try:
            answered = await self._client.request(
                request.method,
                "/",
                content=request.body or None,
                headers=given,
                # As it came: a URL would be normalised, and an id such as `..` be gone.
                extensions={"target": request.target.encode("latin-1")},
            )
        except httpx.TransportError as error:
            # As a node that has gone.
            raise BrokenOffError from error
        headers = {name: answered.headers[name] for name in KEPT_HEADERS if name in answered.headers}
        return Response(answered.content, answered.status_code, headers)


def during(first: int, last: int, *faults: Fault) -> Schedule:
    """The faults in turn for the write requests from one number to another."""
    return lambda number: faults[(number - first) % len(faults)] if first <= number <= last else None


def every(numbers: Sequence[int], fault: Fault) -> Schedule:
    """The fault for the write requests of these numbers."""
    return lambda number: fault if number in numbers else None
