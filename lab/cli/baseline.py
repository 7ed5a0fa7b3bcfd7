"""`--baseline`: a run or suite beside the last verified one of a name, and what is expected of their ratios."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from lab.analysis.compare import Comparison, Row, compare, control_text, difference_text, side
from lab.analysis.figures.definitions import label_of
from lab.analysis.report_page.markdown import markdown_table, plain_line
from lab.analysis.result import analyse
from lab.analysis.statistics.effects import verdict_text
from lab.analysis.text import UNKNOWN, figure
from lab.cli.ci_files import CHECKS, Checks, print_undecided
from lab.cli.compare import KEY_FIGURES, check_inputs, show, shown_rows, sides
from lab.cli.expectations import Expectation
from lab.errors import ProfileError
from lab.records.marks import BASELINE
from lab.run.folder import SUITES

BaselineOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Compare with the last verified one whose label is baseline=NAME, or with the one in this folder.",
        rich_help_panel=CHECKS,
    ),
]
BaselineOptionalOption = Annotated[
    bool,
    typer.Option(
        "--baseline-optional", help="Go on where there is no baseline yet, as in a first job.", rich_help_panel=CHECKS
    ),
]
VaryOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="INPUT",
        help="An input in which the baseline may differ, by its name in `compare`.",
        rich_help_panel=CHECKS,
    ),
]
OF_ANOTHER_COMMIT = "commit"
"""The input in which a branch and its baseline differ by nature."""
NO_INTERVAL = (
    "it has no interval, since nothing tells what else has changed between the two; variants of suites have one beside"
    " the same control, each suite with runs in three starts or more (`--starts 3`, and the time for them)"
)


@dataclass(frozen=True)
class Baseline:
    """The run or suite that another one is compared with.

    Attributes:
        path: Its folder; `None` where there is none yet.
        vary: Inputs in which the two may differ.
    """

    name: str
    path: Path | None
    vary: frozenset[str] = frozenset({OF_ANOTHER_COMMIT})

    def comparisons(self, folder: Path, judged: Collection[str]) -> list[Comparison]:
        """The baseline beside the run or suite in a folder: one comparison, or one for each variant of both.

        Raises:
            ProfileError: They share no variant.
        """
        if self.path is None:
            return []
        pairs = sides(folder, str(self.path), str(folder))
        # A path of this machine means nothing in a pull request.
        names = {str(path): path.name for path in (self.path, folder)}
        named = [tuple(replace(each, label=names.get(each.label, each.label)) for each in pair) for pair in pairs]
        return [compare(one, two, vary=self.vary, judged=judged) for one, two in named]


def baseline_of(
    name: str | None, candidates: Path, *, optional: bool, vary: Sequence[str], expectations: Sequence[Expectation]
) -> Baseline | None:
    """The baseline of a command line, before anything is started; `None` where it asks for none.

    Args:
        candidates: Folder of all runs of the profile, or of all runs of the suite.

    Raises:
        ProfileError: There is none of that name and it is not optional, an option needs one, or `vary` names no input.
    """
    if name is None:
        needing = ["--baseline-optional"] * optional + ["--vary"] * bool(vary)
        needing += [f"--expect: {each.text}" for each in expectations if each.beside == "baseline"]
        if needing:
            raise ProfileError(f"{needing[0]}: got no baseline, expected --baseline NAME beside it")
        return None
    record = "plan.json" if candidates.parent.name == SUITES else "run.json"
    path = Path(name) if (Path(name) / record).is_file() else newest(candidates, name)
    if path == Path(name) and labels_of(path) is None:
        raise ProfileError(f"--baseline: {name}: is void or has no result; expected a verified run or suite")
    if path is None and not optional:
        raise ProfileError(
            f"--baseline: got {name}, expected a verified run or suite in {candidates} with label {BASELINE}={name};"
            " give one that label (--label, ./sluice label), or add --baseline-optional where there may be none yet"
        )
    one = next(path.glob("**/run.json"), None) if path and vary else None
    if one is not None:
        known = side(name, [analyse(one.parent)])
        check_inputs([(known, known)], frozenset(vary))
    shown = path.name if path == Path(name) else name
    return Baseline(shown, path, frozenset({OF_ANOTHER_COMMIT, *vary}))


def newest(candidates: Path, name: str) -> Path | None:
    """The folder of the last verified run, or suite, with the label `baseline=name`."""
    folders = sorted(candidates.glob("*"), reverse=True)
    return next((folder for folder in folders if (labels_of(folder) or {}).get(BASELINE) == name), None)


def labels_of(folder: Path) -> dict[str, str] | None:
    """Labels of a verified run or suite; `None` for any other folder."""
    for name in ("result.json", "suite.json"):
        try:
            record: dict[str, Any] = orjson.loads((folder / name).read_bytes())
            labels: dict[str, str] = record.get("labels") or record.get("plan", {}).get("labels") or {}
            if is_verified(record):
                return labels
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            # Of a run that is being written, or of another version, nothing is told.
            continue
    return None


def is_verified(record: Mapping[str, Any]) -> bool:
    """Check a result for a verified run, or for one of the control of a suite."""
    if "status" in record:
        return bool(record["status"] == "verified")
    of_control = (run for run in record["runs"] if run["variant"] == record["plan"]["control"])
    return any(run["status"] == "verified" and not run.get("warm_up") for run in of_control)


def against_baseline(
    baseline: Baseline,
    folder: Path,
    expectations: Sequence[Expectation],
    unverified: Collection[str] = (),
    verified: Collection[str] = (),
) -> tuple[Checks, str]:
    """Compare a run or suite with its baseline, and print both.

    Args:
        unverified: Variants of the suite of which no run is verified, so that nothing tells their ratios.
        verified: Its other variants beside the control, of which the baseline may have no run.

    Returns:
        Expectations of the ratios, and the comparison as Markdown.
    """
    wanted = [each for each in expectations if each.beside == "baseline"]
    comparisons, why_none = [], f"there is no baseline {baseline.name} yet"
    try:
        comparisons = baseline.comparisons(folder, KEY_FIGURES | {each.name for each in wanted})
    except ProfileError as error:
        why_none = str(error)
    for comparison in comparisons:
        show(comparison, every=False)
    decided: dict[str, str | None] = {}
    undecided = {} if comparisons else {each.text: why_none for each in wanted} or {"baseline": why_none}
    # Of suites, only variants beside the same control have intervals; the control itself never has.
    telling = [comparison for comparison in comparisons if comparison.second.control] or comparisons
    for each, comparison in product(wanted, telling):
        name = each.text if len(telling) == 1 else f"{each.text} ({comparison.second.label})"
        failure, why = judged(each, comparison)
        if why is None:
            decided[name] = failure
        else:
            undecided[name] = why
    undecided |= {f"{each.text} ({name})": "no run of it is verified" for each, name in product(wanted, unverified)}
    compared = {comparison.second.label for comparison in comparisons}
    alone = [name for name in verified if comparisons and f"{folder.name} {name}" not in compared]
    undecided |= {f"{each.text} ({name})": "the baseline has no run of it" for each, name in product(wanted, alone)}
    print_undecided(undecided)
    return Checks(decided, undecided), "\n".join(_markdown(baseline.name, comparisons, why_none)) + "\n"


def judged(wanted: Expectation, comparison: Comparison) -> tuple[str | None, str | None]:
    """Why the ratio to the baseline does not hold a bound, and why that cannot be told; `None` both where it holds."""
    row = next((row for row in comparison.rows if (row.name, row.scope) == (wanted.name, wanted.scope)), None)
    if row is None or row.ratio is None:
        if differing := ", ".join(row.differing if row else comparison.differing):
            return None, f"inputs differ: {differing}"
        if row is None or row.first is None or row.second is None:
            return None, "not measured in both"
        return None, f"no ratio: it was {figure(row.second, row.unit)}, and {figure(row.first, row.unit)} before"
    if row.low is None or row.high is None:
        is_alone = row.difference is None
        why = why_no_interval(comparison) if is_alone else "it has no interval, since it was the same in every start"
        return None, f"the ratio was {row.ratio:.3f}, and {why}"
    return wanted.judged(row.ratio, row.low, row.high)


def why_no_interval(comparison: Comparison) -> str:
    """Clause on a ratio that is not one beside the controls, with what would give it an interval if anything would."""
    why = control_text(comparison.first, comparison.second)
    return f"it has no interval, since {why}" if why else NO_INTERVAL


def _markdown(name: str, comparisons: Sequence[Comparison], why_none: str) -> Iterator[str]:
    """Tables for a pull request: figure, baseline, now, ratio with its interval, verdict."""
    yield from (f"### Beside the baseline {plain_line(name)}", "")
    if not comparisons:
        yield from (plain_line(why_none), "")
    for comparison in comparisons:
        yield from (f"{plain_line(comparison.second.label)}, beside {plain_line(comparison.first.label)}", "")
        rows = shown_rows(comparison, every=False)
        yield from markdown_table(("figure", "baseline", "now", "ratio", "verdict"), map(_cells, rows))
        yield ""
        differences = {**comparison.differing, **comparison.compared}
        yield from (f"- differs: {plain_line(difference_text(*pair))}" for pair in differences.items())
        if any(row.warned for row in rows if row.ratio is not None):
            yield "- †: a warning of one of the two is about this figure."
        if not comparison.has_verdicts:
            yield f"- no verdict on a ratio: {why_no_interval(comparison)}."
        yield ""


def _cells(row: Row) -> tuple[str, ...]:
    label = label_of(row.name)
    interval = "" if row.low is None or row.high is None else f" ({row.low:.2f} to {row.high:.2f})"
    ratio = UNKNOWN if row.ratio is None else f"{row.ratio:.2f}{interval}{' †' if row.warned else ''}"
    verdict = UNKNOWN
    if row.ratio is not None and row.difference is not None:
        verdict = verdict_text(row.verdict, row.ratio, row.low, row.high)
    return (f"{label} ({row.scope})", figure(row.first, row.unit), figure(row.second, row.unit), ratio, verdict)
