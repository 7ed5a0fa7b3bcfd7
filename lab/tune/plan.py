"""Plan of a tune: its candidates, and the times of its runs before there are any."""

from dataclasses import dataclass

from lab.profiles.spaces import Start
from lab.suite.limit import LEAST_DRAINS, LIMIT_S
from lab.suite.loads import COUNTS, MARGIN, STREAM_S, is_share
from lab.suite.plan import RATE_DOCS_PER_S, RUN_BASE_S, WARM_UPS
from lab.tune.search import RUNS_TO_CONFIRM

WINDOW_S = 8.0
"""Of a drain; beyond it more blocks narrow intervals better than longer drains (docs/measurements/suites.md)."""
SCREENING_WINDOW_S = 5.0
"""Of a drain whose CPU counts: that is of the whole load, in ticks of 10 ms (proc(5)), and needs no measured window."""
BASE_DOCUMENTS = 60_000
"""Of a warm-up; other runs have as many times that as their window asks for."""
STARTING_S = 60.0
BETWEEN_S = 2.0


@dataclass(frozen=True)
class Expected:
    """Times that a tune expects.

    Attributes:
        run_s: A run that counts.
        starting_s: All of it before the first run that counts.
    """

    run_s: float
    starting_s: float

    def least_minutes(self, runs: int, to_confirm: int = RUNS_TO_CONFIRM) -> float:
        """The shortest time in which a block of so many runs can be tried, and one of its combinations be confirmed."""
        return (self.starting_s + (runs + to_confirm) * self.run_s) / 60


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
    """Shortest time of a drain, or time of a stream."""
    return STREAM_S if rate else WINDOW_S


def expected(
    documents: int, most_documents: int | None, window_s: float, *, started: bool, rate: str | None = None
) -> Expected:
    """Times of runs, by their size and window.

    Args:
        documents: Of a warm-up.
        rate: Of streams; a share of the limit is measured first, by drains.
        most_documents: That there are; `None` where more of them can be made.
        started: Whether the servers run already.
    """
    load_s = MARGIN * window_s
    if most_documents is not None:
        load_s = min(load_s, most_documents / RATE_DOCS_PER_S)
    warm_up_s = RUN_BASE_S + BETWEEN_S + documents / RATE_DOCS_PER_S
    run_s = RUN_BASE_S + BETWEEN_S + load_s
    limit_s = LEAST_DRAINS * (RUN_BASE_S + BETWEEN_S + LIMIT_S) if is_share(rate) else 0.0
    return Expected(run_s, WARM_UPS * warm_up_s + limit_s + (0.0 if started else STARTING_S))
