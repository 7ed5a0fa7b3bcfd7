"""The knee of a ramp: by a worked example, where it is not to be had, and of simulated queues."""

import heapq
from math import log

import numpy as np
import pytest

from lab.analysis.statistics.knee import Knee, knee, p99_interval_ms
from lab.records.queries import RampStep
from lab.run.ramp import next_rate, ramp_rates
from tests.unit.analysis.query_truth import step
from tests.unit.analysis.synthetic import START_S
from tests.unit.messages import MakeMessage

M_M_1 = [step(rate, 1000 * log(100) / (100 - rate)) for rate in (40.0, 50.0, 62.5)]
"""Steps of a queue that serves 100 per s, whose p99 is ln 100 / (100 - rate)."""


def test_the_knee_of_the_worked_example_is_found_to_the_word() -> None:
    """One server of 100 per s keeps p99 below 100 ms up to 53.9 per s; 50 surely keeps it, 62.5 surely breaks it."""
    found = knee(M_M_1, 100.0)
    assert found == Knee(pytest.approx(100 - log(100) / 0.1), 50.0, 62.5)


def test_steps_in_any_order_have_one_knee() -> None:
    """A ramp goes back and tries rates between those that it has tried."""
    assert knee(M_M_1[::-1], 100.0) == knee(M_M_1, 100.0)


@pytest.mark.parametrize(
    ("steps", "bound_ms", "facts"),
    [
        (M_M_1, 70.0, ("lower rate",)),
        (M_M_1, 130.0, ("rise further",)),
        ([], 100.0, ("no step",)),
        (M_M_1, None, ("no step",)),
    ],
)
def test_a_ramp_that_does_not_reach_the_bound_has_no_knee(
    steps: list[RampStep], bound_ms: float | None, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """And says what to do; the last rate tried is no knee."""
    assert knee(steps, bound_ms) == Knee(None, None, None, message(*facts))


def test_a_step_that_fails_more_than_one_query_in_a_hundred_breaks_any_bound() -> None:
    """Of its queries the slowest hundredth has no answer at all; up to that many errors change nothing."""
    kept = step(50.0, 10.0)
    failed, borne = (step(60.0, 12.0, answered=9900, errors=errors) for errors in (101, 100))
    assert knee([kept, failed], 100.0) == Knee(pytest.approx(50 + 10 * 0.9), 50.0, 60.0)
    assert knee([kept, borne], 100.0).rate_per_s is None


def test_a_step_without_any_answer_breaks_the_bound() -> None:
    """The servers were down from there on: it was said that no step breaks it, and to let the ramp rise further."""
    down = step(60.0, 12.0).model_copy(update={"answered": 0, "errors": 10_000, "latency_ms": {}})
    assert knee([step(50.0, 10.0), down], 100.0) == Knee(pytest.approx(50 + 10 * 0.9), 50.0, 60.0)
    assert knee([down], 100.0) == knee([], 100.0)


def test_steps_out_of_order_are_made_even() -> None:
    """A lower rate that broke the bound and a higher one that kept it count together, as one rate in doubt."""
    out_of_order = [step(40.0, 50.0), step(50.0, 110.0), step(52.0, 90.0), step(60.0, 200.0)]
    together = (1 / 110 + 1 / 90) / 2
    found = knee(out_of_order, 100.0)
    share = (together - 1 / 100) / (together - 1 / 200)
    assert found == Knee(pytest.approx(52 + share * 8), 40.0, 60.0)


def test_a_step_of_few_queries_is_not_sure() -> None:
    """Of 100 queries p99 is the slowest but one: 62.5 per s may well keep the bound; at 50 even the slowest kept it."""
    few = [step(each.rate_per_s, each.latency_ms["p99"], answered=100) for each in M_M_1]
    assert knee(few, 100.0) == Knee(pytest.approx(100 - log(100) / 0.1), 50.0, None)


def test_the_interval_of_p99_is_that_of_its_ranks() -> None:
    """4,000 queries that hardly wait are as 1,000: ln(1/0.01617) and ln(1/0.00383) of an exponential tail."""
    low, high = p99_interval_ms(step(10.0, 1000 * log(100), answered=4000), 1000 * log(100))
    assert (low, high) == (
        pytest.approx(1000 * -log(0.016167), rel=0.001),
        pytest.approx(1000 * -log(0.003833), rel=0.001),
    )


def test_queries_that_wait_for_each_other_tell_less() -> None:
    """Where p99 is twice that of an idle server, it takes four times as many for the same interval."""
    idle = p99_interval_ms(step(10.0, 100.0, answered=4000), 100.0)
    busy = p99_interval_ms(step(10.0, 100.0, answered=16_000), 50.0)
    assert busy == pytest.approx(idle, rel=0.001)


def ramp_of_queue(random: np.random.Generator, servers: int, step_s: float) -> list[RampStep]:
    """A ramp over a queue that serves 200 per s and server, each time between 0.2 and 2 times as long as on average."""
    rates, taken = ramp_rates(50.0 * random.uniform(1, 1.25), 1.25), []
    rate: float | None = next(rates)
    while rate is not None:
        due_s = np.arange(int(rate * step_s)) / rate
        free_s, done_s = [0.0] * servers, []
        for due, service_s in zip(due_s, random.gamma(4, 1 / 800, len(due_s)), strict=True):
            done = max(heapq.heappop(free_s), due) + service_s
            heapq.heappush(free_s, done)
            done_s.append(done)
        percentiles = np.percentile(1000 * (np.array(done_s) - due_s), [50, 90, 99, 99.9, 100])
        latency_ms = dict(zip(("p50", "p90", "p99", "p99_9", "max"), map(float, percentiles), strict=True))
        taken.append(
            RampStep(
                rate_per_s=rate,
                started_s=START_S,
                ended_s=START_S + max(done_s),
                answered=len(due_s),
                errors=0,
                latency_ms=latency_ms,
            )
        )
        rate = next_rate(rates, is_broken=latency_ms["p99"] > 50)
    return taken


@pytest.mark.parametrize("servers", [1, 2])
def test_two_ramps_over_one_queue_find_knees_within_ten_percent(servers: int) -> None:
    """Nine pairs in ten, at least, of steps of 5 s; the starting rates differ."""
    random = np.random.default_rng(15)
    knees = [knee(ramp_of_queue(random, servers, 5.0), 50.0).rate_per_s for _ in range(20)]
    pairs = [
        abs(log(first / second)) for first, second in zip(knees[::2], knees[1::2], strict=True) if first and second
    ]
    assert sum(apart < log(1.1) for apart in pairs) >= 9
