"""Checks of a suite in CI: bounds of its ratios to a baseline, and the files that tell how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.analysis.report_page.markdown import check_lines, plain_line
from lab.analysis.suite.tables import suite_markdown
from lab.cli.baseline import Baseline, against_baseline
from lab.cli.ci_files import Checks, CiFiles, Timing, junit_file
from lab.cli.expectations import Expectation, ending_of, expectation
from lab.errors import ProfileError
from lab.records.suite import SuiteResult
from lab.run.abort import Condition
from lab.suite.folder import SuiteFolder


def ratios_expected(texts: Sequence[str]) -> tuple[Expectation, ...]:
    """Bounds of ratios to a baseline.

    Raises:
        ProfileError: One is a bound of a figure: a suite compares its variants, each of which has its own.
    """
    expectations = tuple(expectation(text) for text in texts)
    for each in expectations:
        if not each.of_baseline:
            raise ProfileError(
                f"--expect: got {each.text}, expected {each.name}{each.comparison}NUMBER baseline: of a suite, bounds"
                " are those of ratios to a baseline"
            )
    return expectations


@dataclass(frozen=True)
class SuiteChecks:
    """Files, bounds and conditions that a command line asks for beside a suite."""

    files: CiFiles = field(default_factory=CiFiles)
    expectations: tuple[Expectation, ...] = ()
    baseline: Baseline | None = None
    abort_on: tuple[Condition, ...] = ()

    def checked(self, folder: SuiteFolder, result: SuiteResult) -> int:
        """Compare an analysed suite with the baseline and write the files.

        Raises:
            ExpectationError: A bound is missed.
        """
        checks, table = Checks({}), ""
        unverified = [variant.name for variant in result.plan.variants if variant.name not in result.verified]
        if self.baseline:
            controls = {result.plan.control, result.plan.repetition}
            others = [name for name in sorted(result.verified) if name not in controls]
            checks, table = against_baseline(self.baseline, folder.path, self.expectations, unverified, others)
        # Others may have no run that is.
        failures = {"control verified": None, **checks.failures}
        plan, lines = result.plan, "\n".join(check_lines(failures, checks.undecided))
        ended_s = result.ended_s or plan.started_s
        properties = {"suite": plan.suite_id, "runs": str(len(result.runs))}
        timing = Timing(
            plan.started_s, ended_s, properties | {f"label.{name}": value for name, value in plan.labels.items()}
        )
        ending = self.files.write(
            ending_of({"verified": None, **checks.failures}),
            lambda: junit_file(plan.suite, failures, undecided=checks.undecided, timing=timing),
            lambda: f"## {plain_line(plan.suite)}\n\n{suite_markdown(result).removeprefix('# ')}\n{lines}\n\n{table}",
        )
        if ending:
            raise ending
        return 0
