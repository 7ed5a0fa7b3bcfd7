"""Where the warm-up of a run ends, and whether what follows is a steady state."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pvariance, stdev

LEAST_VALUES = 8
"""Fewer values than these tell nothing."""
BATCH = 5
LEAST_BATCHES = 10
"""With fewer batches than these, each value is a batch of its own."""
MOST_CHANGE = 0.10


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The cut through a series.

    Attributes:
        begins: Values before this place are warm-up.
        reached: Whether the values from there on are steady.
    """

    begins: int
    reached: bool


def steady_state(values: Sequence[float]) -> SteadyState | None:
    """Where the warm-up of a series ends, by MSER-5; `None` when the series is too short to tell.

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
    cuts = range(len(batches) // 2 + 1)
    best = min(cuts, key=lambda cut: pvariance(batches[cut:]) / (len(batches) - cut))
    begins = over + best * size if best else 0
    return SteadyState(begins, _is_level(values[begins:]))


def _is_level(rest: Sequence[float]) -> bool:
    half = len(rest) // 2
    tolerated = MOST_CHANGE * fmean(rest)
    return abs(fmean(rest[:half]) - fmean(rest[-half:])) <= tolerated and stdev(rest) <= tolerated * sqrt(len(rest))
