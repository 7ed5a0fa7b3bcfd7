"""The charts of a run under way, for a browser: the report's marks and axes over rows that come as they are sampled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from lab.analysis.page.drawing import (
    BLUE,
    CONFIG,
    ORANGE,
    RED,
    amount_y,
    cores_y,
    lines,
    process_colours,
    stacked,
    time_x,
)

POINTS = "points"
"""The dataset that the page fills: one row for each sample."""
HEIGHT = 180
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LiveChart:
    """What a chart draws of each row.

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
    "Elasticsearch's threads, per document; 0 while nothing is indexed.",
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
    "Records that the sink has not committed. It commits now and then, hence the steps.",
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
        processes: Those of the run that have been seen so far, and `other programs`.
        cores: Those that the run may use.
        zero_s: When the run began: the zero of the time axis.
        has_replicas: Without any, `total` would lie upon `primaries`.
    """
    rate = RATE if has_replicas else LiveChart(RATE.title, RATE.reading, RATE.unit, *_first_of(RATE))
    charts = {"indexing_rate": line_spec(rate, zero_s), "indexing_latency": line_spec(LATENCY, zero_s)}
    if is_stream:
        charts["end_to_end_latency"] = line_spec(END_TO_END, zero_s)
    if via_kafka:
        charts["lag"] = line_spec(LAG, zero_s)
    charts["cpu"] = cpu_spec(processes, cores, zero_s)
    return charts


def line_spec(chart: LiveChart, zero_s: float) -> Spec:
    """A line for each series."""
    base = _rows(chart.series, zero_s).encode(x=_x(), y=amount_y(chart.unit), color=_colour(chart.colours))
    return _spec(lines(base, points=False, filled=chart.filled), chart)


def cpu_spec(processes: Sequence[str], cores: float, zero_s: float) -> Spec:
    """Areas upon each other below the line of what the run may use."""
    colours = process_colours(processes)
    series = {name: f"isValid(datum.cpu['{name}']) ? datum.cpu['{name}'] : 0" for name in colours}
    order = "{" + ", ".join(f"'{name}': {place}" for place, name in enumerate(colours)) + "}"
    base = (
        _rows(series, zero_s)
        .transform_calculate(order=f"({order})[datum.series]")
        .encode(x=_x(), y=cores_y(), color=_colour(colours))
    )
    limit = alt.Chart(alt.InlineData(values=[{"y": cores}]))
    rule = limit.mark_rule(strokeDash=[5, 4], stroke="currentColor").encode(y="y:Q")
    reading = f"Dashed: the {cores} cores of the run."
    return _spec([stacked(base), rule], LiveChart("CPU by process", reading, "cores", series, colours))


def _first_of(chart: LiveChart) -> tuple[Mapping[str, str], Mapping[str, str]]:
    name = next(iter(chart.series))
    return {name: chart.series[name]}, {name: chart.colours[name]}


def _rows(series: Mapping[str, str], zero_s: float) -> alt.Chart:
    """The dataset, one row for each line and sample, with the fields of the report's drawings: x, y and series."""
    named = alt.Chart(alt.NamedData(name=POINTS)).transform_calculate(x=f"datum.at_s - {zero_s!r}")
    for name, expression in series.items():
        named = named.transform_calculate(as_=name, calculate=expression)
    folded: alt.Chart = named.transform_fold(list(series), as_=["series", "y"])
    return folded


def _x() -> alt.X:
    return time_x(alt.Scale(zero=False, nice=False), "the run began")


def _colour(colours: Mapping[str, str]) -> alt.Color:
    return alt.Color("series:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None)


def _spec(layers: Sequence[alt.Chart], chart: LiveChart) -> Spec:
    """As the report draws it, as wide as its place in the page, and with what the page writes around it."""
    drawn = alt.layer(*layers).properties(width="container", height=HEIGHT)
    usermeta = {
        "title": chart.title,
        "reading": chart.reading,
        "unit": chart.unit,
        "colours": dict(chart.colours),
    }
    spec: Spec = drawn.to_dict(validate=False) | {"config": CONFIG, "usermeta": usermeta}
    return spec
