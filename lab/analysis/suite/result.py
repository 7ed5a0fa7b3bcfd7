"""Result of a suite, made from its folder alone."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.analysis.folder import write_record
from lab.analysis.statistics.effects import among_comparisons, is_settled
from lab.analysis.suite.comparisons import (
    Pair,
    asked_pairs,
    effects,
    of_pair,
    planned_pairs,
    published_pairs,
    published_steps,
)
from lab.analysis.suite.factors import factor_sentences
from lab.analysis.suite.figures import documents_per_entity, figures
from lab.analysis.suite.folder import CountedRun, SuiteRecords, planned_runs, read_plan, read_suite, runs_left
from lab.analysis.suite.summary import AT_ONCE, summary
from lab.analysis.suite.warnings import warnings
from lab.profiles.files import REPOSITORY
from lab.profiles.published import Published, load_published
from lab.records.suite import NO_LIMIT, Effect, SuiteResult, VariantLimit, VariantMetric

SAME_COUNT = 0.01
"""Variants whose documents per entity differ by less count alike."""


def analyse_suite(folder: Path, *, root: Path = REPOSITORY) -> SuiteResult:
    """Compute the result of a suite and write it into its folder as `suite.json`; runs to come are left out.

    Args:
        folder: `runs/suites/<suite>/<suite-id>`.
        root: The folder that holds experiments/published.

    Raises:
        ProfileError: The folder is not a suite's, or the published figures cannot be read.
    """
    suite = read_suite(folder)
    published = load_published(suite.plan.published, root) if suite.plan.published else None
    result = suite_result(suite, published)
    write_record(folder / "suite.json", result)
    return result


def suite_result(suite: SuiteRecords, published: Published | None) -> SuiteResult:
    """Result of a suite; a comparison that only the source draws is judged as one of all."""
    plan = suite.plan
    pairs, by_variant = planned_pairs(plan), figures(suite, rising=False)
    compared = judged_effects(suite, published, by_variant)
    steps = published_steps(plan, published, pairs, compared)
    in_short = tuple(published.in_short) if published else ()
    if published and plan.rate and published.in_short_at_a_rate:
        in_short = tuple(published.in_short_at_a_rate)
    ended_s = max(run.ended_s for run in suite.runs)
    of_control_first = [*suite.of_variant(plan.control), *suite.counted.values()]
    result = SuiteResult(
        plan=plan,
        ended_s=ended_s,
        wall_time_s=ended_s - plan.started_s,
        complete=is_complete(suite),
        runs=suite.runs,
        figures=by_variant,
        effects=compared,
        published=steps,
        in_short=in_short,
        caveats=(f"Measured on {published.measured_on}.", *published.caveats) if published else (),
        limits=tuple(_limit(v.name, runs) for v in plan.variants if (runs := suite.of_variant(v.name))),
        headline=AT_ONCE if plan.duets else "",
        warnings=warnings(suite, compared),
        environment=of_control_first[0].result.environment if of_control_first else None,
    )
    answer = summary(result, counted_unlike(suite, pairs))
    return result.model_copy(update={"answer": answer, "factors": factor_sentences(result)})


def is_complete(suite: SuiteRecords) -> bool:
    """Check that nothing is left to be run: of a limited time, no run that has not ended, though it was to be repeated.

    A run is repeated where there is time for it.
    """
    if suite.plan.minutes is not None:
        return all(cell in suite.final for cell in planned_runs(suite.plan))
    return not runs_left(suite.plan, suite.runs)


def judged_effects(
    suite: SuiteRecords, published: Published | None, figures: Sequence[VariantMetric], *, to_come: int = 0
) -> tuple[Effect, ...]:
    """Effects of the plan's pairs on all metrics, and of the source's on the metrics that it states, judged as one.

    Args:
        to_come: Comparisons of parts that have not begun.
    """
    plan = suite.plan
    pairs, ended = planned_pairs(plan), {(block, variant) for block, variant, _ in suite.final}
    stated = {(step.metric, step.scope) for step in (published.comparisons if published else ())}
    drawn = effects(plan, published_pairs(plan, published, pairs), figures, ended)
    of_the_source = (effect for effect in drawn if effect.key in stated)
    alone = (*effects(plan, pairs, figures, ended), *of_the_source)
    return among_comparisons(alone, repetition=plan.repetition, to_come=to_come)


def comparisons_under_way(folder: Path, *, root: Path = REPOSITORY) -> tuple[Effect, ...]:
    """Effects so far of a suite under way, one for each comparison, as its report will have them.

    Each is asked by the first of the suite's metrics that it has: an append has no query time. That of the control with
    itself (A/A) asks for no runs of its own, unless the suite compares nothing else. One without any ratio so far,
    because runs fail, is given up.
    """
    suite = read_suite(folder)
    plan = suite.plan
    asking = asked_pairs(plan)
    begun = {plan.variant(names[0]).part for names in plan.order}
    to_come = sum(plan.variant(pair[0]).part not in begun for pair in asking)
    published = load_published(plan.published, root) if plan.published else None
    judged = judged_effects(suite, published, figures(suite), to_come=to_come)
    by_pair = ([effect for metric in plan.metrics if (effect := of_pair(judged, pair, metric))] for pair in asking)
    first = (next((effect for effect in effects if effect.ratios), None) for effects in by_pair)
    return tuple(filter(None, first))


def comparisons_too_wide(folder: Path, *, root: Path = REPOSITORY) -> tuple[Pair, ...]:
    """Comparisons whose intervals are not yet narrow enough."""
    under_way, precision = comparisons_under_way(folder, root=root), read_plan(folder).precision or 0.0
    return tuple((effect.variant, effect.against) for effect in under_way if not is_settled(effect, precision))


def counted_unlike(suite: SuiteRecords, pairs: Iterable[Pair]) -> dict[Pair, tuple[float, float]]:
    """Documents per entity of both variants, for the pairs of which one makes more documents of the same entities."""
    unlike = {}
    for pair in pairs:
        ours, theirs = (documents_per_entity(suite, name) for name in pair)
        if ours is not None and theirs is not None and abs(ours / theirs - 1) > SAME_COUNT:
            unlike[pair] = (ours, theirs)
    return unlike


def _limit(variant: str, runs: list[CountedRun]) -> VariantLimit:
    """The stage that had no slack, and in how many runs of a variant, with the evidence of the last of the most."""
    limits = [run.result.limited_by for run in runs]
    stages = Counter(limit.stage if limit else NO_LIMIT for limit in limits)
    most = stages.most_common(1)[0][0]
    evidence = next((limit for limit in reversed(limits) if limit and limit.stage == most), None)
    return VariantLimit(variant=variant, limits=dict(stages.most_common()), evidence=evidence)
