"""The story of one key: its records, what became of each, where its document is now, and a sentence that says why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lab.analysis.text import quantity
from lab.audit.ids import CONTENT, IdRule, Record, key_text
from lab.audit.index import Contents, Index, stored_of
from lab.audit.judge import Finding, Kind, Row, Stored, Terms, age, judged
from lab.audit.pipeline import Pipeline
from lab.audit.topic import Offsets, Range, Topic, row_of
from lab.clients.kafka import Place
from lab.errors import ProfileError, StackError
from lab.replay.dead_letters import Letter

MASK = 0xFFFFFFFF
MULTIPLIER = 0x5BD1E995
SEED = 0x9747B28C


@dataclass(frozen=True)
class Step:
    """One record of the key.

    Attributes:
        committed: Committed offset of its partition; `None` where no group is known.
        letter: The dead letter that it became.
    """

    record: Record
    row: Row
    id: str | None
    committed: int | None = None
    letter: Letter | None = None


@dataclass(frozen=True)
class Story:
    """Facts about a key.

    Attributes:
        steps: Its records, oldest first.
        stored: Documents of the id of its newest record.
        failures: Reasons in a data stream's failure store.
        unread: Why the failure store could not be read; empty if it was.
        searched: Partitions whose records were read.
    """

    key: str
    topic: str
    steps: Sequence[Step]
    stored: Sequence[Stored]
    failures: Sequence[str]
    searched: Sequence[int]
    group: str | None = None
    dead_letters: str | None = None
    deletes: bool = True
    unread: str = ""

    @property
    def newest(self) -> Step:
        """The last record."""
        return self.steps[-1]

    @property
    def finding(self) -> Finding | None:
        """The difference between the records and the documents of the newest record's id."""
        rows = [step.row for step in self.steps if step.id == self.newest.id]
        versions = any(each.version == row.version for each in self.stored for row in rows)
        terms = Terms(versions=versions or not any(each.hash for each in self.stored), deletes=self.deletes)
        return next(iter(judged(rows, self.stored, terms).findings), None)

    def explained(self) -> str:
        """The sentence that explains where the document is, or why it is not there."""
        if not self.steps:
            return self.without_records()
        newest = self.newest
        place, best = newest.record.place, max(self.stored, key=lambda each: each.version, default=None)
        if newest.letter and not (best and best.version == newest.row.version):
            older = f"; version {best.version} of an older record is stored" if best else ""
            at = newest.letter.at
            return f"rejected: {newest.letter.reason}; see dead letter {at}{older}"
        if newest.row.is_open and not (best and best.version == newest.row.version):
            return (
                f"not yet read by group {self.group}: it has committed {newest.committed:,} of partition "
                f"{place.partition}, and the newest record is at {place.offset:,}"
            )
        return self.of_finding(newest, best)

    def of_finding(self, newest: Step, best: Stored | None) -> str:
        """The sentence about a record that the sink has passed."""
        finding, place = self.finding, newest.record.place
        if best is None:
            return f"deleted by the tombstone at {place}" if newest.row.is_tombstone else self.lost(place)
        if finding is None:
            return f"the newest record ({place}) is stored as version {best.version} in {best.index}"
        if finding.kind is Kind.DOUBLED:
            return f"stored {len(self.stored)} times: in {' and '.join(each.index for each in self.stored)}"
        told = {
            Kind.RESURRECTED: f"in the index although the tombstone at {place} deletes it",
            Kind.STALE: f"an older record is stored: stale by {quantity(self.behind(best), 'record')}",
            Kind.DIFFERENT: "stored otherwise than its record has it",
        }
        return f"{told[finding.kind]}; {finding.detail}"

    def lost(self, place: Place) -> str:
        """The sentence about a document that should be there."""
        if self.failures:
            return f"the failure store has it in place of the data stream: {self.failures[0]}"
        passed = f"group {self.group} has committed past it" if self.group else "no consumer group is known"
        queue = f", not in {self.dead_letters}" if self.dead_letters else ""
        unread = f"; whether the failure store has it is not known: {self.unread}" if self.unread else ""
        return f"missing: the newest record ({place}) is not in the index{queue}, and {passed}{unread}"

    def behind(self, best: Stored) -> int:
        """Records of the key after the one that is stored."""
        return sum(step.row.version > best.version for step in self.steps)

    def without_records(self) -> str:
        """The sentence about a key that no record has."""
        where = f"no record with this key in partitions {', '.join(map(str, self.searched))} of {self.topic}"
        if not self.stored:
            return f"{where}, and no document with this id in the index"
        return (
            f"{where}, but its document is in {self.stored[0].index}: it is of another source, or retention removed it"
        )


def murmur2(content: bytes) -> int:
    """Austin Appleby's MurmurHash2 with the seed of Kafka's partitioner (`Utils.murmur2`), as 32 bits."""
    result = SEED ^ len(content)
    whole = len(content) & ~3
    for at in range(0, whole, 4):
        mixed = int.from_bytes(content[at : at + 4], "little") * MULTIPLIER & MASK
        mixed = (mixed ^ mixed >> 24) * MULTIPLIER & MASK
        result = (result * MULTIPLIER & MASK) ^ mixed
    if rest := content[whole:]:
        result = (result ^ int.from_bytes(rest, "little")) * MULTIPLIER & MASK
    result = (result ^ result >> 13) * MULTIPLIER & MASK
    return result ^ result >> 15


def partition_of(key: str, partitions: int) -> int:
    """The partition in which Kafka's default partitioner puts a key (`BuiltInPartitioner.partitionForKey`)."""
    return (murmur2(key.encode()) & 0x7FFFFFFF) % partitions


def place_in(key: str) -> Place | None:
    """The place of a record that an id of topic, partition and offset names."""
    topic, _, rest = key.partition("+")
    partition, _, offset = rest.partition("+")
    return Place(topic, int(partition), int(offset)) if partition.isdecimal() and offset.isdecimal() else None


def matching(topic: Topic, inside: Range, key: str, rule: IdRule) -> tuple[list[Record], list[int]]:
    """The records of a key, and the partitions that were read: its own first, the others if that has none."""
    place = place_in(key)
    if place and place.topic == topic.name and place.partition in inside.last:
        return list(topic.at({(place.partition, place.offset)})), [place.partition]
    home = partition_of(key, max(inside.last) + 1)
    searched: list[int] = []
    for partitions in ([home] if home in inside.last else [], [each for each in inside.last if each != home]):
        ends = {partition: inside.last[partition] for partition in partitions}
        searched += partitions
        records = topic.records(inside.first, ends) if ends else ()
        if found := [record for record in records if key in {key_text(record), rule.id_of(record)}]:
            return found, searched
    return [], searched


@dataclass(frozen=True)
class Scene:
    """Topic, index and pipeline of a story."""

    topic: Topic
    index: Index
    inside: Range
    rule: IdRule
    pipeline: Pipeline
    committed: Offsets

    def story(self, key: str) -> Story:
        """Find out the story of a key.

        Raises:
            ProfileError: Ids are made by the cluster, so that no document can be found by its record.
        """
        if self.rule.name == CONTENT:
            raise ProfileError("trace: the cluster makes the ids, expected ids made of records; see `sluice audit`")
        queue = self.pipeline.dead_letters
        records, searched = matching(self.topic, self.inside, key, self.rule)
        letters = self.topic.letters(queue)[0] if queue and records else {}
        contents = self.index.contents(())
        compared = contents if contents.rules.kind != "none" else None
        steps = sorted((self._step(record, compared, letters) for record in records), key=lambda step: order(step.row))
        name = steps[-1].id or key if steps else key
        hits = self.index.find([name], sources=compared is not None).get(name, [])
        failures, unread = [], ""
        try:
            failures = self.index.failures(name)
        except StackError as error:
            unread = str(error)
        return Story(
            key,
            self.topic.name,
            steps,
            [stored_of(hit, compared) for hit in hits],
            failures,
            searched,
            self.pipeline.group,
            queue,
            deletes=self.pipeline.deletes is not False,
            unread=unread,
        )

    def _step(self, record: Record, contents: Contents | None, letters: Mapping[tuple[int, int], Letter]) -> Step:
        name, *columns = row_of(record, self.inside, self.rule, contents)
        partition, offset = record.place.partition, record.place.offset
        letter = letters.get((partition, offset))
        if letter and letter.timestamp_ms < record.timestamp_ms:
            letter = None
        committed = self.committed.get(partition, 0) if self.pipeline.group else None
        is_open = committed is not None and offset >= committed
        row = replace(Row(*columns), reason=letter.reason if letter else None, is_open=is_open)
        return Step(record, row, name, committed, letter)


def order(row: Row) -> tuple[int, int, int]:
    """Order of the records of a key over all partitions."""
    return row.timestamp_ms, *age(row)
