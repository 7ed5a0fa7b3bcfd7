"""A run's samples as documents of our own: per instant, per process and instant, per point of a latency curve."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.analysis.cost import cpu_cores_series, process_names
from lab.analysis.counters import Point
from lab.analysis.latency import indexing_latency_series, percentile_curve_ms
from lab.analysis.rates import indexing_rate_series
from lab.publish.document import Document, timestamp
from lab.records import Run, Sample

INDEX = "sluice-samples"
SCOPES = ("primaries", "total")


def sample_documents(run: Run, samples: Sequence[Sample]) -> Iterator[Document]:
    """Everything of a run that the dashboard draws.

    Rates are those of the run's report: from the sample before to this one. A value that is not known is left out,
    which a chart draws as a gap. `since_load_s` is 0 where the load began, so that two runs can be laid over each
    other; it is left out, and so is the run from the dashboard, when the run never came to its load.
    """
    zero_s = load_started_s(run)
    common = {"run": _run(run)}
    for sample, values in zip(samples, _values(samples), strict=True):
        yield _document(run, "sample", sample.at_s, common | _instant(sample, zero_s) | values)
    for name in process_names(samples):
        yield from _process(run, name, samples, zero_s)
    yield from _percentiles(run)


def load_started_s(run: Run) -> float | None:
    """The instant that is t = 0 on the dashboard; `None` when there was no load."""
    return next((phase.started_s for phase in run.phases if phase.name == "load"), None)


def _run(run: Run) -> dict[str, Any]:
    return {
        "id": run.run_id,
        "name": f"{run.profile} {run.run_id}",
        "profile": run.profile,
        "started": timestamp(run.started_s),
        "verified": run.verification.verified,
        "cpu_cores": run.environment.cpu_cores,
        "target": run.environment.target,
    }


def _document(run: Run, kind: str, at_s: float, source: Mapping[str, Any], part: str = "") -> Document:
    known = {name: value for name, value in source.items() if value is not None}
    name = "-".join(filter(None, (run.profile, run.run_id, str(round(at_s * 1000)), kind, part)))
    return Document(name, {"kind": kind, **known})


def _instant(sample: Sample, zero_s: float | None) -> dict[str, Any]:
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
    index, kafka = sample.elasticsearch, sample.kafka
    return {
        "documents_indexed": index.primaries.index_total if index else None,
        "store_size_bytes": index.total.store_size_bytes if index else None,
        "segments_count": index.primaries.segments_count if index else None,
        "merges_current": index.primaries.merges_current if index else None,
        "records_in_topic": kafka.end_offset if kafka else None,
        "lag_records": kafka.lag_records if kafka else None,
        "bulk_requests_in_flight": sample.sink.bulk_requests_in_flight if sample.sink else None,
        "machine_cpu_percent": sample.machine_cpu_percent,
        "sources_lost": sorted(sample.lost) or None,
    }


def _process(run: Run, name: str, samples: Sequence[Sample], zero_s: float | None) -> Iterator[Document]:
    cores = _from_the_first(samples, cpu_cores_series(samples, name))
    for sample, busy in zip(samples, cores, strict=True):
        seen = sample.processes.get(name)
        values = {"process": name, "cpu_cores": busy, "rss_bytes": seen.rss_bytes if seen else None}
        yield _document(run, "process", sample.at_s, {"run": _run(run)} | _instant(sample, zero_s) | values, name)


def _percentiles(run: Run) -> Iterator[Document]:
    """The curves at the end of the load: one record in `one_in` took longer than `latency_ms`."""
    curves = {"end to end": run.sink_histograms.record_age, "bulk service time": run.sink_histograms.bulk_service_time}
    for latency, encoded in curves.items():
        for place, (one_in, ms) in enumerate(percentile_curve_ms(encoded)):
            values = {"@timestamp": timestamp(run.ended_s), "latency": latency, "one_in": one_in, "latency_ms": ms}
            yield _document(
                run, "percentile", run.ended_s, {"run": _run(run)} | values, f"{latency.replace(' ', '-')}-{place}"
            )
