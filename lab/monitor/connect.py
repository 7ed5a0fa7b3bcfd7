"""Reads the state of a connector and of its tasks from a Kafka Connect worker."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import orjson

from lab.endpoints import OPEN, HttpAccess, urls_of
from lab.records.samples import ConnectorSample, TaskSample

EVERY = 3
"""Readings: an answer costs the worker and this process 4 ms together, each second 0.4 % of a core."""
MOST_CHARACTERS = 300
"""Of a failure's reason in a sample; the worker's log has all of it."""


class ConnectorReader:
    """Asks the worker for the state of one connector, at every third reading: states seldom change.

    Args:
        url: Of several workers of one group, separated by commas; when one does not answer, the next reading asks the
            next one.
        hide: Keeps secrets out of a failure's reason.
    """

    def __init__(
        self,
        url: str,
        connector: str,
        *,
        timeout_s: float,
        access: HttpAccess = OPEN,
        hide: Callable[[str], str] = str,
    ) -> None:
        self._urls = [f"{each}/connectors/{connector}/status" for each in urls_of(url)]
        self._hide = hide
        self._readings = 0
        self._failures = 0
        self._client = access.client(timeout=timeout_s)

    def read(self) -> ConnectorSample | None:
        """The states at this instant; `None` while there is no such connector, and between two questions.

        Raises:
            httpx.HTTPError: No answer, or a refusal.
        """
        self._readings += 1
        if self._readings % EVERY != 1:
            return None
        try:
            response = self._client.get(self._urls[self._failures % len(self._urls)])
        except httpx.TransportError:
            self._failures += 1
            raise
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        status = orjson.loads(response.raise_for_status().content)
        tasks = tuple(self._task(task) for task in status["tasks"])
        return ConnectorSample(state=status["connector"]["state"], tasks=tasks)

    def _task(self, task: Mapping[str, Any]) -> TaskSample:
        causes = causes_in(task.get("trace") or "")
        reason = self._hide(innermost(causes))[:MOST_CHARACTERS] if causes else None
        return TaskSample(id=task["id"], state=task["state"], worker=task.get("worker_id", ""), reason=reason)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def causes_in(trace: str) -> list[str]:
    """The chain of causes in a Java stack trace, as it stands there without its frames; the innermost comes last."""
    lines = (line.strip() for line in trace.splitlines())
    return [line for line in lines if line and not line.startswith(("at ", "..."))]


def innermost(causes: Sequence[str]) -> str:
    """Root cause of a failure."""
    return causes[-1].removeprefix("Caused by: ") if causes else "no cause given"
