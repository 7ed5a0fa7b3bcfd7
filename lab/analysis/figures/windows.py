"""The parts of a run that its figures are taken from."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from lab.analysis.figures.counters import consumed, index_totals, read_s
from lab.analysis.figures.rates import rate_per_s
from lab.analysis.figures.steady import steady_state
from lab.records import Sample, Window

LEAST_SAMPLES = 3
LEAST_S = 5.0


@dataclass(frozen=True, slots=True)
class Windows:
    """The samples of a run, cut.

    Attributes:
        run: All of them.
        load: Those of the load phase, and the last one before it, from which its counters grow.
        growing: Those of the load phase from the first in which `index_total` of the primaries had grown to the last;
            where nothing is to be stored, what the sink had read.
        window: Those of `growing` that rates are taken from: without the warm-up, and without the last interval, in the
            middle of which indexing ended. In a run of 12 s that interval alone would move the rate by up to 8 %.
            Where no steady state was reached, nothing is cut as warm-up.
        rates_per_s: Growth of that count per second from each sample of the window to the next, as far as it is known.
        is_steady: Whether that count grows steadily over the window; `None`: too few samples to tell.
    """

    run: tuple[Sample, ...]
    load: tuple[Sample, ...]
    growing: tuple[Sample, ...]
    window: tuple[Sample, ...]
    rates_per_s: tuple[float, ...]
    is_steady: bool | None

    @property
    def measured(self) -> Window | None:
        """The measured window; `None` when it is too short to be believed."""
        answered = [sample for sample in self.window if sample.elasticsearch]
        if len(answered) < LEAST_SAMPLES or read_s(answered[-1]) - read_s(answered[0]) < LEAST_S:
            return None
        return Window(
            started_s=read_s(answered[0]),
            ended_s=read_s(answered[-1]),
            samples=len(self.window),
            warm_up_s=read_s(answered[0]) - read_s(self.growing[0]),
            steady=self.is_steady,
        )


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
    whole = without_last_interval(grown)
    rates = rates_per_s(whole, count(whole))
    # What is known by commits alone comes in bursts, in which there is no steady state to be seen.
    seen_at_work = expect == "stored" or any(sample.sink for sample in whole)
    found = steady_state([rate for _, rate in rates]) if seen_at_work else None
    cut = found.begins if found and found.reached else 0
    return Windows(
        run=tuple(samples),
        load=load,
        growing=grown,
        window=whole[rates[cut][0] :] if cut else whole,
        rates_per_s=tuple(rate for _, rate in rates[cut:]),
        is_steady=found.reached if found else None,
    )


def growing(load: Sequence[Sample], counted: Sequence[int | None]) -> tuple[Sample, ...]:
    """From the first sample in which the count had grown to the last, both included; empty when it never grew."""
    grown: list[int] = []
    before: int | None = None
    for place, value in enumerate(counted):
        if value is None:
            continue
        if before is not None and value > before and load[place].phase == "load":
            grown.append(place)
        before = value
    return tuple(load[grown[0] : grown[-1] + 1]) if grown else ()


def without_last_interval(grown: tuple[Sample, ...]) -> tuple[Sample, ...]:
    """The samples without the last one, as long as enough of them are left to measure a rate."""
    return grown[:-1] if len(grown) > LEAST_SAMPLES else grown


def rates_per_s(samples: Sequence[Sample], counted: Sequence[int | None]) -> list[tuple[int, float]]:
    """Growth per second of a count from each sample that has it to the next one, with the place of the former."""
    seen = [(place, read_s(samples[place]), value) for place, value in enumerate(counted) if value is not None]
    return [
        (place, rate)
        for (place, began_s, before), (_, ended_s, after) in pairwise(seen)
        if (rate := rate_per_s(before, after, ended_s - began_s)) is not None
    ]
