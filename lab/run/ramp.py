"""The rates of a ramp, of queries or of documents."""

from collections.abc import Generator

MOST_STEPS = 40
REFINEMENTS = 3
LEAST_ANSWERED = 0.99
"""A step that answers less of what was due breaks the bound: its p99 is among what was not answered."""


def ramp_rates(start_per_s: float, factor: float) -> Generator[float, bool, None]:
    """Each rate to be tried; it is sent whether the one before has broken the bound.

    Up by a factor, or down where the first rate is too high already, until the bound lies between two rates; their gap
    is then halved three times, geometrically: at a factor of 1.25 it ends within 3 %.
    """
    rate, holds, breaks = start_per_s, 0.0, 0.0
    for _ in range(MOST_STEPS):
        if (yield rate):
            breaks = rate
        else:
            holds = rate
        if holds and breaks:
            break
        rate = breaks / factor if breaks else rate * factor
    for _ in range(REFINEMENTS if holds and breaks else 0):
        rate = (holds * breaks) ** 0.5
        if (yield rate):
            breaks = rate
        else:
            holds = rate


def next_rate(rates: Generator[float, bool, None], *, is_broken: bool) -> float | None:
    """The rate to be tried next; `None` at the end of the ramp."""
    try:
        return rates.send(is_broken)
    except StopIteration:
        return None
