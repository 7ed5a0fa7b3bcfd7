"""A fixed piece of work, timed at each tick: how fast this machine was at that instant."""

import time
from collections.abc import Callable
from typing import NamedTuple

SHARE = 0.001
"""Most of one core that all probes may take together: far below what they are to find."""

EXPONENT, MODULUS = 2**607 - 1, 2**1279 - 1


class ProbeTimes(NamedTuple):
    """Times of one probe in ms: wall time, and CPU time of this thread."""

    wall_ms: float
    cpu_ms: float


def fixed_work() -> int:
    """About 2 ms of arithmetic on a free core of 2024.

    It fits into the fastest cache, and is one call that keeps the interpreter's lock: no other thread of this process
    is in its time.
    """
    return pow(3, EXPONENT, MODULUS)


class Probe:
    """Times the work, as often as its share of a core allows.

    Wall time beyond CPU time is waiting for a core: for the run's own servers, for other programs, or for the
    hypervisor. CPU time beyond that of the fastest probe is a slower core: a lower clock rate, a busy sibling.

    Args:
        work: What is timed.
        wall_s: The clock, in seconds.
        cpu_s: CPU seconds of this thread.
    """

    def __init__(
        self,
        work: Callable[[], object] = fixed_work,
        *,
        wall_s: Callable[[], float] = time.perf_counter,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._work = work
        self._wall_s = wall_s
        self._cpu_s = cpu_s
        self._not_before_s = float("-inf")

    def read(self) -> ProbeTimes | None:
        """Times of a probe now; `None` if the probe before was so recent that both would take too much CPU."""
        started_s = self._wall_s()
        if started_s < self._not_before_s:
            return None
        cpu_before_s = self._cpu_s()
        self._work()
        spent_s, took_s = self._cpu_s() - cpu_before_s, self._wall_s() - started_s
        self._not_before_s = started_s + spent_s / SHARE
        return ProbeTimes(round(1000 * took_s, 3), round(1000 * spent_s, 3))
