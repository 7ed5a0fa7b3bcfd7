"""A document rate that rises: the age of each step's records, its end, and what all steps did together."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

import lab.run.load.ramp
from lab.errors import StackError
from lab.profiles.models import Ramp
from lab.records.run import SinkHistograms
from lab.run.load.ramp import RisingStream, grown, percentiles_ms
from producers.delivery import Delivered, Failure, total_in_sequence
from producers.latency import Latencies
from tests.unit.messages import MakeMessage
from tests.unit.run.displays import SilentProgress

PART = Delivered(
    produced=7, delivered=5, failed=2, source_bytes=500, entities=7, rate_docs_per_s=100.0, first_intended_s=1.0,
    last_acknowledged_s=2.0, late_documents=3, latency_ms={}, latency_samples=0, latencies_clamped=0, cpu_s=0.5,
    failures=(Failure("_MSG_TIMED_OUT", "Local: Message timed out", 2),),
)  # fmt: skip


def latencies(*values_ms: int) -> str:
    """A histogram of these."""
    made = Latencies()
    for value in values_ms:
        made.record(value * 1_000_000)
    return made.encoded()


def test_several_goes_come_to_one() -> None:
    """Counts add up, latencies become one histogram, failures of one kind are told once."""
    first = replace(PART, latencies=latencies(5, 5, 5))
    second = replace(PART, first_intended_s=3.0, last_acknowledged_s=4.0, latencies=latencies(90), latencies_clamped=1)
    made = total_in_sequence([first, second])

    assert (made.produced, made.delivered, made.failed) == (14, 10, 4)
    assert (made.source_bytes, made.entities, made.late_documents, made.cpu_s) == (1000, 14, 6, 1.0)
    assert (made.first_intended_s, made.last_acknowledged_s) == (1.0, 4.0)
    assert (made.latency_samples, made.latencies_clamped) == (4, 1)
    assert (made.latency_ms["p50"], made.latency_ms["max"]) == (pytest.approx(5, rel=0.01), pytest.approx(90, rel=0.01))
    assert made.failures == (Failure("_MSG_TIMED_OUT", "Local: Message timed out", 4),)


def test_goes_at_several_rates_have_none_in_common() -> None:
    """No reader may take the first rate for what was asked of the sink all the time."""
    assert total_in_sequence([PART, PART]).rate_docs_per_s == 100
    assert total_in_sequence([PART, replace(PART, rate_docs_per_s=160.0)]).rate_docs_per_s is None


def test_what_a_histogram_gained_has_its_own_percentiles() -> None:
    """1,000 old values of 9 s do not weigh on 99 new ones of 5 ms and one of 80."""
    before, after = HdrHistogram(1, 3_600_000_000, 3), HdrHistogram(1, 3_600_000_000, 3)
    before.record_value(9_000_000, 1000)
    after.add(before)
    after.record_value(5_000, 99)
    after.record_value(80_000)
    counts = grown(before, after)

    assert sum(counts.values()) == 100
    found = percentiles_ms(counts)
    assert [round(found[name]) for name in ("p50", "p90", "p99", "p99_9", "max")] == [5, 5, 5, 80, 80]
    assert percentiles_ms({}) == {}


# --- steps ------------------------------------------------------------------------------------------------------------


@dataclass
class Sink:
    """A sink whose records take 10 ms each up to its knee, and 10 s beyond; what comes first waits for its start.

    Attributes:
        starting: Records that wait 9 s.
    """

    knee: float
    starting: int = 0
    ages: HdrHistogram = field(default_factory=lambda: HdrHistogram(1, 3_600_000_000, 3))

    def refuse_end(self) -> None:
        """It runs."""

    def histograms(self) -> SinkHistograms:
        """Ages so far."""
        return SinkHistograms(record_age=self.ages.encode().decode(), bulk_service_time=None)


@dataclass
class Produced:
    """Hands each step to the sink at once, which is done with it by the next sample."""

    sink: Sink
    documents: int
    steps: list[tuple[int, int, float | None]] = field(default_factory=list)

    @property
    def run(self) -> Any:
        """What a ramp looks at of its run."""
        made = type("Run", (), {})()
        made.dataset, made.progress = type("Documents", (), {"documents": self.documents}), SilentProgress()
        return made

    def step(self, start: int, stop: int, rate: float | None, check: Callable[[], None]) -> Delivered:
        """Produce some documents."""
        check()
        self.steps.append((start, stop, rate))
        waiting = max(0, min(stop, self.sink.starting) - start)
        if waiting:
            self.sink.ages.record_value(9_000_000, waiting)
        self.sink.ages.record_value(10_000_000 if rate and rate > self.sink.knee else 10_000, stop - start - waiting)
        return replace(PART, rate_docs_per_s=rate)

    def latest(self) -> Any:
        """A sample that has seen all of it."""
        sample = type("Sample", (), {})()
        sample.at_s = 1e12
        sample.sink = type("Ledger", (), {"records_read": self.steps[-1][1], "records_in_flight": 0})
        return sample


def no_check() -> None:
    """All that takes part runs."""


def rising_stream(producing: Produced, sink: Sink, ramp: Ramp, check: Callable[[], None] = no_check) -> RisingStream:
    """A ramp that begins at 100 documents/s."""
    return RisingStream(producing, sink, ramp, 100, latest=producing.latest, check=check)  # type: ignore[arg-type]


def ramped(knee: float, documents: int, starting: int = 0) -> tuple[Produced, list[tuple[float, int, float]]]:
    """What was produced, and rate, documents and p99 of each step."""
    sink = Sink(knee, starting)
    producing = Produced(sink, documents)
    rising = rising_stream(producing, sink, Ramp(p99_ms=2000, factor=2, step_s=3))
    _, ramp = rising.run()
    return producing, [(step.rate_per_s, step.answered, round(step.latency_ms["p99"] / 1000, 1)) for step in ramp.steps]


def test_the_rate_rises_to_the_knee_and_the_rest_of_the_documents_follows() -> None:
    """100, 200, 400 breaks; then 283 holds, 336 breaks, 308 breaks. Every document is produced once."""
    producing, steps = ramped(knee=300, documents=9001)

    assert [(round(rate), answered, p99) for rate, answered, p99 in steps] == [
        (100, 300, 0.0), (200, 600, 0.0), (400, 1200, 10.0), (283, 849, 0.0), (336, 1009, 10.0), (308, 925, 10.0),
    ]  # fmt: skip
    assert [start for start, _, _ in producing.steps] == [0, *(stop for _, stop, _ in producing.steps[:-1])]
    assert producing.steps[-1][1:] == (9001, None)


def test_a_ramp_whose_documents_end_before_the_knee_has_the_steps_that_it_had() -> None:
    """500 to warm up, 300 and 600 of 1,509 documents; 1,200 more are not there."""
    producing, steps = ramped(knee=300, documents=1509)

    assert [rate for rate, _, _ in steps] == [100, 200]
    assert producing.steps == [(0, 500, 100), (500, 800, 100), (800, 1400, 200), (1400, 1509, None)]


def test_what_waits_for_the_sink_to_start_breaks_no_bound() -> None:
    """The first step would be taken for broken, and the knee looked for below it."""
    _, steps = ramped(knee=300, documents=9001, starting=143)
    assert [round(rate) for rate, _, _ in steps] == [100, 200, 400, 283, 336, 308]


def test_of_fewer_documents_than_warm_the_sink_there_is_no_step() -> None:
    """All of them are produced, once."""
    producing, steps = ramped(knee=300, documents=307)
    assert (steps, producing.steps) == ([], [(0, 307, 100)])


def test_a_sink_that_tells_no_ages_cannot_be_ramped(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """No step is taken for broken because a reading was lost."""
    monkeypatch.setattr(lab.run.load.ramp, "AGES_WITHIN_S", 0)
    monkeypatch.setattr(lab.run.load.ramp, "POLL_S", 0)

    class Mute(Sink):
        def histograms(self) -> SinkHistograms:
            return SinkHistograms(record_age=None, bulk_service_time=None, lost="timed out")

    sink = Mute(300)
    producing = Produced(sink, 9001)
    rising = rising_stream(producing, sink, Ramp(p99_ms=2000))
    with pytest.raises(StackError) as refused:
        rising.run()
    assert str(refused.value) == message("load.ramp")


def test_a_ramp_ends_with_what_takes_part_in_it() -> None:
    """A sending process that died while documents stream beside it, say."""
    sink = Sink(300)
    producing = Produced(sink, 9001)

    def check() -> None:
        if len(producing.steps) == 3:
            raise StackError("queries: the process that sends queries ended")

    rising = rising_stream(producing, sink, Ramp(p99_ms=2000, factor=2, step_s=3), check)
    with pytest.raises(StackError, match="the process that sends queries ended"):
        rising.run()


def test_no_step_begins_behind_a_backlog(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of the step before would be counted among its own; the ramp ends with the steps that it has."""
    monkeypatch.setattr(lab.run.load.ramp, "CAUGHT_UP_WITHIN_S", 0.1)
    monkeypatch.setattr(lab.run.load.ramp, "BACKLOG_WITHIN_S", 0.1)
    monkeypatch.setattr(lab.run.load.ramp, "POLL_S", 0.01)

    class Behind(Produced):
        def latest(self) -> Any:
            sample = super().latest()
            sample.sink.records_in_flight = 7 if len(self.steps) > 1 else 0
            return sample

    sink = Sink(300)
    producing = Behind(sink, 9001)
    _, ramp = rising_stream(producing, sink, Ramp(p99_ms=2000)).run()

    assert [step.rate_per_s for step in ramp.steps] == [100]
    assert producing.steps == [(0, 500, 100), (500, 1500, 100), (1500, 9001, None)]


def test_records_that_kafka_did_not_take_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each step 2 of 7 are lost on the way to Kafka: the sink cannot read them."""
    monkeypatch.setattr(lab.run.load.ramp, "CAUGHT_UP_WITHIN_S", 0.1)
    monkeypatch.setattr(lab.run.load.ramp, "BACKLOG_WITHIN_S", 0.1)

    class Lossy(Produced):
        def latest(self) -> Any:
            sample = super().latest()
            sample.sink.records_read = PART.delivered * len(self.steps)
            return sample

    sink = Sink(300)
    _, ramp = rising_stream(Lossy(sink, 1509), sink, Ramp(p99_ms=2000, factor=2, step_s=3)).run()

    assert [step.rate_per_s for step in ramp.steps] == [100, 200]
