"""What was taken from a run while it was measured, and when that is too much."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.disturbance import disturbance
from lab.analysis.report_page.sections import machine_cpu
from lab.analysis.result import analyse
from lab.records.result import Result
from lab.records.run import RunWarning, WarningKind
from lab.records.samples import Sample
from tests.unit.analysis.query_truth import PART_S, QueryTruth, query_run, query_samples
from tests.unit.analysis.synthetic import Truth, directly, elsewhere, run, samples, with_samples, written
from tests.unit.messages import MakeMessage, Naming

BUSY = Truth(machine_cpu_percent=100.0)
LOAD_ENDS_S = BUSY.load_starts_s + BUSY.load_s


def taken(steal_percent: float, other_percent: float) -> Callable[[Sample], dict[str, Any]]:
    """Taken from each interval of the load; of all others five times as much, and a slower probe."""

    def change(sample: Sample) -> dict[str, Any]:
        is_load = BUSY.load_starts_s < sample.at_s <= LOAD_ENDS_S
        factor = 1 if is_load else 5
        return {
            "machine_steal_percent": factor * steal_percent,
            "other_cpu_percent": factor * other_percent,
            "probe_wall_ms": 7.0 if is_load else 31.0,
            "probe_cpu_ms": 3.0 if is_load else 2.0,
        }

    return change


def result(folder: Path, change: Callable[[Sample], dict[str, Any]]) -> Result:
    """The result of a run whose samples are changed so."""
    return analyse(written(folder, run(BUSY), with_samples(samples(BUSY), change))).result


def warned(of: Result) -> list[RunWarning]:
    """What it says of a busy machine."""
    return [warning for warning in of.warnings if warning.kind is WarningKind.BUSY_MACHINE]


def test_what_was_taken_is_told_of_the_measured_window_alone(tmp_path: Path) -> None:
    """What happens before and after it costs the run nothing; the fastest probe may be of any time."""
    metrics = result(tmp_path, taken(3.0, 7.0)).metrics
    names = ("machine_steal_percent_mean", "other_cpu_percent_mean", "probe_slowdown")
    assert [value_of(metrics, name) for name in names] == [3.0, 7.0, 3.5]


def test_clocks_that_differ_are_no_negative_use(tmp_path: Path) -> None:
    """A mean below 0 is none at all."""
    assert value_of(result(tmp_path, taken(0.0, -0.3)).metrics, "other_cpu_percent_mean") == 0.0


@pytest.mark.parametrize(
    ("steal_percent", "other_percent", "facts"),
    [
        (10.0, 10.0, ()),
        (13.0, 3.0, ("hypervisor", 13)),
        (3.0, 17.0, ("other programs", 17)),
        (13.0, 17.0, ("hypervisor", 13, "other programs", 17)),
    ],
)
def test_more_than_a_tenth_of_the_cores_is_too_much(
    tmp_path: Path, steal_percent: float, other_percent: float, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """For the hypervisor and for other programs alike; the run's own warning says the same as the rule."""
    found = result(tmp_path, taken(steal_percent, other_percent))
    assert disturbance(found) == (message(*facts) if facts else None)
    assert [warning.seen for warning in warned(found)] == ([message(*facts)] if facts else [])


def test_a_load_too_short_for_a_window_tells_what_was_taken_from_it(tmp_path: Path, message: MakeMessage) -> None:
    """Its CPU per document is compared with others, so it is repeated, and warned of, as any other.

    The load is from the first document on: what is taken while the sink starts costs it nothing.
    """
    short = Truth(ticks=6, warm_up_s=2, machine_cpu_percent=100.0)
    grows_s = short.load_starts_s + short.warm_up_s

    def change(sample: Sample) -> dict[str, Any]:
        is_load = grows_s < sample.at_s <= short.load_starts_s + short.load_s
        return {"machine_steal_percent": 0.0, "other_cpu_percent": 43.0 if is_load else 99.0}

    found = analyse(written(tmp_path, run(short), with_samples(samples(short), change))).result
    assert found.measured_window is None
    assert value_of(found.metrics, "other_cpu_percent_mean") == 43.0
    assert disturbance(found) == message("other programs", 43, "during the load")
    assert [warning.seen for warning in warned(found)] == [disturbance(found)]
    assert machine_cpu(found) == message("During the load", 100, 43)


def test_cores_of_processes_are_of_the_same_samples_as_those_of_the_machine(tmp_path: Path) -> None:
    """They stand in one table; a load of 6 s is 5 s of growth, and of one second there would be a rate."""
    short = Truth(ticks=6)
    began_s = short.load_starts_s + short.warm_up_s

    def change(sample: Sample) -> dict[str, Any]:
        node = sample.processes["elasticsearch-1"]
        cpu_s = 29.0 + min(4.0, max(0.0, sample.at_s - began_s - 1.0))
        return {"processes": {"elasticsearch-1": node.model_copy(update={"cpu_s": cpu_s})}}

    found = analyse(written(tmp_path, run(short), with_samples(samples(short), change))).result
    assert found.measured_window is None
    assert value_of(found.metrics, "cpu_cores_mean", "elasticsearch-1") == pytest.approx(4 / 5)


def test_queries_are_judged_by_their_measured_part_however_short(tmp_path: Path) -> None:
    """What is taken from their warm-up costs no query that counts."""
    truth = QueryTruth()
    made = query_run(truth)
    assert made.query_load
    short = made.query_load.model_copy(update={"ended_s": PART_S + 3.5})

    def change(sample: Sample) -> dict[str, Any]:
        return {"machine_steal_percent": 0.0, "other_cpu_percent": 43.0 if sample.at_s > PART_S else 99.0}

    sampled = with_samples(query_samples(truth), change)
    found = analyse(written(tmp_path, made.model_copy(update={"query_load": short}), sampled)).result
    assert value_of(found.metrics, "other_cpu_percent_mean") == 43.0
    assert disturbance(found) == Naming("other programs", 43, "in the measured window")
    assert [warning.seen for warning in warned(found)] == [disturbance(found)]


def test_a_void_window_is_not_called_the_measured_one(tmp_path: Path) -> None:
    """The report has none then, and what was taken is told of the load."""
    made, seen = directly(BUSY)
    falls_s = BUSY.load_starts_s + 12

    def change(sample: Sample) -> dict[str, Any]:
        assert sample.elasticsearch
        lost = 20_011 if sample.at_s > falls_s else 0
        total = sample.elasticsearch.primaries.index_total - lost
        counted = sample.elasticsearch.primaries.model_copy(update={"index_total": total})
        return {
            "elasticsearch": sample.elasticsearch.model_copy(update={"primaries": counted}),
            "machine_steal_percent": 0.0,
            "other_cpu_percent": 43.0,
        }

    found = analyse(written(tmp_path, made, with_samples(seen, change))).result
    assert found.measured_window is None
    assert disturbance(found) == Naming("other programs", 43, "during the load")
    assert [warning.seen for warning in warned(found)] == [disturbance(found)]


def test_of_a_load_without_a_window_no_unknown_process_is_said_to_have_taken_cores(tmp_path: Path) -> None:
    """A process is known by two looks at it: in one sample of growth all that the servers did would be others'."""
    instant = Truth(ticks=1)
    found = analyse(written(tmp_path, run(instant), samples(instant))).result
    assert value_of(found.metrics, "machine_cpu_percent_mean") == 97.0
    assert warned(found) == []


def test_time_without_samples_counts_as_long_as_it_was(tmp_path: Path) -> None:
    """Programs that fill a machine leave the sampler no core, either: of 19 s the 9 in the middle have one sample."""
    before_s, after_s = BUSY.load_starts_s + 10, BUSY.load_starts_s + 19

    def change(sample: Sample) -> dict[str, Any]:
        return {"machine_steal_percent": 0.0, "other_cpu_percent": 90.0 if sample.at_s == after_s else 2.0}

    seen = [sample for sample in with_samples(samples(BUSY), change) if not before_s < sample.at_s < after_s]
    found = analyse(written(tmp_path, run(BUSY), seen)).result
    assert value_of(found.metrics, "other_cpu_percent_mean") == pytest.approx((10 * 2 + 9 * 90) / 19)
    assert disturbance(found) == Naming("other programs", 43.7)


def test_the_warning_names_cause_and_remedy(tmp_path: Path, message: MakeMessage) -> None:
    """Programs can be ended, neighbours cannot."""
    (warning,) = warned(result(tmp_path, taken(13.0, 3.0)))
    assert warning.likely_cause == message()
    assert warning.remedy == message()


def test_a_record_that_knows_nothing_of_it_is_not_called_disturbed(tmp_path: Path) -> None:
    """Those of older versions: the figures are there and have no value."""
    found = result(tmp_path, lambda _: {})
    assert disturbance(found) is None
    names = ("machine_steal_percent_mean", "other_cpu_percent_mean", "probe_slowdown")
    assert [value_of(found.metrics, name) for name in names] == [None, None, None]


def test_what_disturbs_this_machine_does_not_disturb_servers_elsewhere(tmp_path: Path) -> None:
    """It is another one."""
    made, seen = elsewhere(BUSY)
    found = analyse(written(tmp_path, made, with_samples(seen, taken(41.0, 43.0)))).result
    assert disturbance(found) is None
    assert warned(found) == []


def test_a_full_machine_is_told_who_had_its_cores(tmp_path: Path, message: MakeMessage) -> None:
    """13 and 17 % of two cores, as they were measured: not whatever the run's own processes leave."""
    found = result(tmp_path, taken(13.0, 17.0)).limited_by
    assert found is not None
    assert found.evidence == message("other programs 0.34", "hypervisor 0.26")
