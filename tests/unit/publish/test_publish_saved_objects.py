"""Kibana's objects: what is in the repository, and whether Kibana of either shape can take it."""

from typing import Any

import orjson
import pytest
import vl_convert

from lab.publish.dashboard import COLUMNS, DATA_VIEW, MOST_HITS, Panel, ndjson, panels, saved_objects
from lab.publish.kibana import DASHBOARD, OBJECTS, Shape
from lab.publish.samples import INDEX, TEMPLATE
from tests.kibana import panel_query

ATTRIBUTES = {
    "index-pattern": {"title", "timeFieldName", "name"},
    "visualization": {"title", "description", "version", "kibanaSavedObjectMeta", "uiStateJSON", "visState"},
    "dashboard": {
        "title",
        "description",
        "kibanaSavedObjectMeta",
        "timeRestore",
        "controlGroupInput",
        "panelsJSON",
        "optionsJSON",
        "version",
    },
}
"""What Kibana's schemas of these types know, and refuse to go beyond (`unknowns: forbid`), as far as we use it.

Source: elastic/kibana, dashboard `schema/v1/v1.ts`, visualizations `content_management/v1/cm_services.ts`, data_views
`saved_objects/data_views.ts`.
"""

UNKNOWN_IN_7_17 = {"name", "controlGroupInput"}
NO_HITS: dict[str, Any] = {"hits": {"hits": []}}

shapes = pytest.mark.parametrize("shape", list(Shape))
each_panel = pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel.name)


def by_id(shape: Shape) -> dict[tuple[str, str], dict[str, Any]]:
    """The objects by type and id."""
    return {(each["type"], each["id"]): each for each in saved_objects(shape)}


def dashboard(shape: Shape) -> dict[str, Any]:
    """The one dashboard."""
    return by_id(shape)["dashboard", DASHBOARD]


def placed(shape: Shape) -> list[dict[str, Any]]:
    """The dashboard's panels."""
    panels_json: list[dict[str, Any]] = orjson.loads(dashboard(shape)["attributes"]["panelsJSON"])
    return panels_json


@shapes
def test_the_files_are_what_the_code_makes(shape: Shape) -> None:
    """To write them anew: python -m lab.publish.dashboard kibana."""
    assert (OBJECTS / shape.file_name).read_bytes() == ndjson(shape)


@shapes
def test_attributes_are_those_that_kibana_knows(shape: Shape) -> None:
    """One that it does not know makes it refuse the whole import."""
    unknown = UNKNOWN_IN_7_17 if shape is Shape.KIBANA_7_17 else set()
    for each in saved_objects(shape):
        assert each["attributes"].keys() <= ATTRIBUTES[each["type"]] - unknown


@shapes
def test_every_reference_leads_to_an_object_before_it(shape: Shape) -> None:
    """Nothing has to be in Kibana already."""
    earlier: set[tuple[str, str]] = set()
    for each in saved_objects(shape):
        assert {(reference["type"], reference["id"]) for reference in each["references"]} <= earlier
        earlier.add((each["type"], each["id"]))


@shapes
def test_every_panel_names_its_reference_as_kibana_looks_it_up(shape: Shape) -> None:
    """`<panel>:<name of the reference>`, and the panel's place under its own id."""
    names = {reference["name"] for reference in dashboard(shape)["references"]}
    for panel in placed(shape):
        assert f"{panel['panelIndex']}:{panel['panelRefName']}" in names
        assert panel["gridData"]["i"] == panel["panelIndex"]


@shapes
def test_panels_do_not_lie_on_each_other(shape: Shape) -> None:
    """Every cell of the grid belongs to one panel at most, and none lies beside the grid."""
    cells = [
        (x, y)
        for grid in (panel["gridData"] for panel in placed(shape))
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == COLUMNS - 1


def test_runs_are_chosen_by_name_in_either_shape() -> None:
    """A visualization in 7.17, the dashboard's own control later; both by data view and field."""
    control = by_id(Shape.KIBANA_7_17)["visualization", "sluice-runs"]
    (chosen,) = orjson.loads(control["attributes"]["visState"])["params"]["controls"]
    group = dashboard(Shape.KIBANA_8)["attributes"]["controlGroupInput"]
    (panel,) = orjson.loads(group["panelsJSON"]).values()

    assert chosen["fieldName"] == panel["explicitInput"]["fieldName"] == "run.name"
    assert control["references"][0] == {
        "name": chosen["indexPatternRefName"],
        "type": "index-pattern",
        "id": DATA_VIEW,
    }
    assert panel["explicitInput"]["dataViewId"] == DATA_VIEW
    assert orjson.loads(group["ignoreParentSettingsJSON"])["ignoreTimerange"] is True


@shapes
@each_panel
def test_the_visualization_holds_the_panels_specification(shape: Shape, panel: Panel) -> None:
    """As text that a reader can edit in Kibana."""
    stored = by_id(shape)["visualization", f"sluice-{panel.name}"]
    state = orjson.loads(stored["attributes"]["visState"])
    assert (state["type"], orjson.loads(state["params"]["spec"])) == ("vega", panel.spec)


# --- what a panel asks ----------------------------------------------------------------------------------------------


@each_panel
def test_a_panel_asks_for_fields_that_there_are(panel: Panel) -> None:
    """Of the index of samples, all at once, and no field that its template does not know."""
    index, body = panel_query(panel)
    fields = TEMPLATE["template"]["mappings"]["properties"]
    assert (index, body["size"]) == (f"{INDEX}*", MOST_HITS)
    for name in body["_source"]:
        outer, _, inner = name.partition(".")
        assert outer in fields
        assert not inner or inner in fields[outer]["properties"]


@each_panel
def test_a_panel_follows_the_dashboards_filters(panel: Panel) -> None:
    """Controls, filters and query are put beside the panel's own; the time picker is not, whatever it says."""
    chosen = {"match_phrase": {"run.name": "aladin/flat 20261121-101010"}}
    _, body = panel_query(panel, chosen)
    _, without = panel_query(panel)
    assert body["query"]["bool"]["filter"] == [*without["query"]["bool"]["filter"], chosen]
    assert body["query"]["bool"]["must"] == body["query"]["bool"]["must_not"] == []
    assert not {"%timefield%", "%context%"} & panel.spec["data"]["url"].keys()


@pytest.mark.parametrize("version", ["5.8", "5.21", "6.4"])
@each_panel
def test_vega_lite_of_any_version_takes_it(panel: Panel, version: str) -> None:
    """Nothing in it is newer than the Vega-Lite of the oldest Kibana that we can try."""
    source = panel.spec["data"]
    spec = {**panel.spec, "data": {"name": source["name"], "format": source["format"], "values": NO_HITS}}
    compiled = vl_convert.vegalite_to_vega(spec, vl_version=version)
    assert {"invalid", "params"} & {name for layer in panel.spec["layer"] for name in layer["mark"]} == set()
    assert compiled["marks"]
