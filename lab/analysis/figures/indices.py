"""Figures of a run that fills several indices at once: when each was full, how fast, and how fairly they shared."""

from collections.abc import Iterator, Mapping, Sequence

from lab.analysis.figures.definitions import metric
from lab.analysis.figures.rates import answered, go_on, read_s
from lab.analysis.figures.windows import Windows
from lab.records.result import Metric
from lab.records.run import Run
from lab.records.samples import Sample


def _sent_s(run: Run, number: int) -> float | None:
    """When a direct load had its last answer for an index, after its start."""
    if run.direct is None or number >= len(run.direct.index_ended_s):
        return None
    return run.direct.index_ended_s[number] - run.direct.started_s


def _complete_s(samples: Sequence[Sample], index: str) -> float | None:
    """From the first document of all indices until an index had as many as at the end.

    Both instants lie between two samples; where, follows from the pace before or after.
    """
    if not go_on(samples):
        return None
    totals = [(read_s(sample), totals_of(sample)) for sample in samples]
    all_of = [(at_s, sum(counted.values())) for at_s, counted in totals]
    own = [(at_s, counted[index]) for at_s, counted in totals if index in counted]
    begin = next((place for place, (_, count) in enumerate(all_of) if count), None)
    full = next((place for place, (_, count) in enumerate(own) if count == own[-1][1]), None) if own else None
    if begin is None or begin == 0 or not full:
        return None
    begun_s = _when(0, all_of[begin : begin + 2], all_of[begin - 1][0], all_of[begin][0])
    return _when(own[-1][1], own[max(0, full - 2) : full], own[full - 1][0], own[full][0]) - begun_s


def _when(count: int, pace: Sequence[tuple[float, int]], earliest_s: float, latest_s: float) -> float:
    """When a count is reached that goes on at a pace, between two instants; half-way where the pace is not known."""
    (first_s, first), (last_s, last) = pace[0], pace[-1]
    if last == first:
        return (earliest_s + latest_s) / 2
    reached_s = first_s + (count - first) * (last_s - first_s) / (last - first)
    return min(latest_s, max(earliest_s, reached_s))


def totals_of(sample: Sample) -> Mapping[str, int]:
    """Documents indexed so far, by index."""
    indices = sample.elasticsearch.indices if sample.elasticsearch else {}
    return {name: counters.index_total for name, counters in indices.items()}


def indexing_fairness(samples: Sequence[Sample]) -> float | None:
    """Fairness of the indexing among several indices, by Jain's index, until the first one was full.

    1: all alike; 1/n: one of n had it all. `None` where no sample falls into that time.

    Source: Jain, Chiu, Hawe, "A quantitative measure of fairness and discrimination", 1984: (Σx)² ÷ (n Σx²). Of 50, 30
        and 10 it is 0.771.
    """
    counted = [totals for sample in answered(samples) if (totals := totals_of(sample))]
    if not counted or not go_on(samples):
        return None
    full = counted[-1]
    shared = [t for t in counted if any(t.values()) and all(t.get(name, 0) < full[name] for name in full)]
    if not shared:
        return None
    shares = [float(value) for value in shared[-1].values()]
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def _latency_ms(samples: Sequence[Sample], index: str) -> float | None:
    """Indexing latency of an index's primaries over the load, as Stack Monitoring counts it."""
    counters = [sample.elasticsearch.indices.get(index) for sample in samples if sample.elasticsearch]
    last = next((counter for counter in reversed(counters) if counter), None) if go_on(samples) else None
    return last.index_time_ms / last.index_total if last and last.index_total else None


def of_indices(run: Run, cut: Windows) -> Iterator[Metric]:
    """The figures of several indices, as `index-1` and so on in every variant of a profile; none of a single one.

    Documents count as `index_total` does, an update as often as it was sent. Times are from the first document of any
    index to the last one of each; `None` where that was not seen, as where counters of an index began again.
    """
    if not run.index_documents:
        return
    samples, names = answered(cut.load), {index: f"index-{place}" for place, index in enumerate(run.index_documents, 1)}
    finish_s = {
        index: _sent_s(run, number) or _complete_s(samples, index) for number, index in enumerate(run.index_documents)
    }
    for index, name in names.items():
        yield metric("index_finish_s", finish_s[index], name)
    for index, own in run.index_documents.items():
        lasted_s, documents = finish_s[index], own.indexed + own.already_there
        yield metric("indexing_rate_docs_per_s", documents / lasted_s if lasted_s else None, names[index])
    for index, name in names.items():
        yield metric("indexing_latency_ms", _latency_ms(samples, index), name)
    known = [lasted_s for lasted_s in finish_s.values() if lasted_s]
    yield metric("index_finish_s", max(known) if len(known) == len(names) else None)
    yield metric("index_finish_spread_percent", 100 * (max(known) - min(known)) / max(known) if known else None)
    yield metric("indexing_fairness", indexing_fairness(cut.load))
