"""A suite beside its page: `suite.csv` for statistics programs, `suite.md` for a note, a table for the terminal."""

import csv
import io
import shlex
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lab.analysis.report_page.markdown import machine_text, markdown_table, plain_line
from lab.analysis.suite.comparison_table import Row, head_and_cells, of_few_runs, rows
from lab.analysis.suite.figures import compared_metrics, unit_of, value_in
from lab.analysis.suite.folder import SuiteRecords
from lab.analysis.suite.names import (
    SIGNS,
    limit_text,
    lower_first,
    metric_label,
    published_text,
    short_name,
    suite_title,
)
from lab.analysis.suite.scope_table import HEAD as SCOPE_HEAD
from lab.analysis.suite.scope_table import (
    KEY,
    MetricScopes,
    metrics_with_scopes,
    scope_names,
    scopes_label,
    scopes_of,
    table_texts,
)
from lab.analysis.suite.scope_table import lines as scope_lines
from lab.analysis.text import duration
from lab.records.suite import MetricKey, SuiteResult, SuiteRun

STYLES = {"faster": "green", "slower": "red", "higher": "blue", "lower": "blue", "control": "bold"}
MOST_SCOPES, LONGEST_CELL = 7, 7
"""Beside each other in 80 columns, with room for the names of the variants."""


# --- suite.csv ------------------------------------------------------------------------------------------------------


def suite_csv(suite: SuiteRecords) -> str:
    """One row for each run and metric, in the order in which the runs ended; no value for a run that does not count."""
    rows = [row for run in suite.runs for row in _csv_rows(suite, run)]
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return text.getvalue()


def _csv_rows(suite: SuiteRecords, run: SuiteRun) -> Iterator[dict[str, object]]:
    counted = suite.counted.get(run.cell)
    results = [counted.result] if counted is not None and counted.run == run else []
    against = next((variant.against for variant in suite.plan.variants if variant.name == run.variant), None)
    for metric in compared_metrics(suite.plan):
        yield {
            "suite_id": suite.plan.suite_id,
            "block": run.block,
            "variant": run.variant,
            "against": against,
            "turn": run.turn,
            "attempt": run.attempt,
            "status": run.status,
            "warm_up": str(run.warm_up).lower(),
            "counted": str(bool(results)).lower(),
            "started_s": run.started_s,
            "ended_s": run.ended_s,
            "folder": run.folder,
            "metric": metric.name,
            "scope": metric.scope,
            "unit": unit_of(results, metric),
            "value": value_in(results[0].metrics, metric) if results else None,
        }


# --- suite.md -------------------------------------------------------------------------------------------------------


def suite_markdown(result: SuiteResult) -> str:
    """Answer, tables, warnings, what limited the variants, and how to run it again."""
    plan = result.plan
    lines = [f"# {plain_line(suite_title(plan, result.figures))}", "", plain_line(plan.question), ""]
    lines += [*([plain_line(result.headline), ""] if result.headline else []), f"**{plain_line(result.answer)}**", ""]
    lines += [*(f"- {plain_line(text)}" for text in result.factors), *([""] if result.factors else [])]
    lines += [f"{plain_line(text)}.", ""] if (text := limit_text(plan)) else []
    for scopes in metrics_with_scopes(plan.metrics):
        texts = table_texts(scope_names(scopes), scope_lines(result, scopes))
        lines += [f"## {scopes_label(scopes)}", "", f"Ratios: {KEY}.", "", *markdown_table(*texts), ""]
    for metric in plan.metrics:
        if scopes_of(plan.metrics, metric) is None:
            lines += [f"## {metric_label(metric)}", "", *markdown_table(*head_and_cells(rows(result, metric))), ""]
    if result.warnings:
        lines += ["## Warnings", "", *_warnings(result), ""]
    lines += ["## What limited each variant", "", *_limits(result), ""]
    lines += ["## Where, and how to run it again", "", *_where(result)]
    return "\n".join(lines) + "\n"


def _warnings(result: SuiteResult) -> Iterator[str]:
    for warning in result.warnings:
        name = warning.kind.heading
        yield (
            f"- **{name}**: {plain_line(warning.seen)}. Likely cause: {plain_line(warning.likely_cause)}."
            f" What to do: {plain_line(warning.remedy)}."
        )


def _limits(result: SuiteResult) -> Iterator[str]:
    for limit in result.limits:
        stages = ", ".join(f"{stage} ({runs})" for stage, runs in limit.limits.items())
        yield f"- {plain_line(short_name(result.plan, limit.variant))}: {stages}"


def _where(result: SuiteResult) -> Iterator[str]:
    plan, environment = result.plan, result.environment
    if environment is not None:
        yield machine_text(environment)
    ended = "" if result.complete else " The suite is not finished."
    yield f"{result.repeats}, seed {plan.seed}, {duration(result.wall_time_s)}.{ended}"
    yield ""
    yield f"    {shlex.join(plan.command or ('./sluice', 'suite', plan.suite))}"


# --- the terminal ---------------------------------------------------------------------------------------------------


def suite_table(result: SuiteResult, metric: MetricKey | None = None) -> Table | Group:
    """The comparisons of a metric, or of the one that matters most, for a terminal of 80 columns."""
    scopes = scopes_of(result.plan.metrics, result.plan.metrics[0])
    if metric is None and scopes is not None:
        return scopes_group(result, scopes)
    metric = metric or result.plan.metrics[0]
    table = Table(
        title=f"{suite_title(result.plan, result.figures)} · {lower_first(metric_label(metric))} · {result.repeats}",
        title_justify="left",
        show_edge=False,
        pad_edge=False,
    )
    table.add_column("variant ÷ against", overflow="fold")
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("verdict (interval)", no_wrap=True)
    shown = [row for row in rows(result, metric) if row.is_planned]
    if any(row.published for row in shown):
        table.add_column("published", no_wrap=True)
        table.caption = "published: ✓ same direction, ✗ opposite, = no change, ± both ways, ? ours claims none"
        if any(row.published and row.published.confounded for row in shown):
            table.caption += ", † confounded"
        table.caption_justify = "left"
    for row in shown:
        table.add_row(*_cells(row)[: len(table.columns)])
    return table


def scopes_group(result: SuiteResult, scopes: MetricScopes) -> Group:
    """The comparisons by the scopes of a metric, such as the questions of a query load; many in several tables."""
    title = f"{suite_title(result.plan, result.figures)} · {lower_first(scopes_label(scopes))} · {result.repeats}"
    key = Text(f"{KEY}; green: faster, red: slower", "dim")
    parts = [scopes[first : first + MOST_SCOPES] for first in range(0, len(scopes), MOST_SCOPES)]
    names = scope_names(scopes)
    return Group(
        Text(title, "italic"),
        *(_scopes_table(result, part, names[i * MOST_SCOPES :]) for i, part in enumerate(parts)),
        key,
    )


def _scopes_table(result: SuiteResult, scopes: MetricScopes, names: Sequence[str]) -> Table:
    table = Table(show_edge=False, pad_edge=False, box=SIMPLE_HEAD, padding=0)
    table.add_column(SCOPE_HEAD, overflow="fold", ratio=1)
    for name, _ in zip(names, scopes, strict=False):
        table.add_column(name.replace("-", "-\n"), justify="right", overflow="fold", width=LONGEST_CELL)
    for line in scope_lines(result, scopes):
        cells = [Text(cell.marked, STYLES.get(cell.kind, "dim")) for cell in line.cells]
        table.add_row(Text(line.name), *cells)
    return table


def _cells(row: Row) -> tuple[Text, ...]:
    name = "A/A: control twice" if row.is_check else f"{row.variant} ÷ {row.against}".removesuffix(" ÷ ")
    step = row.published
    sign = "†" if step and step.confounded else SIGNS.get(step.agreement, "?") if step else ""
    source = f"{published_text(step)} {sign}".rstrip() if step else ""
    median = row.texts[2].partition(" [")[0] + (of_few_runs(row.figure) if row.figure else "")
    return (Text(name), Text(median), Text(row.verdict_text, STYLES.get(row.verdict, "dim")), Text(source))
