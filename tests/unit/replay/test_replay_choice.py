"""Letters that are waiting, sent again or discarded, and the choice among them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from lab.clients.kafka import Place, as_text
from lab.replay.dead_letters import EVERYTHING, REPLAY_OF, Choice, DeadLetterTopic, Letter, each_once
from lab.replay.source_lines import RecordOfFile
from lab.replay.transaction import Outgoing, marks_of

TOPIC = "books"
REASON = "status 400 mapper_parsing_exception: failed to parse field [pages] of type [long] in document with id '7'"


def message(topic: str, offset: int, key: str, value: str, headers: Mapping[str, str]) -> Any:
    """A record as Kafka's client gives it; `key`, `time_ms` and `clock` of a letter are not among its headers."""
    own = {name: text for name, text in headers.items() if name not in {"key", "time_ms", "clock"}}
    key = headers.get("key", key)
    time_of = int(headers.get("clock", TIMESTAMP_CREATE_TIME)), int(headers.get("time_ms", 1009))
    fields = {"topic": topic, "partition": 0, "offset": offset, "key": key.encode(), "value": value.encode()}
    encoded = [(name, text.encode()) for name, text in own.items()]
    return SimpleNamespace(
        **{name: lambda value=value: value for name, value in fields.items()},
        timestamp=lambda: time_of,
        headers=lambda: encoded,
    )


def rejected(offset: int, reason: str = REASON) -> dict[str, str]:
    """What the worker says of a record that was rejected."""
    told = {"topic": TOPIC, "partition": "0", "offset": str(offset), "exception.message": reason}
    return {f"__connect.errors.{name}": text for name, text in told.items()}


@dataclass
class Kafka:
    """Topics in memory; of the queue, the letters before `sent` were sent again."""

    queue: list[dict[str, str]]
    sent: int = 0
    marks: dict[str, str] = field(default_factory=dict)

    def names(self) -> set[str]:
        """The queue, and the topic of the marks once there is one."""
        return {"bad", *(["sluice-bad-marks"] if self.marks else [])}

    def committed_offsets(self, _topic: str, _group: str) -> dict[int, int]:
        """The mark that moves."""
        return {0: self.sent}

    def records(self, topic: str, first: Mapping[int, int] | None = None) -> Iterator[Any]:
        """Letters, or marks."""
        if topic == "bad":
            begin = (first or {}).get(0, 0)
            yield from (message(topic, n, "k", "{}", each) for n, each in enumerate(self.queue) if n >= begin)
        else:
            yield from (message(topic, n, *mark, {}) for n, mark in enumerate(self.marks.items()))


def topic_of(kafka: Kafka) -> DeadLetterTopic:
    """The queue in these topics."""
    return DeadLetterTopic(kafka, "bad")  # type: ignore[arg-type]


def sent_by(kafka: Kafka, choice: Choice = EVERYTHING, *, again: bool = False) -> list[int]:
    """Offsets of the records that a replay would send."""
    return [letter.origin.offset for letter in topic_of(kafka).to_send(choice, again=again)]


def test_the_mark_of_a_letter_counts_more_than_the_offset_of_the_queue() -> None:
    """The first two were sent in one go; of these one was taken back, and of the others one was sent, one discarded."""
    marks = {"books-0@1": "waiting", "books-0@3": "sent", "books-0@5": "discarded"}
    kafka = Kafka([rejected(offset) for offset in (0, 1, 3, 5, 7)], sent=2, marks=marks)
    states = {each.origin.offset: (each.sent_again, each.discarded) for each in topic_of(kafka).letters()}
    assert states == {0: (True, False), 1: (False, False), 3: (True, False), 5: (False, True), 7: (False, False)}
    assert sent_by(kafka) == [1, 7]
    assert sent_by(kafka, again=True) == [0, 1, 3, 7]


def test_a_letter_that_was_written_twice_has_one_mark() -> None:
    """Both are letters of one refusal."""
    kafka = Kafka([rejected(3), rejected(3), rejected(5)])
    letters = list(topic_of(kafka).letters())
    assert marks_of(letters, topic_of(kafka), "discarded") == [
        Outgoing("sluice-bad-marks", 0, b"books-0@3 1009", b"discarded"),
        Outgoing("sluice-bad-marks", 0, b"books-0@5 1009", b"discarded"),
    ]
    assert sent_by(Kafka(kafka.queue, marks={"books-0@3 1009": "discarded"})) == [5]


def test_a_mark_is_of_no_letter_of_a_topic_that_was_made_anew() -> None:
    """Its records are at the same places, where their letters would wait for ever without being seen."""
    anew = {"time_ms": "2003", "key": "other"}
    marks = {"books-0@3 1009": "sent", "books-0@5 1009": "discarded"}
    kafka = Kafka([rejected(3), rejected(5), rejected(3) | anew, rejected(5) | anew], marks=marks)
    letters = list(each_once(topic_of(kafka).letters()))
    assert [(each.timestamp_ms, each.is_waiting) for each in letters] == [
        (1009, False),
        (1009, False),
        (2003, True),
        (2003, True),
    ]
    assert [letter.timestamp_ms for letter in topic_of(kafka).to_send(again=False)] == [2003, 2003]


def test_records_of_a_place_that_has_had_another_topic_are_each_sent() -> None:
    """Only the last letter of one document is: of one key, or of one place where ids are made of that."""
    queue = [rejected(3), rejected(3) | {"time_ms": "2003", "key": "other"}, rejected(3) | {"time_ms": "3001"}]
    letters = list(topic_of(Kafka(queue)).to_send(again=False))
    assert [(each.key, each.timestamp_ms) for each in letters] == [(b"other", 2003), (b"k", 3001)]


def test_where_the_broker_gives_letters_their_time_a_mark_is_of_the_place() -> None:
    """The second letter of one refusal has another time than the first."""
    by_broker = {"clock": str(TIMESTAMP_LOG_APPEND_TIME)}
    topic = topic_of(Kafka([rejected(3) | by_broker, rejected(3) | by_broker | {"time_ms": "2003"}]))
    assert marks_of(topic.letters(), topic, "sent") == [Outgoing("sluice-bad-marks", 0, b"books-0@3", b"sent bad-0@1")]


def test_a_letter_behind_the_one_that_was_sent_waits() -> None:
    """As after offsets were reset to fill another index, which lacks its document. One before it was sent with it."""
    kafka = Kafka([rejected(3)] * 3, marks={"books-0@3 1009": "sent bad-0@1"})
    topic = topic_of(kafka)
    assert [each.is_waiting for each in topic.letters()] == [False, False, True]
    assert [each.at.offset for each in topic.to_send(again=False)] == [2]
    kafka.marks = {as_text(each.key): as_text(each.value) for each in marks_of(topic.letters(), topic, "sent")}
    assert sent_by(kafka) == []


def test_a_letter_that_a_replay_brought_back_is_another_letter_of_one_document() -> None:
    """Listed, both are there; of documents alone, it would be sent twice."""
    back = rejected(3), {**rejected(1013), REPLAY_OF: "books-0@3"}, rejected(5)
    letters = list(topic_of(Kafka(list(back))).letters())
    assert [str(each.refused_at) for each in each_once(letters)] == ["books-0@3", "books-0@1013", "books-0@5"]
    assert [str(each.refused_at) for each in each_once(letters, RecordOfFile.of)] == ["books-0@3", "books-0@5"]


def test_a_letter_that_was_written_after_a_replay_of_its_first_one_is_listed() -> None:
    """The next replay sends it."""
    kafka = Kafka([rejected(3), rejected(5), rejected(3)], sent=2)
    waiting = [each.at.offset for each in each_once(topic_of(kafka).letters()) if each.is_waiting]
    assert (waiting, sent_by(kafka)) == ([2], [3])


def test_the_marks_of_our_own_topics_are_removed_with_them() -> None:
    """Their names begin as those of the run do."""
    topic = DeadLetterTopic(Kafka([]), "sluice-file-20261127-070856-dead-letters")  # type: ignore[arg-type]
    assert topic.marks_topic == "sluice-file-20261127-070856-dead-letters-marks"


@pytest.mark.parametrize(
    ("choice", "offsets"),
    [
        (EVERYTHING, [3, 5, 7]),
        (Choice(statuses=(400,)), [3, 5]),
        (Choice(statuses=(400, 413)), [3, 5, 7]),
        (Choice(reasons=("FIELD [pages]",)), [3]),
        (Choice(reasons=("pages", "too large")), [3, 7]),
        (Choice(reasons=("in document with id '…'",)), [3]),
        (Choice(statuses=(400,), reasons=("too large",)), []),
        (Choice(places=(Place(TOPIC, 0, 5),)), [5]),
        (Choice(topic="other"), []),
        (Choice(topic=TOPIC), [3, 5, 7]),
    ],
)
def test_a_choice_takes_letters_by_status_reason_and_place(choice: Choice, offsets: list[int]) -> None:
    """As `show` prints the reason; one of several values is enough, and every part has to agree."""
    strict = "status 400 strict_dynamic_mapping_exception: mapping set to strict"
    large = "status 413 x: too large"
    kafka = Kafka([rejected(3), rejected(5, strict), rejected(7, large)])
    assert sent_by(kafka, choice) == offsets


def test_what_a_replay_has_sent_back_is_chosen_by_either_place() -> None:
    """By that of the record, and by that of its replay."""
    letter = Letter(Place("bad", 0, 0), Place(TOPIC, 0, 3), Place(TOPIC, 0, 11), None, None, (), 0, REASON)
    assert Choice(places=(Place(TOPIC, 0, 3),)).takes(letter)
    assert Choice(places=(Place(TOPIC, 0, 11),)).takes(letter)
    assert not Choice(places=(Place(TOPIC, 0, 4),)).takes(letter)
