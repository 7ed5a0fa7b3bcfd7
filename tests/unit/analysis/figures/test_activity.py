"""Background work in the measured window."""

from typing import Any

import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.metrics import window_activity
from lab.analysis.figures.windows import windows
from lab.records.samples import Sample
from tests.unit.analysis.synthetic import Truth, samples, with_samples


def compiling(sample: Sample) -> dict[str, Any]:
    """A worker that compiles for 3 ms in each second of the load."""
    if sample.sink is None:
        return {}
    return {"sink": sample.sink.model_copy(update={"jit_time_ms": 10_007 + 3 * round(sample.at_s - 1_800_000_000)})}


def test_only_what_happens_in_the_window_counts() -> None:
    """19 samples are 18 intervals, whatever went on in the run before and after them."""
    window = windows(with_samples(samples(Truth(replicas=1)), compiling)).window
    assert len(window) == 19
    figures = tuple(window_activity(window, ["connect", "elasticsearch-1", "kafka", "producer"]))
    assert value_of(figures, "window_gc_time_ms", "elasticsearch-1") == 18 * 11
    assert value_of(figures, "window_refresh_count", "primaries") == 18
    assert value_of(figures, "window_refresh_count", "total") == 36
    assert value_of(figures, "window_merge_count", "primaries") == 6
    assert value_of(figures, "window_merge_time_ms", "primaries") == 6 * 211
    assert value_of(figures, "window_jit_time_ms", "connect") == 54


def test_compiling_of_a_worker_that_did_not_answer_once_is_no_growth() -> None:
    """Another worker of the group, without a task, has compiled for a minute before, and is missing in one sample."""
    missing_s = Truth().load_starts_s + 12

    def of_two(sample: Sample) -> dict[str, object]:
        if sample.sink is None or sample.sink.jit_time_ms is None:
            return {}
        other_ms = 0 if sample.at_s == missing_s else 60_000
        return {"sink": sample.sink.model_copy(update={"jit_time_ms": sample.sink.jit_time_ms + other_ms})}

    window = windows(with_samples(with_samples(samples(Truth()), compiling), of_two)).window
    assert value_of(tuple(window_activity(window, ["connect"])), "window_jit_time_ms", "connect") is None


@pytest.mark.parametrize("server", ["elasticsearch-1", "kafka"])
def test_a_server_that_does_not_say_what_it_compiles_is_not_known(server: str) -> None:
    """Not zero; and a producer has no virtual machine at all."""
    figures = window_activity(windows(samples(Truth())).window, [server, "producer"])
    assert [(metric.scope, metric.value) for metric in figures if "jit" in metric.name] == [(server, None)]
