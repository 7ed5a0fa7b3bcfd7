"""A run of queries alone whose every figure is known beforehand, because it is made from them."""

from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any

from lab.analysis.result import RunAnalysis, analyse
from lab.records.queries import ANSWERS_EVERY_S, QueryLoadResult, QueryTimes, RampStep
from lab.records.run import Layout, Phase, Run
from lab.records.samples import ControlGroupSample, ElasticsearchSample, NodeCounters, ProcessSample, Sample
from tests.unit.analysis import synthetic
from tests.unit.analysis.synthetic import START_S, Truth, encoded, written

WARM_UP_S, MEASURED_S, TAIL_S = 5, 17, 3
LOAD_S = START_S + 7
PART_S = LOAD_S + WARM_UP_S + 0.25
"""The measured part begins and ends between two samples."""
PROFILE = {"dataset": {"name": "events", "seed": 1}, "load": {"mode": "query"}}


@dataclass(frozen=True, kw_only=True)
class QueryTruth:
    """What is so while queries are sent; before and after, nothing grows.

    Attributes:
        per_s: Queries answered per second: two of the first question and one of the second make three.
        searches: Of shards, for one query.
        errors: Of the first question, beside its answers.
        cache_bytes: Page cache in the control group; `None`: there is no group.
    """

    per_s: int = 30
    clients: int = 3
    rate_per_s: float | None = None
    think_time_s: float = 0.0
    expected: float | None = 3.0
    busy: float = 2.97
    searches: int = 7
    searches_ms: int = 5
    cpu_ms: float = 20.0
    read_bytes: int = 101_000
    major_faults: int = 2
    request_cache: tuple[int, int] = (3, 4)
    query_cache: tuple[int, int] = (0, 1)
    search_active: int = 2
    search_queue: int = 0
    search_rejected_per_s: int = 0
    gc_ms_per_s: int = 11
    cache_bytes: int | None = 500_000_000
    machine_cpu_percent: float = 47.0
    iowait_percent: float = 0.0
    sender_share: float = 0.25
    late_starts: int = 0
    errors: tuple[tuple[str, int], ...] = ()
    steps: tuple[RampStep, ...] = ()
    fingerprint: str = "0123456789abcdef"

    @property
    def answers(self) -> int:
        """Queries answered in the measured part."""
        return self.per_s * MEASURED_S

    def at(self, tick: int) -> int:
        """Seconds of queries until a sample: from the start of the load phase to the end of the measured part."""
        return min(max(0, tick - 7), WARM_UP_S + MEASURED_S)


def query_run(truth: QueryTruth) -> Run:
    """The record of the run."""
    base = synthetic.run(Truth())
    ends_s = LOAD_S + WARM_UP_S + MEASURED_S + TAIL_S
    changes: dict[str, Any] = {
        "profile": "events/synthetic",
        "load": "query",
        "via": "direct",
        "topic": None,
        "delivery": None,
        "ended_s": ends_s,
        "phases": (
            Phase(name="fill", started_s=START_S, ended_s=LOAD_S),
            Phase(name="load", started_s=LOAD_S, ended_s=ends_s - TAIL_S + 1),
            Phase(name="verify", started_s=ends_s - TAIL_S + 1, ended_s=ends_s),
        ),
        "sink_histograms": base.sink_histograms.model_copy(update={"record_age": None, "bulk_service_time": None}),
        "questions": (),
        "query_load": query_load(truth),
        "layout": Layout(
            fingerprint="fedcba9876543210",
            made_by="20270115-070000-earlier",
            made_in_s=61.0,
            route="loaded",
            codecs={"BEST_SPEED": 7},
            segments=7,
        ),
        "store_size_bytes": {"primaries": 1_000_000_000, "total": 2_000_000_000},
    }
    return base.model_copy(update=changes)


def query_load(truth: QueryTruth) -> QueryLoadResult:
    """Two questions: the first is asked twice as often, and takes 20, 40, 60 and 80 ms, the second 10 ms."""
    first, second = 2 * truth.answers // 3, truth.answers // 3
    return QueryLoadResult(
        clients=truth.clients,
        rate_per_s=truth.rate_per_s,
        think_time_s=truth.think_time_s,
        request_cache=True,
        window_s=900.0,
        window_place="drawn",
        window_within=1.0,
        window_documents_mean=90_001.0,
        warm_up_s=WARM_UP_S,
        started_s=PART_S,
        ended_s=PART_S + MEASURED_S,
        clients_busy_mean=truth.busy,
        clients_expected=truth.expected,
        late_starts=truth.late_starts,
        sender_cpu_s=truth.sender_share * MEASURED_S,
        answers_read=(round(truth.per_s * ANSWERS_EVERY_S),) * round(MEASURED_S / ANSWERS_EVERY_S),
        searchable_lag_s=None,
        questions=(
            times_of(truth, "rating", (20, 40, 60, 80), first, dict(truth.errors)),
            times_of(truth, "total", (10,), second, {}),
        ),
        steps=truth.steps,
        p99_bound_ms=100.0 if truth.steps else None,
    )


def times_of(
    truth: QueryTruth, name: str, each_ms: tuple[int, ...], answers: int, errors: dict[str, int]
) -> QueryTimes:
    """One question whose answers take these times in turn; from the due time 5 ms more, of which took is the half."""
    times = answers // len(each_ms)
    return QueryTimes(
        name=name,
        question=f"How many events by {name}?",
        model="events",
        fingerprint=truth.fingerprint,
        requests=answers + sum(errors.values()),
        errors=errors,
        checked=answers // 5,
        wrong=2,
        expected_wrong=True,
        first_wrong="row 1: got 7, expected 11",
        rows_right=0.75,
        values_right=0.5,
        hits_mean=9001.0,
        response_bytes=answers * 503,
        service_time=encoded(each_ms, times),
        service_time_s=answers * sum(each_ms) / len(each_ms) / 1000,
        latency=None if truth.rate_per_s is None else encoded([ms + 5 for ms in each_ms], times),
        took=encoded([ms // 2 for ms in each_ms], times),
    )


def step(
    rate_per_s: float, p99_ms: float, *, answered: int = 100_000, errors: int = 0, took_s: float = 0.0
) -> RampStep:
    """A step of a ramp whose tail is exponential, as that of one queue; `took_s` longer than its rate says."""
    ends_ms = {"p50": 0.5, "p90": 0.1, "p99": 0.01, "p99_9": 0.001, "max": 1 / (answered + 1)}
    return RampStep(
        rate_per_s=rate_per_s,
        started_s=START_S,
        ended_s=START_S + (answered + errors) / rate_per_s + took_s,
        answered=answered,
        errors=errors,
        latency_ms={name: p99_ms * log(share) / log(0.01) for name, share in ends_ms.items()},
    )


def query_samples(truth: QueryTruth) -> list[Sample]:
    """One sample per second; counters begin anywhere but at zero, as those of a kept index do."""
    return [_sample(truth, tick) for tick in range(7 + WARM_UP_S + MEASURED_S + TAIL_S + 1)]


def _sample(truth: QueryTruth, tick: int) -> Sample:
    lasted = truth.at(tick)
    queries, sending = lasted * truth.per_s, 7 < tick <= 7 + WARM_UP_S + MEASURED_S
    hits, misses = truth.request_cache
    found, sought = truth.query_cache
    base = synthetic.samples(Truth(ticks=3))[0].elasticsearch
    assert base
    shards = base.primaries.model_copy(
        update={
            "docs_count": 100_003,
            "index_total": 100_003,
            "query_total": 1009 + queries * truth.searches,
            "query_time_ms": 9001 + queries * truth.searches * truth.searches_ms,
            "request_cache_hits": 11 + queries * hits,
            "request_cache_misses": 13 + queries * misses,
            "query_cache_hits": 17 + queries * found,
            "query_cache_misses": 19 + queries * sought,
        }
    )
    group = ControlGroupSample(
        memory_limit_bytes=1_100_000_000,
        memory_used_bytes=1_099_000_000,
        page_cache_bytes=truth.cache_bytes or 0,
        anonymous_bytes=700_000_000,
        major_page_faults=queries * truth.major_faults,
        read_bytes=None,
        read_operations=None,
    )
    return Sample(
        at_s=START_S + tick,
        phase="fill" if tick < 7 else "load" if tick <= 7 + WARM_UP_S + MEASURED_S else "verify",
        elasticsearch=ElasticsearchSample(
            primaries=shards,
            total=shards,
            nodes={"elasticsearch-1": _node(truth, base.nodes["elasticsearch-1"], lasted, sending=sending)},
            read_s=START_S + tick + 0.017,
        ),
        processes={
            "elasticsearch-1": ProcessSample(
                pid=100,
                cpu_s=29.0 + queries * truth.cpu_ms / 1000,
                rss_bytes=1_000_000_007,
                major_page_faults=23 + queries * truth.major_faults,
                disk_read_bytes=1_000_003 + queries * truth.read_bytes,
                disk_write_bytes=0,
            )
        },
        control_groups={} if truth.cache_bytes is None else {"elasticsearch-1": group},
        machine_cpu_percent=truth.machine_cpu_percent if sending else 3.0,
        machine_iowait_percent=truth.iowait_percent if sending else 0.0,
    )


def _node(truth: QueryTruth, base: NodeCounters, lasted: int, *, sending: bool) -> NodeCounters:
    return base.model_copy(
        update={
            "gc_young_time_ms": 113 + lasted * truth.gc_ms_per_s,
            "search_threads": 4,
            "search_active": truth.search_active if sending else 0,
            "search_queue": truth.search_queue if sending else 0,
            "search_rejected": 31 + lasted * truth.search_rejected_per_s,
        }
    )


def analysed(folder: Path, truth: QueryTruth, **changes: Any) -> RunAnalysis:
    """The run, read from a folder; `changes` are to the record of its query load."""
    made = query_run(truth)
    assert made.query_load
    made = made.model_copy(update={"query_load": made.query_load.model_copy(update=changes)})
    return analyse(written(folder, made, query_samples(truth), PROFILE))
