"""The table at the end of a suite."""

from rich.table import Table
from rich.text import Text

from lab.analysis.suite.comparison_rows import Row, rows
from lab.analysis.suite.names import lower_first, metric_label, published_text
from lab.records.suite import MetricAsked, SuiteResult

STYLES = {"faster": "green", "slower": "red", "higher": "blue", "lower": "blue", "control": "bold"}
SIGNS = {"same direction": "✓", "opposite": "✗", "published as no change": "=", "not measured": ""}


def suite_table(result: SuiteResult, asked: MetricAsked | None = None) -> Table:
    """The comparisons of a metric, or of the one that matters most, for a terminal of 80 columns."""
    metric = asked or result.plan.metrics[0]
    table = Table(
        title=f"{result.plan.suite} · {lower_first(metric_label(metric))} · {result.repeats}",
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
        table.caption = "published: ✓ same direction, ✗ opposite, = no change, ? ours claims none"
        table.caption_justify = "left"
    for row in shown:
        table.add_row(*_cells(row)[: len(table.columns)])
    return table


def _cells(row: Row) -> tuple[Text, ...]:
    name = "A/A: control twice" if row.is_check else f"{row.variant} ÷ {row.against}".removesuffix(" ÷ ")
    step = row.published
    said = f"{published_text(step)} {SIGNS.get(step.agreement, '?')}".rstrip() if step else ""
    median = row.texts[2].partition(" [")[0]
    shown = Text(row.verdict_text, STYLES.get(row.verdict, "dim"))
    return (Text(name), Text(median), shown, Text(said))
