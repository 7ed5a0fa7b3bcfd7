"""The charts of a suite's report: ratios with their intervals, and how the values drifted from run to run."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from lab.analysis.page.drawing import BLUE, GREEN, GREY, ORANGE, RED, VIOLET
from lab.analysis.page.svg import WIDTH, Chart, drawn, inline
from lab.analysis.suite.comparison_rows import Row
from lab.analysis.suite.names import lower_first, metric_label, ratio_text, ratio_with_interval, short_name
from lab.records.suite import MetricAsked, SuiteResult

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


def ladder_chart(rows: Sequence[Row], asked: MetricAsked) -> Chart:
    """Every comparison as a point with the interval of its verdict; what is undecided is grey."""
    seen = [row for row in rows if row.effect is not None and row.effect.ratio is not None]
    verdicts = dict.fromkeys(row.verdict for row in seen)
    return Chart(
        f"{metric_label(asked)}: ratio to what it is compared with",
        "Point and bar: mean ratio of the blocks and the verdict's interval. Small strokes: the ratio in each block."
        " Hollow diamond: the published ratio, whose spread is not known. The scale is logarithmic.",
        "; ".join(f"{row.variant} against {row.against}: {row.verdict_text}" for row in seen if row.effect)
        or "Nothing was measured.",
        _ladder(seen) if seen else None,
        {verdict: COLOURS[verdict] for verdict in COLOURS if verdict in verdicts},
    )


def _ladder(rows: Sequence[Row]) -> str:
    first, last = _domain(rows)
    scale = alt.Scale(type="log", domain=[first, last], nice=False)
    axis = alt.Axis(values=_ticks(first, last), grid=True, labelExpr="toString(datum.value)")
    x = alt.X("x:Q", title="times", scale=scale, axis=axis)
    y = alt.Y("row:O", axis=None, sort=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))
    colour = alt.Color("colour:N", scale=None)
    values = [_value(place, row) for place, row in enumerate(rows)]
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
        .encode(x=x, y=y, color=colour),
        alt.Chart(inline(known))
        .mark_rule(strokeWidth=3, **below)
        .encode(x=alt.X("low:Q", scale=scale, axis=axis, title="times"), x2="high:Q", y=y, color=colour),
        base.mark_point(filled=True, size=70, opacity=1, **below).encode(x=x, color=colour),
        alt.Chart(inline(published))
        .mark_point(shape="diamond", filled=False, size=85, stroke="currentColor", strokeWidth=1.4, **below)
        .encode(x=x, y=y),
        base.mark_text(align="left", fontSize=12, fill="currentColor", yOffset=-7, limit=WIDTH - 130).encode(
            x=alt.value(0), text="name:N"
        ),
        *_ratio_texts(values, y),
    ]
    return drawn(layers, height=ROW_HEIGHT * len(rows))


def _ratio_texts(values: Sequence[Mapping[str, Any]], y: alt.Y) -> list[alt.Chart]:
    """The ratio of each row at its right end; what is undecided in pale letters, since grey itself is too pale."""
    told = [value for value in values if value["colour"] != GREY]
    untold = [value for value in values if value["colour"] == GREY]
    placed: dict[str, Any] = {"align": "right", "fontSize": 12, "yOffset": -7}
    x = alt.value(WIDTH)
    return [
        alt.Chart(inline(told))
        .mark_text(fontWeight="bold", **placed)
        .encode(x=x, y=y, text="ratio:N", color=alt.Color("colour:N", scale=None)),
        alt.Chart(inline(untold))
        .mark_text(fill="currentColor", opacity=0.65, **placed)
        .encode(x=x, y=y, text="ratio:N"),
    ]


def _value(place: int, row: Row) -> dict[str, Any]:
    found = row.effect
    return {
        "row": place,
        "name": "A/A: the control against itself" if row.is_check else f"{row.variant} ÷ {row.against}",
        "x": found.ratio if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "ratio": ratio_with_interval(found) if found else "",
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
    chosen = [1.0]
    for tick in sorted(TICKS, key=lambda tick: abs(math.log(tick))):
        gap = TICK_GAP * math.log(last / first)
        if first <= tick <= last and all(abs(math.log(tick / other)) >= gap for other in chosen):
            chosen.append(tick)
    return sorted(chosen)


# --- drift ----------------------------------------------------------------------------------------------------------


def drift_chart(result: SuiteResult, asked: MetricAsked) -> Chart:
    """Each run relative to its variant's median, in the order of the runs."""
    points = _relative_values(result, asked)
    named = {
        short_name(result.plan, name): colour
        for name, colour in ((result.plan.control, BLUE), (result.plan.repetition, ORANGE))
        if name is not None and any(point["variant"] == name for point in points)
    }
    colours = named | ({"other variants": GREY} if any(point["colour"] == GREY for point in points) else {})
    medians = _block_medians(points)
    return Chart(
        f"{metric_label(asked)}: block by block",
        "Each run against the median of its variant, in the order in which they ran; the line joins the medians of the"
        " blocks. A slope is a drift of the machine; ratios within a block do not contain it.",
        "Medians of the blocks: " + ", ".join(ratio_text(point["y"]) for point in medians) + ".",
        _drift(points, medians, lower_first(metric_label(asked))) if len(points) > 1 else None,
        colours,
    )


def _relative_values(result: SuiteResult, asked: MetricAsked) -> list[dict[str, Any]]:
    begun = {
        (run.block, run.variant): (run.started_s - result.plan.started_s) / 60
        for run in result.runs
        if run.status == "verified" and not run.warm_up
    }
    colours = {result.plan.control: BLUE, result.plan.repetition: ORANGE}
    return [
        {
            "x": begun[block, found.variant],
            "y": value / found.median,
            "block": block,
            "variant": found.variant,
            "colour": colours.get(found.variant, GREY),
        }
        for found in result.figures
        if (found.name, found.scope) == (asked.name, asked.scope) and found.median
        for block, value in enumerate(found.values, 1)
        if value is not None and (block, found.variant) in begun
    ]


def _block_medians(points: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    blocks: dict[int, list[Mapping[str, Any]]] = {}
    for point in points:
        blocks.setdefault(point["block"], []).append(point)
    return [
        {"x": median(point["x"] for point in mine), "y": median(point["y"] for point in mine)}
        for _, mine in sorted(blocks.items())
    ]


def _drift(points: Sequence[Mapping[str, Any]], medians: Sequence[Mapping[str, Any]], metric: str) -> str:
    x = alt.X("x:Q", title="minutes since the suite began", scale=alt.Scale(nice=False, padding=8))
    y = alt.Y(
        "y:Q",
        title=f"{metric}, relative",
        scale=alt.Scale(zero=False, padding=6),
        axis=alt.Axis(tickCount=5, labelExpr="format(datum.value, '.3~f')"),
    )
    dots = alt.Chart(inline(points)).mark_point(filled=True, size=34, opacity=0.8)
    line = alt.Chart(inline(medians)).mark_line(stroke="currentColor", strokeWidth=2, point=False)
    even = alt.Chart(inline([{"y": 1}])).mark_rule(stroke="currentColor", opacity=0.4, strokeDash=[5, 4])
    return drawn(
        [even.encode(y=y), dots.encode(x=x, y=y, color=alt.Color("colour:N", scale=None)), line.encode(x=x, y=y)]
    )
