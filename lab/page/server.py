"""The page at work: its HTTP server in a thread that makes way for others, and this one, which starts processes."""

import asyncio
import contextlib
import socket
import threading
from asyncio import TimerHandle, Transport
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from lab.page.app import Server, app
from lab.page.commands import Starter
from lab.page.security import Access
from lab.page.serve import END_WITHIN_S, HERE, make_way

LONGEST_GOODBYE_S = 1
STOPPED = "the page was stopped"
MOST_CONNECTIONS = 128
MOST_ACCEPTED = 64
"""Connections that are taken at once, before one that is too many is closed. Out of descriptors, the asyncio of Python
3.11.7 tries again for each that is left of these, and each try is logged and comes back a second later."""
SILENT_FOR_S = 10.0
"""A connection that brings no whole request within this time is closed, at the latest after twice that."""
TAKES_NOTHING_FOR_S = 30.0
"""So long an answer waits for a browser that reads none of it."""
MOST_HEAD_BYTES = 16_384


class Connection(H11Protocol):
    """A connection that cannot be kept for nothing: whoever takes all of them would lock everybody else out."""

    _silent: TimerHandle | None = None
    _unread: TimerHandle | None = None

    @property
    def is_silent(self) -> bool:
        """Check that no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as in uvicorn's own
        """Make room for it by closing another one that is silent, or else this one."""
        super().connection_made(transport)
        self.since_s = self.loop.time()
        self._look_again(None)
        there = [each for each in self.connections if isinstance(each, Connection) and not each.transport.is_closing()]
        if len(there) > MOST_CONNECTIONS:
            min((each for each in there if each.is_silent), key=lambda each: each.since_s).transport.abort()

    def _look_again(self, before: RequestResponseCycle | None) -> None:
        self._silent = self.loop.call_later(SILENT_FOR_S, self._look, before)

    def _look(self, before: RequestResponseCycle | None) -> None:
        if self.is_silent and self.cycle is before:
            self.transport.abort()
        else:
            self._look_again(self.cycle)

    def pause_writing(self) -> None:
        """Wait for the browser to read, and not for ever."""
        super().pause_writing()
        self._unread = self.loop.call_later(TAKES_NOTHING_FOR_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        for timer in (self._silent, self._unread):
            if timer is not None:
                timer.cancel()


class HttpServer(uvicorn.Server):
    """A server that sleeps until it is told to end, where uvicorn's own looks ten times a second.

    Its answers have none of uvicorn's headers, `Date` among them, which are made in those looks.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ending = asyncio.Event()

    async def main_loop(self) -> None:
        """Serve until `end`."""
        await self._ending.wait()

    def end(self) -> None:
        """Take no further request; within the server's loop only."""
        self.should_exit = True
        self._ending.set()


class Page:
    """A page that is served until it is told to end.

    Args:
        taking: Where browsers connect to.
        token: For whatever writes.
        command: The command that the page was started by; `None` of one that was started for itself.
        since_s: When that command began, where the page ends with it: runs before are none of its own.
        host: The address that `taking` is bound to.
        password: For every request, where other machines reach it.
    """

    def __init__(
        self,
        taking: socket.socket,
        runs: Path,
        token: str,
        *,
        command: str | None = None,
        since_s: float | None = None,
        host: str = HERE,
        password: str | None = None,
    ) -> None:
        self.access = Access(host, taking.getsockname()[1], token, password)
        self._taking = taking
        self._starter = Starter()
        self._server = Server(runs, self._starter, command, since_s)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http = HttpServer(
            uvicorn.Config(
                app(self._server, self.access),
                http=Connection,
                h11_max_incomplete_event_size=MOST_HEAD_BYTES,
                backlog=MOST_ACCEPTED,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=LONGEST_GOODBYE_S,
            )
        )
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)

    def serve(self) -> None:
        """Serve until `end`; what browsers ask for is started from this thread, and stopped when it ends."""
        self._thread.start()
        try:
            self._starter.serve()
        finally:
            self.end(STOPPED)
            self._server.running.stop(wait=True)
            self._thread.join(END_WITHIN_S)

    def _run(self) -> None:
        # Of this thread alone: what another one starts must not inherit it, and only root could take it back.
        make_way()
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._http.serve(sockets=[self._taking])
        self._starter.end()

    def end(self, reason: str) -> None:
        """Tell the browsers why, and end; from any thread."""

        def goodbye() -> None:
            self._server.hub.end(reason)
            self._http.end()

        if self._loop is None or not self._thread.is_alive():
            self._starter.end()
            return
        # A loop that has ended meanwhile has said goodbye before.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(goodbye)
