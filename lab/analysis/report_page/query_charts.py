"""The charts of a query load: latencies and answers by question, a ramp's curve, and what the servers did meanwhile."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from lab.analysis.figures.cost import node_sums, process_names, process_series
from lab.analysis.figures.latency import is_known, percentiles_ms
from lab.analysis.figures.queries import (
    answer_rate_series,
    bounded_nodes,
    search_latency_series,
    search_rate_series,
)
from lab.analysis.figures.rates import Point, answered, counter_series
from lab.analysis.report_page.looks import BLUE, GREEN, GREY, ORANGE, POWERS, RED, VIOLET, node_colours
from lab.analysis.report_page.queries import times_name
from lab.analysis.report_page.svg import (
    AS_GIVEN,
    WIDTH,
    Axis,
    Chart,
    Lines,
    Readings,
    drawn,
    in_units,
    inline,
    log_scale,
    primaries_and_total,
)
from lab.analysis.statistics.knee import Knee, knee
from lab.analysis.text import figure, number
from lab.records.queries import QueryLoadResult, QueryTimes, RampStep
from lab.records.samples import Sample

ROW_HEIGHT = 38
MB = 1e6
MOST_LABELS = 7
SHARES = alt.Axis(grid=False, format="~%", values=[0, 0.25, 0.5, 0.75, 1])
PERCENTILES = {"p50": BLUE, "p90": GREEN, "p99": ORANGE, "p99_9": VIOLET, "max": RED}
LABELS = {"p50": "median", "p90": "p90", "p99": "p99", "p99_9": "p99.9", "max": "longest"}


# --- by question ----------------------------------------------------------------------------------------------------


def latencies(load: QueryLoadResult) -> Chart:
    """Chart of times, a row for each question."""
    name = times_name(load)
    rows = [(question.name, _known_percentiles(question)) for question in load.questions]
    measured = [(question, values) for question, values in rows if values]
    since = "sending of a query" if name == "Service time" else "instant a query was due"
    return Chart(
        f"{name} by question",
        f"From the {since} until its answer was read.",
        "; ".join(f"{question}: {_times_text(values)}" for question, values in measured) or "Nothing was answered.",
        _latencies(measured) if measured else None,
        {LABELS[name]: colour for name, colour in PERCENTILES.items() if any(name in times for _, times in measured)},
    )


def _latencies(rows: Sequence[tuple[str, Mapping[str, float]]]) -> str:
    values = [ms for _, times in rows for ms in times.values() if ms > 0]
    domain = (min(values) / 1.25, max(values) * 1.25)
    x = alt.X("x:Q", title="ms", scale=log_scale(domain), axis=_round_numbers(domain, grid=False))
    lines = [{"row": place, "x": times["p50"], "end": times["max"]} for place, (_, times) in enumerate(rows)]
    dots = [
        {"row": place, "x": times[name], "colour": colour}
        for place, (_, times) in enumerate(rows)
        for name, colour in reversed(PERCENTILES.items())
        if name in times
    ]
    texts = [(name, _times_text(times)) for name, times in rows]
    low: dict[str, Any] = {"yOffset": 8}
    layers = [
        alt.Chart(inline(lines)).mark_rule(stroke="currentColor", opacity=0.35, **low).encode(x=x, x2="end:Q", y=_y()),
        alt.Chart(inline(dots)).mark_point(filled=True, size=64, opacity=1, **low).encode(x=x, y=_y(), color=AS_GIVEN),
        *_row_texts(texts),
    ]
    return drawn(layers, height=ROW_HEIGHT * len(rows))


def _times_text(times: Mapping[str, float]) -> str:
    highest = "p99" if "p99" in times else "max"
    return f"median {figure(times['p50'], 'ms')}, {highest} {figure(times[highest], 'ms')}"


def _known_percentiles(question: QueryTimes) -> dict[str, float]:
    """Percentiles that this many answers have."""
    times = percentiles_ms(question.latency or question.service_time)
    return {name: ms for name, ms in times.items() if is_known(name, question.answers)}


def right_answers(load: QueryLoadResult) -> Chart:
    """Chart of right answers by question; of answers expected to be wrong, the right part of each."""
    checked = [question for question in load.questions if question.checked and not question.not_computed]
    return Chart(
        "Answers right and wrong",
        "Share of the compared answers that equal what the dataset says. Where some are wrong, circle: rows that are"
        " there; diamond: rows whose value is right, too.",
        "; ".join(f"{each.name}: {_right_text(each)}" for each in checked) or "No answer was compared.",
        _right_answers(checked) if checked else None,
        {"right": GREEN, "wrong": RED, "wrong, as expected": ORANGE},
    )


def _right_text(question: QueryTimes) -> str:
    return f"{number(100 * (1 - question.wrong / question.checked))} % right"


def _right_answers(questions: Sequence[QueryTimes]) -> str:
    parts = [
        (place, *part)
        for place, each in enumerate(questions)
        for part in (
            (0.0, 1 - each.wrong / each.checked, GREEN),
            (1 - each.wrong / each.checked, 1.0, ORANGE if each.expected_wrong else RED),
        )
    ]
    bars = [{"row": place, "x": x, "end": end, "colour": colour} for place, x, end, colour in parts if end > x]
    shares = [
        {"row": place, "x": share, "shape": shape}
        for place, each in enumerate(questions)
        for share, shape in ((each.rows_right, "circle"), (each.values_right, "diamond"))
        if share is not None and each.wrong
    ]
    x = alt.X("x:Q", title="share of answers, or of rows", scale=alt.Scale(domain=[0, 1]), axis=SHARES)
    layers = [
        alt.Chart(inline(bars))
        .mark_bar(height=11, opacity=0.85, yOffset=8)
        .encode(x=x, x2="end:Q", y=_y(), color=AS_GIVEN),
        alt.Chart(inline(shares))
        .mark_point(filled=True, size=90, opacity=1, fill="currentColor", stroke="white", strokeWidth=1, yOffset=8)
        .encode(x=x, y=_y(), shape=alt.Shape("shape:N", scale=None)),
        *_row_texts([(each.name, _right_text(each)) for each in questions]),
    ]
    return drawn(layers, height=ROW_HEIGHT * len(questions))


def _round_numbers(domain: tuple[float, float], *, grid: bool = True) -> alt.Axis:
    """Labels of a logarithmic axis: 1, 2, 5, 10 and so on, or powers of ten where those would be too many."""
    powers = [power for power in POWERS if domain[0] <= power <= domain[1]]
    steps = [power * step for power in POWERS for step in (1, 2, 5) if domain[0] <= power * step <= domain[1]]
    shown = steps if len(steps) <= MOST_LABELS else powers
    return alt.Axis(values=shown, grid=grid, labelExpr="format(datum.value, '~r')")


def _y() -> alt.Y:
    return alt.Y("row:O", axis=None, sort=None, scale=alt.Scale(paddingInner=0, paddingOuter=0))


def _row_texts(texts: Sequence[tuple[str, str]]) -> list[alt.Chart]:
    """Above each row its name on the left and its figures on the right."""
    values = [{"row": place, "name": name, "figures": figures} for place, (name, figures) in enumerate(texts)]
    base = alt.Chart(inline(values)).encode(y=_y())
    placed: dict[str, Any] = {"fontSize": 12, "fill": "currentColor", "yOffset": -7}
    return [
        base.mark_text(align="left", limit=WIDTH - 165, **placed).encode(x=alt.value(0), text="name:N"),
        base.mark_text(align="right", opacity=0.75, **placed).encode(x=alt.value(WIDTH), text="figures:N"),
    ]


# --- the curve of a ramp --------------------------------------------------------------------------------------------


def ramp(of: Sequence[RampStep], bound: float | None, due: str) -> Chart:
    """p99 against the rate, the bound, and the rate at which it breaks.

    Args:
        due: What is due at that rate: `queries`, `documents`.
    """
    steps = [(step.rate_per_s, step.latency_ms["p99"]) for step in of if "p99" in step.latency_ms]
    at_bound = knee(of, bound)
    return Chart(
        "p99 against the rate",
        "Each point is a step of the ramp. Dashed: the bound"
        + (f" of {number(bound)} ms" if bound else "")
        + f". {knee_text(at_bound)}",
        f"p99 from {number(steps[0][1])} ms at {number(steps[0][0])}/s to {number(steps[-1][1])} ms at"
        f" {number(steps[-1][0])}/s."
        if steps
        else "No step has an answer.",
        _ramp(steps, bound, at_bound, f"{due} due per second") if len(steps) > 1 else None,
        {"within the bound": BLUE, "over it": RED, "knee": VIOLET} if at_bound.rate_per_s else {},
        Readings(*_ramp_domain([rate for rate, _ in steps]), "/s", "ms", {"p99": steps}, is_logarithmic=True)
        if len(steps) > 1
        else None,
    )


def knee_text(at_bound: Knee) -> str:
    """`The knee, where p99 breaks it: 340/s, surely between 310 and 375/s.`, or why there is none."""
    if at_bound.rate_per_s is None:
        return f"There is no knee: {at_bound.explained}."
    text = f"The knee, where p99 breaks it: {number(at_bound.rate_per_s)}/s"
    if at_bound.low is not None and at_bound.high is not None:
        return f"{text}, surely between {number(at_bound.low)} and {number(at_bound.high)}/s (band)."
    if at_bound.low is not None:
        return f"{text}, surely above {number(at_bound.low)}/s."
    return f"{text}, surely below {number(at_bound.high)}/s." if at_bound.high is not None else f"{text}."


def _ramp(steps: Sequence[tuple[float, float]], bound: float | None, at_bound: Knee, due: str) -> str:
    rates, times = [rate for rate, _ in steps], [*(ms for _, ms in steps), *([bound] if bound else [])]
    x_domain, y_domain = _ramp_domain(rates), (min(times) / 1.25, max(times) * 1.25)
    x = alt.X("x:Q", title=due, scale=log_scale(x_domain), axis=_round_numbers(x_domain))
    y = alt.Y("y:Q", title="p99, ms", scale=log_scale(y_domain), axis=_round_numbers(y_domain))
    points = [{"x": rate, "y": ms, "colour": RED if bound and ms > bound else BLUE} for rate, ms in steps]
    line = alt.Chart(inline(points)).encode(x=x, y=y)
    layers = [
        line.mark_line(stroke="currentColor", opacity=0.45, strokeWidth=1.5),
        line.mark_point(filled=True, size=64, opacity=1).encode(color=AS_GIVEN),
    ]
    if bound:
        layers.insert(0, alt.Chart(inline([{"y": bound}])).mark_rule(**RULE).encode(y=y))
    if at_bound.rate_per_s is not None:
        at = alt.Chart(inline([{"x": at_bound.rate_per_s}])).mark_rule(stroke=VIOLET, strokeWidth=2)
        layers.insert(0, at.encode(x=x))
    if at_bound.low is not None and at_bound.high is not None:
        band = alt.Chart(inline([{"x": at_bound.low, "end": at_bound.high}])).mark_rect(color=VIOLET, opacity=0.15)
        layers.insert(0, band.encode(x=x, x2="end:Q"))
    return drawn(layers)


def _ramp_domain(rates: Sequence[float]) -> tuple[float, float]:
    return min(rates) / 1.1, max(rates) * 1.1


RULE: dict[str, Any] = {"strokeDash": [5, 4], "stroke": "currentColor"}


# --- over time ------------------------------------------------------------------------------------------------------


def query_axis(load: QueryLoadResult, axis: Axis) -> Axis:
    """Axis of time whose window is the measured part of the query load."""
    warm_up = (load.started_s - load.warm_up_s - axis.zero_s, load.started_s - axis.zero_s)
    return replace(
        axis,
        window=(load.started_s - axis.zero_s, load.ended_s - axis.zero_s),
        warm_up=warm_up if load.warm_up_s else None,
    )


def meanwhile(load: QueryLoadResult, samples: Sequence[Sample], axis: Axis) -> list[Chart]:
    """Charts over time of the queries and of the servers meanwhile."""
    faults, colours = _by_node(samples, "major_page_faults", 1)
    reads, _ = _by_node(samples, "disk_read_bytes", MB)
    return [
        axis.chart(
            "Queries answered",
            "In each second after the warm-up.",
            {"answers": answer_rate_series(load)},
            {"answers": BLUE},
            "queries/s",
            words="answers per second",
        ),
        axis.chart(
            "Search rate",
            "A query counts once for each shard that it asks. Kibana's Stack Monitoring draws “total”.",
            *primaries_and_total(search_rate_series, samples),
            "searches/s",
        ),
        axis.chart(
            "Search latency",
            "A shard's part of a query, without fetching; 0 while nothing is searched. Kibana's Stack Monitoring draws"
            " “total”.",
            *primaries_and_total(search_latency_series, samples),
            "ms per search",
        ),
        cache("request", "holds whole answers of a shard", samples, axis),
        cache("query", "holds the documents that a filter matches in a segment", samples, axis),
        axis.chart(
            "Major page faults",
            "Page faults that waited for the disk. `read()` calls are not counted.",
            faults,
            colours,
            "faults/s",
        ),
        axis.chart("Read from disk", "By node, read-ahead included.", reads, colours, "MB/s", words="MB/s"),
        *([page_cache(samples, axis, names)] if (names := bounded_nodes(samples)) else []),
        search_threads(samples, axis),
    ]


def cache(name: str, holds: str, samples: Sequence[Sample], axis: Axis) -> Chart:
    """Hits and misses of the request cache or the query cache, on all shards."""
    colours = {"misses": ORANGE, "hits": GREEN}
    lines = {series: counter_series(samples, "total", f"{name}_cache_{series}") for series in colours}
    reading = f"The {name} cache {holds}. Over all shards."
    return axis.chart(f"{name.capitalize()} cache", reading, lines, colours, "per second")


def _by_node(samples: Sequence[Sample], counter: str, unit: float) -> tuple[Lines, dict[str, str]]:
    colours = node_colours([name for name in process_names(samples) if name.startswith("elasticsearch")])
    return {name: in_units(process_series(samples, name, counter), unit) for name in colours}, colours


def page_cache(samples: Sequence[Sample], axis: Axis, names: Sequence[str]) -> Chart:
    """Page cache of these nodes, and other memory and the bound of the first of them."""
    caches, other = {name: f"page cache of {name}" for name in names}, f"heap and other memory of {names[0]}"
    lines = {series: _of_group(samples, name, "page_cache_bytes") for name, series in caches.items()}
    lines[other] = _of_group(samples, names[0], "anonymous_bytes")
    lines["limit"] = _of_group(samples, names[0], "memory_limit_bytes")
    colours = {caches[name]: colour for name, colour in node_colours(names).items()} | {other: GREY, "limit": RED}
    reading = (
        "Memory of the control group: files (page cache), heap and everything else, and the limit that both share."
    )
    return axis.chart("Page cache against the limit", reading, lines, colours, "MB", dashed="limit")


def _of_group(samples: Sequence[Sample], name: str, field: str) -> list[Point]:
    values = [Point(sample.at_s, getattr(sample.control_groups.get(name), field, None)) for sample in samples]
    return in_units(values, MB)


def search_threads(samples: Sequence[Sample], axis: Axis) -> Chart:
    """Chart of busy search threads."""
    with_answer = answered(samples)
    lines = {
        "in the queue": node_sums(with_answer, lambda node: node.search_queue),
        "active": node_sums(with_answer, lambda node: node.search_active),
    }
    colours = {"in the queue": ORANGE, "active": BLUE}
    reading = "Threads at work and searches that waited for one, over all nodes."
    return axis.chart("Search threads", reading, lines, colours, "threads, searches", words="threads or searches")
