"""JSON values as Elasticsearch takes them, which is more than `orjson` reads."""

import json
import re
from typing import Any, Final, NoReturn

import orjson

JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
WHOLE_NUMBERS: Final = range(-(1 << 63), 1 << 64)


def loaded(text: bytes) -> Any:
    r"""The value of a JSON text; whole numbers beyond 64 bits are doubles.

    Elasticsearch takes half a surrogate pair in an escape (`"\ud800"`) and, in fields that are not indexed as numbers,
    numbers beyond a double; `orjson` refuses both.

    Raises:
        orjson.JSONDecodeError: It is no JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:
            return json.loads(text.decode(), parse_int=_number, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            raise error from None


def dumped(value: object) -> bytes:
    """A value as JSON, names in order; what `loaded` gives can be written, too."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True).encode()


def _number(digits: str) -> int | float:
    number = float(digits)
    return int(digits) if abs(number) < 1e20 and int(digits) in WHOLE_NUMBERS else number


def refuse_constant(constant: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's own parser takes.

    Raises:
        ValueError: Always.
    """
    raise ValueError(constant)
