"""`sluice compare`: two runs or two suites beside each other, as far as their inputs allow it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from lab.analysis.compare import Comparison, Row, Side, compare, control_text, difference_text, side
from lab.analysis.figures.definitions import label_of
from lab.analysis.result import RunAnalysis, analyse
from lab.analysis.statistics.effects import verdict_text
from lab.analysis.suite.folder import last_attempts
from lab.analysis.text import UNKNOWN, figure, quantity
from lab.cli import complete
from lab.cli.options import RUNS, JsonOption, RunsOption
from lab.cli.rally import is_summary, lay_beside
from lab.console import console, print_json
from lab.errors import ProfileError
from lab.profiles.problems import suggestion
from lab.run.folder import LATEST, find_run
from lab.suite.folder import SuiteFolder, find_suite

Pairs = list[tuple[Side, Side]]


def compare_runs(
    first: Annotated[
        str,
        typer.Argument(
            help="Run (id, profile or folder), suite, or Rally report (.csv, .md, .json).",
            autocompletion=complete.runs,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            help="The run or suite to compare it with: the same kind as the first.", autocompletion=complete.runs
        ),
    ],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Show ratios, marked with !, even where inputs differ.")
    ] = False,
    vary: Annotated[
        list[str] | None,
        typer.Option(metavar="INPUT", help="An input that differs on purpose, by its name in the output."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All metrics, not only the key figures.")] = False,
    runs: RunsOption = RUNS,
    as_json: JsonOption = False,
) -> int:
    """Compare two runs, two suites, or two Rally reports. What cannot be compared is listed and skipped."""
    if is_summary(first) or is_summary(second):
        if force or vary or every or as_json:
            raise ProfileError("--force, --vary, --all, --json: cannot be combined with a Rally report")
        lay_beside(runs, first, second)
        return 0
    chosen = frozenset(vary or ())
    pairs = sides(runs, first, second)
    check_inputs(pairs, chosen)
    comparisons = [
        compare(one, two, vary=chosen, force=force, judged=None if every else KEY_FIGURES) for one, two in pairs
    ]
    for comparison in comparisons:
        show(comparison, every=every)
    if as_json:
        print_json([facts_of(comparison) for comparison in comparisons])
    if not any(comparison.comparable for comparison in comparisons):
        raise ProfileError(refusal(first, second, comparisons))
    return 0


def sides(runs: Path, first: str, second: str) -> Pairs:
    """The two runs, or each variant that both suites have.

    Raises:
        ProfileError: There is no such run or suite, one is a run and the other a suite, or they share no variant.
    """
    suites = [suite_or_none(runs, name) for name in (first, second)]
    one, two = suites
    if one is None and two is None:
        one_run, two_run = (analyse(find_run(runs, name)) for name in (first, second))
        refuse_itself(first, second, one_run.folder.path, two_run.folder.path)
        return [(side(first, [one_run]), side(second, [two_run]))]
    if one is None or two is None:
        run, suite = (first, second) if one is None else (second, first)
        raise ProfileError(f"{run} and {suite}: got a run and a suite, expected two of a kind")
    refuse_itself(first, second, one.path, two.path)
    variants = [dict(variants_of(folder)) for folder in (one, two)]
    shared = [name for name in variants[0] if name in variants[1]]
    if not shared:
        raise ProfileError(f"{first} and {second}: the two suites have no variant in common")
    return [(variants[0][name], variants[1][name]) for name in shared]


def refuse_itself(first: str, second: str, one: Path, two: Path) -> None:
    """Raise ProfileError if the two names are of one folder."""
    if one.resolve() == two.resolve():
        raise ProfileError(f"{first} and {second}: got {one.name} twice, expected two different runs or suites")


def suite_or_none(runs: Path, name: str) -> SuiteFolder | None:
    """The suite of that name; `None` where there is none, or for `latest`, and it must be a run."""
    try:
        return None if name == LATEST else find_suite(runs, name)
    except ProfileError:
        return None


def variants_of(folder: SuiteFolder) -> Iterator[tuple[str, Side]]:
    """Each variant of a suite with the runs that count for it, and the control's beside them."""
    plan = folder.plan()
    counted = [run for run in last_attempts(folder.runs()).values() if run.status == "verified" and run.folder]
    by_variant: dict[str, list[tuple[int, RunAnalysis]]] = defaultdict(list)
    for run in sorted(counted, key=lambda run: run.block):
        by_variant[run.variant].append((run.block, analyse(folder.path / str(run.folder))))
    controls = dict(by_variant[plan.control])
    control = side(f"{folder.path.name} {plan.control}", list(controls.values())) if controls else None
    for variant in plan.variants:
        mine = by_variant[variant.name]
        if not mine:
            continue
        made = side(f"{folder.path.name} {variant.name}", [run for _, run in mine])
        if variant.name in {plan.control, plan.repetition}:
            yield variant.name, made
        else:
            beside = tuple(controls[block].result.metrics if block in controls else () for block, _ in mine)
            starts = tuple(plan.start_of(block) for block, _ in mine)
            yield variant.name, replace(made, control=control, beside=beside, starts=starts)


def check_inputs(pairs: Pairs, vary: frozenset[str]) -> None:
    """Raise ProfileError if an input that may vary is unknown; what is compared anyway may be named as well."""
    inputs = sorted({name for pair in pairs for one in pair for name in one.inputs})
    tried = {name for pair in pairs for one in pair for name in one.tried}
    for name in sorted(vary - set(inputs) - tried):
        raise ProfileError(f'--vary: unknown input "{name}", {suggestion(name, inputs, "one of the inputs")}')


def refusal(first: str, second: str, comparisons: list[Comparison]) -> str:
    """Why nothing was compared."""
    names = dict.fromkeys(name for comparison in comparisons for name in comparison.differing)
    if not names:
        return f"{first} and {second}: cannot be compared: no metric is known for both"
    return (
        f"{first} and {second}: cannot be compared, because their inputs differ: {', '.join(names)}; run both with "
        "the same inputs, name intended differences with --vary, or see the ratios anyway with --force"
    )


def show(comparison: Comparison, *, every: bool) -> None:
    """One comparison, with what differs before the figures and what they cannot say after them."""
    for place, of in (("first", comparison.first), ("second", comparison.second)):
        console.print(f"{place}: [bold]{escape(of.label)}[/bold]", soft_wrap=True)
    for name, pair in comparison.differing.items():
        console.print(f"[yellow]![/yellow] {escape(difference_text(name, pair))}", soft_wrap=True)
    for name, pair in comparison.compared.items():
        console.print(f"  compared: {escape(difference_text(name, pair))}", soft_wrap=True)
    show_contents(comparison)
    if not comparison.comparable:
        return
    rows = shown_rows(comparison, every=every)
    console.print(metrics_table(rows, has_verdicts=any(row.difference for row in rows)))
    if any(row.differing for row in rows):
        console.print("!: not comparable, since the inputs marked above differ")
    show_warnings(comparison, rows)
    if len(comparison.compared) > 1:
        console.print("more than one setting differs: an effect cannot be attributed to one of them")
    show_footer(comparison, rows)


def show_footer(comparison: Comparison, rows: Sequence[Row]) -> None:
    """What the ratios of the table are of, and why those without a verdict have none."""
    why = control_text(comparison.first, comparison.second)
    if not any(row.difference for row in rows):
        console.print(f"no verdict: {why or AT_OTHER_TIMES}")
        return
    console.print(
        "Ratios with a verdict are those of each variant ÷ its suite's control, start by start of the servers: what"
        " the machine did between the two suites is in both. The verdicts of a table hold together at 95 % (Holm)."
    )
    if any(is_of_variants_alone(row) for row in rows):
        console.print(f"Without a verdict ({UNKNOWN}) a ratio is of the two variants alone: {why}.")


def is_of_variants_alone(row: Row) -> bool:
    """Check that a ratio is not one beside the controls."""
    return row.ratio is not None and row.difference is None and not row.differing


def shown_rows(comparison: Comparison, *, every: bool) -> list[Row]:
    """The key figures that either side knows, each once; or all that they know."""
    return [
        row
        for row in comparison.rows
        if (every or row.name in KEY_FIGURES) and (row.first is not None or row.second is not None)
        if every or not repeats(row, comparison.rows)
    ]


def show_contents(comparison: Comparison) -> None:
    """The first fields in which two mappings of one name differ, and files of which nothing tells that."""
    for name, pair in list(comparison.fields.items())[:MOST_FIELDS]:
        console.print(f"    field {escape(difference_text(name, pair))}", soft_wrap=True)
    if (more := len(comparison.fields) - MOST_FIELDS) > 0:
        console.print(f"    and {quantity(more, 'more field')}; --json has all")
    for key in comparison.not_recorded:
        console.print(
            f"[yellow]![/yellow] {key}.content: not recorded by an older run; it may be another file of that name",
            soft_wrap=True,
        )


def show_warnings(comparison: Comparison, rows: Sequence[Row]) -> None:
    """What either side warns of, which a reader must know before believing a ratio."""
    if any(row.warned and row.ratio is not None for row in rows):
        console.print("*: a warning of one of the two is about this figure")
    for place, of in (("first", comparison.first), ("second", comparison.second)):
        for warning in of.warnings:
            text = f"{place}: {warning.kind.heading}: {warning.seen}; {warning.remedy}"
            console.print(f"[yellow]![/yellow] {escape(text)}")


AT_OTHER_TIMES = (
    "the two were measured at different times, and nothing tells what changed meanwhile; run both in one suite, or in"
    " two beside the same control, each with runs in three starts or more"
)
MOST_FIELDS = 8
TWINS = {"total": "primaries", "elasticsearch": "elasticsearch-1"}
"""Scope by scope: the one that is the same without replicas, or with a single node."""


def repeats(row: Row, rows: Sequence[Row]) -> bool:
    """Whether both figures stand in another row already: all shards where there are no replicas, a single node."""
    twin = (
        ("indexing_rate_docs_per_s", "primaries") if row.name == "entities_per_s" else (row.name, TWINS.get(row.scope))
    )
    return any((other.name, other.scope, other.first, other.second) == (*twin, row.first, row.second) for other in rows)


def facts_of(comparison: Comparison) -> dict[str, object]:
    """A comparison for other programs: all metrics, without a verdict of those that are not judged."""
    return {
        "first": comparison.first.label,
        "second": comparison.second.label,
        "differing": comparison.differing,
        "compared": comparison.compared,
        "fields": comparison.fields,
        "not_recorded": comparison.not_recorded,
        "rows": [
            {name: getattr(row, name) for name in ROW_FACTS}
            | {"verdict": None if row.difference and row.verdict == "too few runs" else row.verdict}
            | {"differing": list(row.differing), "warned": list(row.warned)}
            for row in comparison.rows
        ],
        "warnings": {
            place: [warning.model_dump(mode="json") for warning in of.warnings]
            for place, of in (("first", comparison.first), ("second", comparison.second))
        },
    }


ROW_FACTS = ("name", "scope", "unit", "first", "second", "ratio", "low", "high")


def metrics_table(rows: Iterable[Row], *, has_verdicts: bool) -> Table:
    """A line for each metric in 80 columns; where runs were repeated, a verdict with its interval besides."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in FIGURES else "left", no_wrap=column in FIGURES)
    if has_verdicts:
        table.add_column("verdict")
    for row in rows:
        label = label_of(row.name)
        ratio = UNKNOWN if row.ratio is None else f"{row.ratio:.2f}"
        verdict = "" if row.ratio is None else verdict_text(row.verdict, row.ratio, row.low, row.high)
        verdict = UNKNOWN if is_of_variants_alone(row) else verdict
        cells = (
            escape(label),
            escape(row.scope),
            figure(row.first, row.unit),
            figure(row.second, row.unit),
            f"{ratio} !" if row.differing else f"{ratio} *" if row.warned and row.ratio is not None else ratio,
        )
        table.add_row(*cells, *([verdict if not row.differing else ""] if has_verdicts else []))
    return table


FIGURES = ("first", "second", "ratio")
COLUMNS = ("metric", "scope", *FIGURES)
KEY_FIGURES = frozenset(
    {
        "indexing_rate_docs_per_s",
        "indexing_latency_ms",
        "source_mb_per_s",
        "entities_per_s",
        "end_to_end_latency_ms_p99",
        "bulk_service_time_ms_p99",
        "cpu_s_per_million_docs",
        "drain_s",
        "store_size_bytes",
    }
)
