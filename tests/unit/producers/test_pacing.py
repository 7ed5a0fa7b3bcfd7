"""The absolute schedule."""

import numpy as np
import pytest

from producers.pacing import Schedule
from tests.unit.messages import MakeMessage


def test_documents_are_due_at_their_place_in_the_schedule() -> None:
    """Due = start + (number - first) / rate, whatever came before."""
    schedule = Schedule(started_ns=1000, started_epoch_us=5_000_000, first=7, rate_docs_per_s=4.0)
    numbers = np.array([7, 8, 11, 7 + 4_000_003], dtype=np.int64)
    assert schedule.due_ns(numbers).tolist() == [1000, 250_001_000, 1_000_001_000, 1_000_000_750_001_000]


def test_headers_are_eight_bytes_of_epoch_microseconds() -> None:
    """An instant of the monotonic clock becomes one of the wall clock, big-endian."""
    schedule = Schedule(started_ns=1000, started_epoch_us=5_000_000, first=0, rate_docs_per_s=4.0)
    instants = np.array([1000, 2_001_000], dtype=np.int64)
    assert [int.from_bytes(header, "big") for header in schedule.epoch_headers(instants)] == [5_000_000, 5_002_000]
    assert schedule.epoch_us(2_001_000) == 5_002_000


def test_without_a_rate_nothing_is_due(message: MakeMessage) -> None:
    """As fast as possible knows no due times."""
    with pytest.raises(ValueError, match="rate") as error:
        Schedule(0, 0, 0, None).due_ns(np.array([1]))
    assert str(error.value) == message()


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_rate_must_be_positive(rate: float) -> None:
    """A rate of nothing never ends."""
    with pytest.raises(ValueError, match=rf"^rate_docs_per_s: got {rate}, expected more than 0$"):
        Schedule(0, 0, 0, rate)


def test_recorded_documents_are_due_as_they_were_written() -> None:
    """In so many times less time, whatever their numbers."""
    schedule = Schedule(started_ns=1000, started_epoch_us=5_000_000, first=0, rate_docs_per_s=None, pace=2.0)
    recorded_ns = np.array([0, 0, 7_000_000, 4_000_000_000], dtype=np.int64)
    due_ns = schedule.due_ns(np.array([0, 1, 2, 5]), recorded_ns)
    assert due_ns.tolist() == [1000, 1000, 3_501_000, 2_000_001_000]
