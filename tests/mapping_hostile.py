"""Kinds of values that nobody expects: mixed notations, units that change, values that become objects."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import Any
from uuid import UUID

from tests.mapping_kinds import ABSENT, NULL, START, Draw, Raw, Sort, Value, number, word

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = ("x", "a field", "größe", "@x", "X-Y", "geo.x", "a.b.c", "_x")
"""Names that tell nothing, some of which are paths."""


def raw_number(text: str) -> Value:
    """A number in a notation of JSON."""
    return Value(Raw(text), float(text))


def one_of(*draws: Callable[[Random], object]) -> Callable[[Random], Draw]:
    """Words of a notation that stays the same on both days, of several ones."""

    def choose(same: Random) -> Draw:
        draw = same.choice(draws)
        return lambda random, _: word(draw(random))

    return choose


def mixed(*draws: Callable[[Random], object]) -> Callable[[Random], Draw]:
    """Words of several notations, on both days."""
    return lambda _: lambda random, _: word(random.choice(draws)(random))


# --- numbers --------------------------------------------------------------------------------------------------------


def equal_prices(_: Random) -> Draw:
    """Prices of six digits, which look like identifiers, and get decimals on the second day."""
    return lambda random, day: number(random.randrange(10**5, 10**6) + (0.5 if day == 2 else 0))


def exponents(same: Random) -> Draw:
    """Numbers with exponents."""
    digits = same.choice((0, 3))
    return lambda random, day: raw_number(f"{random.random() * 10 ** (3 * day):.{digits}{random.choice('eE')}}")


def beyond_long(_: Random) -> Draw:
    """Whole numbers, of which some are beyond 64 bits on the second day."""
    return lambda random, day: raw_number(
        str(random.randrange(2**40, random.choice((2**62, 2**65, 10**25)) if day == 2 else 2**62))
    )


def beyond_double(_: Random) -> Draw:
    """Decimals, and on the second day also whole numbers that a double does not give back."""
    return lambda random, day: (
        number(random.randrange(2**53, 2**60))
        if day == 2 and random.random() < 0.1
        else number(round(random.random(), 2))
    )


def whole_as_decimals(_: Random) -> Draw:
    """Whole numbers, written with a zero behind the point on the second day; some are negative."""
    return lambda random, day: raw_number(f"{random.randrange(-50, 50)}{'.0' if day == 2 else ''}")


def lists_of_numbers(same: Random) -> Draw:
    """Arrays of numbers, or of vectors as long as another."""
    size = same.choice((2, 3, 16))
    return lambda random, _: several([round(random.uniform(-1, 1), 6) for _ in range(size)])


def several(of: list[float]) -> Value:
    """Numbers that mean themselves."""
    return Value(of, of)


def numbers_later_text(_: Random) -> Draw:
    """Numbers, some of which are text on the second day."""
    return lambda random, day: (
        Value(str(random.randrange(100))) if day == 2 and random.random() < 0.2 else number(random.randrange(100))
    )


# --- times ----------------------------------------------------------------------------------------------------------


def moment(random: Random, day: int) -> datetime:
    """A second of a day."""
    return START + timedelta(days=day, seconds=random.randrange(86_400))


def instant(json: Any, at: datetime) -> Value:
    """A time, and what it means."""
    return Value(json, Decimal((at - EPOCH) // timedelta(microseconds=1)) / 1000)


def iso_and_numbers(same: Random) -> Draw:
    """ISO 8601 beside seconds or milliseconds since 1970."""
    unit = same.choice((1, 1000))

    def draw(random: Random, day: int) -> Value:
        at = moment(random, day)
        return instant(at.isoformat() if random.random() < 0.5 else int(at.timestamp()) * unit, at)

    return draw


def iso_later_numbers(same: Random) -> Draw:
    """ISO 8601, and on the second day some numbers since 1970."""
    unit = same.choice((1, 1000))

    def draw(random: Random, day: int) -> Value:
        at = moment(random, day)
        return Value(int(at.timestamp()) * unit) if day == 2 and random.random() < 0.2 else instant(at.isoformat(), at)

    return draw


def unit_changes(same: Random) -> Draw:
    """Seconds since 1970 that become milliseconds on the second day, or the other way."""
    units = same.choice(((1, 1000), (1000, 1)))

    def draw(random: Random, day: int) -> Value:
        at = moment(random, day)
        return instant(int(at.timestamp()) * units[day - 1], at)

    return draw


def numbers_as_text(same: Random) -> Draw:
    """Numbers since 1970, as text on the second day."""
    unit = same.choice((1, 1000))

    def draw(random: Random, day: int) -> Value:
        at = moment(random, day)
        value = int(at.timestamp()) * unit
        return instant(str(value) if day == 2 else value, at)

    return draw


ISO = ("%Y-%m-%d", "%Y-%m", "%Y", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S,5", "%Y-%m-%dT%H:%M:%S.25%z")


def iso_later_other(_: Random) -> Draw:
    """ISO 8601 to the second in UTC, and on the second day with other fields, fractions and zones."""

    def draw(random: Random, day: int) -> Value:
        at = moment(random, day)
        if day == 1 or random.random() < 0.5:
            return instant(at.strftime("%Y-%m-%dT%H:%M:%SZ"), at)
        form, zone = random.choice(ISO), timezone(timedelta(hours=random.choice((-8, 0, 5.5, 9))))
        text = at.astimezone(zone if "%z" in form else UTC).strftime(form)
        least: Mapping[str, Any] = {
            "%Y": {"month": 1, "day": 1, "hour": 0},
            "%Y-%m": {"day": 1, "hour": 0},
            "%Y-%m-%d": {"hour": 0},
        }
        cut = at.replace(**least.get(form, {}))
        cut = cut if "%S" in form else cut.replace(second=0, minute=cut.minute if "%M" in form else 0)
        return instant(text, cut + timedelta(milliseconds=500 if ",5" in form else 250 if ".25" in form else 0))

    return draw


def far_dates(_: Random) -> Draw:
    """ISO 8601, and on the second day the dates that programs write for never and always."""
    far = ("0001-01-01T00:00:00", "9999-12-31T23:59:59", "1970-01-01T00:00:00", "1899-12-30T00:00:00")

    def draw(random: Random, day: int) -> Value:
        at = moment(random, day)
        if day == 2 and random.random() < 0.1:
            at = datetime.fromisoformat(random.choice(far)).replace(tzinfo=UTC)
        return instant(at.isoformat().replace("+00:00", "Z"), at)

    return draw


def text_of(form: str) -> Callable[[Random], str]:
    """A time in a notation of `strftime`."""
    return lambda random: moment(random, 1).strftime(form)


dates_as_words = one_of(
    *map(text_of, (
        "%m/%d/%Y", "%m/%d/%y", "%d-%m-%Y", "%Y%m%d", "%Y%m%dT%H%M%SZ", "%Y-W%W-%u", "%Y-%j", "%H:%M:%S", "%I:%M %p",
        "%a %b %d %H:%M:%S %Y", "%b %d, %Y", "%B %d, %Y %I:%M %p", "%Y년 %m월 %d일", "%Y-%m-%d %H:%M:%S CET",
        "%Y-%m-%dT%H:%M:%S[Europe/Berlin]", "%Y-%m-%dt%H:%M:%Sz", "%Y", "Q4 %Y", "%s", "%Y%m%d%H%M%S",
    )),
)  # fmt: skip


def digits_of_days(same: Random) -> Draw:
    """Days or years as numbers: 20261127, 2026."""
    form = same.choice(("%Y%m%d", "%Y", "%y%m%d", "%Y%m%d%H%M", "%Y%m"))
    return lambda random, day: number(int((START + timedelta(days=day + random.randrange(90))).strftime(form)))


# --- addresses ------------------------------------------------------------------------------------------------------


def four(random: Random) -> str:
    """An IPv4 address."""
    return str(IPv4Address(random.getrandbits(32)))


def six(random: Random) -> str:
    """An IPv6 address, in short."""
    return str(IPv6Address(random.getrandbits(128) | 1 << 127))


def addresses_later(same: Random) -> Draw:
    """Addresses, and on the second day others: with ports, with zones, IPv4 within IPv6, in capitals and in full."""
    later = same.choice(("port", "zone", "mapped", "full"))

    def draw(random: Random, day: int) -> Value:
        v4, v6 = IPv4Address(random.getrandbits(32)), IPv6Address(random.getrandbits(128) | 1 << 127)
        if day == 1 or random.random() < 0.5:
            return Value(str(v4), str(v4))
        return {
            "port": Value(f"{v4}:80"),
            "zone": Value(f"{v6}%eth0", f"{v6}%eth0"),
            "mapped": Value(f"::ffff:{v4}", str(v4)),
            "full": Value(v6.exploded.upper(), str(v6)),
        }[later]

    return draw


address_like = one_of(
    lambda random: f"{four(random)}:{random.randrange(65536)}",
    lambda random: f"[{six(random)}]:443",
    lambda random: f"{random.randrange(256)}.0.0.0/8",
    lambda random: f"fe80::{random.getrandbits(16):x}%eth0",
    lambda random: ":".join(f"{random.getrandbits(8):02x}" for _ in range(6)),
    lambda random: ":".join(f"{random.getrandbits(8):02x}" for _ in range(8)),
    lambda random: f"1.3.6.1.4.1.{random.randrange(9999)}",
)

# --- words ----------------------------------------------------------------------------------------------------------

identifiers = one_of(
    lambda random: str(UUID(int=random.getrandbits(128))),
    lambda random: f"{{{str(UUID(int=random.getrandbits(128))).upper()}}}",
    lambda random: UUID(int=random.getrandbits(128)).urn,
    lambda random: f"0x{random.getrandbits(64):x}",
    lambda random: f"{random.getrandbits(96):024x}",
    lambda random: f"{random.randrange(10**6):06}",
    lambda random: f"DE{random.randrange(10**20):020}",
    lambda random: " ".join(f"{random.randrange(10**4):04}" for _ in range(4)),
    lambda random: "".join(random.choices("0123456789bcdefghjkmnpqrstuvwxyz", k=8)),
    lambda random: random.randrange(10**12, 10**13),
)

phones = one_of(
    lambda random: f"+49 30 {random.randrange(10**6):06} {random.randrange(100)}",
    lambda random: f"030-{random.randrange(10**7):07}",
    lambda random: f"(030) {random.randrange(10**4)} {random.randrange(10**4)}",
    lambda random: f"+8210{random.randrange(10**8):08}",
    lambda random: 4930000000 + random.randrange(10**7),
)

amounts_as_words = one_of(
    lambda random: f"{random.randrange(1000)},{random.randrange(100):02}",
    lambda random: f"{random.randrange(1, 9)}.{random.randrange(1000):03},{random.randrange(100):02}",
    lambda random: f"€{random.uniform(1, 99):.2f}",
    lambda random: f"${random.uniform(1000, 9999):,.2f}",
    lambda random: f"{random.uniform(1, 99):.2f} EUR",
    lambda random: f"₩{random.randrange(10**6):,}",
    lambda random: f"{random.randrange(100)}%",
    lambda random: f"{random.uniform(1, 99):.1f} km / h",
    lambda random: f"{random.uniform(-9, 99):.2f}",
    lambda random: f"{random.randrange(99)}e{random.randrange(9)}",
    lambda random: f"{random.randrange(9)}/{random.randrange(1, 9)}",
    lambda random: f"PT{random.randrange(9)}H{random.randrange(60)}M",
    lambda random: f"{random.randrange(99)} x {random.randrange(99)} x {random.randrange(99)} cm",
)

version_words = one_of(
    lambda random: f"1.{random.randrange(20)}",
    lambda random: f"{random.randrange(3)}.{random.randrange(20)}.{random.randrange(9)}",
    lambda random: f"v{random.randrange(9)}",
    lambda random: f"1.{random.randrange(20)}.0-rc{random.randrange(9)}",
)


def version_numbers(_: Random) -> Draw:
    """Versions as numbers: 1.10 is another one than 1.1."""
    return lambda random, _: Value(Raw(text := f"1.{random.randrange(20)}"), text)


odd_words = mixed(
    lambda random: random.choice(("", " ", "\u00e9", "e\u0301", "İ", "ß", "\u200b", "a\u0000b", "'\"\\", "<b>", "{}")),
    lambda random: random.choice(("null", "NaN", "undefined", "true", "0", "None", "N/A", "-")),
    lambda random: f" {random.randrange(9)} ",
)

flags_as_words = one_of(
    *[lambda random, pair=pair: random.choice(pair) for pair in (
        ("Y", "N"), ("yes", "no"), ("True", "False"), ("TRUE", "FALSE"), ("T", "F"), ("on", "off"), ("1", "0"))],
)  # fmt: skip


def long_words(same: Random) -> Draw:
    """Words, and on the second day some that are longer than a term may be."""
    letter = same.choice(("x", "한", "\U0001f600"))
    return lambda random, day: word(
        letter * (20_000 if day == 2 and random.random() < 0.1 else random.randrange(1, 200))
    )


def tags(_: Random) -> Draw:
    """No tag, one, or several; one alone stands without an array on the second day."""

    def draw(random: Random, day: int) -> Value:
        chosen = random.sample(("red", "green", "blue", "true", "1"), random.randrange(4))
        return Value(chosen[0] if day == 2 and len(chosen) == 1 else chosen, chosen)

    return draw


# --- flags, places, objects -----------------------------------------------------------------------------------------


def flags_later_text(_: Random) -> Draw:
    """Booleans, and on the second day also as text and as numbers."""

    def draw(random: Random, day: int) -> Value:
        flag = random.random() < 0.5
        other = random.choice((Value(str(flag).lower(), flag), Value(int(flag)), Value("Y")))
        return other if day == 2 and random.random() < 0.3 else Value(flag, flag)

    return draw


def flags_as_numbers(_: Random) -> Draw:
    """0 and 1."""
    return lambda random, _: number(random.randrange(2))


def place_in(form: str, lat: float, lon: float) -> Any:
    """A place in a notation."""
    forms: Mapping[str, Any] = {
        "text": f"{lat},{lon}", "spaced": f"{lat}, {lon}", "object": {"lat": lat, "lon": lon}, "array": [lon, lat],
        "object of text": {"lat": str(lat), "lon": str(lon)}, "wkt": f"POINT ({lon} {lat})",
        "geojson": {"type": "Point", "coordinates": [lon, lat]}, "whole": f"{int(lat)},{int(lon)}",
    }  # fmt: skip
    return forms[form]


def places_later(same: Random) -> Draw:
    """Places as objects or as text, and on the second day in other notations."""
    first = same.choice(("text", "spaced", "object"))
    later = (first, "text", "object", "array", "object of text", "wkt", "geojson", "whole")

    def draw(random: Random, day: int) -> Value:
        lat, lon = round(random.uniform(-80, 80), 4), round(random.uniform(-170, 170), 4)
        return Value(place_in(first if day == 1 else random.choice(later), lat, lon), (lat, lon))

    return draw


def places_as_arrays(_: Random) -> Draw:
    """Longitude and latitude in an array, which are numbers."""
    return lambda random, _: several([round(random.uniform(-170, 170), 4), round(random.uniform(-80, 80), 4)])


def places_as_words(_: Random) -> Draw:
    """Places as WKT."""
    return lambda random, _: word(
        place_in("wkt", round(random.uniform(-80, 80), 4), round(random.uniform(-170, 170), 4))
    )


def empty_later_filled(same: Random) -> Draw:
    """Empty objects or arrays or nulls, and on the second day anything."""
    empty: Any = same.choice(({}, [], NULL, [{}], [NULL], ABSENT.json))
    later = ("text", 1, 1.5, True, {"a": 1}, [1], [{"a": 1}], "2026-11-25")
    kind = same.choice(later)
    return lambda random, day: Value(empty if day == 1 else random.choice((empty, kind, random.choice(later))))


def empty_objects_later_text(_: Random) -> Draw:
    """Empty objects, and on the second day text."""
    return lambda random, day: Value({} if day == 1 else random.choice(({}, "text")))


def values_later_objects(_: Random) -> Draw:
    """Numbers, and on the second day some objects that hold them."""
    return lambda random, day: (
        Value({"value": 1}) if day == 2 and random.random() < 0.05 else number(random.randrange(100))
    )


def words_later_objects(_: Random) -> Draw:
    """Words, and on the second day some objects that hold them."""
    return lambda random, day: (
        Value({"name": "red"}) if day == 2 and random.random() < 0.05 else word(random.choice(("red", "green")))
    )


def objects_later_values(_: Random) -> Draw:
    """Objects, and on the second day some values."""
    return lambda random, day: (
        Value(random.choice(("text", 1))) if day == 2 and random.random() < 0.05 else Value({"n": 1, "m": "x"}, [1])
    )


def dotted(_: Random) -> Draw:
    """Objects that hold another one, by a name with dots or by an object."""

    def draw(random: Random, day: int) -> Value:
        n = random.randrange(1000**day)
        return Value({"n": n, **random.choice(({"in.k": n}, {"in": {"k": n}}, {"in": None}))}, [n])

    return draw


HOSTILE: Mapping[str, tuple[Sort, Callable[[Random], Draw], tuple[str, ...]]] = {
    "prices of six digits, later with decimals": ("number", equal_prices, ("price", "gross", *NAMES)),
    "numbers with exponents": ("number", exponents, ("amount", *NAMES)),
    "whole numbers, later beyond 64 bits": ("number", beyond_long, ("counter", "bytes", *NAMES)),
    "decimals, later beyond 2^53": ("number", beyond_double, ("price", *NAMES)),
    "whole numbers, later 5.0": ("number", whole_as_decimals, ("count", "temperature", *NAMES)),
    "lists of numbers": ("number", lists_of_numbers, ("vector", *NAMES)),
    "numbers, later as text": ("number", numbers_later_text, ("n", "price", *NAMES)),
    "flags as 0 and 1": ("number", flags_as_numbers, ("active", *NAMES)),
    "days as numbers": ("number", digits_of_days, ("date", "year", "created", *NAMES)),
    "places as arrays": ("number", places_as_arrays, ("location", *NAMES)),
    "ISO 8601 and numbers since 1970": ("time", iso_and_numbers, ("timestamp", "created_at", *NAMES)),
    "ISO 8601, later numbers since 1970": ("time", iso_later_numbers, ("timestamp", *NAMES)),
    "seconds, later milliseconds, or the other way": ("time", unit_changes, ("timestamp", "created_at")),
    "numbers since 1970, later as text": ("time", numbers_as_text, ("timestamp", "ts")),
    "ISO 8601, later other fields and zones": ("time", iso_later_other, ("timestamp", *NAMES)),
    "ISO 8601, later the dates for never": ("time", far_dates, ("expires_at", *NAMES)),
    "dates as words": ("word", dates_as_words, ("date", "created", *NAMES)),
    "addresses, later in other notations": ("address", addresses_later, ("client_ip", *NAMES)),
    "words like addresses": ("word", address_like, ("peer", *NAMES)),
    "identifiers in ten notations": ("word", identifiers, ("order_id", "ref", *NAMES)),
    "phone numbers": ("word", phones, ("phone", "contact", *NAMES)),
    "amounts and units as text": ("word", amounts_as_words, ("price", "size", *NAMES)),
    "versions as text": ("word", version_words, ("version", "build", *NAMES)),
    "versions as numbers": ("word", version_numbers, ("version", "app_version", "release")),
    "odd words": ("word", odd_words, ("note", *NAMES)),
    "flags as words": ("word", flags_as_words, ("active", *NAMES)),
    "words, later very long": ("word", long_words, ("token", "message", *NAMES)),
    "tags": ("word", tags, ("tags", *NAMES)),
    "booleans, later as text and numbers": ("flag", flags_later_text, ("active", *NAMES)),
    "places, later in other notations": ("place", places_later, ("location", *NAMES)),
    "places as WKT": ("word", places_as_words, ("location", *NAMES)),
    "nothing, later anything": ("anything", empty_later_filled, NAMES),
    "empty objects, later text": ("anything", empty_objects_later_text, NAMES),
    "numbers, later objects": ("number", values_later_objects, ("price", *NAMES)),
    "words, later objects": ("word", words_later_objects, ("colour", *NAMES)),
    "objects, later values": ("objects", objects_later_values, ("item", *NAMES)),
    "objects with names with dots": ("objects", dotted, ("item", *NAMES)),
}
