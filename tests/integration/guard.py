"""A door in front of a real HTTP server: it lets in who has the right credentials, and passes on what they ask."""

import contextlib
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar
from urllib.parse import urlsplit

NOT_PASSED_ON = {"authorization", "connection", "host", "transfer-encoding", "content-length"}
REFUSAL = b'{"error": {"reason": "who is there?"}, "message": "who is there?", "status": 401}'


@dataclass
class Door:
    """Where it is, whom it lets in, and what has happened so far.

    Attributes:
        behind: Headers with which it enters the server itself.
    """

    authorization: str
    upstream: str
    behind: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    let_in: int = 0
    refused: int = 0


class Doorkeeper(BaseHTTPRequestHandler):
    """Answers one connection at the door that it was made for."""

    protocol_version = "HTTP/1.1"
    door: ClassVar[Door]

    def respond(self) -> None:
        """Pass a request on, or refuse it."""
        body = self.body()
        if self.headers.get("Authorization") != self.door.authorization:
            self.door.refused += 1
            self.answer(401, {"Content-Type": "application/json"}, REFUSAL)
            return
        self.door.let_in += 1
        headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
        headers |= self.door.behind
        behind = urlsplit(self.door.upstream)
        passed_on = HTTPConnection(behind.hostname or "", behind.port, timeout=120)
        try:
            passed_on.request(self.command, self.path, body, headers)
            response = passed_on.getresponse()
            self.answer(response.status, dict(response.getheaders()), response.read())
        finally:
            passed_on.close()

    def body(self) -> bytes:
        """The body of the request, be it sent in one piece or in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def answer(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """Send an answer in one piece."""
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in NOT_PASSED_ON:
                self.send_header(name, value)
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = respond  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def guarded(
    upstream: str,
    authorization: str,
    certificate: tuple[Path, Path] | None = None,
    behind: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Door]:
    """A door in front of `upstream` for requests with this header `Authorization`.

    Args:
        certificate: Certificate and key of a door that speaks TLS.
        behind: Headers with which it enters the server itself.
    """
    door = Door(authorization, upstream, behind)
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("DoorkeeperHere", (Doorkeeper,), {"door": door}))
    httpd.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    door.url = f"{'https' if certificate else 'http'}://127.0.0.1:{httpd.server_address[1]}"
    try:
        yield door
    finally:
        httpd.shutdown()
        httpd.server_close()
        thread.join()
