"""What a search finds where the truth is known, and what it does not claim where there is nothing to find."""

from dataclasses import replace
from itertools import combinations
from math import exp, log
from statistics import fmean

import numpy as np
import pytest

from lab.analysis.statistics.effects import effect
from lab.analysis.tune.estimates import SHRINKAGE, Estimates, Measured, fitted
from lab.analysis.tune.goals import SIZE, parsed_bounds
from lab.records.suite import MetricKey
from lab.records.tune import START, Combination, Stage, combination_name
from lab.tune.search import Search, Times, all_but_one
from tests.unit.tune.simulated import GOAL, Bench, Bottleneck, World, drawn_at_random, searched, seeds

HOUR = 60.0
KNOWN = World(
    {
        "tasks=2": 0.20,
        "tasks=4": 0.12,
        "refresh=30s": 0.12,
        "refresh=5s": 0.05,
        "batch=5000": -0.04,
        "batch=500": -0.15,
        "shards=2": -0.10,
        "shards=4": -0.22,
        "codec=best_compression": -0.12,
        "in_flight=2": -0.05,
        "in_flight=10": 0.0,
        "flush=2gb": 0.0,
        "linger=100": 0.0,
    }
)
FIGHTING = World(
    {"tasks=2": 0.20, "in_flight=10": 0.18, "refresh=30s": 0.12, "batch=500": -0.1},
    {frozenset({"tasks=2", "in_flight=10"}): -0.35},
)
BOTTLENECK = Bottleneck(
    {
        "mapping=static": 1.6,
        "tasks=2": 0.35,
        "tasks=4": 0.30,
        "refresh=30s": 0.25,
        "refresh=5s": 0.15,
        "batch=5000": 0.25,
        "batch=500": -0.4,
        "shards=2": -0.05,
        "shards=4": -0.2,
        "codec=best_compression": -0.1,
        "in_flight=2": 0.05,
        "in_flight=10": 0.0,
        "flush=2gb": 0.05,
    },
    stage={
        "mapping": "parsing",
        "refresh": "writing",
        "shards": "writing",
        "codec": "writing",
        "flush": "writing",
        "tasks": "sink",
        "batch": "sink",
        "in_flight": "sink",
    },
    shares={"parsing": 0.7, "writing": 0.15, "sink": 0.15},
)
"""As nested books are: a mapping takes two thirds of the time away, and then everything else matters, too."""
FLAT = World(dict.fromkeys(KNOWN.alone, 0.0))
AS_GOOD = 0.03
"""A log rate that is less worse than the best one is as good: nobody could confirm the difference."""


@pytest.mark.parametrize("world", [KNOWN, FIGHTING], ids=["effects that add up", "two that fight"])
def test_an_hour_finds_the_best_of_a_known_space(world: World) -> None:
    """In 9 of 10 searches at the noise of docs/method.md, and confirms it."""
    found = [searched(world, HOUR, seed).recommended for seed in seeds(40)]
    right = [world.truth(each) >= world.best - AS_GOOD for each in found]
    print(f"{100 * fmean(right):.0f} %")  # noqa: T201 - the figure, for `pytest -s`
    assert fmean(right) >= 0.9


def test_where_nothing_differs_hardly_anything_is_confirmed() -> None:
    """At most 5 of 100 searches recommend what gives nothing."""
    false = [bool(searched(FLAT, HOUR, seed).recommended) for seed in seeds(100)]
    print(f"{100 * fmean(false):.0f} %")  # noqa: T201
    assert fmean(false) <= 0.05


def test_the_confirmed_gain_is_the_true_one_on_average() -> None:
    """The winner's curse is in the search's own figure, and not in this one."""
    known = [
        log(outcome.confirmed.ratio) - KNOWN.truth(outcome.chosen)
        for seed in seeds(100)
        if (outcome := searched(KNOWN, HOUR / 2, seed)).confirmed and outcome.chosen and outcome.confirmed.ratio
    ]
    assert len(known) > 90
    assert abs(fmean(known)) < 0.015


@pytest.mark.parametrize(
    ("world", "minutes"),
    [(KNOWN, HOUR / 2), (KNOWN, HOUR), (BOTTLENECK, HOUR)],
    ids=["half an hour", "effects that add up", "one that hides the others"],
)
def test_a_search_finds_more_than_random_search_in_the_same_time(world: World, minutes: float) -> None:
    """On average over seeds, by what its recommendation really gives."""
    ours = fmean(world.truth(searched(world, minutes, seed).recommended) for seed in seeds(25))
    at_random = fmean(world.truth(drawn_at_random(world, minutes, seed).recommended) for seed in seeds(25))
    print(f"{exp(ours):.3f} against {exp(at_random):.3f}, best {exp(world.best):.3f}")  # noqa: T201
    assert ours > at_random + 0.03


def test_a_quarter_of_the_time_is_left_for_the_confirmation() -> None:
    """However the stages before it turn out; a last block may run over by less than the rest."""
    left = [searched(KNOWN, minutes, seed).confirm_s / minutes / 60 for minutes in (20, HOUR) for seed in seeds(10)]
    assert min(left) >= 0.25


def test_a_search_goes_from_candidates_alone_to_a_mix_to_combinations_to_one_confirmation() -> None:
    """Two values of a knob never run together."""
    stages = searched(KNOWN, HOUR, 1).stages
    assert [stage.kind for stage in stages] == ["alone", "mixed", "together", "together", "confirm"]
    assert stages[0].combinations == tuple((name,) for name in KNOWN.alone)
    assert len(stages[1].combinations) > len(KNOWN.alone)
    assert (stages[-1].blocks, len(stages[-1].combinations)) == (None, 1)
    for stage in stages:
        for combination in stage.combinations:
            knobs = [name.partition("=")[0] for name in combination]
            assert len(set(knobs)) == len(knobs)


def test_what_leaps_alone_is_in_all_that_follows() -> None:
    """It moves what limits the rate, so that the others are measured beside it."""
    stages = searched(BOTTLENECK, HOUR, 1).stages
    assert [stage.kind for stage in stages[:2]] == ["alone", "mixed"]
    assert all("mapping=static" in combination for combination in stages[1].combinations)


def test_a_mix_has_as_many_runs_as_its_base_leaves_time_for() -> None:
    """Beside a base, runs are as fast as the base's own, but for those of the start."""
    search = a_search("a=1", "b=1", "c=1", "d=1", "e=1", "f=1")
    alone = a_stage({("a=1",): 1.0} | {(f"{knob}=1",): 0.0 for knob in "bcdef"})
    runs = []
    for of_base in (18.0, 9.0):
        times = Times(left_s=1600, budget_s=3600, run_s=18, runs_s={"a=1": of_base, START: 18})
        stage = search.mixed([alone], times)
        assert stage is not None
        runs.append(len(stage.combinations))
    assert runs == [16, 25]


def test_a_combination_without_the_base_takes_as_long_as_runs_usually_do() -> None:
    """Only what holds the base is as fast; what has run by itself takes what it took."""
    times = Times(left_s=1600, budget_s=3600, run_s=20, runs_s={"a=1": 9, "c=1": 30, START: 18})
    assert [times.of(each, ("a=1",)) for each in [("a=1", "b=1"), ("b=1",), ("c=1",), ()]] == [9, 20, 30, 18]
    assert times.block_s([("a=1", "b=1"), ("b=1",), ("c=1",)], ("a=1",)) == 9 + 20 + 30 + 2 * 18


def test_the_time_that_a_confirmation_needs_at_least_is_kept_for_it() -> None:
    """Four blocks of the start twice and of the choice, however short the whole is."""
    short = Times(left_s=500, budget_s=600, run_s=18, runs_s={START: 30})
    assert (short.confirm_s, short.search_s) == (360, 140)


def test_candidates_are_not_mixed_without_time_for_more_than_a_few() -> None:
    """A fit to so few runs would be noise; those that gain alone run together at once."""
    search = a_search(*(f"{knob}=1" for knob in "abcdef"))
    alone = a_stage({(f"{knob}=1",): 0.1 for knob in "abcdef"})
    runs_s = {START: 18}
    short, long = (Times(left_s=left_s, budget_s=1800, run_s=18, runs_s=runs_s) for left_s in (1150, 1250))
    kinds = [stage and stage.kind for stage in (search.next_stage([alone], short), search.next_stage([alone], long))]
    assert kinds == ["together", "mixed"]


def test_a_mix_has_every_value_of_a_knob_as_often_as_any_other() -> None:
    """Within the draws that had to be left out, because they came twice; and another seed draws others."""
    search = Search(KNOWN.candidates, GOAL, ())
    mix = search.drawn((), KNOWN.candidates, 36)
    assert len(set(mix)) == len(mix) == 36
    for knob, values in (("tasks", 2), ("refresh", 2), ("flush", 1)):
        numbers = [sum(candidate.name in each for each in mix)
                   for candidate in KNOWN.candidates if candidate.setting == knob]  # fmt: skip
        assert numbers == [pytest.approx(36 / (values + 1), abs=2)] * values
    assert replace(search, seed=2).drawn((), KNOWN.candidates, 36) != mix


def test_of_few_candidates_a_mix_holds_every_combination_once() -> None:
    """Beside the base, which is one of them."""
    search = a_search("a=1", "b=1", "c=1")
    mix = search.drawn(("a=1",), search.candidates[1:], 48)
    assert sorted(mix) == [("a=1",), ("a=1", "b=1"), ("a=1", "b=1", "c=1"), ("a=1", "c=1")]


def test_what_each_value_gives_is_fitted_to_all_runs_of_a_mix() -> None:
    """What the base gives is in none of it; what many runs show is hardly drawn towards nothing."""
    true = {"b=1": 0.3, "c=1": -0.1, "d=1": 0.0}
    search = a_search("a=1", *true)
    mix = search.drawn(("a=1",), search.candidates[1:], 8)
    of_mix = a_stage({each: 1.0 + sum(true.get(name, 0.0) for name in each) for each in mix}, "mixed", 2)
    alone = a_stage({("a=1",): 1.0, ("b=1",): 0.0, ("c=1",): 0.0, ("d=1",): 0.0})
    assert search.base([alone, of_mix]) == ("a=1",)
    shrunk = 2 / (2 + SHRINKAGE)
    assert search.gains([alone, of_mix]) == pytest.approx(
        {name: shrunk * gain for name, gain in true.items()}, abs=0.01
    )


def test_what_a_value_gives_in_a_mix_has_an_interval_that_holds_the_truth() -> None:
    """In about 94 of 100 mixes at the noise of docs/method.md."""
    world = replace(KNOWN, noise=0.08)
    mix = Search(world.candidates, GOAL, ()).drawn((), world.candidates, 36)
    right = []
    for seed in seeds(60):
        bench = Bench(world, np.random.default_rng(seed), 60 * HOUR)
        stage = Stage(number=2, kind="mixed", combinations=mix, blocks=1)
        known = Estimates.of(GOAL, (), [bench.measured(stage, 1, new=False)])
        fits = fitted(known, mix)
        assert len(fits) == len(world.candidates)
        right += [abs(fit.gain - world.alone[fit.name]) <= (fit.half_width or 0.0) for fit in fits]
    assert fmean(right) == pytest.approx(0.94, abs=0.03)


def test_too_few_runs_of_a_mix_have_no_interval() -> None:
    """Four of them and three candidates: what is left over tells nothing of the noise."""
    gains = {("a=1",): 0.1, ("b=1",): 0.2, ("c=1",): 0.3, ("a=1", "b=1"): 0.4}
    mix = a_stage(gains, "mixed", 2)
    assert [fit.half_width for fit in fitted(Estimates.of(GOAL, (), [mix]), tuple(gains))] == [None] * 3


# --- single decisions -----------------------------------------------------------------------------------------------

PLENTY = Times(left_s=3000, budget_s=3600, run_s=18)


def a_stage(
    gains: dict[Combination, float], kind: str = "alone", number: int = 1, metric: MetricKey = GOAL.metric
) -> Measured:
    """A stage of eight blocks, in which every combination has this log ratio but for a little."""
    wobble = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.0, 0.0)
    effects = [
        effect(combination_name(each), START, metric, [(exp(gain + by), 1.0) for by in wobble])
        for each, gain in gains.items()
    ]
    stage = Stage.model_validate({"number": number, "kind": kind, "combinations": tuple(gains), "blocks": 8})
    return Measured(stage, effects)


def a_search(*names: str, keep: tuple[str, ...] = ()) -> Search:
    """A search of these candidates."""
    world = World(dict.fromkeys(names, 0.0))
    return Search(world.candidates, GOAL, parsed_bounds(keep, GOAL))


def test_survivors_run_together_and_all_but_each_of_them() -> None:
    """And the best alone; what lost alone does not."""
    search = a_search("a=1", "b=1", "c=1", "d=1")
    alone = a_stage({("a=1",): 0.1, ("b=1",): 0.25, ("c=1",): 0.2, ("d=1",): -0.1})
    stage = search.next_stage([alone], PLENTY)
    assert stage is not None
    assert stage.combinations == (
        ("a=1", "b=1", "c=1"),
        ("b=1", "c=1"),
        ("a=1", "c=1"),
        ("a=1", "b=1"),
        ("b=1",),
    )


def test_what_cannot_be_set_together_is_not_tried_together() -> None:
    """Everything else is, so the search goes on without it."""
    world = World(dict.fromkeys(("a=1", "b=1", "c=1"), 0.0))
    search = Search(world.candidates, GOAL, (), is_possible=lambda each: not {"a=1", "b=1"} <= set(each))
    stage = search.next_stage([a_stage({("a=1",): 0.1, ("b=1",): 0.25, ("c=1",): 0.2})], PLENTY)
    assert stage is not None
    assert stage.combinations == (("b=1", "c=1"), ("a=1", "c=1"), ("b=1",))


def test_the_better_value_of_a_knob_goes_on_and_the_other_in_its_place() -> None:
    """Both cannot be set, and which is better is hardly told alone."""
    search = a_search("a=1", "a=2", "b=1")
    stage = search.next_stage([a_stage({("a=1",): 0.2, ("a=2",): 0.25, ("b=1",): 0.1})], PLENTY)
    assert stage is not None
    assert stage.combinations == (("a=2", "b=1"), ("b=1",), ("a=2",), ("a=1", "b=1"))


def test_a_value_that_gains_as_much_as_the_base_is_tried_in_its_place() -> None:
    """One block alone does not tell them apart; what gains much less is no rival."""
    search = a_search("a=1", "a=2", "a=3", "b=1", "c=1")
    alone = a_stage({("a=1",): 1.0, ("a=2",): 0.9, ("a=3",): 0.5, ("b=1",): 0.0, ("c=1",): 0.0})
    first = {("a=1",): 1.0, ("a=1", "b=1"): 1.1, ("a=1", "c=1"): 0.8, ("a=1", "b=1", "c=1"): 0.9}
    stage = search.next_stage([alone, a_stage(first, "mixed", 2)], PLENTY)
    assert stage is not None
    assert stage.combinations == (("a=1", "b=1"), ("a=2", "b=1"), ("a=1",))


def test_a_single_survivor_is_confirmed_at_once() -> None:
    """There is nothing to combine it with."""
    stage = a_search("a=1", "b=1").next_stage([a_stage({("a=1",): 0.2, ("b=1",): -0.1})], PLENTY)
    assert stage == Stage(number=2, kind="confirm", combinations=(("a=1",),), blocks=None)


def test_where_nothing_gains_nothing_is_confirmed() -> None:
    """The search ends; a gain below 1 % is none."""
    assert a_search("a=1", "b=1").next_stage([a_stage({("a=1",): 0.008, ("b=1",): -0.1})], PLENTY) is None


def test_after_the_confirmation_there_is_nothing_more_to_do() -> None:
    """Whatever it says."""
    measured = [a_stage({("a=1",): 0.2}), a_stage({("a=1",): 0.2}, "confirm", 2)]
    assert a_search("a=1").next_stage(measured, PLENTY) is None


def test_of_combinations_alike_the_one_that_changes_least_is_chosen() -> None:
    """Nobody is to set what gives nothing."""
    search = a_search("a=1", "b=1")
    alone = a_stage({("a=1",): 0.3, ("b=1",): 0.05})
    together = a_stage({("a=1", "b=1"): 0.305, ("a=1",): 0.3, ("b=1",): 0.04}, "together", 2)
    again = a_stage({("a=1", "b=1"): 0.305, ("a=1",): 0.3}, "together", 3)
    stage = search.next_stage([alone, together, again], PLENTY)
    assert stage is not None
    assert (stage.kind, stage.combinations) == ("confirm", (("a=1",),))


def test_what_breaks_a_bound_is_not_chosen_however_fast_it_is() -> None:
    """Its interval is beyond the bound; what is near it stays."""
    search = a_search("a=1", "b=1", keep=("size<=1.1x",))
    alone = a_stage({("a=1",): 0.4, ("b=1",): 0.2})
    sizes = a_stage({("a=1",): log(1.3), ("b=1",): log(1.1)}, metric=SIZE)
    stage = search.next_stage([Measured(alone.stage, [*alone.effects, *sizes.effects])], PLENTY)
    assert stage is not None
    assert (stage.kind, stage.combinations) == ("confirm", (("b=1",),))


def test_a_candidate_whose_runs_failed_is_dropped() -> None:
    """It has no ratio, and the others go on."""
    search = a_search("a=1", "b=1")
    alone = a_stage({("a=1",): 0.2})
    failed = effect("b=1", START, GOAL.metric, [(None, 1.0)])
    stage = Stage(number=1, kind="alone", combinations=(("a=1",), ("b=1",)), blocks=1)
    measured = [Measured(stage, [*alone.effects, failed])]
    assert Estimates.of(GOAL, (), measured).log_gain(("b=1",)) is None
    following = search.next_stage(measured, PLENTY)
    assert following is not None
    assert following.combinations == (("a=1",),)


def test_without_time_for_a_block_the_best_alone_is_confirmed() -> None:
    """A confirmation is worth more than one more stage."""
    search = a_search("a=1", "b=1")
    hurried = Times(left_s=1100, budget_s=3600, run_s=18)
    stage = search.next_stage([a_stage({("a=1",): 0.2, ("b=1",): 0.1})], hurried)
    assert stage is not None
    assert (stage.kind, stage.combinations) == ("confirm", (("a=1",),))


def test_without_time_after_a_mix_its_fit_chooses_and_not_its_luckiest_run() -> None:
    """What gains on average is confirmed together, although it has not run as such."""
    search = a_search("a=1", "b=1", "c=1", "d=1", "e=1")
    alone = a_stage({(f"{knob}=1",): 0.05 for knob in "abcde"})
    own = {"a=1": 0.2, "b=1": 0.2, "c=1": -0.2, "d=1": -0.2, "e=1": 0.0}
    pairs = {pair: own[pair[0]] + own[pair[1]] for pair in combinations(own, 2)}
    mix = a_stage(pairs | {("c=1", "d=1"): 0.45}, "mixed", 2)
    stage = search.next_stage([alone, mix], Times(left_s=900, budget_s=3600, run_s=18))
    assert stage is not None
    assert (stage.kind, stage.combinations) == ("confirm", (("a=1", "b=1"),))


def test_all_but_one_leaves_out_each_in_turn() -> None:
    """Of three, three pairs."""
    assert all_but_one(("a", "b", "c")) == (("b", "c"), ("a", "c"), ("a", "b"))


def test_the_confirmation_is_not_pooled_with_what_has_chosen() -> None:
    """Its figure would be as biased as theirs."""
    measured = [a_stage({("a=1",): 0.2}), a_stage({("a=1",): 0.0}, "confirm", 2)]
    gain = Estimates.of(GOAL, (), measured).log_gain(("a=1",))
    assert gain == pytest.approx(0.2)
