"""Badges: the figures and sections of a report that a warning touches, so that both are read together."""

from collections.abc import Iterable, Mapping

from lab.records.run import RunWarning, WarningKind

RATES = ("indexing_", "source_mb", "entities", "consumed_rate", "drain_s")
TIMES = ("end_to_end", "index_delay", "catch_up", "limit_docs", "bulk_service", "query_", "search_", "knee")
QUERIES = ("query_", "search_", "knee")
COSTS = "cpu_s_per_million_docs"
"""The figure that the section on costs is about."""
DOCUMENTS, SAMPLES = "documents", "samples"
"""Sections that stand for no single figure."""

TOUCHED: Mapping[WarningKind, tuple[str, ...]] = {
    WarningKind.COLD_SERVERS: (*RATES, *TIMES),
    WarningKind.SAMPLES_LOST: (SAMPLES,),
    WarningKind.SERVER_RESTARTED: (*RATES, *TIMES, SAMPLES),
    WarningKind.SHARD_MOVED: (*RATES, *TIMES, SAMPLES),
    WarningKind.DEAD_LETTERS: (DOCUMENTS,),
    WarningKind.NOT_INDEXED: (DOCUMENTS,),
    WarningKind.STORED_ONLY: (DOCUMENTS,),
    WarningKind.SHORT_WINDOW: RATES,
    WarningKind.DID_NOT_KEEP_UP: (*RATES, "end_to_end", "lag_records"),
    WarningKind.DRIVER_LIMITED: RATES,
    WarningKind.BUSY_MACHINE: (*RATES, *TIMES, "deployment", COSTS),
    WarningKind.LATE_PRODUCER: ("delivery_", "end_to_end"),
    WarningKind.CLOCK_SKEW: ("end_to_end",),
    WarningKind.SHARDS_UNASSIGNED: (*RATES, "store_size"),
    WarningKind.SERVERS_ELSEWHERE: (COSTS,),
    WarningKind.MEMORY_PRESSURE: (*RATES, *TIMES, COSTS),
    WarningKind.NO_STEADY_STATE: RATES,
    WarningKind.CLIENTS_DISAGREE: QUERIES,
    WarningKind.QUERY_SENDER_LIMITED: QUERIES,
    WarningKind.QUERY_ERRORS: QUERIES,
    WarningKind.PAGES_TAKEN_AWAY: QUERIES,
    WarningKind.UNREAD_SETTINGS: (*RATES, *TIMES),
}
"""What the names of the touched figures begin with; of kinds that only suites know, nothing."""


def badges(warnings: Iterable[RunWarning], name: str) -> tuple[WarningKind, ...]:
    """The kinds of warnings that touch a figure or a section."""
    return tuple(warning.kind for warning in warnings if name.startswith(TOUCHED.get(warning.kind, ())))
