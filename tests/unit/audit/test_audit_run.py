"""An audit of a pipeline that goes on meanwhile: the order in which it reads, so that it raises no false alarm."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from lab.audit.audit import Audit, Plan
from lab.audit.ids import Record, rule_called
from lab.audit.index import Contents, Index, Page
from lab.audit.judge import Fate, Kind
from lab.audit.pipeline import Pipeline
from lab.audit.store import Store
from lab.audit.topic import Range, Topic, row_of
from lab.clients.kafka import KafkaTopics, Place
from lab.errors import ProfileError
from lab.replay.dead_letters import Letter
from lab.run.verify.contents import SourceRules
from tests.unit.messages import MakeMessage

RECORD = Record(Place("books", 0, 0), b"k", b'{"n": 1}', (), 0)
LETTER = Letter(Place("dlq", 0, 0), RECORD.place, RECORD.place, None, None, (), 0, "status 400")


class World:
    """A topic of one record, a group, a queue and an index, each asked as the audit asks Kafka and Elasticsearch."""

    name = "books"

    def __init__(self, documents: Sequence[Mapping[str, Any]] = ()) -> None:
        self.documents = documents
        self.queue: dict[tuple[int, int], Letter] = {}
        self.is_rejected_meanwhile = False
        self.has_lost_its_head = False
        self.is_refreshed = True
        self.records = [RECORD]
        self.backing = {"books": 1.0}
        self.id = ""

    def identity(self) -> str:
        """Another one of a topic that was made again."""
        return self.id

    def rows(self, inside: Range, reached: Mapping[int, int], *rule: Any) -> Iterator[list[tuple[Any, ...]]]:
        """The records, once."""
        if not reached:
            yield [row_of(record, inside, *rule) for record in self.records]

    def at(self, _: object) -> Iterator[Record]:
        """All of them."""
        return iter(self.records)

    def is_whole(self) -> bool:
        """Retention may have removed records."""
        return not self.has_lost_its_head

    def letters(self, _: str) -> tuple[dict[tuple[int, int], Letter], int]:
        """Of the queue."""
        return dict(self.queue), 0

    def committed_offsets(self, *_: str) -> dict[int, int]:
        """All; the sink may have rejected the record just before."""
        if self.is_rejected_meanwhile:
            self.queue[0, 0] = LETTER
        return {0: 2}

    def contents(self, _: Sequence[str]) -> Contents:
        """Compared as JSON."""
        return Contents(SourceRules())

    def restrictions(self) -> list[str]:
        """What the user's roles hide."""
        return ["some are hidden"]

    def count(self) -> int:
        """Number of documents."""
        return len(self.documents)

    def pages(self, **_: Any) -> Iterator[Page]:
        """One."""
        yield Page(self.documents if self.is_refreshed else (), "")

    def find(self, ids: Sequence[str], **_: Any) -> dict[str, list[Mapping[str, Any]]]:
        """Those of these ids."""
        return {each: [hit for hit in self.documents if hit["_id"] == each] for each in ids}


def audit_of(world: World, folder: Path, rule: str = "key") -> Audit:
    """An audit that has run."""
    inside = Range({0: 0}, {0: 2})
    everything = cast("Topic", world), cast("Index", world), cast("KafkaTopics", world)
    plan = Plan(*everything, inside, rule_called(rule), Pipeline("sink", "dlq"))
    with Store(folder / "a.duckdb", "", resume=False) as store:
        audit = Audit(plan, store, lambda *_: None, lambda *_: None, sleep=lambda _: None)
        audit.run()
    return audit


def stored(name: str) -> dict[str, Any]:
    """A document as the index gives it."""
    return {"_index": "books", "_id": name, "_version": 0, "_seq_no": 1, "_source": {"n": 1}}


def test_a_record_that_is_rejected_between_two_readings_is_not_missing(tmp_path: Path) -> None:
    """The queue is read after the offsets, since a sink commits past a record after its dead letter."""
    world = World()
    world.is_rejected_meanwhile = True
    assert +audit_of(world, tmp_path).outcome.fates == {Fate.DEAD_LETTER: 1}


@pytest.mark.parametrize(("has_lost_its_head", "unexpected"), [(False, 1), (True, 0)])
def test_a_document_may_be_of_a_record_that_retention_removed_meanwhile(
    tmp_path: Path, *, has_lost_its_head: bool, unexpected: int
) -> None:
    """Then it is no finding."""
    world = World([stored("k"), stored("older")])
    world.has_lost_its_head = has_lost_its_head
    outcome = audit_of(world, tmp_path).outcome
    assert (outcome.findings[Kind.UNEXPECTED], outcome.foreign) == (unexpected, 1 - unexpected)


@pytest.mark.parametrize(("value", "compared"), [(b'{"n": 1}', 1), (b"\x00\x00\x00\x00\x07abc", 0)])
def test_only_contents_that_can_be_read_count_as_compared(tmp_path: Path, value: bytes, compared: int) -> None:
    """Those of Avro cannot."""
    world = World([stored("k")])
    world.records = [replace(RECORD, value=value)]
    outcome = audit_of(world, tmp_path).outcome
    assert (+outcome.fates, outcome.compared) == ({Fate.DOCUMENT: 1}, compared)


@pytest.mark.parametrize(("interval_s", "is_told"), [(1.0, False), (-1.0, True), (300.0, True)])
def test_an_index_that_is_not_refreshed_is_told(tmp_path: Path, *, interval_s: float, is_told: bool) -> None:
    """What was written since is not seen in full, and nothing is written to see it."""
    world = World()
    world.backing = {"books": interval_s}
    outcome = audit_of(world, tmp_path, "content").outcome
    assert any("_refresh" in note for note in outcome.notes) == is_told


def test_versions_are_compared_also_before_the_first_refresh(tmp_path: Path) -> None:
    """No search sees a document then, but a get does."""
    world = World([stored("k")])
    world.is_refreshed = False
    world.records = [RECORD, replace(RECORD, place=Place("books", 0, 1), key=b"k")]
    assert +audit_of(world, tmp_path).outcome.findings == {Kind.STALE: 1}


def test_a_topic_that_was_made_again_ends_the_audit(tmp_path: Path, message: MakeMessage) -> None:
    """Its offsets are of other records."""
    world = World()
    world.id = "another"
    with pytest.raises(ProfileError) as error:
        audit_of(world, tmp_path)
    assert str(error.value) == message("books")
