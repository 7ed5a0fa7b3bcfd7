"""Comparisons of a suite: pairs of variants, by the plan and by a source document, and their effects."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import exp, log
from typing import Final, TypeVar

from lab.analysis.statistics.effects import DETECTED, SAME, effect, verdict_text
from lab.analysis.statistics.sides import side_effect
from lab.analysis.suite.figures import by_variant, compared_metrics, mean_of
from lab.analysis.suite.names import lower_first, metric_label
from lab.profiles.published import Published, PublishedComparison
from lab.records.suite import Agreement, Effect, MetricKey, PublishedStep, SuitePlan, VariantMetric

Pair = tuple[str, str]
"""A variant and what it is compared with."""

CONTRADICTS: Final = "the source contradicts itself"

Compared = TypeVar("Compared", Effect, PublishedStep)


def planned_pairs(plan: SuitePlan) -> tuple[Pair, ...]:
    """Pairs of the plan: the control against itself (A/A) first, then in the order of the variants."""
    names = {variant.name for variant in plan.variants} - plan.skipped.keys()
    pairs = [
        (variant.name, variant.against)
        for variant in plan.variants
        if variant.against is not None and {variant.name, variant.against} <= names
    ]
    return tuple(sorted(pairs, key=lambda pair: pair[0] != plan.repetition))


def asked_pairs(plan: SuitePlan) -> tuple[Pair, ...]:
    """Pairs of the plan without that of the control with itself (A/A), unless the suite compares nothing else."""
    pairs = planned_pairs(plan)
    return tuple(pair for pair in pairs if pair[0] != plan.repetition) or pairs


def effects(
    plan: SuitePlan,
    pairs: Iterable[Pair],
    figures: Sequence[VariantMetric],
    ended: Collection[tuple[int, str]] | None = None,
) -> tuple[Effect, ...]:
    """Effect of each comparison on each metric, metric by metric, from the blocks that were planned for it.

    What is compared with the control is compared with the geometric mean of all runs of the control in the block, its
    repetition (A/A) included: the more there are, the less their mean scatters. From pairs at the same time is taken
    what the two sets of servers differ by.

    Args:
        ended: Block, counted from 1, and variant of the runs that have ended: no other one is lost; all if `None`.
    """
    pairs = list(pairs)
    compared = []
    for metric in compared_metrics(plan):
        values = {variant: figure.values for variant, figure in by_variant(figures, metric).items()}
        drawn = {pair: _drawn(plan, pair, values, ended) for pair in pairs}
        lost = _take_out_sides(plan, drawn) if plan.duets else {}
        for (variant, against), by_block in drawn.items():
            starts = [plan.start_of(block + 1) for block in by_block] if plan.starts > 1 else None
            known = list(by_block.values())
            compared.append(
                effect(variant, against, metric, known, starts, freedom_lost=lost.get((variant, against), 0.0))
            )
    return tuple(compared)


Values = tuple[float | None, float | None]
"""Of a variant and of what it is compared with, in one block."""


def _drawn(
    plan: SuitePlan,
    pair: Pair,
    values: Mapping[str, Sequence[float | None]],
    ended: Collection[tuple[int, str]] | None,
) -> dict[int, Values]:
    """The values of a comparison by block, counted from 0, without blocks whose runs are still to come."""
    variant, against = pair
    reference = values[against]
    if plan.repetition is not None and variant != plan.repetition and against == plan.control:
        reference = _with_repetition(plan, reference, values[plan.repetition])
    every = list(zip(values[variant], reference, strict=True))
    return {
        block: every[block]
        for block in _blocks_of(plan, variant, against) or range(len(every))
        if None not in every[block] or ended is None or all((block + 1, name) in ended for name in pair)
    }


def _take_out_sides(plan: SuitePlan, drawn: dict[Pair, dict[int, Values]]) -> dict[Pair, float]:
    """Take what the two sets of servers differ by from the variants' values; what it took of each one's freedom.

    Every part and every start of the servers has two sets of its own. A comparison over several starts, whose means
    are compared, loses no freedom.
    """
    placed: dict[tuple[str, int], dict[Pair, list[tuple[int, float, int]]]] = defaultdict(lambda: defaultdict(list))
    for pair, by_block in drawn.items():
        for block, (own, other) in by_block.items():
            # A comparison that only the source draws has no pairs of its own.
            if own and other and min(own, other) > 0 and set(plan.order[block]) == set(pair):
                side = 1 if plan.order[block][0] == pair[0] else -1
                sets = plan.variant(pair[0]).part, plan.start_of(block + 1)
                placed[sets][pair].append((block, log(own / other), side))
    lost: dict[Pair, float] = {}
    for of_sets in placed.values():
        effect_of_side, shares = side_effect([[each[1:] for each in those] for those in of_sets.values()])
        for (pair, those), share in zip(of_sets.items(), shares, strict=True):
            lost[pair] = 0.0 if pair in lost else share
            for block, _, side in those:
                own, other = drawn[pair][block]
                drawn[pair][block] = (own and own * exp(-side * effect_of_side), other)
    return lost


def _blocks_of(plan: SuitePlan, variant: str, against: str) -> list[int]:
    """The blocks, counted from 0, that hold both: one that is known well enough runs no more."""
    return [block for block, names in enumerate(plan.order) if variant in names and against in names]


def _with_repetition(
    plan: SuitePlan, control: Sequence[float | None], again: Sequence[float | None]
) -> list[float | None]:
    """By block the geometric mean of all runs of the control, of which `control` has the mean of its own ones."""
    means = []
    for block, (own, other) in enumerate(zip(control, again, strict=True)):
        own_runs = max(1, plan.order[block].count(plan.control)) if block < len(plan.order) else 1
        runs = [value for value in [own] * own_runs + [other] if value is not None and value > 0]
        means.append(mean_of(runs))
    return means


def of_pair(records: Iterable[Compared], pair: Pair, metric: MetricKey) -> Compared | None:
    """Our record, or the source's, of a pair and a metric; `None` without one."""
    return next(_all_of_pair(records, pair, metric), None)


def _all_of_pair(records: Iterable[Compared], pair: Pair, metric: MetricKey) -> Iterator[Compared]:
    return (each for each in records if (each.variant, each.against) == pair and each.key == metric.key)


def published_of(steps: Iterable[PublishedStep], pair: Pair, metric: MetricKey) -> PublishedStep | None:
    """The source's figure beside a comparison: of several, such as of other machines, all that are not confounded.

    The source contradicts itself where one of them is a gain of more than 5 % and another one a loss, whatever ours is.
    """
    those = list(_all_of_pair(steps, pair, metric))
    chosen = [step for step in those if step.confounded is None] or those
    if len(chosen) < 2:
        return chosen[0] if chosen else None
    insides = {step.is_inside for step in chosen}
    changes = [step for step in chosen if abs(log(step.published_ratio)) >= SAME] or chosen
    both_ways = len({step.published_ratio > 1 for step in changes}) > 1 and changes is not chosen
    return chosen[0].model_copy(
        update={
            "published_low": min(step.published_low or step.published_ratio for step in chosen),
            "published_high": max(step.published_high or step.published_ratio for step in chosen),
            "agreement": CONTRADICTS if both_ways else changes[0].agreement,
            "is_inside": insides.pop() if len(insides) == 1 else None,
        }
    )


def is_detected(effect: Effect | None) -> bool:
    """Check that an effect claims a difference."""
    return effect is not None and effect.verdict in DETECTED


def verdict_of(effect: Effect) -> str:
    """The verdict with the interval that it is taken from."""
    return verdict_text(effect.verdict, effect.ratio, effect.low, effect.high)


# --- the steps of a source document ---------------------------------------------------------------------------------


def published_pairs(plan: SuitePlan, published: Published | None, planned: Sequence[Pair]) -> tuple[Pair, ...]:
    """Comparisons that the source draws and the plan does not, of variants that ran all the same."""
    ours = _variants_by_profile(plan)
    drawn = [
        _ours(step, plan, planned)
        for step in (published.comparisons if published else ())
        if step.variant in ours and step.against in ours
    ]
    # Parts run at other times, on other servers.
    return tuple(
        (variant, against)
        for variant, against in dict.fromkeys(drawn)
        if (variant, against) not in planned and plan.variant(variant).part == plan.variant(against).part
    )


def published_steps(
    plan: SuitePlan, published: Published | None, planned: Sequence[Pair], effects: Sequence[Effect]
) -> tuple[PublishedStep, ...]:
    """Every comparison of the source, and those of ours for which it holds both values, beside our effect."""
    if published is None:
        return ()
    ours = _variants_by_profile(plan)
    theirs = {name: profile for profile, name in ours.items() if profile in published.variants}
    unstated = [
        step
        for variant, against in planned
        if variant in theirs and against in theirs
        for step in published.unstated(theirs[variant], theirs[against])
    ]
    return tuple(_step(step, _ours(step, plan, planned), effects) for step in (*published.comparisons, *unstated))


def _ours(step: PublishedComparison, plan: SuitePlan, planned: Sequence[Pair]) -> Pair:
    """Our comparison of what the source compares: the planned one, whatever its reference is called, or the nearest."""
    ours = _variants_by_profile(plan)
    variant = ours.get(step.variant, step.variant)
    for pair in planned:
        if pair[0] == variant and plan.variant(pair[1]).profile == step.against:
            return pair
    return variant, ours.get(step.against, step.against)


def _variants_by_profile(plan: SuitePlan) -> dict[str, str]:
    """Profile → the variant that stands for it: the one of its name, or else the first that runs it."""
    chosen = [
        variant for variant in plan.variants if variant.name != plan.repetition and variant.name not in plan.skipped
    ]
    by_profile = {variant.profile: variant.name for variant in reversed(chosen)}
    return by_profile | {variant.name: variant.name for variant in chosen}


def _step(step: PublishedComparison, pair: Pair, effects: Iterable[Effect]) -> PublishedStep:
    variant, against = pair
    effect = of_pair(effects, pair, MetricKey(name=step.metric, scope=step.scope))
    low, high = step.rounded
    return PublishedStep(
        variant=variant,
        against=against,
        metric=step.metric,
        scope=step.scope,
        published_value=step.value,
        published_against=step.against_value,
        published_ratio=step.ratio,
        published_low=low,
        published_high=high,
        agreement=agreement(step.ratio, effect),
        is_inside=_is_inside(low, high, effect),
        source=step.source,
        note=step.note,
        confounded=step.confounded,
    )


def _is_inside(low: float, high: float, effect: Effect | None) -> bool | None:
    """Check that our interval holds a ratio between these; `None` without one that a verdict is taken from."""
    if effect is None or effect.verdict == "too few runs" or not (effect.low and effect.high):
        return None
    return effect.low <= high and low <= effect.high


def agreement(published_ratio: float, effect: Effect | None) -> Agreement:
    """Agreement in direction of our effect with the published one, where both are a change."""
    if effect is None or effect.ratio is None:
        return "not measured"
    if abs(log(published_ratio)) < SAME:
        return "published as no change"
    if effect.verdict == "too few runs":
        return "ours has too few runs"
    if not is_detected(effect):
        return "ours is the same" if effect.verdict == "same within 5 %" else "ours is undecided"
    return "same direction" if (effect.ratio - 1) * (published_ratio - 1) > 0 else "opposite"


def differs_from_itself(
    plan: SuitePlan, effects: Sequence[Effect], metrics: Collection[MetricKey] | None = None
) -> str:
    """Sentence on a control that differs from itself (A/A), which only chance or the method can cause; else empty.

    Args:
        metrics: Those that are looked at; all if `None`.
    """
    checks = (effect for effect in effects if effect.variant == plan.repetition and is_detected(effect))
    by_metric = ((MetricKey(name=check.metric, scope=check.scope), check) for check in checks)
    differences = [
        f"{verdict_of(check)} in {lower_first(metric_label(metric))}"
        for metric, check in by_metric
        if metrics is None or metric in metrics
    ]
    return f"the control shows a difference from itself (A/A): {', '.join(differences)}" if differences else ""
