"""Delays between topic and index, by the curves of both."""

import numpy as np
import pytest

from lab.analysis.figures.delay import catch_up_s, delays_s, event_end_s
from lab.records.run import Course, StageRecord

SECONDS = tuple(float(second) for second in range(31))
ARRIVED = (SECONDS, tuple(100 * second for second in range(31)))


def indexed(*counts: int) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Readings a second apart."""
    return SECONDS[: len(counts)], counts


def test_a_record_waits_for_the_distance_of_the_two_curves() -> None:
    """Every record is indexed three seconds after it came."""
    late = indexed(*(max(0, 100 * (second - 3)) for second in range(31)))
    delays = delays_s(ARRIVED, late, 5, 20)
    assert np.percentile(delays, [1, 50, 99]) == pytest.approx([3, 3, 3])


def test_a_spike_that_is_served_at_a_rate_waits_longer_and_longer() -> None:
    """1,000 records come within a second, and 100 of them are indexed in each: the last one waits nine seconds."""
    arrived = ((0.0, 1.0, 20.0), (0, 1000, 1000))
    delays = delays_s(arrived, indexed(*(min(1000, 100 * second) for second in range(21))), 0, 1)
    assert delays.max() == pytest.approx(9, abs=0.1)
    assert np.median(delays) == pytest.approx(4.5, abs=0.1)


def test_records_that_were_not_indexed_have_no_delay_that_could_be_told() -> None:
    """Percentiles of the others would flatter a pipeline that loses some."""
    assert len(delays_s(ARRIVED, indexed(*(90 * second for second in range(31))), 20, 30)) == 0
    assert len(delays_s(ARRIVED, ((), ()), 0, 30)) == 0


def test_an_index_that_grew_by_more_than_came_tells_no_delay() -> None:
    """What a pipeline sends twice is counted twice: five seconds of delay seemed to be three."""
    twice = indexed(*(max(0, 110 * (second - 5)) for second in range(31)))
    more = ((*twice[0], 40.0), (*twice[1], 3300))
    assert len(delays_s(ARRIVED, more, 5, 20)) == 0
    assert catch_up_s(ARRIVED, more, 10) is None


def test_a_pipeline_has_caught_up_once_nothing_old_waits() -> None:
    """The cluster was away until 10 s; at 15 s the index holds all that the topic held at 13 s."""
    counts = [0] * 11 + [300, 600, 900, 1200, 1500, 1600]
    assert catch_up_s(ARRIVED, indexed(*counts), 10) == 4
    assert catch_up_s(ARRIVED, indexed(*[0] * 31), 10) is None


def test_a_spike_that_came_just_now_is_no_smaller_for_it() -> None:
    """What came within the last two seconds may wait, but nothing of the spike: 200,000 seemed to take 0.1 s."""
    arrived = (SECONDS, tuple(100 * second + (4000 if second > 10 else 0) for second in range(31)))
    assert catch_up_s(arrived, indexed(*(100 * second for second in range(12)), *[1100] * 8, 5800), 11) == 9


def test_what_a_pipeline_catches_up_with_is_the_pause_or_the_spike() -> None:
    """A first stage that was drained is no spike."""
    drained, calm, spike = (
        StageRecord(documents=9, rate_docs_per_s=rate, started_s=began_s, ended_s=began_s + 1)
        for rate, began_s in ((None, 1.0), (100.0, 5.0), (None, 7.0))
    )
    assert event_end_s(Course(stages=(drained, calm))) is None
    assert event_end_s(Course(stages=(calm, spike, calm))) == 8
    assert event_end_s(Course(stages=(calm,), paused_s=20, resumed_s=80)) == 80
