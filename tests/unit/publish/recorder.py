"""A server that records what it is asked and gives the answers that a test says."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import orjson

from tests.unit.http_server import serving


@dataclass
class Request:
    """What a server was asked."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Recorder:
    """A server that gives its answers in their order, the last one again and again.

    Attributes:
        answers: (status, JSON or text).
    """

    answers: list[tuple[int, Any]]
    requests: list[Request] = field(default_factory=list)
    url: str = ""


@contextlib.contextmanager
def recorder(*answers: tuple[int, Any]) -> Iterator[Recorder]:
    """A server that records what it is asked."""
    made = Recorder(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            made.requests.append(Request(self.command, self.path, headers, body))
            status, answer = made.answers.pop(0) if len(made.answers) > 1 else made.answers[0]
            payload = answer.encode() if isinstance(answer, str) else orjson.dumps(answer)
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        do_GET = do_POST = do_PUT = respond  # noqa: N815

    with serving(Handler) as made.url:
        yield made


def nowhere() -> str:
    """An address at which nothing listens."""
    with recorder((200, {})) as server:
        return server.url
