"""Looks of all drawings: colours, axes and units, without a library that takes a second to load."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, Literal

BLUE, ORANGE, GREEN, VIOLET, RED, GREY = "#3d85c9", "#d97b29", "#3a9a68", "#9a66c2", "#cf4f4f", "#8b929c"
TEAL = "#2f9c9c"
EVERYTHING_ELSE = "everything else"
"""Cores busy beside the processes that are sampled: other programs, and also the producers of a stream, Sluice itself,
the kernel, and what the hypervisor took."""
PROCESS_COLOURS = {
    "connect": ORANGE,
    "kafka": GREEN,
    "producer": VIOLET,
    "direct": RED,
    "sink": TEAL,
    EVERYTHING_ELSE: GREY,
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
