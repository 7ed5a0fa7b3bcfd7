"""Effects of a variant on a metric, and their verdicts against chance."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, log, log1p
from statistics import fmean

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.statistics.means import SIGNIFICANCE, Mean, means, plain_mean
from lab.analysis.statistics.power import smallest_detectable
from lab.analysis.text import count, quantity
from lab.records.suite import Effect, MetricKey, Verdict

LEAST_BLOCKS = 3
"""Two blocks give an interval, but one that rests on nothing beside the assumption that log ratios are normal."""
MOST_DROPPED = 0.25
"""Of the blocks: where more lack a value, what is left may be a selection, such as that of the slower runs, whose
drains were long enough for a rate."""
LEAST_FREEDOM = 2
"""A spread with one degree of freedom may be 30 times as large as it looks: nothing follows from it for power."""
SAME = log(1.05)
"""Log ratios between minus this and this are `same within 5 %`."""
NOTHING = log(1.0005)
"""A change below this is written as 0.0 %: sizes that are equal but for rounding, or one answer of ten thousand."""
DETECTED = frozenset({"faster", "slower", "higher", "lower"})
"""Verdicts that claim a difference."""
TIMES_THAT_ARE_SPEED = ("latency_ms", "service_time_ms", "took_ms", "drain_s", "wall_time_s")
SEARCHES_OF_SHARDS = "search_rate_per_s"
"""Counted on every shard that a query asks: more shards make it higher, and no query faster."""

READ_PER_S = frozenset({"bytes/s"})
"""What a server reads from its disk per second is a cost: more of it is not faster."""


def effect(
    variant: str,
    against: str,
    metric: MetricKey,
    pairs: Sequence[tuple[float | None, float | None]],
    starts: Sequence[int] | None = None,
    *,
    freedom_lost: float = 0.0,
) -> Effect:
    """Effect of a variant on a metric, from its ratio to the other within each block, judged by itself.

    What drifts more slowly than a block lasts (a warmer machine, a fuller disk) is in both runs and leaves the ratio.
    The geometric mean is the one mean for which A/B is 1 over B/A.

    Args:
        pairs: By block, the variant's value and the other's; a block in which one of them is not known, or not above
            zero, is dropped.
        starts: By block, which start of the servers it ran on; the same one if not given.
        freedom_lost: Degrees of freedom that an estimate has taken which the values are already corrected by.

    Source: Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
        1986 (geometric mean of ratios).
    """
    known = [
        (own / other, start)
        for (own, other), start in zip(pairs, starts or [1] * len(pairs), strict=True)
        if own is not None and other is not None and own > 0 and other > 0
    ]
    bare = Effect(
        variant=variant,
        against=against,
        metric=metric.name,
        scope=metric.scope,
        ratios=tuple(ratio for ratio, _ in known),
        starts=tuple(start for _, start in known),
        dropped_blocks=len(pairs) - len(known),
        freedom_lost=freedom_lost,
        ratio=None,
        low=None,
        high=None,
        verdict="too few runs",
        smallest_detectable=None,
        explained=None if known else _dropped_text(len(pairs)),
    )
    return _judged(bare, plain_mean(_log_ratios(bare), freedom_lost)) if known else bare


def among_comparisons(
    effects: Iterable[Effect],
    *,
    repetition: str | None = None,
    to_come: int = 0,
) -> tuple[Effect, ...]:
    """Judge each effect with the noise of all comparisons of its metric, and as one of them.

    Of 14 comparisons that change nothing, one in two suites shows a difference at 95 %. So the clearest of m has to
    leave out 1 at 1 − 5 %/m, the next one at 1 − 5 %/(m − 1), and so on until one does not; that one and the rest have
    intervals at 1 − 5 %/m, so that all that are called the same are so together.

    Args:
        effects: Each judged by itself. One of too few blocks, or whose ratios are all equal, stays as it is.
        repetition: The control once more (A/A). Its spread counts as any other; but it checks the method and is no
            question of the suite, so that it stands apart at 95 %.
        to_come: Comparisons of every metric that have not begun, and will be judged with these.

    Source: `lab.analysis.statistics.means` and `holm_levels`.
    """
    judged = list(effects)
    kinds: dict[tuple[str, str, bool], list[int]] = defaultdict(list)
    for place, own in enumerate(judged):
        if own.p_value is not None and own.verdict != "too few runs":
            kinds[own.metric, own.scope, own.within_one_start].append(place)
    mean_of: dict[int, Mean] = {}
    # What is compared with the control is so with the mean of its two runs, which scatters less.
    checked = {own.against for own in judged if own.variant == repetition}
    for places in kinds.values():
        samples = [_log_ratios(judged[place]) for place in places]
        lost = [judged[place].freedom_lost for place in places]
        runs = [
            1.5 if (judged[place].against in checked and judged[place].variant != repetition) else 2.0
            for place in places
        ]
        mean_of |= zip(places, means(samples, lost, runs), strict=True)
    families: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, mean in mean_of.items():
        if judged[place].variant == repetition:
            judged[place] = _judged(judged[place], mean)
        else:
            families[judged[place].metric, judged[place].scope].append(place)
    for places in families.values():
        levels = holm_levels([*(mean_of[place].p_value or 0.0 for place in places), *[1.0] * to_come])
        for place, level in zip(places, levels, strict=False):
            judged[place] = _judged(judged[place], mean_of[place], comparisons=len(levels), level=level)
    return tuple(judged)


def holm_levels(p_values: Sequence[float]) -> list[float]:
    """The level at which each of several differences is judged, so that in 95 of 100 cases none is a false alarm.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979. Of 0.02, 0.01 and 0.4 the second is
        judged at 5 %/3, the first at 5 %/2, and the last one, which is no difference, at 5 %/3 again.
    """
    size = len(p_values)
    levels = [SIGNIFICANCE / size for _ in p_values]
    for rank, place in enumerate(sorted(range(size), key=p_values.__getitem__)):
        if p_values[place] > SIGNIFICANCE / (size - rank):
            break
        levels[place] = SIGNIFICANCE / (size - rank)
    return levels


def is_settled(effect: Effect, precision: float) -> bool:
    """Check that a comparison needs no more blocks: its interval is within the precision, or a quarter of its effect.

    To end at the first difference would end suites at the first false alarm. A quarter of its size is four times as far
    from none as a verdict asks for. Where ratios are all equal there is nothing more to learn.

    Comparisons of the ladder that leave by it after 3 to 12 blocks (`test_stopping.py`): 94 to 97 % of 95 % intervals
    hold the truth, and 2 to 6 % of suites have a false alarm, whether noise is white, lasts for some runs, hiccups, or
    is ten times as large in one comparison. Where spreads differ evenly from half to twice the usual one it is 93 %
    and 9 %, which are 94 % and 7 to 9 % where 4 blocks come first.

    Args:
        precision: Half-width of the interval, relative: 0.05 for 5 %.
    """
    if effect.verdict == "too few runs" or effect.ratio is None:
        return False
    if effect.low is None or effect.high is None:
        return True
    return log(effect.high / effect.low) / 2 <= max(log1p(precision), abs(log(effect.ratio)) / 4)


def verdict(metric: str, mean: float, low: float | None, high: float | None) -> Verdict:
    """Verdict of an interval of log ratios, in the words of its metric."""
    # Without a spread all blocks said the same; then the mean is that value.
    least, most = (mean, mean) if low is None or high is None else (low, high)
    if max(-least, most) < NOTHING:
        return "same within 5 %"
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
    interval = interval_text(low, high)
    return f"{word}{size}{f' ({interval})' if interval else ''}"


def interval_text(low: float | None, high: float | None, unknown: str = "") -> str:
    """An interval of a ratio as changes: `-5.3 % to +8.8 %`; `unknown` where there is none."""
    return unknown if low is None or high is None else f"{change_text(low)} to {change_text(high)}"


def change_text(ratio: float) -> str:
    """A ratio as a change, with its sign: `+21 %`, `-3.1 %`."""
    change = 100 * (ratio - 1)
    size = f"{abs(change):.1f}" if abs(change) < 9.95 else count(abs(change))
    if size == "5.0" and log(ratio) > SAME:
        # What is not the same within 5 % is not told as if it were.
        size = f"{change:.6g}"
    return f"{'-' if change < 0 else '+'}{size} %"


def is_speed(metric: str) -> int:
    """1 for a metric of which more is faster, -1 where less is faster, 0 for one that is no speed."""
    if metric == SEARCHES_OF_SHARDS:
        return 0
    definition = BY_NAME.get(metric)
    if definition is not None and definition.unit.endswith("/s") and definition.unit not in READ_PER_S:
        return 1
    return -1 if any(part in metric for part in TIMES_THAT_ARE_SPEED) else 0


def _log_ratios(effect: Effect) -> list[float]:
    """Values of the mean: one for each block, or one mean for each of several starts of the servers.

    Blocks of one start share what was drawn when it started (the JVM's compiled code, where memory lies), and say
    nothing of another one.

    Source: Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013: the highest level that varies is the
        one whose means are compared.
    """
    logs = [log(ratio) for ratio in effect.ratios]
    if effect.within_one_start:
        return logs
    by_start: dict[int, list[float]] = defaultdict(list)
    for start, value in zip(effect.starts, logs, strict=True):
        by_start[start].append(value)
    return [fmean(values) for values in by_start.values()]


def _judged(bare: Effect, mean: Mean, *, comparisons: int = 1, level: float = SIGNIFICANCE) -> Effect:
    """The effect with its interval at 1 − `level`, and what follows from it; it has at least one ratio."""
    blocks, error = len(bare.ratios), mean.error
    is_selected = bare.dropped_blocks > MOST_DROPPED * (blocks + bare.dropped_blocks)
    few = blocks < LEAST_BLOCKS or is_selected
    low, high = mean.interval(level) or (None, None)
    is_known = error is not None and not few and mean.freedom >= LEAST_FREEDOM
    word: Verdict = "too few runs" if few else verdict(bare.metric, mean.mean, low, high)
    if word in DETECTED and bare.dropped_blocks and not _holds_with_the_lost(bare, mean, level):
        word = "undecided"
    least = smallest_detectable(error, mean.freedom, comparisons) if error is not None and is_known else None
    reasons = (
        f"{blocks} of at least {LEAST_BLOCKS} blocks" if blocks < LEAST_BLOCKS else "",
        "no verdict, since what is left may be a selection" if is_selected and blocks >= LEAST_BLOCKS else "",
        "all blocks gave the same ratio, so that its spread is not known" if error is None and not few else "",
        f"the {mean.trimmed} lowest and {mean.trimmed} highest ratios are left out" if mean.trimmed else "",
        _dropped_text(bare.dropped_blocks) if bare.dropped_blocks else "",
    )
    return bare.model_copy(
        update={
            "ratio": exp(mean.mean),
            "low": None if low is None else exp(low),
            "high": None if high is None else exp(high),
            "confidence": 1 - level,
            "p_value": mean.p_value,
            "verdict": word,
            "smallest_detectable": least and least[0],
            "smallest_detectable_range": least and least[1:],
            "explained": "; ".join(filter(None, reasons)) or None,
        }
    )


def _holds_with_the_lost(bare: Effect, mean: Mean, level: float) -> bool:
    """Check that a difference remains if each lost block had the ratio most against it.

    A run may have failed because it was slow: then those that are left are a selection.
    """
    logs = _log_ratios(bare)
    against = min(logs) if mean.mean > 0 else max(logs)
    interval = plain_mean([*logs, *[against] * bare.dropped_blocks]).interval(level)
    return interval is None or not interval[0] <= 0 <= interval[1]


def _dropped_text(dropped: int) -> str:
    if not dropped:
        return "no block was run"
    return f"{quantity(dropped, 'block')} without both values"
