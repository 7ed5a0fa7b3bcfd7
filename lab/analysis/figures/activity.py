"""What went on in the background while rates were measured: garbage collection, merges, refreshes, compiling."""

from collections.abc import Iterable, Sequence

from lab.analysis.figures.definitions import metric
from lab.analysis.figures.rates import growth, shards
from lab.records import Metric, NodeCounters, Sample

OF_THE_INDEX = {
    "window_merge_count": "merges_total",
    "window_merge_time_ms": "merges_time_ms",
    "window_refresh_count": "refresh_total",
    "window_refresh_time_ms": "refresh_time_ms",
}
SCOPES = ("primaries", "total")
NOT_VIRTUAL_MACHINES = ("producer", "direct", "sink")
COMPILING_IS_KNOWN_OF = "connect"


def activity(window: Sequence[Sample], processes: Iterable[str]) -> list[Metric]:
    """Background work within the measured window; a counter that a server does not offer is `None`.

    Elasticsearch's node statistics hold no compiling time, and the JMX agent runs in the Connect worker only.
    """
    names = sorted({name for sample in window if sample.elasticsearch for name in sample.elasticsearch.nodes})
    return [
        *(metric("window_gc_time_ms", gc_time_ms(window, name), name) for name in names),
        *(
            metric(name, growth(getattr(found, field) for sample in window if (found := shards(sample, scope))), scope)
            for scope in SCOPES
            for name, field in OF_THE_INDEX.items()
        ),
        *(
            metric("window_jit_time_ms", jit_time_ms(window) if name == COMPILING_IS_KNOWN_OF else None, name)
            for name in processes
            if not name.startswith(NOT_VIRTUAL_MACHINES)
        ),
    ]


def gc_time_ms(window: Sequence[Sample], node: str) -> int | None:
    """Pauses of a node, young and old together; `None` under a collector that does not count them so."""
    seen = [
        found
        for sample in window
        if sample.elasticsearch and (found := sample.elasticsearch.nodes.get(node)) is not None
    ]
    return growth(_pauses_ms(counters) for counters in seen)


def jit_time_ms(window: Sequence[Sample]) -> int | None:
    """Compiling time of the Connect worker."""
    return growth(sample.sink.jit_time_ms for sample in window if sample.sink)


def _pauses_ms(counters: NodeCounters) -> int | None:
    known = [spent for spent in (counters.gc_young_time_ms, counters.gc_old_time_ms) if spent is not None]
    return sum(known) if known else None
