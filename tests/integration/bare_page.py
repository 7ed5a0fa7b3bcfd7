"""The page as a process of its own, asked through plain sockets: no library forgives or waits in between."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from lab.page.serve import STAYS, ended, started

WITHIN_S = 60.0


@dataclass(frozen=True)
class BarePage:
    """A page that serves.

    Attributes:
        address: As a command prints it.
    """

    address: str
    process: subprocess.Popen[bytes]

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.address).port or 0

    @property
    def token(self) -> str:
        """What costly requests must carry."""
        return self.address.partition("token=")[2]

    def connected(self) -> socket.socket:
        """A connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), WITHIN_S)

    def request(self, path: str, body: Any = None, *, token: str | None = None) -> bytes:
        """A request as it travels; a POST where it has a body."""
        own = self.token if token is None else token
        head = f"Host: 127.0.0.1:{self.port}\r\nConnection: close\r\nX-Sluice-Token: {own}\r\n"
        if body is None:
            return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()
        text = orjson.dumps(body)
        head += (
            f"Origin: http://127.0.0.1:{self.port}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n"
        )
        return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + text

    def ask(self, path: str, body: Any = None, *, token: str | None = None) -> tuple[int, Any]:
        """Status and content of an answer; JSON as what it holds."""
        with self.connected() as connection:
            connection.sendall(self.request(path, body, token=token))
            answer = b""
            while piece := connection.recv(65_536):
                answer += piece
        head, _, content = answer.partition(b"\r\n\r\n")
        if b"\r\ntransfer-encoding: chunked" in head.lower():
            raise AssertionError(head)
        is_json = b"application/json" in head
        return int(head.split(b" ", 2)[1]), orjson.loads(content) if is_json else content

    def taken_s(self, path: str) -> float:
        """How long a good answer takes."""
        began_s = time.monotonic()
        status, _ = self.ask(path)
        assert status == 200
        return time.monotonic() - began_s


@contextmanager
def bare_page(runs: Path) -> Iterator[BarePage]:
    """A page of these runs, which has answered once."""
    address, process = started(runs, "./sluice up", STAYS)
    page = BarePage(address, process)
    try:
        assert page.ask("/")[0] == 200
        yield page
    finally:
        process.terminate()
        ended(process)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Return once it is so."""
    ends_s = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < ends_s
        time.sleep(0.05)
