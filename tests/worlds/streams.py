"""Suites of streams whose truth is known: documents that come in bursts, and wait while servers work them off."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

from lab.analysis.folder import RunFolder
from lab.records.run import SinkHistograms
from lab.records.samples import KafkaSample, Sample
from lab.records.suite import Effect, MetricKey
from lab.run.load.warm_up import WARM_UP_S
from tests.unit.analysis.synthetic import START_S
from tests.worlds.recorded import CPU, FILL_S, STEP_S, Floats, Known, World, recorded_load

P50, P99 = (MetricKey(name=f"end_to_end_latency_ms_{name}", scope="run") for name in ("p50", "p99"))
PERCENTS = {P50.name: 50.0, P99.name: 99.0}
REQUEST_S = 0.06
"""From the moment that a document is read to its acknowledgement, while nothing waits."""
TRUTH_RUNS = 1000
"""Of the model, for what percentiles are on average; their standard error is then less than 0.5 %."""


@dataclass(frozen=True, kw_only=True)
class Burst:
    """What documents come in beside their steady stream.

    Attributes:
        every_s: From the beginning of one to the next.
        lasts_s: How long each lasts.
        times: The rate meanwhile, over that between bursts.
    """

    every_s: float = 7.0
    lasts_s: float = 1.0
    times: float = 3.0


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """One stream, step by step.

    Attributes:
        due: Operations that are due by the end of each.
        done: Operations that are acknowledged by then.
        late_s: What requests that are acknowledged in it took longer than `REQUEST_S`, or shorter.
    """

    due: Floats
    done: Floats
    late_s: Floats

    def ages_s(self) -> tuple[Floats, Floats]:
        """Age of the document that is acknowledged last in each step, and how many are acknowledged in it."""
        steps_s = STEP_S * np.arange(1, len(self.due) + 1)
        return steps_s - np.interp(self.done, self.due, steps_s) + self.late_s, np.diff(self.done, prepend=0.0)


@dataclass(frozen=True, kw_only=True)
class StreamWorld(World):
    """A suite of streams.

    Attributes:
        due_per_s: Mean rate at which documents are due.
        lasts_s: Time from the first due to the last.
    """

    due_per_s: float = 14_000.0
    lasts_s: float = 35.0
    burst: Burst = Burst()

    @property
    def metrics(self) -> tuple[MetricKey, ...]:
        """Metrics that are compared: a stream has the rate that was asked for."""
        return CPU, P50, P99

    def ratio(self, effect: Effect) -> float:
        """The truth of a comparison; of a percentile, that of its geometric means over many runs."""
        if effect.metric == CPU.name:
            return super().ratio(effect)
        ours, theirs = (self.percentile_s[name][effect.metric] for name in (effect.variant, effect.against))
        return ours / theirs

    @cached_property
    def percentile_s(self) -> dict[str, dict[str, float]]:
        """Variant → percentile → its geometric mean, in seconds, from the model itself: no histogram, no samples."""
        alike = {each: known for known, each in {self.known(name): name for name in self.names}.items()}
        draw = np.random.default_rng(987_654_321)
        of_known = {known: self._percentiles_s(known, draw) for known in alike.values()}
        return {name: of_known[self.known(name)] for name in self.names}

    def _percentiles_s(self, known: Known, draw: np.random.Generator) -> dict[str, float]:
        logs: dict[str, list[float]] = {name: [] for name in PERCENTS}
        for _ in range(TRUTH_RUNS):
            ages_s, counts = self.streamed(known, draw, float(np.exp(draw.normal(0, self.machine.between)))).ages_s()
            after = STEP_S * np.arange(1, len(ages_s) + 1) > WARM_UP_S
            order = np.argsort(ages_s[after])
            ranks = np.cumsum(counts[after][order])
            for name, percent in PERCENTS.items():
                place = np.searchsorted(ranks, ranks[-1] * percent / 100)
                logs[name].append(float(np.log(ages_s[after][order][place])))
        return {name: float(np.exp(np.mean(values))) for name, values in logs.items()}

    def streamed(self, known: Known, draw: np.random.Generator, rate_factor: float) -> Streamed:
        """A stream of one run.

        A queue of one server: by any instant as much is done as could be since the queue was last empty.
        """
        steps = round(self.lasts_s / STEP_S)
        at_s = STEP_S * np.arange(steps)
        # Where in its period a burst begins is the run's own.
        in_burst = (at_s + draw.random() * self.burst.every_s) % self.burst.every_s < self.burst.lasts_s
        pace = np.where(in_burst, self.burst.times, 1.0)
        due = np.cumsum(pace) * self.due_per_s * self.lasts_s / pace.sum()
        after = np.full(round(30.0 / STEP_S), due[-1])
        due = np.concatenate((due, after))
        noise = draw.normal(0, self.machine.within, len(due) // round(1 / STEP_S) + 1).repeat(round(1 / STEP_S))
        speed = rate_factor * np.exp(noise[: len(due)])
        able = known.rate_per_s * speed * STEP_S
        able[: round(self.machine.start_s / STEP_S)] = 0.0
        possible = np.cumsum(able)
        read = possible + np.minimum.accumulate(np.minimum(0.0, due - possible))
        delay = round(REQUEST_S / STEP_S)
        done = np.concatenate((np.zeros(delay), read))[: len(due)]
        full = int(np.argmax(done >= due[-1] - 1e-6)) + 1
        done[full - 1] = due[-1]
        late_s = REQUEST_S * (1 / speed - 1)
        return Streamed(due=due[:full], done=done[:full], late_s=late_s[:full])

    def recorded(
        self, known: Known, draw: np.random.Generator, *, rate_factor: float = 1.0, cpu_factor: float = 1.0
    ) -> RunFolder:
        """What a stream leaves behind."""
        streamed = self.streamed(known, draw, rate_factor)
        folder = recorded_load(known, self.machine, streamed.done, draw, cpu_factor=cpu_factor)
        samples = tuple(_with_topic(sample, streamed) for sample in folder.samples)
        return RunFolder(
            Path(), folder.run.model_copy(update=_changes(folder, self.due_per_s, streamed)), samples, None
        )


def _with_topic(sample: Sample, streamed: Streamed) -> Sample:
    place = int((sample.at_s - START_S - FILL_S) / STEP_S)
    if place < 0:
        return sample
    due, done = (int(series[min(place, len(series) - 1)]) for series in (streamed.due, streamed.done))
    assert sample.sink is not None
    return sample.model_copy(
        update={
            "kafka": KafkaSample(end_offset=due, committed_offset=done),
            "sink": sample.sink.model_copy(update={"records_read": done}),
        }
    )


def _changes(folder: RunFolder, due_per_s: float, streamed: Streamed) -> dict[str, object]:
    ages_s, counts = streamed.ages_s()
    early = round(WARM_UP_S / STEP_S)
    histograms = SinkHistograms(
        record_age=_encoded(ages_s, counts),
        bulk_service_time=None,
        warm_up_record_age=_encoded(ages_s[:early], counts[:early]),
        warm_up_s=WARM_UP_S,
    )
    assert folder.run.delivery is not None
    delivery = folder.run.delivery.model_copy(
        update={
            "rate_docs_per_s": due_per_s,
            "first_intended_s": START_S + FILL_S,
            "last_acknowledged_s": START_S + FILL_S + STEP_S * int(np.argmax(streamed.due >= streamed.due[-1])),
        }
    )
    return {"load": "stream", "sink_histograms": histograms, "delivery": delivery}


def _encoded(ages_s: Floats, counts: Floats) -> str:
    histogram = HdrHistogram(1, 3_600_000_000, 3)
    # Counts are whole: what is left of one step's goes to the next.
    whole = np.diff(np.floor(np.cumsum(counts) + 1e-6), prepend=0.0)
    for age_s, count in zip(ages_s.tolist(), whole.tolist(), strict=True):
        if count:
            histogram.record_value(max(1, round(age_s * 1e6)), int(count))
    text: bytes = histogram.encode()
    return text.decode()
