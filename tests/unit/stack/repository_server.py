"""A Maven repository in this process, which counts what it is asked for."""

import contextlib
import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from lab.stack.artifacts import Artifact
from tests.unit.http_server import serving


@dataclass
class Repository:
    """What a repository holds, and what it was asked for.

    Attributes:
        requests: Path and `Range` header of each request; `HEAD` of one for the size alone.
        slow: Paths that are sent in pieces, the second only once `refused` is set.
        endless: Paths whose content is sent again and again, without a length, for as long as somebody reads.
        redirects: Paths that lie elsewhere, and where.
        may_refuse: A file that is not here is refused once this is set, which it is unless a test clears it.
        refused: Set once a file that is not here was refused.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    slow: set[str] = field(default_factory=set)
    endless: set[str] = field(default_factory=set)
    redirects: dict[str, str] = field(default_factory=dict)
    may_refuse: threading.Event = field(default_factory=threading.Event)
    refused: threading.Event = field(default_factory=threading.Event)
    honours_range: bool = True
    url: str = ""

    def __post_init__(self) -> None:
        self.may_refuse.set()

    def add(self, path: str, content: bytes) -> Artifact:
        """Store a file; the artifact that names it."""
        self.files[path] = content
        return artifact_of(path, content)


def artifact_of(path: str, content: bytes) -> Artifact:
    """The artifact with this content."""
    return Artifact(path=path, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))


class SizeHandler(BaseHTTPRequestHandler):
    """Answers requests for the size of a file alone."""

    held: Repository

    def do_HEAD(self) -> None:
        """Send the size; of a file that is not here 0."""
        path = self.path.lstrip("/")
        self.held.requests.append((path, "HEAD"))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.held.files.get(path, b""))))
        self.end_headers()


@contextlib.contextmanager
def served(repository: Repository) -> Iterator[Repository]:
    """The repository behind a URL."""

    class Handler(SizeHandler):
        held = repository

        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            wanted = self.headers.get("Range")
            repository.requests.append((path, wanted))
            if place := repository.redirects.get(path):
                self.send_response(302)
                self.send_header("Location", place)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            content = repository.files.get(path)
            if content is None:
                repository.may_refuse.wait(10)
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                repository.refused.set()
                return
            status, first = 200, 0
            if wanted and repository.honours_range:
                status, first = 206, int(re.findall(r"\d+", wanted)[0])
            self.send_response(status)
            if path not in repository.endless:
                self.send_header("Content-Length", str(len(content) - first))
            self.end_headers()
            with contextlib.suppress(OSError):  # the asker may have given up
                self.send(content[first:], slowly=path in repository.slow)
                while path in repository.endless:
                    self.wfile.write(content)

        def send(self, content: bytes, *, slowly: bool) -> None:
            if not slowly:
                self.wfile.write(content)
                return
            self.wfile.write(content[: len(content) // 2])
            repository.refused.wait(10)
            rest = content[len(content) // 2 :]
            for first in range(0, len(rest), 1 << 18):
                self.wfile.write(rest[first : first + (1 << 18)])
                threading.Event().wait(0.005)

    with serving(Handler) as repository.url:
        yield repository
