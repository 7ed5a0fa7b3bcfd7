"""Reads a slice of a topic, by assignment: no group, no commit, nothing created in Kafka."""

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from lab.capture.redact import Redaction, Rule
from lab.clients.kafka import KafkaTopics, Place, headers_of, instant_text, value_bytes
from lab.errors import ProfileError, StackError, is_interrupt, writing
from producers.datasets.source.slice import SliceRecord, SliceWriter

POLL_S: Final = 1.0
"""Between two looks at the ends of a topic that is followed."""
BESIDE: Final = 0.01
"""Of so many values that are redacted, more are no chance if the records' keys or headers hold them, too."""

Spans = dict[int, tuple[int, int]]
"""Partition → first offset, and the one behind the last."""


@dataclass(frozen=True)
class Extent:
    """The records to be captured.

    Attributes:
        partitions: All, where it is empty.
        follow_s: How long a topic is followed from now on; `None` for records that are there.
        from_ms: The oldest instant, milliseconds since the Unix epoch; `None` for the oldest record.
        to_ms: The instant behind the last one; `None` for now.
        most: Most records; `None` for all.
        rate_per_s: Most records read per second; `None` for as many as there are.
    """

    topic: str
    partitions: frozenset[int] = frozenset()
    follow_s: float | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    most: int | None = None
    rate_per_s: float | None = None


@dataclass
class Capture:
    """A slice under way.

    Attributes:
        on_progress: Told of the records written so far.
        spans: Offsets that were read so far, by partition.
        ended: `whole`, at so many `documents`, or `interrupted`.
    """

    kafka: KafkaTopics
    extent: Extent
    redaction: Redaction
    on_progress: Callable[[int], None] = lambda _: None
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    spans: Spans = field(default_factory=dict)
    ended: str = "whole"
    _first_ms: int = 1 << 63
    _last_ms: int = 0

    def write(self, path: Path, *, allow_unused: bool = False) -> dict[str, Any]:
        """Write the slice; what its header says of it. Ctrl-C ends it with what there is.

        Raises:
            ProfileError: The topic or a partition does not exist, there are no records, the file exists, or a rule did
                nothing. No file is left then.
            StackError: Kafka cannot be read.
            WritingError: The disk is full. No file is left then, either.
        """
        bounds = self._bounds()
        with writing(path), closing(opened(path)) as writer:
            try:
                self._take_all(bounds, writer)
            except (KeyboardInterrupt, SystemError) as error:
                if not is_interrupt(error):
                    raise
                self.ended = "interrupted"
            self._refuse_leaks(writer.records, allow_unused=allow_unused)
            about = self._about(len(bounds))
            try:
                writer.finish(about)
            except FileExistsError as error:
                raise exists(path) from error
            return about | {"records": writer.records, "tombstones": writer.tombstones, "null_keys": writer.null_keys}

    def _bounds(self) -> Spans:
        topic, wanted = self.extent.topic, self.extent.partitions
        self.kafka.require(topic)
        bounds = self.kafka.bounds(topic)
        if absent := wanted - bounds.keys():
            there = ", ".join(map(str, sorted(bounds)))
            raise ProfileError(f"--partitions: got {min(absent)}, expected some of {there}")
        return bounds

    def _take_all(self, bounds: Spans, writer: SliceWriter) -> None:
        extent, kafka = self.extent, self.kafka
        chosen = extent.partitions or bounds.keys()
        if extent.follow_s is None:
            spans = {number: bounds[number] for number in chosen}
            if extent.from_ms is not None:
                first = kafka.offsets_at(extent.topic, extent.from_ms)
                spans = {number: (max(begin, first[number]), end) for number, (begin, end) in spans.items()}
            if extent.to_ms is not None:
                last = kafka.offsets_at(extent.topic, extent.to_ms)
                spans = {number: (begin, min(end, last[number])) for number, (begin, end) in spans.items()}
            begins = {number: begin for number, (begin, _) in spans.items()}
            ends = {number: end for number, (_, end) in spans.items()}
            self._take(kafka.records(extent.topic, begins, ends), writer)
            return
        started_s = self.clock()
        read_to = {number: bounds[number][1] for number in chosen}
        while self.ended == "whole":
            is_last = self.clock() - started_s >= extent.follow_s
            ends = kafka.end_offsets(extent.topic)
            # Partitions may be added meanwhile.
            ends = {number: end for number, end in ends.items() if number in (extent.partitions or ends)}
            if gone := read_to.keys() - ends.keys():
                raise StackError(f"topic {extent.topic}: partition {min(gone)} was deleted while it was read")
            if shorter := [number for number, end in read_to.items() if ends[number] < end]:
                raise StackError(
                    f"topic {extent.topic}: partition {min(shorter)} has lost records while it was read, as of a topic "
                    "that is made anew"
                )
            self._take(kafka.records(extent.topic, read_to, ends), writer)
            read_to = ends
            if is_last:
                return
            self.on_progress(writer.records)
            self.sleep(max(0.0, min(POLL_S, started_s + extent.follow_s - self.clock())))

    def _take(self, messages: Iterable[Message], writer: SliceWriter) -> None:
        extent = self.extent
        # From now on: a topic that was silent for a while is read no faster after it.
        started_s = self.clock()
        for number, message in enumerate(messages, 1):
            record = self.redaction.apply(record_of(message))
            begin, _ = self.spans.get(message.partition() or 0, (message.offset() or 0, 0))
            self.spans[message.partition() or 0] = (begin, (message.offset() or 0) + 1)
            if record is not None:
                writer.add(record)
                self._first_ms = min(self._first_ms, record.timestamp_ms)
                self._last_ms = max(self._last_ms, record.timestamp_ms)
                self.on_progress(writer.records)
            if writer.records == extent.most:
                self.ended = "documents"
                return
            if extent.rate_per_s and (ahead_s := started_s + number / extent.rate_per_s - self.clock()) > 0:
                self.sleep(ahead_s)

    def _about(self, partitions: int) -> dict[str, Any]:
        return {
            "topic": self.extent.topic,
            # Some may have been added meanwhile.
            "partitions": max(partitions, max(self.spans, default=0) + 1),
            "offsets": {str(number): list(span) for number, span in sorted(self.spans.items())},
            "first": instant_text(self._first_ms),
            "last": instant_text(self._last_ms),
            "ended": self.ended,
            "redaction": [{rule.action: rule.path} for rule in self.redaction.rules],
            "left_out": self.redaction.left_out,
        }

    def _refuse_leaks(self, records: int, *, allow_unused: bool) -> None:
        left_out, times = self.redaction.left_out, self.redaction.times
        if not records:
            why = f": {left_out:,} have no JSON object as value, and rules" if left_out else ""
            raise ProfileError(f"{self.extent.topic}: no records to write{why}")
        if (unused := self.redaction.unused) and not allow_unused:
            raise ProfileError(
                f"{names_of(unused)}: in none of {records:,} records; a misspelt rule redacts nothing, so no file is "
                "written: correct it, or allow it with --allow-unused"
            )
        beside = [each for each, often in self.redaction.beside.items() if often > BESIDE * times[each[0]]]
        if beside:
            rules, places = dict.fromkeys(rule for rule, _ in beside), list(dict.fromkeys(place for _, place in beside))
            raise ProfileError(
                f"{names_of(rules)}: redacted, but records hold the same values in {', '.join(places)}, so no file is "
                f"written: redact that, too, such as with --hash {places[0]}"
            )


def record_of(message: Message) -> SliceRecord:
    """A record as it is captured; raises ProfileError if it has no timestamp."""
    kind, at_ms = message.timestamp()
    place = Place.of(message)
    if kind == TIMESTAMP_NOT_AVAILABLE:
        raise ProfileError(f"{place}: has no timestamp, expected one")
    key, value = value_bytes(message.key()), value_bytes(message.value())
    return SliceRecord(at_ms, place.partition, place.offset, key, value, headers_of(message))


def opened(path: Path) -> SliceWriter:
    """A new slice; raises ProfileError if the file exists, or its folder cannot be written to."""
    try:
        return SliceWriter(path)
    except FileExistsError as error:
        raise exists(path) from error
    except OSError as error:
        raise ProfileError(f"{path}: cannot be written ({error.strerror})") from error


def exists(path: Path) -> ProfileError:
    """The refusal to write over a file."""
    return ProfileError(f"{path}: exists; a slice replaces no file: remove it, or choose another name")


def names_of(rules: Iterable[Rule]) -> str:
    """Rules as a user writes them."""
    return ", ".join(f"{rule.action} {rule.path}" for rule in rules)
