"""How far a stream was sent, kept beside its topic like a consumer's offset."""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

from lab.errors import StackError
from lab.run.names import Names


@dataclass(frozen=True)
class Sent:
    """How far a stream is.

    Attributes:
        documents: Sent since it began, over all laps; those that were sent twice after a kill count once.
        records: In the topic at that moment, as the sum of its end offsets.
    """

    documents: int
    records: int


class Mark:
    """Where a stream's position is kept: an offset of a consumer group that nobody is a member of.

    Args:
        settings: Further settings of Kafka's client, such as those for TLS.
    """

    def __init__(self, bootstrap: str, names: Names, settings: Mapping[str, str] | None = None) -> None:
        self._topic = names.topic
        self._consumer = Consumer(
            {
                **(settings or {}),
                "bootstrap.servers": bootstrap,
                "group.id": f"{names.topic}-sent",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )

    def read(self) -> Sent:
        """The position; the beginning where none is written down.

        Raises:
            StackError: Kafka does not tell.
        """
        try:
            (found,) = self._consumer.committed([TopicPartition(self._topic, 0)], timeout=30)
        except KafkaException as error:
            raise StackError(f"{self._topic}: how far it was sent cannot be read ({error.args[0].str()})") from error
        return Sent(found.offset, int(found.metadata or 0)) if found.offset >= 0 else Sent(0, 0)

    def write(self, sent: Sent) -> None:
        """Write the position down.

        Raises:
            KafkaException: Kafka does not take it.
        """
        place = TopicPartition(self._topic, 0, sent.documents, str(sent.records))
        self._consumer.commit(offsets=[place], asynchronous=False)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()
