"""Kinds of values of one field, on a first day and on a second one that differs as days do."""

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import Any, Literal

import orjson

Sort = Literal["number", "time", "address", "flag", "word", "text", "place", "objects", "anything"]
START = datetime(2026, 11, 25, tzinfo=UTC)
KOREAN = ("바다", "이야기", "사람", "하늘", "읽는")
WORDS = ("please", "leave", "the", "parcel", "at", "door", "of", "a", "neighbour")


@dataclass(frozen=True)
class Raw:
    """A value as it is written in JSON, such as `1.10` or `1e3`."""

    text: str


@dataclass(frozen=True)
class Value:
    """A value of a field.

    Attributes:
        json: As the document has it; `None` where the document lacks the field.
        means: Its meaning: a number, milliseconds since 1970, an address, the numbers in objects; `None` for odd ones.
    """

    json: Any
    means: Any = None

    @property
    def texts(self) -> list[str]:
        """Its values as a keyword has them, those of arrays one by one; without objects and nulls."""
        return [each if isinstance(each, str) else json_of(each).decode() for each in scalars(self.json)]


def scalars(of: Any) -> Iterator[Any]:
    """The values in an array, or the only one; without objects and nulls."""
    if isinstance(of, list):
        for each in of:
            yield from scalars(each)
    elif not (of is None or isinstance(of, dict) or of == NULL):
        yield of


def json_of(of: Any) -> bytes:
    """The text of a value in a document."""
    return orjson.dumps(of, lambda raw: orjson.Fragment(raw.text.encode()), orjson.OPT_PASSTHROUGH_DATACLASS)


NULL = Raw("null")


ABSENT = Value(None)
Draw = Callable[[Random, int], Value]
"""A value of a day, 1 or 2."""


def number(of: float) -> Value:
    """A number that means itself."""
    return Value(of, of)


# --- kinds: what a function decides stays the same on both days ------------------------------------------------------


def counts(same: Random) -> Draw:
    """Whole numbers that grow a hundredfold."""
    most = same.choice((3, 50, 1000, 10**6))
    return lambda random, day: number(random.randrange(most * (100 if day == 2 else 1)))


def amounts(same: Random) -> Draw:
    """Amounts that are whole on the first day, and of which a few are not on the second."""
    step = same.choice((1, 10, 500))
    return lambda random, day: number(
        random.randrange(100) * step + (0.5 if day == 2 and random.random() < 0.05 else 0)
    )


def prices(same: Random) -> Draw:
    """Prices of one decimal on the first day, and of two or three on the second."""
    later = same.choice((2, 3))
    return lambda random, day: number(round(random.uniform(1, 100), 1 if day == 1 else later))


def ratios(same: Random) -> Draw:
    """Decimals of up to six significant digits, and of more on the second day."""
    scale = same.choice((1, 1000, 10**6))
    return lambda random, day: number(round(scale * random.random(), 3 if day == 1 else 9))


def large(_: Random) -> Draw:
    """Whole numbers that a double does not give back."""
    return lambda random, _: number(random.randrange(2**53, 2**60))


def durations(_: Random) -> Draw:
    """Nanoseconds of one to four seconds, which look like seconds since 1970."""
    return lambda random, _: number(random.randrange(950_000_000, 4_100_000_000))


def shown(at: datetime, form: str, digits: int) -> str:
    """A time in a notation, whose `%F` is the fraction with so many digits, left out where it is zero."""
    fraction = f"{at.microsecond:06}000"[:digits] if digits else ""
    return at.strftime(form.replace("%F", f".{fraction}" if fraction.strip("0") else ""))


NOTATIONS = (
    ("%Y-%m-%d", 0), ("%Y-%m-%dT%H:%M:%SZ", 0), ("%Y-%m-%dT%H:%M:%S%FZ", 3), ("%Y-%m-%dT%H:%M:%S%F+00:00", 6),
    ("%Y-%m-%dT%H:%M:%S%FZ", 9), ("%Y-%m-%d %H:%M:%S", 0), ("%Y-%m-%d %H:%M:%S%F", 3), ("%Y-%m-%d %H:%M:%S%F", 6),
    ("%Y-%m-%d %H:%M:%S%F", 9), ("%Y-%m-%d %H:%M:%S%F+00", 6), ("%Y-%m-%d %H:%M:%S +0000", 0),
    ("%Y-%m-%d %H:%M:%S UTC", 0), ("%Y-%m-%d %H:%M:%SZ", 0), ("%d/%b/%Y:%H:%M:%S +0000", 0),
    ("%a, %d %b %Y %H:%M:%S +0000", 0), ("%a, %d %b %Y %H:%M:%S GMT", 0), ("%Y/%m/%d %H:%M:%S", 0), ("%Y/%m/%d", 0),
    ("%d.%m.%Y", 0),
)  # fmt: skip


def times(same: Random) -> Draw:
    """Times in one notation, of which programs leave out a fraction of zero."""
    form, digits = same.choice(NOTATIONS)

    def draw(random: Random, day: int) -> Value:
        at = START + timedelta(days=day, microseconds=random.randrange(86_400 * 10**6))
        if "%F" not in form or random.random() < 0.02:
            at = at.replace(microsecond=0)
        at = at if "%S" in form else at.replace(hour=0, minute=0, second=0)
        micros = (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        return Value(shown(at, form, digits), Decimal(micros - micros % 10 ** max(0, 6 - digits)) / 1000)

    return draw


def epochs(same: Random) -> Draw:
    """Numbers since 1970, in one unit, of which those in seconds have a fraction on some days."""
    per_second, digits = same.choice(((1, 0), (1, 3), (1000, 0), (10**6, 0), (10**9, 0)))

    def draw(random: Random, day: int) -> Value:
        second = Decimal(START.timestamp()) + 86_400 * day + Decimal(random.randrange(86_400_000)) / 1000
        value = second * per_second
        exact = round(value, digits) if digits else int(value)
        return Value(float(exact) if digits else int(exact), 1000 * Decimal(exact) / per_second)

    return draw


def addresses(same: Random) -> Draw:
    """IP addresses of either version, or of both."""
    shares = same.choice((0.0, 0.0, 0.5, 1.0))

    def draw(random: Random, _: int) -> Value:
        six = random.random() < shares
        of = IPv6Address(random.getrandbits(128) | 1 << 127) if six else IPv4Address(random.getrandbits(32))
        return Value(str(of), str(of))

    return draw


def versions(_: Random) -> Draw:
    """Versions of four parts, of which some have long parts on the second day."""
    return lambda random, day: word(
        f"10.{random.randrange(3)}.{random.choice((1, 19041) if day == 2 else (1, 2))}.{random.randrange(200)}"
    )


def word(of: object) -> Value:
    """A value that is looked up, by its text."""
    return Value(of, str(of))


def numbers_of_things(same: Random) -> Draw:
    """Numbers that identify, which grow on the second day."""
    start = same.choice((1, 1000, 10**9))
    return lambda random, day: word(start * day + random.randrange(9 * start + 1))


def codes(same: Random) -> Draw:
    """Hexadecimal or decimal digits, links, or digits that begin with zeros."""
    form = same.choice(("{:032x}", "{:08x}", "{:012}", "https://example.com/{:x}"))
    return lambda random, _: word(form.format(random.getrandbits(32)))


def categories(same: Random) -> Draw:
    """Words that repeat, with new ones on the second day."""
    names = ["".join(same.choices(string.ascii_lowercase, k=6)) for _ in range(20)]
    return lambda random, day: word(random.choice(names[: 8 if day == 1 else 20]))


def flags(same: Random) -> Draw:
    """Booleans, as JSON has them or as text."""
    is_text = same.random() < 0.5

    def draw(random: Random, _: int) -> Value:
        flag = random.random() < 0.5
        return Value(str(flag).lower() if is_text else flag, flag)

    return draw


def texts(same: Random) -> Draw:
    """Sentences, of which some are long on the second day."""
    words = WORDS + KOREAN if same.random() < 0.5 else WORDS
    return lambda random, day: word(
        " ".join(random.choices(words, k=random.randrange(6, 2000 if day == 2 and random.random() < 0.02 else 20)))
    )


def places(same: Random) -> Draw:
    """Latitude and longitude, as an object or as text."""
    is_text = same.random() < 0.5

    def draw(random: Random, _: int) -> Value:
        lat, lon = round(random.uniform(-80, 80), 4), round(random.uniform(-170, 170), 4)
        return Value(f"{lat:.4f},{lon:.4f}" if is_text else {"lat": lat, "lon": lon}, (lat, lon))

    return draw


def objects(same: Random) -> Draw:
    """Objects in arrays or alone, with a number that grows, and a further field on the second day."""
    most = same.choice((1, 4))

    def draw(random: Random, day: int) -> Value:
        numbers = [random.randrange(100 * 1000 ** (day - 1)) for _ in range(random.randrange(1, most + 1))]
        made = [{"n": n, "kind": random.choice("abc"), **({"new": n} if day == 2 else {})} for n in numbers]
        return Value(made if most > 1 else made[0], numbers)

    return draw


ORDINARY: Mapping[str, tuple[Sort, Callable[[Random], Draw], tuple[str, ...]]] = {
    "counts that grow": ("number", counts, ("views", "item_count", "n", "stock", "pages")),
    "amounts, later with decimals": ("number", amounts, ("amount", "total", "price", "value", "points", "x")),
    "prices, later of more decimals": ("number", prices, ("price", "unit_price", "cost", "x")),
    "decimals, later of more digits": ("number", ratios, ("ratio", "x", "rating")),
    "numbers beyond 2^53": ("number", large, ("hash", "offset")),
    "durations in nanoseconds": ("number", durations, ("response_time", "took_time", "elapsed")),
    "times in 19 notations": ("time", times, ("timestamp", "created", "at", "x")),
    "times since 1970": ("time", epochs, ("timestamp", "created_at", "time", "ts")),
    "addresses": ("address", addresses, ("client_ip", "peer", "x")),
    "versions of four parts": ("word", versions, ("agent_version", "agent", "os_build")),
    "identifying numbers": ("word", numbers_of_things, ("order_id", "sku", "zip")),
    "codes and links": ("word", codes, ("token", "link", "x")),
    "categories": ("word", categories, ("city", "status", "x")),
    "flags": ("flag", flags, ("active", "x")),
    "texts": ("text", texts, ("note", "title")),
    "places": ("place", places, ("place", "x")),
    "objects": ("objects", objects, ("items", "x")),
}
