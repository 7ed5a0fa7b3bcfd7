"""Records of one case: a history of updates and deletes of keys that a seed repeats, and records that are odd."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from confluent_kafka import KafkaError, Message, Producer

from lab.errors import StackError

KEYS = 97
WAVES = 24
RECORDS_OF_A_WAVE = 41
DELETE_ONE_IN = 9
ODD_EVERY_WAVES = 4
FLUSHED_WITHIN_S = 60.0
HUGE_BYTES = 6 << 20
MOST_MESSAGE_BYTES = 16 << 20
MAPPINGS: Final[Mapping[str, Any]] = {
    "dynamic": False,
    "properties": {"number": {"type": "long"}, "price": {"type": "long"}, "mark": {"type": "keyword"}},
}


@dataclass(frozen=True)
class Sent:
    """A record of the history.

    Attributes:
        number: Its place in the history, which is in its document, too.
        mark: A text that is in its value and in no other's.
        value: `None` for a tombstone.
        odd: True of a record that a pipeline may refuse, if it says so.
        partition: And `offset`: where it lies; -1 before it is acknowledged.
    """

    number: int
    mark: str
    key: bytes | None
    value: bytes | None
    odd: bool = False
    partition: int = -1
    offset: int = -1


Maker = Callable[[dict[str, Any], bytes], tuple[bytes | None, bytes | None]]
"""Document and key of an ordinary record → key and value of an odd one."""


def _document(seed: int, number: int, draw: random.Random) -> dict[str, Any]:
    return {
        "number": number,
        "mark": f"mark{seed}n{number:06d}x",
        "price": draw.randrange(10_000),
        "title": draw.choice(("Bücher", "책", 'a "quoted" \\ title', "one")) * draw.randrange(1, 9),
    }


def own_key(document: Mapping[str, Any]) -> bytes:
    """A key that no other record has."""
    return f"odd-{document['number']:06d}".encode()


POISON: Final[Mapping[str, Maker]] = {
    "invalid-json": lambda document, _: (own_key(document), orjson.dumps(document)[:-1]),
    "mapping-conflict": lambda document, _: (own_key(document), orjson.dumps({**document, "price": "much"})),
    "empty-value": lambda document, _: (own_key(document), b""),
    "not-an-object": lambda document, _: (own_key(document), orjson.dumps([document])),
    "no-key": lambda document, _: (None, orjson.dumps(document)),
    "empty-key": lambda document, _: (b"", orjson.dumps(document)),
    "long-key": lambda document, _: (own_key(document) + b"k" * 600, orjson.dumps(document)),
    "huge": lambda document, _: (own_key(document), orjson.dumps({**document, "text": "x" * HUGE_BYTES})),
}
"""Records that a cluster refuses, or that not every pipeline takes."""

UNUSUAL: Final[Mapping[str, Maker]] = {
    "pretty-printed": lambda document, _: (own_key(document), orjson.dumps(document, option=orjson.OPT_INDENT_2)),
    "numbers": lambda document, _: (
        own_key(document),
        orjson.dumps({**document, "whole": 9_007_199_254_740_993, "small": 1.5e-9, "yes": True, "none": None}),
    ),
    "deep": lambda document, _: (own_key(document), orjson.dumps({**document, "deep": [{"a": [[1, {"b": {}}]]}]})),
    "key-of-512-bytes": lambda document, _: (own_key(document).ljust(512, b"k"), orjson.dumps(document)),
    "key-of-any-text": lambda document, _: (
        f'책/\\"#?%20 é{document["number"]}'.encode(),
        orjson.dumps(document),
    ),
    "of-20-kB": lambda document, _: (own_key(document), orjson.dumps({**document, "text": "y" * 20_000})),
}
"""Records that every cluster stores."""


def waves(seed: int, *, deletes: bool, odd: tuple[str, ...] = ()) -> Iterator[list[Sent]]:
    """Records in waves; the same for the same arguments.

    Args:
        deletes: Whether some records are tombstones.
        odd: Names of records of `POISON` and `UNUSUAL`, of which every fourth wave has one each.
    """
    draw, number = random.Random(seed), 0  # noqa: S311 - a history that can be repeated
    for wave in range(WAVES):
        records = []
        wanted: list[str] = [""] * RECORDS_OF_A_WAVE
        for name in odd if wave % ODD_EVERY_WAVES == 1 else ():
            wanted.insert(draw.randrange(len(wanted)), name)
        for name in wanted:
            # A lost update may be hidden by a later one; that of a key which comes once is not.
            key = f"key-{draw.choice((draw.randrange(KEYS), KEYS + number))}".encode()
            document = _document(seed, number, draw)
            mark = str(document["mark"])
            if name:
                of_key, value = {**POISON, **UNUSUAL}[name](document, key)
                records.append(Sent(number, mark, of_key, value, odd=name in POISON))
            else:
                is_delete = deletes and draw.randrange(DELETE_ONE_IN) == 0
                # Its key is in the document, too: some pipelines read no keys.
                value = orjson.dumps({"key": key.decode(), **document})
                records.append(Sent(number, mark, key, None if is_delete else value))
            number += 1
        yield records


class Sender:
    """Sends records and keeps them with the places that they got."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.sent: list[Sent] = []
        self._topic = topic
        self._problems: list[str] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.max.bytes": MOST_MESSAGE_BYTES,
                "linger.ms": 5,
                "log_level": 0,
            }
        )

    def send(self, records: list[Sent]) -> None:
        """Send records and wait until the broker has them.

        Raises:
            StackError: It refuses one.
        """
        for record in records:

            def note(error: KafkaError | None, message: Message, record: Sent = record) -> None:
                if error is not None:
                    self._problems.append(error.str())
                    return
                at = replace(record, partition=message.partition() or 0, offset=message.offset() or 0)
                self.sent.append(at)

            self._producer.produce(self._topic, record.value, record.key, on_delivery=note)
        if self._producer.flush(FLUSHED_WITHIN_S) or self._problems:
            raise StackError(f"topic {self._topic}: a record was not accepted ({'; '.join(self._problems[:1])})")
