"""What a run must have reached to pass in CI: bounds of its metrics, no dead letters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.load_figures import is_measured, why_no_window
from lab.analysis.figures.scopes import default_scope, is_scope_of, scopes_text
from lab.analysis.text import figure
from lab.cli.ci_files import CHECKS
from lab.errors import ExpectationError, ProfileError, SluiceError, VerificationError
from lab.profiles.problems import suggestion
from lab.records.result import Result
from lab.run.abort import COMPARISONS, COUNTS, RATES, Condition

BOUND = re.compile(
    r"\s*([a-z0-9_]+)(?:/(\S+?))?\s*(>=|<=|>|<)\s*((?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?)"
    r"\s*(?:[x×*]?\s*(baseline|control))?\s*",
    re.IGNORECASE,
)
NEAR = 0.01
"""Of a bound: farther from it no figure is rounded to it."""
ExpectOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT",
        help="Exit status 5 unless METRIC or METRIC/SCOPE meets it: indexing_rate>5000, rss_bytes_max/connect<1e9,"
        " indexing_rate>=0.95 baseline; in a suite or race: cpu_s<=1.1 control.",
        rich_help_panel=CHECKS,
    ),
]
AbortOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT",
        help="End the run with exit status 5 as soon as this is so while it loads: rejected>100, indexing_rate<1000.",
        rich_help_panel=CHECKS,
    ),
]


@dataclass(frozen=True)
class Expectation:
    """A bound of a metric, such as `indexing_rate>5000`.

    Attributes:
        name: Of the metric, in full.
        beside: What the bound is a ratio to; `None` for a bound of the figure itself.
    """

    text: str
    name: str
    scope: str
    comparison: str
    bound: float
    beside: Literal["baseline", "control"] | None = None

    def failure(self, result: Result) -> str | None:
        """Why the run does not hold it; `None` when it does."""
        if not is_measured(result, self.name):
            why = why_no_window(result)
            return f"{self.text}: not measured because {why}{' (load more documents)' if 'little' in why else ''}"
        value = value_of(result.metrics, self.name, self.scope)
        if value is None:
            return f"{self.text}: not measured"
        if COMPARISONS[self.comparison](value, self.bound):
            return None
        # Rounded, 4,998 would be told as the 5,000 that it misses.
        exact = f" ({value:,.12g})" if abs(value - self.bound) <= NEAR * abs(self.bound) else ""
        return f"{self.text}: it was {figure(value, BY_NAME[self.name].unit)}{exact}"

    def judged(self, ratio: float, low: float, high: float) -> tuple[str | None, str | None]:
        """Why a ratio does not hold the bound, and why that cannot be told; `None` both where it holds.

        A bound is missed where the whole interval lies beyond it, and held where the whole interval does not.
        """
        holds = [COMPARISONS[self.comparison](end, self.bound) for end in (low, high)]
        # Rounded, 0.9498 would be told as the 0.95 that it misses.
        digits = 6 if any(abs(end - self.bound) < NEAR * self.bound for end in (low, high)) else 3
        was = f"the ratio was {ratio:.3f} ({low:.{digits}f} to {high:.{digits}f})"
        if all(holds):
            return None, None
        return (None, was) if any(holds) else (f"{self.text}: {was}", None)


def expectation(text: str) -> Expectation:
    """A bound as it is typed; the beginning of a metric's name is enough where only one begins so.

    Raises:
        ProfileError: It is none, or its metric is not known, or no value of the metric has that scope.
    """
    parts = BOUND.fullmatch(text)
    if parts is None:
        raise ProfileError(
            f"--expect: got {text}, expected METRIC>NUMBER, such as indexing_rate>5000 or drain_s<=1.05 baseline"
        )
    name = full_name("--expect", parts[1].lower(), BY_NAME, "one of the metrics in docs/metrics.md")
    scope = parts[2] or default_scope(name)
    if scope is None or not is_scope_of(name, scope):
        raise ProfileError(f"--expect: got {text}, expected {name}/SCOPE, where SCOPE is {scopes_text(name)}")
    bound = float(re.sub("[,_]", "", parts[4]))
    beside: Literal["baseline", "control"] | None = None
    if parts[5]:
        beside = "baseline" if parts[5].lower() == "baseline" else "control"
    return Expectation(text, name, scope, parts[3], bound, beside)


def condition(text: str) -> Condition:
    """A condition of `--abort-on` as it is typed; the beginning of a figure's name is enough where one begins so.

    Raises:
        ProfileError: It is none, or its figure is not known while a run loads.
    """
    parts = BOUND.fullmatch(text)
    if parts is None or parts[5] is not None:
        raise ProfileError(f"--abort-on: got {text}, expected FIGURE>NUMBER, such as rejected>100")
    if parts[2]:
        raise ProfileError(f"--abort-on: got {text}, expected a figure without a scope: that of the largest is judged")
    known = [*COUNTS, *RATES]
    name = full_name("--abort-on", parts[1].lower(), known, "one of these")
    return Condition(text.strip(), name, parts[3], float(re.sub("[,_]", "", parts[4])))


def full_name(option: str, name: str, known: Iterable[str], otherwise: str) -> str:
    """The known name that is meant: by its beginning, where only one begins so.

    Raises:
        ProfileError: None begins so, or several.
    """
    names = list(known)
    meant = [name] if name in names else [each for each in names if each.startswith(name)]
    if len(meant) != 1:
        told = ", ".join(meant) if meant else suggestion(name, names, otherwise)
        raise ProfileError(f'{option}: {"several metrics begin with" if meant else "unknown metric"} "{name}": {told}')
    return meant[0]


def failures(result: Result, expectations: Sequence[Expectation], *, no_dead_letters: bool) -> dict[str, str | None]:
    """What was expected → why it is not so, `None` where it is; that the run is verified always is expected."""
    checks: dict[str, str | None] = {
        "verified": None if result.status == "verified" else "; ".join(result.verification.problems)
    }
    if no_dead_letters:
        refused = result.documents.dead_lettered
        checks["no dead letters"] = f"{refused:,} dead letters" if refused else None
    return checks | {each.text: each.failure(result) for each in expectations if each.beside is None}


def ending_of(checks: Mapping[str, str | None], *, what: str = "run") -> SluiceError | None:
    """How a run, or what else it is, ends of which that was expected; `None` for well."""
    if (problems := checks["verified"]) is not None:
        return VerificationError(f"this run is void: {problems}")
    if unmet := [failure for failure in checks.values() if failure]:
        return ExpectationError(f"the {what} is verified, but not as expected: {'; '.join(unmet)}")
    return None
