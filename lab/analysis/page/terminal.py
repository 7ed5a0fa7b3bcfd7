"""The table at the end of a run."""

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lab.analysis.figures.definitions import BY_NAME, value_of
from lab.analysis.figures.warnings import shortfall
from lab.analysis.page.books import broken_laws
from lab.analysis.page.sections import IF_KNOWN
from lab.analysis.text import UNKNOWN, count, duration, figure
from lab.records.result import Result

DEPLOYMENT_TIMES = ("before", "while", "after")

ROWS = (
    ("consumed_rate_docs_per_s", ("run",)),
    ("indexing_rate_docs_per_s", ("primaries", "total")),
    ("indexing_latency_ms", ("primaries", "total")),
    ("index_finish_spread_percent", ("run",)),
    ("indexing_fairness", ("run",)),
    ("source_mb_per_s", ("run",)),
    ("entities_per_s", ("run",)),
    ("delivery_rate_docs_per_s", ("run",)),
    ("end_to_end_latency_ms_p50", ("run",)),
    ("end_to_end_latency_ms_p99", ("run",)),
    ("bulk_service_time_ms_p99", ("run",)),
    ("lag_records_max", ("run",)),
    ("drain_s", ("run",)),
    ("query_rate_per_s", ("run",)),
    ("query_latency_ms_p50", ("run",)),
    ("query_latency_ms_p99", ("run",)),
    ("query_service_time_ms_p50", ("run",)),
    ("query_service_time_ms_p99", ("run",)),
    ("search_rate_per_s", ("primaries", "total")),
    ("search_latency_ms", ("primaries", "total")),
    ("clients_busy_mean", ("run",)),
    ("request_cache_hit_share", ("run",)),
    ("data_to_cache_ratio", ("run",)),
    ("knee_rate_per_s", ("run",)),
    ("deployment_s", ("run",)),
    ("deployment_bytes", ("run",)),
    ("deployment_bytes_per_s", ("run",)),
    ("deployment_bytes_from_index_node", ("run",)),
    ("query_latency_ms_p99", DEPLOYMENT_TIMES),
    ("query_service_time_ms_p99", DEPLOYMENT_TIMES),
)

COSTS = ("cpu_s_per_million_docs", "machine_steal_percent_mean", "other_cpu_percent_mean", "index_finish_s")
QUESTION_METRICS = ("query_service_time_ms_p50", "query_service_time_ms_p99", "answers_wrong")


def terminal_table(result: Result) -> Group:
    """Key figures, the books and the verdict, and the questions of a query load, for a terminal of 80 columns."""
    of_load = load_questions(result)
    figures = _key_figures(result, of_load)
    return Group(query_table(result, of_load), "", figures) if of_load else Group(figures)


def load_questions(result: Result) -> list[str]:
    """The questions of a query load; empty where there was none."""
    return [metric.scope for metric in result.metrics if metric.name == "query_requests" and metric.scope != "run"]


def other_engine(result: Result) -> list[str]:
    """The servers under test, where they are not Elasticsearch."""
    return sorted({server.release for server in result.environment.servers if server.product})


def query_table(result: Result, questions: Sequence[str]) -> Table:
    """A row for each question of a query load."""
    stem = "query_latency_ms" if _has(result, "query_latency_ms_p50") else "query_service_time_ms"
    name = "latency" if stem == "query_latency_ms" else "service time (closed loop)"
    table = Table(
        title=" · ".join((result.profile, *other_engine(result), name)),
        title_justify="left",
        show_edge=False,
        pad_edge=False,
        box=SIMPLE_HEAD,
        padding=0,
    )
    table.add_column("question", overflow="fold")
    for head in ("rate", "median", "p99", "longest", "took", "errors", "wrong"):
        table.add_column(head, justify="right", no_wrap=True)
    for question in questions:
        table.add_row(question, *_query_cells(result, stem, question))
    return table


def _query_cells(result: Result, stem: str, question: str) -> Iterator[Text]:
    for name in ("query_rate_per_s", f"{stem}_p50", f"{stem}_p99", f"{stem}_max", "query_took_ms_p50"):
        yield Text(figure(value_of(result.metrics, name, question), BY_NAME[name].unit))
    for name in ("query_errors", "answers_wrong"):
        value = value_of(result.metrics, name, question)
        yield Text(count(value), style="red" if value else "")


def _has(result: Result, name: str) -> bool:
    return any(metric.name == name for metric in result.metrics)


def _key_figures(result: Result, of_load: Sequence[str]) -> Table:
    window = result.measured_window
    measured = f"measured window {duration(window.ended_s - window.started_s)}" if window else "no measured window"
    good, short = result.status == "verified", shortfall(result)
    title = " · ".join(part for part in (result.profile, *other_engine(result), short, measured) if part)
    table = Table(title=title, title_justify="left", show_edge=False)
    table.add_column("metric")
    table.add_column("scope", style="dim")
    table.add_column("value", justify="right")
    named = {(metric.name, metric.scope) for metric in result.metrics}
    for name, scopes in ROWS:
        for scope in scopes:
            if (name, scope) in named and not (name in IF_KNOWN and value_of(result.metrics, name, scope) is None):
                _add_metric(table, result, name, scope)
    for metric in result.metrics:
        # The sender is there under its own name, too; `sender` is for suites that compare one with another.
        is_cost = metric.name in COSTS and metric.value is not None and metric.scope != "sender"
        is_asked = metric.name in QUESTION_METRICS and metric.scope not in {*of_load, "run"}
        if is_cost or is_asked:
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
