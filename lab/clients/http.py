"""Requests to an HTTP service whose servers may be restarted meanwhile: one client, one rule of asking again."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import orjson

from lab.endpoints import OPEN, HttpAccess
from lab.errors import StackError
from producers.json_values import loaded

JSON = {"Content-Type": "application/json"}
RETRY_S = 0.5
CONNECTED_WITHIN_S = 10.0
"""A server whose packets are dropped refuses nothing: another one is asked after so long."""
BUSY = frozenset({429, 502, 503, 504})
UNAUTHORIZED = frozenset({401, 403})
LONGEST_TEXT = 500


class HttpService:
    """A service by the URLs of its nodes: the one that answered last is asked first, then the others in turn.

    Args:
        name: What a message calls it.
        patience_s: How long to ask again; 0 for each node once.
        is_busy: Whether an answer of that status says no more than that the server cannot answer yet.
        advice: What to check when no server answers, at the end of the sentence.
    """

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        access: HttpAccess = OPEN,
        *,
        timeout_s: float,
        patience_s: float,
        is_busy: Callable[[int], bool] = BUSY.__contains__,
        advice: str = "",
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.urls = tuple(url.rstrip("/") for url in urls)
        self._name = name
        self._patience_s = patience_s
        self._is_busy = is_busy
        self._advice = advice
        self._sleep = sleep
        self._clock = clock
        # Who waits for a service for 5 s is not to wait for one answer of it for 90 s.
        answer_s = min(timeout_s, patience_s) if patience_s else timeout_s
        self._http = access.client(JSON, timeout=httpx.Timeout(answer_s, connect=min(answer_s, CONNECTED_WITHIN_S)))
        self._first = 0

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        accept: Sequence[int] = (),
        patience_s: float | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        """The answer to one request; the last one of a server that stays busy.

        Args:
            body: An object to be sent as JSON, or bytes to be sent as they are.
            accept: Statuses that are answers, although they are those of a busy server otherwise.
            patience_s: `None` for that of this client.

        Raises:
            StackError: No node answers for that long.
        """
        patience_s = self._patience_s if patience_s is None else patience_s
        deadline = self._clock() + patience_s if patience_s else -math.inf
        content = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        attempt = 0
        while True:
            url = self.urls[self._first % len(self.urls)]
            attempt += 1
            try:
                response = self._http.request(method, url + path, content=content, headers=headers)
            except httpx.TransportError as error:
                if self._is_enough(attempt, deadline):
                    raise StackError(
                        f"{url}: {self._name} does not answer ({type(error).__name__}: {error}){self._advice}"
                    ) from error
            else:
                busy = self._is_busy(response.status_code) and response.status_code not in accept
                if not busy or self._is_enough(attempt, deadline):
                    return response
            self._first += 1
            self._sleep(RETRY_S)

    def _is_enough(self, attempts: int, deadline: float) -> bool:
        return attempts >= len(self.urls) and self._clock() > deadline


def parsed(response: httpx.Response) -> Any:
    """The answer as JSON, or else its text; `None` for none."""
    try:
        return loaded(response.content) if response.content else None
    except orjson.JSONDecodeError:
        return response.text[:LONGEST_TEXT]
