"""Counters that only grow, until the server that keeps them is started again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from lab.records import Sample, ShardCounters

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
    bound.
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    return sum(max(0, after - before) for before, after in pairwise(known))


def growth_from_zero(values: Iterable[int | None]) -> int | None:
    """The same for a counter that stood at zero when the run began; `None` when no value is known."""
    return growth([0, *values])


def has_fallen(values: Iterable[int | None]) -> bool:
    """Whether a counter has been started again."""
    known = [value for value in values if value is not None]
    return any(after < before for before, after in pairwise(known))


def sampling_interval_s(samples: Sequence[Sample]) -> float | None:
    """The usual time between two samples; `None` when there are fewer than two."""
    return median(after.at_s - before.at_s for before, after in pairwise(samples)) if len(samples) > 1 else None


def read_s(sample: Sample) -> float:
    """The instant of the index counters of a sample."""
    answered_s = sample.elasticsearch.read_s if sample.elasticsearch else None
    return sample.at_s if answered_s is None else answered_s


def shards(sample: Sample, scope: str) -> ShardCounters | None:
    """The index counters of `primaries` or of `total`; `None` where Elasticsearch did not answer."""
    if sample.elasticsearch is None:
        return None
    return sample.elasticsearch.primaries if scope == "primaries" else sample.elasticsearch.total


def consumed(samples: Iterable[Sample]) -> list[int | None]:
    """Records that the sink has read so far, at each sample: by its own count, or by what it has committed."""
    seen = list(samples)
    if any(sample.sink for sample in seen):
        return [sample.sink.records_read if sample.sink else None for sample in seen]
    return [sample.kafka.committed_offset if sample.kafka else None for sample in seen]


def index_totals(samples: Iterable[Sample], scope: str = "primaries") -> list[int | None]:
    """Operations indexed so far, at each sample."""
    return [found.index_total if (found := shards(sample, scope)) else None for sample in samples]
