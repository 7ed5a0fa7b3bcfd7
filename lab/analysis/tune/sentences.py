"""What a tune has found, in sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from lab.analysis.statistics.effects import change_text
from lab.analysis.suite.names import ratio_text
from lab.analysis.tune.estimates import LEAST_CONFIRM_BLOCKS, LEAST_GAIN, Estimates, breaks, keeps
from lab.analysis.tune.goals import LABELS, METRICS
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, Combination, Contribution, GoalName, MixedEffect, TunePlan, combination_name

KEEP = "Keep the start."
NOT_SHOWN = ("undecided", "same within 5 %")
TOO_FEW = "too few runs"


@dataclass(frozen=True)
class Findings:
    """All that the sentences are written from.

    Attributes:
        confirmation: Effects of the last stage.
        contributions: Of the candidates of what was chosen.
        mixed: What each candidate gives in combinations drawn at random.
        known: What the search says.
        stages: How many have begun.
        has_start: Whether a run of the start is verified.
    """

    plan: TunePlan
    complete: bool
    chosen: Combination | None
    is_confirmed: bool
    confirmation: Sequence[Effect]
    contributions: Sequence[Contribution]
    known: Estimates
    stages: int
    has_start: bool
    mixed: Sequence[MixedEffect] = ()

    def of(self, variant: str, metric: MetricKey) -> Effect | None:
        """The confirmation of a variant by a metric, where it says something."""
        for effect in self.confirmation:
            if (effect.variant, effect.metric, effect.scope) == (variant, metric.name, metric.scope):
                return effect if effect.ratio is not None else None
        return None

    @property
    def has_figures(self) -> bool:
        """Whether the search has compared anything by its goal."""
        goal = self.plan.goal.metric
        return any(known.ratio is not None for (_, metric), known in self.known.effects.items() if metric == goal)

    @property
    def goal(self) -> Effect | None:
        """The confirmation of what was chosen, by the goal."""
        return self.of(combination_name(self.chosen), self.plan.goal.metric) if self.chosen else None


def change(effect: Effect | None) -> str:
    """`+31 % (+22 % to +41 %)`; without an interval `+31 %`."""
    if effect is None or effect.ratio is None:
        return "not known"
    interval = ""
    if effect.low is not None and effect.high is not None:
        interval = f" ({change_text(effect.low)} to {change_text(effect.high)})"
    return f"{change_text(effect.ratio)}{interval}"


def headline(search: Findings) -> str:
    """What was confirmed, or why the start is recommended."""
    if not search.complete:
        begun = "1 stage has" if search.stages == 1 else f"{search.stages} stages have"
        return f"Not finished: {begun} begun; resume it."
    if not search.has_start:
        return "This tune is void: no run of the start is verified; the report of stage 1 says why."
    if search.chosen is None and not search.has_figures:
        return f"Nothing was measured: no two runs have a figure of the {LABELS[search.plan.goal.name]}. {KEEP}"
    if search.chosen is None:
        return f"Nothing better than the start was found: {why_nothing(search)}. {KEEP}"
    return of_choice(search, search.chosen)


def why_nothing(search: Findings) -> str:
    """That nothing gains; or what gains most, and the bound that it is beyond."""
    known, goal = search.known, search.plan.goal
    gains = {name: known.log_gain((name,)) or 0.0 for name, metric in known.effects if metric == goal.metric}
    for name in sorted(gains, key=gains.__getitem__, reverse=True):
        bound = known.broken((name,))
        if gains[name] > LEAST_GAIN and bound is not None:
            gain, beyond = (change(known.on((name,), metric)) for metric in (goal.metric, bound.metric))
            return f"{name} gives {LABELS[goal.name]} {gain}, but is beyond {bound.text}: {beyond}"
    return "no candidate seems to gain more than 1 %"


def of_choice(search: Findings, chosen: Combination) -> str:
    """What the confirmation says of what was chosen."""
    effect, label = search.goal, LABELS[search.plan.goal.name]
    name = combination_name(chosen)
    if effect is None or len(effect.ratios) < LEAST_CONFIRM_BLOCKS:
        return f"Nothing was confirmed: too few verified runs compare {name} with the start. {KEEP}"
    blocks = f"{len(effect.ratios)} blocks of fresh runs"
    if search.is_confirmed:
        return f"Confirmed: {label} {change(effect)} against the start, in {blocks}. Change {name}."
    for bound in search.plan.bounds:
        by_bound = search.of(name, bound.metric)
        if by_bound is None or by_bound.ratio is None or bound.is_broken(by_bound.ratio):
            return f"{name}: {label} {change(effect)}, but {bound.text} is not kept: {change(by_bound)}. {KEEP}"
    return f"Nothing better than the start was confirmed: {name} gives {label} {change(effect)} in {blocks}. {KEEP}"


def findings(search: Findings) -> Iterator[str]:
    """What else is known: other figures, bounds, interactions, the curse of the winner, and the method's own check."""
    if search.chosen is None or search.goal is None:
        return
    name, goal = combination_name(search.chosen), search.plan.goal
    others = [label for label in _labels(search.plan) if METRICS[label] != goal.metric]
    beside = [f"{LABELS[label]} {change(search.of(name, METRICS[label]))}" for label in others]
    yield f"Beside it: {'; '.join(beside)}."
    for bound in search.plan.bounds:
        by_bound = search.of(name, bound.metric)
        if by_bound is not None and not breaks(bound, by_bound):
            how = "kept" if keeps(bound, by_bound) else "not shown to be broken, nor to be kept"
            yield f"{bound.text} is {how}: {change(by_bound)}."
    estimate = search.known.on(search.chosen, goal.metric)
    if search.is_confirmed:
        yield from without_gain(search.contributions, search.mixed)
    if estimate is not None and estimate.ratio is not None:
        yield (
            f"The search had estimated {change_text(estimate.ratio)}. The best of many noisy estimates is"
            " usually too high; only the confirmation counts."
        )
    singles = [search.known.on((each,), goal.metric) for each in search.chosen]
    alone = [effect.ratio for effect in singles if effect is not None and effect.ratio is not None]
    if estimate is not None and len(alone) == len(search.chosen) > 1:
        yield (
            f"In the search, {LABELS[goal.name]} of all together was {ratio_text(estimate.ratio)} times the start's;"
            f" the product of their single effects is {ratio_text(prod(alone))}."
        )
    check = search.of(START + AGAIN, goal.metric)
    if check is not None:
        yield f"The start against itself (A/A), which should show nothing: {change(check)}."


def without_gain(contributions: Sequence[Contribution], mixed: Sequence[MixedEffect] = ()) -> Iterator[str]:
    """Which of the settings that were chosen were not shown to add anything to the others.

    Args:
        mixed: What they give in combinations with others, for those that the choice has not run without.
    """
    names = [
        each.candidate for each in contributions if each.given == "the others" and each.effect.verdict in NOT_SHOWN
    ]
    if names:
        which = "it" if len(names) == 1 else "any one of them"
        yield f"Not shown to add anything to the others: {', '.join(names)}. You may leave {which} out."
    unclear = {each.candidate for each in mixed if each.low is None or each.high is None or each.low <= 1 <= each.high}
    rest = [
        each.candidate
        for each in contributions
        if (each.effect.verdict == TOO_FEW if each.given == "the others" else each.candidate in unclear)
    ]
    if rest:
        yield f"Measured too seldom to say what they add to the others: {', '.join(rest)}."


def _labels(plan: TunePlan) -> list[GoalName]:
    return [name for name, metric in METRICS.items() if metric in plan.metrics]
