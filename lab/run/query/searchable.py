"""How many of the oldest documents a search finds, all of them, while more are being indexed.

Elasticsearch itself says it: as many documents before an instant as the dataset has before it means that none of them
is missing. What has been acknowledged but not refreshed is not in it.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any, Final, Self
from urllib.parse import quote

import orjson

from lab.run.query.traffic import QueryConnection, Task
from producers.dataset import Dataset

EVERY_S: Final = 0.25
BACK: Final = (0, *(250 << power for power in range(14)))
"""How far behind the number of documents that are there the oldest gap is looked for."""
FIRST_WITHIN_S: Final = 120.0
"""Beside the time that other copies of a shard are given."""


class SearchableError(Exception):
    """No document became searchable in time."""


class Searchable:
    """Asks again four times a second, in a thread and over a connection of its own; failed readings are left out."""

    def __init__(self, dataset: Dataset, connection: QueryConnection, task: Task) -> None:
        assert dataset.timeline is not None  # noqa: S101 - as the profile's checks have seen
        self._timeline = dataset.timeline
        self._most = dataset.documents
        self._connection = connection
        self._path = search_path(task)
        self._hold_s = task.hold_s
        self._readings: deque[tuple[float, int]] = deque(maxlen=4096)
        self._documents = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def documents(self) -> int:
        """Documents 0 … this number - 1 are found by every search."""
        return self._documents

    def wait(self, stop: threading.Event) -> None:
        """Return when there are some; raises SearchableError if there are none in time."""
        within_s = FIRST_WITHIN_S + self._hold_s
        deadline = time.monotonic() + within_s
        while not self._documents and not stop.wait(0.05):
            if time.monotonic() > deadline:
                raise SearchableError(
                    f"no document became searchable within {within_s:.0f} s of the load; check "
                    "index.refresh_interval and the sink"
                )

    def _follow(self) -> None:
        while not self._end.wait(EVERY_S):
            try:
                asked_s = time.monotonic()
                self._readings.append((asked_s, self._read()))
            except (OSError, HTTPException, ValueError, LookupError, TypeError):
                continue
            # What one copy of a shard finds, another may find only after its own refresh.
            while self._readings and self._readings[0][0] <= asked_s - self._hold_s:
                self._documents = max(self._documents, self._readings.popleft()[1])

    def _read(self) -> int:
        total = hit_count(self._connection, self._path)
        bounds = sorted({self._bound(total - back) for back in BACK if total > back}, reverse=True)
        return self._whole(bounds) if bounds else 0

    def _bound(self, documents: int) -> int:
        """The instant of a document, in ms: all before it is earlier."""
        return self._timeline.instant_ms(min(documents, self._most - 1))

    def _whole(self, bounds_ms: Sequence[int]) -> int:
        """Documents before the latest of these instants before which none is missing."""
        field = self._timeline.field
        ranges = {str(bound): {"range": {field: {"lt": bound, "format": "epoch_millis"}}} for bound in bounds_ms}
        answer = self._post({"size": 0, "aggs": {"before": {"filters": {"filters": ranges}}}})
        buckets = answer["aggregations"]["before"]["buckets"]
        whole = (self._timeline.first_at(bound) for bound in bounds_ms)
        return next(
            (rows for bound, rows in zip(bounds_ms, whole, strict=True) if buckets[str(bound)]["doc_count"] == rows), 0
        )

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        return posted(self._connection, self._path, body)


def posted(connection: QueryConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a search.

    Raises:
        ValueError: It is refused.
        OSError, HTTPException: There is none.
    """
    status, content = connection.post(path, orjson.dumps(body))
    if status != 200:
        raise ValueError(f"status {status}")
    answer: dict[str, Any] = orjson.loads(content)
    return answer


def hit_count(connection: QueryConnection, path: str) -> int:
    """How many documents a search finds."""
    return int(posted(connection, path, {"size": 0, "track_total_hits": True})["hits"]["total"]["value"])


def search_path(task: Task) -> str:
    """Where documents are looked for, past the request cache."""
    return f"/{quote(task.index, safe='')}/_search?request_cache=false"


def wait_for_every_key(dataset: Dataset, connection: QueryConnection, task: Task, stop: threading.Event) -> None:
    """Return when a search finds a document of each key, from when on only updates stream in; or at `stop`.

    Raises:
        SearchableError: Their number has not grown in time.
    """
    wanted, most, within_s = len(dataset.latest()), 0, FIRST_WITHIN_S + task.hold_s
    deadline = time.monotonic() + within_s
    while not stop.wait(EVERY_S):
        with contextlib.suppress(OSError, HTTPException, ValueError, LookupError, TypeError):
            documents = hit_count(connection, search_path(task))
            if documents >= wanted:
                # What one copy of a shard finds, another may find only after its own refresh.
                stop.wait(task.hold_s)
                return
            if documents > most:
                most, deadline = documents, time.monotonic() + within_s
        if time.monotonic() > deadline:
            raise SearchableError(
                f"{most:,} of {wanted:,} documents are searchable, and no more became so within {within_s:.0f} s; "
                "check index.refresh_interval and the sink"
            )
