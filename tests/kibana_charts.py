"""The two charts of Kibana's Stack Monitoring as Kibana draws them: differences between buckets of equal size."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lab.analysis.figures.rates import read_s, shards
from lab.publish.monitoring import LEAST_BUCKET_S
from lab.records.samples import Sample

Scope = Literal["primaries", "total"]
Work = Literal["indexing", "search"]

SIZES_S = (
    (500, 1),
    (750, 5),
    (1_500, 10),
    (4_500, 30),
    (18_000, 60),
    (54_000, 300),
    (120_000, 600),
    (270_000, 1_800),
    (720_000, 3_600),
    (2_160_000, 10_800),
    (8_640_000, 43_200),
    (60_480_000, 86_400),
    (181_440_000, 604_800),
)
"""(below this length of the window, bucket size), from Kibana's `calculate_auto.ts`; see `bucket_size_s`."""
LARGEST_S = 2_592_000


@dataclass(frozen=True, slots=True)
class Counted:
    """The two counters behind the charts at one instant; `None` where a document does not carry them."""

    at_s: float
    documents: int | None
    time_ms: int | None


@dataclass(frozen=True, slots=True)
class Bucket:
    """One point of either chart, drawn at the start of its bucket; `None` is a gap in the line."""

    start_s: int
    rate_per_s: float | None
    latency_ms: float | None


def counted(samples: Iterable[Sample], scope: Scope, work: Work = "indexing") -> list[Counted]:
    """The counters of every sample that Elasticsearch answered: of documents indexed, or of searches."""
    total, time_ms = {"indexing": ("index_total", "index_time_ms"), "search": ("query_total", "query_time_ms")}[work]
    return [
        Counted(read_s(sample), getattr(counters, total), getattr(counters, time_ms))
        for sample in samples
        if (counters := shards(sample, scope))
    ]


def as_kibana_draws(readings: Iterable[Counted], size_s: int, first_s: float, last_s: float) -> list[Bucket]:
    """Indexing rate and latency, bucket by bucket, as Kibana would draw them for a window of time.

    A bucket's value is the largest counter in it, so that a rate is Δ ÷ the bucket's size, whatever the distance of the
    samples. A bucket without a reading is a gap, and so is the next one, which has nothing to be compared with. A
    counter that fell is a gap. Only buckets that lie wholly in the window are drawn, at their start.

    The latency is Kibana's, except for the very first point of a window that begins on the edge of a bucket: Kibana
    does not ask for the bucket before it and leaves that point out.

    Args:
        size_s: Of a bucket; they are aligned to the epoch.
        first_s: Where the window of time begins.
        last_s: Where it ends.

    Source: Kibana's `get_series.ts` and `metric.ts`. Readings at 12:00:03, :13 and :23 of 1 000 000, 1 024 000 and
        1 051 000 documents in 400 000, 406 000 and 414 100 ms give no point at 12:00:00, 2 400 /s and 0.25 ms at :10,
        2 700 /s and 0.30 ms at :20.
    """
    largest = _largest(readings, size_s)
    first, last = math.ceil(first_s / size_s), math.floor(last_s / size_s) - 1
    return [
        Bucket(number * size_s, *_point(largest.get(number - 1), largest.get(number), size_s))
        for number in range(first, last + 1)
        if largest and min(largest) <= number <= max(largest)
    ]


def bucket_size_s(window_s: float, least_s: int = LEAST_BUCKET_S) -> int:
    """The size of the buckets that Kibana chooses for a window of time, at least `min_interval_seconds`.

    Source: Kibana's `calculate_auto.ts`: 10 s below 25 minutes, 30 s below 75 minutes, 1 minute below 5 hours, …
        3 hours below 25 days, half a day below 100 days, …
    """
    return max(least_s, next((size_s for below_s, size_s in SIZES_S if window_s < below_s), LARGEST_S))


Counters = tuple[int | None, int | None]


def _largest(readings: Iterable[Counted], size_s: int) -> dict[int, Counters]:
    """Bucket number → the largest value of either counter in it; Kibana asks for each of them apart."""
    largest: dict[int, Counters] = {}
    for reading in readings:
        now: Counters = (reading.documents, reading.time_ms)
        if now != (None, None):
            number = math.floor(reading.at_s / size_s)
            documents, time_ms = (
                max((value for value in values if value is not None), default=None)
                for values in zip(now, largest.get(number, now), strict=True)
            )
            largest[number] = documents, time_ms
    return largest


def _point(before: Counters | None, after: Counters | None, size_s: int) -> tuple[float | None, float | None]:
    """Rate and latency of a bucket, from the one before it."""
    if before is None or after is None or before[0] is None or after[0] is None or after[0] < before[0]:
        return None, None
    documents = after[0] - before[0]
    time_ms = None if before[1] is None or after[1] is None else after[1] - before[1]
    if time_ms is None or (documents and time_ms < 0):
        return documents / size_s, None
    return documents / size_s, time_ms / documents if documents else 0.0
