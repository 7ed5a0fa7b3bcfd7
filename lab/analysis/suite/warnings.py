"""What a reader must know before believing the comparisons of a suite."""

from collections import Counter
from collections.abc import Iterator, Sequence

from lab.analysis.suite.comparisons import Pair, is_detected, metric_of, verdict_of
from lab.analysis.suite.environments import differences
from lab.analysis.suite.folder import CountedRun, SuiteFolder
from lab.analysis.suite.limits import is_driver_limited
from lab.analysis.suite.names import lower_first, metric_label, short_name
from lab.records import RunWarning, WarningKind
from lab.records.suite import Effect, SuitePlan

MOST_NAMED = 6


def warnings(folder: SuiteFolder, pairs: Sequence[Pair], effects: Sequence[Effect]) -> tuple[RunWarning, ...]:
    """Those of the suite as a whole, and how many of its runs warned of what."""
    return (
        *repetition_differs(folder.plan, effects),
        *driver_limited(folder, pairs),
        *environments_differ(folder),
        *runs_failed(folder),
        *of_runs(folder),
    )


def repetition_differs(plan: SuitePlan, effects: Sequence[Effect]) -> Iterator[RunWarning]:
    """The control differs from itself, which only chance or the method can have caused."""
    found = [effect for effect in effects if effect.variant == plan.repetition and is_detected(effect)]
    if not found:
        return
    told = ", ".join(f"{verdict_of(effect)} in {lower_first(metric_label(metric_of(effect)))}" for effect in found)
    yield RunWarning(
        kind=WarningKind.REPETITION_DIFFERS,
        seen=f"the control differs from its own repetition (A/A): {told}",
        likely_cause="chance, in one metric of twenty; or something else changed during the suite: a drift, other"
        " programs, servers that were not warm",
        remedy="do not believe a difference of that size in this suite; look at the drift between blocks, quiet the"
        " machine, and run it again with more repeats",
    )


def driver_limited(folder: SuiteFolder, pairs: Sequence[Pair]) -> Iterator[RunWarning]:
    """Runs at the pace of what drives the load, and the pairs of which both variants are such."""
    driven = [counted for counted in folder.counted.values() if is_driver_limited(counted)]
    if not driven:
        return
    plan = folder.plan
    mostly = {
        variant.name
        for variant in plan.variants
        if 2 * sum(map(is_driver_limited, runs := folder.of_variant(variant.name))) > len(runs)
    }
    both = [f"{short_name(plan, pair[0])} against {short_name(plan, pair[1])}" for pair in pairs if mostly >= set(pair)]
    seen = (
        f"in {len(driven)} of {len(folder.counted)} runs ({_by_variant(plan, driven)}) what drives the load was the"
        " limit (producer, sink, or a machine that these filled)"
    )
    if both:
        seen += f", and in most runs of both variants of: {_named(both)}"
    yield RunWarning(
        kind=WarningKind.DRIVER_LIMITED,
        seen=seen,
        likely_cause="what drives the load needs more than it has; where that is so of both variants, they ran at its"
        " pace and not at that of what they compare",
        remedy="do not read `same` or `undecided` there as Elasticsearch's: give the driver more tasks,"
        " requests in flight or cores, or run it on another machine",
    )


def environments_differ(folder: SuiteFolder) -> Iterator[RunWarning]:
    """Runs that are laid beside each other although they ran on different things."""
    found = differences(folder)
    if found:
        yield RunWarning(
            kind=WarningKind.ENVIRONMENTS_DIFFER,
            seen=f"the runs do not share {_named(found)}",
            likely_cause="the suite was resumed on another machine, or something was installed or changed meanwhile",
            remedy="compare within a block only, or run the suite again as a whole",
        )


def runs_failed(folder: SuiteFolder) -> Iterator[RunWarning]:
    """Runs that were not verified, and what was lost by it."""
    failed = [run for run in folder.runs if run.status != "verified" and not run.warm_up and run.block]
    if not failed:
        return
    lost = sum(run.status != "verified" for run in folder.final.values())
    variants = Counter(short_name(folder.plan, run.variant) for run in failed)
    reason = next((run.reason for run in failed if run.reason), None)
    yield RunWarning(
        kind=WarningKind.RUNS_FAILED,
        seen=f"attempts not verified: {_named([f'{name} {times}' for name, times in variants.most_common()])};"
        f" {lost} of {sum(map(len, folder.plan.order))} planned runs have no figures for it",
        likely_cause=f"the first reason given: {reason}" if reason else "no reason is recorded",
        remedy="a block without one of two variants is dropped from their comparison; mend the cause and run again",
    )


def of_runs(folder: SuiteFolder) -> Iterator[RunWarning]:
    """Each other kind of warning of the runs that count, once, with how many of them gave it."""
    kinds: dict[WarningKind, list[CountedRun]] = {}
    for counted in folder.counted.values():
        for warning in counted.result.warnings:
            kinds.setdefault(warning.kind, []).append(counted)
    for kind, runs in kinds.items():
        if kind == WarningKind.DRIVER_LIMITED:
            continue
        example = next(warning for warning in runs[0].result.warnings if warning.kind == kind)
        where = f"in {len(runs)} of {len(folder.counted)} runs ({_by_variant(folder.plan, runs)})"
        yield example.model_copy(update={"seen": f"{where}; the first of them: {example.seen}"})


def _by_variant(plan: SuitePlan, runs: Sequence[CountedRun]) -> str:
    """How many of the runs are of which variant, in the plan's order."""
    times = Counter(counted.run.variant for counted in runs)
    named = [f"{short_name(plan, variant.name)} {times[variant.name]}" for variant in plan.variants]
    return _named([text for text, variant in zip(named, plan.variants, strict=True) if times[variant.name]])


def _named(things: Sequence[str]) -> str:
    more = len(things) - MOST_NAMED
    return ", ".join(things[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
