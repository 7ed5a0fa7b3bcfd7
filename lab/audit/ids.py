"""Rules by which pipelines make a document's id of a record.

Sources: `DataConverter.convertKey` and `convertRecord` of confluentinc/kafka-connect-elasticsearch and of
Aiven-Open/elasticsearch-connector-for-apache-kafka: integers and strings as text, else `topic+partition+offset`, with
the offset as external version of keyed documents. Structs: `KeyFields` of our own sink.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from confluent_kafka import Message

from lab.clients.kafka import Headers, Place, as_text, headers_of, offset_id, value_bytes
from lab.errors import ProfileError
from lab.replay.dead_letters import REPLAY_OF, REPLAY_VERSION
from producers.json_values import WHOLE_NUMBERS, dumped, loaded

BINARY_BYTES = (2, 4, 8)
"""Lengths of keys of Kafka's `ShortSerializer`, `IntegerSerializer` and `LongSerializer`, big-endian."""
CONTENT = "content"
VERSION = re.compile("[0-9]{1,18}")
NO_DOCUMENT = object()
"""Stands for a value that is no JSON, such as Avro or Protobuf of a schema registry."""


@dataclass(frozen=True)
class Record:
    """A record as Kafka has it."""

    place: Place
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int

    @classmethod
    def of(cls, message: Message) -> "Record":
        """The record in a message."""
        key, value = value_bytes(message.key()), value_bytes(message.value())
        return cls(Place.of(message), key, value, headers_of(message), message.timestamp()[1])

    def header(self, name: str) -> str | None:
        """The last header of that name as text, which is the one that Connect reads; `None` without."""
        values = [as_text(value) for each, value in self.headers if each == name]
        return values[-1] if values else None

    @property
    def version(self) -> int:
        """The version that a sink gives to a keyed document: the offset; of a replay that of its origin."""
        of_origin = self.header(REPLAY_VERSION) or ""
        return int(of_origin) if VERSION.fullmatch(of_origin) else self.place.offset

    @property
    def document(self) -> Any:
        """The object in the value, without the envelope of a `JsonConverter` with schemas; else `NO_DOCUMENT`.

        A document is an object: what a sink makes of a text or a number is not known.
        """
        value = NO_DOCUMENT if self.value is None else json_in(self.value)[0]
        return value if isinstance(value, dict) else NO_DOCUMENT

    @property
    def is_tombstone(self) -> bool:
        """Check for no value, or JSON's null, also in an envelope, of which `JsonConverter` makes none."""
        if self.value is None:
            return True
        return self.value.rstrip(b" \t\r\n}").endswith(b"null") and json_in(self.value)[0] is None


@dataclass(frozen=True)
class IdRule:
    """A rule by which ids are made.

    Attributes:
        name: As `--id` takes it.
        text: The ids in words.
        id_of: The id of a record; `None` where the rule gives none.
    """

    name: str
    text: str
    id_of: Callable[[Record], str | None]


def json_in(content: bytes) -> tuple[Any, Any]:
    """A JSON text's value and the schema that it has with it; `NO_DOCUMENT` for what is no JSON."""
    try:
        value = loaded(content)
    except orjson.JSONDecodeError:
        return NO_DOCUMENT, None
    if isinstance(value, dict) and value.keys() == {"schema", "payload"}:
        return value["payload"], value["schema"]
    return value, None


def text_of(value: object) -> str | None:
    """A single value as an id: a number in its own digits; `None` for objects, lists and nothing."""
    if isinstance(value, str):
        # Half a surrogate pair is written as Java writes it.
        return value.encode(errors="replace").decode() or None
    return dumped(value).decode() if isinstance(value, bool | int | float) else None


def key_text(record: Record) -> str | None:
    """The key itself. A sink that gets bytes which are no UTF-8 as such has no id for them, but a dead letter."""
    return as_text(record.key) or None


def json_key(record: Record) -> str | None:
    """The key's JSON value; of a struct its fields, in the order of its schema."""
    value, schema = json_in(record.key) if record.key else (None, None)
    if isinstance(value, dict):
        names = [str(field.get("field")) for field in schema["fields"]] if isinstance(schema, dict) else []
        return joined(value, names)
    return text_of(value)


def joined(value: Mapping[str, object], names: Sequence[str]) -> str | None:
    """The fields of a key as our sink joins them; `None` if one is missing."""
    texts = [text_of(value.get(name)) for name in names]
    parts = [text for text in texts if text is not None]
    if not parts or len(parts) < len(texts):
        return None
    if len(parts) == 1:
        return parts[0]
    return ":".join(part.replace("\\", "\\\\").replace(":", "\\:") for part in parts)


def key_fields(names: Sequence[str], record: Record) -> str | None:
    """These fields of a key that is a JSON object."""
    value = json_in(record.key)[0] if record.key else None
    return joined(value, names) if isinstance(value, dict) else None


def binary_key(record: Record) -> str | None:
    """The key as a whole number."""
    is_number = record.key is not None and len(record.key) in BINARY_BYTES
    return str(int.from_bytes(record.key or b"", "big", signed=True)) if is_number else None


def prefixed_offset_id(prefix: str, record: Record) -> str:
    """Topic, partition and offset; of a replayed dead letter those of the record that was rejected."""
    place = Place.parsed(record.header(REPLAY_OF) or "") or record.place
    return prefix + offset_id(place.topic, place.partition, place.offset)


def field_id(path: str, record: Record) -> str | None:
    """A field of the document."""
    value = record.document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return text_of(value)


def plain(value: Any) -> Any:
    """A JSON value in which 1.0 and 1 are one number."""
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return list(map(plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() and int(value) in WHOLE_NUMBERS else value


def digest(content: bytes) -> str:
    """128 bits of a content, as text: that two of n differ and are taken for one has a chance of n²/2¹²⁹.

    Rows outlive the process; verification keeps the 64 bits of `hash`, which is another one in each.
    """
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def rule_called(name: str) -> IdRule:
    """The rule that `--id` names; raises ProfileError if there is none of that name."""
    kind, _, of = name.partition(":")
    if kind == "offset":
        text = f"{of}topic+partition+offset"
        return IdRule(name, text, lambda record: prefixed_offset_id(of, record))
    if of and kind in {"key", "field", "header"}:
        rules: Mapping[str, tuple[str, Callable[[Record], str | None]]] = {
            "key": (f"fields of the records' keys ({of})", lambda record: key_fields(of.split(","), record)),
            "field": (f"the field {of}", lambda record: field_id(of, record)),
            "header": (f"the header {of}", lambda record: record.header(of) or None),
        }
        return IdRule(name, *rules[kind])
    if not of and name in FIXED:
        return FIXED[name]
    raise ProfileError(
        f"--id: got {name}, expected auto, key, json-key, binary-key, key:FIELD,FIELD, offset, offset:PREFIX, "
        "field:PATH, header:NAME or content"
    )


FIXED = {
    rule.name: rule
    for rule in (
        IdRule("key", "the records' keys", key_text),
        IdRule("json-key", "the records' keys, read as JSON", json_key),
        IdRule("binary-key", "the records' keys, read as numbers", binary_key),
        IdRule(CONTENT, "generated by the cluster, so that documents are compared by content", lambda _: None),
    )
}


def candidates(sample: Sequence[Record], prefix: str) -> Iterator[IdRule]:
    """Rules to try on a sample: those of keys and offsets, then each header and each field of the documents."""
    for name in ("key", "json-key", "binary-key", f"offset:{prefix}" if prefix else "offset"):
        yield rule_called(name)
    documents = [document for record in sample if isinstance(document := record.document, dict)]
    headers = dict.fromkeys(name for record in sample for name, _ in record.headers)
    fields = dict.fromkeys(name for document in documents for name in document if "." not in name)
    yield from (rule_called(f"header:{name}") for name in headers if name)
    yield from (rule_called(f"field:{name}") for name in fields if name)
