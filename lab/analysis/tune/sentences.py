"""Sentences of a tune, the same on the terminal and in the report, each with its predicate."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import log

from lab.analysis.statistics.effects import SAME, change_text, interval_text
from lab.analysis.tune.confirmation import Confirmation
from lab.analysis.tune.estimates import LEAST_CONFIRM_BLOCKS, LEAST_GAIN, keeps
from lab.analysis.tune.goals import LABELS, METRICS
from lab.analysis.tune.screening import told_groups
from lab.records.suite import Effect
from lab.records.tune import Bound, Gain, Goal, GoalName, MixedEffect, TunePlan, combination_name

KEEP = "Keep the start."
UNTIL = "Whether it is better is not known. Keep the start until more minutes tell."
LARGE = log(1.15)
"""A gain that a search must be able to exclude before it says that there is none."""
LUCK = log(1.01)
"""What luck may have added to a figure before that is said."""
OF_THE_MIX = (
    "On average over the random values of the other settings: a least-squares fit to all runs of the mix, or of each"
    " setting by itself where the runs are few. Each interval"
    " is of 95 % for itself: of twenty settings without effect, one is shown to have some. The estimates of what was"
    " chosen are too good on average, because they chose it; the intervals hold for it, too."
)
TRIED = (
    "Ratios to the start over all blocks of the search, the best first. The best of many noisy estimates is too good,"
    " so only the confirmation counts."
)


@dataclass(frozen=True)
class Findings:
    """Findings that the sentences are written from.

    Attributes:
        stages: How many have begun.
        void: Why there is nothing to compare with; `None` where a run of the start is verified.
        confirmation: Of what was chosen; `None` where nothing was, or it has not ended.
        mixed: What each candidate gives in combinations drawn at random.
        runs: Of the mix, that came to a figure.
        beyond: Candidates that the mix shows to break a bound.
        gains_unconfirmed: Whether a combination was shown to gain before the confirmation.
    """

    plan: TunePlan
    complete: bool
    stages: int
    void: str | None
    confirmation: Confirmation | None
    mixed: Sequence[MixedEffect] = ()
    runs: int = 0
    beyond: Collection[str] = ()
    gains_unconfirmed: bool = False

    @property
    def is_known(self) -> bool:
        """Check that "nothing better was found" excludes a gain of more than 15 % by the choice, or by any candidate.

        Without a choice, as where there was no time to confirm one, nothing must be shown to gain anything either, but
        for what breaks a bound.
        """
        found, goal = self.confirmation, self.plan.goal
        if found is not None:
            large = found.goal is None or found.blocks < LEAST_CONFIRM_BLOCKS or may_be_large(goal, found.goal)
            return found.is_better or found.broken is not None or found.gain is not None or not large
        unknown = {each.name for each in self.plan.candidates} - {each.candidate for each in self.mixed}
        large = any(may_be_large(goal, each) for each in self.mixed if each.candidate not in self.beyond)
        return not (unknown or large or self.gaining or self.gains_unconfirmed)

    @property
    def gaining(self) -> list[MixedEffect]:
        """Candidates that the mix shows to gain more than is worth pursuing, and not to break a bound."""
        inside = (each for each in self.mixed if each.candidate not in self.beyond and is_shown(each))
        return [each for each in inside if log(self.plan.goal.gain(each.ratio)) > LEAST_GAIN]


def may_be_large(goal: Goal, effect: Effect | MixedEffect) -> bool:
    """Check that an effect's interval holds a gain of more than 15 %; without an interval it may be any."""
    if effect.low is None or effect.high is None:
        return not isinstance(effect, Effect) or len(set(effect.ratios)) != 1
    return max(log(goal.gain(effect.low)), log(goal.gain(effect.high))) > LARGE


def change(effect: Effect | Gain | MixedEffect | None, unknown: str = "not known") -> str:
    """`+31 % (+22 % to +41 %)`; without an interval `+31 %`."""
    if effect is None or effect.ratio is None:
        return unknown
    interval = interval_text(effect.low, effect.high)
    return f"{change_text(effect.ratio)}{f' ({interval})' if interval else ''}"


# --- the headline ---------------------------------------------------------------------------------------------------


def headline(search: Findings) -> str:
    """Headline: the confirmed choice, or the reason to keep the start; of a screening, how many settings matter."""
    if not search.complete:
        begun = "1 stage has" if search.stages == 1 else f"{search.stages} stages have"
        return f"Not finished: {begun} begun; resume it."
    if search.void:
        return f"This {'screening' if search.plan.screens else 'tune'} is void: {search.void}."
    if search.confirmation is not None:
        return of_choice(search.confirmation, is_known=search.is_known)
    if not search.runs:
        return f"Not known: no run of a combination has a figure of {LABELS[search.plan.goal.name]}."
    if search.plan.screens:
        return told_groups(search.mixed, len(search.plan.candidates), search.runs)
    return without_choice(search)


def without_choice(search: Findings) -> str:
    """Sentence on a search that has confirmed nothing, by what its mix tells."""
    if search.gaining:
        shown = "; ".join(f"{each.candidate} {change(each)}" for each in search.gaining)
        return (
            f"Not confirmed: {LABELS[search.plan.goal.name]} on average over the other settings, by {search.runs} runs:"
            f" {shown}. {UNTIL}"
        )
    within = " within " + " and ".join(bound.text for bound in search.plan.bounds) if search.plan.bounds else ""
    if search.is_known:
        return f"Nothing better than the start was found{within}. {KEEP}"
    return (
        f"Not known: {search.runs} runs tell too little to say that nothing is better than the start{within}; more"
        " minutes tell more."
    )


def of_choice(found: Confirmation, *, is_known: bool) -> str:
    """Sentence on the confirmation of the choice."""
    name, label = combination_name(found.chosen), LABELS[found.plan.goal.name]
    if found.rise is not None and found.goal is None:
        return f"Nothing was confirmed: rates of drains still rose after the warm-up, so none are compared. {UNTIL}"
    if found.blocks < LEAST_CONFIRM_BLOCKS:
        return f"Nothing was confirmed: too few verified runs compare {name} with the start. {UNTIL}"
    blocks = f"in {found.blocks} blocks of fresh runs"
    if found.is_better and found.gain is not None:
        word = "Confirmed" if found.is_confirmed else "Better, but in doubt"
        return f"{word}: {label} {change(found.gain)} against the start, {blocks}. {luck(found)}Change {name}."
    measured = f"{name} gives {label} {change(found.goal)} {blocks}"
    if found.broken is not None:
        return f"Not confirmed: {measured}, but {of_bound(found.broken, found.on(found.broken.metric))} {KEEP}"
    if found.gain is not None:
        return f"Not confirmed: {measured}, but the start differs from itself by {change(found.check)}. {KEEP}"
    unknown = f"Not known: {measured}. It may gain more than 15 %, or nothing; more minutes tell more."
    return f"Not confirmed: {measured}. {KEEP}" if is_known else unknown


def luck(found: Confirmation) -> str:
    """Sentence on the measured gain, if the headline's is smaller by 1 % or more; else empty."""
    if found.gain is None or found.goal is None or found.goal.ratio is None:
        return ""
    if abs(log(found.goal.ratio / found.gain.ratio)) < LUCK:
        return ""
    return f"Measured: {change_text(found.goal.ratio)}; what so many blocks can just show is too good on average. "


# --- what else ------------------------------------------------------------------------------------------------------


def findings(search: Findings) -> Iterator[str]:
    """Sentences on other figures, bounds, the A/A check, and the settings' effects in the mix."""
    found = search.confirmation
    if found is not None and found.goal is not None:
        others = [name for name in labels(search.plan) if METRICS[name] != search.plan.goal.metric]
        figures = "; ".join(f"{LABELS[name]} {change(found.on(METRICS[name]))}" for name in others)
        yield f"Beside it, as measured: {figures}."
        yield from (of_bound(bound, effect) for bound, effect in found.by_bound)
        yield of_check(found)
    small = [each.candidate for each in search.mixed if is_small(each)]
    if found is not None and found.is_better:
        unclear = [each.candidate for each in search.mixed if each.candidate in found.chosen and not is_shown(each)]
        if names := [name for name in unclear if name not in small]:
            yield f"Not shown to give anything on average over the other settings: {', '.join(names)}."
    if small:
        yield f"Less than 5 % either way on average over the other settings: {', '.join(small)}."


def of_bound(bound: Bound, effect: Effect | None) -> str:
    """Sentence on a bound: kept, broken, neither shown, or not measured."""
    if effect is None or effect.ratio is None:
        how = "was not measured"
    elif bound.is_broken(effect.ratio):
        how = "is broken"
    else:
        how = "is kept" if keeps(bound, effect) else "is neither shown to be kept nor to be broken"
    return f"{bound.text} {how}: {change(effect)}."


def of_check(found: Confirmation) -> str:
    """Sentence on the start against itself (A/A)."""
    if found.check is None:
        return "The start was not compared with itself (A/A)."
    if not found.differs_from_itself:
        return f"The start against itself (A/A) shows no difference, as it should: {change(found.check)}."
    return (
        f"The start differs from itself (A/A): {change(found.check)}. In one of twenty searches that is chance; run it"
        " again to know."
    )


def is_shown(effect: MixedEffect) -> bool:
    """Check that the mix shows an effect of a candidate."""
    return effect.low is not None and effect.high is not None and (effect.low > 1 or effect.high < 1)


def is_small(effect: MixedEffect) -> bool:
    """Check that the mix shows a candidate's effect below 5 %, either way."""
    return effect.low is not None and effect.high is not None and max(-log(effect.low), log(effect.high)) < SAME


def labels(plan: TunePlan) -> list[GoalName]:
    """The plan's metrics by their names."""
    return [name for name, metric in METRICS.items() if metric in plan.metrics]
