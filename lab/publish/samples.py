"""Samples as documents of our own: per instant, per process and instant, and a curve for each kind of latency."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.analysis.figures.clocks import end_to_end_curve_ms
from lab.analysis.figures.cost import cpu_cores_series, process_names
from lab.analysis.figures.latency import indexing_latency_series, percentile_curve_ms
from lab.analysis.figures.queries import search_latency_series, search_rate_series
from lab.analysis.figures.rates import Point, indexing_rate_series
from lab.publish.document import SCOPES, Document, index_template, of_type, timestamp, without_unknown
from lab.records.run import Run, SinkHistograms
from lab.records.samples import Sample

INDEX = "sluice-samples"
END_TO_END, BULK_SERVICE_TIME = "end to end", "bulk service time"
SERIES = {
    "indexing_rate_docs_per_s": indexing_rate_series,
    "indexing_latency_ms": indexing_latency_series,
    "search_rate_per_s": search_rate_series,
    "search_latency_ms": search_latency_series,
}

FIELDS = {
    **of_type("date", "@timestamp", "run.started"),
    **of_type("boolean", "run.verified"),
    **of_type("keyword", "run.id", "run.name", "run.profile", "run.target", "run.labels"),
    **of_type("text", "run.note"),
    **of_type("keyword", "kind", "phase", "process", "latency", "connector_state", "sources_lost"),
    **of_type("double", *(f"{name}_{scope}" for name in SERIES for scope in SCOPES)),
    **of_type("double", "since_load_s", "machine_cpu_percent", "cpu_cores", "one_in", "latency_ms"),
    **of_type("long", "documents_indexed", "store_size_bytes", "segments_count", "merges_current", "rss_bytes"),
    **of_type("long", "records_in_topic", "lag_records", "tasks_running", "tasks_failed", "bulk_requests_in_flight"),
    **of_type("long", "run.cpu_cores"),
}
TEMPLATE = index_template(INDEX, FIELDS)
SEARCHED = ("run.name", "kind", "run.started", "since_load_s")
"""The fields that Kibana filters or sorts by: without their types it finds nothing."""


@dataclass(frozen=True, slots=True)
class Label:
    """Facts of a run that every document repeats.

    Attributes:
        load_started_s: The instant that is t = 0 on the dashboard; `None` when there was no load.
        verified: `None` while the run is under way.
        cpu_cores: Those that the run could use; `None` on another machine than ours.
        labels: Each as `name=value`; empty without any.
    """

    run_id: str
    profile: str
    started_s: float
    load_started_s: float | None
    target: str
    verified: bool | None = None
    cpu_cores: float | None = None
    labels: tuple[str, ...] = ()
    note: str = ""

    def source(self) -> dict[str, Any]:
        """The field `run` of a document; readers choose a run by its `name`."""
        values = {
            "id": self.run_id,
            "name": f"{self.profile} {self.run_id}",
            "profile": self.profile,
            "started": timestamp(self.started_s),
            "verified": self.verified,
            "cpu_cores": self.cpu_cores,
            "target": self.target,
            "labels": list(self.labels) or None,
            "note": self.note or None,
        }
        return without_unknown(values)


def label_of(run: Run) -> Label:
    """The label of a run that is over."""
    return Label(
        run_id=run.run_id,
        profile=run.profile,
        started_s=run.started_s,
        load_started_s=next((phase.started_s for phase in run.phases if phase.name == "load"), None),
        target=run.environment.target,
        verified=run.verification.verified,
        cpu_cores=run.environment.cpu_cores,
        labels=tuple(f"{name}={value}" for name, value in run.labels.items()),
        note=run.note,
    )


def run_documents(run: Run, samples: Sequence[Sample]) -> Iterator[Document]:
    """Everything of a run that the dashboard draws."""
    label = label_of(run)
    yield from sample_documents(label, samples)
    curves = {
        END_TO_END: end_to_end_curve_ms(run),
        BULK_SERVICE_TIME: percentile_curve_ms(run.sink_histograms.bulk_service_time),
    }
    yield from curve_documents(label, curves, run.ended_s)


def sample_documents(label: Label, samples: Sequence[Sample], before: Sample | None = None) -> Iterator[Document]:
    """One document for each sample, and one for each process in it.

    Rates are those of the run's report: from the sample before to this one. Unknown values are left out, which a chart
    draws as a gap. `since_load_s` is 0 where the load began, so that two runs can be laid over each other; a run that
    never came to its load has none, and the dashboard does not draw it.

    Args:
        before: The sample before the first one, which has been sent already.
    """
    first = 0 if before is None else 1
    window = [*samples] if before is None else [before, *samples]
    for sample, growth in list(zip(window, _growth(window), strict=True))[first:]:
        yield _document(label, "sample", sample.at_s, _instant(sample, label) | _counts(sample) | growth)
    for name in process_names(samples):
        cores = _per_sample(window, cpu_cores_series(window, name))
        for sample, cpu_cores in list(zip(window, cores, strict=True))[first:]:
            process = sample.processes.get(name)
            values = {"process": name, "cpu_cores": cpu_cores, "rss_bytes": process.rss_bytes if process else None}
            yield _document(label, "process", sample.at_s, _instant(sample, label) | values, name)


Curve = Sequence[tuple[float, float]]


def curves_so_far(histograms: SinkHistograms) -> dict[str, Curve]:
    """By kind of latency, one record in n took longer than so many ms, of a stream that goes on."""
    so_far = {END_TO_END: histograms.record_age, BULK_SERVICE_TIME: histograms.bulk_service_time}
    return {latency: percentile_curve_ms(encoded) for latency, encoded in so_far.items()}


def curve_documents(label: Label, curves: Mapping[str, Curve], at_s: float) -> Iterator[Document]:
    """The latencies so far, at some instant: of `one_in[i]` records one took longer than `latency_ms[i]`.

    A run has one document for each kind of latency: a later one replaces an earlier one.
    """
    for latency, curve in curves.items():
        values = {
            "@timestamp": timestamp(at_s),
            "latency": latency,
            "one_in": [one_in for one_in, _ in curve],
            "latency_ms": [ms for _, ms in curve],
        }
        if curve:
            yield _document(label, "curve", None, values, latency.replace(" ", "-"))


def _document(label: Label, kind: str, at_s: float | None, source: Mapping[str, Any], part: str = "") -> Document:
    instant = "" if at_s is None else str(round(at_s * 1000))
    name = "-".join(filter(None, (label.profile, label.run_id, instant, kind, part)))
    return Document(name, {"kind": kind, "run": label.source(), **without_unknown(source)})


def _instant(sample: Sample, label: Label) -> dict[str, Any]:
    zero_s = label.load_started_s
    return {
        "@timestamp": timestamp(sample.at_s),
        "since_load_s": None if zero_s is None else round(sample.at_s - zero_s, 3),
        "phase": sample.phase,
    }


def _counts(sample: Sample) -> dict[str, Any]:
    index, kafka, sink = sample.elasticsearch, sample.kafka, sample.sink
    return {
        "documents_indexed": index.primaries.index_total if index else None,
        "store_size_bytes": index.total.store_size_bytes if index else None,
        "segments_count": index.primaries.segments_count if index else None,
        "merges_current": index.primaries.merges_current if index else None,
        "records_in_topic": kafka.end_offset if kafka else None,
        "lag_records": kafka.lag_records if kafka else None,
        "tasks_running": sink.tasks if sink else None,
        "bulk_requests_in_flight": sink.bulk_requests_in_flight if sink else None,
        "machine_cpu_percent": sample.machine_cpu_percent,
        "sources_lost": sorted(sample.lost) or None,
    }


def _growth(samples: Sequence[Sample]) -> Iterator[dict[str, float | None]]:
    """Rates and latencies from the sample before to each sample."""
    columns = {
        f"{name}_{scope}": _per_sample(samples, series(samples, scope))
        for name, series in SERIES.items()
        for scope in SCOPES
    }
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _per_sample(samples: Sequence[Sample], points: Sequence[Point]) -> list[float | None]:
    """A value for every sample; the first one has none before it to compare with."""
    return [None, *(point.value for point in points)] if points else [None] * len(samples)
