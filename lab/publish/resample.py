"""The index counters of a run, once per bucket of Kibana's charts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.analysis.figures.counters import GAP_FACTOR, read_s, sampling_interval_s
from lab.records import ElasticsearchSample, Sample, ShardCounters

BEFORE_THE_END_S = 0.001
"""A bucket's last millisecond still belongs to it, and a millisecond is the finest instant of a document's."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What Elasticsearch says of the index at one instant; the counters of either scope and of the nodes."""

    at_s: float
    elasticsearch: ElasticsearchSample


def resampled(samples: Sequence[Sample], bucket_s: int) -> list[Reading]:
    """One reading for each bucket that the samples cover: as the counters stood at its end.

    Kibana divides the growth from one bucket to the next by the bucket's size, so that readings must lie exactly one
    size apart: with samples left where they are, a rate would be off by the part of a bucket by which their places
    differ. The counters at a bucket's end lie on the straight line between the samples on either side of it. Where
    these have a gap between them nothing is made up: the bucket gets its own last sample, or none, and Kibana draws a
    gap. The last bucket has the run's last sample. Where the first sample counts no document, none was counted before
    it either: the bucket before says so, and everything that was counted is then in one point of the line or another.

    Args:
        bucket_s: Size of a bucket; they are aligned to the epoch.
    """
    answered = [Reading(read_s(sample), sample.elasticsearch) for sample in samples if sample.elasticsearch]
    if not answered:
        return []
    interval_s = sampling_interval_s(samples) or float(bucket_s)
    readings = {math.floor(reading.at_s / bucket_s): reading for reading in answered}
    for before, after in pairwise(answered):
        if after.at_s - before.at_s <= GAP_FACTOR * max(interval_s, 1.0):
            for number in _ends_between(before.at_s, after.at_s, bucket_s):
                readings[number] = _between(before, after, (number + 1) * bucket_s - BEFORE_THE_END_S)
    if answered[0].elasticsearch.total.index_total == 0:
        first = math.floor(answered[0].at_s / bucket_s)
        readings[first - 1] = _as_read(first * bucket_s - BEFORE_THE_END_S, answered[0].elasticsearch)
    return [readings[number] for number in sorted(readings)]


def _ends_between(from_s: float, to_s: float, bucket_s: int) -> range:
    """The buckets that end after one instant and not after another."""
    first = math.ceil((from_s + BEFORE_THE_END_S) / bucket_s) - 1
    last = math.floor((to_s + BEFORE_THE_END_S) / bucket_s) - 1
    return range(first, last + 1)


def _between(before: Reading, after: Reading, at_s: float) -> Reading:
    share = (at_s - before.at_s) / (after.at_s - before.at_s)
    first, last = before.elasticsearch, after.elasticsearch
    if last.primaries.index_total < first.primaries.index_total:
        return _as_read(at_s, first)  # started again: what was counted in between is not known
    between = {
        "primaries": _counters_between(first.primaries, last.primaries, share),
        "total": _counters_between(first.total, last.total, share),
    }
    return _as_read(at_s, first.model_copy(update=between))


def _as_read(at_s: float, elasticsearch: ElasticsearchSample) -> Reading:
    """What a sample says, as though it had been read at another instant."""
    return Reading(at_s, elasticsearch.model_copy(update={"read_s": at_s}))


def _counters_between(first: ShardCounters, last: ShardCounters, share: float) -> ShardCounters:
    values = {name: round(value + share * (getattr(last, name) - value)) for name, value in first.model_dump().items()}
    return ShardCounters(**values)
