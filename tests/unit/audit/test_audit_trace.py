"""Sentences that explain where a document is, each by the facts that call for it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lab.audit.ids import Record, rule_called
from lab.audit.judge import Row, Stored
from lab.audit.pipeline import Pipeline
from lab.audit.topic import Range
from lab.audit.trace import Scene, Step, Story, murmur2, partition_of, place_in
from lab.clients.kafka import Place
from lab.replay.dead_letters import Letter
from tests.unit.messages import MakeMessage


def step(offset: int, **row: object) -> Step:
    """A record of the key, committed unless the row says otherwise."""
    place = Place("books", 1, offset)
    record = Record(place, b"k", b"{}", (), offset)
    return Step(record, replace(Row(1, offset, offset, offset), **row), "k", committed=100)  # type: ignore[arg-type]


def story(steps: Sequence[Step], *versions: int, failures: Sequence[str] = ()) -> Story:
    """The story of a key whose documents have these versions, each in an index of its own."""
    stored = [Stored(f"books-{number}", version) for number, version in enumerate(versions, 1)]
    return Story("k", "books", steps, stored, failures, [1], "connect-books", "books-dlq")


LETTER = Letter(Place("books-dlq", 0, 3), Place("books", 1, 13), Place("books", 1, 13), b"k", b"", (), 0, "status 400")
OLD, NEW, TOMBSTONE = step(11), step(13), step(17, is_tombstone=True)
REJECTED = replace(step(13, reason="status 400"), letter=LETTER)
STORIES = {
    "stored": (story([OLD, NEW], 13), ("books-1@13", "version 13")),
    "stale": (story([OLD, NEW, step(14)], 11), ("stale by 2 records", "1@11")),
    "missing": (story([OLD, NEW]), ("missing", "books-1@13", "books-dlq", "connect-books")),
    "rejected": (story([OLD, REJECTED], 11), ("rejected", "status 400", "books-dlq-0@3", "version 11")),
    "in flight": (story([OLD, step(120, is_open=True)], 11), ("not yet read", "connect-books", "100", "120")),
    "deleted": (story([NEW, TOMBSTONE]), ("deleted", "books-1@17")),
    "resurrected": (story([NEW, TOMBSTONE], 13), ("although", "books-1@17")),
    "doubled": (story([OLD, NEW], 13, 11), ("stored 2 times", "books-1", "books-2")),
    "changed": (story([OLD, NEW], 40), ("otherwise",)),
    "failure store": (story([NEW], failures=["parse: pages"]), ("failure store", "parse: pages")),
    "failure store hidden": (replace(story([NEW]), unread="status 403"), ("missing", "failure store", "status 403")),
    "of another source": (story([], 3), ("no record", "books-1", "retention")),
    "nowhere": (story([]), ("no record", "no document")),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_with_the_sentence_that_explains_it(name: str, message: MakeMessage) -> None:
    """And names the records and indices that it is about."""
    told, facts = STORIES[name]
    assert told.explained() == message(*facts)


@pytest.mark.parametrize(
    ("key", "expected"), [("21", -973932308), ("foobar", -790332482), ("a-little-bit-long-string", -985981536)]
)
def test_the_hash_of_a_key_is_that_of_kafkas_partitioner(key: str, expected: int) -> None:
    """The values are those of Kafka's own `UtilsTest.testMurmur2`."""
    assert murmur2(key.encode()) == expected & 0xFFFFFFFF
    assert partition_of(key, 7) == (expected & 0x7FFFFFFF) % 7


def test_an_id_of_topic_partition_and_offset_names_a_place() -> None:
    """Any other text names none."""
    assert place_in("books+1+17") == Place("books", 1, 17)
    assert [place_in(text) for text in ("books", "a+b+c", "1+2")] == [None, None, None]


@pytest.mark.parametrize(("written_ms", "is_rejected"), [(12, False), (13, True)])
def test_a_record_has_no_letter_from_before_it(written_ms: int, *, is_rejected: bool) -> None:
    """That is of a topic of the same name that was deleted."""
    nobody: Any = None
    scene = Scene(nobody, nobody, Range({1: 0}, {1: 100}), rule_called("key"), Pipeline("readers"), {1: 100})
    letters = {(1, 13): replace(LETTER, timestamp_ms=written_ms)}
    told = scene._step(NEW.record, None, letters)
    assert (told.letter is not None, told.row.reason) == (is_rejected, "status 400" if is_rejected else None)
