"""What a variant does to a metric, and whether that is more than chance."""

from collections.abc import Iterable, Sequence
from math import exp, log

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.statistics.bootstrap import CONFIDENCE, mean_interval
from lab.analysis.statistics.multiple import holm
from lab.analysis.statistics.power import repeats_needed, smallest_detectable
from lab.analysis.text import number
from lab.records.suite import Effect, MetricAsked, Verdict

LEAST_BLOCKS = 3
"""Two blocks give an interval, but one that rests on nothing beside the assumption that log ratios are normal."""
FIVE_PERCENT = 0.05
SIGNIFICANCE = 1 - CONFIDENCE
TIMES_THAT_ARE_SPEED = ("latency_ms", "service_time_ms", "drain_s", "wall_time_s")


def effect(
    variant: str, against: str, metric: MetricAsked, pairs: Sequence[tuple[float | None, float | None]]
) -> Effect:
    """What the variant does to the metric, from its ratio to the other within each block.

    Within a block the runs follow each other closely, so that what drifts over the hours of a suite (a warmer machine,
    a fuller disk) is in both and leaves the ratio. The geometric mean is the one mean for which A/B is 1 over B/A.

    Args:
        pairs: By block, the variant's value and the other's; a block in which one of them is not known, or not above
            zero, is dropped.

    Source: Fleming and Wallace, "How not to lie with statistics: the correct way to summarize benchmark results",
        1986 (geometric mean of ratios); the interval: `lab.analysis.statistics.bootstrap`; what could have been seen:
        `lab.analysis.statistics.power`.
    """
    ratios = tuple(own / other for own, other in _known(pairs))
    dropped = len(pairs) - len(ratios)
    if not ratios:
        return _effect(variant, against, metric, dropped, explained=_dropped_text(dropped))
    found = mean_interval([log(ratio) for ratio in ratios])
    few = len(ratios) < LEAST_BLOCKS
    return _effect(
        variant,
        against,
        metric,
        dropped,
        ratios=ratios,
        ratio=exp(found.mean),
        low=None if found.low is None else exp(found.low),
        high=None if found.high is None else exp(found.high),
        p_value=found.p_value,
        verdict="too few runs" if few else verdict(metric.name, found.mean, found.low, found.high),
        smallest_detectable=None if found.spread is None else smallest_detectable(found.spread, len(ratios)),
        repeats_for_5_percent=None if found.spread is None else repeats_needed(FIVE_PERCENT, found.spread),
        explained=_explained(len(ratios), dropped, spread=found.spread),
    )


def among_comparisons(effects: Iterable[Effect], *, repetition: str | None = None) -> tuple[Effect, ...]:
    """The same effects, their verdicts held against how many comparisons of a metric were made.

    Of 14 comparisons that change nothing, one in two suites shows a difference at 95 %. So a verdict is kept only
    where it stands by Holm's procedure over all comparisons of that metric; intervals stay those of one comparison.

    Args:
        repetition: The control once more (A/A). It checks the method and is no question of the suite, so that it
            stands apart at 95 %.
    """
    chosen = list(effects)
    families: dict[tuple[str, str], list[int]] = {}
    for place, found in enumerate(chosen):
        if found.variant != repetition and found.p_value is not None and found.verdict != "too few runs":
            families.setdefault((found.metric, found.scope), []).append(place)
    for places in families.values():
        adjusted = holm([chosen[place].p_value or 0.0 for place in places])
        for place, p_value in zip(places, adjusted, strict=True):
            chosen[place] = _in_family(chosen[place], p_value, len(places))
    return tuple(chosen)


def is_speed(metric: str) -> int:
    """1 for a metric of which more is faster, -1 where less is faster, 0 for one that is no speed."""
    definition = BY_NAME.get(metric)
    if definition is not None and definition.unit.endswith("/s"):
        return 1
    return -1 if any(part in metric for part in TIMES_THAT_ARE_SPEED) else 0


def verdict(metric: str, mean: float, low: float | None, high: float | None) -> Verdict:
    """What an interval of log ratios says of a metric, in the words that are right for it."""
    # Without a spread all blocks said the same; then the mean is that value.
    least, most = (mean, mean) if low is None or high is None else (low, high)
    if least <= 0 <= most:
        return "no difference detectable"
    speed = is_speed(metric)
    if speed == 0:
        return "higher" if mean > 0 else "lower"
    return "faster" if mean * speed > 0 else "slower"


def _known(pairs: Iterable[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    return [(own, other) for own, other in pairs if own is not None and other is not None and own > 0 and other > 0]


def _in_family(found: Effect, adjusted: float, comparisons: int) -> Effect:
    if found.verdict == "no difference detectable" or adjusted <= SIGNIFICANCE or comparisons < 2:
        return found
    expected = number(comparisons * SIGNIFICANCE)
    told = (
        f"its own interval leaves out 1, but of {comparisons} comparisons {expected} would by chance"
        f" (Holm: p = {number(adjusted)})"
    )
    explained = told if found.explained is None else f"{found.explained}; {told}"
    return found.model_copy(update={"verdict": "no difference detectable", "explained": explained})


def _explained(blocks: int, dropped: int, *, spread: float | None) -> str | None:
    told = []
    if blocks < LEAST_BLOCKS:
        told.append(f"{blocks} of at least {LEAST_BLOCKS} blocks")
    elif spread is None:
        told.append("all blocks gave the same ratio, so that its spread is not known")
    if dropped:
        told.append(_dropped_text(dropped))
    return "; ".join(told) or None


def _dropped_text(dropped: int) -> str:
    return (
        "no block was run"
        if not dropped
        else f"{dropped} blocks without both values"
        if dropped > 1
        else ("1 block without both values")
    )


def _effect(variant: str, against: str, metric: MetricAsked, dropped: int, **known: object) -> Effect:
    fields: dict[str, object] = {
        "ratios": (),
        "ratio": None,
        "low": None,
        "high": None,
        "verdict": "too few runs",
        "smallest_detectable": None,
        "repeats_for_5_percent": None,
        **known,
    }
    return Effect.model_validate(
        {
            "variant": variant,
            "against": against,
            "metric": metric.name,
            "scope": metric.scope,
            "dropped_blocks": dropped,
            **fields,
        }
    )
