"""Costly answers: one at a time, few that wait, and none for a browser that has gone."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from lab.errors import SluiceError

Result = TypeVar("Result")
GONE = 499
"""Status of an answer that nobody reads: its browser has left."""


class FullError(SluiceError):
    """More is asked for at the same time than is answered."""


@dataclass
class Desk:
    """Queue for answers of one kind, made one after the other in threads that serve no files.

    Attributes:
        what: As a refusal names it.
        most: How many may be asked for at a time, the one that is being made included.
    """

    what: str
    most: int
    _asked: int = field(default=0, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _thread: ThreadPoolExecutor = field(default_factory=partial(ThreadPoolExecutor, 1), init=False)

    async def answer(self, request: Request, make: Callable[[], Awaitable[Response]]) -> Response:
        """The answer, once it is its turn; given up as soon as its browser has gone.

        Raises:
            FullError: Too many have asked before.
        """
        if self._asked >= self.most:
            raise FullError(f"{self.what}: {self._asked} are asked for already; try again in a few seconds")
        self._asked += 1
        try:
            return await while_there(request, self._in_turn(make))
        finally:
            self._asked -= 1

    async def _in_turn(self, make: Callable[[], Awaitable[Response]]) -> Response:
        async with self._turn:
            return await make()

    async def computed(self, compute: Callable[[], Result]) -> Result:
        """The outcome of a computation in the desk's one thread, which what has begun there cannot be taken off."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, compute)


async def while_there(request: Request, making: Coroutine[Any, Any, Response]) -> Response:
    """The answer, or an empty one where the browser goes before it is made."""
    made, gone = asyncio.create_task(making), asyncio.create_task(departure(request))
    try:
        await asyncio.wait({made, gone}, return_when=asyncio.FIRST_COMPLETED)
        return made.result() if made.done() else Response(status_code=GONE)
    finally:
        gone.cancel()
        made.cancel()
        with contextlib.suppress(BaseException):
            await made


async def departure(request: Request) -> None:
    """Return when the browser has closed its connection; what it still sends is not read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
