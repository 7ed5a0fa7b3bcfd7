"""Scopes of each metric, and the default scope where none is stated.

A metric that is not listed here is of the run as a whole.
"""

import re
from typing import NamedTuple, get_args

from lab.records.run import PhaseName

NAME = r"(?!(?:primaries|total|run)$).+"
"""Of a node, a question or an index, which others choose."""


class Kind(NamedTuple):
    """One kind of scope.

    Attributes:
        pattern: Of its names.
        documented: As `docs/metrics.md` lists it.
        shown: As a refusal lists it.
    """

    pattern: str
    documented: str
    shown: str


RUN, PRIMARIES, TOTAL = (Kind(name, name, name) for name in ("run", "primaries", "total"))
ALL_NODES = Kind("elasticsearch", "and all nodes together as `elasticsearch`", "elasticsearch")
SEVERAL = Kind(r"index-\d+", "`index-1` …", "index-1 …")
PROCESS = Kind(
    r"elasticsearch-\d+|connect|kafka|producer|sender|sink|direct|rally|queries",
    "each process",
    "a process such as elasticsearch-1, connect or kafka",
)
SERVER = Kind(r"elasticsearch-\d+|connect|kafka", "each server", "a server such as elasticsearch-1, connect or kafka")
BOUNDED = Kind(r"elasticsearch-\d+", "each server with a control group", "a server such as elasticsearch-1")
NODE = Kind(NAME, "each node", "a node such as elasticsearch-1")
PHASE = Kind("|".join(get_args(PhaseName)), "each phase", f"a phase such as {get_args(PhaseName)[2]}")
QUESTION = Kind("(?!run$).+", "each question", "the name of a question")
INDEX = Kind(NAME, "each index", "the name of an index")

_KINDS: tuple[tuple[tuple[Kind, ...], str], ...] = (
    ((PRIMARIES, TOTAL, SEVERAL), "indexing_rate_docs_per_s indexing_latency_ms"),
    (
        (PRIMARIES, TOTAL),
        "merge_ refresh_ flush_ indexing_throttle_time_ms index_failed_docs segments_count store_size_bytes"
        " window_merge_ window_refresh_ search_rate_per_s search_latency_ms",
    ),
    ((SEVERAL, RUN), "index_finish_s"),
    ((PROCESS, ALL_NODES), "cpu_s_per_million_docs"),
    ((PROCESS,), "cpu_cores_mean rss_bytes_max major_page_faults disk_write_bytes"),
    (
        (NODE,),
        "heap_used_bytes_max gc_ write_rejected window_gc_time_ms query_gc_time_ms search_active_mean search_queue_max"
        " search_rejected deployment_cpu_s",
    ),
    (
        (NODE, ALL_NODES),
        "query_cpu_ms query_read_bytes query_read_bytes_per_s query_major_faults query_major_faults_per_min",
    ),
    ((SERVER,), "window_jit_time_ms"),
    ((BOUNDED,), "page_cache_bytes_mean"),
    ((PHASE,), "phase_wall_time_s"),
    (
        (RUN, QUESTION),
        "query_rate_per_s query_requests query_errors query_latency_ms_ query_service_time_ms_ query_took_ms_",
    ),
    (
        (QUESTION,),
        "query_hits_mean requests_per_answer ids_joined_per_answer books_per_answer answers answers_wrong"
        " rows_right_share values_right_share",
    ),
    ((RUN, INDEX), "deployment_"),
)
"""The kinds of scopes of metrics with these names, or whose names begin so (`merge_`); the first that fits."""

DEFAULTS = (PRIMARIES, RUN, ALL_NODES)
"""What is meant where no scope is stated; the first that a metric has."""


def kinds_of(name: str) -> tuple[Kind, ...]:
    """The kinds of scopes that a metric has."""
    return next((kinds for kinds, names in _KINDS if any(_is_of(name, stem) for stem in names.split())), (RUN,))


def _is_of(name: str, stem: str) -> bool:
    return name.startswith(stem) if stem.endswith("_") else name == stem


def is_scope_of(name: str, scope: str) -> bool:
    """Check that a metric may have a value of that scope."""
    return any(re.fullmatch(kind.pattern, scope) for kind in kinds_of(name))


def default_scope(name: str) -> str | None:
    """The scope that is meant where none is stated; `None` where a metric has several and no main one."""
    return next((kind.shown for kind in DEFAULTS if kind in kinds_of(name)), None)


def scopes_text(name: str) -> str:
    """`primaries, total or index-1 …`."""
    *first, last = (kind.shown for kind in kinds_of(name))
    return f"{', '.join(first)} or {last}" if first else last
