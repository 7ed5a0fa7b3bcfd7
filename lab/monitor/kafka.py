"""Reads how far a topic has been written, and how far the sink has read it."""

from collections.abc import Sequence
from typing import Protocol

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # not in its __all__

from lab.records import KafkaSample


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


class AdminOffsetsClient:
    """Asks through Kafka's admin interface: no consumer, which could disturb the group, and no record is read."""

    def __init__(self, bootstrap: str, topic: str, group: str, *, timeout_s: float) -> None:
        self._topic = topic
        self._group = group
        self._timeout_s = timeout_s
        self._admin = AdminClient(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "sluice-monitor",
                # A restarted broker is found again within one reading or two.
                "reconnect.backoff.max.ms": 1000,
                "socket.keepalive.enable": True,
                # Brokers that go away are part of the run; the sampler says so itself.
                "log_level": 0,
                "log.connection.close": False,
            },
        )

    def partitions(self) -> Sequence[int]:
        """The partitions of the topic.

        Raises:
            KafkaException: The topic does not exist, or no broker answers.
        """
        topic = self._admin.list_topics(self._topic, timeout=self._timeout_s).topics[self._topic]
        if topic.error is not None:
            raise KafkaException(topic.error)
        return sorted(topic.partitions)

    def end_offsets(self, partitions: Sequence[int]) -> list[int]:
        """The offset after the last record, one for each partition."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(self._topic, partition): latest for partition in partitions}
        answers = self._admin.list_offsets(asked, request_timeout=self._timeout_s)
        return [answer.result(self._timeout_s).offset for answer in answers.values()]

    def committed_offsets(self, partitions: Sequence[int]) -> list[int]:
        """The next offset the group wants, one for each partition; negative where it has not committed."""
        asked = [TopicPartition(self._topic, partition) for partition in partitions]
        answers = self._admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(self._group, asked)],
            request_timeout=self._timeout_s,
        )
        found = answers[self._group].result(self._timeout_s).topic_partitions
        for partition in found:
            if partition.error is not None:
                raise KafkaException(partition.error)
        return [partition.offset for partition in found]

    def close(self) -> None:
        """Nothing to do: the client closes its connections when it is no longer referred to."""
