"""Conditions on the samples of a load that end a run while it runs: `--abort-on`."""

import operator
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.figures.latency import indexing_latency_ms
from lab.analysis.figures.rates import indexing_rate_docs_per_s
from lab.analysis.text import figure
from lab.errors import AbortError
from lab.records.samples import Sample, SinkSample

WINDOW_S = 10.0
"""Rates and latencies are those of the last ten seconds."""
WARM_UP_S = 10.0
"""From the first document in the index: rates and latencies of this time are not judged."""
NO_RATE = "no sample of the load was judged, since it ended too soon or no records waited"
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
Samples = Sequence[Sample]


def _of_sink(value: Callable[[SinkSample], float | None]) -> Callable[[Samples], float | None]:
    return lambda samples: value(samples[-1].sink) if samples[-1].sink else None


def _rejected(samples: Samples) -> float | None:
    """Documents rejected so far: by the ledger of our sink, or else by Elasticsearch's count on primaries."""
    newest = samples[-1]
    if newest.sink:
        return newest.sink.records_dead_lettered + newest.sink.records_dropped
    return newest.elasticsearch.primaries.index_failed if newest.elasticsearch else None


def _heap(samples: Samples) -> float | None:
    nodes = samples[-1].elasticsearch.nodes.values() if samples[-1].elasticsearch else ()
    return max((node.heap_used_bytes for node in nodes), default=None)


RATES: Mapping[str, Callable[[Samples], float | None]] = {
    "indexing_rate_docs_per_s": lambda samples: indexing_rate_docs_per_s(samples, "primaries"),
    "indexing_latency_ms": lambda samples: indexing_latency_ms(samples, "primaries"),
}
"""Figures of the last ten seconds, judged after the warm-up and while records wait."""
COUNTS: Mapping[str, Callable[[Samples], float | None]] = {
    "rejected_docs": _rejected,
    "dead_letters": _of_sink(lambda sink: sink.records_dead_lettered),
    "bulk_requests_failed": _of_sink(lambda sink: sink.bulk_requests_failed),
    "bulk_retries": _of_sink(lambda sink: sink.bulk_retries),
    "item_retries": _of_sink(lambda sink: sink.item_retries),
    "end_to_end_latency_ms_p99": _of_sink(lambda sink: sink.record_age_ms_p99),
    "lag_records_max": lambda samples: samples[-1].kafka.lag_records if samples[-1].kafka else None,
    "heap_used_bytes_max": _heap,
    "rss_bytes_max": lambda samples: max((each.rss_bytes for each in samples[-1].processes.values()), default=None),
    "store_size_bytes": lambda samples: (
        samples[-1].elasticsearch.total.store_size_bytes if samples[-1].elasticsearch else None
    ),
}
"""Figures of the newest sample; of several nodes or processes, that of the largest."""
UNITS = {"rejected_docs": "docs", "dead_letters": "docs"}
"""Of those that are no metric of a result."""


@dataclass(frozen=True)
class Condition:
    """A condition that ends a run, such as `rejected_docs > 100`.

    Attributes:
        name: Of the figure, in full.
    """

    text: str
    name: str
    comparison: str
    bound: float

    def value(self, samples: Samples, growing_since_s: float | None) -> float | None:
        """The figure now; `None` where it is not known or not judged.

        Args:
            samples: Of the load, those of the last ten seconds, at least one.
            growing_since_s: When the index had its first document.
        """
        if self.name in COUNTS:
            return COUNTS[self.name](samples)
        newest = samples[-1]
        has_begun = growing_since_s is not None and samples[0].at_s >= growing_since_s + WARM_UP_S
        # A load that has sent all, or is sent no more, is slow for no fault of the pipeline.
        if not has_begun or (newest.kafka is not None and not newest.kafka.lag_records):
            return None
        return RATES[self.name](samples) if newest.at_s - samples[0].at_s >= WINDOW_S / 2 else None


class AbortWatch:
    """Judges each sample of a load; the sampler's thread hands them in, and the run asks.

    Attributes:
        judged: Conditions of which a sample told whether they hold.
    """

    def __init__(self, conditions: Sequence[Condition]) -> None:
        self._conditions = conditions
        self._samples: deque[Sample] = deque()
        self._growing_since_s: float | None = None
        self.judged: set[Condition] = set()
        self._reason: str | None = None

    def take(self, sample: Sample) -> None:
        """Judge one more sample."""
        if sample.phase != "load" or self._reason or not self._conditions:
            return
        self._samples.append(sample)
        while self._samples[0].at_s < sample.at_s - WINDOW_S:
            self._samples.popleft()
        if self._growing_since_s is None and sample.elasticsearch and sample.elasticsearch.primaries.index_total:
            self._growing_since_s = sample.at_s
        for condition in self._conditions:
            value = condition.value(tuple(self._samples), self._growing_since_s)
            if value is not None:
                self.judged.add(condition)
            if value is not None and COMPARISONS[condition.comparison](value, condition.bound):
                unit = UNITS.get(condition.name) or BY_NAME[condition.name].unit
                self._reason = f"aborted by --abort-on {condition.text}: it was {figure(value, unit)}"
                return

    def check(self) -> str:
        """Nothing, as long as no condition holds; raises AbortError if one does."""
        if self._reason:
            raise AbortError(self._reason)
        return ""


def unjudged(conditions: Sequence[Condition], samples: Samples) -> dict[str, str]:
    """Conditions that no sample of a run could tell → why."""
    watch = AbortWatch(conditions)
    for sample in samples:
        watch.take(sample)
    return {
        f"--abort-on {each.text}": NO_RATE if each.name in RATES else "no sample of the load has this figure"
        for each in conditions
        if each not in watch.judged
    }
