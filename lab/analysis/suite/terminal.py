"""The table at the end of a suite."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from lab.analysis.suite.comparison_rows import Row, rows
from lab.analysis.suite.comparisons import may_be_chance
from lab.analysis.suite.names import lower_first, metric_label, ratio_text
from lab.records.suite import MetricAsked, SuiteResult

STYLES = {"faster": "green", "slower": "red", "higher": "blue", "lower": "blue", "control": "bold"}
SHORT = {"no difference detectable": "none detectable"}
DOUBT = "may be chance"
SIGNS = {"same direction": "✓", "opposite": "✗", "not detectable": "?", "not measured": ""}


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
    table.add_column("ratio [95 %]", no_wrap=True)
    table.add_column("difference", no_wrap=True)
    shown = [row for row in rows(result, metric) if row.is_planned]
    if any(row.published for row in shown):
        table.add_column("published", no_wrap=True)
    table.caption = "\n".join(_legend(shown)) or None
    table.caption_justify = "left"
    for row in shown:
        table.add_row(*_cells(row)[: len(table.columns)])
    return table


def _legend(shown: list[Row]) -> Iterator[str]:
    if any(row.published for row in shown):
        yield "published: ✓ same direction, ✗ opposite, ? ours shows no difference"
    if any(may_be_chance(row.effect) for row in shown):
        yield f"{DOUBT}: a difference by itself, none among so many"


def _cells(row: Row) -> tuple[Text, ...]:
    _, _, spread, ratio, *_ = row.texts
    name = "A/A: control ÷ control" if row.is_check else f"{row.variant} ÷ {row.against}".removesuffix(" ÷ ")
    step = row.published
    said = f"{ratio_text(step.published_ratio)} {SIGNS[step.agreement]}".rstrip() if step else ""
    median = spread.partition(" [")[0]
    verdict = DOUBT if may_be_chance(row.effect) else SHORT.get(row.verdict, row.verdict)
    shown = Text(verdict, STYLES.get(row.verdict, "dim"))
    return (Text(name), Text(median), Text(ratio), shown, Text(said))
