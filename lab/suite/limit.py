"""The rates of drains, and the limit: what the control indexes per second in drains of full size."""

from collections.abc import Callable, Sequence
from math import sqrt

from lab.analysis.figures.definitions import value_of
from lab.analysis.sizing.ranges import Range, estimated
from lab.analysis.statistics.warm_up import ALIKE
from lab.errors import ProfileError, StackError
from lab.records.result import Result

LIMIT_S = 15.0
"""How long a drain that tells the limit lasts at least: three seconds are warm-up, and some runs are twice as fast."""
LEAST_DRAINS, MOST_DRAINS = 6, 16
"""At a noise of 3 % from run to run 8 drains tell the limit to 5 %, at 8 % it takes 15. Fewer than 6 tell their own
scatter badly: their interval would be narrow by luck, and hold the limit in 91 % of cases in place of 94."""
FEWEST_DRAINS = ALIKE
"""Drains that suffice when time runs out or drains fail."""
NARROW = 0.035
"""Half-width of its interval that ends the drains. Where they scatter one by one, they are 5 % or less from the limit
then in 98 % of cases; where the noise lasts from drain to drain (AR(1), 0.6), in 99 % at 3 %, and in 79 % at 8 %."""
MOST_LIMIT_S = 480.0
LIMIT_SHARE = 0.15
"""Of a suite's time, after which no other drain begins."""

Drain = Callable[[int], Result | None]
"""A drain of the control by its number; `None` where it came to no end."""


def warm_up_rate(result: Result, *, of_queries: bool = False) -> float | None:
    """The rate by which a warm-up is judged: documents delivered over the time of its load phase, in docs/s.

    The whole phase, since short drains have no measured window: a multiple of it may be the limit. Of queries alone,
    those per second.
    """
    if of_queries:
        return value_of(result.metrics, "query_rate_per_s")
    load = next((phase for phase in result.phases if phase.name == "load"), None)
    if load is None or load.ended_s <= load.started_s:
        return None
    return result.documents.produced / (load.ended_s - load.started_s)


def steady_rate(result: Result) -> float | None:
    """Documents indexed per second between a run's warm-up and its end, or read by a sink that stores nothing.

    So the start of the connector, in which nothing is indexed, is no part of it. `None` where nothing lies between.
    """
    if result.status != "verified":
        return None
    indexed = value_of(result.metrics, "indexing_rate_docs_per_s", "primaries")
    return indexed or value_of(result.metrics, "consumed_rate_docs_per_s") or None


def measured_limit(
    drain: Drain, *, is_warm: Callable[[Sequence[float]], bool], is_late: Callable[[], bool]
) -> tuple[Range, int]:
    """The limit with its 95 % interval, and the number of drains that it is the mean of.

    Drains go on until they no longer rise and the interval is narrow, and was so before the last, or it is late.

    Raises:
        ProfileError: A drain is over within its warm-up.
        StackError: Too few drains were verified.
    """
    rates: list[float] = []
    was_warm = False
    for number in range(1, MOST_DRAINS + 1):
        result = drain(number)
        if result is not None and result.status == "verified":
            rates.append(_rate_of(result))
        if not was_warm and is_warm(rates):
            # What came before the drains that were alike still rose: no more of it belongs to the mean.
            was_warm, rates = True, rates[-ALIKE:]
        is_known = len(rates) >= LEAST_DRAINS and was_warm and all(map(is_narrow, (rates[:-1], rates)))
        if is_known or (len(rates) >= FEWEST_DRAINS and is_late()) or (number >= FEWEST_DRAINS and not rates):
            break
    if len(rates) < FEWEST_DRAINS:
        raise StackError(f"the limit: got {len(rates)} verified drains of the control, expected {FEWEST_DRAINS}")
    return estimated(rates), len(rates)


def _rate_of(result: Result) -> float:
    rate = steady_rate(result)
    if rate is None:
        raise ProfileError(
            f"the limit: got a drain of {result.documents.produced:,} documents, over within its warm-up;"
            " give the control more of them, or state the rate in documents per second"
        )
    return rate


def is_narrow(rates: Sequence[float]) -> bool:
    """Whether the interval of their mean is within 3.5 % of it; where all are equal, it is."""
    limit = estimated(rates)
    return limit.low is None or limit.high is None or sqrt(limit.high / limit.low) <= 1 + NARROW
