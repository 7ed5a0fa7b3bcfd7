"""JSON values: all that Elasticsearch takes can be read, and compared after it was read by either parser."""

import math

import orjson
import pytest

from producers.json_values import dumped, loaded


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud800"', "\ud800"),
        (rb'{"a":"x\udc00y","b":[7]}', {"a": "x\udc00y", "b": [7]}),
        (b"[1e400]", [math.inf]),
        (b"9" * 5000, math.inf),
    ],
)
def test_what_elasticsearch_takes_is_read(text: bytes, value: object) -> None:
    """Half a surrogate pair in an escape, and numbers beyond a double."""
    assert loaded(text) == value


@pytest.mark.parametrize("text", [b"NaN", b"-Infinity", b'{"a":NaN}', b'"\xff"', b"[1,]", b"", b'"a\nb"', b"'a'"])
def test_what_is_no_json_is_refused(text: bytes) -> None:
    """With the error of the usual parser."""
    with pytest.raises(orjson.JSONDecodeError):
        loaded(text)


@pytest.mark.parametrize("digits", ["7", "-7", "18446744073709551615", "-9223372036854775808", "18446744073709551616"])
def test_numbers_are_the_same_beside_half_a_surrogate_pair(digits: str) -> None:
    """Whole up to 64 bits, then doubles, so that documents of one page can be compared with others."""
    beside = loaded(rb'["\ud800",%b,%b.5]' % (digits.encode(), digits.encode()))[1:]
    assert list(map(repr, beside)) == list(map(repr, orjson.loads(f"[{digits},{digits}.5]")))


def test_what_is_read_can_be_written() -> None:
    """Names in order, whatever the order in which they came."""
    for names in (rb'"b":1,"a":"x"', rb'"b":1,"a":"\ud800"'):
        text = b"{%b}" % names
        other = b"{%b}" % b",".join(reversed(names.split(b",")))
        assert dumped(loaded(text)) == dumped(loaded(other))
