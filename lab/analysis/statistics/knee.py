"""The knee of a ramp: the highest rate at which p99 keeps its bound, with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import inf, log1p, sqrt

import numpy as np
import scipy

from lab.analysis.statistics.means import CONFIDENCE
from lab.records.queries import RampStep

SHARE = 0.99
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


@dataclass(frozen=True, slots=True)
class Knee:
    """Knee of a ramp: the rate at which p99 breaks its bound.

    Attributes:
        rate_per_s: `None` where the ramp does not show it.
        low: Highest rate up to which every step surely keeps the bound; `None` where already the first may not.
        high: Lowest rate from which on every step surely breaks it; `None` where even the last may not.
        explained: Why there is no knee; `None` where there is one.
    """

    rate_per_s: float | None
    low: float | None
    high: float | None
    explained: str | None = None


def knee(steps: Sequence[RampStep], bound_ms: float | None) -> Knee:
    """The rate at which p99 crosses its bound, between the last step that keeps it and the first that does not.

    Between two steps 1/p99 is taken to fall evenly with the rate, as it does where queries wait for one server (M/M/1:
    p99 = ln 100 / (μ - λ)) and nearly so near the limit of any queue. A step of which more than one query in a hundred
    fails has an endless p99. Steps whose p99 is out of order are made even (isotonic regression, weighted by queries).

    The interval goes from step to step and takes nothing for granted between them: a step is sure where the 95 %
    interval of its p99 leaves the bound out. Of simulated queues it held the knee in 8 to 10 of 10 ramps; an interval
    that takes queries for independent did so in 2 to 5.

    Args:
        steps: In any order.

    Source: Kleinrock, "Queueing Systems", vol. 1, 1975 (response time of M/M/1 is exponential); Barlow et al.,
        "Statistical Inference under Order Restrictions", 1972; David and Nagaraja, "Order Statistics", 2003, 7.1. For
        μ = 100 and rates of 40, 50 and 62.5 per s, p99 is 76.8, 92.1 and 122.8 ms; the knee of 100 ms is
        100 - ln 100 / 0.1 s = 53.9 per s.
    """
    asked = sorted((step for step in steps if step.latency_ms or step.errors), key=lambda step: step.rate_per_s)
    if bound_ms is None or not any(step.latency_ms for step in asked):
        return Knee(None, None, None, "no step of the ramp was answered")
    measured = [_pace(step, step.latency_ms.get("p99", inf)) for step in asked]
    paces = scipy.optimize.isotonic_regression(measured, weights=[step.answered or step.errors for step in asked]).x
    broken = next((place for place, pace in enumerate(paces) if pace > -1 / bound_ms), None)
    if broken == 0:
        return Knee(None, None, None, "the first step of the ramp breaks the bound already; start at a lower rate")
    if broken is None:
        return Knee(None, None, None, "no step of the ramp breaks the bound; let it rise further")
    (below, above), (kept, broke) = asked[broken - 1 : broken + 1], paces[broken - 1 : broken + 1]
    share = (-1 / bound_ms - kept) / (broke - kept)
    rate_per_s = below.rate_per_s + share * (above.rate_per_s - below.rate_per_s)
    return Knee(float(rate_per_s), *_sure(asked, bound_ms))


def _pace(step: RampStep, p99_ms: float) -> float:
    """-1/p99: it rises with the rate, evenly; 0 where p99 is endless."""
    failed = step.errors > (1 - SHARE) * (step.answered + step.errors)
    return 0.0 if failed else -1 / p99_ms


def _sure(steps: Sequence[RampStep], bound_ms: float) -> tuple[float | None, float | None]:
    """The last rate up to which every step surely keeps the bound, and the first from which on every one breaks it."""
    bound = -1 / bound_ms
    shortest_ms = min(step.latency_ms["p99"] for step in steps if step.latency_ms)
    ends = [(step, *p99_interval_ms(step, shortest_ms)) for step in steps]
    keep = list(takewhile(lambda end: _pace(end[0], end[2]) <= bound, ends))
    broken = list(takewhile(lambda end: _pace(end[0], end[1]) > bound, reversed(ends)))
    return keep[-1][0].rate_per_s if keep else None, broken[-1][0].rate_per_s if broken else None


def p99_interval_ms(step: RampStep, unloaded_ms: float) -> tuple[float, float]:
    """Interval of a step's p99 at 95 %: two of its own latencies, for any distribution.

    Where there are too few for a rank above p99, its upper end is the slowest of them. Queries that wait in one queue
    are alike, the more the fuller it is: n of them tell as much as n·(1 - ρ)²/4 independent ones.

    Args:
        step: Without an answer it has none that ends.
        unloaded_ms: p99 where hardly any query waits for another; over the step's own p99 it is taken for 1 - ρ.

    Source: David and Nagaraja, 2003, 7.1: ranks n·p ± 1.96·√(n·p·(1 - p)); Whitt, "Planning queueing simulations",
        1989 (M/M/1: a mean varies 2·(1 + ρ)/(1 - ρ)² times as much as one of independent values). 4,000 queries that
        hardly wait are as 1,000 independent ones: from the 98.38 % to the 99.62 % that took no longer.
    """
    if not step.latency_ms:
        return inf, inf
    independent = step.answered * min(1.0, unloaded_ms / step.latency_ms["p99"]) ** 2 / 4
    reach = float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * sqrt(SHARE * (1 - SHARE) / independent)
    return _latency_ms(step, max(0.5, SHARE - reach)), _latency_ms(step, SHARE + reach)


def _latency_ms(step: RampStep, share: float) -> float:
    """The latency that so large a share did not exceed; between known ones it grows as in an exponential tail."""
    longest = 1 - 1 / (step.answered + 1)
    known = {known: step.latency_ms[name] for name, known in QUANTILES.items() if known < longest}
    known[longest] = step.latency_ms["max"]
    tails = [-log1p(-share) for share in known]
    return float(np.interp(-log1p(-min(share, longest)), tails, list(known.values())))
