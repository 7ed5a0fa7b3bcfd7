"""Time that records wait between topic and index, told from outside: any pipeline has it."""

from collections.abc import Iterator, Sequence

import numpy as np

from lab.analysis.figures.definitions import metric
from lab.analysis.figures.rates import read_s
from lab.records.result import Metric
from lab.records.run import Course, Run
from lab.records.samples import Sample

WARM_UP_S = 5.0
"""Of a stream, as of the sink's own end-to-end latencies."""
WAITING_S = 2.0
"""A pipeline has caught up when nothing older waits: some collect records for a second."""
RECORDS = 2000
"""At most so many, evenly spread, make the percentiles."""

Curve = tuple[tuple[float, ...], tuple[int, ...]]
"""Instants, and the count at each."""


def of_delay(run: Run, samples: Sequence[Sample]) -> Iterator[Metric]:
    """The delay of a stream's records, and how long its pipeline took to catch up; nothing for other loads."""
    if run.load != "stream" or run.topic is None or run.delivery is None or run.verification.expect != "stored":
        return
    arrived = _curve([(sample.at_s, sample.kafka.end_offset) for sample in samples if sample.kafka])
    indexed = _curve([(read_s(s), s.elasticsearch.primaries.index_total) for s in samples if s.elasticsearch])
    course = run.course
    began_s, ended_s = (
        (course.stages[-1].started_s, course.stages[-1].ended_s)
        if course
        else (run.delivery.first_intended_s, run.delivery.last_acknowledged_s)
    )
    delays = delays_s(arrived, indexed, began_s + WARM_UP_S, ended_s)
    for name, percent in (("p50", 50), ("p99", 99)):
        yield metric(f"index_delay_ms_{name}", float(np.percentile(delays, percent)) * 1000 if len(delays) else None)
    if course and (since_s := event_end_s(course)) is not None:
        yield metric("catch_up_s", catch_up_s(arrived, indexed, since_s))
    if course and course.limit_docs_per_s is not None:
        yield metric("limit_docs_per_s", course.limit_docs_per_s)


def _curve(known: Sequence[tuple[float, int]]) -> Curve:
    return tuple(at_s for at_s, _ in known), tuple(count for _, count in known)


def delays_s(arrived: Curve, indexed: Curve, began_s: float, ended_s: float) -> np.ndarray:
    """Time from topic to index of records that arrived within that time; empty where it is not known of all.

    Source: the horizontal distance of the two cumulative curves, of a queue that is served in order.
    """
    if not arrived[0] or not indexed[0] or ended_s <= began_s or has_counted_twice(arrived, indexed):
        return np.zeros(0)
    first, last = np.interp([began_s, ended_s], *arrived)
    # Between two counts: where a curve stands still, the instant of its count is not one.
    records = np.linspace(np.floor(first) + 0.5, np.floor(last) - 0.5, RECORDS)
    if last - first < 1 or records[-1] > indexed[1][-1]:
        return np.zeros(0)
    waited = np.interp(records, indexed[1], indexed[0]) - np.interp(records, arrived[1], arrived[0])
    return np.maximum(waited, 0.0)


def has_counted_twice(arrived: Curve, indexed: Curve) -> bool:
    """Check whether the index grew by more than came, as where requests are sent again: it runs ahead then."""
    return bool(arrived[1] and indexed[1]) and indexed[1][-1] > arrived[1][-1]


def event_end_s(course: Course) -> float | None:
    """End of the pause, or else of the last stage whose documents came all at once; the first stage is none."""
    spikes = [stage.ended_s for stage in course.stages[1:] if stage.rate_docs_per_s is None]
    return course.resumed_s or (spikes[-1] if spikes else None)


def catch_up_s(arrived: Curve, indexed: Curve, since_s: float) -> float | None:
    """From an instant to the first reading of the index that has all that had come by then, and nothing older waits."""
    if has_counted_twice(arrived, indexed):
        return None
    for at_s, count in zip(*indexed, strict=True):
        if at_s >= since_s and count >= np.interp(max(since_s, at_s - WAITING_S), *arrived):
            return at_s - since_s
    return None
