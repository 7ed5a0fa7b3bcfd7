"""What a confirmation tells where the truth is known, and what speaks against it."""

from collections.abc import Sequence
from math import exp, log
from statistics import fmean

import numpy as np
import pytest

from lab.analysis.statistics.effects import among_comparisons, effect
from lab.analysis.tune.confirmation import Confirmation, given_that_it_shows
from lab.analysis.tune.goals import SIZE, parsed_bounds, parsed_goal
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, Bound, Gain
from tests.unit.tune.simulated import GOAL, NOISE, Machine, a_plan, searched, seeds
from tests.unit.tune.worlds import KNOWN

CHECK = START + AGAIN


def confirmed(
    choice: Sequence[float],
    again: Sequence[float] = (),
    sizes: Sequence[float] = (),
    bounds: tuple[Bound, ...] = (),
) -> Confirmation:
    """A confirmation of these log ratios, block by block."""

    def found(variant: str, metric: MetricKey, values: Sequence[float]) -> Effect:
        return effect(variant, START, metric, [(exp(value), 1.0) for value in values])

    effects = [found("c", GOAL.metric, choice), found(CHECK, GOAL.metric, again), found("c", SIZE, sizes)]
    judged = among_comparisons([each for each in effects if each.ratios], repetition=CHECK)
    return Confirmation(a_plan(bounds), ("c",), judged)


def around(centre: float, spread: float, blocks: int = 8) -> list[float]:
    """So many log ratios, half of them above and half below by the spread."""
    return [centre + (spread if block % 2 else -spread) for block in range(blocks)]


# --- what is told of a gain -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("blocks", "bias"), [(4, 0.035), (8, 0.02), (16, 0.01)])
@pytest.mark.parametrize("true", [0.05, 0.10, 0.20, 0.50])
def test_what_is_told_of_a_gain_is_right_on_average_over_all_that_show(true: float, blocks: int, bias: float) -> None:
    """As measured, four blocks show a gain of 5 % as one of 12 %: only what luck has made large is shown at all."""
    draw = np.random.default_rng(blocks)
    told, measured, held = [], [], []
    for _ in range(600):
        start, again = draw.normal(0, NOISE, (2, blocks))
        choice = draw.normal(true, NOISE, blocks) - (start + again) / 2
        found = confirmed(choice.tolist(), (again - start).tolist())
        if found.is_better and found.gain and found.gain.low and found.gain.high and found.goal and found.goal.ratio:
            told.append(log(found.gain.ratio))
            measured.append(log(found.goal.ratio))
            held.append(log(found.gain.low) <= true <= log(found.gain.high))
    print(f"{len(told)} told {fmean(told):.3f}, measured {fmean(measured):.3f}, held {fmean(held):.2f}")  # noqa: T201
    assert abs(fmean(told) - true) <= bias
    assert fmean(held) >= 0.9


def test_what_searches_tell_of_a_gain_is_right_on_average() -> None:
    """Of an hour of them in a known world, by all that is recommended."""
    off, held = [], []
    for seed in seeds(60):
        found = searched(KNOWN, 60, seed).confirmation
        if found and found.is_better and found.gain and found.gain.low and found.gain.high:
            truth = KNOWN.truth(found.chosen)
            off.append(log(found.gain.ratio) - truth)
            held.append(log(found.gain.low) <= truth <= log(found.gain.high))
    assert len(off) > 50
    assert abs(fmean(off)) <= 0.01
    assert fmean(held) >= 0.9


@pytest.mark.parametrize(
    ("errors", "low", "middle", "high"), [(2.0, 0.04, 1.19, 3.37), (3.0, 0.21, 2.39, 4.73), (6.0, 4.01, 5.99, 7.96)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_luck_is_taken_from_what_just_shows_and_not_from_what_is_clear(
    errors: float, low: float, middle: float, high: float, sign: int
) -> None:
    """Of an estimate so many standard errors from none; a gain of CPU is below 1."""
    ends = sorted(exp(sign * 0.01 * (errors + by)) for by in (-1.96, 1.96))
    told = given_that_it_shows(Gain(ratio=exp(sign * 0.01 * errors), low=ends[0], high=ends[1]), 0.95)
    found = sorted(100 * sign * log(each or 0.0) for each in (told.low, told.ratio, told.high))
    assert found == pytest.approx([low, middle, high], abs=0.02)


def test_a_gain_without_any_spread_is_told_as_it_is() -> None:
    """Sizes are equal to the byte."""
    gain = confirmed([log(1.5)] * 8).gain
    assert gain
    assert (gain.ratio, gain.low, gain.high) == (pytest.approx(1.5), None, None)


def test_what_does_not_show_has_no_gain() -> None:
    """Nor what is worse."""
    assert [confirmed(around(by, 0.1)).gain for by in (0.05, -0.5)] == [None, None]


def test_less_of_a_cost_is_a_gain() -> None:
    """A third of the CPU."""
    goal = parsed_goal("cpu")
    found = effect("c", START, goal.metric, [(exp(value), 1.0) for value in around(log(1 / 3), 0.01)])
    plan = a_plan().model_copy(update={"goal": goal})
    check = effect(CHECK, START, goal.metric, [(exp(value), 1.0) for value in around(0.0, 0.01)])
    confirmation = Confirmation(plan, ("c",), [found, check])
    assert confirmation.is_confirmed
    assert confirmation.gain
    assert (confirmation.gain.low or 0.0) < 1 / 3 < (confirmation.gain.high or 0.0) < 0.4


# --- what speaks against it -----------------------------------------------------------------------------------------


def test_a_clear_gain_beside_a_start_that_does_not_differ_from_itself_is_confirmed() -> None:
    """By four blocks or more; without a comparison of the start with itself it is recommended in doubt."""
    assert confirmed(around(0.3, 0.02), around(0.0, 0.02)).is_confirmed
    unchecked = confirmed(around(0.3, 0.02))
    assert (unchecked.is_better, unchecked.is_confirmed) == (True, False)
    assert not confirmed(around(0.3, 0.02, blocks=3), around(0.0, 0.02, blocks=3)).is_better


def test_where_the_start_differs_from_itself_nothing_is_confirmed() -> None:
    """A gain far beyond that is recommended all the same; one that it may explain is not."""
    differs = around(0.1, 0.02)
    far, near = confirmed(around(0.5, 0.02), differs), confirmed(around(0.11, 0.02), differs)
    assert far.differs_from_itself
    assert (far.is_better, far.is_confirmed) == (True, False)
    assert (near.is_better, near.is_confirmed) == (False, False)


def test_on_a_machine_whose_second_run_is_faster_hardly_anything_is_confirmed() -> None:
    """The start shows it against itself; what gains more than that is recommended in doubt."""
    found = [searched(KNOWN, 60, seed, Machine(noise=0.04, bias=0.1)) for seed in seeds(40)]
    assert fmean(each.confirmation is not None and each.confirmation.is_confirmed for each in found) <= 0.1
    assert fmean(bool(each.recommended) for each in found) >= 0.9


@pytest.mark.parametrize(
    ("size", "spread", "is_better", "is_confirmed"),
    [(1.05, 0.01, True, True), (1.08, 0.05, True, False), (1.12, 0.05, False, False), (1.5, 0.01, False, False)],
    ids=["kept", "kept by the estimate alone", "broken by the estimate alone", "broken"],
)
def test_a_bound_that_is_not_shown_to_be_kept_is_not_confirmed(
    size: float, spread: float, *, is_better: bool, is_confirmed: bool
) -> None:
    """All of its interval has to be within."""
    bounds = parsed_bounds(["size<=1.1x"], GOAL)
    found = confirmed(around(0.3, 0.02), around(0.0, 0.02), around(log(size), spread), bounds)
    assert (found.is_better, found.is_confirmed) == (is_better, is_confirmed)


def test_a_bound_that_was_not_measured_is_broken() -> None:
    """Nobody knows."""
    (bound,) = parsed_bounds(["size<=1.1x"], GOAL)
    found = confirmed(around(0.3, 0.02), bounds=(bound,))
    assert (found.broken, found.is_better) == (bound, False)
