"""What a search finds where the truth is known, and what it tries next."""

from collections import Counter
from dataclasses import replace
from math import exp, log
from statistics import fmean

import pytest

from lab.analysis.statistics.effects import effect
from lab.analysis.tune.estimates import Measured, Row, given_up
from lab.analysis.tune.goals import SIZE, parsed_bounds
from lab.records.suite import MetricKey, VariantMetric
from lab.records.tune import START, Combination, Stage, StageKind, combination_name
from lab.tune.search import CONFIRM_SHARE, PER_BLOCK, Search, Times
from tests.unit.tune.simulated import GOAL, RESTLESS, STEADY, Machine, World, searched, seeds
from tests.unit.tune.worlds import (
    FIGHTING,
    FLAT,
    INTERACTING,
    KNOWN,
    LEAP,
    MANY,
    MANY_FLAT,
    QUARRELLING,
    REFUSED,
    SLOW,
)

HOUR = 60.0
AS_GOOD = 0.03
"""A log rate that is less worse than the best one is as good: nobody could confirm the difference."""


# --- what it finds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [KNOWN, FIGHTING], ids=["effects that add up", "two that fight"])
def test_an_hour_finds_the_best_of_a_known_space(world: World) -> None:
    """In 9 of 10 searches at the noise of docs/measurements/suites.md, and confirms it."""
    found = [searched(world, HOUR, seed).recommended for seed in seeds(40)]
    right = [world.truth(each) >= world.best - AS_GOOD for each in found]
    print(f"{100 * fmean(right):.0f} %")  # noqa: T201 - the figure, for `pytest -s`
    assert fmean(right) >= 0.9


@pytest.mark.parametrize("world", [FLAT, MANY_FLAT], ids=["13 candidates", "25 knobs"])
@pytest.mark.parametrize("machine", [STEADY, RESTLESS], ids=["steady", "restless"])
def test_where_nothing_differs_hardly_anything_is_recommended(world: World, machine: Machine) -> None:
    """At most 5 of 100 searches recommend what gives nothing."""
    false = [bool(searched(world, HOUR / 2, seed, machine).recommended) for seed in seeds(150)]
    print(f"{100 * fmean(false):.1f} %")  # noqa: T201
    assert fmean(false) <= 0.05


@pytest.mark.parametrize(
    ("world", "minutes", "former"),
    [
        (KNOWN, 30, 1.29),
        (KNOWN, 60, 1.35),
        (FIGHTING, 15, 1.23),
        (INTERACTING, 15, 1.26),
        (INTERACTING, 30, 1.39),
        (LEAP, 15, 2.27),
        (LEAP, 30, 2.77),
        (MANY, 15, 1.41),
        (MANY, 60, 1.67),
        (REFUSED, 30, 1.30),
        (QUARRELLING, 60, 1.24),
        (SLOW, 60, 1.20),
    ],
)
def test_a_search_finds_more_than_the_one_before_it(world: World, minutes: float, former: float) -> None:
    """On average, by what its recommendation really gives on a restless machine.

    The former search ran candidates alone, then a mix beside the best, then combinations and all but one of them.
    docs/measurements/tune.md has the whole table.
    """
    gain = exp(fmean(world.truth(searched(world, minutes, seed, RESTLESS).recommended) for seed in seeds(60)))
    print(f"{gain:.3f}, formerly {former}")  # noqa: T201 - the figure, for `pytest -s`
    assert gain >= former


def test_the_confirmed_gain_is_the_true_one_on_average() -> None:
    """As measured, shown or not: the winner's curse is in the search's figures, and not in these."""
    known = []
    for seed in seeds(100):
        found = searched(KNOWN, HOUR / 2, seed).confirmation
        if found and found.goal and found.goal.ratio:
            known.append(log(found.goal.ratio) - KNOWN.truth(found.chosen))
    assert len(known) > 90
    assert abs(fmean(known)) < 0.015


@pytest.mark.parametrize("world", [KNOWN, LEAP, SLOW], ids=["add up", "hide each other", "slow"])
@pytest.mark.parametrize("minutes", [15.0, 30.0, HOUR])
def test_a_search_keeps_to_its_time(world: World, minutes: float) -> None:
    """But for a minute; where a mix of half the time holds runs that take three times as long, for a sixth of it."""
    over_min = [searched(world, minutes, seed, RESTLESS).over_s / 60 for seed in seeds(12)]
    assert fmean(over_min) <= (1 if world is not SLOW else minutes / 6)


# --- its stages -----------------------------------------------------------------------------------------------------


def test_a_search_goes_from_a_mix_to_the_best_of_it_to_one_confirmation() -> None:
    """Two values of a knob never run together, and a quarter of the time is left for the confirmation."""
    outcome = searched(KNOWN, HOUR, 1)
    assert [stage.kind for stage in outcome.stages] == ["mixed", "mixed", "together", "confirm"]
    for stage in outcome.stages:
        for combination in stage.combinations:
            knobs = [name.partition("=")[0] for name in combination]
            assert len(set(knobs)) == len(knobs)
    assert outcome.stages[-1].combinations[0] in outcome.stages[-2].combinations


def test_a_mix_has_every_value_of_a_knob_as_often_as_any_other() -> None:
    """But for what came twice in a block; another half and another seed draw others."""
    search = Search(KNOWN.candidates, GOAL, ())
    drawn = [each for block in search.drawn(1, 4, 9) for each in block]
    assert len(drawn) == 36
    for values in search.values:
        numbers = [sum(name in each for each in drawn) for name in values[1:]]
        assert numbers == [pytest.approx(36 / len(values), abs=2)] * len(numbers)
    others = [list(search.drawn(2, 4, 9)), list(replace(search, seed=2).drawn(1, 4, 9))]
    assert all(drawn != [each for block in other for each in block] for other in others)


def test_of_few_candidates_a_block_holds_every_combination_once() -> None:
    """The start among them, which runs in each block anyway."""
    stage = a_search("a=1", "b=1", "c=1").next_stage([], PLENTY)
    assert stage is not None
    assert len(stage.blocks) > 1
    for block in stage.blocks:
        assert Counter(block) == Counter([(), *stage.combinations])
        assert len(block) == PER_BLOCK


def test_a_mix_has_as_many_runs_as_half_of_its_time_allows() -> None:
    """Of 3,600 s a quarter is the confirmation's and a fifth that of the best: 983 s are left for 54 runs of 18 s."""
    search = Search(KNOWN.candidates, GOAL, ())
    first = search.next_stage([], Times(left_s=3600 - 104, budget_s=3600, run_s=18))
    assert first is not None
    runs = sum(len({(), *block}) for block in first.blocks)
    assert runs == pytest.approx((3600 * (1 - CONFIRM_SHARE - 0.2) - 104) / 2 / 18, abs=len(first.blocks))


def test_what_cannot_be_set_together_is_not_drawn() -> None:
    """Everything else is, so the search goes on without it."""
    world = World(dict.fromkeys(("a=1", "b=1", "c=1"), 0.0))
    search = Search(world.candidates, GOAL, (), is_possible=lambda each: not {"a=1", "b=1"} <= set(each))
    stage = search.next_stage([], PLENTY)
    assert stage is not None
    assert {each for block in stage.blocks for each in block} == {
        (), ("a=1",), ("b=1",), ("c=1",), ("a=1", "c=1"), ("b=1", "c=1")
    }  # fmt: skip


def test_a_setting_that_only_failed_in_the_first_half_is_not_in_the_second() -> None:
    """A mix of which a third fails would tell too little of the others."""
    first, second = searched(REFUSED, HOUR, 1).stages[:2]
    assert any("linger=100" in each for each in first.combinations)
    assert not any("linger=100" in each for each in second.combinations)


def test_what_only_failing_runs_hold_is_given_up() -> None:
    """A setting, or two of which each runs well by itself; what a refused setting explains, or one failure, is none."""
    runs = [
        Row((1, 1), combination, value)
        for combination, value in [
            (("a",), 0.0),
            (("b",), 0.0),
            (("c",), 0.0),
            (("a", "b"), None),
            (("a", "b", "c"), None),
            (("a", "x"), None),
            (("b", "x"), None),
            (("c", "x"), None),
            (("c", "y"), None),
        ]
    ]
    assert given_up(runs) == {frozenset({"x"}), frozenset({"a", "b"})}


def test_no_combination_that_servers_refuse_is_recommended() -> None:
    """The next best value takes the place of what is refused beside the best."""
    found = [searched(QUARRELLING, HOUR, seed).recommended for seed in seeds(40)]
    assert not any(QUARRELLING.fails(each) for each in found)
    assert fmean(QUARRELLING.truth(each) for each in found) > QUARRELLING.best - AS_GOOD


# --- single decisions -----------------------------------------------------------------------------------------------

PLENTY = Times(left_s=3000, budget_s=3600, run_s=18)
WOBBLE = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.0, 0.0)


def a_stage(
    gains: dict[Combination, float], kind: StageKind = "mixed", number: int = 1, metric: MetricKey = GOAL.metric
) -> Measured:
    """A stage of eight blocks, in which every combination has this log ratio but for a little."""
    stage = Stage(number=number, kind=kind, blocks=(tuple(gains),) * len(WOBBLE))
    shown = {name: [exp(gain + by) for by in WOBBLE] for name, gain in {(): 0.0, **gains}.items()}
    effects = [
        effect(combination_name(each), START, metric, list(zip(shown[each], shown[()], strict=True))) for each in gains
    ]
    figures = [
        VariantMetric.model_construct(
            variant=combination_name(each), name=metric.name, scope=metric.scope, values=tuple(values)
        )
        for each, values in shown.items()
    ]
    return Measured(stage, effects, figures)


def a_search(*names: str, keep: tuple[str, ...] = ()) -> Search:
    """A search of these candidates."""
    world = World(dict.fromkeys(names, 0.0))
    return Search(world.candidates, GOAL, parsed_bounds(keep, GOAL))


def both_halves(gains: dict[Combination, float]) -> list[Measured]:
    """A mix that is over."""
    return [a_stage(gains), a_stage(gains, number=2)]


FOUR = {"a=1": 0.1, "b=1": 0.25, "c=1": 0.2, "d=1": -0.1}
MIX: dict[Combination, float] = {
    combination: sum(FOUR[name] for name in combination)
    for combination in [
        ("a=1", "b=1"),
        ("b=1", "c=1"),
        ("c=1", "d=1"),
        ("a=1", "d=1"),
        ("a=1",),
        ("b=1", "d=1"),
        ("d=1",),
    ]
}


def test_what_gains_runs_together_beside_its_better_half_and_the_best_that_ran() -> None:
    """The whole has not run before; what loses is in none of what the fit makes."""
    stage = a_search(*FOUR).next_stage(both_halves(MIX), PLENTY)
    assert stage is not None
    assert stage.kind == "together"
    assert stage.blocks[0] == (("a=1", "b=1", "c=1"), ("b=1", "c=1"), ("a=1", "b=1"), ("b=1", "d=1"))
    assert len(set(stage.blocks)) == 1


def test_of_a_knob_the_best_value_is_chosen() -> None:
    """The other one cannot be set beside it."""
    gains: dict[Combination, float] = {("a=1",): 0.2, ("a=2",): 0.25, ("b=1",): 0.1, ("a=1", "b=1"): 0.3}
    stage = a_search("a=1", "a=2", "b=1").next_stage(both_halves(gains), PLENTY)
    assert stage is not None
    assert stage.blocks[0][0] == ("a=2", "b=1")


def test_without_time_for_two_blocks_side_by_side_what_gains_is_confirmed() -> None:
    """Though it has not run as such: the best of many single runs is mostly a lucky one."""
    stage = a_search(*FOUR).next_stage(both_halves(MIX), Times(left_s=1050, budget_s=3600, run_s=18))
    assert stage == Stage(number=3, kind="confirm", blocks=((("a=1", "b=1", "c=1"),),))


def test_where_nothing_gains_nothing_is_confirmed() -> None:
    """The search ends; a gain below 1 % is none."""
    gains: dict[Combination, float] = {("a=1",): 0.008, ("b=1",): -0.1, ("a=1", "b=1"): -0.1, (): 0.0}
    assert a_search("a=1", "b=1").next_stage(both_halves(gains), PLENTY) is None


def test_after_the_confirmation_there_is_nothing_more_to_do() -> None:
    """Whatever it says."""
    measured = [*both_halves(MIX), a_stage({("b=1",): 0.2}, "confirm", 3)]
    assert a_search(*FOUR).next_stage(measured, PLENTY) is None


def test_of_combinations_alike_the_one_that_changes_least_is_chosen() -> None:
    """Nobody is to set what gives nothing."""
    together = a_stage({("a=1", "b=1"): 0.305, ("a=1",): 0.3, ("b=1",): 0.04}, "together", 3)
    stage = a_search("a=1", "b=1").next_stage([*both_halves({("a=1",): 0.3, ("b=1",): 0.05}), together], PLENTY)
    assert stage is not None
    assert (stage.kind, stage.combinations) == ("confirm", (("a=1",),))


def test_the_choice_is_by_what_ran_side_by_side_and_not_by_the_mix() -> None:
    """What looked best there was chosen for it, so that its figure is too good."""
    together = a_stage({("a=1", "b=1"): 0.1, ("a=1",): 0.15}, "together", 3)
    mix: dict[Combination, float] = {("a=1",): 0.1, ("b=1",): 0.3, ("a=1", "b=1"): 0.5}
    assert a_search("a=1", "b=1").chosen([*both_halves(mix), together]) == ("a=1",)


@pytest.mark.parametrize("kind", ["mixed", "together"])
def test_what_breaks_a_bound_is_not_chosen_however_fast_it_is(kind: StageKind) -> None:
    """What takes the combination furthest beyond leaves it; what is near the bound stays."""
    gains: dict[Combination, float] = {("a=1",): 0.4, ("b=1",): 0.2, ("a=1", "b=1"): 0.6, (): 0.0}
    sizes = {("a=1",): log(1.3), ("b=1",): log(1.09), ("a=1", "b=1"): log(1.42), (): 0.0}
    rates, bytes_ = (a_stage(each, kind, metric=by) for each, by in ((gains, GOAL.metric), (sizes, SIZE)))
    both = Measured(rates.stage, [*rates.effects, *bytes_.effects], [*rates.figures, *bytes_.figures])
    assert a_search("a=1", "b=1", keep=("size<=1.1x",)).chosen([both]) == ("b=1",)


def test_a_combination_whose_runs_failed_is_not_chosen() -> None:
    """It has no ratio, and the others go on."""
    together = a_stage({("a=1",): 0.2}, "together", 3)
    failed = effect("b=1", START, GOAL.metric, [(None, 1.0)])
    stage = Stage(number=3, kind="together", blocks=((("a=1",), ("b=1",)),))
    measured = [*both_halves(MIX), Measured(stage, [*together.effects, failed], together.figures)]
    assert a_search("a=1", "b=1").chosen(measured) == ("a=1",)


def test_a_combination_that_has_not_run_takes_as_long_as_runs_usually_do() -> None:
    """What has run takes what it took; a block has the start."""
    times = Times(left_s=1600, budget_s=3600, run_s=20, runs_s={"a=1": 9, START: 18})
    assert [times.of(each) for each in [("a=1", "b=1"), ("a=1",), ()]] == [20, 9, 18]
    assert times.block_s([("a=1", "b=1"), ("a=1",)]) == 20 + 9 + 18


def test_the_time_that_a_confirmation_needs_at_least_is_kept_for_it() -> None:
    """Four blocks of the start twice and of the choice, however short the whole is."""
    short = Times(left_s=500, budget_s=600, run_s=18, runs_s={START: 30})
    assert (short.confirm_s, short.search_s) == (360, 140)


def test_a_short_search_has_no_combinations_side_by_side() -> None:
    """A fifth of 10 minutes is less than two blocks of four combinations: the mix has it."""
    short, longer = (Times(left_s=60 * m, budget_s=60 * m, run_s=18) for m in (10, 20))
    assert (short.runs_of_mix(1), longer.runs_of_mix(1)) == (int((600 - 216) / 18), int((1200 * 0.54) / 18))


def test_a_draw_is_the_same_for_the_same_seed() -> None:
    """So that a search that was interrupted goes on with what it began."""
    assert searched(KNOWN, 15, 3).stages == searched(KNOWN, 15, 3).stages
