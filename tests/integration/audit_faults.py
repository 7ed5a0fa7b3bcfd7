"""Faults made on purpose between a topic and an index, and the list of them that an audit must find."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import orjson
from confluent_kafka import Message, Producer

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import StackError

Known = tuple[str, str]
"""Kind and id of a fault, as an audit tells it."""
FLUSH_WITHIN_S = 60
ATTEMPTS = 50


@dataclass
class Stream:
    """Records of keys, of which each is created, and some updated or deleted.

    Attributes:
        history: Offset and document of each record of a key, in order; no document of a tombstone.
    """

    bootstrap: str
    topic: str
    seed: int
    history: dict[str, list[tuple[int, int, bytes | None]]] = field(default_factory=dict)

    def send(self, records: Sequence[tuple[str, bytes | None]]) -> None:
        """Send records and wait until each is acknowledged."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "log_level": 0})

        def book(error: object, message: Message) -> None:
            assert error is None
            key = (message.key() or b"").decode()
            place = (message.partition() or 0, message.offset() or 0, message.value())
            self.history.setdefault(key, []).append(place)

        for key, value in records:
            producer.produce(self.topic, value, key, on_delivery=book)
        assert producer.flush(FLUSH_WITHIN_S) == 0

    def made(self, keys: int, rejected: int) -> Iterator[tuple[str, bytes | None]]:
        """Each key once, a third twice, some deleted, and some whose `pages` is no number."""
        draw = random.Random(self.seed)  # noqa: S311 - a test that can be repeated
        for number in range(keys):
            yield f"key-{number}", document(number, 0)
        for number in draw.sample(range(keys), keys // 3):
            yield f"key-{number}", document(number, 1)
        for number in draw.sample(range(keys), keys // 20):
            yield f"key-{number}", None
        for number in range(rejected):
            yield f"bad-{number}", b'{"pages": "many"}'

    def alive(self) -> list[str]:
        """Keys whose newest record is a document."""
        return sorted(key for key, records in self.history.items() if records[-1][2] and key.startswith("key-"))

    def deleted(self) -> list[str]:
        """Keys whose newest record is a tombstone."""
        return sorted(key for key, records in self.history.items() if records[-1][2] is None)


def document(number: int, update: int) -> bytes:
    """A document of a key."""
    return orjson.dumps({"number": number, "update": update, "pages": number % 991, "price": float(number % 7)})


def make_faults(cluster: ElasticsearchClient, index: str, stream: Stream, of_each: int) -> set[Known]:
    """Lose, age, change, double … so many documents of each kind directly in the index; what was done."""
    draw = random.Random(stream.seed)  # noqa: S311 - as above
    alive, deleted = stream.alive(), stream.deleted()
    draw.shuffle(alive)
    aged = [key for key in alive if len(stream.history[key]) > 1][:of_each]
    others = [key for key in alive if key not in aged]
    lost, changed, touched = (others[each * of_each : (each + 1) * of_each] for each in range(3))
    risen = deleted[:of_each]
    strange = [f"strange-{number}" for number in range(of_each)]
    lines: list[bytes] = []

    def write(key: str, body: object, version: int | None = None) -> None:
        action = {"_id": key} | ({"version": version, "version_type": "external_gte"} if version is not None else {})
        lines.extend((orjson.dumps({"index": action}), orjson.dumps(body)))

    # Elasticsearch forgets the version of what was deleted at the next refresh.
    cluster.put_settings(index, {"index.gc_deletes": "0s"})
    cluster.bulk(index, b"".join(orjson.dumps({"delete": {"_id": key}}) + b"\n" for key in (*lost, *aged)))
    for key in aged:
        _, offset, value = stream.history[key][0]
        write(key, orjson.loads(value or b""), offset)
    write_when_forgotten(cluster, index, lines)
    lines.clear()
    for key in changed:
        _, offset, value = stream.history[key][-1]
        write(key, {**orjson.loads(value or b""), "price": 9.5}, offset)
    for key in touched:
        write(key, {**orjson.loads(stream.history[key][-1][2] or b""), "update": 7})
    for key in risen:
        write(key, orjson.loads(stream.history[key][0][2] or b""))
    for key in strange:
        write(key, {"number": 0})
    cluster.bulk(index, b"\n".join(lines) + b"\n")
    cluster.refresh(index)
    kinds = {"missing": lost, "stale": aged, "different": [*changed, *touched], "resurrected": risen}
    return {(kind, key) for kind, keys in {**kinds, "unexpected": strange}.items() for key in keys}


def write_when_forgotten(cluster: ElasticsearchClient, index: str, lines: Sequence[bytes]) -> None:
    """Write documents once the cluster no longer knows the higher versions of those that were deleted."""
    for attempts_left in reversed(range(ATTEMPTS)):
        cluster.refresh(index)
        try:
            cluster.bulk(index, b"\n".join(lines) + b"\n")
        except StackError:
            assert attempts_left
            time.sleep(0.2)
        else:
            return
