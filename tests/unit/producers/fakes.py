"""Stand-ins for Kafka's client and for the clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from producers.dataset import Dataset, Record


@dataclass
class FakeClock:
    """Time that passes only when somebody waits or works."""

    now_ns: int = 1_000_000_000_000

    def monotonic_ns(self) -> int:
        """The time."""
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_ns += round(seconds * 1e9)


@dataclass(frozen=True)
class FakeMessage:
    """What a delivery callback is given."""

    value: bytes

    def __len__(self) -> int:
        """Size of the value."""
        return len(self.value)


@dataclass(frozen=True)
class Sent:
    """A record as the client was given it, and when."""

    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, Any]]
    at_ns: int

    @property
    def intended_us(self) -> int:
        """The intended send time in its header."""
        return int.from_bytes(dict(self.headers)["sluice.intended-send-time-us"], "big")


@dataclass
class FakeClient:
    """A client that acknowledges, at the next poll, what it was given before.

    Attributes:
        send_cost_ns: How long handing over one record takes.
        capacity: Records that fit in the queue.
        stalls: Record number → how long handing it over takes besides.
        fail: What becomes of a record, by its key; `None` is an acknowledgement.
        refuse: The error with which a record is refused at once, by its key.
    """

    clock: FakeClock
    send_cost_ns: int = 0
    capacity: int = 1_000_000
    stalls: dict[int, int] = field(default_factory=dict)
    fail: Callable[[bytes], KafkaError | None] = lambda _: None
    refuse: Callable[[bytes], KafkaError | None] = lambda _: None
    sent: list[Sent] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    _queue: list[tuple[Sent, Callable[[Any, Any], None]]] = field(default_factory=list)

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes,
        *,
        headers: list[tuple[str, Any]],
        on_delivery: Callable[[Any, Any], None],
    ) -> None:
        """Queue a record."""
        if len(self._queue) >= self.capacity:
            raise BufferError("Local: Queue full")
        refusal = self.refuse(key)
        if refusal is not None:
            raise KafkaException(refusal)
        sent = Sent(topic, key, value, headers, self.clock.now_ns)
        self.clock.now_ns += self.send_cost_ns + self.stalls.get(len(self.sent), 0)
        self.sent.append(sent)
        self._queue.append((sent, on_delivery))

    def poll(self, timeout: float) -> int:
        """Acknowledge what is queued; wait when there is nothing."""
        self.waits_s.append(timeout)
        queued, self._queue = self._queue, []
        for sent, on_delivery in queued:
            on_delivery(self.fail(sent.key), FakeMessage(sent.value))
        if not queued:
            self.clock.sleep(timeout)
        return len(queued)

    def flush(self, timeout: float) -> int:
        """Acknowledge what is queued."""
        self.poll(timeout)
        return len(self._queue)


class NumberedDocuments(Dataset):
    """Documents that name their number; every `repeat_after` documents the keys begin again."""

    name = "numbered"
    seed = 0

    def __init__(self, documents: int, repeat_after: int | None = None, routings: Sequence[str | None] = ()) -> None:
        self.documents = documents
        self.is_routed = bool(routings)
        self._repeat_after = repeat_after
        self._routings = routings

    def records(self, numbers: NDArray[np.int64]) -> list[Record]:
        """Key and value of each of these documents."""
        period = self._repeat_after or self.documents
        return [(b"%d" % (number % period), b'{"number":%d}' % number) for number in numbers.tolist()]

    def routings(self, numbers: NDArray[np.int64]) -> list[str | None]:
        """The routing of each of these documents."""
        return [self._routings[number] if self.is_routed else None for number in numbers.tolist()]

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The key as a number."""
        return None if self._repeat_after is None else numbers % self._repeat_after
