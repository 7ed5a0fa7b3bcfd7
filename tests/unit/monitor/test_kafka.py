"""The Kafka reader, with a consumer that a test decides."""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from lab.monitor import kafka
from lab.monitor.kafka import KafkaReader
from lab.records.samples import KafkaSample


class Consumer:
    """Kafka as a test wants it: partition → end, partition → committed offset."""

    def __init__(self, end: dict[int, int], committed: dict[int, int]) -> None:
        self.end = end
        self.committed_offsets = committed
        self.lists_asked = 0
        self.down = False
        self.order: list[str] = []

    def list_topics(self, topic: str, *, timeout: float) -> Any:
        """The partitions there are now."""
        assert timeout == 2
        self.lists_asked += 1
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions=dict.fromkeys(self.end))})

    def offsets_for_times(self, asked: list[TopicPartition], *, timeout: float) -> list[TopicPartition]:
        """As the test says."""
        assert (timeout, {place.offset for place in asked}) == (2, {kafka.LATEST})
        self.order.append("end")
        return [TopicPartition("books", place.partition, self.end[place.partition]) for place in asked]

    def committed(self, asked: list[TopicPartition], *, timeout: float) -> list[TopicPartition]:
        """As the test says; a failure while down."""
        assert timeout == 2
        self.order.append("committed")
        if self.down:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return [TopicPartition("books", place.partition, self.committed_offsets[place.partition]) for place in asked]


@pytest.fixture
def reader_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a reader whose consumer is the test's."""

    def make(consumer: Consumer) -> KafkaReader:
        monkeypatch.setattr(kafka, "Consumer", lambda _settings: consumer)
        return KafkaReader("127.0.0.1:9", "books", "connect-sluice-books", timeout_s=2)

    return make


def test_offsets_are_summed_over_partitions(reader_of: Any) -> None:
    """Lag is the topic's, not one partition's."""
    sample = reader_of(Consumer({0: 101, 1: 103}, {0: 97, 1: 101})).read()
    assert sample == KafkaSample(
        end_offset=204, committed_offset=198, partitions={"books-0": (101, 97), "books-1": (103, 101)}
    )
    assert sample.lag_records == 6


def test_a_partition_without_a_commit_counts_as_nothing_committed(reader_of: Any) -> None:
    """Kafka says -1001 for it, which must not be added."""
    reader = reader_of(Consumer({0: 101, 1: 103}, {0: -1001, 1: 7}))
    assert reader.read().committed_offset == 7
    assert reader.committed_offsets() == {("books", 0): 0, ("books", 1): 7}


def test_the_committed_offset_is_read_before_the_end(reader_of: Any) -> None:
    """The other way round, a fast sink would seem to be ahead of the topic."""
    consumer = Consumer({0: 1}, {0: 0})
    reader_of(consumer).read()
    assert consumer.order == ["committed", "end"]


def test_a_record_without_partitions_is_one_of_an_older_version() -> None:
    """It can still be read; the sums are the same."""
    sample = KafkaSample.model_validate_json('{"end_offset": 204, "committed_offset": 198}')
    assert (sample.lag_records, sample.partitions) == (6, {})


def test_partitions_are_asked_once_and_again_after_a_failure(reader_of: Any) -> None:
    """A topic made anew may have another number of partitions; one that stands does not change."""
    consumer = Consumer({0: 101}, {0: 97})
    reader = reader_of(consumer)
    reader.read()
    reader.read()
    assert consumer.lists_asked == 1
    consumer.down = True
    with pytest.raises(KafkaException):
        reader.read()
    consumer.down = False
    consumer.end, consumer.committed_offsets = {0: 101, 1: 103}, {0: 97, 1: 101}
    assert reader.read().partitions == {"books-0": (101, 97), "books-1": (103, 101)}


def test_partitions_that_are_added_are_found_though_nothing_fails(reader_of: Any) -> None:
    """Their records wait like any others: a lag without them would be too small for as long as the topic is watched."""
    consumer = Consumer({0: 101}, {0: 97})
    reader = reader_of(consumer)
    reader.read()
    consumer.end, consumer.committed_offsets = {0: 101, 1: 103}, {0: 97, 1: 0}
    lags = [reader.read().lag_records for _ in range(kafka.LIST_EVERY)]
    assert lags == [*[4] * (kafka.LIST_EVERY - 1), 107]


def test_a_partition_that_is_not_answered_for_is_a_lost_reading(reader_of: Any) -> None:
    """Not an offset of zero."""
    consumer = Consumer({0: 101}, {0: 97})
    refusal = SimpleNamespace(partition=0, offset=-1001, error=KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    consumer.committed = lambda _asked, **_: [refusal]  # type: ignore[assignment,method-assign,list-item]
    with pytest.raises(KafkaException):
        reader_of(consumer).read()
