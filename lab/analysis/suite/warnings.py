"""Warnings of a suite, to read before its comparisons."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lab.analysis.contents import contents_of
from lab.analysis.figures.windows import RISE_S, WARM_UP_S
from lab.analysis.statistics.effects import change_text
from lab.analysis.suite.comparisons import differs_from_itself
from lab.analysis.suite.figures import rise
from lab.analysis.suite.folder import CountedRun, SuiteRecords, planned_runs
from lab.analysis.suite.names import short_name
from lab.analysis.text import bytes_text
from lab.records.run import RunWarning, WarningKind
from lab.records.suite import Effect, SuitePlan

MOST_NAMED = 6


def warnings(suite: SuiteRecords, effects: Sequence[Effect]) -> tuple[RunWarning, ...]:
    """Warnings of the suite as a whole, and for each kind the number of runs with that warning."""
    return (
        *_repetition_differs(suite.plan, effects),
        *_rates_rise(suite),
        *_environments_differ(suite),
        *_runs_failed(suite),
        *_of_runs(suite),
    )


def _repetition_differs(plan: SuitePlan, effects: Sequence[Effect]) -> Iterator[RunWarning]:
    """The control shows a difference from itself."""
    if seen := differs_from_itself(plan, effects):
        yield RunWarning(
            kind=WarningKind.REPETITION_DIFFERS,
            seen=seen,
            likely_cause="chance (one metric in twenty), or something changed during the suite: a drift, other"
            " programs, cold servers",
            remedy="distrust differences of that size in this suite; check the drift between blocks, stop other"
            " programs, and run it again with more repeats",
        )


def _rates_rise(suite: SuiteRecords) -> Iterator[RunWarning]:
    """Rates still rose in the measured part of drains, of which fast variants then have less than slow ones."""
    rose = rise(suite)
    if rose is not None:
        yield RunWarning(
            kind=WarningKind.RATES_RISE,
            seen=f"after {WARM_UP_S:g} s of warm-up the rates of drains still rose, by {change_text(rose)[1:]} within"
            f" {RISE_S / 2:g} s; no rates of documents are compared",
            likely_cause="servers that were not yet warm, or a connector that starts slowly",
            remedy="compare CPU per document; for rates, give the suite more minutes: it then warms servers longer",
        )


def _runs_failed(suite: SuiteRecords) -> Iterator[RunWarning]:
    """Runs that were not verified, and what was lost by it."""
    failed = [run for run in suite.runs if run.status != "verified" and not run.warm_up and run.block]
    if not failed:
        return
    lost = sum(run.status != "verified" for run in suite.final.values())
    variants = Counter(short_name(suite.plan, run.variant) for run in failed)
    reason = next((run.reason for run in failed if run.reason), None)
    yield RunWarning(
        kind=WarningKind.RUNS_FAILED,
        seen=f"attempts not verified: {_named([f'{name} {times}' for name, times in variants.most_common()])};"
        f" {lost} of {len(planned_runs(suite.plan))} planned runs without figures",
        likely_cause=f"the first reason given: {reason}" if reason else "no reason is recorded",
        remedy="comparisons drop the blocks that lack a run; fix the cause and run the suite again"
        if lost
        else "each was repeated well, so that no comparison drops a block for it; fix the cause before another suite",
    )


def _of_runs(suite: SuiteRecords) -> Iterator[RunWarning]:
    """Each kind of warning of the runs that count, once, with how many of them gave it."""
    counted = list(suite.counted.values())
    examples: dict[WarningKind, RunWarning] = {}
    for run in counted:
        for warning in run.result.warnings:
            examples.setdefault(warning.kind, warning)
    for kind, example in examples.items():
        where = _in_runs(suite, [run for run in counted if any(each.kind == kind for each in run.result.warnings)])
        yield example.model_copy(update={"seen": f"{where}; the first of them: {example.seen}"})


def _in_runs(suite: SuiteRecords, runs: Sequence[CountedRun]) -> str:
    """`in 3 of 9 runs (control 1, static 2)`, in the plan's order."""
    times = Counter(run.run.variant for run in runs)
    names = [variant.name for variant in suite.plan.variants if times[variant.name]]
    by_variant = _named([f"{short_name(suite.plan, name)} {times[name]}" for name in names])
    return f"in {len(runs)} of {len(suite.counted)} runs ({by_variant})"


def _named(things: Sequence[str]) -> str:
    more = len(things) - MOST_NAMED
    return ", ".join(things[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


# --- what the runs should have in common ----------------------------------------------------------------------------


def _environments_differ(suite: SuiteRecords) -> Iterator[RunWarning]:
    """Machine and Sluice should be those of all runs, servers and documents those of all runs of a variant."""
    differences = list(_differences("", suite.counted.values(), _machine))
    for variant in suite.plan.variants:
        differences += _differences(f"{variant.name}: ", suite.of_variant(variant.name), _servers_and_documents)
    if differences:
        yield RunWarning(
            kind=WarningKind.ENVIRONMENTS_DIFFER,
            seen=f"the runs differ in {_named(differences)}",
            likely_cause="the suite was resumed on another machine, or software was installed or changed meanwhile",
            remedy="compare within a block only, or run the whole suite again",
        )


def _differences(
    where: str, runs: Iterable[CountedRun], facts_of: Callable[[CountedRun], Mapping[str, object]]
) -> Iterator[str]:
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in facts_of(run).items():
            values.setdefault(name, set()).add(str(value))
    for name, distinct in values.items():
        if len(distinct) > 1:
            yield f"{where}{name}: {' and '.join(sorted(distinct))}"


def _machine(run: CountedRun) -> Mapping[str, object]:
    environment = run.result.environment
    return {
        "machine": environment.machine,
        "CPU model": environment.cpu_model,
        "CPU cores": environment.cpu_cores,
        "memory": bytes_text(environment.memory_bytes),
        "kernel": environment.kernel,
        "target": environment.target,
        "Python": environment.python_version,
        "Sluice": environment.sluice_version,
        "commit of Sluice": environment.git_commit,
    }


def _servers_and_documents(run: CountedRun) -> Mapping[str, object]:
    environment = run.result.environment
    return {
        "documents": run.result.documents.produced,
        "cluster settings": environment.cluster_settings or "none",
        **{f"content of {key}": content for key, content in contents_of(environment).items()},
        **{f"version of {server.name}": server.release for server in environment.servers},
        **{f"Java for {name}": version for name, version in environment.java_versions.items()},
    }
