"""The table at the end of a run."""

from rich.table import Table
from rich.text import Text

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.warnings import shortfall
from lab.analysis.page.books import broken_laws
from lab.analysis.text import UNKNOWN, count, duration, figure
from lab.records.result import Result

ROWS = (
    ("consumed_rate_docs_per_s", ("run",)),
    ("indexing_rate_docs_per_s", ("primaries", "total")),
    ("indexing_latency_ms", ("primaries", "total")),
    ("source_mb_per_s", ("run",)),
    ("entities_per_s", ("run",)),
    ("delivery_rate_docs_per_s", ("run",)),
    ("end_to_end_latency_ms_p50", ("run",)),
    ("end_to_end_latency_ms_p99", ("run",)),
    ("bulk_service_time_ms_p99", ("run",)),
    ("lag_records_max", ("run",)),
    ("drain_s", ("run",)),
)

QUESTION_METRICS = ("query_service_time_ms_p50", "query_service_time_ms_p99", "answers_wrong")


def terminal_table(result: Result) -> Table:
    """Key figures, the books and the verdict, for a terminal of 80 columns."""
    window = result.measured_window
    measured = f"measured window {duration(window.ended_s - window.started_s)}" if window else "no measured window"
    good, short = result.status == "verified", shortfall(result)
    title = " · ".join(part for part in (result.profile, short, measured) if part)
    table = Table(title=title, title_justify="left", show_edge=False)
    table.add_column("metric")
    table.add_column("scope", style="dim")
    table.add_column("value", justify="right")
    named = {(metric.name, metric.scope) for metric in result.metrics}
    for name, scopes in ROWS:
        for scope in scopes:
            if (name, scope) in named:
                _add_metric(table, result, name, scope)
    for metric in result.metrics:
        is_cost = metric.name == "cpu_s_per_million_docs" and metric.value is not None
        if is_cost or metric.name in QUESTION_METRICS:
            _add_metric(table, result, metric.name, metric.scope)
    table.add_section()
    _add_books(table, result)
    table.add_section()
    table.add_row("Limited by", "", result.limited_by.stage if result.limited_by else UNKNOWN)
    style = "bold red" if not good else "bold yellow" if short else "bold green"
    verdict = f"{result.status}, not kept up" if short else result.status
    table.add_row(Text("Verdict", style="bold"), "", Text(verdict, style=style))
    return table


def _add_books(table: Table, result: Result) -> None:
    for name, records in (
        ("Produced", result.documents.produced),
        ("Delivered", result.documents.delivered),
        ("Indexed", result.documents.indexed),
        ("Overwritten", result.documents.already_there),
        ("Dead-lettered", result.documents.dead_lettered),
        ("Dropped", result.documents.dropped or None),
        ("Missing", result.documents.missing),
    ):
        if records is not None:
            table.add_row(name, "documents", count(records))
    for broken in broken_laws(result.verification.ledger):
        table.add_row(Text("Sink's ledger", style="bold red"), "", broken)


def _add_metric(table: Table, result: Result, name: str, scope: str) -> None:
    definition = BY_NAME[name]
    table.add_row(definition.label, scope, figure(value_of(result.metrics, name, scope), definition.unit))
