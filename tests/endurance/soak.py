"""Readings of a soak, what is expected of each figure, and the page that says what came of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import vl_convert

from lab.analysis.report_page.markdown import markdown_table
from lab.analysis.text import number
from tests.endurance.slopes import Slope, Verdict, late_growth, slope_of_blocks

WARM_UP = 1 / 6
"""Part of a soak that is left out: 10 minutes of an hour. Code is still compiled then, and pools fill."""
NEGLIGIBLE = 0.01
"""Growth in an hour, as a share of the mean, that nobody minds: 13 MB of a worker that holds 1.3 GB with its heap."""
LOG_KB_PER_H = 1000.0
"""Growth of a log that nobody minds: 9 GB in a year."""
LAG_GROWTH_S = 1.0
"""Growth of the lag in an hour that nobody minds, in seconds of the rate."""
MOST_LAG_S = 30.0
"""Lag that a stream at 70 % of the limit may reach, in seconds of its rate: a long pause, and no more."""

UNITS = {"heap after collection": "MB", "resident memory": "MB", "log": "kB", "lag": "records"}
"""Of a figure's last words; others are numbers of things."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything that was read at one instant.

    Attributes:
        at_s: Since the soak began.
        figures: By name, such as `worker: open files`, in the unit of `UNITS`; not every reading has every figure.
    """

    at_s: float
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure and whether it grows.

    Attributes:
        slope_per_h: Growth per hour, after the warm-up.
        bound_per_h: Growth that nobody minds.
        highest: The largest value after the warm-up.
    """

    name: str
    slope_per_h: Slope
    bound_per_h: float
    verdict: Verdict
    highest: float

    @property
    def unit(self) -> str:
        """Of the mean; the slope's is this per hour."""
        return UNITS.get(self.name.rpartition(": ")[2], "")


def judged(readings: Sequence[Reading], rate_per_s: float) -> list[Judged]:
    """Every figure of the readings, in the order in which they came up.

    Args:
        rate_per_s: Records of the stream per second.

    Raises:
        ValueError: A figure was read too seldom to have a slope.
    """
    names = list(dict.fromkeys(name for reading in readings for name in reading.figures))
    began_s = readings[0].at_s + WARM_UP * (readings[-1].at_s - readings[0].at_s)
    after_warm_up = [reading for reading in readings if reading.at_s >= began_s]
    found = []
    for name in names:
        kept = [each for each in after_warm_up if name in each.figures]
        values = [each.figures[name] for each in kept]
        hours = [each.at_s / 3600 for each in kept]
        slope = slope_of_blocks(hours, values)
        bound = bound_per_h(name, slope.mean, rate_per_s)
        is_late = late_growth(hours, values) > bound
        found.append(
            Judged(name, slope, bound, Verdict.GROWS if is_late else slope.verdict(bound, len(names)), max(values))
        )
    return found


def bound_per_h(name: str, mean: float, rate_per_s: float) -> float:
    """Growth of a figure in an hour that nobody minds."""
    of_its_own = {"log": LOG_KB_PER_H, "lag": LAG_GROWTH_S * rate_per_s}
    return of_its_own.get(name.rpartition(": ")[2], NEGLIGIBLE * mean)


def most_lag_records(found: Sequence[Judged]) -> float:
    """The highest lag after the warm-up."""
    return next(each.highest for each in found if each.name == "lag")


HEAD = ("figure", "unit", "mean", "highest", "growth per hour", "95 % interval", "nobody minds", "verdict")


def rows(found: Sequence[Judged]) -> Iterator[tuple[str, ...]]:
    """The table, a row for each figure."""
    for each in found:
        low, high = each.slope_per_h.interval()
        amounts = (each.slope_per_h.mean, each.highest, each.slope_per_h.growth)
        interval = f"{signed(low)} to {signed(high)}"
        yield each.name, each.unit, *map(signed, amounts), interval, signed(each.bound_per_h), each.verdict


def signed(value: float) -> str:
    """With three digits that matter, and 0 where nothing does."""
    return number(float(f"{value:.6g}")) if abs(value) >= 5e-4 else "0"


def write_report(folder: Path, heading: str, sentences: Sequence[str], readings: Sequence[Reading], table: str) -> Path:
    """The page with the table, and beside it the readings' drawing; where the page is."""
    (folder / "figures.svg").write_text(drawing(readings), "utf-8")
    page = folder / "report.md"
    lines = [f"# {heading}", "", *(f"- {sentence}" for sentence in sentences), "", table, "", "![](figures.svg)", ""]
    page.write_text("\n".join(lines), "utf-8")
    return page


def table_of(found: Sequence[Judged]) -> str:
    """The figures as a Markdown table."""
    return "\n".join(markdown_table(HEAD, rows(found)))


def drawing(readings: Sequence[Reading]) -> str:
    """A small chart of each figure against minutes, as SVG."""
    values = [
        {"minutes": reading.at_s / 60, "value": value, "figure": name}
        for reading in readings
        for name, value in reading.figures.items()
    ]
    chart = (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=1)
        .encode(x=alt.X("minutes:Q", title="minutes"), y=alt.Y("value:Q", title=None))
        .properties(width=220, height=90)
        .facet(alt.Facet("figure:N", title=None, sort=None), columns=3)
        .resolve_scale(y="independent")
    )
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict(validate=False))
    return svg
