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
EPOCH_MS = range(1000 * EPOCH_S.start, 1000 * EPOCH_S.stop)

HANGUL = re.compile(r"[\uac00-\ud7a3]")
IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
"""Letters of Japanese and Chinese, which put no spaces between words."""
IDEOGRAPHS_OF_A_WORD = 2


@dataclass(frozen=True)
class DateNotation:
    """A way to write dates.

    Attributes:
        format: What Elasticsearch calls it.
        iso: The same date as Python reads it, made of the pattern's groups.
    """

    pattern: re.Pattern[str]
    format: str
    iso: str = r"\g<0>"


DATE_NOTATIONS = (
    DateNotation(
        re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?)?"),
        "strict_date_optional_time",
    ),
    DateNotation(re.compile(r"\d{4}-\d\d"), "yyyy-MM", r"\g<0>-01"),
    DateNotation(re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "yyyy-MM-dd HH:mm:ss"),
    DateNotation(re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"), "yyyy-MM-dd HH:mm:ss.SSS"),
    DateNotation(re.compile(r"(\d{4})/(\d\d)/(\d\d)"), "yyyy/MM/dd", r"\1-\2-\3"),
    DateNotation(re.compile(r"(\d{4})/(\d\d)/(\d\d)( \d\d:\d\d:\d\d)"), "yyyy/MM/dd HH:mm:ss", r"\1-\2-\3\4"),
    DateNotation(re.compile(r"(\d{4})\.(\d\d)\.(\d\d)"), "yyyy.MM.dd", r"\1-\2-\3"),
    DateNotation(re.compile(r"(\d\d)\.(\d\d)\.(\d{4})"), "dd.MM.yyyy", r"\3-\2-\1"),
)
"""Those in which day and month cannot be taken for each other."""


@lru_cache(maxsize=VALUES_KEPT)
def date_format(text: str) -> str | None:
    """Elasticsearch's name of the format of a date; `None` for other texts, and for days that do not exist."""
    if not text[:2].isdigit():
        return None
    for notation in DATE_NOTATIONS:
        if match := notation.pattern.fullmatch(text):
            try:
                datetime.fromisoformat(match.expand(notation.iso))
            except ValueError:
                return None
            return notation.format
    return None


def is_address(text: str) -> bool:
    """Check that a text is an IP address, of either version."""
    if len(text) > LONGEST_ADDRESS or not ADDRESS.fullmatch(text):
        return False
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


ADDRESS = re.compile(r"[0-9A-Fa-f:.]*[:.][0-9A-Fa-f:.]*")
LONGEST_ADDRESS = 45
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
        "boolean": lambda text: text in ("true", "false"),
        "address": is_address,
        "point": is_point,
        "link": _matches(r"[A-Za-z][A-Za-z0-9+.-]*://\S+"),
        "digest": _matches(r"(?i)[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}"),
        "base64": _matches(r"[A-Za-z0-9+/_-]{96,}={0,2}"),
    }
)
"""What all texts of a field may be → whether one is."""


@dataclass(frozen=True)
class Words:
    """Composition of a text.

    Attributes:
        count: By its spaces; of letters that are written without any, two make a word.
        hangul, ideographs: Whether it has such letters.
    """

    count: int
    hangul: bool = False
    ideographs: bool = False


@lru_cache(maxsize=VALUES_KEPT)
def words_of_text(text: str) -> Words:
    """The words of a text."""
    spaced = text.count(" ") + 1 if text else 0
    if text.isascii():
        return Words(spaced)
    ideographs = len(IDEOGRAPH.findall(text))
    return Words(spaced + ideographs // IDEOGRAPHS_OF_A_WORD, HANGUL.search(text) is not None, ideographs > 0)
