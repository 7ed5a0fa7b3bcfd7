"""What each setting gives in a mix, and the interval of it, where the truth is known."""

from collections.abc import Iterator
from math import log
from statistics import fmean

import numpy as np
import pytest

from lab.analysis.tune.estimates import LEAST_FREEDOM, PENALTY, Row, fitted, reported
from lab.tune.search import PER_BLOCK, Search
from tests.unit.tune.simulated import GOAL, RESTLESS, Machine, Servers, World
from tests.unit.tune.worlds import FIGHTING, INTERACTING, KNOWN, LEAP, MANY

SIMULATIONS = 600
FOUR = World({"a=1": log(1.5), "b=1": 0.0, "c=1": 0.05, "d=1": -0.1})
EIGHT = World({**FOUR.alone, "e=1": 0.0, "f=1": 0.0, "g=1": 0.0, "h=1": 0.1})
TWO_LARGE = World({f"knob{number}=1": {0: log(2.0), 3: log(1.6)}.get(number, 0.0) for number in range(13)})


def mix(world: World, combinations: int, machine: Machine, seed: int) -> Iterator[Row]:
    """So many runs of combinations that are drawn as a search draws them, in blocks with the start."""
    servers = Servers(world, machine, np.random.default_rng(seed), spent_s=300.0)
    search = Search(world.candidates, GOAL, (), seed=seed)
    for number, block in enumerate(search.drawn(1, round(combinations / PER_BLOCK), PER_BLOCK)):
        shown = {each: servers.run(each) for each in dict.fromkeys(((), *block))}
        yield from (Row((1, number), each, shown[each]) for each in block)


@pytest.mark.parametrize(
    ("world", "combinations", "machine"),
    [
        pytest.param(FOUR, 16, Machine(noise=0.03), id="16 combinations of 4 knobs, 3 %, +50 %"),
        pytest.param(EIGHT, 16, Machine(noise=0.03), id="16 combinations of 8 knobs, 3 %, +50 %"),
        pytest.param(EIGHT, 16, Machine(noise=0.01), id="less noise"),
        pytest.param(TWO_LARGE, 24, Machine(), id="24 combinations, two large effects"),
        pytest.param(TWO_LARGE, 24, Machine(noise=0.01), id="two large effects, less noise"),
        pytest.param(KNOWN, 24, Machine(), id="few runs of 13 candidates"),
        pytest.param(KNOWN, 40, Machine(), id="13 candidates"),
        pytest.param(KNOWN, 40, RESTLESS, id="13 candidates on a restless machine"),
        pytest.param(MANY, 40, Machine(), id="25 knobs"),
        pytest.param(LEAP, 40, Machine(), id="one hides the others"),
        pytest.param(LEAP, 48, Machine(noise=0.03), id="one hides the others, less noise"),
        pytest.param(FIGHTING, 40, Machine(noise=0.03), id="two that fight"),
        pytest.param(INTERACTING, 40, Machine(noise=0.03), id="five pairs that interact"),
    ],
)
def test_the_interval_of_each_candidate_holds_the_truth(world: World, combinations: int, machine: Machine) -> None:
    """In 93 of 100 mixes or more, each of them; the estimate is right to 1 % of the effect, but for chance."""
    errors: dict[str, list[float]] = {name: [] for name in world.alone}
    held: dict[str, list[bool]] = {name: [] for name in world.alone}
    for seed in range(SIMULATIONS):
        fit = fitted(mix(world, combinations, machine, seed))
        for name, effect in fit.effects.items():
            if (half := fit.half_width(name)) is not None:
                errors[name].append(effect - world.in_the_mix[name])
                held[name].append(abs(errors[name][-1]) <= half)
    print(" ".join(f"{name} {100 * fmean(right):.1f}" for name, right in held.items()))  # noqa: T201 - for `pytest -s`
    for name, right in held.items():
        assert len(right) > 0.9 * SIMULATIONS
        assert fmean(right) >= 0.93, name
        chance = 4 * float(np.std(errors[name])) / len(right) ** 0.5
        assert abs(fmean(errors[name])) <= 0.01 * abs(world.in_the_mix[name]) + chance, name


@pytest.mark.parametrize("world", [TWO_LARGE, KNOWN, LEAP, MANY], ids=["two large effects", "13", "a leap", "25"])
@pytest.mark.parametrize("runs", [8, 13])
def test_of_few_runs_the_interval_of_each_candidate_by_itself_holds_the_truth(world: World, runs: int) -> None:
    """In 93 of 100 or more, over the candidates that have one."""
    held = []
    for seed in range(150):
        fit = reported(list(mix(world, 16, Machine(noise=0.03), seed))[:runs])
        for name, effect in fit.effects.items():
            half = fit.half_width(name) if fit.errors and name in fit.errors else None
            if half is not None:
                held.append(abs(effect - world.in_the_mix[name]) <= half)
    print(f"{100 * fmean(held):.1f} % of {len(held)}")  # noqa: T201 - for `pytest -s`
    assert len(held) > 300
    assert fmean(held) >= 0.93


def test_the_interval_of_what_would_be_chosen_holds_the_truth_too() -> None:
    """Though its estimate is too high on average, as the report says, because it was chosen by it."""
    errors, held = [], []
    for seed in range(SIMULATIONS):
        fit = fitted(mix(KNOWN, 40, Machine(), seed))
        for values in Search(KNOWN.candidates, GOAL, ()).values:
            best = max(values[1:], key=fit.effects.__getitem__)
            if fit.effects[best] > 0:
                errors.append(fit.effects[best] - KNOWN.alone[best])
                held.append(abs(errors[-1]) <= (fit.half_width(best) or 0.0))
    print(f"{100 * fmean(errors):+.1f} %, held in {100 * fmean(held):.1f} %")  # noqa: T201
    assert 0.01 < fmean(errors) < 0.04
    assert fmean(held) >= 0.93


def test_a_fit_is_exact_where_nothing_scatters() -> None:
    """Whatever the levels of the blocks are: what drifts more slowly than a block lasts is in none of the effects."""
    search = Search(KNOWN.candidates, GOAL, ())
    runs = [
        Row((1, number), each, 9.0 + 0.1 * number + KNOWN.truth(each))
        for number, block in enumerate(search.drawn(1, 4, 9))
        for each in block
    ]
    fit = fitted(runs)
    assert fit.effects == pytest.approx(KNOWN.alone)
    assert list(fit.levels.values()) == pytest.approx([9.0, 9.1, 9.2, 9.3])


def test_a_fit_that_chooses_draws_effects_towards_nothing() -> None:
    """By as much as another run would that shows nothing; its effects have no interval."""
    fit = fitted([Row((1, 1), ("a",), 1.0), Row((1, 1), (), 0.0)], PENALTY)
    assert fit.effects["a"] == pytest.approx(1 / 3)
    assert fit.half_width("a") is None


def test_too_few_runs_have_no_interval() -> None:
    """Six of three candidates leave two degrees of freedom, seven leave three."""
    runs = list(mix(World(dict.fromkeys(("a=1", "b=1", "c=1"), 0.1)), 8, Machine(), 1))
    six, seven = fitted(runs[:6]), fitted(runs[:7])
    assert (six.freedom, seven.freedom) == (LEAST_FREEDOM - 1, LEAST_FREEDOM)
    assert six.half_width("a=1") is None
    assert seven.half_width("a=1") is not None


def test_candidates_that_always_ran_together_have_no_interval() -> None:
    """Nobody knows which of them gives what."""
    runs = [Row((1, 1), each, 0.1 * place) for place, each in enumerate([("a", "b"), (), ("a", "b"), (), ("c",), ()])]
    assert fitted(runs).errors is None


def test_without_a_figure_there_is_no_fit() -> None:
    """Of a mix whose runs all failed."""
    assert fitted([Row((1, 1), ("a",), None)]).effects == {}
