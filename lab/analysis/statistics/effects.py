"""What a variant does to a metric, and whether that is more than chance."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, log, log1p

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.statistics.bootstrap import CONFIDENCE, mean_interval
from lab.analysis.statistics.power import smallest_detectable
from lab.analysis.text import count
from lab.records.suite import Effect, MetricKey, Verdict

LEAST_BLOCKS = 3
"""Two blocks give an interval, but one that rests on nothing beside the assumption that log ratios are normal."""
SIGNIFICANCE = 1 - CONFIDENCE
SAME = log(1.05)
"""Log ratios between minus this and this are `same within 5 %`."""
DETECTED = frozenset({"faster", "slower", "higher", "lower"})
"""Verdicts that claim a difference."""
TIMES_THAT_ARE_SPEED = ("latency_ms", "service_time_ms", "took_ms", "drain_s", "wall_time_s")
SEARCHES_OF_SHARDS = "search_rate_per_s"
"""Counted on every shard that a query asks: more shards make it higher, and no query faster."""

READ_PER_S = frozenset({"bytes/s"})
"""What a server reads from its disk per second is a cost: more of it is not faster."""


def effect(variant: str, against: str, metric: MetricKey, pairs: Sequence[tuple[float | None, float | None]]) -> Effect:
    """What the variant does to the metric, from its ratio to the other within each block, judged by itself.

    What drifts more slowly than a block lasts (a warmer machine, a fuller disk) is in both runs and leaves the ratio.
    The geometric mean is the one mean for which A/B is 1 over B/A.

    Args:
        pairs: By block, the variant's value and the other's; a block in which one of them is not known, or not above
            zero, is dropped.

    Source: Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
        1986 (geometric mean of ratios); the interval: `lab.analysis.statistics.bootstrap`; what could have been seen:
        `lab.analysis.statistics.power`.
    """
    known = [(own, other) for own, other in pairs if own is not None and other is not None and own > 0 and other > 0]
    ratios = tuple(own / other for own, other in known)
    bare = Effect(
        variant=variant,
        against=against,
        metric=metric.name,
        scope=metric.scope,
        ratios=ratios,
        dropped_blocks=len(pairs) - len(ratios),
        ratio=None,
        low=None,
        high=None,
        verdict="too few runs",
        smallest_detectable=None,
        explained=None if ratios else _dropped_text(len(pairs)),
    )
    return _judged(bare) if ratios else bare


def among_comparisons(effects: Iterable[Effect], *, repetition: str | None = None) -> tuple[Effect, ...]:
    """The same effects, each with the interval that Holm's procedure asks for among all comparisons of its metric.

    Of 14 comparisons that change nothing, one in two suites shows a difference at 95 %. So the clearest of m has to
    leave out 1 at 1 − 5 %/m, the next one at 1 − 5 %/(m − 1), and so on until one does not; that one and the rest have
    intervals at 1 − 5 %/m, so that all that are called the same are so together.

    Args:
        repetition: The control once more (A/A). It checks the method and is no question of the suite, so that it
            stands apart at 95 %.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    judged = list(effects)
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, own in enumerate(judged):
        if own.variant != repetition and own.p_value is not None and own.verdict != "too few runs":
            families[own.metric, own.scope].append(place)
    for places in families.values():
        size, differing = len(places), True
        for rank, place in enumerate(sorted(places, key=lambda place: judged[place].p_value or 0.0)):
            step = _judged(judged[place], comparisons=size, level=SIGNIFICANCE / (size - rank))
            differing = differing and step.verdict in DETECTED
            judged[place] = step if differing else _judged(judged[place], comparisons=size, level=SIGNIFICANCE / size)
    return tuple(judged)


def is_settled(effect: Effect, precision: float) -> bool:
    """Whether a comparison needs no more blocks: it is known to the precision, or to a quarter of its own size.

    The rule looks at the width and never at the verdict, which would end suites at the first false alarm. Where ratios
    are all equal there is nothing more to learn.

    Comparisons of the ladder that leave by it after 3 to 12 blocks (`test_stopping.py`): 94 to 97 % of 95 % intervals
    hold the truth, and 1 to 6 % of suites have a false alarm, whether noise is white, lasts for some runs, hiccups, or
    is ten times as large in one comparison.

    Args:
        precision: Half-width of the interval, relative: 0.05 for 5 %.
    """
    if effect.verdict == "too few runs" or effect.ratio is None:
        return False
    if effect.low is None or effect.high is None:
        return True
    return log(effect.high / effect.low) / 2 <= max(log1p(precision), abs(log(effect.ratio)) / 4)


def verdict(metric: str, mean: float, low: float | None, high: float | None) -> Verdict:
    """What an interval of log ratios says of a metric, in the words that are right for it."""
    # Without a spread all blocks said the same; then the mean is that value.
    least, most = (mean, mean) if low is None or high is None else (low, high)
    if least <= 0 <= most:
        return "same within 5 %" if max(-least, most) <= SAME else "undecided"
    speed = is_speed(metric)
    if speed == 0:
        return "higher" if mean > 0 else "lower"
    return "faster" if mean * speed > 0 else "slower"


def verdict_text(word: Verdict, ratio: float | None, low: float | None, high: float | None) -> str:
    """`faster by 21 % (+15 % to +27 %)`, `same within 5 % (-1.2 % to +2.3 %)`, `undecided (-36 % to +25 %)`."""
    if word == "too few runs" or ratio is None:
        return word
    size = f" by {change_text(ratio)[1:]}" if word in DETECTED else ""
    interval = "" if low is None or high is None else f" ({change_text(low)} to {change_text(high)})"
    return f"{word}{size}{interval}"


def change_text(ratio: float) -> str:
    """A ratio as a change, with its sign: `+21 %`, `-3.1 %`."""
    change = 100 * (ratio - 1)
    size = f"{abs(change):.1f}" if abs(change) < 9.95 else count(abs(change))
    return f"{'-' if change < 0 else '+'}{size} %"


def is_speed(metric: str) -> int:
    """1 for a metric of which more is faster, -1 where less is faster, 0 for one that is no speed."""
    if metric == SEARCHES_OF_SHARDS:
        return 0
    definition = BY_NAME.get(metric)
    if definition is not None and definition.unit.endswith("/s") and definition.unit not in READ_PER_S:
        return 1
    return -1 if any(part in metric for part in TIMES_THAT_ARE_SPEED) else 0


def _judged(bare: Effect, *, comparisons: int = 1, level: float = SIGNIFICANCE) -> Effect:
    """The effect with its interval at 1 − `level`, and what follows from it; it has at least one ratio."""
    blocks = len(bare.ratios)
    mean = mean_interval([log(ratio) for ratio in bare.ratios], confidence=1 - level)
    few = blocks < LEAST_BLOCKS
    least = None if few or mean.spread is None else smallest_detectable(mean.spread, blocks, comparisons)
    reasons = (
        f"{blocks} of at least {LEAST_BLOCKS} blocks" if few else "",
        "all blocks gave the same ratio, so that its spread is not known" if mean.spread is None and not few else "",
        _dropped_text(bare.dropped_blocks) if bare.dropped_blocks else "",
    )
    return bare.model_copy(
        update={
            "ratio": exp(mean.mean),
            "low": None if mean.low is None else exp(mean.low),
            "high": None if mean.high is None else exp(mean.high),
            "confidence": 1 - level,
            "p_value": mean.p_value,
            "verdict": "too few runs" if few else verdict(bare.metric, mean.mean, mean.low, mean.high),
            "smallest_detectable": least and least[0],
            "smallest_detectable_range": least and least[1:],
            "explained": "; ".join(filter(None, reasons)) or None,
        }
    )


def _dropped_text(dropped: int) -> str:
    if not dropped:
        return "no block was run"
    return f"{dropped} {'block' if dropped == 1 else 'blocks'} without both values"
