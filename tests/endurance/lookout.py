"""Figures of a stream, looked at again and again, and what they say of a fault: how long nothing moved, and all did."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

EVERY_S = 0.25


@dataclass(frozen=True)
class Reading:
    """A figure at an instant of the monotonic clock, in seconds."""

    at_s: float
    value: int


class Series:
    """A figure that a thread of its own looks at; a look that finds nothing leaves no reading.

    Args:
        look: The figure now; `None` where nobody says it.
    """

    def __init__(self, look: Callable[[], int | None]) -> None:
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.readings: list[Reading] = []

    def __enter__(self) -> "Series":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            if (value := self._look()) is not None:
                self.readings.append(Reading(time.monotonic(), value))

    def since(self, at_s: float) -> list[Reading]:
        """The readings from an instant on."""
        return [reading for reading in self.readings if reading.at_s >= at_s]


def longest_standstill_s(readings: Sequence[Reading], begin_s: float, end_s: float) -> float:
    """The longest time without growth between two instants; one that began before the first counts from there on."""
    grown, most = [], None
    for reading in readings:
        if most is None or reading.value > most:
            grown.append(reading.at_s)
            most = reading.value
    before = max((at_s for at_s in grown if at_s < begin_s), default=begin_s)
    edges = [before, *(at_s for at_s in grown if begin_s <= at_s <= end_s), end_s]
    return max(later - earlier for earlier, later in pairwise(edges))


def caught_up_s(lags: Sequence[Reading], since_s: float, usual: int) -> float | None:
    """When the lag was first no more than usual from an instant on; `None` while it never was."""
    return next((lag.at_s for lag in lags if lag.at_s >= since_s and lag.value <= usual), None)
