"""A stream without end: lap after lap, never too far ahead of the sink, and what was sent is written down."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from confluent_kafka import KafkaError, KafkaException

from lab.errors import StackError
from lab.stream.laps import RETAINED_BYTES, Offsets, Pace, Stream, StreamPosition
from producers.dataset import Dataset
from producers.sending import INTENDED_SEND_TIME_HEADER
from producers.share import Share
from tests.unit.messages import MakeMessage
from tests.unit.producers.fakes import FakeClient, FakeClock, NumberedDocuments

LAP = 1009
LAG = 5003


@dataclass
class World:
    """Kafka, a sink that reads what it is told to, and whoever watches.

    Attributes:
        reads: The sink's lag for so many records in the topic, asked again and again.
        is_down: Whether Kafka does not answer.
        in_topic: Records in the topic whenever a position was kept.
    """

    clock: FakeClock = field(default_factory=lambda: FakeClock(now_ns=10**12))
    reads: Callable[[int], int] = lambda _records: 0
    is_down: Callable[[], bool] = lambda: False
    refuse: Callable[[bytes], KafkaError | None] = lambda _: None
    kept: list[StreamPosition] = field(default_factory=list)
    in_topic: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = FakeClient(self.clock, send_cost_ns=1000, fail=self.refuse)

    def stream(
        self, *, position: int = 0, rate: float | None = None, dataset: Dataset | None = None, share: str = "1/1"
    ) -> Stream:
        """A stream through this world."""
        return Stream(
            dataset or NumberedDocuments(LAP),
            "topic",
            self.client,
            Pace(rate, LAG),
            self.offsets,
            self.keep,
            self,
            position,
            Share.parsed(share),
            clock=self.clock,
            sleep=self.clock.sleep,
            epoch_us=lambda: self.clock.now_ns // 1000,
        )

    def offsets(self) -> Offsets:
        """What Kafka answers."""
        if self.is_down():
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return Offsets(len(self.client.sent), self.reads(len(self.client.sent)))

    def keep(self, sent: StreamPosition) -> None:
        """Kafka keeps a position."""
        if self.is_down():
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        self.kept.append(sent)
        self.in_topic.append(len(self.client.sent))

    def sending(self, documents: int, lag: int) -> None:
        """Nobody listens."""

    def waiting(self, _documents: int, lag: int) -> None:
        """The lag at which it waits."""
        self.waits.append(lag)


def after(stream: Stream, documents: int) -> Callable[[], bool]:
    """Whether the stream has come so far."""
    return lambda: stream.position >= documents


def test_every_lap_sends_the_same_documents_again() -> None:
    """In the same order; the position goes on counting."""
    world = World()
    stream = world.stream()
    stream.send(after(stream, 3 * LAP))
    keys = [int(sent.key) for sent in world.client.sent]
    assert keys == [number % LAP for number in range(stream.position)]
    assert world.kept[-1] == StreamPosition(stream.position, len(keys))


def test_a_stream_goes_on_where_it_was() -> None:
    """In the midst of its third lap."""
    world = World()
    stream = world.stream(position=2 * LAP + 101)
    stream.send(after(stream, 2 * LAP + 102))
    assert int(world.client.sent[0].key) == 101


def test_what_is_written_down_was_acknowledged() -> None:
    """At the beginning, every five seconds, and at the end; the topic holds exactly what was sent by then.

    Only the last one says how many records there are: a stream without it is being sent, or was killed.
    """
    world = World()
    stream = world.stream(rate=1009)
    stream.send(after(stream, 20_011))
    *under_way, end = world.kept
    assert [sent.documents for sent in world.kept] == world.in_topic
    assert ([sent.records for sent in under_way], under_way[0].documents) == ([None] * 5, 0)
    assert end == StreamPosition(stream.position, stream.position)


def test_a_rate_is_kept() -> None:
    """20,011 documents at 1,009 per second take 19.8 s."""
    world = World()
    stream = world.stream(rate=1009)
    began_ns = world.clock.now_ns
    stream.send(after(stream, 20_011))
    assert (world.clock.now_ns - began_ns) / 1e9 == pytest.approx(stream.position / 1009, abs=0.3)


def test_a_stop_is_heard_within_half_a_second() -> None:
    """However slow the stream is."""
    assert Pace(7, LAG).block_documents == 1
    assert Pace(1009, LAG).block_documents == 252
    assert Pace(None, LAG).block_documents == 1024


def test_the_producer_waits_for_the_sink() -> None:
    """It sends no more before half of the lag is gone."""
    world = World()
    # Before the first document, at its sending, half a second later, and while it waits.
    lags = iter([0, 0, LAG + 1, LAG // 2 + 1, LAG // 2])
    world.reads = lambda _records: next(lags, 0)
    stream = world.stream(rate=1009)
    stream.send(after(stream, 2003))
    assert world.waits == [LAG // 2 + 1]


def test_waiting_for_the_sink_moves_no_due_time() -> None:
    """What was due meanwhile is sent at once afterwards, and says since when it was due: the wait is its latency."""
    world = World()
    began_ns = world.clock.now_ns
    # The sink stands still from the first second to the seventh.
    world.reads = lambda _records: LAG + 1 if 1 < (world.clock.now_ns - began_ns) / 1e9 < 7 else 0
    stream = world.stream(rate=1009)
    stream.send(after(stream, 10_007))
    due_us = [int.from_bytes(dict(sent.headers)[INTENDED_SEND_TIME_HEADER]) for sent in world.client.sent]
    assert len(world.waits) > 0
    assert due_us == pytest.approx([began_ns / 1000 + number * 1e6 / 1009 for number in range(len(due_us))], abs=2)
    assert (world.clock.now_ns - began_ns) / 1e9 == pytest.approx(stream.position / 1009, abs=0.3)


def test_large_documents_wait_sooner() -> None:
    """At most half of what the topic retains lies unread."""
    world = World()
    stream = world.stream()
    assert stream.most_lag_records == LAG
    stream._bytes_per_document = RETAINED_BYTES / 1000
    assert stream.most_lag_records == 500


def test_a_sink_that_has_failed_ends_the_stream(message: MakeMessage) -> None:
    """It is looked at every ten seconds while it is waited for; what was sent is written down before."""
    world = World(reads=lambda records: records)
    world.client.send_cost_ns = 1_000_000

    def fail() -> None:
        raise StackError("connector: failed: index not found")

    stream = world.stream()
    stream.check_sink = fail
    with pytest.raises(StackError) as error:
        stream.send(lambda: False)
    assert str(error.value) == message("connector")
    assert len(world.waits) * 0.2 == pytest.approx(10, abs=0.5)
    assert world.kept[-1] == StreamPosition(stream.position, None)
    assert stream.position > LAG


def test_kafka_may_be_away_for_a_while() -> None:
    """The producer waits, and what it could not write down is written down later."""
    world = World()
    world.is_down = lambda: 5 < (world.clock.now_ns - 10**12) / 1e9 < 120
    stream = world.stream(rate=1009)
    stream.send(after(stream, 10_007))
    assert set(world.waits) == {-1}
    assert world.kept[-1] == StreamPosition(stream.position, stream.position)


def test_kafka_that_stays_away_ends_the_stream(message: MakeMessage) -> None:
    """With a sentence, after five minutes."""
    world = World(is_down=lambda: True)
    stream = world.stream()
    with pytest.raises(StackError) as error:
        stream.send(lambda: False)
    assert str(error.value) == message("topic", 300)
    assert world.client.sent == []


def test_a_document_that_kafka_does_not_take_ends_the_stream(message: MakeMessage) -> None:
    """Nothing is written down beyond what was taken, so that it is sent again."""
    world = World(refuse=lambda key: KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED) if key == b"1008" else None)
    stream = world.stream()
    with pytest.raises(StackError) as error:
        stream.send(after(stream, LAP))
    assert str(error.value) == message("topic", 1, "TOPIC_AUTHORIZATION_FAILED")
    assert world.kept == [StreamPosition(0, None)]


@pytest.mark.parametrize("dataset", [NumberedDocuments(LAP), NumberedDocuments(LAP, repeat_after=103)])
def test_shares_send_every_document_of_every_lap_once(dataset: NumberedDocuments) -> None:
    """Whatever one share sends, no other does; all documents of a key, in all laps, are in one share and in order."""
    sent = []
    for share in ("1/3", "2/3", "3/3"):
        world = World()
        stream = world.stream(dataset=dataset, share=share, rate=1009)
        stream.send(after(stream, 3 * LAP))
        keys = [record.key for record in world.client.sent]
        assert world.kept[-1] == StreamPosition(stream.position, len(keys))
        sent.append([(record.key, record.value) for record in world.client.sent])
    numbers = np.arange(stream.position, dtype=np.int64)
    assert sorted(itertools.chain(*sent)) == sorted(dataset.records(numbers % LAP))
    assert not any(
        {key for key, _ in one} & {key for key, _ in other} for one, other in itertools.combinations(sent, 2)
    )


def test_shares_keep_the_rate_of_all_together() -> None:
    """Of 1,009 documents per second each of two sends half."""
    world = World()
    stream = world.stream(rate=1009, share="2/2")
    began_ns = world.clock.now_ns
    stream.send(after(stream, 20_011))
    assert (world.clock.now_ns - began_ns) / 1e9 == pytest.approx(stream.position / 1009, abs=0.3)
    assert len(world.client.sent) == pytest.approx(stream.position / 2, abs=LAP)
