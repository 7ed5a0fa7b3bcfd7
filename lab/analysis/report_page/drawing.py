"""The parts that a report's charts and Kibana's panels have in common: axes and marks, without the values."""

from typing import Any

import altair as alt
from altair.utils import schemapi

from lab.analysis.report_page.looks import BREAK, LARGE, POWERS, SHARES

# To check each part as it is made takes longer than to draw it. The tests of these charts check every whole one.
schemapi.disable_debug_mode()


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
    """Axis of percentiles, logarithmic in n, where one of n took longer."""
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
