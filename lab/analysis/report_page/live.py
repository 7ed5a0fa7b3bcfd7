"""The charts of a run under way, for a browser: the report's marks and axes over rows that come as they are sampled.

They are written out here, since Altair, which makes the report's, takes a second to load: as much as the page uses in
some minutes. A test holds them against what Altair makes of the report's own parts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab.analysis.report_page.looks import BLUE, BREAK, CONFIG, LARGE, ORANGE, RED, process_colours

POINTS = "points"
"""The dataset that the page fills: one row for each sample."""
HEIGHT = 180
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveChart:
    """Chart of the live page: the values that it draws of each row.

    Attributes:
        series: Name of a line → where its value stands in a row, as a Vega expression.
        colours: By line.
        filled: Whether the area below a single line is filled.
    """

    title: str
    reading: str
    unit: str
    series: Mapping[str, str]
    colours: Mapping[str, str]
    filled: bool = False


RATE = LiveChart(
    "Indexing rate",
    "As in Kibana's Stack Monitoring.",
    "documents/s",
    {"primaries": "datum.indexing_rate_docs_per_s", "total": "datum.indexing_rate_total_docs_per_s"},
    {"primaries": BLUE, "total": ORANGE},
)
LATENCY = LiveChart(
    "Indexing latency",
    "Thread time in Elasticsearch per document; 0 while nothing is indexed.",
    "ms per document",
    {"primaries": "datum.indexing_latency_ms"},
    {"primaries": BLUE},
)
END_TO_END = LiveChart(
    "End-to-end latency",
    "Of all records so far, from their due time to Elasticsearch's acknowledgement.",
    "ms",
    {"p50": "datum.end_to_end_latency_ms_p50", "p99": "datum.end_to_end_latency_ms_p99"},
    {"p50": BLUE, "p99": ORANGE},
)
LAG = LiveChart(
    "Lag",
    "Records that the sink has not committed. It commits periodically, hence the steps.",
    "records",
    {"lag": "datum.lag_records"},
    {"lag": RED},
    filled=True,
)


def live_charts(
    processes: Sequence[str], cores: float, *, zero_s: float, has_replicas: bool, via_kafka: bool, is_stream: bool
) -> dict[str, Spec]:
    """The Vega-Lite specifications of a run's charts by name, over rows of the dataset `points`.

    Args:
        processes: Those of the run that have been seen so far, and everything else.
        cores: Those that the run may use.
        zero_s: When the run began: the zero of the time axis.
        has_replicas: Without any, `total` would lie upon `primaries`.
    """
    alone = replace(RATE, series={"primaries": RATE.series["primaries"]}, colours={"primaries": BLUE})
    rate = RATE if has_replicas else alone
    charts = {"indexing_rate": line_spec(rate, zero_s), "indexing_latency": line_spec(LATENCY, zero_s)}
    if is_stream:
        charts["end_to_end_latency"] = line_spec(END_TO_END, zero_s)
    if via_kafka:
        charts["lag"] = line_spec(LAG, zero_s)
    charts["cpu"] = cpu_spec(processes, cores, zero_s)
    return charts


def line_spec(chart: LiveChart, zero_s: float) -> Spec:
    """A line for each series; of a single one, the area below it."""
    line = {"type": "line", "clip": True, "invalid": BREAK, "point": False, "strokeWidth": 2}
    area = {"type": "area", "clip": True, "invalid": BREAK, "opacity": 0.25}
    encoding = {"color": _colour(chart.colours), "x": X, "y": _amount_y(chart.unit)}
    marks = [area, line] if chart.filled else [line]
    return _spec(chart, zero_s, [{"mark": mark, "encoding": encoding} for mark in marks])


def cpu_spec(processes: Sequence[str], cores: float, zero_s: float) -> Spec:
    """Areas upon each other below the line of what the run may use."""
    colours = process_colours(processes)
    series = {name: f"isValid(datum.cpu['{name}']) ? datum.cpu['{name}'] : 0" for name in colours}
    chart = LiveChart("CPU by process", f"Dashed: the {cores} cores of the run.", "cores", series, colours)
    places = ", ".join(f"'{name}': {place}" for place, name in enumerate(colours))
    encoding = {
        "color": _colour(colours),
        "order": {"field": "order", "type": "quantitative"},
        "x": X,
        "y": {"field": "y", "stack": "zero", "title": "cores busy", "type": "quantitative"},
    }
    stacked = {"mark": {"type": "area", "clip": True, "opacity": 0.85}, "encoding": encoding}
    limit = {
        "data": {"values": [{"y": cores}]},
        "mark": {"type": "rule", "stroke": "currentColor", "strokeDash": [5, 4]},
        "encoding": {"y": {"field": "y", "type": "quantitative"}},
    }
    order = {"calculate": f"({{{places}}})[datum.series]", "as": "order"}
    return _spec(chart, zero_s, [stacked, limit], order)


X: Spec = {
    "axis": {"grid": False, "tickCount": 7},
    "field": "x",
    "scale": {"nice": False, "zero": False},
    "title": "seconds since the run began",
    "type": "quantitative",
}


def _amount_y(unit: str) -> Spec:
    shape = "~s" if unit in LARGE else "~r"
    return {
        "axis": {"labelExpr": f"format(datum.value, '{shape}')", "tickCount": 5},
        "field": "y",
        "scale": {"zero": True},
        "title": unit,
        "type": "quantitative",
    }


def _colour(colours: Mapping[str, str]) -> Spec:
    scale = {"domain": list(colours), "range": list(colours.values())}
    return {"field": "series", "legend": None, "scale": scale, "type": "nominal"}


def _spec(chart: LiveChart, zero_s: float, layers: Sequence[Spec], *more: Spec) -> Spec:
    """As the report draws it, over one row for each line and sample, with what the page writes around it."""
    rows = [
        {"calculate": f"datum.at_s - {zero_s!r}", "as": "x"},
        *({"calculate": expression, "as": name} for name, expression in chart.series.items()),
        {"fold": list(chart.series), "as": ["series", "y"]},
        *more,
    ]
    own = [layer if "data" in layer else {**layer, "transform": rows} for layer in layers]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "config": CONFIG,
        "data": {"name": POINTS},
        "width": "container",
        "height": HEIGHT,
        "layer": own,
        "usermeta": {
            "title": chart.title,
            "reading": chart.reading,
            "unit": chart.unit,
            "colours": dict(chart.colours),
        },
    }
