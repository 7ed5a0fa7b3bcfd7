"""The range of an audit, and the records that are read of it."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME

from lab.audit.ids import rule_called
from lab.audit.index import Pace
from lab.audit.topic import LATEST_MS, Range, Topic
from lab.clients.kafka import WORKERS_HEADERS, KafkaTopics
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage


class Message:
    """A record as Kafka's client has it."""

    def __init__(self, partition: int, offset: int) -> None:
        self.place = partition, offset
        self.answers: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        answers = {
            "topic": "books",
            "partition": self.place[0],
            "offset": self.place[1],
            "key": b"k%d" % self.place[1],
            "value": b"{}",
            "headers": None,
            "timestamp": (1, 1000 * self.place[1]),
            **self.answers,
        }
        return lambda: answers[name]


class Kafka:
    """A topic with these offsets, at each a record of so many seconds."""

    def __init__(self, held: Mapping[int, tuple[int, int]]) -> None:
        self.held = held

    def require(self, *_: object) -> None:
        """It exists."""

    def bounds(self, _: str) -> Mapping[int, tuple[int, int]]:
        """First offset and end of each partition."""
        return self.held

    def offsets_at(self, _: str, time_ms: int) -> Mapping[int, int]:
        """The first offset of a time, in each partition."""
        return {each: min(end, max(low, -(-time_ms // 1000))) for each, (low, end) in self.held.items()}

    def records(self, _: str, first: Mapping[int, int], last: Mapping[int, int]) -> Iterator[Message]:
        """Those between these offsets."""
        for partition, end in last.items():
            for offset in range(max(self.held[partition][0], first[partition]), min(end, self.held[partition][1])):
                yield Message(partition, offset)


HELD = {0: (0, 100), 1: (7, 50)}


def topic_of(held: Mapping[int, tuple[int, int]]) -> Topic:
    """A topic that has these offsets by partition, in the fourth minute."""
    return Topic(cast("KafkaTopics", Kafka(held)), "books", Pace(None), now_s=lambda: 200.0)


@pytest.fixture
def topic() -> Topic:
    """One of two partitions, of which retention has removed the head of one."""
    return topic_of(HELD)


def test_a_range_has_all_records_unless_bounds_are_given(topic: Topic) -> None:
    """It is whole only if no record was ever before it, and none is left out."""
    assert topic.range(None, None) == Range({0: 0, 1: 7}, {0: 100, 1: 50}, whole=False)
    assert topic.range("10", "40", [0]) == Range({0: 10}, {0: 40}, whole=False)
    assert topic.range(None, "1970-01-01T00:00:33") == Range({0: 0, 1: 7}, {0: 33, 1: 33}, whole=False)
    assert topic_of({0: (0, 100)}).range(None, None).whole
    assert topic.range(None, "2100-01-01T00:00").last == {0: 100, 1: 50}
    assert topic_of({0: (0, 30_000_000)}).range("20261127", None).first == {0: 20261127}


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("1970-01-01T00:02:30", "1970-01-01T00:03"),
        ("1970-01-01T00:02:30", "100"),
        ("100", None),
        ("60", "1970-01-01T00:01"),
    ],
)
def test_a_range_may_have_no_record(topic: Topic, begin: str, end: str | None) -> None:
    """Nothing has come since its begin, as a monitor of a quiet topic sees it."""
    assert topic.range(begin, end).offsets == 0


@pytest.mark.parametrize(
    ("begin", "end", "facts"),
    [
        ("soon", None, ("--from", "soon")),
        ("", None, ("--from", "2026-11-27T06:30")),
        (None, "²", ("--to", "²")),
        ("99999999999999999999", None, ("--from", "99999999999999999999")),
        ("101", None, ("--from", "101", "100")),
        ("1970-01-01T00:04", None, ("--from", "1970-01-01T00:04", "UTC")),
        (None, "0", ("--to", "0")),
        (None, "1969-12-31T23:59", ("--to", "1969-12-31T23:59", "1970-01-01T00:00:00.000Z")),
        ("40", "40", ("--to", "40", "--from 40")),
        ("1970-01-01T00:01", "1970-01-01T09:00:59+09:00", ("--to", "1970-01-01T09:00:59+09:00", "--from")),
        ("90", "1970-01-01T00:01", ("--to", "1970-01-01T00:01", "--from 90")),
        ("1970-01-01T00:01", "30", ("--to", "30", "--from 1970-01-01T00:01")),
    ],
)
def test_bounds_between_which_no_record_can_be_are_refused(
    topic: Topic, message: MakeMessage, begin: str | None, end: str | None, facts: tuple[object, ...]
) -> None:
    """In one sentence, with what would be right."""
    with pytest.raises(ProfileError) as error:
        topic.range(begin, end)
    assert str(error.value) == message(*facts)


def test_partitions_that_do_not_exist_are_refused(topic: Topic, message: MakeMessage) -> None:
    """With those that do."""
    with pytest.raises(ProfileError) as error:
        topic.range(None, None, [5])
    assert str(error.value) == message("--partitions", 5)


def test_rows_go_on_where_they_were_broken_off_and_beyond_the_range(topic: Topic) -> None:
    """Later records explain documents."""
    (rows,) = topic.rows(Range({0: 10}, {0: 90}), {0: 88}, rule_called("key"), None)
    assert [(row[0], row[2], row[-1]) for row in rows[:3]] == [
        ("k88", 88, False),
        ("k89", 89, False),
        ("k90", 90, True),
    ]
    assert len(rows) == 12


def test_a_sample_has_begin_and_end_of_what_is_committed(topic: Topic) -> None:
    """Records in flight would hide the rule of the ids."""
    offsets = [record.place.offset for record in topic.sample(Range({0: 0}, {0: 100}), {0: 60})]
    assert (min(offsets), max(offsets)) == (0, 59)


def letter_at(offset: int, kind: int, time_ms: int) -> Message:
    """The dead letter of a record of partition 0, with the time that its topic gives it."""
    letter = Message(0, offset)
    place = {"topic": b"books", "partition": b"0", "offset": b"%d" % offset}
    letter.answers = {
        "headers": [(WORKERS_HEADERS + name, value) for name, value in place.items()],
        "timestamp": (kind, time_ms),
    }
    return letter


def test_of_the_letters_of_a_place_the_newest_counts(monkeypatch: pytest.MonkeyPatch, topic: Topic) -> None:
    """Whatever partition of the queue it is read from; one with the broker's time may be of any record."""
    queue = [
        letter_at(3, TIMESTAMP_CREATE_TIME, 3007),
        letter_at(3, TIMESTAMP_CREATE_TIME, 7),
        letter_at(5, TIMESTAMP_LOG_APPEND_TIME, 7),
    ]
    monkeypatch.setattr(Kafka, "records", lambda *_: iter(queue))
    letters, nameless = topic.letters("dlq")
    assert ({place: letter.timestamp_ms for place, letter in letters.items()}, nameless) == (
        {(0, 3): 3007, (0, 5): LATEST_MS},
        0,
    )
