"""What a tune has found, made from its folder alone."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf
from pathlib import Path

from pydantic import JsonValue

from lab.analysis.statistics.effects import among_comparisons, effect
from lab.analysis.suite.comparisons import is_detected
from lab.analysis.suite.result import judged_effects
from lab.analysis.tune.estimates import (
    A_TIE,
    LEAST_CONFIRM_BLOCKS,
    LEAST_GAIN,
    Estimates,
    Measured,
    base_of,
    fitted,
)
from lab.analysis.tune.folder import StageRecords, read_stages, read_tune_plan, stage_folders
from lab.analysis.tune.sentences import Findings, findings, headline
from lab.files import write_whole
from lab.records.run import Environment
from lab.records.suite import Effect, MetricKey
from lab.records.tune import (
    START,
    Combination,
    Contribution,
    LeftOut,
    MixedEffect,
    Tried,
    TunePlan,
    TuneResult,
    TuneStage,
    combination_name,
)

ELSEWHERE = ("topic", "producer", "elasticsearch")
"""Sections of settings that neither the index nor the connector has."""
RESULT = "tune.json"


def analyse_tune(folder: Path, *, ended: bool = False) -> TuneResult:
    """What the tune says, written into its folder as `tune.json`.

    Args:
        folder: `runs/tunes/<profile>/<tune-id>`.
        ended: The search has come to its end, even if there was nothing to confirm.

    Raises:
        ProfileError: The folder is not a tune's.
    """
    tuned = Tuned.read(folder)
    result = tune_result(tuned, ended=ended or tuned.was_complete)
    text = json.dumps(result.model_dump(mode="json"), ensure_ascii=False, indent=2)
    write_whole(folder / RESULT, text + "\n")
    return result


@dataclass(frozen=True)
class Tuned:
    """The records of a tune.

    Attributes:
        stages: Those that have come to their end.
        begun: How many have begun.
    """

    path: Path
    plan: TunePlan
    stages: tuple[StageRecords, ...]
    begun: int

    @classmethod
    def read(cls, folder: Path) -> "Tuned":
        """Those of a folder."""
        return cls(folder, read_tune_plan(folder), tuple(read_stages(folder)), len(stage_folders(folder)))

    @property
    def was_complete(self) -> bool:
        """Whether the tune was known to have ended before."""
        try:
            return bool(json.loads((self.path / RESULT).read_bytes())["complete"])
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @property
    def searched(self) -> list[StageRecords]:
        """All stages but the confirmation."""
        return [each for each in self.stages if each.stage.kind != "confirm"]

    @property
    def confirmed(self) -> StageRecords | None:
        """The confirmation; `None` where it has not ended."""
        return next((each for each in self.stages if each.stage.kind == "confirm"), None)

    @property
    def chosen(self) -> Combination | None:
        """What was confirmed, or was to be."""
        return self.confirmed.stage.combinations[0] if self.confirmed else None

    @cached_property
    def known(self) -> Estimates:
        """What the search says of each combination."""
        return Estimates.of(self.plan.goal, self.plan.bounds, [each.measured for each in self.stages])

    @cached_property
    def confirmation(self) -> tuple[Effect, ...]:
        """What the confirmation says by every metric, A/A included."""
        if self.confirmed is None:
            return ()
        return judged_effects(self.confirmed.suite.plan, None, self.confirmed.figures)

    def of_chosen(self, metric: MetricKey) -> Effect | None:
        """The confirmation of what was chosen, by a metric."""
        if self.chosen is None:
            return None
        return effect_of(self.confirmation, combination_name(self.chosen), metric)

    @property
    def is_confirmed(self) -> bool:
        """Whether the confirmation shows a gain, and no bound is broken by it."""
        by_goal = self.of_chosen(self.plan.goal.metric)
        if by_goal is None or by_goal.ratio is None or not is_detected(by_goal):
            return False
        if len(by_goal.ratios) < LEAST_CONFIRM_BLOCKS:
            return False
        broken = (
            # Where the interval reaches to both sides of a bound, the estimate decides: users asked to have it kept.
            effect is None or effect.ratio is None or bound.is_broken(effect.ratio)
            for bound in self.plan.bounds
            for effect in [self.of_chosen(bound.metric)]
        )
        return self.plan.goal.gain(by_goal.ratio) > 1 and not any(broken)


def effect_of(effects: Iterable[Effect], variant: str, metric: MetricKey) -> Effect | None:
    """The effect of a variant by a metric."""
    return next((e for e in effects if (e.variant, e.metric, e.scope) == (variant, metric.name, metric.scope)), None)


def tune_result(tuned: Tuned, *, ended: bool) -> TuneResult:
    """What a tune's records say."""
    plan = tuned.plan
    complete = ended or tuned.confirmed is not None
    recommended: Combination = (tuned.chosen or ()) if tuned.is_confirmed else ()
    settings = settings_of(tuned, recommended)
    last_s = max((run.ended_s for each in tuned.stages for run in each.suite.runs), default=None)
    contributed = contributions(tuned)
    mix = next((each for each in tuned.searched if each.stage.kind == "mixed"), None)
    mixed = tuple(mixed_effects(plan, mix.measured)) if mix else ()
    of_search = Findings(
        plan=plan,
        complete=complete,
        chosen=tuned.chosen,
        is_confirmed=tuned.is_confirmed,
        confirmation=tuned.confirmation,
        contributions=contributed,
        known=tuned.known,
        stages=tuned.begun,
        has_start=any(each.suite.of_variant(START) for each in tuned.stages),
        mixed=mixed,
    )
    return TuneResult(
        plan=plan,
        ended_s=last_s,
        wall_time_s=None if last_s is None else last_s - plan.started_s,
        complete=complete,
        stages=tuple(map(_stage, tuned.stages)),
        tried=tuple(tried(tuned)),
        chosen=tuned.chosen,
        is_confirmed=tuned.is_confirmed,
        recommended=recommended,
        settings=settings,
        confirmation=tuned.confirmation,
        contributions=contributed,
        base=base_of(mix.stage.combinations) if mix else (),
        mixed=mixed,
        headline=headline(of_search),
        findings=tuple(findings(of_search)),
        no_difference=tuple(no_difference(tuned)),
        not_tried=(*plan.left_out, *never_ran(tuned)),
        risks=tuple(f"{each.name}: {each.risk}" for each in map(plan.candidate, recommended) if each.risk),
        notes=tuple(notes(plan, recommended, settings)),
        environment=environment_of(tuned),
    )


def _stage(records: StageRecords) -> TuneStage:
    runs = records.suite.runs
    return TuneStage(
        stage=records.stage,
        blocks=len({run.block for run in runs if run.block}),
        folder=f"stages/{records.stage.name}",
        wall_time_s=runs[-1].ended_s - runs[0].started_s,
    )


def settings_of(tuned: Tuned, combination: Combination) -> dict[str, JsonValue]:
    """What a combination that has run sets."""
    name = combination_name(combination)
    stages = (each.stage for each in tuned.stages)
    return next((stage.settings[name] for stage in stages if name in stage.settings), {})


def tried(tuned: Tuned) -> Iterator[Tried]:
    """Every combination that the search has measured, the best first."""
    stages: dict[Combination, list[int]] = {}
    for each in tuned.searched:
        for combination in each.stage.combinations:
            stages.setdefault(combination, []).append(each.stage.number)
    for combination in sorted(stages, key=lambda each: gain_or_least(tuned.known, each), reverse=True):
        effects = (tuned.known.on(combination, metric) for metric in tuned.plan.metrics)
        yield Tried(
            combination=combination,
            settings=settings_of(tuned, combination),
            stages=tuple(stages[combination]),
            effects=tuple(filter(None, effects)),
            dropped=why_dropped(tuned, combination),
        )


def gain_or_least(known: Estimates, combination: Combination) -> float:
    """By how much a combination is better, as a logarithm; least where that is not known."""
    gain = known.log_gain(combination)
    return -inf if gain is None else gain


def why_dropped(tuned: Tuned, combination: Combination) -> str | None:
    """Why a combination that has run was not chosen, in a few words; `None` for the one that was."""
    known, gain = tuned.known, tuned.known.log_gain(combination)
    if combination == tuned.chosen:
        return None
    if gain is None:
        has_run = any(each.suite.of_variant(combination_name(combination)) for each in tuned.searched)
        return "no figure" if has_run else "its runs failed"
    bound = known.broken(combination)
    of_best = known.log_gain(tuned.chosen) if tuned.chosen else None
    reasons = (
        (bound is not None, f"beyond {bound.text}" if bound else ""),
        (known.is_worse(combination), "worse than the start"),
        (gain <= LEAST_GAIN, "no gain seen"),
        (of_best is not None and gain >= of_best - A_TIE, as_good(combination, tuned.chosen or ())),
    )
    return next((text for holds, text in reasons if holds), "others gained more")


def as_good(combination: Combination, chosen: Combination) -> str:
    """Why one was not chosen that gives as much as the chosen one."""
    return "as good, and changes more" if len(combination) > len(chosen) else "as good within 1 %"


def no_difference(tuned: Tuned) -> Iterator[str]:
    """Candidates of which the interval says that alone they change the goal by less than 5 %."""
    recommended = (tuned.chosen or ()) if tuned.is_confirmed else ()
    for candidate in tuned.plan.candidates:
        alone = tuned.known.on((candidate.name,), tuned.plan.goal.metric)
        if alone is not None and alone.verdict == "same within 5 %" and candidate.name not in recommended:
            yield candidate.name


def never_ran(tuned: Tuned) -> Iterator[LeftOut]:
    """Candidates that were planned, and whose runs never came to an end."""
    names = (each.combination for each in tried(tuned) if any(one.ratio is not None for one in each.effects))
    have_run = {name for combination in names for name in combination}
    for candidate in tuned.plan.candidates:
        if candidate.name not in have_run:
            yield LeftOut(name=candidate.name, reason=why_failed(tuned, candidate.name))


def why_failed(tuned: Tuned, variant: str) -> str:
    """Why a variant has no figure, by its last run that gives a reason."""
    if any(each.suite.of_variant(variant) for each in tuned.stages):
        return "its runs have no figure of the goal"
    runs = [run for each in tuned.stages for run in each.suite.runs if run.variant == variant and run.reason]
    return f"its runs failed: {runs[-1].reason}" if runs else "not reached"


def notes(plan: TunePlan, recommended: Combination, settings: dict[str, JsonValue]) -> Iterator[str]:
    """What else changes by what is recommended, and where else it has to be set."""
    for candidate in map(plan.candidate, recommended):
        if candidate.note:
            yield f"{candidate.name}: {candidate.note}"
    for key, value in settings.items():
        section, _, name = key.partition(".")
        if section in ELSEWHERE:
            yield f"{key}={json.dumps(value)}: set {name} yourself; neither the index nor the connector has it"


# --- what each gives ------------------------------------------------------------------------------------------------


def contributions(tuned: Tuned) -> tuple[Contribution, ...]:
    """What each candidate of the chosen combination gives: given the others, where both have run side by side."""
    chosen, metric = tuned.chosen or (), tuned.plan.goal.metric
    beside = {}
    for name in chosen if len(chosen) > 1 else ():
        without = tuple(other for other in chosen if other != name)
        if pairs := list(side_by_side(tuned.searched, chosen, without, metric)):
            beside[name] = effect(combination_name(chosen), combination_name(without), metric, pairs)
    judged = dict(zip(beside, among_comparisons(beside.values()), strict=True))
    made = []
    for name in chosen:
        alone = tuned.known.on((name,), metric)
        if name in judged and judged[name].ratio is not None:
            made.append(Contribution(candidate=name, given="the others", effect=judged[name]))
        elif alone is not None:
            made.append(Contribution(candidate=name, given="the start", effect=alone))
    return tuple(made)


def mixed_effects(plan: TunePlan, mix: Measured) -> Iterator[MixedEffect]:
    """What each candidate gives in the mix, the best first."""
    known = Estimates.of(plan.goal, plan.bounds, [mix])
    for fit in fitted(known, mix.stage.combinations):
        width = fit.half_width
        ends = [None, None] if width is None else sorted(plan.goal.gain(exp(fit.gain + by)) for by in (-width, width))
        ratio = plan.goal.gain(exp(fit.gain))
        yield MixedEffect(candidate=fit.name, ratio=ratio, low=ends[0], high=ends[1], runs=fit.runs)


def side_by_side(
    stages: Sequence[StageRecords], one: Combination, other: Combination, metric: MetricKey
) -> Iterator[tuple[float | None, float | None]]:
    """The values of two combinations in every block that held both."""
    for each in stages:
        values = {
            figure.variant: figure.values
            for figure in each.figures
            if (figure.name, figure.scope) == (metric.name, metric.scope)
        }
        names = (combination_name(one), combination_name(other))
        if names[0] in values and names[1] in values:
            yield from zip(values[names[0]], values[names[1]], strict=True)


def environment_of(tuned: Tuned) -> Environment | None:
    """Machine and software of the start's first run that counts."""
    runs = (run for each in tuned.stages for run in each.suite.of_variant(START))
    first = next(runs, None)
    return None if first is None else first.result.environment
