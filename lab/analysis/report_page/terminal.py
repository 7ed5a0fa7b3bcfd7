"""The table at the end of a run."""

from collections.abc import Iterator, Sequence
from math import isclose

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import PaddingDimensions
from rich.table import Table
from rich.text import Text

from lab.analysis.figures.definitions import figure_of, label_of, value_of
from lab.analysis.figures.limits import stage_text
from lab.analysis.figures.load_figures import is_measured, load_figures
from lab.analysis.figures.rates import indexing_rate_series
from lab.analysis.figures.warnings import shortfall
from lab.analysis.report_page.accounting import broken_laws
from lab.analysis.report_page.sections import DELAYS, IF_KNOWN, OF_STAGES, told_twice
from lab.analysis.text import count, duration, figure, quantity, sparkline
from lab.records.result import Result
from lab.records.samples import Sample

DEPLOYMENT_TIMES = ("before", "while", "after")

ROWS = (
    ("limit_docs_per_s", ("run",)),
    ("catch_up_s", ("run",)),
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
    *((name, ("run",)) for name in DELAYS),
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

OF_STREAMS = frozenset(
    {"end_to_end_latency_ms_p50", "end_to_end_latency_ms_p99", "lag_records_max", "delivery_rate_docs_per_s"}
)
"""A drain begins with all of its records waiting, so there these say nothing but how long it, or the fill, took."""

LINE = (("query_rate_per_s", " queries"), ("query_latency_ms_p99", " at p99"))
"""Metrics of queries in the one line of a run, and the words behind them."""

QUERY_COLUMNS = ("rate", "median", "p99", "longest", "took", "errors", "wrong")
STAGE_WORDS = {"catch_up_s": "to catch up", "index_delay_ms_p99": "to the index at p99", "limit_docs_per_s": "at most"}
LEAST_SPARKS, MOST_SPARKS = 6, 24
COSTS = ("cpu_s_per_million_docs", "machine_steal_percent_mean", "other_cpu_percent_mean", "index_finish_s")
QUESTION_METRICS = ("query_service_time_ms_p50", "query_service_time_ms_p99", "answers_wrong")


def verdict_line(result: Result, samples: Sequence[Sample], width: int) -> Text:
    """A run in one line: whether it is verified, rate, latency, what limited it, and how the rate went.

    Args:
        width: Columns; the rate's course gets what is left of them, and the last figure goes first.
    """
    good, short = result.status == "verified", shortfall(result)
    line = Text("✓ verified" if good else "✗ VOID", style="bold green" if good else "bold red")
    if good and result.verification.contents in {"ids only", "counts only"}:
        line.append(f" · {result.verification.contents}", "bold yellow")
    if short:
        line.append(f" · {short}", "bold yellow")
    if letters := result.documents.dead_lettered:
        line.append(f" · {quantity(letters, 'dead letter')}", "bold yellow")
    if elsewhere := sum(records for _, records in result.documents.elsewhere):
        line.append(f" · {count(elsewhere)} not indexed", "bold yellow")
    figures, limit = list(_main_figures(result)), _limit(result)
    while len(figures) > 1 and line.cell_len + sum(len(f" · {text}") for text in (*figures, limit) if text) > width:
        # The table below has them all.
        figures.pop()
    for text in filter(None, (*figures, limit)):
        line.append(f" · {text}", "not bold default")
    series = [point.value for point in indexing_rate_series(samples, "primaries") if point.value is not None]
    cells = min(MOST_SPARKS, width - line.cell_len - len(" · "))
    if any(series) and cells >= LEAST_SPARKS:
        line.append(f" · {sparkline(series, cells)}", "not bold green")
    return line


def _limit(result: Result) -> str | None:
    """`limited by Elasticsearch`."""
    limit = result.limited_by
    return f"limited by {stage_text(limit.stage, result.environment.product)}" if limit else None


def _main_figures(result: Result) -> Iterator[str]:
    """Rate and latency of the load, then those of queries; of a stream in stages its own figures."""
    stages = [name for name in OF_STAGES if value_of(result.metrics, name) is not None]
    if any(name not in DELAYS for name in stages):
        yield from (f"{figure_of(result, name)} {STAGE_WORDS[name]}" for name in stages)
        return
    of_load = load_figures(result)
    if of_load.rate_docs_per_s is not None:
        yield of_load.explained_rate
    if of_load.latency_ms is not None:
        yield f"{figure(of_load.latency_ms, 'ms')} each"
    for name, words in LINE:
        if value_of(result.metrics, name) is not None:
            yield figure_of(result, name) + words


def terminal_table(result: Result) -> Group:
    """Key figures, the accounting and the verdict, and the questions of a query load, for a terminal of 60 columns."""
    of_load = load_questions(result)
    figures = _key_figures(result, of_load)
    return Group(query_table(result, of_load), "", figures) if of_load else Group(figures)


def load_questions(result: Result) -> list[str]:
    """The questions of a query load; empty where there was none."""
    return [metric.scope for metric in result.metrics if metric.name == "query_requests" and metric.scope != "run"]


def _table(result: Result, what: str, padding: PaddingDimensions) -> Table:
    """A table below the profile, the servers under test where they are not Elasticsearch, and what it shows."""
    products = sorted({server.release for server in result.environment.servers if server.product})
    title = " · ".join((result.profile, *products, what))
    return Table(title=title, title_justify="left", show_edge=False, pad_edge=False, box=SIMPLE_HEAD, padding=padding)


def query_table(result: Result, questions: Sequence[str]) -> Table:
    """A row for each question of a query load."""
    stem = query_stem(result)
    name = "latency" if stem == "query_latency_ms" else "service time (closed loop)"
    table = _table(result, name, padding=0)
    table.add_column("question", overflow="fold")
    for head in QUERY_COLUMNS:
        table.add_column(head, justify="right", no_wrap=True)
    for question in questions:
        table.add_row(question, *query_cells(result, stem, question))
    return table


def query_stem(result: Result) -> str:
    """Beginning of the metric that shows queries: latency where they had a due time, else service time."""
    has_latency = any(metric.name == "query_latency_ms_p50" for metric in result.metrics)
    return "query_latency_ms" if has_latency else "query_service_time_ms"


def query_cells(result: Result, stem: str, question: str) -> Iterator[Text]:
    """A question's figures, in the order of `QUERY_COLUMNS`."""
    for name in ("query_rate_per_s", f"{stem}_p50", f"{stem}_p99", f"{stem}_max", "query_took_ms_p50"):
        yield Text(figure_of(result, name, question))
    for name in ("query_errors", "answers_wrong"):
        value = value_of(result.metrics, name, question)
        yield Text(count(value), style="red" if value else "")


def _key_figures(result: Result, of_load: Sequence[str]) -> Table:
    window = result.measured_window
    measured = f"measured window {duration(window.ended_s - window.started_s)}" if window else "no measured window"
    table = _table(result, measured, padding=(0, 1, 0, 0))
    table.add_column("metric")
    table.add_column("scope", style="dim")
    table.add_column("value", justify="right")
    for row in (*figure_rows(result, of_load), (), *document_rows(result)):
        table.add_row(*row)
    for broken in broken_laws(result.verification.ledger):
        table.add_row(Text("Sink's ledger", style="bold red"), "", broken)
    return table


def figure_rows(result: Result, of_load: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Label, scope and value of each figure of the table.

    Args:
        of_load: The questions that have a table of their own.
    """
    named = {metric.key for metric in result.metrics}
    if value_of(result.metrics, "drain_s") is not None:
        named = {(name, scope) for name, scope in named if name not in OF_STREAMS}
    named = {(name, scope) for name, scope in named if not name.startswith(told_twice(result))}
    for name, scopes in ROWS:
        for scope in scopes:
            is_known = value_of(result.metrics, name, scope) is not None or name not in IF_KNOWN
            is_told = is_known and is_measured(result, name) and not _repeats(result, name, scope)
            if (name, scope) in named and is_told:
                yield label_of(name), scope, figure_of(result, name, scope)
    for metric in result.metrics:
        # The sender is there under its own name, too; `sender` is for suites that compare one with another.
        is_told = metric.value is not None and not _repeats(result, metric.name, metric.scope)
        is_cost = metric.name in COSTS and is_told and metric.scope != "sender"
        is_asked = metric.name in QUESTION_METRICS and metric.scope not in {*of_load, "run"}
        if is_cost or is_asked:
            yield label_of(metric.name), metric.scope, figure_of(result, metric.name, metric.scope)


def _repeats(result: Result, name: str, scope: str) -> bool:
    """Check that a figure repeats another: all shards without a replica, all nodes of one."""
    value = value_of(result.metrics, name, scope)
    other = None
    if name == "entities_per_s":
        other = value_of(result.metrics, "indexing_rate_docs_per_s", "primaries")
    elif scope == "elasticsearch":
        other = value_of(result.metrics, name, "elasticsearch-1")
    elif scope == "total":
        other = value_of(result.metrics, name, "primaries")
    return value is not None and other is not None and isclose(value, other)


def document_rows(result: Result) -> Iterator[tuple[str, str, str]]:
    """Rows of the table on documents: indexed, rejected and so on."""
    for name, records in (
        ("Produced", result.documents.produced),
        ("Delivered", result.documents.delivered),
        ("Indexed", result.documents.indexed),
        ("Overwritten", result.documents.already_there),
        ("Dead-lettered", result.documents.dead_lettered),
        ("Dropped", result.documents.dropped or None),
        ("Tombstones", result.documents.deleted or None),
        *((what.capitalize(), records) for what, records in result.documents.elsewhere),
        ("Missing", result.documents.missing),
    ):
        if records is not None:
            yield name, "documents", count(records)
    if (stored_only := result.verification.stored_only) and stored_only.documents:
        yield "A value only stored", "documents", count(stored_only.documents)
    if result.verification.contents == "as rebuilt":
        yield "Compared as rebuilt", "documents", count(result.documents.sampled)
    if result.verification.not_compared:
        yield "Not compared", "fields", ", ".join(result.verification.not_compared)
