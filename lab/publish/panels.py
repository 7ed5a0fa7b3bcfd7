"""The dashboard's panels: the report's charts as Vega-Lite that asks Elasticsearch itself, two runs over each other."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from lab.analysis.page.drawing import (
    AXIS,
    BLUE,
    ELASTICSEARCH_COLOURS,
    ORANGE,
    PROCESS_COLOURS,
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
from lab.publish.samples import INDEX

MOST_HITS = 10_000
"""What Elasticsearch gives at once, unless an index is set otherwise: two runs of 80 minutes at a sample per second, or
a stream of a day at one per 10 s; of a longer one the latest part."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v4.json"
"""Kibana warns of a specification newer than its own Vega-Lite: 4 or 5 in 7.17, 5 in 8.x and 9.0, 6 later. What is used
here means the same in all of them."""

OVER_TIME = ("load", "settle")
"""The phases that are drawn."""

FROM_DASHBOARD = {part: [f"%dashboard_context-{part}_clause%"] for part in ("must", "filter", "must_not")}
"""Where Kibana puts the dashboard's controls, filters and query. The time picker is left out of it on purpose: two runs
are laid over each other by the time since their load began, whenever they ran."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One drawing of the dashboard.

    Attributes:
        name: Part of the saved object's id.
        reading: How to read it, shown by Kibana as its description.
    """

    name: str
    title: str
    reading: str
    spec: dict[str, Any]


def panels() -> list[Panel]:
    """All panels, in the order in which they are read."""
    return [rate(), latency(), end_to_end(), lag(), cpu(), tasks()]


def rate() -> Panel:
    """Stack Monitoring's *Indexing Rate*, from each sample to the next."""
    return Panel(
        "indexing-rate",
        "Indexing rate",
        "Documents per second from each sample to the next; the broken line counts replicas as well.",
        _by_scope("indexing_rate_docs_per_s", "documents/s"),
    )


def latency() -> Panel:
    """Stack Monitoring's *Indexing Latency*, from each sample to the next."""
    return Panel(
        "indexing-latency",
        "Indexing latency",
        "Milliseconds Elasticsearch spent per document, from each sample to the next; 0 while nothing is indexed.",
        _by_scope("indexing_latency_ms", "ms per document"),
    )


def lag() -> Panel:
    """How many records wait."""
    base = _over_runs(alt.Chart().encode(x=_since_load(), y=amount_y("records")))
    return Panel(
        "lag",
        "Lag",
        "Records in the topic that the sink has not committed yet. It commits now and then, hence the steps.",
        _spec(
            lines(base, points=False),
            _asked("sample", "lag_records", phases=OVER_TIME),
            [_x(), _field("y", "lag_records")],
        ),
    )


def end_to_end() -> Panel:
    """How the latencies are spread."""
    scales = [alt.Scale(type="log", nice=False), alt.Scale(type="log", nice=True)]
    base = alt.Chart().encode(
        x=share_x(scales[0], list(SHARES)),
        y=latency_y(scales[1]),
        strokeDash=_dashes("end to end", "bulk service time"),
    )
    return Panel(
        "end-to-end-latency",
        "End-to-end latency",
        "How long the slower part took, both axes logarithmic: at 99 %, one in a hundred took longer.",
        _spec(
            [curve(_over_runs(base))],
            _asked("curve", "latency", "one_in", "latency_ms"),
            [
                _calculated("one_in", "datum._source.one_in"),
                _calculated("latency_ms", "datum._source.latency_ms"),
                {"flatten": ["one_in", "latency_ms"], "as": ["x", "latency_ms"]},
                _calculated("y", "max(0.001, datum.latency_ms)"),
                _calculated("series", "datum._source.latency"),
            ],
            LOGARITHMIC,
        ),
    )


def cpu() -> Panel:
    """Who keeps the cores busy: the latest run upwards, the one before it downwards."""
    colours = {
        **{f"elasticsearch-{place}": colour for place, colour in enumerate(ELASTICSEARCH_COLOURS[:2], start=1)},
        **{name: colour for name, colour in PROCESS_COLOURS.items() if name != "other programs"},
    }
    y = cores_y(axis=alt.Axis(labelExpr="format(abs(datum.value), '~r')"))
    base = alt.Chart().encode(
        x=_since_load(),
        y=y,
        color=alt.Color(
            "series:N",
            scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            title=None,
            legend=alt.Legend(columns=4, symbolType="square", symbolSize=120),
        ),
    )
    order = " : ".join(f"datum.series == '{name}' ? {place}" for place, name in enumerate(colours))
    return Panel(
        "cpu-by-process",
        "CPU by process (later run up, earlier down)",
        "Cores busy, stacked. The later of two runs stands above the line, the earlier one below it.",
        _spec(
            # A layer for each run: stacked together, each would be filled up with zeros at the other's instants.
            [stacked(base).transform_filter(f"datum.place == {place}") for place in (1, 2)],
            _asked("process", "process", "cpu_cores", phases=OVER_TIME),
            [
                _x(),
                _calculated("series", "datum._source.process"),
                {"filter": "isValid(datum._source.cpu_cores)"},
                _calculated("y", "(datum.place == 1 ? 1 : -1) * datum._source.cpu_cores"),
                _calculated("order", f"{order} : {len(colours)}"),
            ],
        ),
    )


def tasks() -> Panel:
    """Whether the sink is at work."""
    names = {"running": "tasks_running", "failed": "tasks_failed"}
    axis = alt.Axis(labelExpr="datum.value % 1 ? '' : datum.value")
    base = alt.Chart().encode(
        x=_since_load(),
        y=alt.Y("y:Q", title="tasks", scale=alt.Scale(zero=True), axis=axis),
        strokeDash=_dashes(*names),
    )
    return Panel(
        "sink-tasks",
        "Tasks of the sink",
        "Tasks of the connector that run, and, of a run that is watched live, those that have failed.",
        _spec(
            [_over_runs(base).mark_line(strokeWidth=2, interpolate="step-after")],
            _asked("sample", *names.values(), phases=OVER_TIME),
            [
                _x(),
                *(_field(name, field) for name, field in names.items()),
                {"fold": list(names), "as": ["series", "y"]},
            ],
        ),
    )


# --- what Elasticsearch is asked ------------------------------------------------------------------------------------


def _asked(kind: str, *fields: str, phases: tuple[str, ...] = ()) -> dict[str, Any]:
    """A search for documents of one kind, the latest first."""
    of_kind: list[Any] = [{"term": {"kind": kind}}]
    of_phases: list[Any] = [{"terms": {"phase": list(phases)}}] if phases else []
    return {
        "index": f"{INDEX}*",
        "body": {
            "size": MOST_HITS,
            "_source": ["run.name", "run.started", "since_load_s", *fields],
            "query": {"bool": {**FROM_DASHBOARD, "filter": [*of_kind, *of_phases, *FROM_DASHBOARD["filter"]]}},
            "sort": [{"run.started": "desc"}, {"run.name": "asc"}, {"since_load_s": "desc"}],
        },
    }


# --- what becomes of the answer -------------------------------------------------------------------------------------


LATEST_TWO: list[dict[str, Any]] = [
    {"calculate": "datum._source.run.name", "as": "run"},
    {"calculate": "datum._source.run.started", "as": "started"},
    {"window": [{"op": "dense_rank", "as": "place"}], "sort": [{"field": "started", "order": "descending"}]},
    {"filter": "datum.place <= 2"},
]
"""Two runs can be compared at a glance; the controls say which, otherwise the latest two are drawn."""


def _calculated(name: str, expression: str) -> dict[str, Any]:
    return {"calculate": expression, "as": name}


def _x() -> dict[str, Any]:
    return _calculated("x", "datum._source.since_load_s")


def _field(name: str, field: str) -> dict[str, Any]:
    """A figure of a document; one that it does not carry interrupts the line."""
    return _calculated(name, f"isValid(datum._source.{field}) ? datum._source.{field} : null")


def _by_scope(field: str, unit: str) -> dict[str, Any]:
    """The lines of `primaries` and `total`, for each run."""
    scopes = ("primaries", "total")
    base = alt.Chart().encode(x=_since_load(), y=amount_y(unit), strokeDash=_dashes(*scopes))
    values = [_field(scope, f"{field}_{scope}") for scope in scopes]
    return _spec(
        lines(_over_runs(base), points=False),
        _asked("sample", *(f"{field}_{scope}" for scope in scopes), phases=OVER_TIME),
        [_x(), *values, {"fold": list(scopes), "as": ["series", "y"]}],
    )


# --- drawing --------------------------------------------------------------------------------------------------------


Corners = tuple[tuple[float, float], tuple[float, float]]
FROM_ZERO: Corners = ((0, 0), (1, 1))
LOGARITHMIC: Corners = ((2, 1), (1000, 1000))


def _since_load() -> alt.X:
    return time_x(alt.Scale(nice=False))


def _over_runs(base: alt.Chart) -> alt.Chart:
    """A colour for each run, the later one first."""
    sort = alt.EncodingSortField(field="started", order="descending")
    legend = alt.Legend(columns=1, symbolType="stroke")  # a profile's name may be long
    scale = alt.Scale(range=[BLUE, ORANGE])
    return base.encode(color=alt.Color("run:N", scale=scale, sort=sort, title=None, legend=legend))


def _dashes(whole: str, broken: str) -> alt.StrokeDash:
    return alt.StrokeDash(
        "series:N",
        scale=alt.Scale(domain=[whole, broken], range=[[1, 0], [6, 5]]),
        legend=alt.Legend(title=None, orient="top"),
    )


def _spec(
    marks: list[alt.Chart], url: dict[str, Any], transform: list[dict[str, Any]], corners: Corners = FROM_ZERO
) -> dict[str, Any]:
    """The specification as Kibana takes it: its own size and theme, its own way to ask Elasticsearch.

    Args:
        corners: What the axes show where there is nothing to draw.
    """
    drawn = [_for_any_version(layer) for layer in alt.layer(*marks).to_dict(validate=False)["layer"]]
    return {
        "$schema": SCHEMA,
        "data": {"name": "found", "url": url, "format": {"property": "hits.hits"}},
        "transform": [*LATEST_TWO, *transform],
        "layer": [*drawn, *_where_empty(drawn[0], corners)],
        "config": {
            "axis": AXIS,
            "legend": {"orient": "bottom", "labelFontSize": 12, "labelLimit": 320, "symbolSize": 500},
            "view": {"stroke": None},
            # It would write over every panel that the layers for an empty one have no extent.
            "kibana": {"hideWarnings": True},
        },
    }


def _where_empty(layer: dict[str, Any], corners: Corners) -> list[dict[str, Any]]:
    """Layers that say so where nothing was found; axes and legend would have no extent without them, and not show."""
    empty = [{"filter": "length(data('found')) == 0"}]
    shown = {name: {**layer["encoding"][name], "stack": None} for name in ("x", "y")}
    shown["color"] = layer["encoding"]["color"]
    words = "nothing to draw: no such run is published, or this of it not known"
    return [
        {
            "data": {"values": [{"x": x, "y": y, "run": "no run"} for x, y in corners]},
            "transform": empty,
            "mark": {"type": "point", "opacity": 0},
            "encoding": shown,
        },
        {
            "data": {"values": [{"words": words}]},
            "transform": empty,
            "mark": {"type": "text", "fontSize": 13, "opacity": 0.7},
            "encoding": {"text": {"field": "words", "type": "nominal"}},
        },
    ]


def _for_any_version(layer: dict[str, Any]) -> dict[str, Any]:
    """Without what only the newest Vega-Lite knows; older ones break lines at unknown values of their own accord."""
    mark = {name: value for name, value in layer["mark"].items() if name != "invalid"}
    return {name: part for name, part in layer.items() if name != "data"} | {"mark": mark}
