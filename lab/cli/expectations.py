"""What a run must have reached to pass in CI: bounds of its metrics, no dead letters; and files that say so."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.load_figures import is_measured
from lab.analysis.figures.scopes import default_scope, is_scope_of, scopes_text
from lab.analysis.text import figure
from lab.errors import ProfileError
from lab.profiles.problems import suggestion
from lab.records.result import Result

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
BOUND = re.compile(r"\s*([a-z0-9_]+)(?:/(\S+?))?\s*(>=|<=|>|<)\s*(\d[\d,_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Expectation:
    """A bound of a metric, such as `indexing_rate>5000`.

    Attributes:
        name: Of the metric, in full.
    """

    text: str
    name: str
    scope: str
    comparison: str
    bound: float

    def failure(self, result: Result) -> str | None:
        """Why the run does not hold it; `None` when it does."""
        if not is_measured(result, self.name):
            return f"{self.text}: not measured because the load was too short (load more documents)"
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
    return Expectation(text, meant[0], scope, parts[3], bound)


def failures(result: Result, expectations: Sequence[Expectation], *, no_dead_letters: bool) -> dict[str, str | None]:
    """What was expected → why it is not so, `None` where it is; that the run is verified always is expected."""
    checks: dict[str, str | None] = {
        "verified": None if result.status == "verified" else "; ".join(result.verification.problems)
    }
    if no_dead_letters:
        refused = result.documents.dead_lettered
        checks["no dead letters"] = f"{refused:,} dead letters" if refused else None
    return checks | {each.text: each.failure(result) for each in expectations}


def check_places(**places: Path | None) -> None:
    """Raise ProfileError if a file, by the name of its option, could not be written there."""
    for option, path in places.items():
        if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
            raise ProfileError(f"--{option}: got {path}, expected a file in a folder that exists")


def append_summary(path: Path, text: str) -> None:
    """Add a run's summary to a file, as the steps of a CI job share one.

    Raises:
        ProfileError: It cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ProfileError(f"--summary: {path} cannot be written ({error.strerror})") from error


def write_junit(path: Path, result: Result, checks: dict[str, str | None]) -> None:
    """The checks as a JUnit file.

    Raises:
        ProfileError: It cannot be written.
    """
    failed = sum(failure is not None for failure in checks.values())
    suite = ElementTree.Element(
        "testsuite", name=f"sluice {result.profile}", tests=str(len(checks)), failures=str(failed)
    )
    for name, failure in checks.items():
        case = ElementTree.SubElement(suite, "testcase", classname=result.profile, name=name)
        if failure is not None:
            ElementTree.SubElement(case, "failure", message=failure)
    try:
        path.write_bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")
    except OSError as error:
        raise ProfileError(f"--junit: {path} cannot be written ({error.strerror})") from error
