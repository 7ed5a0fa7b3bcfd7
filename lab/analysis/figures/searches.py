"""Searches from each sample to the next: Stack Monitoring's two charts, caches, the disk, the threads."""

from collections.abc import Callable, Sequence

from lab.analysis.figures.rates import Point, differences, rate_per_s, read_s, shards
from lab.records.samples import NodeCounters, Sample


def search_rate_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Stack Monitoring's *Search Rate*: searches of shards per second, on `primaries` or on all shards (`total`).

    A search of an index counts once for each shard that it asks. Kibana's overview of the cluster draws `total`.

    Source: Kibana's Stack Monitoring (`metrics.ts`, `cluster_search_request_rate`): Δ`query_total` / Δt.
    """
    return counter_series(samples, scope, "query_total")


def search_latency_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Stack Monitoring's *Search Latency*: milliseconds for one search of a shard; 0 while nothing is searched.

    The query phase alone: what a search fetches, and what joining the shards' answers takes, is not in it.

    Source: Kibana's Stack Monitoring (`metrics.ts`, `cluster_query_latency`): Δ`query_time_in_millis` / Δ`query_total`.
        600 ms for 2 400 searches is 0.25 ms.
    """

    def latency(before: Sample, after: Sample) -> float | None:
        first, last = shards(before, scope), shards(after, scope)
        if first is None or last is None:
            return None
        searches, time_ms = last.query_total - first.query_total, last.query_time_ms - first.query_time_ms
        if searches < 0 or time_ms < 0:
            return None
        return time_ms / searches if searches else 0.0

    return differences(samples, latency)


def counter_series(samples: Sequence[Sample], scope: str, counter: str) -> list[Point]:
    """Growth per second of a counter of the index, such as `request_cache_hits`."""

    def rate(before: Sample, after: Sample) -> float | None:
        first, last = (getattr(shards(sample, scope), counter, None) for sample in (before, after))
        return rate_per_s(first, last, read_s(after) - read_s(before))

    return differences(samples, rate)


def process_series(samples: Sequence[Sample], name: str, counter: str) -> list[Point]:
    """Growth per second of a counter of one server, such as `major_page_faults`; `None` where it was started again."""

    def rate(before: Sample, after: Sample) -> float | None:
        first, last = before.processes.get(name), after.processes.get(name)
        if first is None or last is None or first.pid != last.pid:
            return None
        return rate_per_s(getattr(first, counter), getattr(last, counter), after.at_s - before.at_s)

    return [
        Point(after.at_s, point.value) for point, after in zip(differences(samples, rate), samples[1:], strict=True)
    ]


def node_sums(samples: Sequence[Sample], value: Callable[[NodeCounters], int | None]) -> list[Point]:
    """A figure of the nodes, summed over them, at each sample; `None` where one of them does not tell it."""
    points = []
    for sample in samples:
        values = [value(node) for node in sample.elasticsearch.nodes.values()] if sample.elasticsearch else []
        known = [each for each in values if each is not None]
        points.append(Point(read_s(sample), sum(known) if known and len(known) == len(values) else None))
    return points
