"""What a tune says of its search, before and beside the confirmation."""

from collections.abc import Mapping

import pytest

from lab.analysis.statistics.effects import effect
from lab.analysis.tune.estimates import Estimates
from lab.analysis.tune.goals import METRICS
from lab.analysis.tune.sentences import Findings, findings, headline
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, Bound, Combination, Goal, GoalName, TunePlan

WITHIN_SIZE = Bound(name="size", metric=METRICS["size"], most=1.1, text="size<=1.1x")

Ratios = Mapping[tuple[str, GoalName], float]


def effects(ratios: Ratios) -> dict[tuple[str, MetricKey], Effect]:
    """Effects that all blocks agree on."""
    return {
        (name, METRICS[by]): effect(name, START, METRICS[by], [(ratio, 1.0)] * 4)
        for (name, by), ratio in ratios.items()
    }


def search(goal: GoalName, ratios: Ratios, chosen: Combination | None, *, bounds: tuple[Bound, ...] = ()) -> Findings:
    """A search that is over, and has measured these ratios to the start; its confirmation saw the same."""
    wanted = Goal(name=goal, metric=METRICS[goal], more_is_better=goal == "rate")
    known = Estimates(wanted, bounds, effects(ratios))
    plan = TunePlan(
        tune="quickstart",
        question="?",
        started_s=0.0,
        profile="quickstart",
        fingerprint="f",
        space="default",
        goal=wanted,
        bounds=bounds,
        minutes=60,
        window_s=8,
        seed=1,
        metrics=tuple(dict.fromkeys((wanted.metric, *(bound.metric for bound in bounds)))),
        candidates=(),
    )
    return Findings(
        plan=plan,
        complete=True,
        chosen=chosen,
        is_confirmed=chosen is not None,
        confirmation=tuple(known.effects.values()),
        contributions=(),
        known=known,
        stages=2,
        has_start=True,
    )


def test_what_gains_but_is_beyond_a_bound_is_named() -> None:
    """A gain of a third is not "no gain": whoever gave the bound learns what it costs."""
    ratios: Ratios = {("a", "rate"): 1.3, ("a", "size"): 1.5, ("b", "rate"): 1.002, ("b", "size"): 1.0}
    assert headline(search("rate", ratios, None, bounds=(WITHIN_SIZE,))) == (
        "Nothing better than the start was found: a gives indexing rate +30 %, but is beyond size<=1.1x: +50 %."
        " Keep the start."
    )


def test_without_a_gain_no_bound_is_named() -> None:
    """What is beyond a bound and gains nothing is no news."""
    ratios: Ratios = {("a", "rate"): 0.9, ("a", "size"): 1.5}
    assert headline(search("rate", ratios, None, bounds=(WITHIN_SIZE,))) == (
        "Nothing better than the start was found: no candidate seems to gain more than 1 %. Keep the start."
    )


@pytest.mark.parametrize(
    ("goal", "ratios", "text"),
    [
        (
            "rate",
            (1.5, 1.2, 1.75),
            "indexing rate of all together was 1.75 times the start's; the product of their single effects is 1.80.",
        ),
        (
            "cpu",
            (0.5, 0.8, 0.45),
            "Elasticsearch's CPU per document of all together was 0.45 times the start's;"
            " the product of their single effects is 0.40.",
        ),
    ],
)
def test_together_and_apart_are_ratios_of_the_goals_own_figure(
    goal: GoalName, ratios: tuple[float, float, float], text: str
) -> None:
    """Less CPU is a ratio below 1, however good that is."""
    names = ("a", "b", "a + b")
    measured = {(name, goal): ratio for name, ratio in zip(names, ratios, strict=True)}
    said = list(findings(search(goal, measured, ("a", "b"))))
    assert f"In the search, {text}" in said
