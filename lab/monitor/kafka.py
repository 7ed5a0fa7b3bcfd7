"""Reads how far a topic has been written, and how far a consumer group has read it."""

from collections.abc import Callable, Mapping

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, TopicPartition

from lab.records.samples import KafkaSample

LATEST = -1
"""The timestamp by which Kafka's protocol asks for the end of a partition."""
LIST_EVERY = 30
"""Readings: partitions may be added to a topic, and their records would be in no lag."""


class KafkaReader:
    """Reads the offsets of one topic, or of several; two requests per reading, and now and then a third.

    It asks as a consumer that never joins its group and reads no record: the group's members do not notice. The admin
    client would be the natural one to ask, but librdkafka ends the whole program (as of 2.16, a segmentation fault)
    when an admin's question for a group's offsets meets a broker that does not coordinate the group yet or any more,
    which is what a broker that was just started again answers.

    Args:
        topic: One, or several separated by commas.
        group: Whose committed offsets count.
        client: Further settings of Kafka's client, such as those for TLS.
    """

    def __init__(
        self, bootstrap: str, topic: str, group: str, *, timeout_s: float, client: Mapping[str, str] | None = None
    ) -> None:
        self._topics = topic.split(",")
        self._timeout_s = timeout_s
        self._partitions: list[tuple[str, int]] = []
        self._readings = 0
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

    def read(self) -> KafkaSample:
        """The offsets at this instant, of each partition and summed over all of them.

        The committed offsets are read first, so that the lag is never negative.

        Raises:
            KafkaException: As for each of them.
        """
        if self._readings % LIST_EVERY == 0:
            self._partitions = []
        self._readings += 1
        committed = self.committed_offsets()
        ends = self.end_offsets()
        return KafkaSample(
            end_offset=sum(ends.values()),
            committed_offset=sum(committed.values()),
            partitions={f"{place[0]}-{place[1]}": (end, committed.get(place, 0)) for place, end in ends.items()},
        )

    def committed_offsets(self) -> dict[tuple[str, int], int]:
        """For each topic and partition the next offset that the group wants; 0 before its first commit.

        Raises:
            KafkaException: The topic does not exist, or no broker answers.
        """
        return self._offsets(self._consumer.committed)

    def end_offsets(self) -> dict[tuple[str, int], int]:
        """For each topic and partition the offset that the next record will get; one request for all of them.

        Raises:
            KafkaException: The topic does not exist, or no broker answers.
        """
        return self._offsets(self._consumer.offsets_for_times, LATEST)

    def _offsets(
        self, ask: Callable[..., list[TopicPartition]], offset: int = OFFSET_INVALID
    ) -> dict[tuple[str, int], int]:
        # Asked for again after a failure: the topic may have been made anew, with another number of partitions.
        partitions, self._partitions = self._partitions or self._all_partitions(), []
        answers = ask([TopicPartition(*place, offset) for place in partitions], timeout=self._timeout_s)
        for answer in answers:
            if answer.error is not None:
                raise KafkaException(answer.error)
        self._partitions = partitions
        return {(answer.topic, answer.partition): max(0, answer.offset) for answer in answers}

    def _all_partitions(self) -> list[tuple[str, int]]:
        places = []
        for name in self._topics:
            topic = self._consumer.list_topics(name, timeout=self._timeout_s).topics[name]
            if topic.error is not None:
                raise KafkaException(topic.error)
            places += [(name, partition) for partition in sorted(topic.partitions)]
        return places

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()
