"""The indexing rate over time of every run of a variant, for who wants to see the runs behind a figure."""

from pathlib import Path
from typing import Any

import altair as alt

from lab.analysis.figures.rates import indexing_rate_series
from lab.analysis.folder import read_run
from lab.analysis.page.drawing import BREAK
from lab.analysis.page.svg import Chart, drawn, inline
from lab.errors import ProfileError
from lab.records.suite import SuiteRun

PALETTE = ("#3d85c9", "#d97b29", "#3a9a68", "#9a66c2", "#cf4f4f", "#2aa1a8", "#b08a2e", "#8b929c", "#c76b98", "#5c7f3a")


def rate_over_time(suite: Path, variant: str, runs: list[SuiteRun]) -> Chart:
    """One line for each run of a variant; runs whose samples are gone have none."""
    lines = {f"block {run.block}": found for run in runs if (found := _rate(suite, run))}
    colours = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(lines)}
    points = [
        {"x": x, "y": y, "series": name, "colour": colours[name]} for name, line in lines.items() for x, y in line
    ]
    return Chart(
        f"{variant}: indexing rate over time",
        "Documents per second on primaries from each sample to the next, one line for each run.",
        f"{len(lines)} of {len(runs)} runs have samples.",
        _lines(points) if points else None,
        colours,
    )


def _rate(suite: Path, run: SuiteRun) -> list[tuple[float, float | None]]:
    """Seconds since the load began, and documents per second; empty where the run's samples cannot be read."""
    try:
        folder = read_run(suite / (run.folder or ""))
    except ProfileError:
        return []
    load = next((phase for phase in folder.run.phases if phase.name == "load"), None)
    if load is None:
        return []
    series = indexing_rate_series(folder.samples, "primaries")
    return [
        (round(point.at_s - load.started_s, 2), point.value)
        for point in series
        if load.started_s <= point.at_s <= load.ended_s
    ]


def _lines(points: list[dict[str, Any]]) -> str:
    axis = alt.Axis(tickCount=4, labelExpr="format(datum.value, '~s')")
    chart = alt.Chart(inline(points)).mark_line(strokeWidth=1.6, opacity=0.85, invalid=BREAK)
    return drawn(
        [
            chart.encode(
                x=alt.X("x:Q", title="seconds since the load began", axis=alt.Axis(grid=False, tickCount=7)),
                y=alt.Y("y:Q", title="documents/s", axis=axis),
                detail="series:N",
                color=alt.Color("colour:N", scale=None),
            )
        ],
        height=150,
    )
