"""The knee of a ramp: the highest rate at which p99 keeps its bound, with its interval."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from math import inf, log1p, sqrt
from statistics import NormalDist

import numpy as np

from lab.analysis.statistics.bootstrap import CONFIDENCE
from lab.records.run import RampStep

SHARE = 0.99
KEPT_UP = 0.95
"""A step that answers less of its rate than this has a queue that grows as long as the step lasts."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999}


@dataclass(frozen=True, slots=True)
class Knee:
    """Where p99 breaks its bound.

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
    p99 = ln 100 / (μ - λ)) and nearly so near the limit of any queue. A step that answers less than 95 % of its rate,
    or of which more than one query in a hundred fails, has no p99 that would last: it counts as endless, at the rate
    that was answered. Steps whose p99 is out of order are made even (isotonic regression, weighted by queries).

    The interval goes from step to step and takes nothing for granted between them: a step is sure where the 95 %
    interval of its p99 (by order statistics) leaves the bound out. It is as wide as the ramp's factor, at least. To
    redraw the p99s and interpolate again would give one ten times as narrow, which held the knee of simulated queues in
    one case in five, since queries of one queue are not independent; this one did in more than four of five.

    Args:
        steps: By rising rate.

    Source: Kleinrock, "Queueing Systems", vol. 1, 1975 (response time of M/M/1 is exponential); Barlow et al.,
        "Statistical Inference under Order Restrictions", 1972; David and Nagaraja, "Order Statistics", 2003, 7.1. For
        μ = 100 and rates of 40, 50 and 62.5 per s, p99 is 76.8, 92.1 and 122.8 ms; the knee of 100 ms is
        100 - ln 100 / 0.1 s = 53.9 per s.
    """
    answered = [step for step in steps if step.answered and step.latency_ms]
    if bound_ms is None or not answered:
        return Knee(None, None, None, "no step of the ramp was answered")
    rates = _answered_rates(answered)
    paces = [_pace(step, step.latency_ms["p99"]) for step in answered]
    found = _crossing(rates, _evened(paces, [step.answered for step in answered]), bound_ms)
    if found == -inf:
        return Knee(None, None, None, "the first step of the ramp breaks the bound already; start at a lower rate")
    if found == inf:
        return Knee(None, None, None, "no step of the ramp breaks the bound; let it rise further")
    return Knee(found, *_sure(answered, bound_ms))


def _pace(step: RampStep, p99_ms: float) -> float:
    """−1/p99: it rises with the rate, evenly; 0 where p99 is endless."""
    failed = step.errors > (1 - SHARE) * (step.answered + step.errors)
    behind = _answered_rate(step) < KEPT_UP * step.rate_per_s
    return 0.0 if failed or behind else -1 / p99_ms


def _answered_rate(step: RampStep) -> float:
    lasted_s = step.ended_s - step.started_s
    return step.answered / lasted_s if lasted_s > 0 else step.rate_per_s


def _answered_rates(steps: Sequence[RampStep]) -> list[float]:
    """What each step answered per second, which is what was due as long as it kept up, and never falls."""
    rates = [min(step.rate_per_s, _answered_rate(step)) for step in steps]
    return list(accumulate(rates, max))


def _sure(steps: Sequence[RampStep], bound_ms: float) -> tuple[float | None, float | None]:
    """The last rate up to which every step surely keeps the bound, and the first from which on every one breaks it."""
    bound = -1 / bound_ms
    ends = [(step, *p99_interval_ms(step)) for step in steps]
    keep = list(takewhile(lambda end: _pace(end[0], end[2]) <= bound, ends))
    broken = list(takewhile(lambda end: _pace(end[0], end[1]) > bound, reversed(ends)))
    return keep[-1][0].rate_per_s if keep else None, broken[-1][0].rate_per_s if broken else None


def _crossing(rates: Sequence[float], paces: Sequence[float], bound_ms: float) -> float:
    """Where rising paces cross that of the bound; −∞ or ∞ where they do so before the first step or after the last."""
    bound = -1 / bound_ms
    broken = next((place for place, pace in enumerate(paces) if pace > bound), None)
    if broken is None:
        return inf
    if broken == 0:
        return -inf
    share = (bound - paces[broken - 1]) / (paces[broken] - paces[broken - 1])
    return rates[broken - 1] + share * (rates[broken] - rates[broken - 1])


def _evened(values: Iterable[float], weights: Iterable[float]) -> list[float]:
    """The rising series that is nearest to this one: neighbours that fall are pooled until none does.

    Source: Barlow et al., 1972 (pool adjacent violators). Of 1, 3, 2, 4 with equal weights: 1, 2.5, 2.5, 4.
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        mean, total, places = value, weight, 1
        while pools and pools[-1][0] > mean:
            before, heavy, more = pools.pop()
            mean = (before * heavy + mean * total) / (heavy + total)
            total, places = heavy + total, places + more
        pools.append((mean, total, places))
    return [mean for mean, _, places in pools for _ in range(places)]


def p99_interval_ms(step: RampStep) -> tuple[float, float]:
    """Where the p99 of a step lies at 95 %: between two of its own latencies, whatever their distribution.

    Source: David and Nagaraja, 2003, 7.1: ranks n·p ± 1.96·√(n·p·(1 - p)). For 1,000 queries 983.8 and 996.2.
    """
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sqrt(SHARE * (1 - SHARE) / step.answered)
    return _latency_ms(step, SHARE - reach), _latency_ms(step, SHARE + reach)


def _latency_ms(step: RampStep, share: float) -> float:
    """The latency that so large a share did not exceed; between known ones it grows as in an exponential tail."""
    longest = 1 - 1 / (step.answered + 1)
    known = {known: step.latency_ms[name] for name, known in QUANTILES.items() if known < longest}
    known[longest] = step.latency_ms["max"]
    tails = [-log1p(-share) for share in known]
    return float(np.interp(-log1p(-min(share, longest)), tails, list(known.values())))
