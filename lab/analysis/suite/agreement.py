"""The steps of a source document beside ours."""

from collections.abc import Iterable, Mapping, Sequence
from math import log

from lab.analysis.statistics.effects import SAME
from lab.analysis.suite.comparisons import Pair, effect_on, is_detected
from lab.profiles.published import Published, PublishedComparison
from lab.records.suite import Agreement, Effect, MetricAsked, PublishedStep, SuitePlan


def variants_of(plan: SuitePlan) -> dict[str, str]:
    """Profile → the variant that stands for it: the one of its name, or else the first that runs it."""
    chosen = [
        variant for variant in plan.variants if variant.name != plan.repetition and variant.name not in plan.skipped
    ]
    by_profile = {variant.profile: variant.name for variant in reversed(chosen)}
    return by_profile | {variant.name: variant.name for variant in chosen}


def published_pairs(plan: SuitePlan, published: Published | None, planned: Sequence[Pair]) -> tuple[Pair, ...]:
    """Comparisons that the source draws and the plan does not, of variants that ran all the same."""
    if published is None:
        return ()
    ours = variants_of(plan)
    drawn = [
        (ours[step.variant], ours[step.against])
        for step in published.comparisons
        if step.variant in ours and step.against in ours
    ]
    return tuple(pair for pair in dict.fromkeys(drawn) if pair not in planned)


def published_steps(
    plan: SuitePlan, published: Published | None, planned: Sequence[Pair], effects: Sequence[Effect]
) -> tuple[PublishedStep, ...]:
    """Every comparison of the source, and those of ours for which it holds both values, beside our effect."""
    if published is None:
        return ()
    ours = variants_of(plan)
    theirs = {name: profile for profile, name in ours.items() if profile in published.values}
    unstated = [
        step
        for variant, against in planned
        if variant in theirs and against in theirs
        for step in published.unstated(theirs[variant], theirs[against])
    ]
    return tuple(_step(step, ours, effects) for step in (*published.comparisons, *unstated))


def _step(step: PublishedComparison, ours: Mapping[str, str], effects: Iterable[Effect]) -> PublishedStep:
    pair = (ours.get(step.variant, step.variant), ours.get(step.against, step.against))
    found = effect_on(effects, pair, MetricAsked(name=step.metric, scope=step.scope))
    low, high = step.rounded
    return PublishedStep(
        variant=pair[0],
        against=pair[1],
        metric=step.metric,
        scope=step.scope,
        published_value=step.value,
        published_against=step.against_value,
        published_ratio=step.ratio,
        published_low=low,
        published_high=high,
        agreement=agreement(step.ratio, found),
        is_inside=found.low <= high and low <= found.high if found and found.low and found.high else None,
        source=step.source,
        note=step.note,
    )


def agreement(published_ratio: float, found: Effect | None) -> Agreement:
    """Whether our effect goes the way of the published one, where both are a change."""
    if found is None or found.ratio is None:
        return "not measured"
    if abs(log(published_ratio)) < SAME:
        return "published as no change"
    if not is_detected(found):
        return "ours is the same" if found.verdict == "same within 5 %" else "ours is undecided"
    return "same direction" if (found.ratio - 1) * (published_ratio - 1) > 0 else "opposite"
