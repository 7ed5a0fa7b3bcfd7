"""The charts of a report: Vega-Lite specifications, drawn as SVG that takes its text colour from the page."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

from lab.analysis.cost import cpu_cores_series, process_names, servers_are_here
from lab.analysis.counters import Point
from lab.analysis.drawing import (
    AXIS,
    SHARES,
    amount_y,
    cores_y,
    curve,
    latency_y,
    lines,
    share_x,
    stacked,
    time_x,
)
from lab.analysis.latency import indexing_latency_series, percentile_curve_ms
from lab.analysis.rates import indexing_rate_series
from lab.analysis.windows import Windows
from lab.records import Run, Sample, Window

WIDTH, HEIGHT = 470, 210
MARGIN = 0.12
"""Part of the load phase that is shown before and after it."""
LABELLED = 0.14
"""A phase narrower than this part of the axis carries no label."""
FEW_POINTS = 45
BLUE, ORANGE, GREEN, VIOLET, RED, GREY = "#3d85c9", "#d97b29", "#3a9a68", "#9a66c2", "#cf4f4f", "#8b929c"
PROCESS_COLOURS = {
    "connect": ORANGE,
    "kafka": GREEN,
    "producer": VIOLET,
    "direct": RED,
    "sink": RED,
    "other programs": GREY,
}
ELASTICSEARCH_COLOURS = (BLUE, "#74abdf", "#2b5f93", "#a3c8ea")

CONFIG = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
    "view": {"stroke": None},
    "aria": False,
    "axis": {
        **AXIS,
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "gridColor": "currentColor",
        "gridOpacity": 0.13,
        "domainColor": "currentColor",
        "domainOpacity": 0.4,
    },
}


@dataclass(frozen=True, slots=True)
class Chart:
    """One figure of the report.

    Attributes:
        reading: What is drawn and how to read it, in a sentence or two.
        summary: What a reader who cannot see it must know.
        svg: `None` when the samples hold nothing to draw.
        colours: The legend, which the page sets, since text in a drawing does not wrap.
    """

    title: str
    reading: str
    summary: str
    svg: str | None
    colours: dict[str, str]


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
        zero_s: Where the load began.
        first: Left edge, in seconds from there.
        last: Right edge.
        phases: (name, from, to) of the phases that can be seen.
        warm_up: The part of the load in which the index grew and which is cut.
    """

    zero_s: float
    first: float
    last: float
    phases: tuple[tuple[str, float, float], ...]
    window: tuple[float, float] | None
    warm_up: tuple[float, float] | None

    def rows(self, series: str, points: Sequence[Point]) -> list[Row]:
        """The points that can be seen."""
        shown = [(point.at_s - self.zero_s, point.value) for point in points]
        return [Row(round(x, 3), y, series) for x, y in shown if self.first <= x <= self.last]


def time_axis(run: Run, window: Window | None) -> Axis | None:
    """The axis around the load phase; `None` when the run never came to it."""
    load = next((phase for phase in run.phases if phase.name == "load"), None)
    if load is None:
        return None
    zero_s, length_s = load.started_s, max(1.0, load.ended_s - load.started_s)
    first, last = -MARGIN * length_s, (1 + MARGIN) * length_s
    first = max(first, min(phase.started_s for phase in run.phases) - zero_s)
    last = min(last, max(phase.ended_s for phase in run.phases) - zero_s)
    seen = [
        (phase.name, max(first, phase.started_s - zero_s), min(last, phase.ended_s - zero_s)) for phase in run.phases
    ]
    return Axis(
        zero_s=zero_s,
        first=first,
        last=max(last, length_s),
        phases=tuple((name, start, end) for name, start, end in seen if end > start),
        window=(window.started_s - zero_s, window.ended_s - zero_s) if window else None,
        warm_up=(window.started_s - window.warm_up_s - zero_s, window.started_s - zero_s)
        if window and window.warm_up_s
        else None,
    )


def charts(run: Run, cut: Windows) -> list[Chart]:
    """All charts of a run, in the order in which they are read."""
    axis = time_axis(run, cut.measured)
    drawn = (rate, latency, progress, lag, cpu) if run.via == "kafka" else (rate, latency, cpu)
    over_time = [] if axis is None else [chart(run, cut, axis) for chart in drawn]
    return [*over_time, percentiles(run)]


def rate(_run: Run, cut: Windows, axis: Axis) -> Chart:
    """Stack Monitoring's *Indexing Rate*."""
    rows, series = _primaries_and_total([(scope, indexing_rate_series(cut.run, scope)) for scope in SCOPES], axis)
    return Chart(
        "Indexing rate",
        "Documents per second from each sample to the next, as Kibana's Stack Monitoring counts them."
        + _in_kibana(series),
        _extent(rows, "documents per second"),
        _lines(rows, series, axis, "documents/s"),
        series,
    )


def latency(_run: Run, cut: Windows, axis: Axis) -> Chart:
    """Stack Monitoring's *Indexing Latency*."""
    rows, series = _primaries_and_total([(scope, indexing_latency_series(cut.run, scope)) for scope in SCOPES], axis)
    return Chart(
        "Indexing latency",
        "Milliseconds Elasticsearch spent per document, from each sample to the next; 0 while nothing is indexed."
        + _in_kibana(series),
        _extent(rows, "ms per document"),
        _lines(rows, series, axis, "ms per document"),
        series,
    )


def progress(_run: Run, cut: Windows, axis: Axis) -> Chart:
    """How far the documents have come."""
    seen = {
        "in the topic": ([Point(s.at_s, s.kafka.end_offset if s.kafka else None) for s in cut.run], GREY),
        "indexed": (
            [Point(s.at_s, s.elasticsearch.primaries.index_total if s.elasticsearch else None) for s in cut.run],
            BLUE,
        ),
        "committed by the sink": (
            [Point(s.at_s, s.kafka.committed_offset if s.kafka else None) for s in cut.run],
            ORANGE,
        ),
    }
    rows = [row for name, (points, _) in seen.items() for row in axis.rows(name, points)]
    colours = {name: colour for name, (_, colour) in seen.items()}
    return Chart(
        "Progress",
        "Records in the topic, documents indexed, and records the sink has committed to Kafka as done.",
        _extent(rows, "records"),
        _lines(rows, colours, axis, "records", dashed="committed by the sink"),
        colours,
    )


def lag(_run: Run, cut: Windows, axis: Axis) -> Chart:
    """How many records wait."""
    rows = axis.rows("lag", [Point(s.at_s, s.kafka.lag_records if s.kafka else None) for s in cut.run])
    return Chart(
        "Lag",
        "Records in the topic that the sink has not committed yet. It commits now and then, hence the steps.",
        _extent(rows, "records"),
        _lines(rows, {"lag": RED}, axis, "records", filled=True),
        {},
    )


def cpu(run: Run, cut: Windows, axis: Axis) -> Chart:
    """Who keeps the cores busy."""
    names = process_names(cut.run)
    lines = {name: cpu_cores_series(cut.run, name) for name in names}
    lines["other programs"] = _other_programs(cut.run, list(lines.values()), run.environment.cpu_cores)
    colours = _process_colours(list(lines))
    rows = [row for name, points in lines.items() for row in axis.rows(name, points)]
    cores = run.environment.cpu_cores
    whose = "Cores busy" + ("" if servers_are_here(run) else " on the machine that drove the run, not the servers'")
    return Chart(
        "CPU by process",
        whose + f", stacked; the dashed line is what the machine has ({cores}).",
        _extent(rows, "cores for a single process"),
        _stack(rows, colours, axis, cores),
        colours,
    )


def percentiles(run: Run) -> Chart:
    """How the latencies are spread."""
    curves = {
        "end to end": (percentile_curve_ms(run.sink_histograms.record_age), BLUE),
        "bulk service time": (percentile_curve_ms(run.sink_histograms.bulk_service_time), ORANGE),
    }
    rows = [Row(n, max(0.001, ms), name) for name, (curve, _) in curves.items() for n, ms in curve]
    colours = {name: colour for name, (curve, colour) in curves.items() if curve}
    waiting = (
        " For a drain, end to end contains the waiting time in the preloaded topic."
        if run.load == "drain" and run.via == "kafka"
        else ""
    )
    return Chart(
        "Latency percentiles",
        "How long the slower part took, both axes logarithmic: at 99 %, one in a hundred took longer." + waiting,
        _extent(rows, "ms"),
        _curve(rows, colours) if rows else None,
        colours,
    )


SCOPES = ("primaries", "total")


def _in_kibana(series: Mapping[str, str]) -> str:
    """Why Kibana may show another line, where there are replicas."""
    # Metricbeat since elastic/beats pull request 45049 sums the shards of all nodes and writes one sum under both.
    return (
        " Where a Metricbeat of mid-2025 or later collects, Kibana's overview of the cluster counts replicas among the"
        " primaries and shows the line “total” under both names; its page of the index tells them apart."
        if len(series) > 1
        else ""
    )


def _primaries_and_total(lines: list[tuple[str, list[Point]]], axis: Axis) -> tuple[list[Row], dict[str, str]]:
    """The lines of both scopes, or one line where there are no replicas that would tell them apart."""
    (first, primaries), (second, total) = lines
    if [point.value for point in primaries] == [point.value for point in total]:
        name = "primaries and total, which are equal"
        return axis.rows(name, primaries), {name: BLUE}
    return [*axis.rows(second, total), *axis.rows(first, primaries)], {first: BLUE, second: ORANGE}


def _other_programs(samples: Sequence[Sample], known: Sequence[Sequence[Point]], cores: int) -> list[Point]:
    """What the machine was busy with beside the processes that are sampled."""
    found = []
    for place, sample in enumerate(samples[1:]):
        percent = sample.machine_cpu_percent
        taken = sum(points[place].value or 0.0 for points in known)
        found.append(Point(sample.at_s, None if percent is None else max(0.0, percent / 100 * cores - taken)))
    return found


def _process_colours(names: Sequence[str]) -> dict[str, str]:
    nodes = [name for name in names if name.startswith("elasticsearch")]
    colours = {name: ELASTICSEARCH_COLOURS[place % len(ELASTICSEARCH_COLOURS)] for place, name in enumerate(nodes)}
    for name in names:
        colours.setdefault(name, PROCESS_COLOURS.get(name.split("-")[0], RED))
    return colours


def _extent(rows: Sequence[Row], unit: str) -> str:
    known = [row.y for row in rows if row.y is not None]
    if not known:
        return "Nothing was sampled."
    return f"From {min(known):.4g} to {max(known):.4g} {unit}."


# --- drawing --------------------------------------------------------------------------------------------------------


def inline(values: Sequence[Mapping[str, Any]]) -> Any:
    """Values as a part of the specification."""
    return alt.InlineData(values=list(values))


def _values(rows: Sequence[Row]) -> Any:
    return inline([{"x": row.x, "y": row.y, "series": row.series} for row in rows])


def _x(axis: Axis) -> alt.X:
    return time_x(alt.Scale(domain=[axis.first, axis.last], nice=False))


def _colour(colours: dict[str, str]) -> alt.Color:
    return alt.Color("series:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)


def _known(rows: Sequence[Row]) -> int:
    return sum(1 for row in rows if row.y is not None)


def _lines(
    rows: Sequence[Row], colours: dict[str, str], axis: Axis, unit: str, *, filled: bool = False, dashed: str = ""
) -> str | None:
    if _known(rows) < 2:
        return None
    base = alt.Chart(_values(rows)).encode(x=_x(axis), y=amount_y(unit), color=_colour(colours))
    *area, line = lines(base, points=len(rows) / len(colours) <= FEW_POINTS, filled=filled)
    if dashed:
        dashes = alt.Scale(domain=[name for name in colours if name != dashed] + [dashed], range=_dashes(len(colours)))
        line = line.encode(strokeDash=alt.StrokeDash("series:N", scale=dashes, legend=None))
    return drawn([*_background(axis), *area, line])


def _dashes(series: int) -> list[list[int]]:
    """Whole lines, and a broken one for the last series, which may lie on top of another."""
    return [[1, 0]] * (series - 1) + [[6, 5]]


def _stack(rows: Sequence[Row], colours: dict[str, str], axis: Axis, cores: int) -> str | None:
    if _known(rows) < 2:
        return None
    order = {name: place for place, name in enumerate(colours)}
    values = [{"x": row.x, "y": row.y or 0.0, "series": row.series, "order": order[row.series]} for row in rows]
    highest = max([cores, *_stacked(rows)])
    base = alt.Chart(inline(values)).encode(
        x=_x(axis), y=cores_y(scale=alt.Scale(domain=[0, highest * 1.05], nice=False)), color=_colour(colours)
    )
    limit = alt.Chart(inline([{"y": cores}])).mark_rule(strokeDash=[5, 4], stroke="currentColor").encode(y="y:Q")
    return drawn([*_background(axis), stacked(base), limit])


def _stacked(rows: Sequence[Row]) -> list[float]:
    heights: dict[float, float] = {}
    for row in rows:
        heights[row.x] = heights.get(row.x, 0.0) + (row.y or 0.0)
    return list(heights.values())


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


def _decades(rows: Sequence[Row]) -> list[float]:
    """From the power of ten below all values to the one above them."""
    known = [row.y for row in rows if row.y is not None]
    return [10 ** math.floor(math.log10(min(known))), 10 ** math.ceil(math.log10(max(known) * 1.0001))]


def _curve(rows: Sequence[Row], colours: dict[str, str]) -> str:
    furthest = max(row.x for row in rows)
    base = alt.Chart(_values(rows)).encode(
        x=share_x(
            alt.Scale(type="log", domain=[2, max(10, furthest)], nice=False),
            [end for end in SHARES if end <= furthest * 1.2],
        ),
        y=latency_y(alt.Scale(type="log", domain=_decades(rows), nice=False)),
        color=_colour(colours),
    )
    return drawn([curve(base)])


def drawn(layers: Sequence[alt.Chart], height: int = HEIGHT) -> str:
    """SVG whose width follows the page."""
    spec = alt.layer(*layers).properties(width=WIDTH, height=height).to_dict() | {"config": CONFIG}
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg


def inlined(svg: str, name: str) -> str:
    """The drawing for a page that holds several: ids made its own, size left to the page, hidden from readers aloud."""
    svg = re.sub(r'id="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r'\1 aria-hidden="true" focusable="false"', svg, count=1)
    return svg[svg.index("<svg") :]
