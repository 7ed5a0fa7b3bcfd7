"""Kibana's dashboard: the report's charts as panels that search Elasticsearch themselves, two runs over each other.

A panel is a Vega-Lite specification. Kibana imports it as a saved object, in one of two shapes.
`python -m lab.publish.dashboard kibana` writes these files anew.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import orjson

from lab.analysis.report_page.drawing import amount_y, cores_y, curve, latency_y, lines, share_x, stacked, time_x
from lab.analysis.report_page.looks import (
    AXIS,
    BLUE,
    ELASTICSEARCH_COLOURS,
    EVERYTHING_ELSE,
    ORANGE,
    PROCESS_COLOURS,
    SHARES,
)
from lab.publish.document import SCOPES
from lab.publish.kibana import DASHBOARD, RUN_FIELD, Shape
from lab.publish.samples import INDEX

MOST_HITS = 10_000
"""What Elasticsearch gives at once, unless an index is set otherwise: two runs of 80 minutes at a sample per second, or
a stream of a day at one per 10 s; of a longer one the latest part."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v4.json"
"""Kibana warns of a specification newer than its own Vega-Lite: 4 or 5 in 7.17, 5 in 8.x and 9.0, 6 later. What is used
here means the same in all of them."""

OVER_TIME = ["load", "settle"]
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

    @property
    def id(self) -> str:
        """The id of the saved object."""
        return f"sluice-{self.name}"


def panels() -> list[Panel]:
    """Panels in the order in which they are read; rate and latency as Stack Monitoring defines them."""
    rate = "Documents per second from each sample to the next; the broken line counts replicas as well."
    latency = "Milliseconds Elasticsearch spent per document, from each sample to the next; 0 while nothing is indexed."
    searches = (
        "Searches of shards per second; a query counts once for each shard. Stack Monitoring draws the broken line."
    )
    search_ms = "Milliseconds a shard took for its part of a query, fetching not counted; 0 while nothing is searched."
    return [
        Panel("indexing-rate", "Indexing rate", rate, _by_scope("indexing_rate_docs_per_s", "documents/s")),
        Panel("indexing-latency", "Indexing latency", latency, _by_scope("indexing_latency_ms", "ms per document")),
        Panel("search-rate", "Search rate", searches, _by_scope("search_rate_per_s", "searches/s")),
        Panel("search-latency", "Search latency", search_ms, _by_scope("search_latency_ms", "ms per search")),
        end_to_end(),
        lag(),
        cpu(),
        tasks(),
    ]


def lag() -> Panel:
    """Panel of the lag: records that wait."""
    base = _over_runs(alt.Chart().encode(x=SINCE_LOAD, y=amount_y("records")))
    return Panel(
        "lag",
        "Lag",
        "Records in the topic that the sink has not committed yet. It commits periodically, hence the steps.",
        _spec(lines(base, points=False), _search("sample", "lag_records"), [X, _field("y", "lag_records")]),
    )


def end_to_end() -> Panel:
    """Panel of latency percentiles."""
    base = alt.Chart().encode(
        x=share_x(alt.Scale(type="log", nice=False), list(SHARES)),
        y=latency_y(alt.Scale(type="log", nice=True)),
        strokeDash=_dashes("end to end", "bulk service time"),
    )
    return Panel(
        "end-to-end-latency",
        "End-to-end latency",
        "How long the slower part took, both axes logarithmic: at 99 %, one in a hundred took longer.",
        _spec(
            [curve(_over_runs(base))],
            _search("curve", "latency", "one_in", "latency_ms"),
            [
                _calculated("one_in", "datum._source.one_in"),
                _calculated("latency_ms", "datum._source.latency_ms"),
                {"flatten": ["one_in", "latency_ms"], "as": ["x", "latency_ms"]},
                _calculated("y", "max(0.001, datum.latency_ms)"),
                _calculated("series", "datum._source.latency"),
            ],
            corners=((2, 1), (1000, 1000)),
        ),
    )


def cpu() -> Panel:
    """Who keeps the cores busy: the latest run upwards, the one before it downwards."""
    colours = {
        **{f"elasticsearch-{place}": colour for place, colour in enumerate(ELASTICSEARCH_COLOURS[:2], start=1)},
        **{name: colour for name, colour in PROCESS_COLOURS.items() if name != EVERYTHING_ELSE},
    }
    base = alt.Chart().encode(
        x=SINCE_LOAD,
        y=cores_y(axis=alt.Axis(labelExpr="format(abs(datum.value), '~r')")),
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
        "CPU by process (newer run above the line, older below)",
        "Cores busy, stacked: the newer run above the line, the older one below.",
        _spec(
            # A layer for each run: stacked together, each would be filled up with zeros at the other's instants.
            [stacked(base).transform_filter(f"datum.place == {place}") for place in (1, 2)],
            _search("process", "process", "cpu_cores"),
            [
                X,
                _calculated("series", "datum._source.process"),
                {"filter": "isValid(datum._source.cpu_cores)"},
                _calculated("y", "(datum.place == 1 ? 1 : -1) * datum._source.cpu_cores"),
                _calculated("order", f"{order} : {len(colours)}"),
            ],
        ),
    )


def tasks() -> Panel:
    """Panel of the sink's tasks: running, failed."""
    names = {"running": "tasks_running", "failed": "tasks_failed"}
    axis = alt.Axis(labelExpr="datum.value % 1 ? '' : datum.value")
    base = alt.Chart().encode(
        x=SINCE_LOAD,
        y=alt.Y("y:Q", title="tasks", scale=alt.Scale(zero=True), axis=axis),
        strokeDash=_dashes(*names),
    )
    return Panel(
        "sink-tasks",
        "Tasks of the sink",
        "Tasks of the connector that run, and, of a run that is watched live, those that have failed.",
        _spec(
            [_over_runs(base).mark_line(strokeWidth=2, interpolate="step-after")],
            _search("sample", *names.values()),
            [X, *(_field(name, field) for name, field in names.items()), _folded(*names)],
        ),
    )


# --- searches -------------------------------------------------------------------------------------------------------


def _search(kind: str, *fields: str) -> dict[str, Any]:
    """A search for documents of one kind, the latest first; those of an instant only from the phases that are drawn."""
    of_kind: list[Any] = [{"term": {"kind": kind}}]
    of_phases: list[Any] = [] if kind == "curve" else [{"terms": {"phase": OVER_TIME}}]
    return {
        "index": f"{INDEX}*",
        "body": {
            "size": MOST_HITS,
            "_source": ["run.name", "run.started", "since_load_s", *fields],
            "query": {"bool": {**FROM_DASHBOARD, "filter": [*of_kind, *of_phases, *FROM_DASHBOARD["filter"]]}},
            "sort": [{"run.started": "desc"}, {"run.name": "asc"}, {"since_load_s": "desc"}],
        },
    }


# --- transforms of their answers ------------------------------------------------------------------------------------


LATEST_TWO: list[dict[str, Any]] = [
    {"calculate": "datum._source.run.name", "as": "run"},
    {"calculate": "datum._source.run.started", "as": "started"},
    {"window": [{"op": "dense_rank", "as": "place"}], "sort": [{"field": "started", "order": "descending"}]},
    {"filter": "datum.place <= 2"},
]
"""Two runs can be compared at a glance; the controls say which, otherwise the latest two are drawn."""


def _calculated(name: str, expression: str) -> dict[str, Any]:
    return {"calculate": expression, "as": name}


X = _calculated("x", "datum._source.since_load_s")


def _field(name: str, field: str) -> dict[str, Any]:
    """A figure of a document; one that it does not carry interrupts the line."""
    return _calculated(name, f"isValid(datum._source.{field}) ? datum._source.{field} : null")


def _folded(*names: str) -> dict[str, Any]:
    """A row for each of these values."""
    return {"fold": list(names), "as": ["series", "y"]}


def _by_scope(field: str, unit: str) -> dict[str, Any]:
    """The lines of `primaries` and `total`, for each run."""
    fields = {scope: f"{field}_{scope}" for scope in SCOPES}
    base = alt.Chart().encode(x=SINCE_LOAD, y=amount_y(unit), strokeDash=_dashes(*fields))
    return _spec(
        lines(_over_runs(base), points=False),
        _search("sample", *fields.values()),
        [X, *(_field(scope, name) for scope, name in fields.items()), _folded(*fields)],
    )


# --- drawing --------------------------------------------------------------------------------------------------------


SINCE_LOAD = time_x(alt.Scale(nice=False))


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
    marks: list[alt.Chart],
    url: dict[str, Any],
    transform: list[dict[str, Any]],
    *,
    corners: Sequence[tuple[float, float]] = ((0, 0), (1, 1)),
) -> dict[str, Any]:
    """The specification as Kibana takes it: its own size and theme, its own kind of search.

    Args:
        corners: (x, y): what the axes show where there is nothing to draw.
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


def _where_empty(layer: dict[str, Any], corners: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """Layers that say so where nothing was found; axes and legend would have no extent without them, and not show."""
    empty = [{"filter": "length(data('found')) == 0"}]
    shown = {name: {**layer["encoding"][name], "stack": None} for name in ("x", "y")}
    words = "nothing to draw: the run is not published, or lacks these figures"
    shown["color"] = layer["encoding"]["color"]
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


# --- saved objects ----------------------------------------------------------------------------------------------------


DATA_VIEW = INDEX
CONTROL = "sluice-runs"
COLUMNS = 48
"""Of a dashboard's grid."""
WIDTH, HEIGHT, CONTROL_HEIGHT = COLUMNS // 2, 15, 7

VERSIONS = {
    Shape.KIBANA_7_17: {"core": "7.14.0", "index-pattern": "7.11.0", "visualization": "7.14.0", "dashboard": "7.14.0"},
    Shape.KIBANA_8: {"core": "8.8.0", "index-pattern": "8.0.0", "visualization": "8.5.0", "dashboard": "8.9.0"},
}
"""Up to which of Kibana's migrations an object of a type is written already; Kibana applies the later ones itself."""


def saved_objects(shape: Shape) -> list[dict[str, Any]]:
    """Saved objects, each after the objects that it refers to."""
    old = shape is Shape.KIBANA_7_17
    view = {"title": f"{INDEX}*", "timeFieldName": "@timestamp"} | ({} if old else {"name": "Sluice: samples of runs"})
    drawn = panels()
    return [
        _object(shape, "index-pattern", DATA_VIEW, view),
        *([control_visualization()] if old else []),
        *(visualization(panel, shape) for panel in drawn),
        dashboard(drawn, shape),
    ]


def ndjson(shape: Shape) -> bytes:
    """The objects as Kibana's import takes them."""
    return b"".join(orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in saved_objects(shape))


def visualization(panel: Panel, shape: Shape) -> dict[str, Any]:
    """A panel, its specification indented for whoever opens Kibana's editor."""
    spec = orjson.dumps(panel.spec, option=orjson.OPT_INDENT_2).decode()
    attributes = _visualization(panel.title, panel.reading, "vega", {"spec": spec})
    return _object(shape, "visualization", panel.id, attributes)


def control_visualization() -> dict[str, Any]:
    """The choice of runs as 7.17 has it, a visualization of its own; later versions have it in the dashboard."""
    control = {
        "id": CONTROL,
        "fieldName": RUN_FIELD,
        "parent": "",
        "label": "Runs",
        "type": "list",
        "options": {"type": "terms", "multiselect": True, "dynamicOptions": True, "size": 100, "order": "desc"},
        "indexPatternRefName": "control_0_index_pattern",
    }
    parameters = {"controls": [control], "updateFiltersOnChange": True, "useTimeFilter": False, "pinFilters": False}
    reading = "Without a choice the latest two runs are drawn."
    attributes = _visualization("Runs", reading, "input_control_vis", parameters)
    return _object(Shape.KIBANA_7_17, "visualization", CONTROL, attributes, _data_view("control_0_index_pattern"))


def dashboard(drawn: Sequence[Panel], shape: Shape) -> dict[str, Any]:
    """The panels, two in a row, and the choice of runs."""
    top = CONTROL_HEIGHT if shape is Shape.KIBANA_7_17 else 0
    placed = [_placed(CONTROL, "Runs", {"x": 0, "y": 0, "w": COLUMNS, "h": CONTROL_HEIGHT})] if top else []
    for number, panel in enumerate(drawn):
        grid = {"x": number % 2 * WIDTH, "y": top + number // 2 * HEIGHT, "w": WIDTH, "h": HEIGHT}
        placed.append(_placed(panel.id, panel.title, grid))
    references = [
        {"name": f"{each['panelIndex']}:{each['panelRefName']}", "type": "visualization", "id": each["panelIndex"]}
        for each in placed
    ]
    attributes = {
        "title": "Sluice: experiment",
        "description": "One run, or two aligned at the start of their load. Without a choice, the latest two.",
        "panelsJSON": _json(placed),
        "optionsJSON": _json({"useMargins": True, "hidePanelTitles": False}),
        "timeRestore": False,
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": NO_SEARCH},
    }
    if shape is Shape.KIBANA_8:
        attributes["controlGroupInput"] = _controls()
        references += _data_view(f"controlGroup_{CONTROL}:optionsListDataView")
    return _object(shape, "dashboard", DASHBOARD, attributes, references)


def _controls() -> dict[str, Any]:
    """The choice of runs; whatever the time picker says, since runs of any day can be laid over each other."""
    control = {
        "id": CONTROL,
        "fieldName": RUN_FIELD,
        "title": "Runs",
        "dataViewId": DATA_VIEW,
        "singleSelect": False,
        "selectedOptions": [],
        "sort": {"by": "_key", "direction": "desc"},
        "enhancements": {},
    }
    panel = {"type": "optionsListControl", "order": 0, "grow": True, "width": "large", "explicitInput": control}
    ignored = {"ignoreFilters": False, "ignoreQuery": False, "ignoreTimerange": True, "ignoreValidations": False}
    return {
        "controlStyle": "oneLine",
        "chainingSystem": "HIERARCHICAL",
        "panelsJSON": _json({CONTROL: panel}),
        "ignoreParentSettingsJSON": _json(ignored),
    }


def _placed(panel_id: str, title: str, grid: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "visualization",
        "panelIndex": panel_id,
        "gridData": {**grid, "i": panel_id},
        "embeddableConfig": {"title": title, "enhancements": {}},
        "panelRefName": f"panel_{panel_id}",
        "version": VERSIONS[Shape.KIBANA_7_17]["core"],
    }


def _data_view(reference: str) -> list[dict[str, str]]:
    return [{"name": reference, "type": "index-pattern", "id": DATA_VIEW}]


def _visualization(title: str, description: str, kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": f"Sluice: {title}",
        "description": description,
        "visState": _json({"title": title, "type": kind, "aggs": [], "params": parameters}),
        "uiStateJSON": "{}",
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": NO_SEARCH},
    }


def _object(
    shape: Shape, kind: str, name: str, attributes: dict[str, Any], references: Sequence[dict[str, str]] = ()
) -> dict[str, Any]:
    versions = VERSIONS[shape]
    old = shape is Shape.KIBANA_7_17
    return {
        "type": kind,
        "id": name,
        "attributes": attributes,
        "references": list(references),
        "coreMigrationVersion": versions["core"],
        **({"migrationVersion": {kind: versions[kind]}} if old else {"typeMigrationVersion": versions[kind]}),
    }


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


NO_SEARCH = _json({"query": {"query": "", "language": "kuery"}, "filter": []})


if __name__ == "__main__":
    for shape in Shape:
        (Path(sys.argv[1]) / shape.file_name).write_bytes(ndjson(shape))
