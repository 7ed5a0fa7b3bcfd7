"""Result of a tune, made from its folder alone."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import exp
from pathlib import Path
from statistics import median

from pydantic import JsonValue

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.disturbance import disturbance
from lab.analysis.folder import write_record
from lab.analysis.suite.figures import figures, rise
from lab.analysis.suite.result import judged_effects
from lab.analysis.text import quantity
from lab.analysis.tune.confirmation import Confirmation
from lab.analysis.tune.estimates import Estimates, Fit, Row, pooled, reported, rows
from lab.analysis.tune.folder import StageRecords, read_stages, read_tune_plan, stage_folders
from lab.analysis.tune.goals import METRICS
from lab.analysis.tune.sentences import Findings, findings, headline
from lab.records.result import Result
from lab.records.run import Environment
from lab.records.tune import (
    START,
    Combination,
    Gain,
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
    """Compute the result of a tune and write it into its folder as `tune.json`.

    Args:
        folder: `runs/tunes/<profile>/<tune-id>`.
        ended: The search has come to its end, even if there was nothing to confirm.

    Raises:
        ProfileError: The folder is not a tune's.
    """
    tuned = Tuned.read(folder)
    result = tune_result(tuned, ended=ended or tuned.was_complete)
    write_record(folder / RESULT, result)
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
        """Records of a folder."""
        return cls(folder, read_tune_plan(folder), tuple(read_stages(folder)), len(stage_folders(folder)))

    @property
    def was_complete(self) -> bool:
        """Check that the tune has ended."""
        try:
            return bool(json.loads((self.path / RESULT).read_bytes())["complete"])
        except (OSError, ValueError, KeyError, TypeError):
            return False

    @property
    def searched(self) -> list[StageRecords]:
        """Stages before the confirmation."""
        return [each for each in self.stages if each.stage.kind != "confirm"]

    @cached_property
    def known(self) -> Estimates:
        """Estimate of each combination from the search."""
        return Estimates(self.plan.goal, self.plan.bounds, pooled(self.searched))

    @cached_property
    def rows(self) -> list[Row]:
        """Runs of the mix by the goal."""
        return list(rows(self.searched, self.plan.goal.metric))

    @cached_property
    def mixed(self) -> tuple[MixedEffect, ...]:
        """Effect of each candidate in the mix, the best first."""
        return tuple(mixed_effects(self))

    @cached_property
    def confirmation(self) -> Confirmation | None:
        """Confirmation; `None` before it has ended."""
        last = next((each for each in self.stages if each.stage.kind == "confirm"), None)
        if last is None:
            return None
        effects = judged_effects(last.suite, None, figures(last.suite, rising=False))
        return Confirmation(self.plan, last.stage.combinations[0], effects, rise(last.suite))

    @property
    def recommended(self) -> Combination:
        """Combination that is better than the start; empty for the start."""
        return self.confirmation.chosen if self.confirmation and self.confirmation.is_better else ()


def tune_result(tuned: Tuned, *, ended: bool) -> TuneResult:
    """Result of a tune's records."""
    plan, confirmation, recommended = tuned.plan, tuned.confirmation, tuned.recommended
    complete = ended or confirmation is not None
    settings = settings_of(tuned, recommended)
    last_s = max((run.ended_s for each in tuned.stages for run in each.suite.runs), default=None)
    results = [run.result for each in tuned.stages for run in each.suite.counted.values()]
    of_mix = sum(row.value is not None for row in tuned.rows)
    of_search = Findings(
        plan,
        complete,
        tuned.begun,
        why_void(tuned),
        confirmation,
        tuned.mixed,
        of_mix,
        beyond=frozenset(beyond_bounds(tuned)),
        gains_unconfirmed=any(tuned.known.shows_gain(c) for each in tuned.searched for c in each.stage.combinations),
    )
    return TuneResult(
        plan=plan,
        ended_s=last_s,
        wall_time_s=None if last_s is None else last_s - plan.started_s,
        complete=complete,
        stages=tuple(map(_stage, tuned.stages)),
        tried=tuple(tried(tuned)),
        chosen=confirmation.chosen if confirmation else None,
        is_confirmed=confirmation is not None and confirmation.is_confirmed,
        recommended=recommended,
        gain=confirmation.gain if confirmation and recommended else None,
        settings=settings,
        confirmation=tuple(confirmation.effects) if confirmation else (),
        mixed=tuned.mixed,
        is_known=of_search.is_known,
        headline=headline(of_search),
        findings=(*findings(of_search), *disturbed(results)),
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
    """Settings of a combination that has run."""
    name = combination_name(combination)
    stages = (each.stage for each in tuned.stages)
    return next((stage.settings[name] for stage in stages if name in stage.settings), {})


def tried(tuned: Tuned) -> Iterator[Tried]:
    """Every combination that has come to a figure in the search, the best first."""
    known = tuned.known
    ran = dict.fromkeys(combination for each in tuned.searched for combination in each.stage.combinations)
    gains = {combination: gain for combination in ran if (gain := known.log_gain(combination)) is not None}
    for combination in sorted(gains, key=gains.__getitem__, reverse=True):
        effects = (known.on(combination, metric) for metric in tuned.plan.metrics)
        yield Tried(
            combination=combination, settings=settings_of(tuned, combination), effects=tuple(filter(None, effects))
        )


def mixed_effects(tuned: Tuned) -> Iterator[MixedEffect]:
    """Effect of each candidate in the mix, the best first; empty where the runs cannot separate candidates."""
    fit = reported(tuned.rows)
    if fit.errors is None:
        return
    rate = reported(rates) if (rates := rates_of_all(tuned)) else None
    for name in sorted(fit.effects, key=fit.effects.__getitem__, reverse=tuned.plan.goal.more_is_better):
        told = gain_of(fit, name)
        yield MixedEffect(
            candidate=name,
            ratio=told.ratio,
            low=told.low,
            high=told.high,
            runs=sum(name in row.combination for row in tuned.rows if row.value is not None),
            rate=gain_of(rate, name) if rate and name in rate.effects else None,
        )


def rates_of_all(tuned: Tuned) -> list[Row]:
    """Indexing rates of a screening; empty where a run has none: that is a fast one, whose drain was too short."""
    rates = list(rows(tuned.searched, METRICS["rate"])) if tuned.plan.screens else []
    lack = any(rate.value is None and row.value is not None for rate, row in zip(rates, tuned.rows, strict=False))
    return [] if lack else rates


def gain_of(fit: Fit, name: str) -> Gain:
    """Effect of a candidate as a ratio, with its 95 % interval."""
    gain, half = fit.effects[name], fit.half_width(name)
    ends = (None, None) if half is None else (exp(gain - half), exp(gain + half))
    return Gain(ratio=exp(gain), low=ends[0], high=ends[1])


def beyond_bounds(tuned: Tuned) -> Iterator[str]:
    """Candidates that break a bound with all of their interval in the mix."""
    for bound in tuned.plan.bounds:
        fit = reported(rows(tuned.searched, bound.metric))
        for told, name in ((gain_of(fit, name), name) for name in fit.effects):
            if (
                told.low is not None
                and told.high is not None
                and {*map(bound.is_broken, (told.low, told.high))} == {True}
            ):
                yield name


def why_void(tuned: Tuned) -> str | None:
    """Why there is nothing to compare with; `None` where a run that others are compared with is verified."""
    if environment_of(tuned) is not None:
        return None
    if tuned.plan.screens:
        return "no run is verified; the report of stage 1 says why"
    if any(run.variant == START and not run.warm_up for each in tuned.stages for run in each.suite.runs):
        return "no run of the start is verified; the report of stage 1 says why"
    return "the time was over before a run of the start counted; give it more --minutes"


def disturbed(results: Sequence[Result]) -> Iterator[str]:
    """Sentence on the runs from which others took more of the cores than a run may lose, if there are any.

    Those of which it is not known, as in former results of loads without a measured window, are not counted.
    """
    known = [(result, percent) for result in results if (percent := loss_percent(result)) is not None]
    taken = [percent for result, percent in known if disturbance(result)]
    if taken:
        unknown = len(results) - len(known)
        yield (
            f"Other programs or machines took {median(taken):.0f} % of the cores (median) in {len(taken)} of"
            f" {quantity(len(known), 'run')}" + (f"; of {unknown} others it is not known." if unknown else ".")
        )


def loss_percent(result: Result) -> float | None:
    """Share of the usable cores' time that other programs and the hypervisor took from a run."""
    names = ("other_cpu_percent_mean", "machine_steal_percent_mean")
    known = [percent for name in names if (percent := value_of(result.metrics, name)) is not None]
    return sum(known) if known else None


def never_ran(tuned: Tuned) -> Iterator[LeftOut]:
    """Candidates that no run gave a figure of; of a screening, those without an effect, too."""
    of_mix = (row.combination for row in tuned.rows if row.value is not None)
    have_run = set(chain(*(each.combination for each in tried(tuned)), *of_mix))
    told = {each.candidate for each in tuned.mixed} if tuned.plan.screens else have_run
    for name in (each.name for each in tuned.plan.candidates):
        if name not in have_run:
            yield LeftOut(name=name, reason=why_failed(tuned, name))
        elif name not in told:
            yield LeftOut(name=name, reason="too few runs tell its effect from those of others")


def why_failed(tuned: Tuned, candidate: str) -> str:
    """Why a candidate has no figure, by the last of its runs that gives a reason."""
    with_it = {
        combination_name(combination)
        for each in tuned.searched
        for combination in each.stage.combinations
        if candidate in combination
    }
    if any(each.suite.of_variant(variant) for each in tuned.searched for variant in with_it):
        return "its runs have no figure of the goal"
    runs = [run for each in tuned.searched for run in each.suite.runs if run.variant in with_it and run.reason]
    return f"its runs failed: {runs[-1].reason}" if runs else "not reached"


def notes(plan: TunePlan, recommended: Combination, settings: dict[str, JsonValue]) -> Iterator[str]:
    """Notes on side effects of the recommendation and on other places to set it."""
    for candidate in map(plan.candidate, recommended):
        if candidate.note:
            yield f"{candidate.name}: {candidate.note}"
    for key, value in settings.items():
        section, _, name = key.partition(".")
        if section in ELSEWHERE:
            yield f"{key}={json.dumps(value)}: set {name} yourself; neither the index nor the connector has it"


def environment_of(tuned: Tuned) -> Environment | None:
    """Machine and software of the first run that counts: of the start, or, in a screening, of any combination."""
    runs = (run for each in tuned.stages for run in each.suite.counted.values())
    first = next((run for run in runs if tuned.plan.screens or run.run.variant == START), None)
    return None if first is None else first.result.environment
