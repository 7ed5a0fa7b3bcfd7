"""Samples as points of charts, by the same formulas as the report's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean

from lab.analysis.figures.cost import cpu_cores_series, other_cores_series, process_names
from lab.analysis.figures.latency import indexing_latency_series
from lab.analysis.figures.rates import Point, consumed, differences, indexing_rate_series, rate_per_s
from lab.analysis.report_page.looks import EVERYTHING_ELSE
from lab.records.samples import Sample

BEFORE = 16
"""Samples before a new one that decide whether there is a gap before it: the usual interval is their median."""
CARRIED_S = 12.0
"""How long a latency that is read every few seconds stands for the samples after it."""
DELIVERED_S = 10.0
"""Time that a delivery rate is of. Producers tell five times a second how far they are: one second has four of these
steps, or six."""


@dataclass(frozen=True, slots=True)
class LivePoint:
    """Values of one sample for charts; rates are from the sample before to this one, `None` where not known.

    Attributes:
        indexing_rate_docs_per_s: On primaries, as the latency; the total counts replicas, too.
        end_to_end_latency_ms_p50, end_to_end_latency_ms_p99: Of all records of a stream so far.
        produced_docs_per_s: Mean of the last ten seconds.
        sink_docs_per_s: Records that the sink has read.
        cpu: Cores by process, and of everything else.
    """

    at_s: float
    phase: str
    indexing_rate_docs_per_s: float | None
    indexing_rate_total_docs_per_s: float | None
    indexing_latency_ms: float | None
    end_to_end_latency_ms_p50: float | None
    end_to_end_latency_ms_p99: float | None
    lag_records: int | None
    produced_docs_per_s: float | None
    sink_docs_per_s: float | None
    dead_letters: int | None
    cpu: Mapping[str, float | None]
    machine_cpu_percent: float | None
    steal_percent: float | None

    def row(self) -> dict[str, object]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in FIELDS}


FIELDS = tuple(field.name for field in fields(LivePoint))


def points_of(samples: Sequence[Sample], cores: float, first: int = 0) -> list[LivePoint]:
    """A point for each sample from place `first` on; those before it are what its growth is taken from.

    Args:
        cores: Those that the run may use.
    """
    samples, first = samples[max(0, first - BEFORE) :], min(first, BEFORE)
    rates = [_aligned(samples, indexing_rate_series(samples, scope)) for scope in ("primaries", "total")]
    latency = _aligned(samples, indexing_latency_series(samples, "primaries"))
    produced = _delivery_rates(samples)
    read = _aligned(samples, _growth(samples, consumed))
    ages = list(_ages(samples))
    busy = {name: _aligned(samples, series) for name, series in _cpu(samples, cores).items()}
    return [
        LivePoint(
            at_s=sample.at_s,
            phase=sample.phase,
            indexing_rate_docs_per_s=rates[0][place],
            indexing_rate_total_docs_per_s=rates[1][place],
            indexing_latency_ms=latency[place],
            end_to_end_latency_ms_p50=ages[place][0],
            end_to_end_latency_ms_p99=ages[place][1],
            lag_records=sample.kafka.lag_records if sample.kafka else None,
            produced_docs_per_s=produced[place],
            sink_docs_per_s=read[place],
            dead_letters=sample.sink.records_dead_lettered if sample.sink else None,
            cpu={name: values[place] for name, values in busy.items() if name in {*sample.processes, EVERYTHING_ELSE}},
            machine_cpu_percent=sample.machine_cpu_percent,
            steal_percent=sample.machine_steal_percent,
        )
        for place, sample in enumerate(samples)
        if place >= first
    ]


def _aligned(samples: Sequence[Sample], series: Sequence[Point]) -> list[float | None]:
    """A value for every sample; the first one has none before it to compare with."""
    return [None, *(point.value for point in series)] if series else [None] * len(samples)


def _growth(samples: Sequence[Sample], counted: Callable[[Sequence[Sample]], list[int | None]]) -> list[Point]:
    """Growth of a count per second from each sample to the next."""

    def rate(before: Sample, after: Sample) -> float | None:
        first, last = counted((before, after))
        return rate_per_s(first, last, after.at_s - before.at_s)

    return differences(samples, rate)


def _delivery_rates(samples: Sequence[Sample]) -> list[float | None]:
    rates = _aligned(samples, _growth(samples, lambda pair: [sample.produced for sample in pair]))
    means: list[float | None] = []
    for place, sample in enumerate(samples):
        # Points that are made one by one have so many samples before them.
        last = range(max(0, place - BEFORE + 1), place + 1)
        known = [
            rate for at in last if (rate := rates[at]) is not None and samples[at].at_s > sample.at_s - DELIVERED_S
        ]
        means.append(fmean(known) if rates[place] is not None else None)
    return means


def _cpu(samples: Sequence[Sample], cores: float) -> dict[str, list[Point]]:
    series: dict[str, list[Point]] = {name: cpu_cores_series(samples, name) for name in process_names(samples)}
    series[EVERYTHING_ELSE] = other_cores_series(samples, list(series.values()), cores)
    return series


def _ages(samples: Sequence[Sample]) -> Iterator[tuple[float | None, float | None]]:
    """The latencies as they were last read, if that is not long ago."""
    known: tuple[float | None, float | None] = (None, None)
    read_at_s = float("-inf")
    for sample in samples:
        if sample.sink and sample.sink.record_age_ms_p50 is not None:
            known, read_at_s = (sample.sink.record_age_ms_p50, sample.sink.record_age_ms_p99), sample.at_s
        yield known if sample.at_s - read_at_s <= CARRIED_S else (None, None)
