"""Charts of recall, the share of the nearest vectors that is found, against time and bytes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil, floor, log, log10
from typing import Any, Final

import altair as alt

from lab.analysis.report_page.looks import BLUE, GREEN, GREY, ORANGE, RED, VIOLET
from lab.analysis.report_page.svg import AS_GIVEN, WIDTH, Chart, drawn, inline, log_scale
from lab.analysis.suite.names import short_name
from lab.analysis.text import bytes_text, figure
from lab.records.suite import SuitePlan, SuiteResult, VariantMetric

RECALL: Final = "rows_right_share"
TIMES: Final = {
    "query_service_time_ms_mean": "mean service time, ms",
    "query_service_time_ms_p50": "median service time, ms",
}
SIZE: Final = "store_size_bytes"
NEAREST: Final = "nearest"
"""Begins the name of every question about the nearest vectors; of others, the share of rows right is no recall."""
OF: Final = "-of-"
"""Between a question's name and a number of candidates: `nearest-10-of-50` is a point of the curve of `nearest-10`."""
LEAST_VARIANTS: Final = 3
HEIGHT: Final = 240
MOST_TICKS: Final = 7
COLOURS: Final = (BLUE, ORANGE, GREEN, VIOLET, RED, "#2aa1a8", "#b08a2e", "#c76b98", "#5c7f3a", GREY)
LETTER: Final = 7.2
"""Width of a letter of 12 px in px, at most, on average; a label is 14 px high."""
LABEL_HEIGHT: Final = 14
POINT: Final = 6


@dataclass(frozen=True, slots=True)
class Spot:
    """A variant's answers to one question.

    Attributes:
        x: Median of the blocks, as is `y`.
        low, high: Least and largest `x` of them.
        y: Recall.
    """

    variant: str
    question: str
    x: float
    low: float
    high: float
    y: float


def recall_charts(result: SuiteResult) -> list[Chart]:
    """Recall against service time and against size, for each question and each set of comparable variants.

    Variants are comparable when a chain of comparisons leads to the same one: others read other vectors. Fewer than
    three make no chart.
    """
    known = {(each.variant, *each.key): each for each in result.figures if each.median is not None}
    charts = []
    for root, variants in comparable(result.plan).items():
        for panel, questions in panels(result.figures, variants).items():
            times = (_spots(known, variants, questions, name) for name in TIMES)
            by_time = next(((axis, spots) for axis, spots in zip(TIMES.values(), times, strict=True) if spots), None)
            by_size = "", _spots(known, variants, questions, SIZE, "primaries")
            for axis, spots in filter(None, (by_time, by_size)):
                if len({spot.variant for spot in spots}) >= LEAST_VARIANTS:
                    charts.append(_chart(result.plan, root, panel, spots, axis))
    return charts


def comparable(plan: SuitePlan) -> dict[str, list[str]]:
    """Variant without a reference → the variants whose comparisons lead to it, itself first, no repetition."""
    against = {variant.name: variant.against for variant in plan.variants}
    groups: dict[str, list[str]] = defaultdict(list)
    for name in against:
        root = name
        while (other := against.get(root)) is not None:
            root = other
        if name != plan.repetition:
            groups[root].append(name)
    return groups


def panels(figures: Sequence[VariantMetric], variants: Sequence[str]) -> dict[str, list[str]]:
    """Questions whose recall is known, those that differ in the number of candidates together."""
    by_question: dict[str, list[str]] = defaultdict(list)
    for each in figures:
        is_recall = each.name == RECALL and each.scope.startswith(NEAREST)
        if is_recall and each.variant in variants and each.median is not None:
            panel = by_question[each.scope.partition(OF)[0]]
            if each.scope not in panel:
                panel.append(each.scope)
    return by_question


Known = Mapping[tuple[str, str, str], VariantMetric]
"""Variant, metric and scope → what was measured."""


def _spots(
    known: Known, variants: Sequence[str], questions: Sequence[str], of_x: str, scope: str | None = None
) -> list[Spot]:
    """Spots of which both figures are known.

    Args:
        scope: Of the metric `of_x`; the question's if `None`.
    """
    spots = []
    for variant, question in product(variants, questions):
        y, x = known.get((variant, RECALL, question)), known.get((variant, of_x, scope or question))
        if y and y.median is not None and x and x.median:
            # The axis is logarithmic.
            ends = x.low or x.median, x.high or x.median
            spots.append(Spot(variant, question, x.median, *ends, y.median))
    return spots


def _chart(plan: SuitePlan, root: str, panel: str, spots: Sequence[Spot], axis: str) -> Chart:
    """One panel.

    Args:
        axis: What stands below it; empty for a size.
    """
    names = list(dict.fromkeys(short_name(plan, spot.variant) for spot in spots))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    is_size = not axis
    if is_size:
        # A size is the same for all numbers of candidates: the best recall stands for them.
        best = {spot.variant: spot for spot in sorted(spots, key=lambda spot: spot.y)}
        spots = [best[name] for name in dict.fromkeys(spot.variant for spot in spots)]
    points = [
        {
            "x": spot.x / (1e6 if is_size else 1),
            "low": spot.low / (1e6 if is_size else 1),
            "high": spot.high / (1e6 if is_size else 1),
            "y": spot.y,
            "name": short_name(plan, spot.variant),
            "colour": colours[short_name(plan, spot.variant)],
        }
        for spot in spots
    ]
    of = "" if root == plan.control else f", compared with {short_name(plan, root)}"
    joined = any(len([spot for spot in spots if spot.variant == other.variant]) > 1 for other in spots)
    return Chart(
        f"{panel}: recall against {'size' if is_size else axis.rpartition(',')[0]}{of}",
        "Each point is a variant, the median of its blocks; the bar reaches from its lowest to"
        " its highest block." + (" A line joins numbers of candidates." if joined else ""),
        "; ".join(
            f"{short_name(plan, spot.variant)} ({spot.question}): recall {spot.y:.3f} at "
            + (bytes_text(spot.x) if is_size else figure(spot.x, "ms"))
            for spot in spots
        )
        + ".",
        _drawing(points, "size of the index, MB" if is_size else axis),
        colours,
    )


def _drawing(points: Sequence[Mapping[str, Any]], axis: str) -> str:
    first, last = min(point["low"] for point in points), max(point["high"] for point in points)
    margin = max(1.02, (last / first) ** 0.06)
    bounds = first / margin, last * margin
    lowest = min(point["y"] for point in points)
    # Labels of what finds all stand above it.
    reach = max(0.02, 1 - lowest)
    bottom, top = lowest - 0.12 * reach, 1 + 0.12 * reach
    x_scale = log_scale(bounds)
    y_scale = alt.Scale(domain=[bottom, top], nice=False)
    x_axis = alt.Axis(values=ticks(*bounds), labelExpr="format(datum.value, '~r')", grid=False)
    x = alt.X("x:Q", title=axis, scale=x_scale, axis=x_axis)
    y_axis = alt.Axis(tickCount=5, labelExpr="datum.value > 1 ? '' : format(datum.value, '.3~f')")
    y = alt.Y("y:Q", title="recall", scale=y_scale, axis=y_axis)
    base = alt.Chart(inline(points))
    bars = base.mark_rule(strokeWidth=2, opacity=0.5).encode(
        x=alt.X("low:Q", title=axis, scale=x_scale, axis=x_axis), x2="high:Q", y=y, color=AS_GIVEN
    )
    lines = base.mark_line(strokeWidth=1.6).encode(x=x, y=y, detail="name:N", order="y:Q", color=AS_GIVEN)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=AS_GIVEN)
    return drawn([bars, lines, dots, *_labels(points, bounds, (bottom, top))], height=HEIGHT)


def ticks(first: float, last: float) -> list[float]:
    """Round values between two bounds: 1, 2 and 5 of each power of ten, or at even steps where that is too few."""
    powers = range(floor(log10(first)), floor(log10(last)) + 1)
    inside = [step * 10.0**power for power in powers for step in (1, 2, 5) if first <= step * 10.0**power <= last]
    if len(inside) > 2:
        return inside
    least = (last - first) / MOST_TICKS
    power = 10.0 ** floor(log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return [round(place * step, 9) for place in range(ceil(first / step), floor(last / step) + 1)]


# --- labels ---------------------------------------------------------------------------------------------------------

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in px."""


def _labels(
    points: Sequence[Mapping[str, Any]], across: tuple[float, float], up: tuple[float, float]
) -> Iterator[alt.Chart]:
    """The name of each variant beside its best point, where it covers no other one nor a point."""
    places = [(_across(each["x"], across), HEIGHT * (up[1] - each["y"]) / (up[1] - up[0])) for each in points]
    best: dict[str, int] = {}
    for number, point in enumerate(points):
        if point["name"] not in best or point["y"] > points[best[point["name"]]]["y"]:
            best[point["name"]] = number
    taken: list[Box] = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in places]
    for point, (_, y) in zip(points, places, strict=True):
        low, high = (_across(point[end], across) for end in ("low", "high"))
        taken.append((low, y - 1, high, y + 1))
    for name, number in sorted(best.items(), key=lambda entry: places[entry[1]]):
        left, top = label_at(places[number], LETTER * len(name), taken)
        taken.append((left, top, left + LETTER * len(name), top + LABEL_HEIGHT))
        text = alt.Chart(inline([{"name": name}])).mark_text(
            align="left", baseline="middle", fontSize=12, fontWeight=600, fill=points[number]["colour"]
        )
        yield text.encode(x=alt.value(left), y=alt.value(top + LABEL_HEIGHT / 2), text="name:N")


def _across(x: float, across: tuple[float, float]) -> float:
    """Place of a value along the axis, in px from its left end."""
    return WIDTH * log(x / across[0]) / log(across[1] / across[0])


def label_at(point: tuple[float, float], width: float, taken: Sequence[Box]) -> tuple[float, float]:
    """Left and top of a label near a point: the nearest place that is free, or the first one where none is."""
    x, y = point
    rows = (0.0, *(sign * step * LABEL_HEIGHT for step in range(1, 9) for sign in (1, -1)))
    lefts = (x + POINT + 3, x - POINT - 3 - width, x - width / 2)
    candidates = [(left, y - LABEL_HEIGHT / 2 + row) for row in rows for left in lefts]
    inside = [
        (left, top) for left, top in candidates if 0 <= left <= WIDTH - width and 0 <= top <= HEIGHT - LABEL_HEIGHT
    ]
    free = (
        (left, top)
        for left, top in inside
        if not any(_overlap((left, top, left + width, top + LABEL_HEIGHT), box) for box in taken)
    )
    return next(free, inside[0] if inside else (0.0, y))


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
