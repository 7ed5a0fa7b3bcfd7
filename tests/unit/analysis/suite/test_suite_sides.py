"""Pairs at the same time: what the two sets of servers differ by is in no ratio."""

import pytest

from lab.analysis.suite.comparisons import effects, planned_pairs
from lab.analysis.suite.figures import CPU_PER_DOCUMENT, compared_metrics
from lab.records.suite import SuitePlan, Variant, VariantMetric

ORDER = (("fewer", "control"), ("control", "fewer")) * 4
FIRST_SET_COSTS = 1.06
"""Times what the second one does."""


def a_plan(*, duets: bool, parts: tuple[str, str] = ("", "")) -> SuitePlan:
    """A comparison in eight pairs, and one in eight more that may be of another part."""
    return SuitePlan(
        suite="made up",
        suite_id="1",
        question="Which?",
        started_s=0,
        seed=1,
        repeats=None,
        control="control",
        repetition=None,
        variants=(
            Variant(name="control", profile="p", fingerprint="c", part=parts[0]),
            Variant(name="fewer", profile="p", fingerprint="f", against="control", part=parts[0]),
            Variant(name="base", profile="p", fingerprint="b", part=parts[1]),
            Variant(name="more", profile="p", fingerprint="m", against="base", part=parts[1]),
        ),
        order=ORDER + (("more", "base"), ("base", "more")) * 4,
        duets=duets,
        metrics=(CPU_PER_DOCUMENT,),
    )


def figures(plan: SuitePlan, costs: dict[str, float], first_set: dict[str, float]) -> list[VariantMetric]:
    """What each variant cost in its pairs, with a scatter of 1 %: on the first set so many times as much."""
    made = []
    for variant in plan.variants:
        values = [
            costs[variant.name]
            * (first_set[variant.part] if names[0] == variant.name else 1.0)
            * (1.01 if (block // 2) % 2 and names[0] == variant.name else 1.0)
            if variant.name in names
            else None
            for block, names in enumerate(plan.order)
        ]
        made += [
            VariantMetric(
                variant=variant.name,
                name=metric.name,
                scope=metric.scope,
                unit="s",
                values=tuple(values),
                median=None,
                low=None,
                high=None,
            )
            for metric in compared_metrics(plan)
        ]
    return made


COSTS = {"control": 40.0, "fewer": 36.0, "base": 50.0, "more": 60.0}


def test_ratios_of_pairs_are_those_of_equal_sets() -> None:
    """Uncorrected they jump by 12 % from pair to pair; so every comparison loses a part of one degree of freedom."""
    plan = a_plan(duets=True)
    fewer, more = effects(plan, planned_pairs(plan), figures(plan, COSTS, {"": FIRST_SET_COSTS}))[:2]
    assert max(fewer.ratios) / min(fewer.ratios) < 1.02
    assert (fewer.ratio, more.ratio) == (pytest.approx(0.9, rel=0.005), pytest.approx(1.2, rel=0.005))
    assert (fewer.freedom_lost, more.freedom_lost) == (pytest.approx(0.5), pytest.approx(0.5))


def test_every_part_has_sets_of_its_own() -> None:
    """Of which one may cost more in the first part and less in the second."""
    parts = ("", "nodes")
    plan = a_plan(duets=True, parts=parts)
    both = effects(plan, planned_pairs(plan), figures(plan, COSTS, {"": FIRST_SET_COSTS, "nodes": 0.9}))[:2]
    assert [max(each.ratios) / min(each.ratios) < 1.02 for each in both] == [True, True]
    assert [each.freedom_lost for each in both] == [1.0, 1.0]


def test_runs_one_after_the_other_are_left_as_they_are() -> None:
    """They share their servers."""
    plan = a_plan(duets=False)
    (fewer, _) = effects(plan, planned_pairs(plan), figures(plan, COSTS, {"": FIRST_SET_COSTS}))[:2]
    assert max(fewer.ratios) / min(fewer.ratios) > 1.1
    assert fewer.freedom_lost == 0
