"""Kibana's saved objects: a data view of the published samples and the dashboard that draws them.

`python -m lab.publish.saved_objects kibana` writes them anew, one file for each shape that Kibana has had.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from lab.publish.panels import Panel, panels
from lab.publish.samples import INDEX

DATA_VIEW = INDEX
DASHBOARD = "sluice-experiment"
CONTROL = "sluice-runs"
RUN_FIELD = "run.name"
COLUMNS = 48
"""Of a dashboard's grid."""
HEIGHT = 15
CONTROL_HEIGHT = 7


class Shape(StrEnum):
    """How Kibana wants its objects; the name of the file says for which versions."""

    KIBANA_7_17 = "7.17"
    KIBANA_8 = "8"

    @property
    def file_name(self) -> str:
        """Below `kibana/`."""
        return f"sluice-{self}.ndjson"


@dataclass(frozen=True, slots=True)
class Versions:
    """Up to which of Kibana's migrations an object is written already; the later ones Kibana applies itself."""

    core: str
    types: dict[str, str]


VERSIONS = {
    Shape.KIBANA_7_17: Versions(
        "7.14.0", {"index-pattern": "7.11.0", "visualization": "7.14.0", "dashboard": "7.14.0"}
    ),
    Shape.KIBANA_8: Versions("8.8.0", {"index-pattern": "8.0.0", "visualization": "8.5.0", "dashboard": "8.9.0"}),
}


def saved_objects(shape: Shape) -> list[dict[str, Any]]:
    """All objects, each after those that it refers to."""
    drawn = panels()
    controls = [control_visualization(shape)] if shape is Shape.KIBANA_7_17 else []
    return [data_view(shape), *controls, *(visualization(panel, shape) for panel in drawn), dashboard(drawn, shape)]


def ndjson(shape: Shape) -> bytes:
    """The objects as Kibana's import takes them."""
    return b"".join(orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE) for found in saved_objects(shape))


def data_view(shape: Shape) -> dict[str, Any]:
    """The samples of all runs, so that Kibana's own tools can read them, too."""
    attributes = {"title": f"{INDEX}*", "timeFieldName": "@timestamp"}
    named = attributes if shape is Shape.KIBANA_7_17 else attributes | {"name": "Sluice: samples of runs"}
    return _object(shape, "index-pattern", DATA_VIEW, named, ())


def visualization(panel: Panel, shape: Shape) -> dict[str, Any]:
    """A panel, its specification indented for whoever opens Kibana's editor."""
    spec = orjson.dumps(panel.spec, option=orjson.OPT_INDENT_2).decode()
    return _visualization(shape, _panel_id(panel), panel.title, panel.reading, kind="vega", parameters={"spec": spec})


def control_visualization(shape: Shape) -> dict[str, Any]:
    """The choice of runs as 7.17 has it, a visualization of its own; later versions have it in the dashboard."""
    chosen = {
        "id": CONTROL,
        "fieldName": RUN_FIELD,
        "parent": "",
        "label": "Runs",
        "type": "list",
        "options": {"type": "terms", "multiselect": True, "dynamicOptions": True, "size": 100, "order": "desc"},
        "indexPatternRefName": "control_0_index_pattern",
    }
    parameters = {"controls": [chosen], "updateFiltersOnChange": True, "useTimeFilter": False, "pinFilters": False}
    references = [{"name": "control_0_index_pattern", "type": "index-pattern", "id": DATA_VIEW}]
    reading = "Without a choice the latest two runs are drawn."
    return _visualization(
        shape, CONTROL, "Runs", reading, kind="input_control_vis", parameters=parameters, references=references
    )


def dashboard(drawn: Sequence[Panel], shape: Shape) -> dict[str, Any]:
    """The panels, two in a row, and the choice of runs."""
    top = CONTROL_HEIGHT if shape is Shape.KIBANA_7_17 else 0
    places = [_place(panel, place, top) for place, panel in enumerate(drawn)]
    if shape is Shape.KIBANA_7_17:
        places.insert(0, _panel(CONTROL, "Runs", {"x": 0, "y": 0, "w": COLUMNS, "h": CONTROL_HEIGHT}))
    references = [
        {"name": f"{place['panelIndex']}:{place['panelRefName']}", "type": "visualization", "id": place["panelIndex"]}
        for place in places
    ]
    attributes = {
        "title": "Sluice: experiment",
        "description": "One run, or two laid over each other from the instant at which their load began, whenever they"
        " ran. Without a choice the latest two are drawn.",
        "panelsJSON": _json(places),
        "optionsJSON": _json({"useMargins": True, "hidePanelTitles": False}),
        "timeRestore": False,
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": NO_SEARCH},
    }
    if shape is Shape.KIBANA_8:
        attributes["controlGroupInput"] = _controls()
        references.append(
            {"name": f"controlGroup_{CONTROL}:optionsListDataView", "type": "index-pattern", "id": DATA_VIEW}
        )
    return _object(shape, "dashboard", DASHBOARD, attributes, references)


def _controls() -> dict[str, Any]:
    """The choice of runs; whatever the time picker says, since runs of any day can be laid over each other."""
    chosen = {
        "id": CONTROL,
        "fieldName": RUN_FIELD,
        "title": "Runs",
        "dataViewId": DATA_VIEW,
        "singleSelect": False,
        "selectedOptions": [],
        "sort": {"by": "_key", "direction": "desc"},
        "enhancements": {},
    }
    panel = {"type": "optionsListControl", "order": 0, "grow": True, "width": "large", "explicitInput": chosen}
    ignored = {"ignoreFilters": False, "ignoreQuery": False, "ignoreTimerange": True, "ignoreValidations": False}
    return {
        "controlStyle": "oneLine",
        "chainingSystem": "HIERARCHICAL",
        "panelsJSON": _json({CONTROL: panel}),
        "ignoreParentSettingsJSON": _json(ignored),
    }


def _place(panel: Panel, place: int, top: int) -> dict[str, Any]:
    width = COLUMNS // 2
    grid = {"x": place % 2 * width, "y": top + place // 2 * HEIGHT, "w": width, "h": HEIGHT}
    return _panel(_panel_id(panel), panel.title, grid)


def _panel(panel_id: str, title: str, grid: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "visualization",
        "panelIndex": panel_id,
        "gridData": {**grid, "i": panel_id},
        "embeddableConfig": {"title": title, "enhancements": {}},
        "panelRefName": f"panel_{panel_id}",
        "version": VERSIONS[Shape.KIBANA_7_17].core,
    }


def _panel_id(panel: Panel) -> str:
    return f"sluice-{panel.name}"


def _visualization(
    shape: Shape,
    name: str,
    title: str,
    description: str,
    *,
    kind: str,
    parameters: dict[str, Any],
    references: Sequence[dict[str, str]] = (),
) -> dict[str, Any]:
    attributes = {
        "title": f"Sluice: {title}",
        "description": description,
        "visState": _json({"title": title, "type": kind, "aggs": [], "params": parameters}),
        "uiStateJSON": "{}",
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": NO_SEARCH},
    }
    return _object(shape, "visualization", name, attributes, references)


def _object(
    shape: Shape, kind: str, name: str, attributes: dict[str, Any], references: Sequence[dict[str, str]]
) -> dict[str, Any]:
    version = VERSIONS[shape].types[kind]
    written = {"migrationVersion": {kind: version}} if shape is Shape.KIBANA_7_17 else {"typeMigrationVersion": version}
    return {
        "type": kind,
        "id": name,
        "attributes": attributes,
        "references": list(references),
        "coreMigrationVersion": VERSIONS[shape].core,
        **written,
    }


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


NO_SEARCH = _json({"query": {"query": "", "language": "kuery"}, "filter": []})


if __name__ == "__main__":
    for shape in Shape:
        (Path(sys.argv[1]) / shape.file_name).write_bytes(ndjson(shape))
