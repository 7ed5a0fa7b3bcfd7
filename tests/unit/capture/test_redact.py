"""Redaction: what it keeps of values, what it makes equal, and that a rule never does nothing unnoticed."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lab.capture.redact import Action, Redaction, Rule, whole_range
from producers.datasets.source.slice import SliceRecord

SECRET = b"a secret of sixteen bytes or more"
ACTIONS: tuple[Action, ...] = ("hash", "shape", "drop")
LEAVES = st.text(max_size=80) | st.integers(-(1 << 63), (1 << 64) - 1) | st.booleans()
JSON = st.recursive(
    LEAVES | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def rule(action: Action, path: str) -> Rule:
    """A rule."""
    return Rule(action, path)


def redacted(document: object, *rules: Rule, secret: bytes = SECRET) -> Any:
    """A document as it is written under these rules."""
    record = Redaction(rules, secret).apply(captured(json.dumps(document).encode()))
    assert record is not None
    assert record.value is not None
    return json.loads(record.value)


def captured(
    value: bytes | None, key: bytes | None = b"k", headers: tuple[tuple[str, bytes | None], ...] = ()
) -> SliceRecord:
    """A record of that value."""
    return SliceRecord(1, 0, 0, key, value, headers)


def shaped(value: object) -> Any:
    """A value under a rule that keeps its shape."""
    return redacted({"a": value}, rule("shape", "a"))["a"]


def kinds(text: str) -> str:
    """The kind of each character: digit, upper case, other letter, or the character itself."""
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"[0-9]", "0", text)))


@given(LEAVES, LEAVES)
def test_equal_values_have_equal_hashes_and_others_different_ones(one: object, other: object) -> None:
    """As text: the number 7 and the text "7" are one value, so that they can be joined."""
    first, second = (redacted({"a": value}, rule("hash", "a"))["a"] for value in (one, other))
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (one, other)]
    assert (first == second) == (texts[0] == texts[1])
    assert re.fullmatch(r"[0-9a-f]{32}", first)


@pytest.mark.parametrize("action", ["hash", "shape"])
def test_another_secret_makes_other_values(action: Action) -> None:
    """What one slice has cannot be looked up in another, unless both have one salt."""
    one, other = (redacted({"a": "Ada Lovelace 1815"}, rule(action, "a"), secret=key) for key in (SECRET, SECRET * 2))
    assert one != other


@given(st.text(alphabet="abzABZ059-@. ", max_size=150))
def test_a_text_keeps_length_and_kind_of_each_character(text: str) -> None:
    """Digits stay digits, letters letters of their case, everything else as it is."""
    assert kinds(shaped(text)) == kinds(text)


@given(st.text(max_size=150))
def test_a_text_keeps_its_size_in_bytes(text: str) -> None:
    """Of any script."""
    assert len(shaped(text).encode(errors="surrogatepass")) == len(text.encode(errors="surrogatepass"))


@pytest.mark.parametrize("text", ["{}", "{}{}", "A{}z", "가{}"])
def test_texts_of_one_shape_stay_different(text: str) -> None:
    """All of them are exchanged for each other."""
    texts = [text.replace("{}", digit, 1).replace("{}", other) for digit in "0123456789" for other in "0123456789"]
    assert len({shaped(each) for each in texts}) == len(set(texts))


@given(st.integers(-(1 << 63) + 1, (1 << 64) - 1))
@example(-115)
def test_a_whole_number_keeps_its_digits_and_its_integer_type(number: int) -> None:
    """So that an index takes it wherever it took the other one."""
    made = shaped(number)
    assert type(made) is int
    assert len(str(made)) == len(str(number))
    for bits in (7, 15, 31, 63):
        # A byte holds -128, too.
        assert (-(1 << bits) <= made < 1 << bits) == (-(1 << bits) <= number < 1 << bits)


@pytest.mark.parametrize(("first", "last"), [(0, 9), (100, 127), (128, 999), (10**9, (1 << 31) - 1)])
def test_whole_numbers_are_exchanged_within_their_range(first: int, last: int) -> None:
    """The range ends where a digit more, or a longer type, begins."""
    assert whole_range(first) == whole_range(last) == (first, last + 1)
    few = range(first, min(last, first + 100) + 1)
    made = {shaped(number) for number in few}
    assert len(made) == len(few)
    assert all(first <= number <= last for number in made)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_stays_one(number: float) -> None:
    """It never becomes a whole number, nor one that JSON does not know."""
    assert type(shaped(number)) is float


@pytest.mark.parametrize("number", [12.75, -0.5, 1234.0, 0.001])
def test_a_decimal_keeps_the_digits_around_its_point(number: float) -> None:
    """Which decide how it is stored."""
    assert kinds(str(shaped(number))) == kinds(str(number))


def test_a_truth_value_stays_one() -> None:
    """Both are kept, or both are exchanged."""
    assert {shaped(value=True), shaped(value=False)} == {True, False}


@given(JSON)
def test_arrays_and_objects_keep_their_structure(value: object) -> None:
    """Their leaves are redacted, whatever the depth, and null stays."""

    def structure(part: object) -> object:
        if isinstance(part, dict):
            return {name: structure(each) for name, each in part.items()}
        if isinstance(part, list):
            return [structure(each) for each in part]
        return type(part)

    assert structure(shaped(value)) == structure(value)


def test_a_path_leads_through_arrays_and_dotted_names() -> None:
    """An index takes `user.id` and `{"user": {"id": …}}` for one field."""
    document = {"users": [{"id": 1, "n": 1}, {"id": 2}], "users.id": 3, "a.b": [{"c": 4}, 5]}
    assert redacted(document, rule("drop", "users.id"), rule("drop", "a.b.c")) == {
        "users": [{"n": 1}, {}],
        "a.b": [{}, 5],
    }


@pytest.mark.parametrize("action", ACTIONS)
def test_no_value_of_a_redacted_field_is_left(action: Action) -> None:
    """Not in an object below it, nor in one of two names of the same text, of which a parser keeps the last."""
    value = b'{"card":{"n":"4111-1111-1111-1111"},"card":[{"n":"4222-2222-2222-2222"}],"id":1}'
    record = Redaction([rule(action, "card")], SECRET).apply(captured(value))
    assert record is not None
    assert record.value is not None
    assert b"4111" not in record.value
    assert b"4222-2222" not in record.value


@pytest.mark.parametrize(
    "value", [b"no JSON", b"\xff", b'"4111"', b"4111", b"[4111]", b"[]", b'[{"a":1},4111]', b"", b'{"card":"4111"']
)
def test_a_value_without_fields_is_not_written_under_rules(value: bytes) -> None:
    """It may hold what they are to redact."""
    redaction = Redaction([rule("hash", "card")], SECRET)
    assert redaction.apply(captured(value)) is None
    assert redaction.left_out == 1


@pytest.mark.parametrize("value", [None, b"no JSON", b"\xff"])
def test_rules_of_key_and_headers_leave_values_alone(value: bytes | None) -> None:
    """A tombstone is one under every rule."""
    record = Redaction([rule("hash", "_key"), rule("drop", "_header.user")], SECRET).apply(captured(value))
    assert record is not None
    assert record.value == value


def test_a_key_is_joined_with_the_field_that_it_was_made_of() -> None:
    """Also where the field is a number."""
    rules = [rule("hash", "_key"), rule("hash", "id")]
    record = Redaction(rules, SECRET).apply(captured(b'{"id":17}', key=b"17"))
    assert record is not None
    assert record.key is not None
    assert json.loads(record.value or b"") == {"id": record.key.decode()}


@given(st.binary(max_size=200))
def test_a_key_of_any_bytes_keeps_its_size(key: bytes) -> None:
    """Under a rule of shape."""
    record = Redaction([rule("shape", "_key")], SECRET).apply(captured(b"{}", key=key))
    assert record is not None
    assert record.key is not None
    assert len(record.key) == len(key)


def test_headers_are_redacted_by_name() -> None:
    """Each one of the name; others are kept."""
    headers = (("user", b"ada"), ("trace", b"\xff"), ("user", None), ("card", b"4111"))
    record = Redaction([rule("hash", "_header.user"), rule("drop", "_header.card")], SECRET).apply(
        captured(b"{}", headers=headers)
    )
    assert record is not None
    assert [name for name, _ in record.headers] == ["user", "trace", "user"]
    assert record.headers[0][1] != b"ada"
    assert record.headers[1:] == headers[1:3]


def test_a_rule_whose_field_never_occurs_is_known() -> None:
    """A misspelt path would leave the field as it is."""
    rules = [rule("hash", "email"), rule("drop", "e_mail"), rule("drop", "_header.user"), rule("shape", "_key")]
    redaction = Redaction(rules, SECRET)
    redaction.apply(captured(b'{"email":null}', key=None))
    assert redaction.unused == rules[1:]


@pytest.mark.parametrize(
    ("key", "header", "places"),
    [
        (b"adal", b"x", ["_key"]),
        (b'{"id":"adal","no":7}', b"x", ["_key"]),
        (b"shop/adal", b"x", ["_key"]),
        (b"user-adal", b"x", ["_key"]),
        (b"\x00\x02\x08adal\x02", b"x", ["_key"]),
        (b"k", b"user=adal", ["_header.of"]),
        (b"adalbert", b"x", []),
    ],
)
def test_a_redacted_value_that_stays_in_key_or_header_is_known(key: bytes, header: bytes, places: list[str]) -> None:
    """As the whole of it or as a part."""
    rules = [rule("drop", "user")]
    redaction = Redaction(rules, SECRET)
    redaction.apply(captured(b'{"user":{"id":"adal"}}', key, (("of", header),)))
    assert dict(redaction.beside) == {(rules[0], place): 1 for place in places}


def test_a_truth_value_that_stays_in_a_header_is_chance() -> None:
    """There are only two."""
    redaction = Redaction([rule("shape", "is_new")], SECRET)
    redaction.apply(captured(b'{"is_new":true}', headers=(("retry", b"true"),)))
    assert not redaction.beside


def test_keys_and_headers_that_have_rules_hold_nothing() -> None:
    """What they held is redacted."""
    redaction = Redaction([rule("drop", "id"), rule("hash", "_key"), rule("drop", "_header.of")], SECRET)
    redaction.apply(captured(b'{"id":"adal"}', b"adal", (("of", b"adal"),)))
    assert not redaction.beside


@pytest.mark.parametrize("number", [-128, -(1 << 15), -(1 << 31), -(1 << 63)])
def test_the_least_number_of_a_type_stays_within_it(number: int) -> None:
    """Each type has one more negative number than positive ones."""
    assert number <= shaped(number) < 0


def test_a_number_beyond_a_double_leaves_its_record_out() -> None:
    """It cannot be written again."""
    redaction = Redaction([rule("hash", "id")], SECRET)
    assert redaction.apply(captured(b'{"id":"ada","much":1e400}')) is None
    assert redaction.left_out == 1
