"""What a played server stores: indices, the versions of their documents, and where their sources lie."""

import os
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson

from tests.worlds.pace import Capacity, Service

BINS_PER_S = 10
REFRESH_S = 0.02
"""What a refresh takes, and a merge of a moment."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored document: its version, its number in the order of writes, and where its source lies."""

    version: int
    seq_no: int
    offset: int
    length: int


@dataclass(slots=True)
class Outcome:
    """What became of one operation of a bulk request.

    Attributes:
        result: `created`, `updated`, `deleted`, `noop`, `not_found`; empty where it failed.
        error: Type and reason of a failure.
    """

    action: str
    id: str
    status: int
    result: str = ""
    version: int = 0
    seq_no: int = 0
    error: tuple[str, str] | None = None


@dataclass
class Bin:
    """What an index did in a tenth of a second.

    Attributes:
        documents: Served.
        busy_s: Of all workers.
    """

    documents: float
    busy_s: float


@dataclass
class Index:
    """One index and everything that it counts; times are the event loop's.

    Attributes:
        settings: Flat, as text.
        documents: By id, in the order in which they were created.
        searchable: How many of them a search sees.
        forgotten: Documents and time that its counters have lost.
        owes: Whether the CPU that its documents cost has not been used yet.
    """

    name: str
    uuid: str
    settings: dict[str, str]
    mappings: dict[str, Any]
    capacity: Capacity
    created_s: float
    documents: dict[str, Stored] = field(default_factory=dict)
    searchable: int = 0
    owes: bool = False
    forgotten: tuple[int, float] | None = None
    source_bytes: int = 0
    seq_no: int = 0
    failed: int = 0
    deletes: int = 0
    requests: int = 0
    refreshes: int = 0
    gets: int = 0
    searches: int = 0
    bins: dict[int, Bin] = field(default_factory=dict)
    held_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    ended_s: float = 0.0
    refreshed_s: float = 0.0
    _under_way: deque[Service] = field(default_factory=deque)
    _done: int = 0
    _done_busy_s: float = 0.0

    def __post_init__(self) -> None:
        """Open the file that holds the sources; it has no name and ends with the index."""
        self._sources = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
        self._size = 0

    def close(self) -> None:
        """Give the room of the sources back."""
        self._sources.close()

    @property
    def shards(self) -> int:
        """Primary shards."""
        return int(self.settings.get("index.number_of_shards", "1"))

    @property
    def replicas(self) -> int:
        """Copies of each, which one node cannot hold."""
        return int(self.settings.get("index.number_of_replicas", "1"))

    # --- documents --------------------------------------------------------------------------------------------------

    def keep(self, sources: bytes) -> int:
        """Write sources down; where they begin."""
        offset = self._size
        os.pwrite(self._sources.fileno(), sources, offset)
        self._size += len(sources)
        return offset

    def source(self, stored: Stored) -> bytes:
        """The source of a document."""
        return os.pread(self._sources.fileno(), stored.length, stored.offset)

    def write(self, action: str, given: Mapping[str, Any], source: bytes, offset: int) -> Outcome:
        """Store one document, or say why not.

        Args:
            given: The fields of the action line.
            offset: Where the source was written down.
        """
        document = str(given["_id"]) if "_id" in given else new_id()
        before = self.documents.get(document)
        if action == "delete":
            return self._delete(document, before, given)
        if action == "update":
            return self._update(document, before, orjson.loads(source))
        if before and (conflict := conflict_of(document, before, action, given)):
            self.failed += 1
            return Outcome(action, document, 409, error=conflict)
        version = int(given["version"]) if "version" in given else before.version + 1 if before else 1
        return self._store(action, document, version, (offset, len(source)))

    def _store(self, action: str, document: str, version: int, place: tuple[int, int]) -> Outcome:
        before, pace = self.documents.get(document), self.capacity.pace
        if pace.alter_every and self.seq_no % pace.alter_every == pace.alter_every - 1:
            altered = self.source(Stored(version, 0, *place)).replace(b'":"', b'":"~', 1)
            place = self.keep(altered), len(altered)
        if pace.lose_every and self.seq_no % pace.lose_every == pace.lose_every - 1 and not before:
            self.seq_no += 1
            return Outcome(action, document, 201, "created", version, self.seq_no - 1)
        stored = Stored(version, self.seq_no, *place)
        self.documents[document] = stored
        self.source_bytes += stored.length - (before.length if before else 0)
        self.seq_no += 1
        status, result = (200, "updated") if before else (201, "created")
        return Outcome(action, document, status, result, version, stored.seq_no)

    def _delete(self, document: str, before: Stored | None, given: Mapping[str, Any]) -> Outcome:
        if before and (conflict := conflict_of(document, before, "delete", given)):
            self.failed += 1
            return Outcome("delete", document, 409, error=conflict)
        self.seq_no += 1
        self.deletes += 1
        version = int(given["version"]) if "version" in given else before.version + 1 if before else 1
        if before is None:
            return Outcome("delete", document, 404, "not_found", version, self.seq_no - 1)
        del self.documents[document]
        self.source_bytes -= before.length
        return Outcome("delete", document, 200, "deleted", version, self.seq_no - 1)

    def _update(self, document: str, before: Stored | None, change: Mapping[str, Any]) -> Outcome:
        if before is None:
            new = change.get("doc") if change.get("doc_as_upsert") else change.get("upsert")
            if new is None:
                missing = ("document_missing_exception", f"[{document}]: document missing")
                self.failed += 1
                return Outcome("update", document, 404, error=missing)
            written = orjson.dumps(new)
            return self._store("update", document, 1, (self.keep(written), len(written)))
        old = orjson.loads(self.source(before))
        written = orjson.dumps(merged(old, change.get("doc", {})))
        if written == orjson.dumps(old):
            return Outcome("update", document, 200, "noop", before.version, before.seq_no)
        return self._store("update", document, before.version + 1, (self.keep(written), len(written)))

    def seen(self) -> Iterator[str]:
        """The ids that a search sees."""
        return islice(iter(tuple(self.documents)), self.searchable)

    # --- time -------------------------------------------------------------------------------------------------------

    def add(self, service: Service) -> None:
        """Count a request, bin by bin, as it will be served."""
        self._under_way.append(service)
        self.requests += 1
        self.ended_s = max(self.ended_s, service.ended_s)
        served = 0.0
        for number in range(int(service.started_s * BINS_PER_S), int(service.ended_s * BINS_PER_S) + 1):
            began_s, ended_s = (
                max(service.started_s, number / BINS_PER_S),
                min(service.ended_s, (number + 1) / BINS_PER_S),
            )
            counted = self.bins.setdefault(number, Bin(0.0, 0.0))
            before, served = served, service.served(ended_s)
            counted.documents += served - before
            counted.busy_s += max(0.0, ended_s - began_s)

    def settle(self, now_s: float) -> None:
        """Take note of the requests that are served, and refresh if it is time."""
        while self._under_way and self._under_way[0].ended_s <= now_s:
            service = self._under_way.popleft()
            self._done += service.indexed
            self._done_busy_s += service.ended_s - service.started_s
        interval = self.settings.get("index.refresh_interval", "1s")
        interval_s = -1.0 if interval.startswith("-") else seconds(interval)
        if interval_s > 0 and now_s - self.refreshed_s >= interval_s and self.searchable < self.visible(now_s):
            self.refresh(now_s)

    def refresh(self, now_s: float) -> None:
        """Let searches see what is served."""
        self.refreshes += 1
        self.refreshed_s = now_s
        self.searchable = self.visible(now_s)

    def visible(self, now_s: float) -> int:
        """Documents that a refresh would let searches see: without those of requests that wait or are being served."""
        return max(0, len(self.documents) - sum(each.created for each in self._under_way if each.ended_s > now_s))

    def served(self, now_s: float) -> int:
        """Documents that are indexed."""
        return self._done + int(sum(service.served(now_s) for service in self._under_way))

    def busy_s(self, now_s: float) -> float:
        """Time that workers spent on it."""
        return self._done_busy_s + sum(service.busy_s(service.started_s, now_s) for service in self._under_way)

    def counted(self, now_s: float) -> tuple[int, float]:
        """Documents and time as `_stats` counts them: since its counters last began."""
        after_s, began_s = self.capacity.pace.forget_after_s, self.capacity.began_s
        if after_s and began_s is not None and now_s > began_s + after_s and self.forgotten is None:
            self.forgotten = self.served(now_s), self.busy_s(now_s)
        documents, busy_s = self.forgotten or (0, 0.0)
        return self.served(now_s) - documents, self.busy_s(now_s) - busy_s

    def active(self, now_s: float) -> tuple[int, int]:
        """Requests that are being served, and those that wait."""
        open_now = [service for service in self._under_way if service.ended_s > now_s]
        active = sum(service.started_s <= now_s for service in open_now)
        return active, len(open_now) - active

    def merges(self, now_s: float) -> tuple[int, int, float]:
        """Merges under way, all that began, and the time that they took: one for each burst of the load."""
        pace, began_s = self.capacity.pace, self.capacity.began_s
        if began_s is None or not pace.burst_every_s:
            return int(self.owes), int(self.owes), 0.0
        age_s = min(now_s, self.ended_s) - began_s
        over, in_period_s = divmod(age_s, pace.burst_every_s)
        in_burst_s = max(0.0, in_period_s - (pace.burst_every_s - pace.burst_s))
        current = int(self.owes or (in_burst_s > 0 and now_s < self.ended_s))
        return current, int(over) + (in_burst_s > 0), over * pace.burst_s + in_burst_s


def conflict_of(document: str, before: Stored, action: str, given: Mapping[str, Any]) -> tuple[str, str] | None:
    """Type and reason of the conflict of a write with the document that is there; `None` where there is none."""
    kind = "version_conflict_engine_exception"
    if action == "create":
        return kind, f"[{document}]: version conflict, document already exists (current version [{before.version}])"
    is_external = given.get("version_type", "").startswith("external")
    equal_is_right = given.get("version_type") == "external_gte"
    if is_external and before.version >= int(given["version"]) + equal_is_right:
        order = "higher" if equal_is_right else "higher or equal"
        is_order = f"is {order}{' than' if equal_is_right else ' to'} the one provided [{given['version']}]"
        return kind, f"[{document}]: version conflict, current version [{before.version}] {is_order}"
    return None


def merged(old: Any, change: Any) -> Any:
    """A document with a partial one laid over it, object by object."""
    if not (isinstance(old, dict) and isinstance(change, dict)):
        return change
    return {**old, **{name: merged(old.get(name), value) for name, value in change.items()}}


def seconds(text: str) -> float:
    """A time value such as `30s`."""
    for unit, factor in (("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    return float(text) / 1000


def new_id() -> str:
    """An id that nobody else has."""
    return f"{time.time_ns():x}{os.urandom(4).hex()}"
