"""Findings of an audit: kept as they are told, written into a folder, and what is missing or stale into a topic."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import orjson
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from lab.audit.audit import Outcome
from lab.audit.ids import Record
from lab.audit.judge import Finding, Kind
from lab.audit.topic import Topic
from lab.errors import StackError, unwritable, writing
from lab.files import write_whole
from lab.replay.dead_letters import REPLAY_OF, REPLAY_VERSION

LISTED = 100
REPAIRED = frozenset({Kind.MISSING, Kind.STALE, Kind.RESURRECTED, Kind.DIFFERENT})
FLUSH_S = 60.0


@dataclass
class Findings:
    """The first findings of each kind, and where all of them go.

    Attributes:
        places: Partition and offset of the records that a repair writes.
    """

    topic: str
    file: IO[bytes] | None = None
    first: dict[Kind, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    places: set[tuple[int, int]] = field(default_factory=set)
    keeps_places: bool = False

    def add(self, name: str, finding: Finding) -> None:
        """Keep one."""
        shown = described(self.topic, name, finding)
        if len(self.first[finding.kind]) < LISTED:
            self.first[finding.kind].append(shown)
        if self.file:
            self.file.write(orjson.dumps(shown) + b"\n")
        if self.keeps_places and finding.row and finding.kind in REPAIRED:
            self.places.add((finding.row.partition, finding.row.offset))


def described(topic: str, name: str, finding: Finding) -> dict[str, Any]:
    """A finding for a program."""
    row, stored = finding.row, finding.stored
    return {
        "kind": finding.kind.value,
        "id": name,
        "place": f"{topic}-{row.partition}@{row.offset}" if row else None,
        "timestamp_ms": row.timestamp_ms if row else None,
        "index": stored.index if stored else None,
        "version": stored.version if stored else None,
        "seq_no": stored.seq_no if stored else None,
        "detail": finding.detail,
    }


@contextmanager
def finding_file(folder: Path | None) -> Iterator[IO[bytes] | None]:
    """The file that all findings go to; none without a folder."""
    if folder is None:
        yield None
        return
    path = folder / "findings.ndjson"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("wb")
    except OSError as error:
        raise unwritable(f"-o: {folder}: cannot be written", error) from error
    # What is left in the buffer is written when it is closed.
    with writing(path), file:
        yield file


def summary_of(outcome: Outcome, findings: Findings, about: Mapping[str, Any]) -> dict[str, Any]:
    """The result for a program."""
    return {
        **about,
        "records": outcome.records,
        "documents": outcome.documents,
        "fates": {fate.value: number for fate, number in outcome.fates.items() if number},
        "findings": {kind.value: outcome.findings[kind] for kind in Kind},
        "compared": outcome.compared,
        "without_record": outcome.foreign,
        "oldest_in_flight_ms": outcome.oldest_in_flight_ms,
        "notes": outcome.notes,
        "first": [each for kind in Kind for each in findings.first[kind]],
    }


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write the result into a folder."""
    text = orjson.dumps(summary, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    write_whole(folder / "audit.json", text + "\n")


def repair(topic: Topic, places: set[tuple[int, int]], into: str, settings: Mapping[str, Any]) -> int:
    """Write records into another topic, with key, value and headers, and a header that names their origin.

    Their version header lets a sink with `external.version.header` keep a newer document that came since.

    Returns:
        Number of records written.

    Raises:
        StackError: Kafka did not take one.
    """
    failures: Counter[str] = Counter()

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures[error.str()] += 1

    # Java's partitioner: a key goes where its producer would have sent it.
    producer = Producer({**settings, "partitioner": "murmur2_random", "enable.idempotence": True, "log_level": 0})
    number = 0
    try:
        for number, record in enumerate(topic.at(places), 1):  # noqa: B007 - counted
            send(producer, into, record, on_delivery)
        left = producer.flush(FLUSH_S)
    except KafkaException as error:
        raise StackError(f"topic {into}: cannot be written ({error.args[0].str()})") from error
    if left or failures:
        reason = next(iter(failures), "no answer in time")
        raise StackError(f"topic {into}: {left + failures.total():,} of {number:,} records were not taken ({reason})")
    return number


def send(
    producer: Producer, into: str, record: Record, on_delivery: Callable[[KafkaError | None, Message], None]
) -> None:
    """Hand a record over, waiting while the client's queue is full."""
    own = [header for header in record.headers if header[0] not in {REPLAY_OF, REPLAY_VERSION}]
    origin = record.header(REPLAY_OF) or str(record.place)
    marks = [(REPLAY_OF, origin.encode()), (REPLAY_VERSION, str(record.version).encode())]
    while True:
        try:
            producer.produce(
                into,
                key=record.key,
                value=record.value,
                headers=[*own, *marks],
                timestamp=max(0, record.timestamp_ms),
                on_delivery=on_delivery,
            )
        except BufferError:
            producer.poll(1.0)
        else:
            producer.poll(0)
            return
