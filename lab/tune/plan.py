"""What a tune is going to try, and how long its runs will take, before there is one."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.profiles import Profile
from lab.profiles.spaces import Start
from lab.records.tune import Candidate, LeftOut
from lab.suite.execution import MARGIN
from lab.suite.loads import COUNTS, STREAM_S
from lab.suite.plan import RATE_DOCS_PER_S, RUN_BASE_S, WARM_UPS
from lab.tune.search import CONFIRM_SHARE, TOGETHER_SHARE, Times, block_s

WINDOW_S = 8.0
"""Of a drain; beyond it more blocks narrow intervals better than longer drains (docs/method.md)."""
BASE_DOCUMENTS = 60_000
"""Of a warm-up; other runs have as many times that as their window asks for."""
STARTING_S = 60.0
BETWEEN_S = 2.0


@dataclass(frozen=True)
class Expected:
    """How long things will take.

    Attributes:
        run_s: A run that counts, or the first of a candidate.
        starting_s: All of it before the first run that counts, but the first ones of the candidates.
    """

    run_s: float
    starting_s: float

    def times(self, left_s: float, budget_s: float) -> Times:
        """What so much time buys."""
        return Times(left_s, budget_s, self.run_s)


def sized(start: Start, documents: int, *, streams: bool = False) -> Start:
    """The start with no more documents than a warm-up needs; runs that count get more of them again.

    Args:
        documents: Those that it has.
        streams: Whether runs that count are streams, which end after a time: so many of a file are sent, not all.
    """
    if documents <= BASE_DOCUMENTS and not streams:
        return start
    section = start.profile.dataset
    stated = {key: size for key in COUNTS if (size := getattr(section, key)) is not None} or {"documents": documents}
    smaller = {f"dataset.{key}": max(1, min(size, size * BASE_DOCUMENTS // documents)) for key, size in stated.items()}
    return start.changed(smaller)


def window_of(rate: str | None) -> float:
    """How long a drain shall take at least, or a stream takes."""
    return STREAM_S if rate else WINDOW_S


def expected(documents: int, most_documents: int | None, window_s: float, *, started: bool) -> Expected:
    """How long runs will take, by their size and window.

    Args:
        documents: Of a warm-up.
        most_documents: That there are; `None` where more of them can be made.
        started: Whether the servers run already.
    """
    load_s = MARGIN * window_s
    if most_documents is not None:
        load_s = min(load_s, most_documents / RATE_DOCS_PER_S)
    warm_up_s = RUN_BASE_S + BETWEEN_S + documents / RATE_DOCS_PER_S
    run_s = RUN_BASE_S + BETWEEN_S + load_s
    return Expected(run_s, WARM_UPS * warm_up_s + (0.0 if started else STARTING_S))


def fitting(candidates: Sequence[Candidate], minutes: float, takes: Expected) -> int:
    """How many of the candidates there is time for: one block of them alone, beside all that follows."""
    alone_s = 60 * minutes * (1 - CONFIRM_SHARE - TOGETHER_SHARE) - takes.starting_s
    numbers = range(len(candidates), 0, -1)
    return next((n for n in numbers if n * takes.run_s + block_s([takes.run_s] * n, takes.run_s) <= alone_s), 0)


def least_minutes(takes: Expected) -> float:
    """The shortest time in which one candidate can be tried."""
    needed_s = takes.starting_s + takes.run_s + block_s([takes.run_s], takes.run_s)
    return needed_s / 60 / (1 - CONFIRM_SHARE - TOGETHER_SHARE)


def without_time(left: Sequence[Candidate]) -> list[LeftOut]:
    """Those that there is no time for."""
    return [LeftOut(name=each.name, reason="no time for it; give it more with --minutes") for each in left]


def is_tunable(profile: Profile) -> bool:
    """Whether a profile's load goes as fast as it can, so that its settings decide how fast."""
    load = profile.load
    return load.mode == "drain" and load.rate_docs_per_s is None and profile.maintain is None
