"""Latency of indexing and of searches, as Stack Monitoring defines it, and percentiles of the sink's histograms."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from hdrh.histogram import HdrHistogram

from lab.analysis.figures.rates import Point, answered, differences, goes_on, shards
from lab.records.samples import Sample

Work = Literal["index", "query"]
"""Work of shards that is counted with its time."""
PERCENTILES = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}


def indexing_latency(documents: int, time_ms: int) -> float | None:
    """Milliseconds that Elasticsearch spent on indexing one document.

    Args:
        documents: Growth of `index_total`.
        time_ms: Growth of `index_time_in_millis` meanwhile.

    `None` when either fell. 0 when nothing was indexed, as in Kibana.

    Source: Kibana's Stack Monitoring (`metric.ts`, `calculateLatency`): Δms / Δn. 6 000 ms for 24 000 documents is
        0.25 ms; 8 100 ms for 27 000 is 0.30 ms.
    """
    if documents < 0 or time_ms < 0:
        return None
    return time_ms / documents if documents else 0.0


def latency_series(samples: Sequence[Sample], scope: str, work: Work) -> list[Point]:
    """Latency of indexing or of searches from each sample to the next, in ms."""

    def latency(before: Sample, after: Sample) -> float | None:
        growth = _growth(before, after, scope, work)
        return indexing_latency(*growth) if growth else None

    return differences(samples, latency)


def latency_ms(window: Sequence[Sample], scope: str, work: Work) -> float | None:
    """Milliseconds per document indexed or search of a shard; `None` when there was none.

    Intervals in which a counter fell or began again are left out, of time and of work alike.
    """
    growths = [_growth(before, after, scope, work) for before, after in pairwise(answered(window))]
    whole = [growth for growth in growths if growth and min(growth) >= 0]
    total = sum(done for done, _ in whole)
    return sum(time_ms for _, time_ms in whole) / total if total else None


def indexing_latency_series(samples: Sequence[Sample], scope: str) -> list[Point]:
    """Indexing latency from each sample to the next, in ms; empty where no time was counted of documents indexed."""
    counted = [getattr(sample.elasticsearch, scope) for sample in answered(samples)]
    if counted and counted[-1].index_total > counted[0].index_total and all(not each.index_time_ms for each in counted):
        return []
    return latency_series(samples, scope, "index")


def indexing_latency_ms(window: Sequence[Sample], scope: str) -> float | None:
    """Milliseconds per document over the measured window, on `primaries` or on all shards (`total`).

    `None` when nothing was indexed, or no time was counted, as of an index that reads its topic itself.

    Source: Δ`index_time_in_millis` / Δ`index_total`. 14 100 ms for 51 000 documents is 0.276 ms.
    """
    return latency_ms(window, scope, "index") or None


def percentiles_ms(encoded: str | None) -> dict[str, float]:
    """Percentiles of a histogram in µs (`p50` → ms); empty when there is none or nothing was recorded."""
    return percentiles_of(decoded(encoded))


def percentiles_of(histogram: HdrHistogram | None) -> dict[str, float]:
    """Percentiles of a decoded histogram."""
    if histogram is None:
        return {}
    return dict(zip(PERCENTILES, values_ms(histogram, PERCENTILES.values()), strict=True))


def values_ms(histogram: HdrHistogram, percents: Iterable[float]) -> list[float]:
    """Values of a histogram in µs below which so many percent lie; percents above 0, and something was recorded.

    As `HdrHistogram.get_percentile_to_value_dict`, which adds up some 20,000 counts in Python.
    """
    seen = np.cumsum(np.ctypeslib.as_array(histogram.counts), dtype=np.int64)
    wanted = [histogram.get_target_count_at_percentile(percent) for percent in percents]
    lowest_us = [histogram.get_value_from_index(index) for index in np.searchsorted(seen, wanted).tolist()]
    return [histogram.get_highest_equivalent_value(value_us) / 1000 for value_us in lowest_us]


def is_known(percentile: str, recorded: int, beyond: int = 1) -> bool:
    """Check that so many values have this percentile: p99 of fewer than 100 is only their maximum.

    Args:
        beyond: How many of them have to be larger.
    """
    least = 100 * beyond - 1e-9
    return recorded * (100 - PERCENTILES[percentile]) >= least or percentile in {"p50", "max"}


def mean_ms(histogram: HdrHistogram | None) -> float | None:
    """Mean of a histogram in µs, to its three digits; `None` when there is none.

    As `HdrHistogram.get_mean_value`, which visits each of some 20,000 counts in Python where a hundred are not zero.
    """
    if histogram is None:
        return None
    counts = np.ctypeslib.as_array(histogram.counts)
    total_us = 0.0
    for index in np.flatnonzero(counts).tolist():
        lowest_us = histogram.get_value_from_index(index)
        middle_us = (lowest_us + histogram.get_highest_equivalent_value(lowest_us) + 1) // 2
        total_us += int(counts[index]) * middle_us
    return float(total_us / histogram.get_total_count() / 1000)


def percentile_curve_ms(encoded: str | None) -> list[tuple[float, float]]:
    """(n, ms): one record in n took longer than so many ms; from the median as far out as there are records."""
    return curve_of(decoded(encoded))


def curve_of(histogram: HdrHistogram | None, beyond: int = 1) -> list[tuple[float, float]]:
    """Curve of a decoded histogram, up to the point beyond which there are too few records.

    Eight points for each tenfold n: evenly spaced on the logarithmic axis on which the tail can be seen.
    """
    if histogram is None:
        return []
    most = max(2, histogram.get_total_count() / beyond)
    ns = [2 * 10 ** (step / 8) for step in range(8 * 12) if 2 * 10 ** (step / 8) <= most]
    return list(zip(ns, values_ms(histogram, [100 * (1 - 1 / n) for n in ns]), strict=True))


def decoded(encoded: str | None) -> HdrHistogram | None:
    """The histogram; `None` when there is none or nothing was recorded."""
    if not encoded:
        return None
    histogram = HdrHistogram.decode(encoded)
    return histogram if histogram.get_total_count() else None


def added(encoded: Iterable[str | None]) -> HdrHistogram | None:
    """Several histograms as one: what was recorded into any; `None` when nothing was."""
    whole, *others = [part for part in map(decoded, encoded) if part is not None] or [None]
    for other in others:
        whole.add(other)
    return whole


def without(whole: HdrHistogram | None, earlier: HdrHistogram | None) -> HdrHistogram | None:
    """Growth of a histogram since the reading before; `None` for none, or if it began again meanwhile.

    Raises:
        ValueError: They are not of one kind.
    """
    if whole is None or earlier is None:
        return whole
    kinds = [(each.lowest_trackable_value, each.counts_len, each.significant_figures) for each in (whole, earlier)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"histograms: got kinds {kinds[0]} and {kinds[1]}, expected one")
    counts, before = (np.ctypeslib.as_array(each.counts).astype(np.int64) for each in (whole, earlier))
    gained = counts - before
    if gained.min() < 0 or not gained.any():
        return None
    rest = HdrHistogram(whole.lowest_trackable_value, whole.highest_trackable_value, whole.significant_figures)
    for index in np.flatnonzero(gained).tolist():
        rest.record_value(whole.get_value_from_index(index), int(gained[index]))
    return rest


def _growth(before: Sample, after: Sample, scope: str, work: Work) -> tuple[int, int] | None:
    first, last = shards(before, scope), shards(after, scope)
    if first is None or last is None or not goes_on(before, after, scope):
        return None
    if work == "query":
        return last.query_total - first.query_total, last.query_time_ms - first.query_time_ms
    return last.index_total - first.index_total, last.index_time_ms - first.index_time_ms
