"""The charts of a suite's report: where a level wins, the drift from block to block, each run's rate over time."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import altair as alt

from lab.analysis.figures.queries import answer_rate_series
from lab.analysis.figures.rates import Point, indexing_rate_series
from lab.analysis.folder import read_run
from lab.analysis.report_page.looks import BLUE, BREAK, GREEN, GREY, ORANGE, VIOLET
from lab.analysis.report_page.svg import AS_GIVEN, Chart, Readings, Row, drawn, inline, known_points, log_scale
from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.factors import axis_label, common_name, crossing_sentence, levels
from lab.analysis.suite.figures import by_variant
from lab.analysis.suite.forest_plot import ticks
from lab.analysis.suite.names import lower_first, metric_label, ratio_text
from lab.errors import ProfileError
from lab.records.suite import Crossing, MetricKey, SuiteResult, SuiteRun

RUN_COLOURS = (BLUE, ORANGE, GREEN, VIOLET, "#cf4f4f", "#2aa1a8", "#b08a2e", GREY, "#c76b98", "#5c7f3a")


# --- where a level begins to win ------------------------------------------------------------------------------------


def crossing_chart(result: SuiteResult, wanted: Crossing) -> Chart:
    """The comparisons of a factor along an axis, with their intervals."""
    points = [
        {"x": level.at, "y": math.exp(level.mean), "low": math.exp(level.best), "high": math.exp(level.worst)}
        for level in levels(result, wanted)
    ]
    inverse = " (inverse)" if is_speed(wanted.metric.name) > 0 else ""
    return Chart(
        f"{common_name(result, wanted.factor)} along {lower_first(metric_label(wanted.over))}",
        f"{metric_label(wanted.metric)} as ratio{inverse} to what it is compared with, over"
        f" {lower_first(axis_label(result, wanted))}: below 1 it wins. Bars: intervals of the verdicts.",
        crossing_sentence(result, wanted),
        _crossing(points, axis_label(result, wanted)) if len(points) > 1 else None,
        {},
    )


def _crossing(points: Sequence[Mapping[str, Any]], axis: str) -> str:
    ends = [point[end] for point in points for end in ("low", "high")]
    first, last = min(1.0, *ends), max(1.0, *ends)
    margin = (last / first) ** 0.05
    scale = log_scale([first / margin, last * margin])
    y_axis = alt.Axis(values=ticks(first / margin, last * margin), labelExpr="toString(datum.value)")
    places = [point["x"] for point in points]
    x_scale = log_scale([min(places) / 1.2, max(places) * 1.2])
    x_axis = alt.Axis(values=places, labelExpr="format(datum.value, '.3~r') + '×'", grid=False)
    x = alt.X("x:Q", title=axis.lower(), scale=x_scale, axis=x_axis)
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
    """Each run relative to its variant's median, block by block."""
    points = _relative_values(result, metric)
    blocks = defaultdict(list)
    for point in points:
        blocks[point["x"]].append(point["y"])
    medians = [{"x": block, "y": median(values)} for block, values in sorted(blocks.items())]
    lines = {"median": [(point["x"], round(point["y"], 4)) for point in medians]}
    return Chart(
        "Drift from block to block",
        "Each run ÷ the median of its variant. A slope is a drift of the machine; ratios are taken within blocks.",
        "Medians of the blocks: " + ", ".join(ratio_text(point["y"]) for point in medians) + ".",
        _drift(points, medians) if len(points) > 1 else None,
        {"a run": GREY, "median of the block": BLUE},
        Readings(min(blocks) - 0.5, max(blocks) + 0.5, ". block", "× the median", lines) if blocks else None,
    )


def _relative_values(result: SuiteResult, metric: MetricKey) -> list[dict[str, Any]]:
    counted = [run for run in result.runs if run.status == "verified" and not run.warm_up]
    return [
        {"x": run.block, "y": value / figure.median}
        for variant, figure in by_variant(result.figures, metric).items()
        if figure.median
        for run in counted
        if run.variant == variant and (value := figure.by_run.get(str(run.folder))) is not None
    ]


def _drift(points: Sequence[Mapping[str, Any]], medians: Sequence[Mapping[str, Any]]) -> str:
    blocks = [point["x"] for point in medians]
    x = alt.X(
        "x:Q",
        title="block",
        scale=alt.Scale(domain=[blocks[0] - 0.5, blocks[-1] + 0.5], nice=False),
        axis=alt.Axis(values=blocks, grid=False, format="d", labelOverlap="greedy"),
    )
    y = alt.Y(
        "y:Q",
        title="relative to the median",
        scale=alt.Scale(zero=False, padding=6),
        axis=alt.Axis(tickCount=5, labelExpr="format(datum.value, '.3~f')"),
    )
    dots = alt.Chart(inline(points)).mark_point(filled=True, size=30, opacity=0.7, color=GREY)
    line = alt.Chart(inline(medians)).mark_line(stroke=BLUE, strokeWidth=2, point={"size": 40, "fill": BLUE})
    even = alt.Chart(inline([{"y": 1}])).mark_rule(stroke="currentColor", opacity=0.4, strokeDash=[5, 4])
    return drawn([even.encode(y=y), dots.encode(x=x, y=y), line.encode(x=x, y=y)])


# --- the runs behind a figure ---------------------------------------------------------------------------------------


def rate_over_time(suite: Path, variant: str, runs: Sequence[SuiteRun], *, of_queries: bool) -> Chart:
    """One line for each run of a variant; runs whose records are gone have none.

    Args:
        of_queries: Whether queries alone were sent, so that nothing was indexed.
    """
    lines = {run_name(run): line for run in runs if (line := _over_time(suite, run, of_queries=of_queries))}
    colours = {name: RUN_COLOURS[place % len(RUN_COLOURS)] for place, name in enumerate(lines)}
    rows = [Row(x, y, name) for name, line in lines.items() for x, y in line]
    points = [{"x": row.x, "y": row.y, "series": row.series, "colour": colours[row.series]} for row in rows]
    what = "Answers read in each second" if of_queries else "Documents per second on primaries between two samples"
    return Chart(
        f"{variant}: {'queries answered' if of_queries else 'indexing rate'} over time",
        f"{what}, one line for each run.",
        f"{len(lines)} of {len(runs)} runs have records.",
        _rates(points, of_queries=of_queries) if points else None,
        colours,
        Readings(*_ends(points), " s", "queries/s" if of_queries else "documents/s", known_points(rows))
        if points
        else None,
    )


def run_name(run: SuiteRun) -> str:
    """Name of a run among those of its variant: `block 3`, `block 3, run 2`, `block 3, attempt 2`."""
    again = (f", run {run.turn}" if run.turn > 1 else "") + (f", attempt {run.attempt}" if run.attempt > 1 else "")
    return f"block {run.block}{again}"


def _ends(points: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    return min(point["x"] for point in points), max(point["x"] for point in points)


def _over_time(suite: Path, run: SuiteRun, *, of_queries: bool) -> list[tuple[float, float | None]]:
    """Seconds since the load began, or the warm-up of queries ended, and the rate; empty where records are gone."""
    try:
        folder = read_run(suite / (run.folder or ""))
    except ProfileError:
        return []
    began_s, points = 0.0, list[Point]()
    if of_queries and (sent := folder.run.query_load):
        began_s, points = sent.started_s, answer_rate_series(sent)
    elif not of_queries and (load := folder.run.phase("load")):
        every = indexing_rate_series(folder.samples, "primaries")
        began_s, points = load.started_s, [each for each in every if load.started_s <= each.at_s <= load.ended_s]
    return [(round(point.at_s - began_s, 2), point.value) for point in points]


def _rates(points: Sequence[Mapping[str, Any]], *, of_queries: bool) -> str:
    since, what = ("warm-up ended", "queries/s") if of_queries else ("load began", "documents/s")
    scale = alt.Scale(domain=list(_ends(points)), nice=False)
    x = alt.X("x:Q", title=f"seconds since the {since}", scale=scale, axis=alt.Axis(grid=False, tickCount=5))
    y = alt.Y("y:Q", title=what, axis=alt.Axis(tickCount=4, labelExpr="format(datum.value, '~s')"))
    lines = alt.Chart(inline(points)).mark_line(strokeWidth=1.6, opacity=0.85, invalid=BREAK)
    return drawn([lines.encode(x=x, y=y, detail="series:N", color=AS_GIVEN)], height=150)
