"""The charts of a suite's report: ratios with intervals, the drift from run to run, and each run's rate over time."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import altair as alt

from lab.analysis.figures.queries import answer_rate_series
from lab.analysis.figures.rates import indexing_rate_series
from lab.analysis.folder import read_run
from lab.analysis.page.drawing import BLUE, BREAK, GREEN, GREY, ORANGE, RED, VIOLET
from lab.analysis.page.svg import WIDTH, Chart, drawn, inline
from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.answer import Findings
from lab.analysis.suite.crossings import axis_label, common_name, crossing_sentence, levels
from lab.analysis.suite.names import lower_first, metric_label, ratio_text, ratio_with_interval, short_name
from lab.analysis.suite.rows import Row
from lab.errors import ProfileError
from lab.records.suite import Crossing, MetricKey, SuiteResult, SuiteRun, VariantMetric

ROW_HEIGHT = 40
COLOURS = {
    "faster": GREEN,
    "slower": RED,
    "higher": BLUE,
    "lower": BLUE,
    "same within 5 %": VIOLET,
    "undecided": GREY,
    "too few runs": GREY,
}
TICKS = (0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 1, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20)
TICK_GAP = 0.085
"""Smallest part of the axis between two labels."""
BEYOND = 1.5
"""How far an interval may stretch the axis beyond the outermost ratio."""
RUN_COLOURS = (BLUE, ORANGE, GREEN, VIOLET, "#cf4f4f", "#2aa1a8", "#b08a2e", GREY, "#c76b98", "#5c7f3a")
AS_GIVEN = alt.Color("colour:N", scale=None)


def ladder_chart(rows: Sequence[Row], metric: MetricKey) -> Chart:
    """Every comparison as a point with the interval of its verdict; what is undecided is grey."""
    measured = [row for row in rows if row.effect is not None and row.effect.ratio is not None]
    verdicts = {row.verdict for row in measured}
    return Chart(
        f"{metric_label(metric)}: ratio to what it is compared with",
        "Point and bar: mean ratio of the blocks and the verdict's interval. Small strokes: the ratio in each block."
        " Hollow diamond: the published ratio, whose spread is not known. The scale is logarithmic.",
        "; ".join(f"{row.variant} against {row.against}: {row.verdict_text}" for row in measured)
        or "Nothing was measured.",
        _ladder(measured) if measured else None,
        {verdict: colour for verdict, colour in COLOURS.items() if verdict in verdicts},
    )


def _ladder(rows: Sequence[Row]) -> str:
    first, last = _domain(rows)
    scale = alt.Scale(type="log", domain=[first, last], nice=False)
    axis = alt.Axis(values=_ticks(first, last), grid=True, labelExpr="toString(datum.value)")
    x = alt.X("x:Q", title="times", scale=scale, axis=axis)
    y = alt.Y("row:O", axis=None, sort=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))
    values = [_point(place, row) for place, row in enumerate(rows)]
    blocks = [
        {"row": place, "x": ratio, "colour": COLOURS[row.verdict]}
        for place, row in enumerate(rows)
        for ratio in (row.effect.ratios if row.effect else ())
    ]
    published = [{"row": place, "x": row.published.published_ratio} for place, row in enumerate(rows) if row.published]
    known = [value for value in values if value["low"] is not None]
    below: dict[str, Any] = {"yOffset": 8, "clip": True}
    base = alt.Chart(inline(values)).encode(y=y)
    layers = [
        alt.Chart(inline([{"x": 1}])).mark_rule(stroke="currentColor", opacity=0.55).encode(x=x),
        alt.Chart(inline(blocks))
        .mark_tick(thickness=1.5, size=11, opacity=0.45, **below)
        .encode(x=x, y=y, color=AS_GIVEN),
        alt.Chart(inline(known))
        .mark_rule(strokeWidth=3, **below)
        .encode(x=alt.X("low:Q", scale=scale, axis=axis, title="times"), x2="high:Q", y=y, color=AS_GIVEN),
        base.mark_point(filled=True, size=70, opacity=1, **below).encode(x=x, color=AS_GIVEN),
        alt.Chart(inline(published))
        .mark_point(shape="diamond", filled=False, size=85, stroke="currentColor", strokeWidth=1.4, **below)
        .encode(x=x, y=y),
        base.mark_text(align="left", fontSize=12, fill="currentColor", yOffset=-7, limit=WIDTH - 160).encode(
            x=alt.value(0), text="name:N"
        ),
        *_ratio_texts(values, y),
    ]
    return drawn(layers, height=ROW_HEIGHT * len(rows))


def _ratio_texts(values: Sequence[Mapping[str, Any]], y: alt.Y) -> list[alt.Chart]:
    """The ratio of each row at its right end; what is undecided in pale letters, since grey itself is too pale."""
    coloured = [value for value in values if value["colour"] != GREY]
    grey = [value for value in values if value["colour"] == GREY]
    placed: dict[str, Any] = {"align": "right", "fontSize": 12, "yOffset": -7}
    x = alt.value(WIDTH)
    return [
        alt.Chart(inline(coloured))
        .mark_text(fontWeight="bold", **placed)
        .encode(x=x, y=y, text="ratio:N", color=AS_GIVEN),
        alt.Chart(inline(grey)).mark_text(fill="currentColor", opacity=0.65, **placed).encode(x=x, y=y, text="ratio:N"),
    ]


def _point(place: int, row: Row) -> dict[str, Any]:
    effect = row.effect
    return {
        "row": place,
        "name": "A/A: the control against itself" if row.is_check else f"{row.variant} ÷ {row.against}",
        "x": effect.ratio if effect else None,
        "low": effect.low if effect else None,
        "high": effect.high if effect else None,
        "ratio": ratio_with_interval(effect) if effect else "",
        "colour": COLOURS[row.verdict],
    }


def _domain(rows: Sequence[Row]) -> tuple[float, float]:
    """From the smallest to the largest ratio, ours and published, and as much of the intervals as is of use."""
    ratios = [1.0, *(row.effect.ratio for row in rows if row.effect and row.effect.ratio)]
    ratios += [row.published.published_ratio for row in rows if row.published]
    least, most = min(ratios), max(ratios)
    ends = [end for row in rows if row.effect for end in (row.effect.low, row.effect.high) if end]
    first = max(least / BEYOND, min([least, *ends]))
    last = min(most * BEYOND, max([most, *ends]))
    margin = max(1.01, (last / first) ** 0.04)
    return first / margin, last * margin


def _ticks(first: float, last: float) -> list[float]:
    """Round ratios within the axis, 1 among them, that leave room for their labels."""
    gap = TICK_GAP * math.log(last / first)
    chosen = [1.0]
    for tick in sorted(TICKS, key=lambda tick: abs(math.log(tick))):
        if first <= tick <= last and all(abs(math.log(tick / other)) >= gap for other in chosen):
            chosen.append(tick)
    return sorted(chosen)


# --- where a level begins to win ------------------------------------------------------------------------------------


def crossing_chart(findings: Findings, wanted: Crossing, figures: Sequence[VariantMetric]) -> Chart:
    """The comparisons of a factor along an axis, with their intervals, and the line that tells where 1 is passed."""
    points = [
        {"x": level.at, "y": math.exp(level.mean), "low": math.exp(level.best), "high": math.exp(level.worst)}
        for level in levels(findings, wanted, figures)
    ]
    inverse = " (inverse)" if is_speed(wanted.metric.name) > 0 else ""
    return Chart(
        f"{common_name(findings, wanted.factor)} along {lower_first(metric_label(wanted.over))}",
        f"{metric_label(wanted.metric)} as ratio{inverse} to what it is compared with, over"
        f" {lower_first(axis_label(findings, wanted))}: below 1 it wins. Bars: intervals of the verdicts.",
        crossing_sentence(findings, wanted, figures),
        _crossing(points, axis_label(findings, wanted)) if len(points) > 1 else None,
        {},
    )


def _crossing(points: Sequence[Mapping[str, Any]], axis: str) -> str:
    ends = [point[end] for point in points for end in ("low", "high")]
    first, last = min(1.0, *ends), max(1.0, *ends)
    margin = (last / first) ** 0.05
    scale = alt.Scale(type="log", domain=[first / margin, last * margin], nice=False)
    y_axis = alt.Axis(values=_ticks(first / margin, last * margin), labelExpr="toString(datum.value)")
    places = [point["x"] for point in points]
    x = alt.X(
        "x:Q",
        title=axis.lower(),
        scale=alt.Scale(type="log", domain=[min(places) / 1.2, max(places) * 1.2], nice=False),
        axis=alt.Axis(values=places, labelExpr="format(datum.value, '.3~r') + '×'", grid=False),
    )
    y = alt.Y("y:Q", title="ratio", scale=scale, axis=y_axis)
    base = alt.Chart(inline(points))
    return drawn(
        [
            alt.Chart(inline([{"y": 1}])).mark_rule(stroke="currentColor", opacity=0.55).encode(y=y),
            base.mark_line(stroke=BLUE, strokeWidth=1.6).encode(x=x, y=y),
            base.mark_rule(stroke=BLUE, strokeWidth=3).encode(
                x=x, y=alt.Y("low:Q", scale=scale, axis=y_axis, title="ratio"), y2="high:Q"
            ),
            base.mark_point(filled=True, size=70, opacity=1, color=BLUE).encode(x=x, y=y),
        ],
        height=200,
    )


# --- drift ----------------------------------------------------------------------------------------------------------


def drift_chart(result: SuiteResult, metric: MetricKey) -> Chart:
    """Each run relative to its variant's median, in the order of the runs."""
    points = _relative_values(result, metric)
    variants = {point["variant"] for point in points}
    special = {result.plan.control: BLUE, result.plan.repetition: ORANGE}
    colours = {short_name(result.plan, name): colour for name, colour in special.items() if name and name in variants}
    if variants - special.keys():
        colours["other variants"] = GREY
    blocks = defaultdict(list)
    for point in points:
        blocks[point["block"]].append(point)
    medians = [
        {"x": median(point["x"] for point in mine), "y": median(point["y"] for point in mine)}
        for _, mine in sorted(blocks.items())
    ]
    return Chart(
        f"{metric_label(metric)}: block by block",
        "Each run relative to the median of its variant, in the order of the runs; the line joins the medians of the"
        " blocks. A slope is a drift of the machine, which ratios within a block do not contain.",
        "Medians of the blocks: " + ", ".join(ratio_text(point["y"]) for point in medians) + ".",
        _drift(points, medians) if len(points) > 1 else None,
        colours,
    )


def _relative_values(result: SuiteResult, metric: MetricKey) -> list[dict[str, Any]]:
    counted = [run for run in result.runs if run.status == "verified" and not run.warm_up]
    colours = {result.plan.control: BLUE, result.plan.repetition: ORANGE}
    return [
        {
            "x": (run.started_s - result.plan.started_s) / 60,
            "y": value / figure.median,
            "block": run.block,
            "variant": figure.variant,
            "colour": colours.get(figure.variant, GREY),
        }
        for figure in result.figures
        if (figure.name, figure.scope) == (metric.name, metric.scope) and figure.median
        for run in counted
        if run.variant == figure.variant and (value := figure.by_run.get(str(run.folder))) is not None
    ]


def _drift(points: Sequence[Mapping[str, Any]], medians: Sequence[Mapping[str, Any]]) -> str:
    x = alt.X("x:Q", title="minutes since the suite began", scale=alt.Scale(nice=False, padding=8))
    y = alt.Y(
        "y:Q",
        title="relative to the median",
        scale=alt.Scale(zero=False, padding=6),
        axis=alt.Axis(tickCount=5, labelExpr="format(datum.value, '.3~f')"),
    )
    dots = alt.Chart(inline(points)).mark_point(filled=True, size=34, opacity=0.8)
    line = alt.Chart(inline(medians)).mark_line(stroke="currentColor", strokeWidth=2, point=False)
    even = alt.Chart(inline([{"y": 1}])).mark_rule(stroke="currentColor", opacity=0.4, strokeDash=[5, 4])
    return drawn([even.encode(y=y), dots.encode(x=x, y=y, color=AS_GIVEN), line.encode(x=x, y=y)])


# --- the runs behind a figure ---------------------------------------------------------------------------------------


def rate_over_time(suite: Path, variant: str, runs: Sequence[SuiteRun], *, of_queries: bool) -> Chart:
    """One line for each run of a variant; runs whose records are gone have none.

    Args:
        of_queries: Whether queries alone were sent, so that nothing was indexed.
    """
    rate = _answers if of_queries else _rate
    lines = {f"block {run.block}": line for run in runs if (line := rate(suite, run))}
    colours = {name: RUN_COLOURS[place % len(RUN_COLOURS)] for place, name in enumerate(lines)}
    points = [
        {"x": x, "y": y, "series": name, "colour": colours[name]} for name, line in lines.items() for x, y in line
    ]
    what = "Answers read in each second" if of_queries else "Documents per second on primaries between two samples"
    return Chart(
        f"{variant}: {'queries answered' if of_queries else 'indexing rate'} over time",
        f"{what}, one line for each run.",
        f"{len(lines)} of {len(runs)} runs have records.",
        _rates(points, of_queries=of_queries) if points else None,
        colours,
    )


def _answers(suite: Path, run: SuiteRun) -> list[tuple[float, float | None]]:
    """Seconds since the warm-up ended, and queries answered in the second before."""
    try:
        load = read_run(suite / (run.folder or "")).run.query_load
    except ProfileError:
        return []
    return [(round(point.at_s - load.started_s, 2), point.value) for point in answer_rate_series(load)] if load else []


def _rate(suite: Path, run: SuiteRun) -> list[tuple[float, float | None]]:
    """Seconds since the load began, and documents per second; empty where the run's samples cannot be read."""
    try:
        folder = read_run(suite / (run.folder or ""))
    except ProfileError:
        return []
    load = next((phase for phase in folder.run.phases if phase.name == "load"), None)
    if load is None:
        return []
    return [
        (round(point.at_s - load.started_s, 2), point.value)
        for point in indexing_rate_series(folder.samples, "primaries")
        if load.started_s <= point.at_s <= load.ended_s
    ]


def _rates(points: Sequence[Mapping[str, Any]], *, of_queries: bool) -> str:
    since, what = ("warm-up ended", "queries/s") if of_queries else ("load began", "documents/s")
    x = alt.X("x:Q", title=f"seconds since the {since}", axis=alt.Axis(grid=False, tickCount=7))
    y = alt.Y("y:Q", title=what, axis=alt.Axis(tickCount=4, labelExpr="format(datum.value, '~s')"))
    lines = alt.Chart(inline(points)).mark_line(strokeWidth=1.6, opacity=0.85, invalid=BREAK)
    return drawn([lines.encode(x=x, y=y, detail="series:N", color=AS_GIVEN)], height=150)
