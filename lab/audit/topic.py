"""The audited topic: its range, a sample, its records as rows, its dead letters. No group of ours reads it."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from lab.audit.ids import CONTENT, NO_DOCUMENT, IdRule, Record
from lab.audit.index import Contents, Pace
from lab.clients.kafka import KafkaTopics, instant_ms, instant_text, stretches
from lab.errors import ProfileError
from lab.replay.dead_letters import Letter, letter_of

BATCH = 50_000
LAST_OFFSET = LATEST_MS = (1 << 63) - 1
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


@dataclass(frozen=True)
class Bound:
    """A bound of a range: an offset, or an instant in milliseconds since the Unix epoch.

    Attributes:
        text: As it was given.
    """

    text: str
    at: int
    is_time: bool = False

    @classmethod
    def parsed(cls, text: str, option: str) -> "Bound":
        """The bound in a text; raises ProfileError if it is none."""
        if text.isdecimal() and int(text) <= LAST_OFFSET:
            return cls(text, int(text))
        try:
            return cls(text, instant_ms(text), is_time=True)
        except ValueError as error:
            raise ProfileError(
                f'{option}: got "{text}", expected an offset or a time such as 2026-11-27T06:30'
            ) from error


class Topic:
    """One topic of a Kafka cluster; raises ProfileError if there is no topic of that name."""

    def __init__(self, kafka: KafkaTopics, name: str, pace: Pace, now_s: Callable[[], float] = time.time) -> None:
        self.name = name
        self._now_s = now_s
        self._kafka = kafka
        self._pace = pace
        kafka.require(name, 30)

    def range(self, begin: str | None, end: str | None, partitions: Collection[int] = ()) -> Range:
        """The offsets between two bounds, each an offset or a time, as the topic has them now.

        Raises:
            ProfileError: A bound is neither, no record can lie within them, or there is no such partition.
        """
        held = self._kafka.bounds(self.name)
        if unknown := set(partitions) - held.keys():
            raise ProfileError(f"--partitions: got {min(unknown)}, expected some of 0 to {max(held)}")
        chosen = {partition: held[partition] for partition in sorted(partitions or held)}
        first, last = ({each: bounds[side] for each, bounds in chosen.items()} for side in (0, 1))
        whole = begin is None and len(chosen) == len(held) and not any(first.values())
        since = None if begin is None else Bound.parsed(begin, "--from")
        until = None if end is None else Bound.parsed(end, "--to")
        since_offsets, until_offsets = self._offsets(since, first), self._offsets(until, last)
        if since:
            self._refuse_begin(since, last)
        if until:
            self._refuse_end(until, until_offsets, chosen)
        if since and until and is_before(until, until_offsets, since, since_offsets):
            raise ProfileError(f"--to: got {end}, which is not after --from {begin}, expected a later place")
        starts = {each: max(low, since_offsets[each]) for each, low in first.items()}
        ends = {each: max(starts[each], min(high, until_offsets[each])) for each, high in last.items()}
        return Range(starts, ends, whole)

    def _offsets(self, bound: Bound | None, otherwise: Offsets) -> Offsets:
        if bound is None:
            return otherwise
        return self._kafka.offsets_at(self.name, bound.at) if bound.is_time else dict.fromkeys(otherwise, bound.at)

    def _refuse_begin(self, since: Bound, last: Offsets) -> None:
        """Raise ProfileError for a place behind the end; after a time in the past, no record may have come."""
        end = max(last.values())
        if since.is_time and since.at > self._now_s() * 1000:
            raise ProfileError(
                f"--from: got {since.text}, which is still to come, expected a time in the past, in UTC or with a zone"
            )
        if not since.is_time and since.at > end:
            raise ProfileError(f"--from: got {since.text}, expected an offset up to {end}, where {self.name} ends")

    def _refuse_end(self, until: Bound, offsets: Offsets, chosen: Mapping[int, tuple[int, int]]) -> None:
        """Raise ProfileError for a place before all records that the topic holds."""
        begins = {partition: low for partition, (low, high) in chosen.items() if low < high}
        if not begins or any(offsets[partition] > low for partition, low in begins.items()):
            return
        least, expected = min(begins.values()), "an offset above"
        oldest = str(least)
        if until.is_time:
            records = (next(self.records({each: low}, {each: chosen[each][1]}), None) for each, low in begins.items())
            oldest = instant_text(min((record.timestamp_ms for record in records if record), default=until.at))
            expected = "a time after"
        raise ProfileError(
            f"--to: got {until.text}, expected {expected} {oldest}, that of the first record that {self.name} holds"
        )

    def identity(self) -> str:
        """The topic's id, which another one of the same name has not."""
        return self._kafka.topic_id(self.name)

    def is_whole(self) -> bool:
        """Check that retention has removed nothing so far."""
        return not any(first for first, _ in self._kafka.bounds(self.name).values())

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
        """Dead letters of this topic by partition and offset, the last of each, and how many name no record.

        A letter has the time of its record (`report` of `DeadLetterQueueReporter` in Kafka Connect): one from before
        the record that is at its place now is of a topic of this name that was deleted. Where the broker gives letters
        their time, that says nothing, and they are as new as can be.
        """
        letters: dict[tuple[int, int], Letter] = {}
        nameless = 0
        for message in self._kafka.records(name):
            self._pace.take(1)
            try:
                letter = letter_of(message).without_content()
            except ProfileError:
                nameless += 1
                continue
            if not letter.is_timed:
                letter = replace(letter, timestamp_ms=LATEST_MS)
            for place in (letter.origin, letter.refused_at):
                at = place.partition, place.offset
                if place.topic == self.name and (at not in letters or letters[at].timestamp_ms <= letter.timestamp_ms):
                    letters[at] = letter
        return letters, nameless


def is_before(until: Bound, last: Offsets, since: Bound, first: Offsets) -> bool:
    """Check that a range ends where, or before, it begins; between a time and an offset there may be no record."""
    if until.is_time == since.is_time:
        return until.at <= since.at
    return all(first[partition] > last[partition] for partition in first)


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
