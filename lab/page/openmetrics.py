"""The newest run's sample as OpenMetrics, for Prometheus: counters as servers count, and what the live page draws."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from lab.page.points import LivePoint
from lab.page.run import RunView
from lab.records.samples import NodeCounters, ProcessSample, Sample, ShardCounters, SinkSample

STALE_AFTER_INTERVALS, LEAST_STALE_S = 3, 5.0
OF_RUN = ("run", "profile", "variant")
"""Labels of every figure; only the newest run has any, so that their number is bounded."""
FATES = tuple(
    name
    for name in SinkSample.model_fields
    if name.startswith("records_") and name not in {"records_read", "records_in_flight"}
)
"""Fields of the sink's ledger that say what became of records."""
UNITS = ("seconds", "bytes", "records", "ratio")
By: TypeAlias = Mapping[str, float | None]
"""Values by that of a figure's own label, or by nothing; those that are not known are left out."""
Values: TypeAlias = Callable[[Sample, LivePoint], By]


@dataclass(frozen=True)
class Figure:
    """One family of figures. A name ends with its unit, and a counter's gets `_total`.

    Attributes:
        by: Its label beside those of the run; empty without.
    """

    name: str
    by: str
    text: str
    values: Values
    counts: bool = False

    @property
    def unit(self) -> str:
        """The unit that its name ends with; empty without."""
        return next((unit for unit in UNITS if self.name.endswith(f"_{unit}")), "")


def _shards(value: Callable[[ShardCounters], float]) -> Values:
    def values(sample: Sample, _: LivePoint) -> By:
        read = sample.elasticsearch
        return {"primaries": value(read.primaries), "total": value(read.total)} if read else {}

    return values


def _nodes(value: Callable[[NodeCounters], float]) -> Values:
    return lambda sample, _: {
        name: value(node) for name, node in (sample.elasticsearch.nodes if sample.elasticsearch else {}).items()
    }


def _processes(value: Callable[[ProcessSample], float | None]) -> Values:
    return lambda sample, _: {name: value(process) for name, process in sample.processes.items()}


def _sink(value: Callable[[SinkSample], float]) -> Values:
    return lambda sample, _: {"": value(sample.sink) if sample.sink else None}


def _part(value: float | None, whole: float) -> float | None:
    return None if value is None else value / whole


def _count(name: str, by: str, text: str, values: Values) -> Figure:
    return Figure(name, by, text, values, counts=True)


FIGURES = (
    _count("documents_indexed", "shards", "Operations that were indexed.", _shards(lambda s: s.index_total)),
    _count(
        "indexing_time_seconds",
        "shards",
        "Time of Elasticsearch's threads for these operations.",
        _shards(lambda shards: shards.index_time_ms / 1000),
    ),
    _count("documents_failed", "shards", "Operations that Elasticsearch rejected.", _shards(lambda s: s.index_failed)),
    Figure("store_size_bytes", "shards", "Size of the index.", _shards(lambda s: s.store_size_bytes)),
    _count("write_rejections", "node", "Bulk requests rejected: full queue.", _nodes(lambda n: n.write_rejected)),
    Figure("heap_used_bytes", "node", "Used Java heap.", _nodes(lambda node: node.heap_used_bytes)),
    Figure("heap_max_bytes", "node", "Largest Java heap.", _nodes(lambda node: node.heap_max_bytes)),
    _count("records_produced", "", "Records that Kafka has acknowledged.", lambda sample, _: {"": sample.produced}),
    Figure(
        "lag_records",
        "",
        "Records that the sink has not committed.",
        lambda sample, _: {"": sample.kafka.lag_records if sample.kafka else None},
    ),
    _count("records_read", "", "Records that the sink has read.", _sink(lambda sink: sink.records_read)),
    _count(
        "records",
        "fate",
        "Records by what became of them, in the sink's ledger.",
        lambda sample, _: {fate.removeprefix("records_"): getattr(sample.sink, fate, None) for fate in FATES},
    ),
    _count("bulk_requests", "", "Bulk requests of the sink.", _sink(lambda sink: sink.bulk_requests)),
    _count(
        "bulk_requests_failed", "", "Bulk requests without status 200.", _sink(lambda sink: sink.bulk_requests_failed)
    ),
    _count("bulk_retries", "", "Bulk requests sent again.", _sink(lambda sink: sink.bulk_retries)),
    _count(
        "bulk_service_time_seconds",
        "",
        "Time from bulk requests to their answers, added up.",
        _sink(lambda sink: sink.bulk_service_time_ms_total / 1000),
    ),
    Figure(
        "bulk_requests_in_flight",
        "",
        "Bulk requests without an answer.",
        _sink(lambda sink: sink.bulk_requests_in_flight),
    ),
    _count("process_cpu_seconds", "process", "CPU time of a process.", _processes(lambda process: process.cpu_s)),
    Figure("process_resident_memory_bytes", "process", "Resident memory.", _processes(lambda p: p.rss_bytes)),
    _count("process_disk_read_bytes", "process", "Bytes read from disk.", _processes(lambda p: p.disk_read_bytes)),
    _count("process_disk_written_bytes", "process", "Bytes written to disk.", _processes(lambda p: p.disk_write_bytes)),
    Figure(
        "indexing_rate",
        "shards",
        "Documents indexed per second, from the sample before to the newest one.",
        lambda _, point: {
            "primaries": point.indexing_rate_docs_per_s,
            "total": point.indexing_rate_total_docs_per_s,
        },
    ),
    Figure(
        "indexing_latency_seconds",
        "",
        "Time of Elasticsearch's threads per document, from the sample before to the newest one.",
        lambda _, point: {"": _part(point.indexing_latency_ms, 1000)},
    ),
    Figure(
        "end_to_end_latency_seconds",
        "quantile",
        "Due time until Elasticsearch acknowledged, of all records of a stream so far.",
        lambda _, point: {
            "0.5": _part(point.end_to_end_latency_ms_p50, 1000),
            "0.99": _part(point.end_to_end_latency_ms_p99, 1000),
        },
    ),
    Figure(
        "machine_busy_ratio",
        "",
        "Busy share of the cores that the run may use.",
        lambda _, point: {"": _part(point.machine_cpu_percent, 100)},
    ),
)
NAMES = frozenset(f"sluice_{figure.name}{'_total' if figure.counts else ''}" for figure in FIGURES)
"""Names as Prometheus stores them, beside `sluice_run_info` and `sluice_run_under_way`."""


def exposition(run: RunView | None, variant: str, now_s: float, accept: str) -> tuple[bytes, str]:
    """Figures of the newest run in the format that a scraper asks for, and its content type.

    Args:
        variant: That of a suite's run; empty for any other.
        accept: The request's header.
    """
    registry = CollectorRegistry()
    if run is not None:
        registry.register(RunFigures(run, variant, now_s))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


@dataclass(frozen=True, eq=False)
class RunFigures(Collector):
    """Figures of one run: what it is, and as long as it is sampled, its newest sample.

    A run that has ended, or whose samples stay away, keeps only what it is: Prometheus then takes the others for stale,
    where it would draw a last value as a line for ever.
    """

    run: RunView
    variant: str
    now_s: float

    def collect(self) -> Iterator[Metric]:
        """The families of figures that have a value."""
        progress, sample = self.run.progress, self.run.newest
        if progress is None:
            return
        values = (progress.run_id, progress.profile, self.variant)
        state = {"phase": progress.phase, "ended": progress.ended or ""}
        yield InfoMetricFamily(
            "sluice_run", "The newest run.", value={**dict(zip(OF_RUN, values, strict=True)), **state}
        )
        is_alive = self.run.is_alive
        under_way = GaugeMetricFamily("sluice_run_under_way", "1 while the run is under way.", labels=OF_RUN)
        under_way.add_metric(values, float(is_alive))
        yield under_way
        fresh_s = max(LEAST_STALE_S, STALE_AFTER_INTERVALS * progress.sample_interval_s)
        if not is_alive or sample is None or self.now_s - sample.at_s > fresh_s:
            return
        for figure in FIGURES:
            labels = (*OF_RUN, figure.by) if figure.by else OF_RUN
            of_kind: Any = CounterMetricFamily if figure.counts else GaugeMetricFamily
            family = of_kind(f"sluice_{figure.name}", figure.text, labels=labels, unit=figure.unit)
            for of, value in figure.values(sample, self.run.points[-1]).items():
                if value is not None:
                    family.add_metric((*values, of) if figure.by else values, value)
            if family.samples:
                yield family
