"""Records into a topic and the mark of what they replay, both or neither: nothing is sent twice, even after a kill."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from lab.clients.kafka import Headers
from lab.errors import StackError
from lab.replay.dead_letters import GROUP, SENT, DeadLetterTopic, Letter

ANSWER_WITHIN_S = 60.0


@dataclass(frozen=True)
class Outgoing:
    """A record to be written."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 0


def marks_of(letters: Iterable[Letter], topic: DeadLetterTopic, mark: str) -> list[Outgoing]:
    """The records that mark single letters as `discarded` or `waiting`, or as `sent` with the place of the last one."""
    values = {letter.mark_key: f"{mark} {letter.at}" if mark == SENT else mark for letter in letters}
    return [Outgoing(topic.marks_topic, 0, key.encode(), value.encode()) for key, value in values.items()]


class MarkedWriter:
    """Writes records and moves the mark of a dead-letter topic in one transaction.

    Args:
        settings: Further settings of Kafka's client, such as those for TLS.
    """

    def __init__(self, bootstrap: str, dead_letter_topic: str, settings: Mapping[str, str] | None = None) -> None:
        self._topic = dead_letter_topic
        client: dict[str, str | int | float | bool] = {
            **(settings or {}),
            "bootstrap.servers": bootstrap,
            "log_level": 0,
        }
        self._consumer = Consumer({**client, "group.id": GROUP, "enable.auto.commit": False})
        # Another replay of the same letters, which was thought to be dead, is shut out by the shared id.
        self._producer = Producer(
            {**client, "transactional.id": f"sluice-replay-{dead_letter_topic}", "message.max.bytes": 100_000_000}
        )

    def __enter__(self) -> Self:
        try:
            self._producer.init_transactions(ANSWER_WITHIN_S)
        except KafkaException as error:
            raise StackError(f"Kafka: no transaction can be begun ({error.args[0].str()})") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def write(
        self, records: Sequence[Outgoing], mark: Mapping[int, int], marks: Sequence[Outgoing] = ()
    ) -> dict[int, int]:
        """Write the records, and mark the dead letters before these offsets as sent again; `marks` mark single ones.

        Returns:
            For each partition written to the offset after the last record.

        Raises:
            StackError: Kafka did not take them; then none of them and no mark is there.
        """
        ends: dict[int, int] = {}

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            # One that failed makes the whole transaction fail.
            if error is None:
                partition = message.partition() or 0
                ends[partition] = max(ends.get(partition, 0), (message.offset() or 0) + 1)

        try:
            self._producer.begin_transaction()
            for record in records:
                self._send(record, on_delivery)
            for record in marks:
                self._send(record, None)
            self._producer.flush(ANSWER_WITHIN_S)
            offsets = [TopicPartition(self._topic, partition, offset) for partition, offset in mark.items()]
            if offsets:
                group = self._consumer.consumer_group_metadata()
                self._producer.send_offsets_to_transaction(offsets, group, ANSWER_WITHIN_S)
            self._producer.commit_transaction(ANSWER_WITHIN_S)
        except KafkaException as error:
            # Brokers that are away take no word of it either: they end it by themselves.
            with contextlib.suppress(KafkaException):
                self._producer.abort_transaction(ANSWER_WITHIN_S)
            raise StackError(f"Kafka: the dead letters cannot be sent ({error.args[0].str()})") from error
        return ends

    def _send(self, record: Outgoing, on_delivery: Callable[[KafkaError | None, Message], None] | None) -> None:
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers),
                    timestamp=max(0, record.timestamp_ms),
                    partition=record.partition,
                    on_delivery=on_delivery,
                )
            except BufferError:
                # The client's queue is full: wait until some of it has gone.
                self._producer.poll(1.0)
            else:
                self._producer.poll(0)
                return
