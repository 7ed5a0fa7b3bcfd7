"""Checks of a suite in CI: bounds of ratios to its control or a baseline, and the files that tell how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from lab.analysis.report_page.markdown import check_lines, plain_line
from lab.analysis.suite.summary import TOO_FEW
from lab.analysis.suite.tables import suite_markdown
from lab.cli.baseline import Baseline, against_baseline
from lab.cli.ci_files import Checks, CiFiles, Timing, junit_file, print_undecided
from lab.cli.expectations import Expectation, ending_of, expectation
from lab.errors import ProfileError
from lab.records.suite import SuitePlan, SuiteResult, Variant
from lab.run.abort import Condition
from lab.suite.folder import SuiteFolder


def ratios_expected(texts: Sequence[str], beside: Sequence[str] = ("control", "baseline")) -> tuple[Expectation, ...]:
    """Bounds of ratios to the control or to a baseline.

    Args:
        beside: What the command has ratios to.

    Raises:
        ProfileError: One is a bound of something else: a suite compares its variants, each of which has its own figure.
    """
    expectations = tuple(expectation(text) for text in texts)
    for each in expectations:
        if each.beside not in beside:
            wanted = " or ".join(f"{each.name}{each.comparison}NUMBER {other}" for other in beside)
            raise ProfileError(f"--expect: got {each.text}, expected a bound of a ratio: {wanted}")
    return expectations


@dataclass(frozen=True)
class SuiteChecks:
    """Files, bounds and conditions that a command line asks for beside a suite."""

    files: CiFiles = field(default_factory=CiFiles)
    expectations: tuple[Expectation, ...] = ()
    baseline: Baseline | None = None
    abort_on: tuple[Condition, ...] = ()

    def refuse_uncompared(self, plan: SuitePlan) -> None:
        """Raise ProfileError if a ratio to the control is expected of a figure that the plan does not compare."""
        compared = {(metric.name, metric.scope) for metric in plan.metrics}
        for each in self.expectations:
            if each.beside == "control" and (each.name, each.scope) not in compared:
                known = ", ".join(f"{name}/{scope}" for name, scope in sorted(compared))
                raise ProfileError(f"--expect: got {each.text}, expected a figure that {plan.suite} compares: {known}")

    def checked(self, folder: SuiteFolder, result: SuiteResult) -> int:
        """Judge the ratios of an analysed suite, to its control and to the baseline, and write the files.

        Raises:
            ExpectationError: A bound is missed.
        """
        checks, table = Checks({}), ""
        unverified = [variant.name for variant in result.plan.variants if variant.name not in result.verified]
        if self.baseline:
            controls = {result.plan.control, result.plan.repetition}
            others = [name for name in sorted(result.verified) if name not in controls]
            checks, table = against_baseline(self.baseline, folder.path, self.expectations, unverified, others)
        checks = against_control(self.expectations, result) | checks
        # Others may have no run that is.
        failures = {"control verified": None, **checks.failures}
        plan, lines = result.plan, "\n".join(check_lines(failures, checks.undecided))
        ended_s = result.ended_s or plan.started_s
        properties = {"suite": plan.suite_id, "runs": str(len(result.runs))}
        timing = Timing(
            plan.started_s, ended_s, properties | {f"label.{name}": value for name, value in plan.labels.items()}
        )
        ending = self.files.write(
            ending_of({"verified": None, **checks.failures}, what="suite"),
            lambda: junit_file(plan.suite, failures, undecided=checks.undecided, timing=timing),
            lambda: f"## {plain_line(plan.suite)}\n\n{suite_markdown(result).removeprefix('# ')}\n{lines}\n\n{table}",
        )
        if ending:
            raise ending
        return 0


def against_control(expectations: Sequence[Expectation], result: SuiteResult) -> Checks:
    """What is expected of the ratio of each variant to the control, and what nothing tells, which is printed."""
    decided, undecided = dict[str, str | None](), dict[str, str]()
    variants = [each for each in result.plan.variants if each.name not in (result.plan.control, result.plan.repetition)]
    for wanted, variant in product((each for each in expectations if each.beside == "control"), variants):
        text = f"{wanted.text} ({variant.name})"
        failure, why = judged(wanted, variant, result)
        if why is None:
            decided[text] = failure and f"{variant.name}: {failure}"
        else:
            undecided[text] = why
    print_undecided(undecided)
    return Checks(decided, undecided)


def judged(wanted: Expectation, variant: Variant, result: SuiteResult) -> tuple[str | None, str | None]:
    """Why the ratio to the control does not hold a bound, and why that cannot be told; `None` both where it holds."""
    if variant.against != result.plan.control:
        return None, "it is not compared with the control"
    of_pair = (wanted.name, wanted.scope, variant.name, variant.against)
    for effect in result.effects:
        if (effect.metric, effect.scope, effect.variant, effect.against) != of_pair or effect.ratio is None:
            continue
        if effect.verdict == TOO_FEW:
            return None, f"the ratio was {effect.ratio:.3f}, of too few runs"
        if effect.low is None or effect.high is None:
            return None, f"the ratio was {effect.ratio:.3f} in every block, which leaves no interval"
        if effect.verdict == "undecided" and not effect.low <= 1 <= effect.high:
            return None, f"the ratio was {effect.ratio:.3f}, and blocks that were lost might undo it"
        return wanted.judged(effect.ratio, effect.low, effect.high)
    return None, "not measured in both" if variant.name in result.verified else "no run of it is verified"
