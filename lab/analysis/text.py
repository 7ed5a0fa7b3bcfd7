"""Figures as a reader wants them: three digits that matter, a comma between thousands, the unit that fits."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.records.drivers import ClockOffset

NARROW_SPACE = "\u202f"
UNKNOWN = "–"

LARGE_UNITS = {"bytes": ("bytes", "kB", "MB", "GB", "TB"), "bytes/s": ("bytes/s", "kB/s", "MB/s")}
RATES = {"docs/s": "/s", "entities/s": "/s", "queries/s": "/s", "searches/s": "/s", "/s": "/s"}
COUNTED_UNITS = {
    "docs",
    "records",
    "requests",
    "collections",
    "faults",
    "merges",
    "refreshes",
    "flushes",
    "segments",
    "answers",
    "ids",
    "queries",
    "searches",
    "hits",
    "misses",
}


def count(value: int | float | None) -> str:
    """A whole number, every digit of it: `100,000`."""
    return UNKNOWN if value is None else f"{round(value):,}"


def quantity(value: int, one: str, several: str | None = None) -> str:
    """A number of things: `1 shard`, `3 shards`; the plural where it is not made by an s."""
    return f"{count(value)} {one if value == 1 else several or f'{one}s'}"


def number(value: float | None) -> str:
    """A measured number, rounded to what can be read: `52,700`, `28.4`, `0.31`."""
    if value is None:
        return UNKNOWN
    size = abs(float(f"{value:.3g}"))
    if size < 100 and value == round(value):
        return str(round(value))
    if size >= 100:
        step = 10 ** max(0, math.floor(math.log10(size)) - 2)
        return count(round(value / step) * step)
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"


def bytes_text(value: float | None, unit: str = "bytes") -> str:
    """A size in decimal units: `84.2 MB`."""
    if value is None:
        return UNKNOWN
    names = LARGE_UNITS[unit]
    place = min(len(names) - 1, int(math.log(value, 1000) + 1e-9)) if value >= 1 else 0
    return f"{number(value / 1000**place)}{NARROW_SPACE}{names[place]}"


def duration(seconds: float | None) -> str:
    """A wall time: `4.3 s`, `2 min 13 s`."""
    if seconds is None:
        return UNKNOWN
    if 0 < seconds < 0.001:
        return f"<{NARROW_SPACE}1{NARROW_SPACE}ms"
    if seconds < 120:
        return f"{number(seconds)}{NARROW_SPACE}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes}{NARROW_SPACE}min {rest}{NARROW_SPACE}s"
    return f"{minutes // 60}{NARROW_SPACE}h {minutes % 60}{NARROW_SPACE}min"


def figure(value: float | None, unit: str) -> str:
    """A figure with its unit: `52,700/s`, `0.31 ms`, `84.2 MB`; a share of one in percent."""
    if value is None:
        return UNKNOWN
    if unit == "share":
        value, unit = 100 * value, "%"
    if unit in LARGE_UNITS:
        return bytes_text(value, unit)
    if unit == "s":
        return duration(value)
    if unit == "ms" and value >= 10_000:
        return duration(value / 1000)
    if unit in RATES:
        return number(value) + RATES[unit]
    shown = count(value) if unit in COUNTED_UNITS and value == round(value) else number(value)
    return f"{shown}{NARROW_SPACE}{unit}"


def pace_text(pace: float) -> str:
    """A pace in words, by the number that recorded times were divided by."""
    return "its recorded pace" if pace == 1 else f"{number(pace)} × its recorded pace"


def clock_text(clock: "ClockOffset") -> str:
    """Relation of a clock to the one named next: `300 ± 2.1 ms ahead of`, `within 2.1 ms of`."""
    if abs(clock.ahead_ms) <= clock.bound_ms:
        return f"within {figure(clock.most_ms, 'ms')} of"
    side = "ahead of" if clock.ahead_ms > 0 else "behind"
    return f"{number(abs(clock.ahead_ms))} ± {figure(clock.bound_ms, 'ms')} {side}"


SPARKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], cells: int = 16) -> str:
    """Sparkline of values, from zero to their highest: `▁▄▇█▇▃`; several values share a cell where there are more."""
    most = max(values, default=0.0)
    if most <= 0:
        return ""
    width = min(cells, len(values))
    ends = [round(place * len(values) / width) for place in range(width + 1)]
    means = (fmean(values[start:stop]) for start, stop in pairwise(ends))
    return "".join(SPARKS[min(len(SPARKS) - 1, int(mean / most * len(SPARKS)))] for mean in means)
