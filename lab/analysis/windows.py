"""The parts of a run that its figures are taken from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lab.analysis.counters import consumed, index_totals
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
            where nothing is to be stored, what the sink had read. What came before the first, and its interval, is
            warm-up. The last interval counts though indexing may have ended in the middle of it: the rate of a window
            of n seconds is too low by up to one part in n.
    """

    run: tuple[Sample, ...]
    load: tuple[Sample, ...]
    growing: tuple[Sample, ...]

    @property
    def measured(self) -> Window | None:
        """The measured window; `None` when it is too short to be believed."""
        answered = [sample for sample in self.growing if sample.elasticsearch]
        if len(answered) < LEAST_SAMPLES or answered[-1].at_s - answered[0].at_s < LEAST_S:
            return None
        return Window(started_s=answered[0].at_s, ended_s=answered[-1].at_s, samples=len(self.growing))


def windows(samples: Sequence[Sample], expect: Literal["stored", "consumed"] = "stored") -> Windows:
    """The samples of a run, cut into the parts that figures are taken from.

    Args:
        expect: What is to become of the records, and so what grows while they are loaded.
    """
    of_load = [place for place, sample in enumerate(samples) if sample.phase == "load"]
    if not of_load:
        return Windows(tuple(samples), (), ())
    load = tuple(samples[max(0, of_load[0] - 1) : of_load[-1] + 1])
    return Windows(tuple(samples), load, growing(load, index_totals(load) if expect == "stored" else consumed(load)))


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
