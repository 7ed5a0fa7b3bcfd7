"""The warm-up of a stream: no end-to-end latency is of the sink's start, and nothing else is left out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from lab.analysis.figures.definitions import value_of
from lab.analysis.result import analyse
from lab.monitor import CLOCK
from lab.records.run import SinkHistograms
from lab.run.load.produce import Producing
from lab.run.load.warm_up import WARM_UP_S, StreamWarmUp
from producers.delivery import Progress
from tests.unit.analysis.synthetic import Truth, run, samples, written

STARTS_S = 1.43
"""Until a sink reads its first record."""
POLL_S = 0.2
SHARE = 0.7
TRUE_P50_MS, TRUE_P99_MS = 40.0, 40.0 * float(np.exp(2.3263 * 0.5))
"""Of the sink's own latencies, whose logarithms scatter by 0.5."""


@dataclass
class Streamed:
    """Records that are due at a rate, and a sink that takes them in order as fast as it can.

    Attributes:
        stalls: From when to when the sink takes nothing, in seconds since the first due time.
    """

    rate: float
    seconds: float
    stalls: tuple[tuple[float, float], ...] = ((0.0, STARTS_S),)
    seed: int = 1
    now_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        due_s = np.arange(int(self.rate * self.seconds)) / self.rate
        taken_s = np.empty_like(due_s)
        free_s, takes_s = 0.0, SHARE / self.rate
        for place, at_s in enumerate(due_s):
            free_s = max(free_s, at_s)
            for begins_s, ends_s in self.stalls:
                free_s = ends_s if begins_s <= free_s < ends_s else free_s
            taken_s[place] = free_s
            free_s += takes_s
        own_ms = TRUE_P50_MS * np.exp(np.random.default_rng(self.seed).normal(0, 0.5, len(due_s)))
        self.acknowledged_s: NDArray[np.float64] = taken_s + own_ms / 1000
        self.ages_us: NDArray[np.float64] = (self.acknowledged_s - due_s) * 1e6

    def histograms(self) -> SinkHistograms:
        """Ages of what is acknowledged by now; the sink has no task before its start is over."""
        if self.now_s < STARTS_S:
            return SinkHistograms(record_age=None, bulk_service_time=None)
        ages = HdrHistogram(1, 3_600_000_000, 3)
        values, counts = np.unique(self.ages_us[self.acknowledged_s <= self.now_s].astype(int), return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            ages.record_value(max(1, value), count)
        return SinkHistograms(record_age=ages.encode().decode(), bulk_service_time=None)

    def told(self) -> SinkHistograms:
        """What a run writes down of the stream."""
        warm_up = StreamWarmUp(self.histograms)
        for now_s in np.arange(0, self.seconds, POLL_S).tolist():
            self.now_s = now_s
            warm_up.follow(now_s)
        self.now_s = float(self.acknowledged_s.max())
        return warm_up.cut(self.histograms())


def latencies_ms(folder: Path, streamed: Streamed) -> dict[str, float | None]:
    """The end-to-end latencies that a run with this stream has."""
    truth = Truth(load="stream", rate_docs_per_s=streamed.rate)
    made = run(truth).model_copy(update={"sink_histograms": streamed.told(), "questions": ()})
    metrics = analyse(written(folder, made, samples(truth))).result.metrics
    names = ("p50", "p90", "p99", "p99_9", "max")
    return {name: value_of(metrics, f"end_to_end_latency_ms_{name}") for name in names}


@pytest.mark.parametrize("rate", [300.0, 1009.0])
def test_the_start_of_a_short_stream_is_no_part_of_its_latencies(tmp_path: Path, rate: float) -> None:
    """With it, the p99 of 20 s was 1,410 ms in place of 128: more than a hundredth of the records wait for the sink."""
    told = latencies_ms(tmp_path, Streamed(rate, 20.0))
    assert told["p50"] == pytest.approx(TRUE_P50_MS, rel=0.05)
    assert told["p99"] == pytest.approx(TRUE_P99_MS, rel=0.15)


def test_what_waits_for_a_sink_that_stalls_counts_with_all_of_its_wait(tmp_path: Path) -> None:
    """No coordinated omission: of 15 s that count 4 are a stall, from within the warm-up on."""
    streamed = Streamed(503.0, 20.0, stalls=((0.0, STARTS_S), (4.5, 8.5)))
    late = streamed.acknowledged_s > WARM_UP_S
    told = latencies_ms(tmp_path, streamed)
    truth_ms = np.percentile(streamed.ages_us[late], [50, 90, 99]) / 1000
    assert [told[name] for name in ("p50", "p90", "p99")] == pytest.approx(truth_ms.tolist(), rel=0.02)
    assert truth_ms[2] > 3900


@pytest.mark.parametrize(
    ("rate", "seconds", "told"),
    [
        (503.0, 4.9, set()),
        (503.0, 6.0, {"p50", "p90", "max"}),
        (503.0, 12.0, {"p50", "p90", "p99", "max"}),
        (503.0, 30.0, {"p50", "p90", "p99", "p99_9", "max"}),
    ],
    ids=["within the warm-up", "500 records", "3,500 records", "12,500 records"],
)
def test_a_stream_too_short_for_a_percentile_has_none(
    tmp_path: Path, rate: float, seconds: float, told: set[str]
) -> None:
    """Ten records that count are beyond it, or more."""
    known = latencies_ms(tmp_path, Streamed(rate, seconds))
    assert {name for name, ms in known.items() if ms is not None} == told


def test_the_record_says_what_was_cut() -> None:
    """How long, and the ages themselves: nothing is lost."""
    told = Streamed(503.0, 20.0).told()
    assert told.warm_up_s == pytest.approx(WARM_UP_S, abs=POLL_S)
    assert told.warm_up_record_age is not None
    assert told.record_age is not None


def test_the_warm_up_goes_on_while_the_sink_has_no_task() -> None:
    """What starts within 7 s has acknowledged nothing after 5."""
    streamed = Streamed(503.0, 20.0)
    late = StreamWarmUp(lambda: SinkHistograms(record_age=None, bulk_service_time=None))
    late.follow(WARM_UP_S)
    assert late.cut(streamed.histograms()).warm_up_s is None
    late.read = streamed.told
    late.follow(7.0)
    assert late.cut(streamed.histograms()).warm_up_s == 7.0


def test_a_sink_that_began_anew_has_no_latencies(tmp_path: Path) -> None:
    """A task that was restarted has forgotten what it acknowledged in the warm-up."""
    streamed = Streamed(503.0, 20.0)
    told = streamed.told()
    fewer = Streamed(503.0, 6.0, stalls=(), seed=2)
    fewer.now_s = 6.0
    truth = Truth(load="stream", rate_docs_per_s=503.0)
    histograms = told.model_copy(update={"record_age": fewer.histograms().record_age})
    made = run(truth).model_copy(update={"sink_histograms": histograms, "questions": ()})
    metrics = analyse(written(tmp_path, made, samples(truth))).result.metrics
    assert value_of(metrics, "end_to_end_latency_ms_p50") is None


def test_the_producers_tell_when_the_first_document_was_due() -> None:
    """By the first word of theirs; steps of a ramp that follow do not change it."""

    class Run:
        class progress:  # noqa: N801 - an attribute
            @staticmethod
            def update(*_: Any) -> None:
                """Show nothing."""

    producing = Producing(Run())  # type: ignore[arg-type]
    for elapsed_s in (3.0, 0.2):
        producing.on_produced(Progress(7, 7, 7, 0, 0, elapsed_s, 5.0))
    assert producing.first_due_s == pytest.approx(CLOCK.now_s() - 3.0, abs=1.0)
    assert producing.since_due_s == pytest.approx(3.0, abs=1.0)
