"""The parts that a report's charts and Kibana's panels have in common: colours, axes and marks, without the values."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, Literal

import altair as alt

BLUE, ORANGE, GREEN, VIOLET, RED, GREY = "#3d85c9", "#d97b29", "#3a9a68", "#9a66c2", "#cf4f4f", "#8b929c"
PROCESS_COLOURS = {
    "connect": ORANGE,
    "kafka": GREEN,
    "producer": VIOLET,
    "direct": RED,
    "sink": RED,
    "other programs": GREY,
}
ELASTICSEARCH_COLOURS = (BLUE, "#74abdf", "#2b5f93", "#a3c8ea", "#4a4f9e", "#8f93d6")

LARGE = ("documents/s", "records", "searches/s")
"""Units whose numbers are written with k and M."""

BREAK: Literal["break-paths-show-domains"] = "break-paths-show-domains"
"""A value that is not known interrupts its line."""

POWERS = [10.0**power for power in range(-3, 9)]
SHARES = {2: "50 %", 10: "90 %", 100: "99 %", 1000: "99.9 %", 10_000: "99.99 %", 100_000: "99.999 %"}
"""One in so many took longer → share that took no longer."""

AXIS: dict[str, Any] = {
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "ticks": False,
    "labelPadding": 6,
    "titlePadding": 8,
}
"""How axes look, whatever the colours of the page are."""

CONFIG: dict[str, Any] = {
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
"""How a drawing looks within a page: its text has the page's colour."""


def cycle_of_colours(length: int) -> list[str]:
    """So many colours, told apart as far as there are some."""
    return list(islice(cycle((BLUE, ORANGE, GREEN, VIOLET, RED, GREY)), length))


def node_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each node."""
    return {name: ELASTICSEARCH_COLOURS[place % len(ELASTICSEARCH_COLOURS)] for place, name in enumerate(names)}


def process_colours(names: Sequence[str]) -> dict[str, str]:
    """A colour for each process of a run: shades of one for the nodes."""
    colours = node_colours([name for name in names if name.startswith("elasticsearch")])
    for name in names:
        colours.setdefault(name, PROCESS_COLOURS.get(name.split("-")[0], RED))
    return colours


def time_x(scale: alt.Scale, since: str = "the load began") -> alt.X:
    """Seconds since the load, or something else, began."""
    axis = alt.Axis(grid=False, tickCount=7)
    return alt.X("x:Q", title=f"seconds since {since}", scale=scale, axis=axis)


def amount_y(unit: str) -> alt.Y:
    """An amount, from zero."""
    # Not `format`: it gives all labels the largest one's prefix, and zero would be "0k".
    shape = "~s" if unit in LARGE else "~r"
    axis = alt.Axis(tickCount=5, labelExpr=f"format(datum.value, '{shape}')")
    return alt.Y("y:Q", title=unit, scale=alt.Scale(zero=True), axis=axis)


def lines(base: alt.Chart, *, points: bool, filled: bool = False) -> list[alt.Chart]:
    """A line per series, or per whatever else the colour stands for; with its area where it is the only one."""
    drawn_points: Any = {"size": 16, "filled": True} if points else False
    area = [base.mark_area(opacity=0.25, clip=True, invalid=BREAK)] if filled else []
    return [*area, base.mark_line(strokeWidth=2, point=drawn_points, clip=True, invalid=BREAK)]


def stacked(base: alt.Chart) -> alt.Chart:
    """Areas upon each other, in the order of the field `order`."""
    chart: alt.Chart = base.mark_area(clip=True, opacity=0.85).encode(order=alt.Order("order:Q"))
    return chart


def cores_y(**appearance: Any) -> alt.Y:
    """Cores busy, summed over the areas."""
    return alt.Y("y:Q", title="cores busy", stack="zero", **appearance)


def share_x(scale: alt.Scale, shown: list[int]) -> alt.X:
    """How many took no longer: logarithmic in the number of which one took longer."""
    names = "{" + ", ".join(f"'{end}': '{share}'" for end, share in SHARES.items()) + "}"
    axis = alt.Axis(values=shown, labelExpr=f"({names})[toString(datum.value)]")
    return alt.X("x:Q", title="share of records, or of bulk requests, that took no longer", scale=scale, axis=axis)


def latency_y(scale: alt.Scale) -> alt.Y:
    """Milliseconds, logarithmic."""
    return alt.Y("y:Q", title="ms", scale=scale, axis=alt.Axis(values=POWERS, format="~s"))


def curve(base: alt.Chart) -> alt.Chart:
    """A smooth line."""
    chart: alt.Chart = base.mark_line(strokeWidth=2, interpolate="monotone")
    return chart
