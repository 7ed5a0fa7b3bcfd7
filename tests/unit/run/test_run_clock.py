"""Instants of a run, taken while somebody sets the machine's clock."""

import time

import pytest

from lab.monitor.sampler import SystemClock
from lab.run.phases import PhaseClock


def test_a_clock_that_is_set_makes_no_phase_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour forward in the midst of a phase; the samples of that phase still lie within it."""
    clock, sampled = PhaseClock(), SystemClock()
    began_s = time.time()
    with clock.phase("load"):
        monkeypatch.setattr(time, "time", lambda: began_s + 3600)
        sample_s = sampled.now_s()
    (phase,) = clock.phases
    assert phase.ended_s - phase.started_s < 60
    assert phase.started_s - 1 < sample_s < phase.ended_s + 1
