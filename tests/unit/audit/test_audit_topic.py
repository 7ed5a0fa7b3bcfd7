"""The range of an audit, and the records that are read of it."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from lab.audit.ids import rule_called
from lab.audit.index import Pace
from lab.audit.topic import Range, Topic
from lab.clients.kafka import KafkaTopics
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage


class Message:
    """A record as Kafka's client has it."""

    def __init__(self, partition: int, offset: int) -> None:
        self.place = partition, offset

    def __getattr__(self, name: str) -> Any:
        answers = {
            "topic": "books",
            "partition": self.place[0],
            "offset": self.place[1],
            "key": b"k%d" % self.place[1],
            "value": b"{}",
            "headers": None,
            "timestamp": (1, 1000),
        }
        return lambda: answers[name]


class Kafka:
    """A topic with these offsets."""

    def __init__(self, held: Mapping[int, tuple[int, int]]) -> None:
        self.held = held

    def names(self, _: float) -> set[str]:
        """Its name."""
        return {"books"}

    def bounds(self, _: str) -> Mapping[int, tuple[int, int]]:
        """First offset and end of each partition."""
        return self.held

    def offsets_at(self, _: str, time_ms: int) -> Mapping[int, int]:
        """Offsets at a time."""
        return {0: time_ms // 1000 % 97, 1: 20}

    def records(self, _: str, first: Mapping[int, int], last: Mapping[int, int]) -> Iterator[Message]:
        """Those between these offsets."""
        for partition, end in last.items():
            for offset in range(max(self.held[partition][0], first[partition]), min(end, self.held[partition][1])):
                yield Message(partition, offset)


HELD = {0: (0, 100), 1: (7, 50)}


def topic_of(held: Mapping[int, tuple[int, int]], name: str = "books") -> Topic:
    """A topic that has these offsets by partition."""
    return Topic(cast("KafkaTopics", Kafka(held)), name, Pace(None))


@pytest.fixture
def topic() -> Topic:
    """One of two partitions, of which retention has removed the head of one."""
    return topic_of(HELD)


def test_a_range_has_all_records_unless_bounds_are_given(topic: Topic) -> None:
    """It is whole only if no record was ever before it, and none is left out."""
    assert topic.range(None, None) == Range({0: 0, 1: 7}, {0: 100, 1: 50}, whole=False)
    assert topic.range("10", "40", [0]) == Range({0: 10}, {0: 40}, whole=False)
    assert topic.range(None, "1970-01-01T00:00:33") == Range({0: 0, 1: 7}, {0: 33, 1: 20}, whole=False)
    assert topic_of({0: (0, 100)}).range(None, None).whole
    assert topic_of({0: (0, 30_000_000)}).range("20261127", None).first == {0: 20261127}


@pytest.mark.parametrize(
    ("begin", "partitions", "facts"),
    [
        ("soon", [], ("--from", "soon")),
        (None, [5], ("--partitions", 5)),
        ("²", [], ("--from", "²")),
        ("99999999999999999999", [], ("--from", "99999999999999999999")),
        ("40", [], ("--to", "40")),
    ],
)
def test_bounds_that_are_none_are_refused(
    topic: Topic, message: MakeMessage, begin: str | None, partitions: list[int], facts: tuple[object, ...]
) -> None:
    """In one sentence."""
    with pytest.raises(ProfileError) as error:
        topic.range(begin, "40", partitions)
    assert str(error.value) == message(*facts)


def test_a_topic_that_does_not_exist_is_refused(message: MakeMessage) -> None:
    """Before anything is read."""
    with pytest.raises(ProfileError) as error:
        topic_of(HELD, "shops")
    assert str(error.value) == message("shops")


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
