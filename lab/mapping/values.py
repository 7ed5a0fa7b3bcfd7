"""Looks of one value: a date, an address, a point, a link, a digest; and the number of words of a text."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from ipaddress import ip_address
from types import MappingProxyType

VALUES_KEPT = 10_000
"""Whose look is known: most fields have few different values, and to look at one takes microseconds."""
EPOCH_S = range(946_684_800, 4_102_444_800)
"""Seconds since 1970 of the years 2000 to 2099."""
EPOCHS: Mapping[str, range] = MappingProxyType(
    {
        unit: range(per_second * EPOCH_S.start, per_second * EPOCH_S.stop)
        for unit, per_second in (
            ("epoch_second", 1),
            ("epoch_millis", 1000),
            ("microseconds", 1000**2),
            ("nanoseconds", 1000**3),
        )
    }
)
"""Format of Elasticsearch for numbers since 1970, or the unit where it has none → the same years in it."""

LETTERS, DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")
HANGUL = re.compile(r"[\uac00-\ud7a3]")
IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
"""Letters of Japanese and Chinese, which put no spaces between words."""
IDEOGRAPHS_OF_A_WORD = 2


DAY, TIME = r"(\d{4}-\d\d-\d\d)", r"(\d\d:\d\d:\d\d)"
FRACTION = r"(\.\d{1,9})"
WEEKDAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
"""Elasticsearch 8.19.21 and 9.5.4 index a date with another day of the week than its own."""
ZONE = r"(Z|UTC|[+-]\d\d(?::?\d\d)?)"
FRACTION_FORMAT = "".join(f"[.{digits * 'S'}]" for digits in range(9, 0, -1))
"""Any number of decimals: programs leave out zeros at the end, and the whole fraction where it is zero."""
ZONE_FORMAT = "[ ][XXX][XX][X]['UTC']"
"""+09:00, +0900, +09, Z; text in quotes has no zone, which Elasticsearch takes for UTC."""


@dataclass(frozen=True)
class DateNotation:
    """A way to write dates.

    Attributes:
        format: What Elasticsearch calls it.
        iso: The same date as Python reads it, made of the pattern's groups.
        names: Format of `strptime` for `iso` where it has names of months.
    """

    pattern: re.Pattern[str]
    format: str
    iso: str = r"\g<0>"
    names: str = ""

    def date(self, match: re.Match[str]) -> datetime:
        """The date that the pattern has matched.

        Raises:
            ValueError: There is no such day or time.
        """
        text = match.expand(self.iso)
        return datetime.strptime(text, self.names) if self.names else datetime.fromisoformat(text)


DATE_NOTATIONS = (
    DateNotation(
        re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?"),
        "strict_date_optional_time",
    ),
    DateNotation(re.compile(r"\d{4}-\d\d"), "yyyy-MM", r"\g<0>-01"),
    DateNotation(re.compile(rf"{DAY} {TIME}"), "yyyy-MM-dd HH:mm:ss"),
    DateNotation(re.compile(rf"{DAY} {TIME}{FRACTION}"), f"yyyy-MM-dd HH:mm:ss{FRACTION_FORMAT}", r"\1T\2"),
    DateNotation(re.compile(rf"{DAY} {TIME},\d{{3}}"), "yyyy-MM-dd HH:mm:ss,SSS", r"\1T\2"),
    DateNotation(
        re.compile(rf"{DAY} {TIME}{FRACTION}? ?{ZONE}"),
        f"yyyy-MM-dd HH:mm:ss{FRACTION_FORMAT}{ZONE_FORMAT}",
        r"\1T\2",
    ),
    DateNotation(re.compile(r"(\d{4})/(\d\d)/(\d\d)"), "yyyy/MM/dd", r"\1-\2-\3"),
    DateNotation(re.compile(rf"(\d{{4}})/(\d\d)/(\d\d) {TIME}"), "yyyy/MM/dd HH:mm:ss", r"\1-\2-\3 \4"),
    DateNotation(re.compile(r"(\d{4})\.(\d\d)\.(\d\d)"), "yyyy.MM.dd", r"\1-\2-\3"),
    DateNotation(re.compile(r"(\d\d)\.(\d\d)\.(\d{4})"), "dd.MM.yyyy", r"\3-\2-\1"),
    # Of the log of a web server, and of mails (RFC 2822).
    DateNotation(
        re.compile(rf"(\d\d)/([A-Z][a-z]{{2}})/(\d{{4}}):{TIME} [+-]\d{{4}}"),
        "dd/MMM/yyyy:HH:mm:ss Z",
        r"\1 \2 \3 \4",
        "%d %b %Y %H:%M:%S",
    ),
    DateNotation(
        re.compile(rf"(?:{WEEKDAY}, )?(\d{{1,2}}) ([A-Z][a-z]{{2}}) (\d{{4}}) {TIME} (?:[+-]\d{{4}}|GMT|UTC)"),
        "[EEE, ]d MMM yyyy HH:mm:ss[ Z][ 'GMT'][ 'UTC']",
        r"\1 \2 \3 \4",
        "%d %b %Y %H:%M:%S",
    ),
)
"""Those in which day and month cannot be taken for each other."""


@dataclass(frozen=True)
class Date:
    """Look of a date.

    Attributes:
        format: Elasticsearch's name of the format.
        decimals: Of its seconds.
    """

    format: str
    decimals: int


@lru_cache(maxsize=VALUES_KEPT)
def date_of(text: str) -> Date | None:
    """Look of a text that is a date; `None` for other texts, and for days that do not exist."""
    if not (text[:1].isdigit() or text[3:5] == ", "):
        return None
    for notation in DATE_NOTATIONS:
        if match := notation.pattern.fullmatch(text):
            try:
                notation.date(match)
            except ValueError:
                return None
            fraction = re.search(r"[.,](\d+)", text[10:])
            return Date(notation.format, len(fraction[1]) if fraction else 0)
    return None


OPTIONAL_TIME = "strict_date_optional_time"
WRITTEN_AS: Mapping[str, str] = MappingProxyType(
    {"false": "false", "flag": "a boolean as text", "year": "a year", "hour": "an hour", "number": "a date as digits",
     "zone": "an address without its zone", "geohash": "a geohash", "wkt": "WKT",
     "pair": "latitude and longitude", "point": "latitude and longitude"}
)  # fmt: skip
"""Ways to write a value that servers take for one of a type, although few mean it."""
READ_BY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "boolean": ("false", "flag"),
        "boolean as text": ("false",),
        OPTIONAL_TIME: ("year", "hour"),
        "epoch": ("number",),
        "address": ("zone",),
        "geo_point": ("geohash", "wkt", "pair", "point"),
        "geo_point as text": ("geohash", "wkt", "pair"),
    }
)
"""What reads values of a field → ways of `WRITTEN_AS` that it takes.

`Booleans.parseBoolean`; `DateFormatters.STRICT_DATE_OPTIONAL_TIME_FORMATTER`, which needs no more than a year;
`GeoPoint.resetFromString`: WKT if it has the word `point`, coordinates if it has a comma, else a geohash.
"""
HOUR = re.compile(r"(\d{4}-\d\d-\d\d)T(([01]\d|2[0-3])(Z|[+-]\d\d(:?\d\d)?)?)?")
DECIMAL = r"[+-]?(\d+\.?\d*|\.\d+)"
COORDINATES = re.compile(rf"\s*{DECIMAL}\s*,\s*{DECIMAL}\s*(,\s*{DECIMAL}\s*)?")
GEOHASH = re.compile(r"[0-9b-hjkmnp-z]{1,12}")
WKT_POINT = re.compile(rf"(?i)\s*point\s*\(\s*{DECIMAL}(\s+{DECIMAL}){{1,2}}\s*\)\s*")


@lru_cache(maxsize=VALUES_KEPT)
def ways_of(text: str) -> frozenset[str]:
    """Ways of `WRITTEN_AS` that a text is in."""
    if len(text) > LONGEST_WAY:
        return frozenset()
    year = re.fullmatch(r"\d{4}", text)
    found = {
        "false": not text,
        "flag": text in ("true", "false"),
        "year": year,
        "hour": (day := HOUR.fullmatch(text)) and date_of(day[1]) and not date_of(text),
        "number": re.fullmatch(r"-?\d{1,18}", text),
        "zone": (zoned := ZONED.fullmatch(text)) and is_address(zoned[1]) and ":" in zoned[1],
        "geohash": GEOHASH.fullmatch(text),
        "wkt": WKT_POINT.fullmatch(text),
        "pair": COORDINATES.fullmatch(text) and not is_point(text),
        "point": is_point(text),
    }
    return frozenset(name for name, is_so in found.items() if is_so)


LONGEST_WAY = 64
"""Characters of a text in such a way."""


def is_address(text: str) -> bool:
    """Check that a text is an IP address, of either version; one of eight pairs of digits is that of a device."""
    if len(text) > LONGEST_ADDRESS or not ADDRESS.fullmatch(text) or EUI_64.fullmatch(text):
        return False
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_version(text: str) -> bool:
    """Check that a text is numbers with dots between them; an address with leading zeros is none."""
    parts = text.split(".")
    is_padded = len(parts) == 4 and all(part.isdecimal() and int(part[-4:]) <= 255 for part in parts)
    return VERSION.fullmatch(text) is not None and (is_address(text) or not is_padded)


VERSION = re.compile(r"\d+(\.\d+)+")
ADDRESS = re.compile(r"[0-9A-Fa-f:.]*[:.][0-9A-Fa-f:.]*")
LONGEST_ADDRESS = 45
EUI_64 = re.compile(r"([0-9A-Fa-f]{2}:){7}[0-9A-Fa-f]{2}")
ZONED = re.compile(r"([^%]+)%[^%]+")
POINT = re.compile(r"(-?\d{1,2}\.\d+(?=,)|-?\d{1,2}(?=, )), ?(-?\d{1,3}\.\d+)")
"""Without a space or a point in its first part it may be an amount: 1,099.00."""


def is_point(text: str) -> bool:
    """Check that a text is a latitude and a longitude, with a comma between them."""
    match = POINT.fullmatch(text)
    return match is not None and is_on_earth(float(match[1]), float(match[2]))


def is_on_earth(latitude: float, longitude: float) -> bool:
    """Check that latitude and longitude are in range."""
    return abs(latitude) <= 90 and abs(longitude) <= 180


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


NOTATIONS: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "empty": lambda text: not text,
        "digits": _matches(r"[0-9]+"),
        "number": _matches(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"),
        "boolean": lambda text: text in ("true", "false"),
        "date": lambda text: date_of(text) is not None,
        "address": is_address,
        "version": is_version,
        "point": is_point,
        "link": _matches(r"[A-Za-z][A-Za-z0-9+.-]*://\S+"),
        "digest": _matches(r"(?i)[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}"),
        "base64": _matches(r"[A-Za-z0-9+/_-]{96,}={0,2}"),
    }
)
"""What the texts of a field may be → whether one is."""


@dataclass(frozen=True)
class Words:
    """Composition of a text.

    Attributes:
        count: By its spaces; of letters that are written without any, two make a word.
        letters: Of any alphabet.
        digits: Of any script.
        hangul, ideographs: Letters of these among them.
    """

    count: int
    letters: int = 0
    digits: int = 0
    hangul: int = 0
    ideographs: int = 0


@lru_cache(maxsize=VALUES_KEPT)
def words_of_text(text: str) -> Words:
    """The words of a text."""
    spaced = text.count(" ") + 1 if text else 0
    letters, digits = (sum(map(len, of.findall(text))) for of in (LETTERS, DIGITS))
    if text.isascii():
        return Words(spaced, letters, digits)
    ideographs = len(IDEOGRAPH.findall(text))
    return Words(spaced + ideographs // IDEOGRAPHS_OF_A_WORD, letters, digits, len(HANGUL.findall(text)), ideographs)
