"""Sends a dataset lap after lap, never further ahead of the sink than it may, and writes down how far it is.

A lap sends the same documents under the same keys, so that the index grows during the first one only: a stream without
end must not fill a disk. A producer that was killed begins where it last wrote down how far it was, and what it then
sends twice overwrites itself.
"""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from confluent_kafka import Consumer, KafkaException, TopicPartition
from numpy.typing import NDArray

from lab.errors import StackError
from lab.run.names import Names
from lab.stream.shares import share_numbers
from producers.dataset import BATCH_DOCUMENTS, Dataset
from producers.delivery import in_words
from producers.pacing import Clock, Schedule
from producers.produce import WHOLE
from producers.sending import Client, Sending
from producers.share import Share
from producers.worker import SystemClock

LOOK_S: Final = 0.5
"""Between two looks at the sink."""
WRITE_DOWN_S: Final = 5.0
BLOCK_S: Final = 0.25
"""The longest stretch of a schedule that is sent without a look at whether to stop."""
NO_ANSWER_S: Final = 300.0
WAIT_POLL_S: Final = 0.2
CHECK_S: Final = 10.0
"""Between two questions whether the sink that is waited for still lives."""
RETAINED_BYTES: Final = 1 << 30
"""What the topic of a stream keeps, over all partitions. What the sink has not read yet must never be among what goes,
so that the producer lets at most half of this lie unread."""
SENDING: Final = "sending"
"""Stands in place of the number of records while a stream is being sent."""


@dataclass(frozen=True)
class StreamPosition:
    """How far a stream is.

    Attributes:
        documents: Sent since it began, over all laps; those that were sent twice after a kill count once. Of a share:
            the documents of all shares up to there, of which it has sent its own.
        records: In the topic when the sending was stopped, as the sum of its end offsets; `None` while it goes on, and
            after a kill.
    """

    documents: int
    records: int | None


class PositionStore:
    """Where a stream's position is kept: an offset of a consumer group that nobody is a member of.

    Args:
        settings: Further settings of Kafka's client, such as those for TLS.
        share: Whose position it is, where several producers send the stream.
    """

    def __init__(
        self, bootstrap: str, names: Names, settings: Mapping[str, str] | None = None, share: Share = WHOLE
    ) -> None:
        of_share = f"-{share.number}-of-{share.of}" if share.of > 1 else ""
        self._topic = names.topic
        self._consumer = Consumer(
            {
                **(settings or {}),
                "bootstrap.servers": bootstrap,
                "group.id": f"{names.topic}-sent{of_share}",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )

    def read(self) -> StreamPosition:
        """The position; the beginning where none is written down.

        Raises:
            StackError: Kafka does not tell.
        """
        try:
            (offset,) = self._consumer.committed([TopicPartition(self._topic, 0)], timeout=30)
        except KafkaException as error:
            raise StackError(
                f"{self._topic}: the position of the stream cannot be read ({error.args[0].str()})"
            ) from error
        if offset.offset < 0:
            return StreamPosition(0, 0)
        records = offset.metadata or ""
        return StreamPosition(offset.offset, int(records) if records.isdigit() else None)

    def write(self, sent: StreamPosition) -> None:
        """Write the position down; raises KafkaException if Kafka does not take it."""
        records = SENDING if sent.records is None else str(sent.records)
        place = TopicPartition(self._topic, 0, sent.documents, records)
        self._consumer.commit(offsets=[place], asynchronous=False)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


@dataclass(frozen=True)
class Offsets:
    """The topic and the sink at one moment.

    Attributes:
        records: In the topic.
        lag: Records that the sink has not committed yet.
    """

    records: int
    lag: int


@dataclass(frozen=True)
class Pace:
    """How fast a stream goes.

    Attributes:
        rate_docs_per_s: Over all shares, on an absolute schedule, which no waiting for sink or Kafka moves: what was
            due meanwhile is sent at once afterwards, and its latency counts from when it was due. `None` for as fast as
            the sink can.
        most_lag_records: No further ahead of the sink than this.
    """

    rate_docs_per_s: float | None
    most_lag_records: int

    @property
    def block_documents(self) -> int:
        """Documents between two looks at whether to stop."""
        if self.rate_docs_per_s is None:
            return BATCH_DOCUMENTS
        return max(1, min(BATCH_DOCUMENTS, int(self.rate_docs_per_s * BLOCK_S)))


class Watcher(Protocol):
    """Who is told how a stream goes."""

    def sending(self, documents: int, lag: int) -> None:
        """So many documents have been sent since the stream began."""
        ...

    def waiting(self, documents: int, lag: int) -> None:
        """The sink is too far behind, or Kafka does not answer (then the lag is negative); called again and again."""
        ...


@dataclass
class Stream:
    """One sending of a stream, until somebody stops it.

    Attributes:
        offsets: Asks Kafka; raises KafkaException when it does not answer.
        keep: Writes a position down.
        check_sink: Raises StackError when the sink has failed for good; asked while it is waited for.
        position: The number of the next document, over all laps and all shares.
        share: Which of the documents it sends; other producers send the others.
        epoch_us: The wall clock, in microseconds.
    """

    dataset: Dataset
    topic: str
    client: Client
    pace: Pace
    offsets: Callable[[], Offsets]
    keep: Callable[[StreamPosition], None]
    watcher: Watcher
    position: int
    share: Share = WHOLE
    check_sink: Callable[[], None] = lambda: None
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep
    epoch_us: Callable[[], int] = lambda: time.time_ns() // 1000
    _bytes_per_document: float = field(default=0.0, init=False)
    _looked_ns: int = field(default=-(1 << 62), init=False)
    _kept_ns: int = field(default=0, init=False)
    _first: tuple[int, int] | None = field(default=None, init=False)

    @property
    def most_lag_records(self) -> int:
        """No further ahead of the sink than this: less than was asked for where documents are large."""
        retained = RETAINED_BYTES / 2 / max(1.0, self._bytes_per_document)
        return min(self.pace.most_lag_records, int(retained))

    def send(self, is_over: Callable[[], bool]) -> None:
        """Send until `is_over`; everything is acknowledged and written down then.

        Raises:
            StackError: Kafka does not take a document or has not answered for five minutes, or the sink has failed.
        """
        while not is_over():
            self.wait_for_sink(is_over)
            if not is_over():
                self.send_stretch(is_over)
        if self._first is not None:
            with contextlib.suppress(KafkaException):
                self.keep(StreamPosition(self.position, self.offsets().records))

    def sink_keeps_up(self) -> bool:
        """Whether more may be sent; asked of Kafka every half second only."""
        now_ns = self.clock.monotonic_ns()
        if now_ns - self._looked_ns < LOOK_S * 1e9:
            return True
        lag = self.lag()
        self._looked_ns = self.clock.monotonic_ns()
        self.watcher.sending(self.position, lag)
        return 0 <= lag <= self.most_lag_records

    def lag(self) -> int:
        """The sink's lag; negative when Kafka does not answer."""
        try:
            return self.offsets().lag
        except KafkaException:
            return -1

    def wait_for_sink(self, is_over: Callable[[], bool]) -> None:
        """Return when the sink has caught up with half of what it may be behind, or it is over.

        Raises:
            StackError: The sink has failed, or Kafka has not answered for five minutes.
        """
        answered_ns = checked_ns = self.clock.monotonic_ns()
        while not is_over():
            lag = self.lag()
            if 0 <= lag <= self.most_lag_records // 2:
                return
            now_ns = self.clock.monotonic_ns()
            answered_ns = answered_ns if lag < 0 else now_ns
            if now_ns - answered_ns > NO_ANSWER_S * 1e9:
                raise StackError(f"{self.topic}: Kafka has not answered for {NO_ANSWER_S:.0f} s")
            if now_ns - checked_ns > CHECK_S * 1e9:
                self.check_sink()
                checked_ns = now_ns
            self.watcher.waiting(self.position, lag)
            self.sleep(WAIT_POLL_S)

    def send_stretch(self, is_over: Callable[[], bool]) -> None:
        """Send on the schedule that began with the first stretch, until the sink falls behind or it is over."""
        now_ns = self.clock.monotonic_ns()
        if self._first is None:
            self._first = (now_ns, self.position)
            self.write_position()
        started_ns, first = self._first
        # By the wall clock as it stands now: the machine may have slept, or its clock been set, since the last stretch.
        started_us = self.epoch_us() - (now_ns - started_ns) // 1000
        schedule = Schedule(started_ns, started_us, first, self.pace.rate_docs_per_s)
        sending = Sending(self.client, self.topic, schedule, clock=self.clock)
        self._kept_ns = now_ns
        while not is_over() and self.sink_keeps_up():
            numbers = self.own(np.arange(self.position, self.position + self.pace.block_documents, dtype=np.int64))
            if len(numbers):
                sending.send(numbers, self.dataset.records(numbers % self.dataset.documents))
            self.position += self.pace.block_documents
            self._bytes_per_document = sending.source_bytes / max(1, sending.produced)
            if self.clock.monotonic_ns() - self._kept_ns > WRITE_DOWN_S * 1e9:
                self.write_down(sending)
        self.write_down(sending)

    def own(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of these positions whose documents this share sends."""
        if self.share.of == 1:
            return positions
        own: NDArray[np.int64] = positions[share_numbers(self.dataset, positions, self.share.of) == self.share.number]
        return own

    def write_down(self, sending: Sending) -> None:
        """Wait until everything is acknowledged, and write down how far it is.

        Raises:
            StackError: A document was not taken.
        """
        sending.finish()
        if sending.failed:
            why = in_words(sending.failures)
            raise StackError(f"{self.topic}: {sending.failed} documents were not delivered: {why}")
        self.write_position()
        self._kept_ns = self.clock.monotonic_ns()

    def write_position(self) -> None:
        """Write down how far it is, and that it goes on.

        Where Kafka does not answer just now it is left to the next time: at worst some documents are sent twice.
        """
        with contextlib.suppress(KafkaException):
            self.keep(StreamPosition(self.position, None))
