"""The dead letters of a run: what lies in their topic, what of it was sent again, and why it was refused."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Message

from lab.clients.kafka import KafkaTopics, as_text
from lab.errors import ProfileError
from lab.records.verification import DeadLetterGroup
from lab.run.verify.refusal_reasons import Reason, reason_of

GROUP = "sluice-dead-letters"
"""The consumer group whose offset in a dead-letter topic says how far its letters were sent again."""

WORKERS_HEADERS = "__connect.errors."
REASON = f"{WORKERS_HEADERS}exception.message"
NO_REASON = "no reason given"
ORIGIN: tuple[tuple[str, Callable[[str], Any]], ...] = (("topic", str), ("partition", int), ("offset", int))
REPLAY_OF = "sluice.replay-of"
REPLAY_VERSION = "sluice.replay-version"
FIRST_NAMED = 3

Headers = tuple[tuple[str, bytes | None], ...]
PLACE = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)@(?P<offset>\d+)")


@dataclass(frozen=True, order=True)
class Place:
    """Place of a record in Kafka."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"

    @classmethod
    def parsed(cls, text: str) -> "Place | None":
        """The place that is written so; `None` if it is none."""
        match = PLACE.fullmatch(text)
        return cls(match["topic"], int(match["partition"]), int(match["offset"])) if match else None


@dataclass(frozen=True)
class Letter:
    """A dead letter with everything that is needed to send it again.

    Attributes:
        at: Where it lies in the dead-letter topic.
        origin: The record that was refused first; also when its replay was refused, too.
        refused_at: The record that was refused last.
        headers: The record's own; those of the worker, which tell of the refusal, are left out.
        reason: Why it was refused last, in full: it may quote the document.
        sent_again: Whether a replay has taken it already.
    """

    at: Place
    origin: Place
    refused_at: Place
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    reason: str
    sent_again: bool = False

    def without_content(self) -> "Letter":
        """Letter without its document, to hold many in memory."""
        return replace(self, value=None, headers=())


class DeadLetterTopic:
    """One dead-letter topic of a Kafka cluster."""

    def __init__(self, kafka: KafkaTopics, topic: str) -> None:
        self.topic = topic
        self._kafka = kafka

    def exists(self) -> bool:
        """Check that Kafka has the topic."""
        return self.topic in self._kafka.names()

    def end(self) -> dict[int, int]:
        """For each partition the offset that the next letter will get."""
        return self._kafka.end_offsets(self.topic)

    def sent_up_to(self) -> dict[int, int]:
        """For each partition the first offset that no replay has taken."""
        return self._kafka.committed_offsets(self.topic, GROUP)

    def letters(self, first: Mapping[int, int] | None = None, *, content: bool = True) -> Iterator[Letter]:
        """The letters, from these offsets on or all of them; without their content if it is not asked for.

        Raises:
            ProfileError: A letter does not say where its record came from.
        """
        sent = self.sent_up_to()
        for message in self._kafka.records(self.topic, first):
            letter = letter_of(message)
            letter = replace(letter, sent_again=letter.at.offset < sent[letter.at.partition])
            yield letter if content else letter.without_content()

    def to_send(self, *, again: bool) -> Iterator[Letter]:
        """The letters that a replay has to send: of each record the last one, if no replay has taken it.

        Args:
            again: Send those that were taken as well.
        """
        first = None if again else self.sent_up_to()
        last = {letter.origin: letter.at for letter in self.letters(first, content=False)}
        for letter in self.letters(first):
            if last.get(letter.origin) == letter.at:
                yield letter


def each_once(letters: Iterable[Letter]) -> Iterator[Letter]:
    """The first letter of each refusal: a sink that is not sure of the first writes a second one."""
    refused: set[Place] = set()
    for letter in letters:
        if letter.refused_at not in refused:
            refused.add(letter.refused_at)
            yield letter


def letter_of(message: Message) -> Letter:
    """The dead letter in a record of a dead-letter topic."""
    at = Place(message.topic() or "", message.partition() or 0, message.offset() or 0)
    headers = [(as_text(name), value_bytes(value)) for name, value in list(message.headers() or ())]
    texts = {name: as_text(value) for name, value in headers}
    try:
        refused_at = Place(*(kind(texts[WORKERS_HEADERS + name]) for name, kind in ORIGIN))
    except (KeyError, ValueError) as error:
        raise ProfileError(
            f"{at}: dead letter: got no header that says where its record came from, expected those of a connector "
            "with errors.deadletterqueue.context.headers.enable=true; set it and run again"
        ) from error
    _, timestamp_ms = message.timestamp()
    return Letter(
        at=at,
        origin=Place.parsed(texts.get(REPLAY_OF, "")) or refused_at,
        refused_at=refused_at,
        key=value_bytes(message.key()),
        value=value_bytes(message.value()),
        headers=tuple((name, value) for name, value in headers if not name.startswith(WORKERS_HEADERS)),
        timestamp_ms=timestamp_ms,
        reason=texts.get(REASON, NO_REASON),
    )


def value_bytes(content: str | bytes | None) -> bytes | None:
    """A record's key, value or header as the bytes that it is in Kafka; `None` for none."""
    return content.encode() if isinstance(content, str) else content


def groups_of(letters: Iterable[Letter]) -> tuple[DeadLetterGroup, ...]:
    """The letters by status and general reason, most frequent first."""
    grouped: dict[Reason, list[Letter]] = defaultdict(list)
    for letter in letters:
        grouped[reason_of(letter.reason)].append(letter)
    return tuple(
        DeadLetterGroup(
            status=reason.status,
            type=reason.type,
            cause=reason.cause,
            records=len(members),
            first=tuple(str(letter.refused_at) for letter in members[:FIRST_NAMED]),
        )
        for reason, members in sorted(grouped.items(), key=lambda group: -len(group[1]))
    )
