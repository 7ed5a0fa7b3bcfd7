"""A stream of creates, updates and deletes of keyed documents that keeps a book, and the index held against it."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from confluent_kafka import KafkaError, Message, Producer

from lab.clients.elasticsearch import ElasticsearchClient

FLUSH_WITHIN_S = 120
PAGE = 5_000


@dataclass(frozen=True)
class Stored:
    """A document as Elasticsearch has it.

    Attributes:
        number: The place of its record in the stream.
        version: Its external version.
    """

    number: int
    version: int


@dataclass(frozen=True)
class Comparison:
    """The index against the book: each count is of documents, and all but `compared` must be 0.

    Attributes:
        compared: Keys that were ever sent.
        lost: Last sent with a document and not stored.
        stale: Stored as an earlier record had it.
        undead: Deleted last and still stored.
        duplicates: Stored more than once, or never sent.
    """

    compared: int
    lost: int = 0
    stale: int = 0
    undead: int = 0
    duplicates: int = 0


class KeyedStream:
    """Sends records of random keys, one after the other, and books what was acknowledged.

    A key that is stored is updated, or deleted in one of `deletes_one_in` cases; any other is created. The producer is
    idempotent and never gives up, so that the topic holds every record sent, once and in order.
    """

    def __init__(self, bootstrap: str, topic: str, *, keys: int, seed: int, deletes_one_in: int = 11) -> None:
        self._topic = topic
        self._keys = keys
        self._random = random.Random(seed)  # noqa: S311 - a test that can be repeated
        self._deletes_one_in = deletes_one_in
        self._last_number: dict[str, int | None] = {}
        self._last_offset: dict[str, int] = {}
        self.sent: Counter[str] = Counter()
        self.acknowledged = 0
        self.failures: Counter[str] = Counter()
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "socket.timeout.ms": 10_000,
                "linger.ms": 5,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    @property
    def produced(self) -> int:
        """Records handed to the producer."""
        return self.sent.total()

    def send(self, records: int) -> None:
        """Hand so many records to the producer."""
        for _ in range(records):
            key = f"key-{self._random.randrange(self._keys)}"
            stored = self._last_number.get(key) is not None
            deletes = stored and self._random.randrange(self._deletes_one_in) == 0
            number = None if deletes else self.produced
            value = (
                None if deletes else orjson.dumps({"number": number, "key": key, "text": "x" * (self.produced % 257)})
            )
            self._hand_over(key, value)
            self._last_number[key] = number
            self.sent["deletes" if deletes else "updates" if stored else "creates"] += 1

    def send_at(self, records_per_s: int, is_over: Callable[[], bool]) -> None:
        """Send at a rate until it is over; what a broker that is down holds up is made up for."""
        begun, sent_before = time.monotonic(), self.produced
        while not is_over():
            due = sent_before + int((time.monotonic() - begun) * records_per_s)
            self.send(min(due - self.produced, records_per_s))
            self._producer.poll(0.02)

    def finish(self) -> None:
        """Wait until every record is acknowledged."""
        assert self._producer.flush(FLUSH_WITHIN_S) == 0
        assert self.failures == Counter()
        assert self.acknowledged == self.produced

    def compared_with(self, stored: Mapping[str, list[Stored]]) -> Comparison:
        """What is stored, by id, against the last record of each key."""
        alive = {key for key, number in self._last_number.items() if number is not None}
        return Comparison(
            compared=len(self._last_number),
            lost=len(alive - stored.keys()),
            stale=sum(any(document != self._expected(key) for document in stored.get(key, ())) for key in alive),
            undead=len((self._last_number.keys() - alive) & stored.keys()),
            duplicates=sum(len(found) - 1 for found in stored.values()) + len(stored.keys() - self._last_number.keys()),
        )

    def _expected(self, key: str) -> Stored:
        return Stored(number=self._last_number[key] or 0, version=self._last_offset[key])

    def _hand_over(self, key: str, value: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key, on_delivery=self._book)
            except BufferError:
                self._producer.poll(0.1)
            else:
                self._producer.poll(0)
                return

    def _book(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures[error.name()] += 1
            return
        self.acknowledged += 1
        key = (message.key() or b"").decode()
        self._last_offset[key] = max(self._last_offset.get(key, -1), message.offset() or 0)


def stored_documents(cluster: ElasticsearchClient, index: str) -> dict[str, list[Stored]]:
    """Every document of the index by its id, as often as it is found."""
    cluster.request("POST", f"/{index}/_refresh")
    found: dict[str, list[Stored]] = {}
    for hit in hits(cluster, index):
        document = Stored(number=hit["_source"]["number"], version=hit["_version"])
        found.setdefault(hit["_id"], []).append(document)
    return found


def hits(cluster: ElasticsearchClient, index: str) -> Iterator[dict[str, Any]]:
    """Id, version and number of each document."""
    query = {"size": PAGE, "_source": ["number"], "version": True, "sort": ["_doc"]}
    _, page = cluster.request("POST", f"/{index}/_search?scroll=2m", query)
    while page["hits"]["hits"]:
        assert page["_shards"]["failed"] == 0
        yield from page["hits"]["hits"]
        _, page = cluster.request("POST", "/_search/scroll", {"scroll": "2m", "scroll_id": page["_scroll_id"]})
