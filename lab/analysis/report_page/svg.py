"""A report's charts as drawings: SVG that takes its text colour from the page."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from lab.analysis.figures.rates import Point
from lab.analysis.report_page.drawing import amount_y, cores_y, curve, latency_y, lines, share_x, stacked, time_x
from lab.analysis.report_page.looks import BLUE, CONFIG, GREY, ORANGE, SHARES
from lab.records.samples import Sample

WIDTH, HEIGHT = 340, 180
"""So narrow that letters stay readable on a telephone, where a chart shrinks by a tenth at most."""
LABELLED = 0.2
"""A phase narrower than this part of the axis carries no label."""
FEW_POINTS = 33
FEW_LABELS = 5
AS_GIVEN = alt.Color("colour:N", scale=None)
"""Colours that the values say themselves."""


@dataclass(frozen=True, slots=True)
class Readings:
    """The values behind a drawing, which its reader sees when pointing at it.

    Attributes:
        first, last: Ends of its x axis.
        x_unit: What stands behind an x, such as ` s`; `share` for one in so many.
        series: Points of each line.
    """

    first: float
    last: float
    x_unit: str
    unit: str
    series: dict[str, list[tuple[float, float]]]
    is_logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure of the report.

    Attributes:
        reading: What is drawn and how to read it, in a sentence or two.
        summary: What a reader who cannot see it must know.
        svg: `None` when the samples hold nothing to draw.
        colours: The legend, which the page sets, since text in a drawing does not wrap.
        note: What some readers must know besides; shown when they ask.
    """

    title: str
    reading: str
    summary: str
    svg: str | None
    colours: dict[str, str]
    readings: Readings | None = None
    note: str = ""


Lines = Mapping[str, Sequence[Point]]
"""Name of each line → its points."""


@dataclass(frozen=True, slots=True)
class Row:
    """One point of one line; `None` breaks the line."""

    x: float
    y: float | None
    series: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The time axis that all charts of a run share.

    Attributes:
        zero_s: Where the load, or whatever is drawn, began.
        first: Left edge, in seconds from there.
        last: Right edge.
        phases: (name, from, to) of the phases that can be seen.
        warm_up: The part of the load in which the index grew and which is cut.
        since: What happened at its zero, in words.
    """

    zero_s: float
    first: float
    last: float
    phases: tuple[tuple[str, float, float], ...]
    window: tuple[float, float] | None
    warm_up: tuple[float, float] | None
    since: str = "the load began"

    def rows(self, lines: Lines) -> list[Row]:
        """The points of lines that can be seen."""
        shown = [(point.at_s - self.zero_s, point.value, name) for name, points in lines.items() for point in points]
        return [Row(round(x, 3), y, series) for x, y, series in shown if self.first <= x <= self.last]

    def readings(self, rows: Sequence[Row], unit: str) -> Readings:
        """The values of lines along this axis."""
        return Readings(round(self.first, 3), round(self.last, 3), " s", unit, known_points(rows))

    def chart(
        self,
        title: str,
        reading: str,
        lines: Lines,
        colours: dict[str, str],
        unit: str,
        *,
        words: str = "",
        y: str = "",
        filled: bool = False,
        dashed: str = "",
        note: str = "",
    ) -> Chart:
        """Chart of lines along this axis; a filled line is alone and needs no legend.

        Args:
            words: The unit in words, unless they are the unit's own.
            y: Title of the upward axis, unless it is the unit.
        """
        rows = self.rows(lines)
        return Chart(
            title,
            reading,
            extent(rows, words or unit.replace("/s", " per second")),
            line_chart(rows, colours, self, y or unit, filled=filled, dashed=dashed),
            {} if filled else colours,
            self.readings(rows, unit),
            note,
        )


def known_points(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """The known points of each line, with four digits that matter."""
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.y is not None:
            series[row.series].append((row.x, float(f"{row.y:.4g}")))
    return dict(series)


def inline(values: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Values as a part of the specification."""
    return alt.InlineData(values=list(values))


def log_scale(ends: Sequence[float]) -> alt.Scale:
    """A logarithmic scale from one of these ends to the other."""
    return alt.Scale(type="log", domain=list(ends), nice=False)


def _values(rows: Sequence[Row]) -> alt.InlineData:
    return inline([{"x": row.x, "y": row.y, "series": row.series} for row in rows])


def _x(axis: Axis) -> alt.X:
    x = time_x(alt.Scale(domain=[axis.first, axis.last], nice=False), axis.since)
    return x.axis(grid=False, tickCount=FEW_LABELS)


def _colour(colours: dict[str, str]) -> alt.Color:
    return alt.Color("series:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)


def _has_a_line(rows: Sequence[Row]) -> bool:
    return sum(row.y is not None for row in rows) > 1


def primaries_and_total(
    series: Callable[[Sequence[Sample], str], list[Point]], samples: Sequence[Sample]
) -> tuple[Lines, dict[str, str]]:
    """The lines of both scopes with their colours, or one where there are no replicas that would tell them apart."""
    primaries, total = series(samples, "primaries"), series(samples, "total")
    if [point.value for point in primaries] == [point.value for point in total]:
        name = "primaries = total"
        return {name: primaries}, {name: BLUE}
    return {"total": total, "primaries": primaries}, {"primaries": BLUE, "total": ORANGE}


def in_units(points: Iterable[Point], unit: float) -> list[Point]:
    """The points in multiples of a unit, such as a megabyte."""
    return [Point(point.at_s, None if point.value is None else point.value / unit) for point in points]


def extent(rows: Sequence[Row], unit: str) -> str:
    """Between which two values the lines lie, in words."""
    values = [row.y for row in rows if row.y is not None]
    return f"From {min(values):.4g} to {max(values):.4g} {unit}." if values else "Nothing was sampled."


def line_chart(
    rows: Sequence[Row], colours: dict[str, str], axis: Axis, unit: str, *, filled: bool = False, dashed: str = ""
) -> str | None:
    """A line for each series, one of them broken if it is `dashed`; `None` with fewer than two points."""
    if not _has_a_line(rows):
        return None
    y = amount_y(unit)
    if not any(row.y for row in rows):
        y = y.scale(domain=[0, 1])  # else nothing but zeros lies in the middle of a chart that goes below zero
    base = alt.Chart(_values(rows)).encode(x=_x(axis), y=y, color=_colour(colours))
    *area, line = lines(base, points=len(rows) / len(colours) <= FEW_POINTS, filled=filled)
    if dashed:
        # It may lie on top of another line.
        dashes = alt.Scale(domain=list(colours), range=[[6, 5] if name == dashed else [1, 0] for name in colours])
        line = line.encode(strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None))
    return drawn([*_background(axis), *area, line])


def stack_chart(rows: Sequence[Row], colours: dict[str, str], axis: Axis, cores: float) -> str | None:
    """Areas upon each other below the line of what the machine has; `None` with fewer than two points."""
    if not _has_a_line(rows):
        return None
    order = {name: place for place, name in enumerate(colours)}
    values = [{"x": row.x, "y": row.y or 0.0, "series": row.series, "order": order[row.series]} for row in rows]
    heights: dict[float, float] = defaultdict(float)
    for row in rows:
        heights[row.x] += row.y or 0.0
    highest = max([cores, *heights.values()])
    base = alt.Chart(inline(values)).encode(
        x=_x(axis), y=cores_y(scale=alt.Scale(domain=[0, highest * 1.05], nice=False)), color=_colour(colours)
    )
    limit = alt.Chart(inline([{"y": cores}])).mark_rule(strokeDash=[5, 4], stroke="currentColor").encode(y="y:Q")
    return drawn([*_background(axis), stacked(base), limit])


def _background(axis: Axis) -> list[alt.Chart]:
    """Measured window and warm-up as bands, the ends of the phases as rules with the phases' names between them."""
    layers = []
    for ends_at, colour in ((axis.window, BLUE), (axis.warm_up, GREY)):
        if ends_at:
            band = [{"from": ends_at[0], "to": ends_at[1]}]
            layers.append(
                alt.Chart(inline(band)).mark_rect(color=colour, opacity=0.1, clip=True).encode(x="from:Q", x2="to:Q")
            )
    ends = [{"x": start} for _, start, _ in axis.phases[1:]]
    if ends:
        layers.append(
            alt.Chart(inline(ends)).mark_rule(stroke="currentColor", opacity=0.35, strokeDash=[2, 3]).encode(x="x:Q")
        )
    wide = [
        {"x": (start + end) / 2, "name": name}
        for name, start, end in axis.phases
        if end - start >= LABELLED * (axis.last - axis.first)
    ]
    if wide:
        layers.append(
            alt.Chart(inline(wide))
            .mark_text(fontSize=11, fill="currentColor", opacity=0.6, baseline="bottom")
            .encode(x="x:Q", y=alt.value(-3), text="name:N")
        )
    return layers


def percentile_readings(rows: Sequence[Row]) -> Readings:
    """The values of such lines: which share took no longer than how many milliseconds."""
    return Readings(2, max(10, *(row.x for row in rows)), "share", "ms", known_points(rows), is_logarithmic=True)


def percentile_chart(rows: Sequence[Row], colours: dict[str, str]) -> str:
    """A line for each kind of latency, both axes logarithmic."""
    furthest = max(row.x for row in rows)
    values = [row.y for row in rows if row.y is not None]
    decades = [10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.0001))]
    base = alt.Chart(_values(rows)).encode(
        x=share_x(
            log_scale([2, max(10, furthest)]),
            [end for end in SHARES if end <= furthest * 1.2],
        ).title("share that took no longer"),
        y=latency_y(log_scale(decades)),
        color=_colour(colours),
    )
    return drawn([curve(base)])


def drawn(layers: Sequence[alt.Chart], height: int = HEIGHT) -> str:
    """SVG whose width follows the page."""
    chart = alt.layer(*layers).properties(width=WIDTH, height=height)
    # To check it against Vega-Lite's schema takes as long as to draw it; the tests of these charts do.
    spec = chart.to_dict(validate=False) | {"config": CONFIG}
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg
