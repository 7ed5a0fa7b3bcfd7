"""Reads how far a topic has been written, and how far the sink has read it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition

from lab.records import KafkaSample

LATEST = -1
"""The timestamp by which Kafka's protocol asks for the end of a partition."""


class OffsetsClient(Protocol):
    """What is asked of Kafka; a test stands in for it here."""

    def partitions(self) -> Sequence[int]:
        """The partitions of the topic; asked once, and again after a failure."""
        ...

    def end_offsets(self, partitions: Sequence[int]) -> list[int]:
        """The offset after the last record, one for each partition."""
        ...

    def committed_offsets(self, partitions: Sequence[int]) -> list[int]:
        """The next offset the group wants, one for each partition; negative where it has not committed."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class KafkaReader:
    """Sums the offsets of one topic; two requests per reading."""

    def __init__(self, client: OffsetsClient) -> None:
        self._client = client
        self._partitions: Sequence[int] = ()

    def read(self) -> KafkaSample:
        """The offsets at this instant.

        The committed offset is read first, so that the lag is never negative.
        """
        try:
            if not self._partitions:
                self._partitions = self._client.partitions()
            committed = self._client.committed_offsets(self._partitions)
            end = self._client.end_offsets(self._partitions)
        except Exception:
            self._partitions = ()  # the topic may have been made anew, with another number of partitions
            raise
        return KafkaSample(end_offset=sum(end), committed_offset=sum(max(0, offset) for offset in committed))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class ConsumerOffsetsClient:
    """Asks as a consumer that never joins its group and reads no record: the group's members do not notice.

    The admin client would be the natural one to ask, but librdkafka ends the whole program (as of 2.16, a segmentation
    fault) when an admin's question for a group's offsets meets a broker that does not coordinate the group yet or any
    more, which is what a broker that was just started again answers.
    """

    def __init__(
        self, bootstrap: str, topic: str, group: str, *, timeout_s: float, client: Mapping[str, str] | None = None
    ) -> None:
        self._topic = topic
        self._timeout_s = timeout_s
        self._consumer = Consumer(
            {
                **(client or {}),
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": "sluice-monitor",
                "enable.auto.commit": False,
                # Asking for a topic must not make it.
                "allow.auto.create.topics": False,
                "isolation.level": "read_uncommitted",
                # A restarted broker is found again within one reading or two.
                "reconnect.backoff.max.ms": 1000,
                # Brokers that go away are part of the run; the sampler says so itself.
                "log_level": 0,
            },
        )

    def partitions(self) -> Sequence[int]:
        """The partitions of the topic.

        Raises:
            KafkaException: The topic does not exist, or no broker answers.
        """
        topic = self._consumer.list_topics(self._topic, timeout=self._timeout_s).topics[self._topic]
        if topic.error is not None:
            raise KafkaException(topic.error)
        return sorted(topic.partitions)

    def end_offsets(self, partitions: Sequence[int]) -> list[int]:
        """The offset after the last record, one for each partition; one request for all of them."""
        asked = [TopicPartition(self._topic, partition, LATEST) for partition in partitions]
        return _offsets(self._consumer.offsets_for_times(asked, timeout=self._timeout_s))

    def committed_offsets(self, partitions: Sequence[int]) -> list[int]:
        """The next offset the group wants, one for each partition; negative where it has not committed."""
        asked = [TopicPartition(self._topic, partition) for partition in partitions]
        return _offsets(self._consumer.committed(asked, timeout=self._timeout_s))

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()


def _offsets(answered: Sequence[TopicPartition]) -> list[int]:
    for partition in answered:
        if partition.error is not None:
            raise KafkaException(partition.error)
    return [partition.offset for partition in answered]
