"""Which variants are compared with which, and what each comparison says."""

from collections.abc import Callable, Iterable, Sequence
from statistics import geometric_mean
from typing import TypeAlias

from lab.records.suite import Effect, MetricAsked, SuitePlan, VariantMetric, Verdict

Pair = tuple[str, str]
"""A variant and what it is compared with."""

EffectOf: TypeAlias = Callable[[str, str, MetricAsked, Sequence[tuple[float | None, float | None]]], Effect]
"""What makes an effect of: variant, the other, metric, and by block the values of both."""

DETECTED = frozenset({"faster", "slower", "higher", "lower"})
"""Verdicts that claim a difference."""

MAY_BE_CHANCE = "may be chance among so many comparisons"
"""What is said of a difference that a comparison shows by itself, but not as one of all of them."""


def planned_pairs(plan: SuitePlan) -> tuple[Pair, ...]:
    """What the plan compares: the control against itself (A/A) first, then in the order of the variants."""
    names = {variant.name for variant in plan.variants} - plan.skipped.keys()
    pairs = [
        (variant.name, variant.against)
        for variant in plan.variants
        if variant.against is not None and {variant.name, variant.against} <= names
    ]
    return tuple(sorted(pairs, key=lambda pair: pair[0] != plan.repetition))


def effects(
    plan: SuitePlan,
    pairs: Iterable[Pair],
    metrics: Sequence[MetricAsked],
    figures: Sequence[VariantMetric],
    effect: EffectOf,
) -> tuple[Effect, ...]:
    """What every comparison says of every metric, metric by metric.

    Where the control runs twice in a block, what is compared with it is compared with the geometric mean of both runs:
    where all runs scatter alike, ratios to one run scatter 1.15 times as much.
    """
    values = {(figure.variant, figure.name, figure.scope): figure.values for figure in figures}
    chosen = list(pairs)

    def reference(variant: str, against: str, asked: MetricAsked) -> Sequence[float | None]:
        own = values[against, asked.name, asked.scope]
        if plan.repetition is None or variant == plan.repetition or against != plan.control:
            return own
        again = values[plan.repetition, asked.name, asked.scope]
        return [_of_both(*pair) for pair in zip(own, again, strict=True)]

    return tuple(
        effect(
            variant,
            against,
            asked,
            list(zip(values[variant, asked.name, asked.scope], reference(variant, against, asked), strict=True)),
        )
        for asked in metrics
        for variant, against in chosen
    )


def _of_both(first: float | None, second: float | None) -> float | None:
    """The geometric mean; of a run that failed, or is not above zero, nothing goes into it."""
    known = [value for value in (first, second) if value is not None and value > 0]
    return geometric_mean(known) if known else None


def effect_on(effects: Iterable[Effect], pair: Pair, asked: MetricAsked) -> Effect | None:
    """What a comparison says of a metric; `None` where the two were not compared by it."""
    for found in effects:
        if (found.variant, found.against) == pair and metric_of(found) == asked:
            return found
    return None


def is_detected(found: Effect | None) -> bool:
    """Whether an effect claims a difference, and its interval does not contradict the claim."""
    if found is None or found.verdict not in DETECTED:
        return False
    return found.low is None or found.high is None or not found.low <= 1 <= found.high


def verdict_of(found: Effect) -> Verdict:
    """The verdict as it may be shown: one that its own interval contradicts is none."""
    return found.verdict if is_detected(found) or found.verdict == "too few runs" else "no difference detectable"


def may_be_chance(found: Effect | None) -> bool:
    """Whether an effect's own interval shows a difference that so many comparisons together do not."""
    if found is None or found.low is None or found.high is None:
        return False
    return found.verdict == "no difference detectable" and not found.low <= 1 <= found.high


def verdict_text(found: Effect) -> str:
    """The verdict in words, with what a reader of the interval would wonder at."""
    return f"{verdict_of(found)}: {MAY_BE_CHANCE}" if may_be_chance(found) else verdict_of(found)


def metric_of(found: Effect) -> MetricAsked:
    """The metric that an effect is one of."""
    return MetricAsked(name=found.metric, scope=found.scope)
