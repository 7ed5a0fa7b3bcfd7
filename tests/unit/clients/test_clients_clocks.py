"""How far another clock is away, by what it says and ours before and after."""

import random
from dataclasses import dataclass, field

import httpx
import pytest

from lab.clients.clocks import Reading, ahead_of_agent, offset
from lab.records.drivers import ClockOffset, covering_offset


def clock(ahead_ms: float, bound_ms: float) -> ClockOffset:
    """An offset."""
    return ClockOffset(ahead_ms=ahead_ms, bound_ms=bound_ms)


def test_one_reading_bounds_the_offset_by_how_long_it_took_and_by_what_was_cut_off() -> None:
    """The worked example of the docstring."""
    found = offset([Reading(10.000, 9.701, 10.004, 0.001)])
    assert found is not None
    assert (found.ahead_ms, found.bound_ms) == (pytest.approx(300.5), pytest.approx(2.5))


def test_readings_together_leave_what_each_of_them_leaves() -> None:
    """A slow one before the beginning of a second and a slow one after it say more than either."""
    found = offset([Reading(10.000, 9.0, 10.290, 1.0), Reading(10.310, 10.0, 10.600, 1.0)])
    assert found is not None
    # The first says 0 to 1,290 ms, the second -690 to 600.
    assert (found.ahead_ms, found.bound_ms) == (pytest.approx(300), pytest.approx(300))


@pytest.mark.parametrize("ahead_s", [-97.3, -0.3, 0.0, 0.0007, 0.3])
def test_the_true_offset_is_always_within_the_bound(ahead_s: float) -> None:
    """However long requests and answers take, and however uneven they are."""
    dice = random.Random(7)  # noqa: S311 - the same times in every test
    readings = []
    for number in range(23):
        before_s = 1000 + number * 0.0237
        there_s = before_s + dice.expovariate(1000)
        theirs_s = int((there_s - ahead_s) * 1000) / 1000
        readings.append(Reading(before_s, theirs_s, there_s + dice.expovariate(200), 0.001))
        found = offset(readings)
        assert found is not None
        assert abs(found.ahead_ms - 1000 * ahead_s) <= found.bound_ms + 1e-6
    assert found.bound_ms < 1


def test_a_clock_that_was_set_meanwhile_has_no_offset() -> None:
    """Nor has one that nobody could read."""
    assert offset([Reading(10.0, 10.0, 10.001, 0.001), Reading(11.0, 10.9, 11.001, 0.001)]) is None
    assert offset([]) is None


def test_offsets_by_way_of_a_third_clock_add_up_with_their_bounds() -> None:
    """A driver 300 ms ahead of the broker, and a worker 20 ms ahead of it: the driver is 280 ms ahead of the worker."""
    assert clock(300, 2).minus(clock(20, 5)) == clock(280, 7)
    assert clock(-300, 2).most_ms == 302


def test_an_offset_that_changed_covers_both() -> None:
    """A clock that drifts from 1 to 5 ms, each known to 1 ms, was 0 to 6 ms ahead."""
    assert covering_offset([clock(1, 1), clock(5, 1)]) == clock(3, 3)
    assert covering_offset([clock(1, 1), None]) is None
    assert covering_offset([]) is None


# --- the worker's agent ---------------------------------------------------------------------------------------------


@dataclass
class Worker:
    """An agent whose clock is behind ours by so much, in simulated time; each way takes a millisecond.

    Attributes:
        asked: How often it was asked.
    """

    behind_s: float
    status: int = 200
    body: dict[str, object] | None = None
    now: float = 1_700_000_000.123
    asked: int = field(default=0, init=False)

    def client(self, **_: object) -> httpx.Client:
        """As `HttpAccess` gives one."""
        return httpx.Client(transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        """The whole second that its clock stands in."""
        assert request.url.path == "/jolokia/version"
        self.asked += 1
        self.now += 0.001
        body = {"timestamp": int(self.now - self.behind_s)} if self.body is None else self.body
        self.now += 0.001
        return httpx.Response(self.status, json=body)

    def sleep(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds

    def ahead(self) -> ClockOffset | None:
        """How far we are ahead of it."""
        return ahead_of_agent("http://worker/jolokia/", self, lambda: self.now, self.sleep)  # type: ignore[arg-type]


@pytest.mark.parametrize("behind_s", [0.3, 0.0, -0.3, 0.877, -61.5])
def test_an_agent_that_tells_whole_seconds_is_known_to_a_few_milliseconds(behind_s: float) -> None:
    """Without asking it much."""
    worker = Worker(behind_s)
    found = worker.ahead()
    assert found is not None
    assert abs(found.ahead_ms - 1000 * behind_s) <= found.bound_ms <= 4
    assert worker.asked < 70


@pytest.mark.parametrize(("status", "body"), [(404, {}), (200, {"timestamp": "noon"}), (200, {"value": 7})])
def test_an_agent_that_tells_no_time_is_not_compared(status: int, body: dict[str, object]) -> None:
    """The run goes on without its latencies."""
    assert Worker(0.3, status, body).ahead() is None
