"""Which variants are compared with which, and what each comparison says."""

from collections.abc import Iterable, Sequence
from statistics import geometric_mean

from lab.analysis.statistics.effects import DETECTED, effect, verdict_text
from lab.records.suite import Effect, MetricAsked, SuitePlan, VariantMetric

Pair = tuple[str, str]
"""A variant and what it is compared with."""


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
    """Whether an effect claims a difference."""
    return found is not None and found.verdict in DETECTED


def verdict_of(found: Effect) -> str:
    """The verdict with the interval that it is taken from."""
    return verdict_text(found.verdict, found.ratio, found.low, found.high)


def metric_of(found: Effect) -> MetricAsked:
    """The metric that an effect is one of."""
    return MetricAsked(name=found.metric, scope=found.scope)
