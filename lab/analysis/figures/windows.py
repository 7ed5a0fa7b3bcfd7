"""The parts of a run that its figures are taken from: where its warm-up ends, and whether a steady state follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from statistics import fmean, stdev
from typing import Literal

from lab.analysis.figures.rates import (
    answered,
    answered_s,
    consumed,
    index_totals,
    indexing_rate_docs_per_s,
    rate_per_s,
    read_s,
)
from lab.records.queries import QueryLoadResult
from lab.records.result import Window
from lab.records.samples import Sample

WARM_UP_S = 3.0
"""Of every load, from its first document on: what is not counted. The connector starts, the index is new, buffers fill.

By the clock, so that it is the same for a fast variant and a slow one. Cut by what makes each run's own rest least
uncertain, as it was, it stayed in the short runs of fast variants: +18 % was told as +15 %, and no interval held it.
"""
END_S = 0.9
"""Before the last document, where nobody says when all had been read: the last requests are on their way, and fewer at
a time than before."""
LEAST_SAMPLES = 3
LEAST_S = 5.0
LEAST_RATED_S = 1.0
"""Of two samples, whose counts are exact, for a rate that may scatter but is not shifted."""
LEAST_VALUES = 8
"""Fewer values than these tell nothing."""
BATCH = 5
LEAST_BATCHES = 10
"""With fewer batches than these, each value is a batch of its own."""
MOST_CHANGE = 0.10
RISE_S = 6.0
"""After the warm-up: where a rate still grows between the halves of this time, the warm-up was longer."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The samples of a run, cut.

    Attributes:
        run: All of them.
        load: Those of the load phase, and the last one before it, from which its counters grow.
        growing: Those of the load phase from the first in which `index_total` of the primaries had grown to the last;
            where nothing is to be stored, what the sink had read.
        window: Those of `growing` that rates are taken from: without the first 3 s, and up to the last sample before
            the sink had read all. Where the rest is not steady but its own end is, the warm-up was longer, and more is
            cut, of a window of more than 5 s as much as leaves these. Empty where less than 1 s would be left.
        rates_per_s: Growth of that count per second from each sample of the window to the next, as far as it is known.
        is_steady: Whether that count grows steadily over the window; `None`: too few samples to tell.
        rise: Growth per second in the second half of the first 6 s after the warm-up, over that in the first half;
            `None`: too few samples to tell.
        measured: The measured window, of queries alone their measured part; `None` when it is too short to be believed,
            or void because counters began again.
    """

    run: tuple[Sample, ...]
    load: tuple[Sample, ...]
    growing: tuple[Sample, ...]
    window: tuple[Sample, ...]
    rates_per_s: tuple[float, ...]
    is_steady: bool | None
    rise: float | None = None
    measured: Window | None = None

    @property
    def of_machine(self) -> tuple[Sample, ...]:
        """The samples that tell what the machine did: those of the measured window; without one, those of `growing`.

        Whoever compares CPU per document counts runs without a measured window, and has to know of the disturbed ones.
        """
        return self.window if self.measured else self.growing


def query_windows(samples: Sequence[Sample], load: QueryLoadResult) -> Windows:
    """The samples of queries alone: `growing` holds those of the warm-up and of the measured part, `window` the latter.

    Whether a steady state was reached is not asked: the sender cuts the warm-up, by the clock.
    """
    of_load = windows(samples).load
    growing_part = tuple(
        sample
        for sample in of_load
        if load.started_s - load.warm_up_s <= sample.at_s and read_s(sample) <= load.ended_s
    )
    window = measured_samples(load, samples)
    part = Window(
        started_s=load.started_s, ended_s=load.ended_s, samples=len(window), warm_up_s=load.warm_up_s, steady=None
    )
    return Windows(tuple(samples), of_load, growing_part, window, (), None, measured=part)


def measured_samples(load: QueryLoadResult, samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples that were taken in the measured part of a query load."""
    return tuple(sample for sample in samples if load.started_s <= sample.at_s and read_s(sample) <= load.ended_s)


def windows(samples: Sequence[Sample], expect: Literal["stored", "consumed"] = "stored") -> Windows:
    """The samples of a run, cut into the parts that figures are taken from.

    Args:
        expect: What is to become of the records, and so what grows while they are loaded.
    """
    of_load = [place for place, sample in enumerate(samples) if sample.phase == "load"]
    if not of_load:
        return Windows(tuple(samples), (), (), (), (), None)
    load = tuple(samples[max(0, of_load[0] - 1) : of_load[-1] + 1])
    count = index_totals if expect == "stored" else consumed
    grown = growing(load, count(load))
    whole = under_load(grown)
    if len(answered(whole)) < 2 or answered_s(whole) < LEAST_RATED_S:
        return Windows(tuple(samples), load, grown, (), (), None)
    rates = rates_per_s(whole, count(whole))
    # What is known by commits alone comes in bursts, in which there is no steady state to be seen.
    is_continuous = expect == "stored" or any(sample.sink for sample in whole)
    # A cut that leaves less than a measured window would cost a level run its figures.
    ends_s = read_s(answered(whole)[-1])
    latest = sum(ends_s - read_s(whole[place]) >= LEAST_S for place, _ in rates) - 1
    steady = steady_state([rate for _, rate in rates], latest) if is_continuous else None
    cut = steady.begins if steady and steady.reached else 0
    window = whole[rates[cut][0] :] if cut else whole
    is_steady = steady.reached if steady else None
    is_counted = expect == "consumed" or indexing_rate_docs_per_s(window, "primaries") is not None
    return Windows(
        run=tuple(samples),
        load=load,
        growing=grown,
        window=window,
        rates_per_s=tuple(rate for _, rate in rates[cut:]),
        is_steady=is_steady,
        rise=rise(whole, count(whole)) if is_continuous else None,
        measured=_measured(grown, window, steady=is_steady) if is_counted and is_long_enough(window) else None,
    )


def is_long_enough(window: Sequence[Sample]) -> bool:
    """Check that a window is long enough to be believed."""
    return len(answered(window)) >= LEAST_SAMPLES and answered_s(window) >= LEAST_S


def _measured(grown: Sequence[Sample], window: Sequence[Sample], *, steady: bool | None) -> Window:
    """The measured window of a load, from its first answer to its last."""
    samples = answered(window)
    return Window(
        started_s=read_s(samples[0]),
        ended_s=read_s(samples[-1]),
        samples=len(window),
        warm_up_s=read_s(samples[0]) - read_s(grown[0]),
        steady=steady,
    )


def under_load(grown: Sequence[Sample]) -> tuple[Sample, ...]:
    """The samples between the warm-up and the end of a load, in which nothing but the servers limits it."""
    if not grown:
        return ()
    begins_s, ends_s = read_s(grown[0]) + WARM_UP_S, read_s(grown[-1])
    read = [sample.sink.records_read for sample in grown if sample.sink]
    reading = [sample for sample in grown if sample.sink and sample.sink.records_read < max(read)]
    until_s = read_s(reading[-1]) if reading else ends_s - END_S
    return tuple(sample for sample in grown if begins_s <= read_s(sample) <= until_s)


def growing(load: Sequence[Sample], counted: Sequence[int | None]) -> tuple[Sample, ...]:
    """From the first sample in which the count had grown to the last, both included; empty when it never grew."""
    known = [(place, value) for place, value in enumerate(counted) if value is not None]
    grown = [place for (_, before), (place, value) in pairwise(known) if value > before and load[place].phase == "load"]
    return tuple(load[grown[0] : grown[-1] + 1]) if grown else ()


def rates_per_s(samples: Sequence[Sample], counted: Sequence[int | None]) -> list[tuple[int, float]]:
    """Growth per second of a count from each sample that has it to the next one, with the place of the former."""
    known = [(place, read_s(samples[place]), value) for place, value in enumerate(counted) if value is not None]
    return [
        (place, rate)
        for (place, began_s, before), (_, ended_s, after) in pairwise(known)
        if (rate := rate_per_s(before, after, ended_s - began_s)) is not None
    ]


def rise(whole: Sequence[Sample], counted: Sequence[int | None]) -> float | None:
    """Growth per second of a count in the second half of the first 6 s of these samples, over that in the first half.

    Of a shorter series, of its halves; `None` where a half is less than 1 s, or nothing grew in it.
    """
    known = [(read_s(sample), value) for sample, value in zip(whole, counted, strict=True) if value is not None]
    early = [each for each in known if each[0] <= known[0][0] + RISE_S]
    if len(early) < 3:
        return None
    halfway_s = (early[0][0] + early[-1][0]) / 2
    half = min(early[1:-1], key=lambda each: abs(each[0] - halfway_s))
    spans = ((early[0], half), (half, early[-1]))
    if min(end_s - begin_s for (begin_s, _), (end_s, _) in spans) < LEAST_RATED_S:
        return None
    first, second = (rate_per_s(before, after, end_s - begin_s) for (begin_s, before), (end_s, after) in spans)
    return second / first if first and second else None


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The cut through a series.

    Attributes:
        begins: Values before this place are warm-up.
        reached: Whether the values from there on are steady.
    """

    begins: int
    reached: bool


def steady_state(values: Sequence[float], latest: int | None = None) -> SteadyState | None:
    """End of the warm-up of a series, by MSER-5, at this place at the latest; `None` if the series is too short.

    What is cut is what makes the mean of the rest least uncertain: the cut d that minimises the variance of the rest
    divided by its number, over means of 5 values each (over single values where there are fewer than 50 of them, which
    is the original rule). At most one half is cut. A steady state is reached when the two halves of the rest differ by
    no more than 10 % of their mean, and their mean has a standard error of no more: a series that rises, falls or
    tumbles all along has a best cut, too.

    Source: White, "An effective truncation heuristic for bias reduction in simulation output", 1997; White, Cobb and
        Spratt, "A comparison of five steady-state truncation heuristics for simulation", 2000 (batches of 5). Of 2, 6,
        9, 10, 10, 10, 10, 10, 10, 10 the first three are cut.
    """
    if len(values) < LEAST_VALUES:
        return None
    size = BATCH if len(values) >= BATCH * LEAST_BATCHES else 1
    # Batches end with the series; what is left over at its beginning goes with the first cut.
    over = len(values) % size
    batches = [fmean(values[place : place + size]) for place in range(over, len(values), size)]
    half = len(batches) // 2
    cuts = range(1 + (half if latest is None else min(half, max(0, latest - over) // size)))
    best = min(cuts, key=lambda cut: _variance(batches[cut:]) / (len(batches) - cut))
    begins = over + best * size if best else 0
    return SteadyState(begins, _is_level(values[begins:]))


def _variance(values: Sequence[float]) -> float:
    """Variance of all values that there are; `statistics.pvariance` computes in fractions, twenty times as long."""
    mean = fmean(values)
    return fmean((value - mean) ** 2 for value in values)


def _is_level(rest: Sequence[float]) -> bool:
    half = len(rest) // 2
    tolerated = MOST_CHANGE * fmean(rest)
    return abs(fmean(rest[:half]) - fmean(rest[-half:])) <= tolerated and stdev(rest) <= tolerated * sqrt(len(rest))
