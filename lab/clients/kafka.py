"""Client of Kafka, as far as a run needs one: topics, end offsets, and the records that were refused."""

import contextlib
import re
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.errors import ProfileError, StackError

BROKERS_DEFAULT = -1
"""Copies of a topic: as many as the brokers give by default."""
POLL_S = 1.0
GIVE_UP_S = 120.0
SURROGATE, REPLACEMENT = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?"), "\ufffd".encode()
"""Half a surrogate pair in UTF-8, which Java replaces by one character and Python by one for each byte."""
MOST_COMPLAINTS = 10
"""Complaints of the client that are kept: it repeats them for as long as a broker is away."""
REFUSALS = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
"""Not that of a group: a reader is assigned its partitions, and only asks which broker has the group of its name
(`rd_kafka_cgrp_handle_FindCoordinator` of librdkafka tells the answer to whoever polls)."""


LATEST_MS = 253_402_300_799_999
"""The last instant of the year 9999. Kafka takes any number: one of microseconds is tens of thousands of years off."""
GAP = 5_000
"""Records that are read and dropped between two that are wanted, since to go to a place costs about as much."""
WORKERS_HEADERS = "__connect.errors."
"""Begins the headers of a dead letter that tell of its refusal: `populateContextHeaders` of `DeadLetterQueueReporter`
in Kafka Connect."""
REASON, NO_REASON = f"{WORKERS_HEADERS}exception.message", "no reason given"
PLACE = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)@(?P<offset>\d+)")
Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """Place of a record in Kafka."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"

    @classmethod
    def of(cls, message: Message) -> "Place":
        """The place of a record."""
        return cls(message.topic() or "", message.partition() or 0, message.offset() or 0)

    @classmethod
    def parsed(cls, text: str) -> "Place | None":
        """The place that is written so; `None` if it is none."""
        match = PLACE.fullmatch(text)
        return cls(match["topic"], int(match["partition"]), int(match["offset"])) if match else None

    @classmethod
    def rejected(cls, headers: Mapping[str, str]) -> "Place | None":
        """The place of the record that a dead letter with these headers was; `None` if they do not name it."""
        topic, *numbers = (headers.get(WORKERS_HEADERS + name, "") for name in ("topic", "partition", "offset"))
        is_named = topic and all(number.isdecimal() for number in numbers)
        return cls(topic, *map(int, numbers)) if is_named else None


@dataclass(frozen=True)
class DeadLetter:
    """A record that was refused.

    Attributes:
        place: Where it came from.
        reason: Why, as the sink gives it.
    """

    key: bytes
    place: Place
    reason: str


class KafkaTopics:
    """The topics of a Kafka cluster.

    Args:
        bootstrap: `host:port` of at least one broker.
        client: Further settings of Kafka's client, such as those for TLS.
    """

    def __init__(self, bootstrap: str, client: Mapping[str, str] | None = None) -> None:
        self._bootstrap = bootstrap
        self._client: dict[str, str | int | float | bool] = {
            **(client or {}),
            "bootstrap.servers": bootstrap,
            "log_level": 0,
        }
        self._complaints: deque[str] = deque(maxlen=MOST_COMPLAINTS)
        with_callback: dict[str, Any] = {**self._client, "error_cb": self._on_error}
        try:
            self._admin = AdminClient(with_callback)
        except KafkaException as error:
            raise ProfileError(f"Kafka's client rejects its settings: {error.args[0].str()}") from error

    def _on_error(self, error: KafkaError) -> None:
        self._complaints.append(error.str())

    def names(self, within_s: float = GIVE_UP_S) -> set[str]:
        """Every topic there is.

        Args:
            within_s: How long to wait for a broker, which a run may have to restart.
        """
        try:
            return set(self._admin.list_topics(timeout=within_s).topics)
        except KafkaException as error:
            # The request itself only knows that time was over; what the brokers said, the client tells by callbacks.
            self._admin.poll(0)
            complaints = "; ".join(dict.fromkeys(self._complaints)) or error.args[0].str()
            raise StackError(f"{self._bootstrap}: Kafka does not answer ({complaints})") from error

    def require(self, topic: str, within_s: float = GIVE_UP_S) -> None:
        """Raise ProfileError for a topic that does not exist, and StackError for one that is hidden from this user.

        A list of all topics leaves both out.
        """
        if topic not in self.names(within_s):
            self.bounds(topic)
            raise ProfileError(f"topic {topic}: does not exist, expected a topic of this cluster")

    def create(self, topic: str, *, partitions: int, replication_factor: int, config: Mapping[str, object]) -> None:
        """Create a topic.

        Args:
            replication_factor: Copies of each partition, or `BROKERS_DEFAULT`.

        Raises:
            ProfileError: Kafka refuses its settings.
        """
        settings = {name: kafka_text(value) for name, value in config.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor, config=settings)
        try:
            self._admin.create_topics([new], operation_timeout=30)[topic].result()
        except KafkaException as error:
            raise ProfileError(f"topic: Kafka did not create {topic}: {error.args[0].str()}") from error

    def delete(self, topics: Sequence[str]) -> None:
        """Delete topics, which need not exist."""
        if topics:
            for deletion in self._admin.delete_topics(list(topics), operation_timeout=30).values():
                try:
                    deletion.result()
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise StackError(f"Kafka: a topic cannot be deleted: {error.args[0].str()}") from error

    def end_offsets(self, topic: str) -> dict[int, int]:
        """For each partition the offset that the next record will get."""
        with self._consumer() as consumer:
            return {partition: end for partition, (_, end) in self._watermarks(consumer, topic).items()}

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """For each partition its first offset, and the one that the next record will get."""
        with self._consumer() as consumer:
            return self._watermarks(consumer, topic)

    def offsets_at(self, topic: str, time_ms: int) -> dict[int, int]:
        """For each partition the first offset whose record is not older than this instant; the end where none is."""
        with self._consumer() as consumer:
            ends = {partition: end for partition, (_, end) in self._watermarks(consumer, topic).items()}
            asked = [TopicPartition(topic, partition, time_ms) for partition in ends]
            try:
                found = consumer.offsets_for_times(asked, timeout=30)
                refused = next((place.error for place in found if place.error), None)
            except KafkaException as error:
                refused = error.args[0]
            if refused:
                # Of a partition whose leader moves, as of one without such a record, the offset is none.
                raise StackError(f"topic {topic}: its times cannot be read ({refused.str()})")
        return {place.partition: place.offset if place.offset >= 0 else ends[place.partition] for place in found}

    def topic_id(self, topic: str) -> str:
        """The id that a topic got when it was created; brokers before 2.8 give the same to all.

        Raises:
            StackError: The topic is gone, or no broker tells.
        """
        try:
            described = self._admin.describe_topics(TopicCollection([topic]), request_timeout=30)[topic].result()
        except KafkaException as error:
            raise StackError(f"topic {topic}: cannot be described ({error.args[0].str()})") from error
        return str(described.topic_id)

    def groups_reading(self, topic: str) -> list[str]:
        """Consumer groups that have committed an offset of the topic, as far as this user may see them."""
        try:
            listed = self._admin.list_consumer_groups(request_timeout=30).result()
        except KafkaException as error:
            raise StackError(f"Kafka: its groups cannot be listed ({error.args[0].str()})") from error
        groups = []
        for group in sorted(each.group_id for each in listed.valid):
            asked = [ConsumerGroupTopicPartitions(group)]
            with contextlib.suppress(KafkaException):
                answer = self._admin.list_consumer_group_offsets(asked, request_timeout=30)[group].result()
                if any(place.topic == topic and place.offset >= 0 for place in answer.topic_partitions or ()):
                    groups.append(group)
        if listed.errors and not groups:
            why = listed.errors[0].args[0].str()
            raise StackError(
                f"Kafka: a broker does not list its groups ({why}); name one with --group, or --group none"
            )
        return groups

    def records_held(self, topic: str) -> int:
        """Number of records that the topic holds, without the ones that retention has removed."""
        with self._consumer() as consumer:
            return sum(end - begin for begin, end in self._watermarks(consumer, topic).values())

    def committed_offsets(self, topic: str, group: str) -> dict[int, int]:
        """For each partition the next offset that the consumer group wants; 0 before its first commit."""
        with self._consumer(group) as consumer:
            partitions = [TopicPartition(topic, partition) for partition in self._watermarks(consumer, topic)]
            try:
                offsets = consumer.committed(partitions, timeout=30)
                refused = next((place.error for place in offsets if place.error), None)
            except KafkaException as error:
                refused = error.args[0]
            if refused:
                # The request itself only knows that time was over where this user may not describe the group.
                told = consumer.poll(0)
                why = (told.error() if told else None) or refused
                raise StackError(f"group {group}: its offsets cannot be read ({why.str()})")
        return {place.partition: max(0, place.offset) for place in offsets}

    def group_state(self, group: str) -> tuple[str, int]:
        """State of a consumer group in Kafka's words, such as `STABLE`, and how many members it has.

        Raises:
            StackError: No broker tells.
        """
        try:
            described = self._admin.describe_consumer_groups([group], request_timeout=GIVE_UP_S / 10)[group].result()
        except KafkaException as error:
            raise StackError(f"group {group}: cannot be described ({error.args[0].str()})") from error
        return described.state.name, len(described.members)

    def wait_until_left(self, group: str, within_s: float) -> None:
        """Return once a consumer group has no members, or after so long; a group that is not known has none."""
        deadline_s = time.monotonic() + within_s
        while time.monotonic() < deadline_s:
            try:
                described = self._admin.describe_consumer_groups([group], request_timeout=within_s)[group].result()
            except KafkaException:
                return
            if not described.members:
                return
            time.sleep(POLL_S / 5)

    def dead_letters(self, topic: str) -> Iterator[DeadLetter]:
        """Every record of a dead-letter topic, with what the Connect worker wrote of it into its headers.

        One without such headers, as of a sink that is told to write none, is known by its own place.
        """
        for message in self.records(topic):
            headers = {name: as_text(value) for name, value in headers_of(message)}
            place = Place.rejected(headers) or Place.of(message)
            yield DeadLetter(as_bytes(message.key()), place, headers.get(REASON, NO_REASON))

    def records_at(self, topic: str, places: Collection[tuple[int, int]]) -> dict[tuple[int, int], tuple[bytes, bytes]]:
        """Key and value of the records at these (partition, offset) places."""
        return {
            place: (as_bytes(message.key()), as_bytes(message.value()))
            for partition, first, last in stretches(places)
            for message in self.records(topic, {partition: first}, {partition: last + 1})
            if (place := (partition, message.offset() or 0)) in places
        }

    def records(
        self, topic: str, first: Mapping[int, int] | None = None, last: Mapping[int, int] | None = None
    ) -> Iterator[Message]:
        """Every record of the topic up to its present end, those of unfinished transactions left out.

        Args:
            first: The offset to begin with, by partition; the beginning where none is given.
            last: The offset to end before, by partition, others being left out; the present end of all without it.
        """
        first = first or {}
        with self._consumer() as consumer:
            bounds = {
                partition: (begin, end if last is None else min(end, last.get(partition, 0)))
                for partition, (begin, end) in self._watermarks(consumer, topic).items()
            }.items()
            left = {partition: end for partition, (begin, end) in bounds if end > max(begin, first.get(partition, 0))}
            if not left:
                return
            consumer.assign([TopicPartition(topic, partition, first.get(partition, 0)) for partition in left])
            while left:
                message = self._next(consumer, topic)
                partition, offset = message.partition(), message.offset()
                if partition is None or partition not in left:
                    continue
                at_end = message.error() is not None
                if not at_end and (offset or 0) < left[partition]:
                    yield message
                # The last offset may be a transaction's mark, which is no record: then only the end is told.
                if at_end or (offset or 0) + 1 >= left[partition]:
                    del left[partition]

    def _watermarks(self, consumer: Consumer, topic: str) -> dict[int, tuple[int, int]]:
        try:
            described = consumer.list_topics(topic, timeout=GIVE_UP_S).topics[topic]
            if described.error is not None and described.error.code() in REFUSALS:
                # It would have no partitions, and no records: dead letters would be missing.
                raise StackError(f"topic {topic}: not authorized to describe it: {described.error.str()}")
            return {
                number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=30)
                for number in described.partitions
            }
        except KafkaException as error:
            raise StackError(f"topic {topic}: its offsets cannot be read ({error.args[0].str()})") from error

    def _next(self, consumer: Consumer, topic: str) -> Message:
        deadline, why = time.monotonic() + GIVE_UP_S, ""
        while time.monotonic() < deadline:
            message = consumer.poll(POLL_S)
            error = None if message is None else message.error()
            if message is not None and (error is None or error.code() == KafkaError._PARTITION_EOF):
                return message
            if error is not None:
                if error.fatal() or error.code() in REFUSALS:
                    raise StackError(f"topic {topic}: not authorized to read it: {error.str()}")
                why = f" ({error.str()})"
        raise StackError(f"topic {topic}: no record for {GIVE_UP_S:.0f} s, although there are more{why}")

    def _consumer(self, group: str = "sluice-lab") -> Consumer:
        return Consumer(
            {
                **self._client,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )


def as_bytes(content: str | bytes | None) -> bytes:
    """A record's key or value as the bytes that it is in Kafka; none for none."""
    return content.encode() if isinstance(content, str) else content or b""


def instant_ms(text: str) -> int:
    """An instant in ISO 8601, in UTC unless it says otherwise, as Kafka has it: in milliseconds since the Unix epoch.

    Earlier ones are 0, since negative numbers stand for offsets. Raises ValueError if it is none.
    """
    at = datetime.fromisoformat(text)
    return max(0, round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000))


def instant_text(at_ms: int) -> str:
    """An instant as ISO 8601, in UTC; the end of the year 9999 for later ones."""
    at = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=min(at_ms, LATEST_MS))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def value_bytes(content: str | bytes | None) -> bytes | None:
    """A record's key, value or header as the bytes that it is in Kafka; `None` for none."""
    return content.encode() if isinstance(content, str) else content


def headers_of(message: Message) -> Headers:
    """The headers of a record."""
    return tuple((as_text(name), value_bytes(value)) for name, value in list(message.headers() or ()))


def offset_id(topic: str, partition: int, offset: int) -> str:
    """Id that sinks give the document of a record whose key is none: `topic+partition+offset`."""
    return f"{topic}+{partition}+{offset}"


def stretches(places: Collection[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Partition, first and last offset of stretches that have all these places, without large gaps."""
    for partition, of_partition in groupby(sorted(places), key=lambda place: place[0]):
        offsets: Sequence[int] = [offset for _, offset in of_partition]
        first = before = offsets[0]
        for offset in offsets[1:]:
            if offset - before > GAP:
                yield partition, first, before
                first = offset
            before = offset
        yield partition, first, before


def as_text(content: str | bytes | None) -> str:
    """A key or a header's value as text, as Java's `new String(bytes, UTF_8)` and so Connect's converters read it."""
    return SURROGATE.sub(REPLACEMENT, as_bytes(content)).decode(errors="replace")


def kafka_text(value: object) -> str:
    """A setting's value as Kafka writes it: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
