"""One process's sending: each document at its due time, every outcome counted.

How the counts are exact: every record carries a delivery callback, which Kafka's client calls once for each record,
delivered or given up. That costs about 0.5 µs a record (of about 5 µs to make and send one). The cheaper ways do not
serve: reporting errors only would leave no acknowledgement to measure a latency by, the client's statistics count
retries twice, and batch calls carry no headers.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, Protocol

import numpy as np
from confluent_kafka import KafkaError, KafkaException
from numpy.typing import NDArray

from producers.dataset import BATCH_DOCUMENTS, NULL, Dataset, Header, Record
from producers.delivery import Failure, ProduceError
from producers.latency import Latencies
from producers.pacing import LATE_NS, Clock, Schedule

INTENDED_SEND_TIME_HEADER: Final = "sluice.intended-send-time-us"
"""Eight bytes, big-endian: microseconds since the Unix epoch."""
GROUP_DOCUMENTS: Final = 64
"""Documents sent between two looks at the clock and at the acknowledgements."""
REPORT_INTERVAL_NS: Final = 200_000_000
SHORTEST_WAIT_S: Final = 0.001
"""Documents due within the next millisecond wait for each other: waking up for each would take the processor from
what is measured. The wait shows in their latency."""
LONGEST_WAIT_S: Final = 0.1
EVERY_DOCUMENT_BELOW_DOCS_PER_S: Final = 2000.0
SAMPLE_EVERY: Final = 16


Headers = list[Header]
NO_HEADERS: Final[Headers] = []


class Client(Protocol):
    """What is used of Kafka's producer client."""

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        *,
        headers: Headers,
        on_delivery: Callable[[KafkaError | None, Any], None],
    ) -> None:
        """Queue a record; BufferError when the queue is full."""
        ...

    def poll(self, timeout: float) -> int:
        """Call the callbacks that are due; wait up to `timeout` seconds for the first."""
        ...

    def flush(self, timeout: float) -> int:
        """Wait up to `timeout` seconds for the queue to empty; how many records remain."""
        ...


def owned_blocks(
    dataset: Dataset, bounds: tuple[int, int], process: int, processes: int
) -> Iterable[NDArray[np.int64]]:
    """The document numbers of [start, stop) that are this process's to send, ascending, a block at a time.

    Blocks go round the processes, so that all of them keep to one schedule. Where several documents share a key, each
    process goes through all blocks and takes the documents whose key is its own: order per key is kept.
    """
    for first in range(*bounds, BATCH_DOCUMENTS):
        numbers = np.arange(first, min(first + BATCH_DOCUMENTS, bounds[1]), dtype=np.int64)
        groups = dataset.groups(numbers) if processes > 1 else None
        if groups is not None:
            numbers = numbers[groups % processes == process]
        elif (first - bounds[0]) // BATCH_DOCUMENTS % processes != process:
            continue
        if len(numbers):
            yield numbers


def sample_every(rate_docs_per_s: float | None) -> int:
    """Of how many documents one has its latency recorded: all at a process's low rates, else one of SAMPLE_EVERY."""
    if rate_docs_per_s is not None and rate_docs_per_s <= EVERY_DOCUMENT_BELOW_DOCS_PER_S:
        return 1
    return SAMPLE_EVERY


class Sending:
    """Sends documents through one client and counts what becomes of them.

    Attributes:
        produced: Handed to the client, or refused by it at once.
        delivered: Acknowledged by Kafka.
        failed: Given up by the client, or refused by it at once.
        late_documents: Sent more than 100 ms after they were due.
        source_bytes: Size of the documents handed over, less those that failed.
    """

    def __init__(
        self,
        client: Client,
        topic: str,
        schedule: Schedule,
        *,
        clock: Clock,
        latency_sample_every: int = SAMPLE_EVERY,
        report: Callable[["Sending"], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._topic = topic
        self._schedule = schedule
        self._clock = clock
        self._every = latency_sample_every
        self._report = report
        self._reported_ns = schedule.started_ns
        self._failures: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        self.latencies = Latencies()
        self.produced = 0
        self.delivered = 0
        self.failed = 0
        self.late_documents = 0
        self.source_bytes = 0

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Why documents failed, most frequent first."""
        return tuple(Failure(code, self._reasons[code], count) for code, count in self._failures.most_common())

    def send(
        self,
        numbers: NDArray[np.int64],
        records: Sequence[Record],
        headers: Sequence[Headers] = (),
        recorded_ns: NDArray[np.int64] | None = None,
    ) -> None:
        """Hand these documents to the client, each when it is due.

        Args:
            headers: Of each document; empty where none has one.
            recorded_ns: When each was written, since the first one of all; `None` where that is not known.

        Raises:
            ProduceError: The client cannot go on.
        """
        headers = headers or [NO_HEADERS] * len(records)
        if self._schedule.is_paced:
            self._send_when_due(self._schedule.due_ns(numbers, recorded_ns), records, headers)
        else:
            self._send_at_once(records, headers)

    def finish(self) -> None:
        """Wait until every document is acknowledged or given up."""
        while self._client.flush(LONGEST_WAIT_S):
            self._report_if_due(self._clock.monotonic_ns())
        if self.produced != self.delivered + self.failed:
            raise ProduceError(
                f"{self._topic}: the client's counts do not add up: "
                f"{self.produced} produced, {self.delivered} delivered, {self.failed} failed"
            )
        self._report(self)

    def _send_at_once(self, records: Sequence[Record], headers: Sequence[Headers]) -> None:
        """A document is due when it is handed over; the documents of one group share one time.

        The record's own timestamp says that time, to the millisecond: a header beside it would only cost every reader.
        """
        for first in range(0, len(records), GROUP_DOCUMENTS):
            now_ns = self._clock.monotonic_ns()
            group = records[first : first + GROUP_DOCUMENTS]
            for place, (key, value) in enumerate(group):
                self._hand_over(key, value, headers[first + place], self._callback(place, now_ns))
            self._handed_over(group, now_ns)

    def _send_when_due(self, due_ns: NDArray[np.int64], records: Sequence[Record], headers: Sequence[Headers]) -> None:
        intended = self._schedule.epoch_headers(due_ns)
        due = due_ns.tolist()
        first = 0
        while first < len(records):
            now_ns = self._clock.monotonic_ns()
            last = min(bisect_right(due, now_ns, lo=first), first + GROUP_DOCUMENTS)
            if last == first:
                self._wait(due[first] - now_ns)
                self._report_if_due(now_ns)
                continue
            for place in range(first, last):
                key, value = records[place]
                header: Headers = [(INTENDED_SEND_TIME_HEADER, intended[place]), *headers[place]]
                self._hand_over(key, value, header, self._callback(place, due[place]))
            self.late_documents += bisect_right(due, now_ns - LATE_NS - 1, lo=first, hi=last) - first
            self._handed_over(islice(records, first, last), now_ns)
            first = last

    def _wait(self, remaining_ns: int) -> None:
        self._client.poll(min(max(remaining_ns / 1e9, SHORTEST_WAIT_S), LONGEST_WAIT_S))

    def _callback(self, place: int, due_ns: int) -> Callable[[KafkaError | None, Any], None]:
        if place % self._every:
            return self._on_delivery
        return partial(self._on_timed_delivery, due_ns)

    def _hand_over(
        self, key: bytes, value: bytes, headers: Headers, on_delivery: Callable[[KafkaError | None, Any], None]
    ) -> None:
        sent, by_key = None if value is NULL else value, None if key is NULL else key
        while True:
            try:
                self._client.produce(self._topic, sent, by_key, headers=headers, on_delivery=on_delivery)
            except BufferError:
                self._client.poll(LONGEST_WAIT_S)
                self._report_if_due(self._clock.monotonic_ns())
            except KafkaException as refusal:
                self._count_failure(refusal.args[0], len(value))
                return
            else:
                return

    def _handed_over(self, records: Iterable[Record], now_ns: int) -> None:
        sizes = [len(value) for _, value in records]
        self.produced += len(sizes)
        self.source_bytes += sum(sizes)
        self._client.poll(0)
        self._report_if_due(now_ns)

    def _on_delivery(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.delivered += 1
        else:
            self._count_failure(error, len(message))

    def _on_timed_delivery(self, due_ns: int, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.delivered += 1
            self.latencies.record(self._clock.monotonic_ns() - due_ns)
        else:
            self._count_failure(error, len(message))

    def _count_failure(self, error: KafkaError, size_bytes: int) -> None:
        if error.fatal():
            raise ProduceError(f"{self._topic}: the client failed: {error.str()}")
        self.failed += 1
        self.source_bytes -= size_bytes
        self._failures[error.name()] += 1
        self._reasons.setdefault(error.name(), error.str())

    def _report_if_due(self, now_ns: int) -> None:
        if now_ns - self._reported_ns >= REPORT_INTERVAL_NS:
            self._reported_ns = now_ns
            self._report(self)
