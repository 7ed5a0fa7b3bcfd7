"""A stream whose rate rises until its documents take too long, end to end."""

import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from hdrh.histogram import HdrHistogram

from lab.errors import StackError
from lab.monitor import CLOCK
from lab.profiles.models import Ramp
from lab.records.queries import DocumentRamp, RampStep
from lab.records.samples import Sample
from lab.run.load.produce import Producing
from lab.run.load.sink import Sink
from lab.run.load.warm_up import WARM_UP_S
from lab.run.ramp import LEAST_ANSWERED, next_rate, ramp_rates
from producers.delivery import Delivered, total_in_sequence
from producers.latency import PERCENTILES

CAUGHT_UP_WITHIN_S = 60.0
BACKLOG_WITHIN_S = 300.0
AGES_WITHIN_S = 10.0
POLL_S = 0.1


@dataclass(eq=False)
class RisingStream:
    """The steps of one ramp over the documents of a run.

    Attributes:
        latest: The newest sample.
        check: Raises an error if what takes part in the run has ended.
    """

    producing: Producing
    sink: Sink
    ramp: Ramp
    rate_docs_per_s: float
    _: KW_ONLY
    latest: Callable[[], Sample | None]
    check: Callable[[], None]

    def __post_init__(self) -> None:
        self._documents = self.producing.run.dataset.documents
        self._next = 0
        self._is_behind = False
        self._parts: list[Delivered] = []

    def run(self) -> tuple[Delivered, DocumentRamp]:
        """Raise the rate until the bound is broken, then halve the gap three times; the rest goes as fast as it can.

        Before the first step come some seconds at its rate that are none: what waits for the sink to start would break
        the bound. Every document of the dataset is produced in the end, so that the run is verified as every other one.
        """
        self._produce(min(self._documents, round(self.rate_docs_per_s * WARM_UP_S)), self.rate_docs_per_s)
        steps = tuple(self._steps())
        if self._next < self._documents:
            self._parts.append(self.producing.step(self._next, self._documents, None, self.check))
        return total_in_sequence(self._parts), DocumentRamp(p99_bound_ms=self.ramp.p99_ms, steps=steps)

    def _steps(self) -> Iterator[RampStep]:
        rates = ramp_rates(self.rate_docs_per_s, self.ramp.factor)
        rate: float | None = next(rates)
        while rate is not None and (step := self._step(rate)) is not None:
            yield step
            rate = next_rate(rates, is_broken=self._is_broken(step))

    def _step(self, rate: float) -> RampStep | None:
        """Some seconds at one rate, and until the sink has caught up.

        `None` where too few documents are left, or a backlog stays, whose records would count as this step's.
        """
        documents = self._documents_at(rate)
        if self._next + documents > self._documents:
            return None
        if self._is_behind and not self._catch_up(BACKLOG_WITHIN_S):
            return None
        before, started_s = self._ages(), CLOCK.now_s()
        self._produce(documents, rate)
        counts = grown(before, self._ages())
        return RampStep(
            rate_per_s=rate,
            started_s=started_s,
            ended_s=CLOCK.now_s(),
            answered=min(documents, sum(counts.values())),
            errors=0,
            latency_ms=percentiles_ms(counts),
        )

    def _produce(self, documents: int, rate: float) -> None:
        """So many more documents at a rate, and until the sink has caught up."""
        if documents:
            self._parts.append(self.producing.step(self._next, self._next + documents, rate, self.check))
            self._next += documents
            self._is_behind = not self._catch_up(CAUGHT_UP_WITHIN_S)

    def _documents_at(self, rate: float) -> int:
        """Documents that a step at this rate produces."""
        return max(1, round(rate * self.ramp.step_s))

    def _is_broken(self, step: RampStep) -> bool:
        is_late = step.answered < LEAST_ANSWERED * self._documents_at(step.rate_per_s)
        return is_late or step.latency_ms["p99"] > self.ramp.p99_ms

    def _catch_up(self, within_s: float) -> bool:
        """Wait until the sink is done with all that Kafka has taken; whether it is in time."""
        delivered = sum(part.delivered for part in self._parts)
        deadline = time.monotonic() + within_s
        acknowledged_s = CLOCK.now_s()
        while time.monotonic() < deadline:
            self.check()
            sample = self.latest()
            if sample and sample.sink and sample.at_s > acknowledged_s:
                sink = sample.sink
                if sink.records_read >= delivered and not sink.records_in_flight:
                    return True
            self.producing.run.progress.update(0, "the sink catches up")
            time.sleep(POLL_S)
        return False

    def _ages(self) -> HdrHistogram:
        """Ages of all records so far.

        Raises:
            StackError: The sink does not tell them, so that no step could be judged.
        """
        deadline = time.monotonic() + AGES_WITHIN_S
        while (encoded := (histograms := self.sink.histograms()).record_age) is None:
            if time.monotonic() > deadline:
                lost = f" ({histograms.lost})" if histograms.lost else ""
                raise StackError(
                    f"load.ramp: the sink does not report the age of its records{lost}; use a connector of Sluice"
                )
            time.sleep(POLL_S)
        return HdrHistogram.decode(encoded)


def grown(before: HdrHistogram, after: HdrHistogram) -> dict[int, int]:
    """Value in µs → how many came between two readings of one histogram."""
    earlier, counts = (
        {item.value_iterated_to: item.count_at_value_iterated_to for item in histogram.get_recorded_iterator()}
        for histogram in (before, after)
    )
    return {value: more for value, count in counts.items() if (more := count - earlier.get(value, 0)) > 0}


def percentiles_ms(counts: dict[int, int]) -> dict[str, float]:
    """Percentile name → ms, of values in µs; empty when there are none."""
    total, reached, percentiles = sum(counts.values()), 0, {}
    due = [(name, percent / 100 * total) for name, percent in PERCENTILES.items()] if total else []
    for value, count in sorted(counts.items()):
        reached += count
        while due and reached >= due[0][1] - 1e-9:
            percentiles[due.pop(0)[0]] = value / 1000
    return percentiles
