"""Ids as pipelines make them of records."""

import pytest

from lab.audit.ids import NO_DOCUMENT, Record, candidates, digest, plain, rule_called
from lab.clients.kafka import Place
from lab.errors import ProfileError
from lab.replay.dead_letters import REPLAY_OF, REPLAY_VERSION
from producers.json_values import dumped
from tests.unit.messages import MakeMessage

PLACE = Place("books", 2, 17)
STRUCT = (
    b'{"schema": {"type": "struct", "fields": [{"field": "shop"}, {"field": "isbn"}]},'
    b' "payload": {"isbn": 7, "shop": "a:b"}}'
)


def record(key: bytes | None = None, value: bytes | None = b"{}", **headers: bytes) -> Record:
    """A record at that place."""
    return Record(PLACE, key, value, tuple(headers.items()), 0)


@pytest.mark.parametrize(
    ("rule", "made", "expected"),
    [
        ("key", record("책-1".encode()), "책-1"),
        ("key", record(None), None),
        ("key", record(b""), None),
        # As Java 17 made them of these bytes.
        ("key", record(b"a\xff"), "a\ufffd"),
        ("key", record(b"\xe2\x82\xed\xbf\x90\x80"), "\ufffd\ufffd\ufffd"),
        ("key", record(b"\xed\xa0z\xed\xbf"), "\ufffdz\ufffd"),
        ("json-key", record(b'"a"'), "a"),
        ("json-key", record(b"12"), "12"),
        ("json-key", record(b'{"schema": {"type": "int32"}, "payload": 5}'), "5"),
        ("json-key", record(STRUCT), "a\\:b:7"),
        ("json-key", record(b'{"isbn": 7}'), None),
        ("key:isbn", record(b'{"isbn": 7, "shop": 1}'), "7"),
        ("key:isbn,shop", record(b'{"isbn": 7}'), None),
        ("binary-key", record((1234567).to_bytes(8, "big")), "1234567"),
        ("binary-key", record((-2).to_bytes(4, "big", signed=True)), "-2"),
        ("binary-key", record(b"abc"), None),
        ("offset", record(), "books+2+17"),
        ("offset:eu-", record(), "eu-books+2+17"),
        ("field:a.b", record(value=b'{"a": {"b": 3}}'), "3"),
        ("field:a.b", record(value=b'{"a": 1}'), None),
        ("header:id", record(id=b"x"), "x"),
        ("header:id", record(), None),
    ],
)
def test_a_rule_makes_the_id_that_its_sink_makes(rule: str, made: Record, expected: str | None) -> None:
    """Of a key, an offset, a field or a header."""
    assert rule_called(rule).id_of(made) == expected


def test_a_replayed_dead_letter_has_id_and_version_of_the_record_that_was_rejected() -> None:
    """Its own place is another one."""
    made = Record(PLACE, None, b"{}", ((REPLAY_OF, b"books-1@5"), (REPLAY_VERSION, b"5")), 0)
    assert (rule_called("offset").id_of(made), made.version, record().version) == ("books+1+5", 5, 17)


def test_an_unknown_rule_is_refused_with_all_that_there_are(message: MakeMessage) -> None:
    """And one that lacks its field."""
    for name in ("keys", "field", "content:x"):
        with pytest.raises(ProfileError) as error:
            rule_called(name)
        assert str(error.value) == message(name, "field:PATH")


def test_values_are_read_without_their_envelope() -> None:
    """What is no JSON, such as Avro of a registry, is no document."""
    assert record(value=b'{"schema": null, "payload": {"a": 1}}').document == {"a": 1}
    assert record(value=b'{"schema": 1, "payload": 2, "more": 3}').document == {"schema": 1, "payload": 2, "more": 3}
    assert record(value=b"\x00\x00\x00\x00\x07abc").document is NO_DOCUMENT
    assert record(value=None).document is NO_DOCUMENT
    assert record(value=b"12").document is NO_DOCUMENT


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, True),
        (b"null", True),
        (b'{"schema": null, "payload": null}', True),
        (b'{"payload": null, "schema": {"a": null}}', True),
        (b'{"a": null}', False),
        (b"{}", False),
        (b"not null", False),
    ],
)
def test_a_null_in_an_envelope_is_a_tombstone(value: bytes | None, *, expected: bool) -> None:
    """`JsonConverter` gives the sink no value."""
    assert record(value=value).is_tombstone == expected


@pytest.mark.parametrize("version", [b"99999999999999999999999", "²".encode(), b"-1", b""])
def test_a_version_that_is_none_is_not_read(version: bytes) -> None:
    """A header may hold anything."""
    assert Record(PLACE, None, b"{}", ((REPLAY_VERSION, version),), 0).version == 17


def test_half_a_surrogate_pair_is_written_as_java_writes_it() -> None:
    """No store and no request can hold it."""
    assert rule_called("json-key").id_of(record(b'"a\\ud800"')) == "a?"


def test_a_number_is_the_same_with_and_without_decimals() -> None:
    """True is no number."""
    assert digest(dumped(plain({"a": 1.0, "b": [2.5]}))) == digest(dumped(plain({"b": [2.5], "a": 1})))
    assert plain(1e17) == 10**17
    assert isinstance(plain(1e17), int)
    assert isinstance(plain(1e20), float)
    assert digest(dumped(plain({"a": True}))) != digest(dumped(plain({"a": 1})))


def test_fields_and_headers_of_a_sample_are_tried_after_keys_and_offsets() -> None:
    """Each once."""
    sample = [record(b"k", b'{"isbn": 1}', id=b"x"), record(b"k", b'{"isbn": 2, "a.b": 1}', id=b"y")]
    names = [rule.name for rule in candidates(sample, "eu-")]
    assert names == ["key", "json-key", "binary-key", "offset:eu-", "header:id", "field:isbn"]
