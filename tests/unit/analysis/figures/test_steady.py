"""Where a warm-up ends, and what is no steady state."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.analysis.figures.definitions import value_of
from lab.analysis.figures.warnings import no_steady_state
from lab.analysis.figures.windows import SteadyState, steady_state, windows
from lab.analysis.result import analyse
from lab.records.result import Result
from lab.records.run import WarningKind
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.analysis.test_windows import run as sampled
from tests.unit.messages import MakeMessage

WARM = Truth(ticks=31, docs_per_tick=10_007)


def result(folder: Path, truth: Truth) -> Result:
    """The result of a synthetic run."""
    return analyse(written(folder, run(truth), samples(truth))).result


def test_the_cut_is_the_one_of_the_worked_example() -> None:
    """2, 6 and 9 are warm-up, ten is the level."""
    assert steady_state([2, 6, 9, 10, 10, 10, 10, 10, 10, 10]) == SteadyState(3, reached=True)


def test_a_level_series_is_not_cut() -> None:
    """Nothing is gained by it."""
    assert steady_state([10.0] * 11) == SteadyState(0, reached=True)


@pytest.mark.parametrize(("values", "cut"), [(53, 13), (50, 15), (49, 11)])
def test_long_series_are_cut_in_batches_of_five(values: int, cut: int) -> None:
    """Eleven values are warm-up: of 53, three left over and two batches; of 50, three batches; of 49, eleven."""
    assert steady_state([3.0] * 11 + [10.0] * (values - 11)) == SteadyState(cut, reached=True)


def test_one_half_at_most_is_cut() -> None:
    """Though without the nine the rest would be surer still."""
    assert steady_state([1.0] * 5 + [9.0] + [10.0] * 4) == SteadyState(5, reached=True)


@pytest.mark.parametrize(("late", "reached"), [(8.1, False), (8.4, True)])
def test_halves_that_differ_by_a_tenth_are_a_level(late: float, reached: bool) -> None:  # noqa: FBT001
    """By 10.9 % they are none, by 9.1 % they are one."""
    assert steady_state([10.0] * 17 + [late] * 6) == SteadyState(0, reached=reached)


@pytest.mark.parametrize(
    "values",
    [
        [float(value) for value in range(10, 33)],
        [float(value) for value in range(33, 10, -1)],
        [10.0] * 17 + [5.0] * 6,
        [0.4, 1.0, 1.6, 2.4, 3.1, 3.0, 3.1, 3.5, 1.4, 0.4],
    ],
    ids=["rising", "falling", "a late fall", "a run seen on a cluster that rejects"],
)
def test_a_series_that_comes_to_no_level_is_no_steady_state(values: list[float]) -> None:
    """The best cut is not a good one."""
    found = steady_state(values)
    assert found is not None
    assert not found.reached


def test_seven_values_tell_nothing() -> None:
    """Neither that they are steady nor that they are not; eight do."""
    assert steady_state([10.0] * 7) is None
    assert steady_state([10.0] * 8) == SteadyState(0, reached=True)


def test_halves_of_a_window_that_is_too_short_are_not_told() -> None:
    """It is no measured window: twelve rates that rise all along, at a sample each 0.4 s."""
    cut = windows(sampled(*(second**2 for second in range(25)), step_s=0.4))
    assert (len(cut.rates_per_s), cut.is_steady, cut.measured) == (12, False, None)
    assert no_steady_state(run(Truth()), cut) is None


@pytest.mark.parametrize("count", [11, 23, 59])
def test_noise_alone_is_seldom_taken_for_a_drift(count: int) -> None:
    """Rates that vary by 8 % from second to second are steady in 19 of 20 runs at least."""
    draw = np.random.default_rng(3)
    found = [steady_state(draw.normal(1, 0.08, count).tolist()) for _ in range(211)]
    assert sum(cut is not None and cut.reached for cut in found) >= 0.95 * 211


def test_a_warm_up_of_five_seconds_is_found_in_noise() -> None:
    """Half the rate for five of 31 seconds: at least four of them are cut, and seldom much more."""
    draw = np.random.default_rng(5)
    level = np.where(np.arange(31) < 5, 0.5, 1.0)
    cuts = [steady_state((level * draw.normal(1, 0.05, 31)).tolist()) for _ in range(101)]
    begins = [cut.begins for cut in cuts if cut is not None]
    assert min(begins) >= 4
    assert float(np.median(begins)) <= 8


def test_the_rate_of_a_run_is_that_of_its_steady_state(tmp_path: Path) -> None:
    """Half the rate for six seconds, and then the level: the level is what the run is worth."""
    found = result(tmp_path, replace(WARM, shape=lambda tick: 0.5 if tick < 6 else 1.0))
    window = found.measured_window
    assert window is not None
    assert (window.warm_up_s, window.steady) == (5.0, True)
    assert value_of(found.metrics, "indexing_rate_docs_per_s", "primaries") == pytest.approx(10_007.0)
    assert value_of(found.metrics, "drain_s") == pytest.approx(34.017)


def test_the_interval_in_which_indexing_ended_does_not_count(tmp_path: Path) -> None:
    """A last second with a tenth of the documents is no slow second."""
    found = result(tmp_path, replace(WARM, shape=lambda tick: 0.1 if tick == 30 else 1.0))
    assert value_of(found.metrics, "indexing_rate_docs_per_s", "primaries") == pytest.approx(10_007.0)


def test_a_run_without_a_steady_state_is_marked_and_keeps_the_rest_of_its_window(
    tmp_path: Path, message: MakeMessage
) -> None:
    """A rate that rises to twice its beginning: the figures are those of all but the start, and the reader is told."""
    found = result(tmp_path, replace(WARM, shape=lambda tick: 0.5 + tick / 60))
    window = found.measured_window
    assert window is not None
    assert (window.warm_up_s, window.steady, window.samples) == (3.0, False, 27)
    told = [warning.seen for warning in found.warnings if warning.kind is WarningKind.NO_STEADY_STATE]
    assert told == [message("6,670", "8,840", "5,670", "9,840")]


def test_a_short_run_is_neither_steady_nor_marked(tmp_path: Path) -> None:
    """Too few samples to tell."""
    truth = replace(WARM, ticks=7)
    assert windows(samples(truth)).is_steady is None
    assert WarningKind.NO_STEADY_STATE not in {warning.kind for warning in result(tmp_path, truth).warnings}


def test_a_rate_that_rises_after_the_warm_up_is_told_by_its_first_six_seconds(tmp_path: Path) -> None:
    """Seven ticks of 10,006 and then 15,009: the fourth to the sixth second against the next three."""
    rising = replace(WARM, docs_per_tick=10_006, shape=lambda tick: 1.0 if tick < 7 else 1.5)
    assert result(tmp_path / "rising", rising).rate_rise == pytest.approx(1.5)
    assert result(tmp_path / "level", WARM).rate_rise == pytest.approx(1.0)
    assert result(tmp_path / "stream", replace(WARM, load="stream", rate_docs_per_s=10_007.0)).rate_rise is None
