"""Counters that only grow until their server is started again, and their growth per second, as Kibana defines it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from lab.records.samples import ElasticsearchSample, NodeCounters, Sample, ShardCounters

SCOPES = ("primaries", "total")
GAP_FACTOR = 1.5
"""Two samples further apart than this many sampling intervals have a gap between them."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value over the interval that ends at an instant; `None` where it is not known."""

    at_s: float
    value: float | None


def growth(values: Iterable[int | None]) -> int | None:
    """Sum of the increases of a counter; `None` when fewer than two of its values are known.

    A value that is not known is passed over: a counter has grown meanwhile all the same. Where it falls, a server was
    started again; what was counted between the last look and the fall is not known, so that the sum is then a lower
    bound. Of an index, whose counters are sums over shards, ask `shard_growth`.
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    return sum(max(0, after - before) for before, after in pairwise(known))


def growth_from_zero(values: Iterable[int | None]) -> int | None:
    """Growth of a counter that stood at zero when the run began; `None` when no value is known."""
    return growth([0, *values])


def has_fallen(values: Iterable[int | None]) -> bool:
    """Check that a counter has begun again."""
    known = [value for value in values if value is not None]
    return any(after < before for before, after in pairwise(known))


def sampling_interval_s(samples: Sequence[Sample]) -> float | None:
    """The usual time between two samples; `None` when there are fewer than two."""
    return median(after.at_s - before.at_s for before, after in pairwise(samples)) if len(samples) > 1 else None


def read_s(sample: Sample) -> float:
    """The instant of the index counters of a sample."""
    answered_s = sample.elasticsearch.read_s if sample.elasticsearch else None
    return sample.at_s if answered_s is None else answered_s


def answered(samples: Iterable[Sample]) -> list[Sample]:
    """The samples that Elasticsearch answered."""
    return [sample for sample in samples if sample.elasticsearch]


def answered_s(samples: Iterable[Sample]) -> float:
    """Seconds from the first sample that Elasticsearch answered to the last."""
    instants_s = [read_s(sample) for sample in answered(samples)]
    return instants_s[-1] - instants_s[0] if instants_s else 0.0


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are known; `None` when none is."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def mean_over_time(samples: Sequence[Sample], share: Callable[[Sample], float | None]) -> float | None:
    """The mean of shares, each of the time since the sample before, by that time; `None` when none is known.

    Where a sample is missing, the next one tells of all the time meanwhile. The first one's time is the usual one.
    """
    spans_s = [sampling_interval_s(samples) or 1.0, *(after.at_s - before.at_s for before, after in pairwise(samples))]
    known = [
        (span_s, value)
        for span_s, sample in zip(spans_s, samples, strict=False)
        if (value := share(sample)) is not None
    ]
    all_s = sum(span_s for span_s, _ in known)
    return sum(span_s * value for span_s, value in known) / all_s if all_s > 0 else None


def sum_of_all(values: Iterable[float | None]) -> float | None:
    """The sum of the values; `None` where there is none, or one of them is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if known and len(known) == len(every) else None


def shards(sample: Sample, scope: str) -> ShardCounters | None:
    """The index counters of `primaries` or of `total`; `None` where Elasticsearch did not answer."""
    if sample.elasticsearch is None:
        return None
    return sample.elasticsearch.primaries if scope == "primaries" else sample.elasticsearch.total


def consumed(samples: Sequence[Sample]) -> list[int | None]:
    """Records that the sink has read so far, at each sample: by its own count, or by what it has committed."""
    if any(sample.sink for sample in samples):
        return [sample.sink.records_read if sample.sink else None for sample in samples]
    return [sample.kafka.committed_offset if sample.kafka else None for sample in samples]


def counts(samples: Iterable[Sample], scope: str, counter: str) -> list[int | None]:
    """A counter of the index at each sample; `None` where Elasticsearch did not answer, or does not count it."""
    return [getattr(shards(sample, scope), counter, None) for sample in samples]


def index_totals(samples: Iterable[Sample], scope: str = "primaries") -> list[int | None]:
    """Operations indexed so far, at each sample."""
    return counts(samples, scope, "index_total")


def goes_on(before: Sample, after: Sample, scope: str = "primaries") -> bool:
    """Check that the index counters of two samples are sums over the same shards, none of which began again.

    Elasticsearch counts in each copy of a shard for as long as it is on its node (`IndexShard`'s
    `InternalIndexingStats`), and `primaries` sums over those that are primaries now (`IndexStats.getPrimaries`): one
    that has moved stands at what its new node has seen of it, one whose node was started again at zero. Growth
    elsewhere can hide that from the sum. Where it is not known which nodes have the shards, any of them counts.
    """
    first, last = before.elasticsearch, after.elasticsearch
    if first is None or last is None:
        return True
    counted, counts = (first.primaries, last.primaries) if scope == "primaries" else (first.total, last.total)
    if counts.index_total < counted.index_total or counts.query_total < counted.query_total:
        return False
    holders: Collection[str] = first.nodes
    if first.shard_copies:
        held = copies_of(first, scope)
        if first.shard_copies != last.shard_copies and has_moved(held, copies_of(last, scope)):
            return False
        holders = {node for nodes in held.values() for node in nodes} or first.nodes
    return all(
        node in last.nodes and _counts_on(first.nodes[node], last.nodes[node])
        for node in holders
        if node in first.nodes
    )


def _counts_on(before: NodeCounters, after: NodeCounters) -> bool:
    return before.index_total is None or after.index_total is None or after.index_total >= before.index_total


def copies_of(sample: ElasticsearchSample, scope: str) -> dict[str, tuple[str, ...]]:
    """Nodes of the copies of each shard that the counters of `primaries` or of `total` are sums over."""
    return {shard: nodes if scope == "total" else nodes[:1] for shard, nodes in sample.shard_copies.items()}


def has_moved(held: Mapping[str, Sequence[str]], present: Mapping[str, Sequence[str]]) -> bool:
    """Check that a copy of a shard has left its node; false where only one of two samples knows the nodes."""
    return bool(present) and any(not set(nodes) <= set(present.get(shard, ())) for shard, nodes in held.items())


def have_primaries_moved(samples: Iterable[Sample]) -> bool:
    """Check that a primary shard changed its node, as far as nodes are known."""
    known = [sample.elasticsearch for sample in answered(samples) if sample.elasticsearch]
    places = [copies_of(sample, "primaries") for sample in known]
    return any(has_moved(held, present) for held, present in pairwise(places))


def go_on(samples: Iterable[Sample], scope: str = "primaries") -> bool:
    """Check that the index counters continue from the first of these samples to the last."""
    return all(goes_on(before, after, scope) for before, after in pairwise(answered(samples)))


def shard_growth(samples: Sequence[Sample], scope: str, counter: str) -> int | None:
    """Growth of a counter of the index from the first of these samples to the last.

    `None` when fewer than two samples know it, and where it began again in a shard: what was lost is not known.
    """
    return growth(counts(samples, scope, counter)) if go_on(samples, scope) else None


def rate_per_s(before: float | None, after: float | None, elapsed_s: float) -> float | None:
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


def counter_series(samples: Sequence[Sample], scope: str, counter: str) -> list[Point]:
    """Growth per second of a counter of the index, such as `request_cache_hits`, from each sample to the next."""

    def rate(before: Sample, after: Sample) -> float | None:
        first, last = counts((before, after), scope, counter)
        return rate_per_s(first, last, read_s(after) - read_s(before))

    return differences(samples, rate)


def indexing_rate_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Documents indexed per second from each sample to the next, on `primaries` or on all shards (`total`)."""

    def rate(before: Sample, after: Sample) -> float | None:
        first, last = index_totals((before, after), scope)
        return rate_per_s(first, last, read_s(after) - read_s(before)) if goes_on(before, after, scope) else None

    return differences(samples, rate)


def indexing_rate_docs_per_s(window: Sequence[Sample], scope: str) -> float | None:
    """Documents indexed per second of the measured window, on `primaries` or on all shards (`total`).

    From the first to the last sample of the window that Elasticsearch answered; replica operations count in `total`
    only. A document is one operation, however many nested objects it holds. Where counters began again within the
    window, as when a node is started again or a shard moves, it is on `primaries` what the sink counted as stored, and
    the outage is part of the time. `None` where it keeps no count either, and when fewer than two samples answered.

    Source: Δ`index_total` / Δt. 1 000 000 → 1 051 000 in 20 s is 2 550 /s.
    """
    if not go_on(window, scope):
        return stored_rate_docs_per_s(window) if scope == "primaries" else None
    return rate_per_s(0, growth(index_totals(window, scope)), answered_s(window))


def stored_rate_docs_per_s(window: Sequence[Sample]) -> float | None:
    """Records per second of the window that the sink counted as indexed or updated; `None` where it began again, too.

    Source: Δ(`records_indexed` + `records_updated`) / Δt.
    """
    known = [(s.at_s, s.sink.records_indexed + s.sink.records_updated) for s in window if s.sink]
    counted = [stored for _, stored in known]
    elapsed_s = known[-1][0] - known[0][0] if known else 0.0
    return (counted[-1] - counted[0]) / elapsed_s if elapsed_s > 0 and not has_fallen(counted) else None


def consumed_rate_docs_per_s(window: Sequence[Sample]) -> float | None:
    """Records that the sink has read per second of the measured window, whatever it did with them.

    By the sink's own count; by what it has committed where it keeps none, which moves about once a second. `None` when
    fewer than two samples know, and where it fell: a task began again, or one of several workers did not answer once,
    whose tasks would then count twice.

    Source: Δ`records_read` / Δt. 0 → 3 000 000 in 6.4 s is 468 750 /s.
    """
    known = [(sample.at_s, value) for sample, value in zip(window, consumed(window), strict=True) if value is not None]
    if len(known) < 2 or has_fallen(value for _, value in known):
        return None
    (began_s, before), (ended_s, after) = known[0], known[-1]
    return rate_per_s(before, after, ended_s - began_s)


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
