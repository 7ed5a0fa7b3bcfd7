"""What `size` tells reaches the rate: tasks and nodes whose truth is known, sized from runs and then loaded."""

import heapq
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from numpy.random import Generator

from lab.analysis.result import analyse
from lab.analysis.sizing.assumptions import Assumptions
from lab.analysis.sizing.measured import measured
from lab.analysis.sizing.sizing import Sizing, Target, sizing
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, run, samples, with_samples, written

IN_FLIGHT, BULK_DOCS = 5, 2000
RATE = 500_000.0
NOISE = 0.05
"""Of the CPU that a run's documents cost, from run to run."""
CPU_US = 200.0
"""Of Elasticsearch for a document, in truth."""
DRAIN_S = 40.0
WORLDS = 40

RequestTimes = Callable[[Generator, int], np.ndarray]
"""So many service times of bulk requests, in seconds."""


def lognormal(draw: Generator, number: int) -> np.ndarray:
    """A mean of 0.33 s and a median of 0.2 s."""
    return draw.lognormal(np.log(0.2), 1.0, number)


def bimodal(draw: Generator, number: int) -> np.ndarray:
    """One request in ten waits for a merge: a mean of 0.29 s and a median of 0.16 s."""
    return draw.normal(0.15, 0.01, number) + 1.4 * (draw.random(number) < 0.1)


def constant(draw: Generator, number: int) -> np.ndarray:  # noqa: ARG001 - as others have it
    """0.3 s each, so that the median is the mean."""
    return np.full(number, 0.3)


def drained(folder: Path, times: RequestTimes, draw: Generator) -> Path:
    """The folder of a run in which one task keeps all of its requests in flight, as sampler and sink tell it."""
    ends_s = np.concatenate([np.cumsum(times(draw, 4000)) for _ in range(IN_FLIGHT)])
    # Where another place for a request begins, its first one has taken all the time from the start.
    taken_s = np.diff(ends_s, prepend=0.0)
    taken_s[taken_s < 0] = ends_s[taken_s < 0]
    answered = ends_s <= DRAIN_S
    ends_s, taken_s = ends_s[answered], taken_s[answered]
    documents = BULK_DOCS * len(ends_s)
    cores = CPU_US * np.exp(draw.normal(0, NOISE)) * documents / 1e6 / DRAIN_S
    truth = Truth(
        docs_per_tick=1, ticks=int(DRAIN_S), warm_up_s=0, cores=(("elasticsearch-1", cores), ("connect", 0.1))
    )

    def counted(sample: Sample) -> dict[str, object]:
        assert sample.elasticsearch is not None
        by_now = ends_s <= sample.at_s - truth.load_starts_s
        requests = int(by_now.sum())
        shards = sample.elasticsearch.primaries.model_copy(update={"index_total": BULK_DOCS * requests})
        counts = {
            "bulk_requests": requests,
            "bulk_documents_total": BULK_DOCS * requests,
            "bulk_service_time_ms_total": int(1000 * taken_s[by_now].sum()),
        }
        return {
            "elasticsearch": sample.elasticsearch.model_copy(update={"primaries": shards, "total": shards}),
            "sink": sample.sink and sample.sink.model_copy(update=counts),
        }

    histogram = HdrHistogram(1, 3_600_000_000, 3)
    for taken in taken_s:
        histogram.record_value(round(1e6 * taken))
    made = run(truth)
    counts = dict.fromkeys(("produced", "delivered", "indexed"), documents)
    histograms = made.sink_histograms.model_copy(update={"bulk_service_time": histogram.encode().decode()})
    changes = {
        "run_id": folder.name,
        "documents": made.documents.model_copy(update=counts),
        "sink_histograms": histograms,
        "questions": (),
        "store_size_bytes": {"primaries": 500 * documents, "total": 500 * documents},
    }
    return written(folder, made.model_copy(update=changes), with_samples(samples(truth), counted))


def sized(folder: Path, times: RequestTimes, draw: Generator, runs: int) -> Sizing:
    """What `size` makes of so many runs."""
    analyses = [analyse(drained(folder / f"run-{number}", times, draw)) for number in range(runs)]
    return sizing(Target(RATE, days=1, replicas=0), measured(analyses), Assumptions())


def share_reached(times: RequestTimes, draw: Generator, tasks: float) -> float:
    """Documents that so many tasks write of those that are due, over some minutes, each with its share of the rate."""
    every_s, requests = BULK_DOCS * tasks / RATE, 4000
    slots = [0.0] * IN_FLIGHT
    due_s = every_s * np.arange(requests)
    for at_s, taken in zip(due_s, times(draw, requests), strict=True):
        heapq.heapreplace(slots, max(slots[0], at_s) + taken)
    return float(min(1.0, due_s[-1] / max(slots)))


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("times", [lognormal, bimodal, constant])
def test_the_tasks_that_are_told_reach_the_rate(tmp_path: Path, times: RequestTimes, runs: int) -> None:
    """In 19 of 20 worlds; and they are no more than the headroom that is stated makes of those needed."""
    reached, oversized = [], []
    needed = RATE * times(np.random.default_rng(0), 100_000).mean() / (IN_FLIGHT * BULK_DOCS)
    for world in range(WORLDS // runs):
        draw = np.random.default_rng(world)
        outcome = sized(tmp_path / str(world), times, draw, runs)
        reached.append(share_reached(times, draw, outcome.tasks.value) >= 0.99)
        interval = outcome.tasks.most / outcome.tasks.value
        oversized.append(outcome.tasks.value / needed * outcome.assumptions.utilisation / interval)
    assert sum(reached) >= 0.95 * len(reached)
    assert median(oversized) <= 1.02


def test_the_nodes_that_are_told_have_the_cores_for_the_rate(tmp_path: Path) -> None:
    """Whatever a few runs make of what a document costs; no more than headroom, interval and a spare one make of it."""
    assumed = Assumptions()
    needed = RATE * CPU_US / 1e6 / assumed.cores
    machines = []
    for world in range(WORLDS // 3):
        outcome = sized(tmp_path / str(world), constant, np.random.default_rng(world), 3)
        assert outcome.parts[0].decided_by == "CPU"
        machines.append(outcome.nodes)
    assert min(each.value for each in machines) >= needed
    assert median(each.value - assumed.spare for each in machines) <= needed / assumed.utilisation * 1.05 + 1
