"""What a suite says, made from its folder alone."""

import json
from pathlib import Path

from lab.analysis.statistics.effects import among_comparisons
from lab.analysis.suite.agreement import published_pairs, published_steps
from lab.analysis.suite.comparisons import Pair, effects, planned_pairs
from lab.analysis.suite.counting import Counting, counting
from lab.analysis.suite.figures import compared_metrics, figures
from lab.analysis.suite.folder import SuiteFolder, read_suite
from lab.analysis.suite.limits import variant_limits
from lab.analysis.suite.warnings import warnings
from lab.analysis.suite.words import Findings, answer, conclusions
from lab.profiles.files import REPOSITORY
from lab.profiles.published import Published, load_published
from lab.records import Environment
from lab.records.suite import SuitePlan, SuiteResult, repeats_text


def analyse_suite(folder: Path, *, root: Path = REPOSITORY) -> SuiteResult:
    """What the suite says, written into its folder as `suite.json`; runs that are still to come are left out.

    Args:
        folder: `runs/suites/<suite>/<suite-id>`.
        root: The folder that holds experiments/published.

    Raises:
        ProfileError: The folder is not a suite's, or the published figures cannot be read.
    """
    read = read_suite(folder)
    published = load_published(read.plan.published, root) if read.plan.published else None
    result = suite_result(read, published)
    text = json.dumps(result.model_dump(mode="json"), ensure_ascii=False, indent=2)
    (folder / "suite.json").write_text(text + "\n", "utf-8")
    return result


def suite_result(folder: SuiteFolder, published: Published | None) -> SuiteResult:
    """What the suite says; comparisons that only the source draws are judged by themselves."""
    plan = folder.plan
    pairs = planned_pairs(plan)
    found = figures(folder)
    asked = compared_metrics(plan)
    ours = among_comparisons(effects(plan, pairs, asked, found), repetition=plan.repetition)
    compared = (*ours, *effects(plan, published_pairs(plan, published, pairs), asked, found))
    steps = published_steps(plan, published, pairs, compared)
    findings = Findings(plan, repeats_text(plan, folder.runs), pairs, compared, steps, _countings(folder, pairs))
    ended_s = max((run.ended_s for run in folder.runs), default=None)
    return SuiteResult(
        plan=plan,
        ended_s=ended_s,
        wall_time_s=None if ended_s is None else ended_s - plan.started_s,
        complete=folder.is_complete,
        runs=folder.runs,
        figures=found,
        effects=compared,
        published=steps,
        caveats=(f"Measured on {published.measured_on}.", *published.caveats) if published else (),
        limits=variant_limits(folder),
        answer=answer(findings),
        conclusions=conclusions(findings),
        warnings=warnings(folder, pairs, compared),
        environment=_environment(folder, plan),
    )


def _countings(folder: SuiteFolder, pairs: tuple[Pair, ...]) -> list[Counting]:
    return [found for pair in pairs if (found := counting(folder, pair)) is not None]


def _environment(folder: SuiteFolder, plan: SuitePlan) -> Environment | None:
    """The control's, or that of the first run that counts."""
    runs = [*folder.of_variant(plan.control), *folder.counted.values()]
    return runs[0].result.environment if runs else None
