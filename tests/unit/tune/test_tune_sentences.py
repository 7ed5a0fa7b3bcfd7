"""What a tune says of its search, and that it is so: each sentence where it is shown, and not where it is false."""

from collections.abc import Mapping
from dataclasses import replace
from math import exp, log
from statistics import fmean

import pytest

from lab.analysis.statistics.effects import SAME, effect
from lab.analysis.tune.confirmation import Confirmation
from lab.analysis.tune.estimates import fitted, rows
from lab.analysis.tune.goals import METRICS, parsed_bounds, parsed_goal
from lab.analysis.tune.sentences import Findings, findings, headline, is_shown, is_small
from lab.profiles.suites import AGAIN
from lab.records.suite import Effect, MetricKey
from lab.records.tune import START, Bound, Candidate, MixedEffect, TunePlan
from tests.unit.messages import MakeMessage
from tests.unit.tune.simulated import GOAL, RESTLESS, World, searched, seeds
from tests.unit.tune.worlds import KNOWN, LEAP

(WITHIN_SIZE,) = parsed_bounds(["size<=1.1x"], GOAL)
Spreads = Mapping[str, tuple[float, float]]
"""By `rate`, `cpu`, `size` or `A/A` a log ratio, and by how much blocks are above and below it."""


def a_plan(goal: str = "rate", bounds: tuple[Bound, ...] = ()) -> TunePlan:
    """A plan with a goal."""
    wanted = parsed_goal(goal)
    metrics = tuple(dict.fromkeys((wanted.metric, METRICS["cpu"], METRICS["size"])))
    candidates = (Candidate(name="a", setting="a", value=1),)
    return TunePlan.model_construct(goal=wanted, bounds=bounds, metrics=metrics, candidates=candidates)


def without_confirmation(
    plan: TunePlan, *, complete: bool = True, stages: int = 3, void: str | None = None
) -> Findings:
    """A search that has confirmed nothing, and whose mix shows that its candidate gives nothing."""
    mixed = (a_mixed("a", 0.94, 1.06, 1.0),)
    return Findings(plan, complete=complete, stages=stages, void=void, confirmation=None, mixed=mixed, runs=9)


def search(
    shown: Spreads,
    *,
    goal: str = "rate",
    bounds: tuple[Bound, ...] = (),
    blocks: int = 8,
    mixed: tuple[MixedEffect, ...] = (),
    rise: float | None = None,
) -> Findings:
    """A search that is over, whose confirmation has shown this of `a + b`."""
    plan = a_plan(goal, bounds)

    def of(variant: str, metric: MetricKey, by: tuple[float, float]) -> Effect:
        ratios = [exp(by[0] + (by[1] if block % 2 else -by[1])) for block in range(blocks)]
        return effect(variant, START, metric, [(ratio, 1.0) for ratio in ratios])

    metrics = {"A/A": plan.goal.metric, **{str(name): metric for name, metric in METRICS.items()}}
    effects = [of(START + AGAIN if name == "A/A" else "a + b", metrics[name], by) for name, by in shown.items()]
    confirmation = Confirmation(plan, ("a", "b"), effects, rise)
    return Findings(plan, complete=True, stages=4, void=None, confirmation=confirmation, mixed=mixed)


def a_mixed(name: str, low: float | None, high: float | None, ratio: float = 1.7) -> MixedEffect:
    """What the mix shows of a candidate."""
    return MixedEffect(candidate=name, ratio=ratio, low=low, high=high, runs=9)


# --- the headline ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "facts"),
    [
        pytest.param(
            without_confirmation(a_plan(), complete=False, stages=1),
            ("Not finished", 1),
            id="not complete",
        ),
        pytest.param(
            without_confirmation(a_plan(), void="no run of the start is verified; the report of stage 1 says why"),
            ("void", 1),
            id="no start",
        ),
        pytest.param(
            without_confirmation(a_plan()),
            ("Keep the start",),
            id="no choice",
        ),
        pytest.param(
            without_confirmation(a_plan(bounds=(WITHIN_SIZE,))),
            ("size<=1.1x", "Keep the start"),
            id="no choice within a bound",
        ),
        pytest.param(
            search({"rate": (0.3, 0.01)}, blocks=3),
            ("too few", "a + b", "Keep the start"),
            id="too few blocks",
        ),
        pytest.param(
            search({"cpu": (-1.0, 0.01)}, rise=1.05),
            ("Nothing was confirmed", "still rose", "Keep the start"),
            id="rates that rise",
        ),
        pytest.param(
            search({"rate": (0.3, 0.01), "A/A": (0.0, 0.01)}),
            ("Confirmed", "+35 % (+34 % to +36 %)", 8, "Change a + b"),
            id="confirmed",
        ),
        pytest.param(
            search({"rate": (0.1, 0.1), "A/A": (0.0, 0.01)}),
            ("Confirmed", "+6.4 % (+0.2 % to +18 %)", 8, "+11 %", "Change a + b"),
            id="just shown",
        ),
        pytest.param(
            search({"rate": (0.3, 0.01), "A/A": (0.05, 0.01)}),
            ("in doubt", "+35 % (+34 % to +36 %)", 8, "Change a + b"),
            id="the start differs from itself",
        ),
        pytest.param(
            search({"rate": (0.05, 0.01), "A/A": (0.05, 0.01)}),
            ("Not confirmed", "+5.1 % (+4.2 % to +6.1 %)", 8, "differs from itself", "Keep the start"),
            id="by as much",
        ),
        pytest.param(
            search({"rate": (0.3, 0.01), "size": (0.2, 0.0)}, bounds=(WITHIN_SIZE,)),
            ("Not confirmed", "+35 % (+34 % to +36 %)", 8, "size<=1.1x", "+22 %", "Keep the start"),
            id="a bound is broken",
        ),
        pytest.param(
            search({"rate": (0.3, 0.01)}, bounds=(WITHIN_SIZE,)),
            ("Not confirmed", "+35 % (+34 % to +36 %)", 8, "size<=1.1x", "was not measured", "Keep the start"),
            id="a bound was not measured",
        ),
        pytest.param(
            search({"rate": (0.02, 0.1)}),
            ("Not confirmed", "+2.0 % (-6.7 % to +12 %)", 8, "Keep the start"),
            id="not shown",
        ),
        pytest.param(
            search({"rate": (0.1, 0.5)}, blocks=4),
            ("Not known", "+11 %", 4, 15),
            id="it may be anything",
        ),
        pytest.param(
            replace(without_confirmation(a_plan()), runs=7, mixed=()),
            ("Not known", 7),
            id="a mix that tells nothing",
        ),
        pytest.param(
            replace(without_confirmation(a_plan()), runs=0, mixed=()),
            ("Not known", "no run", "indexing rate"),
            id="a mix without a figure",
        ),
        pytest.param(
            replace(without_confirmation(a_plan()), mixed=(a_mixed("a", 1.16, 2.5), a_mixed("b", 0.99, 2.5, 1.7))),
            ("Not confirmed", "a +70 % (+16 % to +150 %)", 9, "Keep the start"),
            id="a mix that tells a large gain",
        ),
        pytest.param(
            replace(without_confirmation(a_plan()), mixed=(a_mixed("a", 1.08, 1.14, 1.11),)),
            ("Not confirmed", "a +11 % (+8.0 % to +14 %)", 9, "Keep the start"),
            id="a mix that tells a smaller gain",
        ),
        pytest.param(
            replace(without_confirmation(a_plan(bounds=(WITHIN_SIZE,))), mixed=(a_mixed("a", 1.16, 2.5),)),
            ("Not confirmed", "a +70 % (+16 % to +150 %)", 9, "Keep the start"),
            id="a gain within a bound",
        ),
        pytest.param(
            replace(
                without_confirmation(a_plan(bounds=(WITHIN_SIZE,))), mixed=(a_mixed("a", 1.16, 2.5),), beyond={"a"}
            ),
            ("Nothing better", "size<=1.1x", "Keep the start"),
            id="a gain beyond a bound",
        ),
        pytest.param(
            replace(without_confirmation(a_plan()), gains_unconfirmed=True),
            ("Not known", 9),
            id="combinations that gain more than their parts",
        ),
        pytest.param(
            replace(without_confirmation(a_plan("cpu")), mixed=(a_mixed("a", 1.16, 2.5),)),
            ("Nothing better", "Keep the start"),
            id="a mix that tells a loss",
        ),
        pytest.param(
            search({"cpu": (-1.0, 0.01), "A/A": (0.0, 0.01)}, goal="cpu"),
            ("Confirmed", "-63 % (-64 % to -63 %)", 8, "Change a + b"),
            id="a cost",
        ),
    ],
)
def test_the_headline_says_what_was_confirmed_or_why_nothing_was(
    found: Findings, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """One for each state of a search."""
    assert headline(found) == message(*facts)


@pytest.mark.parametrize(
    ("low", "high", "is_known"),
    [(0.9, 1.14, True), (0.9, 1.16, False), (1.16, 1.2, False), (None, None, False)],
)
def test_that_nothing_is_better_is_known_where_no_gain_of_15_percent_is_left(
    low: float | None, high: float | None, *, is_known: bool
) -> None:
    """An interval of -59 to +133 % excludes nothing, and one setting without an interval may give anything."""
    found = replace(without_confirmation(a_plan()), runs=7, mixed=(a_mixed("a", low, high),))
    assert found.is_known is is_known
    costs = replace(found, plan=a_plan("cpu"), mixed=(a_mixed("a", high and 1 / high, low and 1 / low),))
    assert costs.is_known is is_known


# --- what else ------------------------------------------------------------------------------------------------------


MIXED = (
    a_mixed("a", 1.2, 1.4),
    a_mixed("b", 0.9, 1.3),
    a_mixed("small", 0.98, 1.03),
    a_mixed("large", 0.5, 0.7),
    a_mixed("few", None, None),
)


def test_a_setting_that_was_chosen_and_not_shown_to_give_anything_is_named(message: MakeMessage) -> None:
    """And one that gives less than 5 %, chosen or not."""
    said = list(findings(search({"rate": (0.3, 0.01)}, mixed=MIXED)))
    assert said[-2:] == [message("b"), message(5, "small")]


def test_of_what_is_not_recommended_nobody_asks_what_it_gives(message: MakeMessage) -> None:
    """Only what is small in the mix is said."""
    said = list(findings(search({"rate": (0.0, 0.1)}, mixed=MIXED)))
    assert not any("Not shown" in text for text in said)
    assert said[-1] == message(5, "small")


@pytest.mark.parametrize(
    ("size", "facts"),
    [
        ((0.05, 0.01), ("size<=1.1x", "is kept", "+5.1 % (+4.2 % to +6.1 %)")),
        ((0.08, 0.05), ("size<=1.1x", "neither", "+8.3 % (+3.6 % to +13 %)")),
        ((0.2, 0.01), ("size<=1.1x", "broken", "+22 % (+21 % to +23 %)")),
    ],
)
def test_a_bound_is_said_to_be_kept_only_where_all_of_its_interval_is_within(
    size: tuple[float, float], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """An estimate alone does not show it."""
    assert message(*facts) in list(findings(search({"rate": (0.3, 0.01), "size": size}, bounds=(WITHIN_SIZE,))))


def test_a_bound_that_was_not_measured_is_not_said_to_be_kept() -> None:
    """Its figure is not known."""
    assert "size<=1.1x was not measured: not known." in list(
        findings(search({"rate": (0.3, 0.01)}, bounds=(WITHIN_SIZE,)))
    )


@pytest.mark.parametrize(
    ("check", "facts"),
    [
        (0.0, ("no difference", "+0.0 % (-0.9 % to +0.9 %)")),
        (0.05, ("differs from itself", "+5.1 % (+4.2 % to +6.1 %)")),
    ],
)
def test_the_start_against_itself_is_told_as_it_is(
    check: float, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Whether it differs or not."""
    assert message(*facts) in list(findings(search({"rate": (0.3, 0.01), "A/A": (check, 0.01)})))


def test_without_a_check_that_is_said() -> None:
    """Its runs may all have failed."""
    text = "The start was not compared with itself (A/A)."
    assert text in list(findings(search({"rate": (0.3, 0.01)})))


def test_what_was_not_compared_is_not_told() -> None:
    """Without a confirmation there is nothing beside it."""
    assert list(findings(without_confirmation(a_plan()))) == []


@pytest.mark.parametrize("world", [KNOWN, LEAP], ids=["effects that add up", "one hides the others"])
def test_what_is_said_of_single_settings_is_so(world: World) -> None:
    """In 95 of 100 places or more, by what they add on average over the other settings."""
    small, shown = [], []
    for seed in seeds(150):
        measured = searched(world, 120, seed, RESTLESS).measured
        fit = fitted(rows(measured, GOAL.metric))
        for name, gain in fit.effects.items():
            half = fit.half_width(name)
            assert half is not None
            found = MixedEffect(candidate=name, ratio=exp(gain), low=exp(gain - half), high=exp(gain + half), runs=9)
            if is_small(found):
                small.append(abs(world.in_the_mix[name]) < SAME)
            if is_shown(found):
                shown.append(world.in_the_mix[name] * log(found.ratio) > 0)
    print(f"small {100 * fmean(small):.1f} % of {len(small)}, shown {100 * fmean(shown):.1f} % of {len(shown)}")  # noqa: T201
    assert min(len(small), len(shown)) > 50
    assert min(fmean(small), fmean(shown)) >= 0.95
