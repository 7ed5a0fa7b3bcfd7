"""Redaction of records before they are written: by field, keyed, so that equal values stay equal.

`hash` makes 32 hexadecimal digits of a value (HMAC-SHA256). `shape` exchanges letters for letters and digits for
digits by a permutation of all texts of the same shape, so that different values stay different, and numbers keep their
number of digits and the integer type that they fit into. `drop` leaves the field out. What a path leads to is redacted
down to its leaves; `null` stays.

Source of the permutation: J. Black and P. Rogaway, "Ciphers with Arbitrary Finite Domains" (CT-RSA 2002), a Feistel
network with cycle walking; ten rounds, as NIST SP 800-38G has them.
"""

import hmac
import json
import re
import sys
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, Final, Literal

import orjson

from producers.datasets.source.slice import SliceRecord
from producers.json_values import dumped, loaded

Action = Literal["hash", "shape", "drop"]
KEY: Final = "_key"
HEADER: Final = "_header."
OCTETS: Final = "".join(map(chr, range(256)))
ROUNDS: Final = 10
HASH_DIGITS: Final = 32
MOST: Final = sys.float_info.max
BLOCK: Final = 64
"""Characters that share all but the last byte of their UTF-8."""
PIECE: Final = 64
"""Characters permuted together: half of 64 bytes is what one HMAC covers."""
INTEGER_BITS: Final = (7, 15, 31, 63, 64)
DIGITS: Final = [10**digits for digits in range(1, 20)]
WHOLE_TYPES: Final = tuple(sorted([*DIGITS, *(1 << bits for bits in INTEGER_BITS)]))
"""Where a whole number gets another digit, or no longer fits into byte, short, integer, long, unsigned long."""
NEGATIVE_TYPES: Final = tuple(sorted([*DIGITS, *((1 << bits) + 1 for bits in INTEGER_BITS)]))
"""The same for the amounts of negative ones, of which each type has one more."""
PARTS: Final = (re.compile(r'[^\s:|/,;=#"{}\[\]]+'), re.compile(r"[^\W_]+"))
"""Of a key or header that is made of several values."""
SHORTEST_PART: Final = 4
"""Characters; shorter texts stand in a key or header by chance."""


@dataclass(frozen=True)
class Rule:
    """What is done with the values of a field, of the key, or of a header.

    Attributes:
        path: Dotted, through arrays; `_key`; or `_header.NAME`.
    """

    action: Action
    path: str

    @property
    def is_of_value(self) -> bool:
        """True for a field of the value."""
        return self.path != KEY and not self.path.startswith(HEADER)


@dataclass
class Redaction:
    """Applies rules to one record after the other.

    Attributes:
        secret: Key of hashes and permutations.
        times: How often each rule was applied.
        left_out: Records that are not written, because their value is no JSON object whose fields could be redacted.
        beside: How often the value of a rule's field was in the record's key or a header, too, which no rule redacts:
            by rule and `_key` or `_header.NAME`.
    """

    rules: Sequence[Rule]
    secret: bytes
    times: Counter[Rule] = field(default_factory=Counter)
    left_out: int = 0
    beside: Counter[tuple[Rule, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._of_values = [rule for rule in self.rules if rule.is_of_value]
        self._of_keys = [rule for rule in self.rules if rule.path == KEY]
        self._paths = {rule.path for rule in self.rules}
        # The cache is this redaction's own, so that no secret outlives it.
        self._texts: dict[str, frozenset[str]] = {}
        self._shaped = lru_cache(maxsize=1 << 16)(self._shape_text)
        self._hashed = lru_cache(maxsize=1 << 16)(self._hash_text)

    @property
    def unused(self) -> list[Rule]:
        """Rules whose field never occurred."""
        return [rule for rule in self.rules if not self.times[rule]]

    def apply(self, record: SliceRecord) -> SliceRecord | None:
        """The record as it may be written; `None` for one that may not, because its value cannot be redacted."""
        value = record.value
        if value is not None and self._of_values:
            parsed = json_object(value)
            if parsed is None:
                self.left_out += 1
                return None
            self._texts = {
                place: texts_in(content, SHORTEST_PART * (place != KEY))
                for place, content in ((KEY, record.key), *((HEADER + name, held) for name, held in record.headers))
                if content and place not in self._paths
            }
            for rule in self._of_values:
                self._apply_to(parsed, rule.path.split("."), rule)
            value = in_order(parsed)
        key = record.key
        for rule in self._of_keys:
            key = self._bytes(key, rule)
        return record._replace(key=key, value=value, headers=tuple(self._headers(record.headers)))

    def _headers(self, headers: Iterable[tuple[str, bytes | None]]) -> Iterable[tuple[str, bytes | None]]:
        for name, value in headers:
            rule = next((rule for rule in self.rules if rule.path == HEADER + name), None)
            if rule is None:
                yield name, value
            elif (redacted := self._bytes(value, rule)) is not None or rule.action != "drop":
                yield name, redacted

    def _bytes(self, content: bytes | None, rule: Rule) -> bytes | None:
        """A key or header: the leaves of a JSON object, or else the whole as text or as bytes."""
        self.times[rule] += content is not None
        if content is None or rule.action == "drop":
            return None
        if (parsed := json_object(content)) is not None:
            self._texts = {}
            return in_order(self._leaves(parsed, rule))
        try:
            text = content.decode()
        except UnicodeDecodeError:
            if rule.action == "hash":
                return self._digest(content).encode()
            octets = content.decode("latin-1")
            return "".join(self._mixed(octets, [OCTETS] * len(octets))).encode("latin-1")
        return (self._hashed if rule.action == "hash" else self._shaped)(text).encode()

    def _apply_to(self, within: Any, path: Sequence[str], rule: Rule) -> None:
        """Redact what a path leads to; a name with dots in it stands for several names, as it does in an index."""
        if isinstance(within, list):
            for each in within:
                self._apply_to(each, path, rule)
            return
        if not isinstance(within, dict):
            return
        for length in range(1, len(path) + 1):
            name = ".".join(path[:length])
            if name not in within:
                continue
            if length < len(path):
                self._apply_to(within[name], path[length:], rule)
                continue
            self.times[rule] += 1
            redacted = self._leaves(within[name], rule)
            if rule.action == "drop":
                del within[name]
            else:
                within[name] = redacted

    def _leaves(self, value: Any, rule: Rule) -> Any:
        """A value with each of its leaves redacted."""
        if isinstance(value, dict):
            return {name: self._leaves(each, rule) for name, each in value.items()}
        if isinstance(value, list):
            return [self._leaves(each, rule) for each in value]
        if value is None:
            return None
        text = value if isinstance(value, str) else dumped(value).decode()
        if not isinstance(value, bool):
            self.beside.update((rule, place) for place, texts in self._texts.items() if text in texts)
        if rule.action == "hash":
            return self._hashed(text)
        return self._shape(value, text)

    # --- hash -------------------------------------------------------------------------------------------------------

    def _hash_text(self, text: str) -> str:
        return self._digest(text.encode(errors="surrogatepass"))

    def _digest(self, content: bytes) -> str:
        return hmac.digest(self.secret, b"hash" + content, "sha256").hex()[:HASH_DIGITS]

    # --- shape ------------------------------------------------------------------------------------------------------

    def _shape(self, value: object, text: str) -> object:
        if isinstance(value, bool):
            return bool(self._permuted(int(value), 2, b"boolean"))
        if isinstance(value, int):
            low, high = whole_range(value)
            shaped = low + self._permuted(abs(value) - low, high - low, b"whole %d" % low)
            return -shaped if value < 0 else shaped
        if isinstance(value, float):
            return max(-MOST, min(MOST, float(self._decimal(text))))
        return self._shaped(text)

    def _decimal(self, text: str) -> str:
        """A decimal with as many digits before and after its point; zeros at its ends and the exponent stay."""
        number, exponent, power = text.partition("e")
        digits = [digit for digit in number if digit.isdigit()]
        ends = {0, len(digits) - 1}
        classes = [
            digit if digit == "0" and place in ends else "123456789" if place in ends else "0123456789"
            for place, digit in enumerate(digits)
        ]
        shaped = iter(self._mixed(digits, classes))
        return "".join(next(shaped) if each.isdigit() else each for each in number) + exponent + power

    def _shape_text(self, text: str) -> str:
        return "".join(self._mixed(text, [alike(character) for character in text]))

    def _mixed(self, characters: Sequence[str], classes: Sequence[str]) -> Sequence[str]:
        """The characters, each one of its class, by a permutation of all such texts, a piece after the other.

        The permutation of a piece depends on the pieces before it.
        """
        mixed: list[str] = []
        before = b""
        for first in range(0, len(characters), PIECE):
            piece, of = characters[first : first + PIECE], classes[first : first + PIECE]
            number = 0
            for character, each in zip(piece, of, strict=True):
                number = number * len(each) + each.index(character)
            domain = "\n".join(of).encode(errors="surrogatepass")
            number = self._permuted(number, prod(map(len, of)), before + domain)
            shaped = []
            for each in reversed(of):
                number, place = divmod(number, len(each))
                shaped.append(each[place])
            mixed += shaped[::-1]
            before = hmac.digest(self.secret, before + "".join(piece).encode(errors="surrogatepass"), "sha256")
        return mixed

    def _permuted(self, number: int, size: int, domain: bytes) -> int:
        """Another number below `size`, by a permutation of its own for each domain."""
        half = max(1, -(-(size - 1).bit_length() // 2))
        mask, tweak = (1 << half) - 1, hmac.digest(self.secret, b"shape" + domain, "sha256")
        while size > 1:
            left, right = number >> half, number & mask
            for turn in range(ROUNDS):
                made = hmac.digest(tweak, b"%d %d" % (turn, right), "sha256")
                left, right = right, left ^ (int.from_bytes(made, "big") & mask)
            number = left << half | right
            if number < size:
                break
        return number


@lru_cache(maxsize=1 << 12)
def alike(character: str) -> str:
    """Characters that may stand for one: letters and numbers of its category beside it; anything else is kept."""
    category = unicodedata.category(character)
    if category[0] not in "LN":
        return character
    first = ord(character) // BLOCK * BLOCK
    return "".join(other for other in map(chr, range(first, first + BLOCK)) if unicodedata.category(other) == category)


def whole_range(number: int) -> tuple[int, int]:
    """First and one past the last amount, from 0, with as many digits that fits the same integer types."""
    types = NEGATIVE_TYPES if number < 0 else WHOLE_TYPES
    place = bisect_right(types, abs(number))
    return (0, *types)[place], types[place]


def texts_in(content: bytes, shortest: int) -> frozenset[str]:
    """A key or header as text, the values of its JSON object, and its parts; none shorter than so many characters."""
    text = content.decode(errors="replace")
    parts = {part for pattern in PARTS for part in pattern.findall(text) if len(part) >= SHORTEST_PART}
    whole = {text, *leaves_of(json_object(content))}
    return frozenset(parts | {each for each in whole if len(each) >= max(1, shortest)})


def leaves_of(value: object) -> Iterator[str]:
    """Texts and numbers within a JSON value, as text."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from leaves_of(each)
    elif value is not None:
        yield value if isinstance(value, str) else dumped(value).decode()


def in_order(value: object) -> bytes:
    """A value as JSON, names in the order in which they were read."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def json_object(content: bytes) -> dict[str, Any] | list[Any] | None:
    """The JSON object, or array of objects, of a value; `None` for anything else."""
    try:
        parsed = orjson.loads(content)
    except orjson.JSONDecodeError:
        try:
            parsed = loaded(content)
            # What is beyond a double cannot be written again.
            json.dumps(parsed, allow_nan=False)
        except ValueError:
            return None
    objects = parsed if isinstance(parsed, list) else [parsed]
    return parsed if objects and all(isinstance(each, dict) for each in objects) else None
