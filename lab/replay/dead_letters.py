"""Dead letters in their topic: why they were rejected, and which of them were sent again or discarded."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message

from lab.clients.kafka import (
    BROKERS_DEFAULT,
    NO_REASON,
    REASON,
    WORKERS_HEADERS,
    Headers,
    KafkaTopics,
    Place,
    as_text,
    headers_of,
    value_bytes,
)
from lab.errors import ProfileError
from lab.records.verification import DeadLetterGroup
from lab.replay.failed_field import FailedField, failed_field
from lab.run.verify.refusal_reasons import Reason, reason_of

OURS = "sluice-"
GROUP = f"{OURS}dead-letters"
"""The consumer group whose offset in a dead-letter topic says how far its letters were sent again."""

REPLAY_OF = "sluice.replay-of"
REPLAY_VERSION = "sluice.replay-version"
FIRST_NAMED = 3

SENT, DISCARDED, WAITING = "sent", "discarded", "waiting"
"""Marks of single letters, each of which counts more than the consumer group's offset."""


@dataclass(frozen=True)
class Letter:
    """A dead letter with everything that is needed to send it again.

    Attributes:
        at: Where it lies in the dead-letter topic.
        origin: The record that was refused first; also when its replay was refused, too.
        refused_at: The record that was refused last.
        headers: The record's own; those of the worker, which tell of the refusal, are left out.
        timestamp_ms: Time of the record that was refused last.
        reason: Why it was refused last, in full: it may quote the document.
        is_timed: False where the broker gives letters a time of their own, which says nothing of the record.
        sent_again: Whether a replay has taken it already.
        discarded: True if it is marked as not to be sent again.
    """

    at: Place
    origin: Place
    refused_at: Place
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    reason: str
    is_timed: bool = True
    sent_again: bool = False
    discarded: bool = False

    @property
    def is_waiting(self) -> bool:
        """Check that it was neither sent again nor discarded."""
        return not self.sent_again and not self.discarded

    @property
    def mark_key(self) -> str:
        """Key of its mark: place and time of the record that was refused last.

        A topic that was deleted and made anew has the same places again. A letter has the time of its record (`report`
        of `DeadLetterQueueReporter` in Kafka Connect).
        """
        return f"{self.refused_at} {self.timestamp_ms}" if self.is_timed else str(self.refused_at)

    @property
    def failed(self) -> FailedField | None:
        """The field that its reason names."""
        return failed_field(self.reason)

    @property
    def failed_value(self) -> bytes | None:
        """The value of that field, as JSON; `None` where it is not known."""
        return self.failed.value_in(self.value) if self.failed else None

    def without_content(self) -> "Letter":
        """Letter without its document, to hold many in memory."""
        return replace(self, value=None, headers=())


REFUSAL: Callable[[Letter], Hashable] = attrgetter("mark_key", "is_waiting")
"""What the letters of one refusal share. One that was written after a replay of the others waits for the next."""


@dataclass(frozen=True)
class Choice:
    """Choice of dead letters, which have to be as each of its parts says; without any part, all letters.

    Attributes:
        statuses: HTTP statuses, one of which the letter has.
        reasons: Texts, one of which stands in the letter's reason as it is shown, in upper or lower case.
        places: Places, one of which is that of the record when it was rejected first or last.
        topic: Topic that the record was in when it was rejected first.
    """

    statuses: Collection[int] = ()
    reasons: Collection[str] = ()
    places: Collection[Place] = ()
    topic: str | None = None

    @property
    def is_everything(self) -> bool:
        """Check that it leaves no letter out."""
        return self == Choice()

    def takes(self, letter: Letter) -> bool:
        """Check that a letter is chosen."""
        general = reason_of(letter.reason)
        words = text_of_reason(general).lower()
        return (
            (not self.statuses or general.status in self.statuses)
            and (not self.reasons or any(reason.lower() in words for reason in self.reasons))
            and (not self.places or letter.refused_at in self.places or letter.origin in self.places)
            and self.topic in {None, letter.origin.topic}
        )


EVERYTHING = Choice()


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

    @property
    def marks_topic(self) -> str:
        """Topic that holds the marks of single letters; it is there once a letter has one."""
        return f"{'' if self.topic.startswith(OURS) else OURS}{self.topic}-marks"

    def marks(self) -> dict[str, str]:
        """Mark of each letter that has one, by its key; one of an older version is by the place alone."""
        if self.marks_topic not in self._kafka.names():
            return {}
        return {as_text(each.key()): as_text(each.value()) for each in self._kafka.records(self.marks_topic)}

    def prepare_marks(self) -> None:
        """Make the topic of the marks, which keeps the last one of each letter."""
        if self.marks_topic not in self._kafka.names():
            copies = {"partitions": 1, "replication_factor": BROKERS_DEFAULT}
            self._kafka.create(self.marks_topic, **copies, config={"cleanup.policy": "compact"})

    def letters(self, first: Mapping[int, int] | None = None, *, content: bool = True) -> Iterator[Letter]:
        """The letters, from these offsets on or all of them; without their content if it is not asked for.

        Raises:
            ProfileError: A letter does not say where its record came from.
        """
        sent, marks = self.sent_up_to(), self.marks()
        for message in self._kafka.records(self.topic, first):
            letter = letter_of(message)
            passed = SENT if letter.at.offset < sent[letter.at.partition] else WAITING
            mark = mark_in(marks.get(letter.mark_key) or marks.get(str(letter.refused_at), passed), letter)
            letter = replace(letter, sent_again=mark == SENT, discarded=mark == DISCARDED)
            yield letter if content else letter.without_content()

    def to_send(self, choice: Choice = EVERYTHING, *, again: bool, content: bool = True) -> Iterator[Letter]:
        """The letters that a replay has to send: of each record the last one, unless it was sent again or discarded.

        Args:
            again: Send those that were sent again as well.
        """
        first = None if again or self.marks() else self.sent_up_to()
        # Of a topic made anew, another record may be at the same place.
        last = {(letter.origin, letter.key): letter.at for letter in self.letters(first, content=False)}
        for letter in self.letters(first, content=content):
            is_due = letter.is_waiting or (again and not letter.discarded)
            if is_due and last.get((letter.origin, letter.key)) == letter.at and choice.takes(letter):
                yield letter


def mark_in(text: str, letter: Letter) -> str:
    """Mark in the value of its record. Behind a letter that was sent, another waits: the record was read again."""
    mark, _, sent = text.partition(" ")
    place = Place.parsed(sent)
    is_behind = place is not None and place.partition == letter.at.partition and place.offset < letter.at.offset
    return WAITING if is_behind else mark


def each_once(letters: Iterable[Letter], of: Callable[[Letter], Hashable] = REFUSAL) -> Iterator[Letter]:
    """The first letter of each refusal: a sink that is not sure of the first writes a second one.

    Args:
        of: `RecordOfFile.of` for the first letter of each document, which each replay may have brought back.
    """
    seen: set[Hashable] = set()
    for letter in letters:
        if of(letter) not in seen:
            seen.add(of(letter))
            yield letter


def letter_of(message: Message) -> Letter:
    """The dead letter in a record of a dead-letter topic."""
    at, headers = Place.of(message), headers_of(message)
    texts = {name: as_text(value) for name, value in headers}
    refused_at = Place.rejected(texts)
    if refused_at is None:
        raise ProfileError(
            f"{at}: dead letter: got no header that says where its record came from, expected those of a connector "
            "with errors.deadletterqueue.context.headers.enable=true; set it and run again"
        )
    clock, timestamp_ms = message.timestamp()
    return Letter(
        at=at,
        origin=Place.parsed(texts.get(REPLAY_OF, "")) or refused_at,
        refused_at=refused_at,
        key=value_bytes(message.key()),
        value=value_bytes(message.value()),
        headers=tuple((name, value) for name, value in headers if not name.startswith(WORKERS_HEADERS)),
        timestamp_ms=timestamp_ms,
        reason=texts.get(REASON, NO_REASON),
        is_timed=clock != TIMESTAMP_LOG_APPEND_TIME,
    )


def text_of_reason(reason: Reason) -> str:
    """Type and cause of a reason, as they are shown."""
    return ": ".join(filter(None, (reason.type, reason.cause)))


def kind_of(letter: Letter) -> tuple[Reason, str | None]:
    """General reason of a letter, and the field that it names: what the letters of a group share."""
    failed = letter.failed
    return reason_of(letter.reason), failed.path if failed else None


def groups_of(
    letters: Iterable[Letter], lines: Mapping[Place, str] | None = None, *, values: bool = False
) -> tuple[DeadLetterGroup, ...]:
    """The letters by status, general reason and field, most frequent first.

    Args:
        lines: `file:line` of a record by its place; without any, groups name none.
        values: Tell the value that failed of the first document of each group.
    """
    grouped: dict[tuple[Reason, str | None], list[Letter]] = defaultdict(list)
    for letter in letters:
        grouped[kind_of(letter)].append(letter)
    return tuple(
        DeadLetterGroup(
            status=reason.status,
            type=reason.type,
            cause=reason.cause,
            field=field,
            value=as_text(members[0].failed_value) or None if values else None,
            records=len(members),
            first=tuple(str(letter.origin) for letter in members[:FIRST_NAMED]),
            lines=tuple(lines.get(letter.origin) for letter in members[:FIRST_NAMED]) if lines else (),
        )
        for (reason, field), members in sorted(grouped.items(), key=lambda group: -len(group[1]))
    )
