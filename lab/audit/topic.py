"""The audited topic: its range, a sample, its records as rows, its dead letters. No group of ours reads it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any

from lab.audit.ids import CONTENT, NO_DOCUMENT, IdRule, Record
from lab.audit.index import Contents, Pace
from lab.clients.kafka import KafkaTopics, stretches
from lab.errors import ProfileError
from lab.replay.dead_letters import Letter, letter_of

BATCH = 50_000
LAST_OFFSET = (1 << 63) - 1
SAMPLED = 300

Offsets = Mapping[int, int]


@dataclass(frozen=True)
class Range:
    """The offsets of an audit, by partition.

    Attributes:
        whole: It has every record that the topic ever had, up to its end.
    """

    first: Offsets
    last: Offsets
    whole: bool = True

    @property
    def offsets(self) -> int:
        """Offsets inside; there may be fewer records."""
        return sum(max(0, last - self.first[partition]) for partition, last in self.last.items())


def parsed_bound(text: str, option: str) -> int | datetime:
    """An offset, or an instant in ISO 8601, in UTC unless it says otherwise; raises ProfileError if it is neither."""
    if text.isdecimal() and int(text) <= LAST_OFFSET:
        return int(text)
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise ProfileError(f"{option}: got {text}, expected an offset or a time such as 2026-11-27T06:30") from error
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)


class Topic:
    """One topic of a Kafka cluster; raises ProfileError if there is no topic of that name."""

    def __init__(self, kafka: KafkaTopics, name: str, pace: Pace) -> None:
        self.name = name
        self._kafka = kafka
        self._pace = pace
        if name not in kafka.names(30):
            raise ProfileError(f"topic {name}: does not exist, expected a topic of this cluster")

    def range(self, begin: str | None, end: str | None, partitions: Collection[int] = ()) -> Range:
        """The offsets between two bounds, each an offset or a time, as the topic has them now.

        Raises:
            ProfileError: A bound is neither, or there is no such partition.
        """
        held = self._kafka.bounds(self.name)
        if unknown := set(partitions) - held.keys():
            raise ProfileError(f"--partitions: got {min(unknown)}, expected some of 0 to {max(held)}")
        first, last = self._offsets(begin, "--from"), self._offsets(end, "--to")
        chosen = {partition: held[partition] for partition in sorted(partitions or held)}
        whole = begin is None and len(chosen) == len(held) and not any(low for low, _ in chosen.values())
        starts = {partition: max(low, first.get(partition, 0)) for partition, (low, _) in chosen.items()}
        ends = {partition: min(high, last.get(partition, high)) for partition, (_, high) in chosen.items()}
        if begin and end and all(first[each] >= last[each] for each in chosen):
            raise ProfileError(f"--to: got {end}, expected a place after --from {begin}")
        return Range(starts, {each: max(end, starts[each]) for each, end in ends.items()}, whole)

    def identity(self) -> str:
        """The topic's id, which another one of the same name has not."""
        return self._kafka.topic_id(self.name)

    def is_whole(self) -> bool:
        """Check that retention has removed nothing so far."""
        return not any(first for first, _ in self._kafka.bounds(self.name).values())

    def _offsets(self, text: str | None, option: str) -> Offsets:
        bound = None if text is None else parsed_bound(text, option)
        if isinstance(bound, datetime):
            return self._kafka.offsets_at(self.name, round(bound.timestamp() * 1000))
        return {} if bound is None else dict.fromkeys(self._kafka.bounds(self.name), bound)

    def sample(self, inside: Range, committed: Offsets) -> list[Record]:
        """Some records with a value from begin and end of the range, those that are in flight left out."""
        ends = {each: min(end, committed.get(each, end)) for each, end in inside.last.items()}
        each = max(10, SAMPLED // (2 * max(1, len(ends))))
        starts = {partition: max(inside.first[partition], end - each) for partition, end in ends.items()}
        begins = {partition: min(start, inside.first[partition] + each) for partition, start in starts.items()}
        found = chain(self.records(inside.first, begins), self.records(starts, ends))
        return [record for record in found if not record.is_tombstone]

    def records(self, first: Offsets, last: Offsets) -> Iterator[Record]:
        """The records between these offsets."""
        for message in self._kafka.records(self.name, first, last):
            self._pace.take(1)
            yield Record.of(message)

    def at(self, places: Collection[tuple[int, int]]) -> Iterator[Record]:
        """The records at these (partition, offset) places."""
        for partition, first, last in stretches(places):
            for record in self.records({partition: first}, {partition: last + 1}):
                if (partition, record.place.offset) in places:
                    yield record

    def rows(
        self, inside: Range, reached: Offsets, rule: IdRule, contents: Contents | None
    ) -> Iterator[list[tuple[Any, ...]]]:
        """Records as rows of `records`, in batches: those of the range, and up to the present end those after it.

        Args:
            reached: Where an earlier reading broke off, or ended, by partition.
            contents: Given where contents are compared.
        """
        first = {partition: max(start, reached.get(partition, 0)) for partition, start in inside.first.items()}
        ends = {partition: end for partition, (_, end) in self._kafka.bounds(self.name).items() if partition in first}
        found = self.records(first, ends)
        while batch := list(islice(found, BATCH)):
            yield [row_of(record, inside, rule, contents) for record in batch]

    def letters(self, name: str) -> tuple[dict[tuple[int, int], Letter], int]:
        """Dead letters of this topic by partition and offset, the last of each, and how many name no record."""
        letters: dict[tuple[int, int], Letter] = {}
        nameless = 0
        for message in self._kafka.records(name):
            self._pace.take(1)
            try:
                letter = letter_of(message).without_content()
            except ProfileError:
                nameless += 1
                continue
            for place in (letter.origin, letter.refused_at):
                if place.topic == self.name:
                    letters[place.partition, place.offset] = letter
        return letters, nameless


def row_of(record: Record, inside: Range, rule: IdRule, contents: Contents | None) -> tuple[Any, ...]:
    """A record as a row of `records`."""
    place = record.place
    content = None
    if contents is not None and record.value is not None and (document := record.document) is not NO_DOCUMENT:
        content = contents.digest(document)
    return (
        content if rule.name == CONTENT else rule.id_of(record),
        place.partition,
        place.offset,
        record.version,
        record.timestamp_ms,
        content,
        record.is_tombstone,
        place.offset >= inside.last[place.partition],
    )
