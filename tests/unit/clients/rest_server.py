"""A REST server whose answers a test lays out one after the other, and which keeps what it was asked."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import orjson

from tests.unit.http_server import serving


@dataclass
class Rest:
    """The answers that are still to be given, and the requests so far.

    Attributes:
        answers: (status, JSON or text); the last one is given again and again.
        requests: (method, path, JSON) of each request; of one whose body is no JSON value, the body.
    """

    answers: list[tuple[int, Any]]
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    url: str = ""


def parsed(body: bytes) -> Any:
    """The body's JSON; the body itself if it is none, such as a bulk request; `None` without one."""
    try:
        return orjson.loads(body) if body else None
    except orjson.JSONDecodeError:
        return body


@contextlib.contextmanager
def rest(*answers: tuple[int, Any], on_headers: Callable[[dict[str, str]], None] = lambda _: None) -> Iterator[Rest]:
    """A server that gives these answers, in this order; told of the headers of each request."""
    made = Rest(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            on_headers(dict(self.headers))
            made.requests.append((self.command, self.path, parsed(body)))
            status, answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
            payload = answer.encode() if isinstance(answer, str) else orjson.dumps(answer)
            self.send_response(status)
            self.send_header("Content-Length", str(0 if status == 204 else len(payload)))
            self.end_headers()
            if status != 204:
                self.wfile.write(payload)

        do_GET = do_POST = do_PUT = do_DELETE = respond  # noqa: N815

    with serving(Handler) as made.url:
        yield made


@contextlib.contextmanager
def cluster(persistent: dict[str, Any]) -> Iterator[Rest]:
    """A cluster that keeps persistent settings as Elasticsearch does, `None` resets; it refuses what it calls `x`."""
    made = Rest([])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.requests.append((self.command, self.path, None))
            self.tell(200, {"persistent": persistent, "transient": {"cluster.max_shards_per_node": "1009"}})

        def do_PUT(self) -> None:
            body = parsed(self.rfile.read(int(self.headers["Content-Length"])))
            made.requests.append((self.command, self.path, body))
            if "x" in body["persistent"]:
                self.tell(400, {"error": {"reason": "persistent setting [x], not recognized"}})
                return
            for name, value in body["persistent"].items():
                persistent[name] = value
                if value is None:
                    del persistent[name]
            self.tell(200, {"acknowledged": True})

        def tell(self, status: int, answer: object) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(orjson.dumps(answer))

    with serving(Handler) as made.url:
        yield made


@dataclass
class Time:
    """Time that passes only by being slept through."""

    now_s: float = 1009.0
    naps: list[float] = field(default_factory=list)

    def clock(self) -> float:
        """Seconds."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.naps.append(seconds)
        self.now_s += seconds


@contextlib.contextmanager
def rest_with_headers() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that answers everything with `{}`, and the headers of each request so far."""
    headers: list[dict[str, str]] = []
    with rest((200, {}), on_headers=headers.append) as server:
        yield server.url, headers
