"""Indexing rate, as Stack Monitoring defines it."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from lab.analysis.figures.counters import (
    GAP_FACTOR,
    Point,
    consumed,
    growth,
    index_totals,
    read_s,
    sampling_interval_s,
    shards,
)
from lab.records import Sample, ShardCounters


def rate_per_s(before: int | None, after: int | None, elapsed_s: float) -> float | None:
    """Growth of a counter per second between two looks at it.

    `None` when a value is not known, when no time has passed, and when the counter fell, since a server that was
    started again has forgotten what it did. No growth is 0, which is known.

    Source: Kibana's Stack Monitoring (`get_series.ts`): derivative of `index_total` with `gap_policy: skip`, negative
        values as null. 1 000 000 → 1 024 000 in 10 s is 2 400 /s; 1 024 000 → 1 051 000 is 2 700 /s.
    """
    if before is None or after is None or after < before or elapsed_s <= 0:
        return None
    return (after - before) / elapsed_s


def differences(samples: Sequence[Sample], value: Callable[[Sample, Sample], float | None]) -> list[Point]:
    """A value for each sample and its predecessor; `None` across a gap, which is not bridged."""
    interval_s = sampling_interval_s(samples)
    if interval_s is None:
        return []
    return [
        Point(read_s(after), value(before, after) if after.at_s - before.at_s <= GAP_FACTOR * interval_s else None)
        for before, after in pairwise(samples)
    ]


def indexing_rate_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Documents indexed per second from each sample to the next, on `primaries` or on all shards (`total`)."""

    def rate(before: Sample, after: Sample) -> float | None:
        return rate_per_s(
            _index_total(shards(before, scope)), _index_total(shards(after, scope)), read_s(after) - read_s(before)
        )

    return differences(samples, rate)


def indexing_rate_docs_per_s(window: Sequence[Sample], scope: str) -> float | None:
    """Documents indexed per second of the measured window, on `primaries` or on all shards (`total`).

    From the first to the last sample of the window that Elasticsearch answered; replica operations count in `total`
    only. A document is one operation, however many nested objects it holds. When a server was started again within the
    window the growth is a lower bound, and the outage is part of the time. `None` when fewer than two samples answered.

    Source: Δ`index_total` / Δt. 1 000 000 → 1 051 000 in 20 s is 2 550 /s.
    """
    answered = [sample for sample in window if sample.elasticsearch]
    grown = growth(index_totals(answered, scope))
    if grown is None:
        return None
    elapsed_s = read_s(answered[-1]) - read_s(answered[0])
    return grown / elapsed_s if elapsed_s > 0 else None


def consumed_rate_docs_per_s(window: Sequence[Sample]) -> float | None:
    """Records that the sink has read per second of the measured window, whatever it did with them.

    By the sink's own count; by what it has committed where it keeps none, which moves about once a second. `None` when
    fewer than two samples know.

    Source: Δ`records_read` / Δt. 0 → 3 000 000 in 6.4 s is 468 750 /s.
    """
    known = [(sample.at_s, value) for sample, value in zip(window, consumed(window), strict=True) if value is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    return (growth(value for _, value in known) or 0) / (known[-1][0] - known[0][0])


def source_mb_per_s(rate_docs_per_s: float | None, source_bytes: int | None, documents: int) -> float | None:
    """Megabytes (10⁶ bytes) of source documents indexed per second, keys and headers not counted.

    The rate times the mean size of the documents delivered. `None` when nothing was delivered.

    Source: 52 700 /s × 42 000 000 bytes / 50 000 documents = 44.268 MB/s.
    """
    if rate_docs_per_s is None or source_bytes is None or not documents:
        return None
    return rate_docs_per_s * source_bytes / documents / 1e6


def entities_per_s(rate_docs_per_s: float | None, entities: int | None, documents: int) -> float | None:
    """Books, or whatever the dataset counts, indexed per second.

    The unit in which document models can be compared: a flat model splits a book into several small documents and must
    not look faster for that. `None` when nothing was delivered.

    Source: 30 000 docs/s of 50 000 documents that describe 10 000 books = 6 000 books/s.
    """
    if rate_docs_per_s is None or entities is None or not documents:
        return None
    return rate_docs_per_s * entities / documents


def _index_total(counters: ShardCounters | None) -> int | None:
    return counters.index_total if counters else None
