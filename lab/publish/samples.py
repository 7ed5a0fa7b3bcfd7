"""Samples as documents of our own: per instant, per process and instant, and a curve for each kind of latency."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.analysis.figures.cost import cpu_cores_series, process_names
from lab.analysis.figures.counters import Point
from lab.analysis.figures.latency import indexing_latency_series, percentile_curve_ms
from lab.analysis.figures.rates import indexing_rate_series
from lab.publish.document import Document, timestamp
from lab.publish.label import Label, label_of
from lab.records import Run, Sample, SinkHistograms

INDEX = "sluice-samples"
SCOPES = ("primaries", "total")


def run_documents(run: Run, samples: Sequence[Sample]) -> Iterator[Document]:
    """Everything of a run that the dashboard draws."""
    label = label_of(run)
    yield from sample_documents(label, samples)
    yield from curve_documents(label, run.sink_histograms, run.ended_s)


def sample_documents(label: Label, samples: Sequence[Sample], before: Sample | None = None) -> Iterator[Document]:
    """One document for each sample, and one for each process in it.

    Rates are those of the run's report: from the sample before to this one. A value that is not known is left out,
    which a chart draws as a gap. `since_load_s` is 0 where the load began, so that two runs can be laid over each
    other; it is left out, and so is the run from the dashboard, when the run never came to its load.

    Args:
        before: The sample before the first one, which has been sent already.
    """
    sent = 0 if before is None else 1
    seen = [*samples] if before is None else [before, *samples]
    for sample, values in list(zip(seen, _values(seen), strict=True))[sent:]:
        yield _document(label, "sample", sample.at_s, _instant(sample, label) | values)
    for name in process_names(samples):
        yield from _process(label, name, seen, sent)


def curve_documents(label: Label, histograms: SinkHistograms, at_s: float) -> Iterator[Document]:
    """The latencies so far, at some instant: of `one_in[i]` records one took longer than `latency_ms[i]`.

    A run has one document for each kind of latency, so that a later one takes the place of an earlier one.
    """
    kinds = {"end to end": histograms.record_age, "bulk service time": histograms.bulk_service_time}
    for latency, encoded in kinds.items():
        curve = percentile_curve_ms(encoded)
        values = {
            "@timestamp": timestamp(at_s),
            "latency": latency,
            "one_in": [one_in for one_in, _ in curve],
            "latency_ms": [ms for _, ms in curve],
        }
        if curve:
            yield _document(label, "curve", None, values, latency.replace(" ", "-"))


def _document(label: Label, kind: str, at_s: float | None, source: Mapping[str, Any], part: str = "") -> Document:
    known = {name: value for name, value in source.items() if value is not None}
    instant = "" if at_s is None else str(round(at_s * 1000))
    name = "-".join(filter(None, (label.profile, label.run_id, instant, kind, part)))
    return Document(name, {"kind": kind, "run": label.source(), **known})


def _instant(sample: Sample, label: Label) -> dict[str, Any]:
    zero_s = label.load_started_s
    return {
        "@timestamp": timestamp(sample.at_s),
        "since_load_s": None if zero_s is None else round(sample.at_s - zero_s, 3),
        "phase": sample.phase,
    }


def _values(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """The figures of each sample: what it says itself, and what has grown since the sample before."""
    series = {
        f"{name}_{scope}": _from_the_first(samples, points(samples, scope))
        for name, points in (
            ("indexing_rate_docs_per_s", indexing_rate_series),
            ("indexing_latency_ms", indexing_latency_series),
        )
        for scope in SCOPES
    }
    for place, sample in enumerate(samples):
        yield _counts(sample) | {name: values[place] for name, values in series.items()}


def _from_the_first(samples: Sequence[Sample], points: Sequence[Point]) -> list[float | None]:
    """A value for every sample; the first has none before it that it could be compared with."""
    return [None, *(point.value for point in points)] if points else [None] * len(samples)


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


def _process(label: Label, name: str, samples: Sequence[Sample], sent: int) -> Iterator[Document]:
    cores = _from_the_first(samples, cpu_cores_series(samples, name))
    for sample, busy in list(zip(samples, cores, strict=True))[sent:]:
        seen = sample.processes.get(name)
        values = {"process": name, "cpu_cores": busy, "rss_bytes": seen.rss_bytes if seen else None}
        yield _document(label, "process", sample.at_s, _instant(sample, label) | values, name)
