"""What a run must have reached to pass in CI: bounds of its metrics, no dead letters."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.load_figures import is_measured, why_no_window
from lab.analysis.figures.scopes import default_scope, is_scope_of, scopes_text
from lab.analysis.text import figure
from lab.cli.ci_files import CHECKS
from lab.errors import ExpectationError, ProfileError, SluiceError, VerificationError
from lab.profiles.problems import suggestion
from lab.records.result import Result

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
BOUND = re.compile(
    r"\s*([a-z0-9_]+)(?:/(\S+?))?\s*(>=|<=|>|<)\s*(\d[\d,_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([x×*]?\s*baseline)?\s*",
    re.IGNORECASE,
)
ExpectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT",
        help="Exit status 5 unless METRIC or METRIC/SCOPE meets it: indexing_rate>5000, rss_bytes_max/connect<1e9,"
        " indexing_rate>=0.95 baseline.",
        rich_help_panel=CHECKS,
    ),
]


@dataclass(frozen=True)
class Expectation:
    """A bound of a metric, such as `indexing_rate>5000`.

    Attributes:
        name: Of the metric, in full.
        of_baseline: The bound is one of the ratio to a baseline.
    """

    text: str
    name: str
    scope: str
    comparison: str
    bound: float
    of_baseline: bool = False

    def failure(self, result: Result) -> str | None:
        """Why the run does not hold it; `None` when it does."""
        if not is_measured(result, self.name):
            why = why_no_window(result)
            return f"{self.text}: not measured because {why}{' (load more documents)' if 'short' in why else ''}"
        value = value_of(result.metrics, self.name, self.scope)
        if value is None:
            return f"{self.text}: not measured"
        if COMPARISONS[self.comparison](value, self.bound):
            return None
        return f"{self.text}: it was {figure(value, BY_NAME[self.name].unit)}"


def expectation(text: str) -> Expectation:
    """A bound as it is typed; the beginning of a metric's name is enough where only one begins so.

    Raises:
        ProfileError: It is none, or its metric is not known, or no value of the metric has that scope.
    """
    parts = BOUND.fullmatch(text)
    if parts is None:
        raise ProfileError(f"--expect: got {text}, expected METRIC>NUMBER, such as indexing_rate>5000")
    name = parts[1].lower()
    meant = [name] if name in BY_NAME else [known for known in BY_NAME if known.startswith(name)]
    if len(meant) != 1:
        known = ", ".join(meant) if meant else suggestion(name, BY_NAME, "one of the metrics in docs/metrics.md")
        raise ProfileError(f'--expect: {"several metrics begin with" if meant else "unknown metric"} "{name}": {known}')
    scope = parts[2] or default_scope(meant[0])
    if scope is None or not is_scope_of(meant[0], scope):
        raise ProfileError(f"--expect: got {text}, expected {meant[0]}/SCOPE, where SCOPE is {scopes_text(meant[0])}")
    bound = float(re.sub("[,_]", "", parts[4]))
    return Expectation(text, meant[0], scope, parts[3], bound, of_baseline=parts[5] is not None)


def failures(result: Result, expectations: Sequence[Expectation], *, no_dead_letters: bool) -> dict[str, str | None]:
    """What was expected → why it is not so, `None` where it is; that the run is verified always is expected."""
    checks: dict[str, str | None] = {
        "verified": None if result.status == "verified" else "; ".join(result.verification.problems)
    }
    if no_dead_letters:
        refused = result.documents.dead_lettered
        checks["no dead letters"] = f"{refused:,} dead letters" if refused else None
    return checks | {each.text: each.failure(result) for each in expectations if not each.of_baseline}


def ending_of(checks: Mapping[str, str | None]) -> SluiceError | None:
    """How a run ends of which that was expected; `None` for well."""
    if (problems := checks["verified"]) is not None:
        return VerificationError(f"this run is void: {problems}")
    if unmet := [failure for failure in checks.values() if failure]:
        return ExpectationError(f"the run is verified, but not as expected: {'; '.join(unmet)}")
    return None
