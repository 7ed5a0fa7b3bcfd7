"""The charts of a tune's report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

import altair as alt

from lab.analysis.report_page.looks import BLUE, GREEN, GREY
from lab.analysis.report_page.svg import AS_GIVEN, Chart, drawn, inline, log_scale
from lab.analysis.suite.forest_plot import ticks
from lab.analysis.suite.names import ratio_text
from lab.analysis.tune.goals import LABELS, METRICS
from lab.records.suite import MetricKey
from lab.records.tune import GoalName, TuneResult, combination_name

MARGIN, MARGIN_OF_NAMES = 1.04, 1.15
LONGEST_NAME = 150
"""In pixels."""
ON_FRONT, NOT_ON_FRONT, RECOMMENDED = "not beaten in both", "beaten in both", "recommended"


@dataclass(frozen=True)
class Place:
    """A combination by two figures, each as a ratio to the start."""

    name: str
    x: float
    y: float
    is_recommended: bool


def pareto_chart(result: TuneResult) -> Chart:
    """Chart of the combinations by the goal (or the rate) and the size, with their Pareto front."""
    of_rate: GoalName = "latency" if result.plan.goal.rate else "rate"
    places = list(places_of(result, METRICS["size"], METRICS[of_rate]))
    front = pareto_front(places, more_is_better=of_rate == "rate")
    label = LABELS[of_rate]
    on_front = "; ".join(f"{each.name} ({ratio_text(each.y)}, size {ratio_text(each.x)})" for each in front)
    return Chart(
        f"{label[:1].upper()}{label[1:]} against size on disk",
        f"Each combination as ratios to the start, over all its blocks in the search. Right is larger, up is more"
        f" {'documents per second' if of_rate == 'rate' else 'time'}.",
        f"Not beaten in both: {on_front}.",
        _scatter(places, front, label) if len(places) > 1 else None,
        {ON_FRONT: BLUE, NOT_ON_FRONT: GREY, RECOMMENDED: GREEN},
    )


def places_of(result: TuneResult, across: MetricKey, up: MetricKey) -> Iterator[Place]:
    """The start, and each combination of which both are known."""
    yield Place("start", 1.0, 1.0, not result.recommended)
    for tried in result.tried:
        ratios = {each.key: each.ratio for each in tried.effects}
        x, y = ratios.get(across.key), ratios.get(up.key)
        if x is not None and y is not None:
            name, is_it = combination_name(tried.combination), tried.combination == result.recommended
            yield Place(name, x, y, is_it)


def pareto_front(places: Sequence[Place], *, more_is_better: bool) -> list[Place]:
    """Pareto front: places that no other place beats in both size and the upward axis.

    Of two alike in one figure the better in the other one counts; the front is in the order of its size.
    """

    def worth(place: Place) -> float:
        return place.y if more_is_better else -place.y

    front: list[Place] = []
    for place in sorted(places, key=lambda each: (each.x, -worth(each))):
        if not front or worth(place) > worth(front[-1]):
            front.append(place)
    return front


def _scatter(places: Sequence[Place], front: Sequence[Place], label: str) -> str:
    values = [
        {
            "x": place.x,
            "y": place.y,
            "name": place.name,
            "colour": GREEN if place.is_recommended else BLUE if place in front else GREY,
        }
        for place in places
    ]
    steps = [{"x": place.x, "y": place.y} for place in front]
    # Names of neighbours on the front would lie upon each other: the note below has them.
    recommended = [value for value in values if value["colour"] == GREEN]
    x, y = (
        _axis("x:Q", [place.x for place in places], "size on disk"),
        _axis("y:Q", [p.y for p in places], label, up=True),
    )
    line = alt.Chart(inline(steps)).mark_line(stroke=BLUE, strokeWidth=1.2, strokeDash=[4, 3]).encode(x=x, y=y)
    dots = alt.Chart(inline(values)).mark_point(filled=True, size=70, opacity=0.9).encode(x=x, y=y, color=AS_GIVEN)
    names = (
        alt.Chart(inline(recommended))
        .mark_text(align="left", dx=7, dy=-7, fontSize=11, fill="currentColor", limit=LONGEST_NAME)
        .encode(x=x, y=y, text="name:N")
    )
    return drawn([line, dots, names])


def _axis(field: str, ratios: Sequence[float], title: str, *, up: bool = False) -> alt.X | alt.Y:
    # On the right there is room for a name.
    first, last = min(ratios) / MARGIN, max(ratios) * (MARGIN if up else MARGIN_OF_NAMES)
    shown = ticks(first, last) if log(last / first) > 0 else [1.0]
    axis = alt.Axis(values=shown, labelExpr="format(datum.value, '.2~f') + '×'", grid=up)
    kind = alt.Y if up else alt.X
    return kind(field, title=f"{title}, × the start", scale=log_scale([first, last]), axis=axis)
