"""The charts of a run under way: the report's marks over rows that a browser gets sample by sample."""

from typing import Any

import altair as alt
import pytest
import vl_convert

from lab.analysis.report_page.drawing import amount_y, cores_y, lines, stacked, time_x
from lab.analysis.report_page.live import LAG, RATE, LiveChart, cpu_spec, line_spec, live_charts
from lab.analysis.report_page.looks import BLUE, CONFIG, GREY, ORANGE
from lab.page.points import points_of
from tests.unit.analysis.synthetic import START_S, Truth, samples, varied

PROCESSES = ("connect", "elasticsearch-1", "kafka", "everything else")


def charts(**changes: bool) -> dict[str, Any]:
    """The charts of a stream with replicas."""
    chosen = {"has_replicas": True, "via_kafka": True, "is_stream": True, **changes}
    return live_charts(PROCESSES, 2, zero_s=START_S, **chosen)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["cpu", "end_to_end_latency", "indexing_latency", "indexing_rate", "lag"]),
        ({"is_stream": False}, ["cpu", "indexing_latency", "indexing_rate", "lag"]),
        ({"is_stream": False, "via_kafka": False}, ["cpu", "indexing_latency", "indexing_rate"]),
    ],
)
def test_a_run_has_the_charts_of_its_load(changes: dict[str, bool], names: list[str]) -> None:
    """A drain's latency end to end is the time in a topic that was filled beforehand."""
    assert sorted(charts(**changes)) == names


def test_total_is_drawn_only_where_it_is_another_line() -> None:
    """Without replicas it would hide the primaries."""
    assert charts()["indexing_rate"]["usermeta"]["colours"] == {"primaries": BLUE, "total": ORANGE}
    assert charts(has_replicas=False)["indexing_rate"]["usermeta"]["colours"] == {"primaries": BLUE}


def test_processes_have_the_colours_of_the_report() -> None:
    """What is nobody's is grey."""
    colours = charts()["cpu"]["usermeta"]["colours"]
    assert list(colours) == ["elasticsearch-1", "connect", "kafka", "everything else"]
    assert colours["everything else"] == GREY


def of_the_report(layers: list[alt.Chart]) -> dict[str, Any]:
    """What Altair makes of the report's parts, over the same rows."""
    drawn: dict[str, Any] = alt.layer(*layers).properties(width="container", height=180).to_dict()
    return without_names(drawn) | {"config": CONFIG}


def without_names(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification whose inline values stand in their layers, and which does not say who made it."""
    datasets = spec.pop("datasets", {})
    spec.pop("$schema")
    for layer in spec["layer"]:
        if (data := layer.get("data")) and data.get("name") in datasets:
            layer["data"] = {"values": datasets[data["name"]]}
    if all(layer.get("data") == {"name": "points"} for layer in spec["layer"] if "values" not in layer.get("data", {})):
        for layer in spec["layer"]:
            if layer.get("data") == {"name": "points"}:
                del layer["data"]
        spec["data"] = {"name": "points"}
    return spec


def rows_of(chart: LiveChart) -> alt.Chart:
    """The rows of a live chart, as Altair would take them."""
    rows = alt.Chart(alt.NamedData(name="points")).transform_calculate(x=f"datum.at_s - {START_S!r}")
    for name, expression in chart.series.items():
        rows = rows.transform_calculate(as_=name, calculate=expression)
    folded: alt.Chart = rows.transform_fold(list(chart.series), as_=["series", "y"])
    return folded


def colour_of(colours: Any) -> alt.Color:
    """The report's colours: the page writes the legend."""
    return alt.Color("series:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)


X = time_x(alt.Scale(zero=False, nice=False), "the run began")


@pytest.mark.parametrize("chart", [RATE, LAG], ids=["several lines", "a line with its area"])
def test_lines_are_those_of_the_report(chart: LiveChart) -> None:
    """Marks, axes and colours to the last word: Altair makes the same of the report's own parts."""
    base = rows_of(chart).encode(x=X, y=amount_y(chart.unit), color=colour_of(chart.colours))
    written = line_spec(chart, START_S)
    del written["$schema"], written["usermeta"]
    assert written == of_the_report(lines(base, points=False, filled=chart.filled))


def test_the_areas_of_processes_are_those_of_the_report() -> None:
    """With the dashed line of the cores."""
    written = cpu_spec(PROCESSES, 2, START_S)
    colours = written["usermeta"]["colours"]
    series = {name: f"isValid(datum.cpu['{name}']) ? datum.cpu['{name}'] : 0" for name in colours}
    chart = LiveChart("", "", "cores", series, colours)
    order = "({" + ", ".join(f"'{name}': {place}" for place, name in enumerate(colours)) + "})[datum.series]"
    base = rows_of(chart).transform_calculate(order=order).encode(x=X, y=cores_y(), color=colour_of(colours))
    limit = alt.Chart(alt.InlineData(values=[{"y": 2}])).mark_rule(strokeDash=[5, 4], stroke="currentColor")
    del written["$schema"], written["usermeta"]
    assert written == of_the_report([stacked(base), limit.encode(y="y:Q")])


def test_every_chart_draws_the_points_that_the_page_sends() -> None:
    """Compiled and drawn with real rows: each line is there."""
    rows = [point.row() for point in points_of(samples(varied(Truth(load="stream", lag_records=503, replicas=1))), 2)]
    for name, spec in charts().items():
        assert (spec["width"], spec["data"]) == ("container", {"name": "points"})
        drawn: str = vl_convert.vegalite_to_svg({**spec, "width": 340, "datasets": {"points": rows}})
        lines = drawn.count("<path")
        is_empty = name == "end_to_end_latency"  # no sample here has read it
        assert is_empty or lines >= len(spec["usermeta"]["colours"]), name
