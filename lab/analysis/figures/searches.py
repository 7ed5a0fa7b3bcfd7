"""Series of caches, disk and search threads, from each sample to the next."""

from collections.abc import Callable, Sequence

from lab.analysis.figures.rates import Point, differences, rate_per_s, read_s, shards
from lab.records.samples import NodeCounters, Sample


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
