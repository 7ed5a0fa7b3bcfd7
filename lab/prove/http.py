"""A small HTTP/1.1 server on asyncio: uvicorn hands bulk requests of megabytes on in small pieces."""

import asyncio
import contextlib
import gzip
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from starlette.datastructures import Headers

MOST_HEADER_BYTES = 1 << 16
MOST_BUFFERED_BYTES = 1 << 23
PART_SENT_WITHIN_S = 0.05
REASONS = {200: "OK", 201: "Created", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


@dataclass(frozen=True)
class Request:
    """One request, its body unpacked.

    Attributes:
        target: Path and query, as they came.
        received_s: When its last byte was read, by the event loop's clock.
    """

    method: str
    target: str
    headers: Headers
    body: bytes
    received_s: float

    @property
    def path(self) -> str:
        """The path without the query, escaped as it came."""
        return self.target.partition("?")[0]

    @property
    def parts(self) -> list[str]:
        """Segments of the path, unescaped."""
        return [unquote(part) for part in self.path.split("/") if part]

    @property
    def parameters(self) -> dict[str, str]:
        """The query's parameters."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))


@dataclass(frozen=True)
class Response:
    """One answer."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})

    def encoded(self, *, without_body: bool) -> bytes:
        """The bytes of the answer; that to HEAD names a length and has no body."""
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([*lines, f"content-length: {len(self.body)}", "", ""]).encode()
        return head if without_body else head + self.body


Handler = Callable[[Request], Awaitable[Response]]


class BrokenOffError(Exception):
    """An answer that breaks off: the connection is reset after a part of it.

    Attributes:
        part: The bytes that are sent before.
        pause_s: How long the connection is left open then, unless the client closes it.
    """

    def __init__(self, part: bytes = b"", pause_s: float = 0.0) -> None:
        super().__init__()
        self.part = part
        self.pause_s = pause_s


class MalformedError(Exception):
    """A request that is none."""


async def serve(handler: Handler, port: int) -> asyncio.Server:
    """Listen on this machine; each connection's requests are answered one after the other."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_request(reader, writer):
                answer = await handler(request)
                writer.write(answer.encoded(without_body=request.method == "HEAD"))
                await writer.drain()
        except BrokenOffError as broken:
            with contextlib.suppress(ConnectionError, TimeoutError, asyncio.CancelledError):
                writer.write(broken.part)
                await writer.drain()
                await asyncio.wait_for(reader.read(), broken.pause_s or PART_SENT_WITHIN_S)
            reset(writer)
        except MalformedError:
            writer.write(Response(b"", 400).encoded(without_body=False))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the server goes
        finally:
            writer.close()

    return await asyncio.start_server(converse, "127.0.0.1", port, limit=MOST_BUFFERED_BYTES)


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection by RST in place of FIN, as one does whose process has gone."""
    connection = writer.get_extra_info("socket")
    # The client may have closed it.
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of a connection; `None` where the client has closed it.

    Raises:
        MalformedError: It is no request.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise
    try:
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        fields = [line.partition(":") for line in lines if line]
        headers = Headers(raw=[(name.strip().lower().encode(), value.strip().encode()) for name, _, value in fields])
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await read_body(reader, headers)
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
    except asyncio.IncompleteReadError:
        raise
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise MalformedError from error
    return Request(method, target, headers, body, asyncio.get_running_loop().time())


async def read_body(reader: asyncio.StreamReader, headers: Headers) -> bytes:
    """The body as it came: of a stated length, or in chunks."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        length = int(headers.get("content-length", "0"))
        return await reader.readexactly(length) if length else b""
    chunks = []
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return b"".join(chunks)
