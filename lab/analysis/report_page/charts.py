"""The charts of a run's report: what each shows, and how it is read."""

from collections.abc import Mapping, Sequence

from lab.analysis.figures.clocks import end_to_end_curve_ms
from lab.analysis.figures.cost import cpu_cores_series, other_cores_series, process_names, servers_are_here
from lab.analysis.figures.indices import totals_of
from lab.analysis.figures.latency import indexing_latency_series, percentile_curve_ms
from lab.analysis.figures.rates import Point, index_totals, indexing_rate_series, read_s
from lab.analysis.figures.windows import Windows
from lab.analysis.report_page.looks import (
    BLUE,
    EVERYTHING_ELSE,
    GREY,
    ORANGE,
    RED,
    cycle_of_colours,
    process_colours,
)
from lab.analysis.report_page.query_charts import meanwhile, query_axis
from lab.analysis.report_page.svg import (
    Axis,
    Chart,
    Row,
    extent,
    percentile_chart,
    percentile_readings,
    primaries_and_total,
    stack_chart,
)
from lab.records.result import Window
from lab.records.run import Run
from lab.records.samples import Sample

MARGIN = 0.12
"""Part of the load phase that is shown before and after it."""


def time_axis(run: Run, window: Window | None) -> Axis | None:
    """The axis around the load phase; `None` when the run never came to it."""
    load = run.phase("load")
    if load is None:
        return None
    zero_s, length_s = load.started_s, max(1.0, load.ended_s - load.started_s)
    first, last = -MARGIN * length_s, (1 + MARGIN) * length_s
    first = max(first, min(phase.started_s for phase in run.phases) - zero_s)
    last = min(last, max(phase.ended_s for phase in run.phases) - zero_s)
    phases = [
        (phase.name, max(first, phase.started_s - zero_s), min(last, phase.ended_s - zero_s)) for phase in run.phases
    ]
    return Axis(
        zero_s=zero_s,
        first=first,
        last=max(last, length_s),
        phases=tuple((name, start, end) for name, start, end in phases if end > start),
        window=(window.started_s - zero_s, window.ended_s - zero_s) if window else None,
        warm_up=(window.started_s - window.warm_up_s - zero_s, window.started_s - zero_s)
        if window and window.warm_up_s
        else None,
    )


def charts(run: Run, cut: Windows) -> list[Chart]:
    """Charts of a run, in the order in which they are read."""
    axis, samples = time_axis(run, cut.measured), cut.run
    if axis is None:
        return [percentiles(run)]
    searches: list[Chart] = []
    if run.query_load is not None:
        while_queried = query_axis(run.query_load, axis)
        searches = meanwhile(run.query_load, samples, while_queried)
        if run.load == "query":
            return [*searches, cpu(run, samples, while_queried)]
    # The lag of a drain is the rest of its progress; the progress of a stream is that of the clock.
    waiting = progress if run.load == "drain" else lag
    of_kafka = [waiting(samples, axis)] if run.via == "kafka" else []
    of_indices = [by_index(run, samples, axis)] if run.index_documents else []
    indexing = [rate(samples, axis), latency(samples, axis), *of_indices, *of_kafka]
    return [*indexing, *searches, cpu(run, samples, axis), percentiles(run)]


def rate(samples: Sequence[Sample], axis: Axis) -> Chart:
    """Stack Monitoring's *Indexing Rate*."""
    lines, colours = primaries_and_total(indexing_rate_series, samples)
    reading = "As in Kibana's Stack Monitoring."
    return axis.chart("Indexing rate", reading, lines, colours, "documents/s", note=_in_kibana(colours))


def latency(samples: Sequence[Sample], axis: Axis) -> Chart:
    """Stack Monitoring's *Indexing Latency*."""
    lines, colours = primaries_and_total(indexing_latency_series, samples)
    reading = "Thread time in Elasticsearch per document; 0 while nothing is indexed."
    return axis.chart("Indexing latency", reading, lines, colours, "ms", words="ms per document", y="ms per document")


def progress(samples: Sequence[Sample], axis: Axis) -> Chart:
    """Chart over time of documents in the topic, indexed, and committed by the sink."""
    produced, indexed, committed = "in the topic", "indexed", "committed by the sink"
    colours = {produced: GREY, indexed: BLUE, committed: ORANGE}
    lines = {
        produced: [Point(s.at_s, s.kafka.end_offset if s.kafka else None) for s in samples],
        indexed: [Point(s.at_s, total) for s, total in zip(samples, index_totals(samples), strict=True)],
        committed: [Point(s.at_s, s.kafka.committed_offset if s.kafka else None) for s in samples],
    }
    reading = "From the topic into the index."
    return axis.chart("Progress", reading, lines, colours, "records", dashed=committed)


def by_index(run: Run, samples: Sequence[Sample], axis: Axis) -> Chart:
    """Chart over time of documents in each of several indices."""
    colours = {f"index-{number}": colour for number, colour in enumerate(cycle_of_colours(len(run.index_documents)), 1)}
    totals = [(read_s(sample), totals_of(sample)) for sample in samples]
    lines = {
        name: [Point(at_s, counted.get(index)) for at_s, counted in totals]
        for name, index in zip(colours, run.index_documents, strict=True)
    }
    reading = "A line that ends early is an index that had all of its documents."
    return axis.chart("Documents by index", reading, lines, colours, "documents", y="records")


def lag(samples: Sequence[Sample], axis: Axis) -> Chart:
    """Chart of the lag: records that wait."""
    waiting = [Point(s.at_s, s.kafka.lag_records if s.kafka else None) for s in samples]
    reading = "Records that the sink has not committed. It commits periodically, hence the steps."
    return axis.chart("Lag", reading, {"lag": waiting}, {"lag": RED}, "records", filled=True)


def cpu(run: Run, samples: Sequence[Sample], axis: Axis) -> Chart:
    """Who keeps the cores busy."""
    cores = run.environment.cpu_cores
    lines = {name: cpu_cores_series(samples, name) for name in process_names(samples)}
    lines[EVERYTHING_ELSE] = other_cores_series(samples, list(lines.values()), cores)
    colours = process_colours(list(lines))
    rows = axis.rows(lines)
    whose = "" if servers_are_here(run) else "Cores busy on the machine that drove the run, not the servers'. "
    return Chart(
        "CPU by process",
        f"{whose}Dashed: the {cores} cores of the run.",
        extent(rows, "cores for a single process"),
        stack_chart(rows, colours, axis, cores),
        colours,
        axis.readings(rows, "cores"),
    )


def percentiles(run: Run) -> Chart:
    """Chart of latency percentiles. A drain has no end-to-end latency: its topic was filled beforehand."""
    waits = run.load == "drain" and run.via == "kafka"
    curves = {
        "end to end": ([] if waits else end_to_end_curve_ms(run), BLUE),
        "bulk service time": (percentile_curve_ms(run.sink_histograms.bulk_service_time), ORANGE),
    }
    rows = [Row(n, max(0.001, ms), name) for name, (curve, _) in curves.items() for n, ms in curve]
    colours = {name: colour for name, (curve, colour) in curves.items() if curve}
    return Chart(
        "Latency percentiles",
        "At 99 %, one in a hundred took longer.",
        extent(rows, "ms"),
        percentile_chart(rows, colours) if len(rows) > len(colours) else None,
        colours,
        percentile_readings(rows) if rows else None,
    )


def _in_kibana(series: Mapping[str, str]) -> str:
    """Why Kibana may show another line, where there are replicas."""
    # Metricbeat since elastic/beats pull request 45049 sums the shards of all nodes and writes one sum under both.
    return (
        "A Metricbeat of mid-2025 or later counts replicas among the primaries: Kibana's overview of the cluster then"
        " shows “total” under both names, its page of the index does not."
        if len(series) > 1
        else ""
    )
