"""Which of our comparisons stand for those of a source."""

from lab.analysis.suite.comparisons import planned_pairs, published_pairs, published_steps
from lab.profiles.published import load_published
from lab.profiles.suites import load_suite
from lab.records.suite import MetricKey, SuitePlan
from lab.suite.plan import make_plan
from tests.unit.analysis.suite.made_effects import an_effect

LADDER = load_suite("aladin-indexing")
PUBLISHED = load_published("aladin-indexing")


def plan() -> SuitePlan:
    """The ladder of the repository."""
    return make_plan(LADDER, measures=None, seed=None, skipped={}, documents={}, command=())


def test_a_step_is_our_comparison_whatever_its_reference_is_called() -> None:
    """More nodes are compared with two primaries on the same servers, which have another name."""
    pairs = planned_pairs(plan())
    ours = {(step.variant, step.against) for step in published_steps(plan(), PUBLISHED, pairs, ())}
    assert {
        ("aladin/nodes-3", "primaries-2 of 4 nodes"),
        ("aladin/nodes-4", "primaries-2 of 4 nodes"),
        ("aladin/flat", "aladin/primaries-2"),
        ("aladin/static", "aladin/control"),
    } <= ours


def test_what_only_the_source_compares_is_compared_within_a_part() -> None:
    """Runs of another part were made at another time, on other servers."""
    drawn = published_pairs(plan(), PUBLISHED, planned_pairs(plan()))
    assert drawn
    parts = LADDER.parts
    assert all(parts[variant] == parts[against] for variant, against in drawn)


def test_an_interval_of_too_few_runs_holds_no_published_ratio() -> None:
    """Two blocks have one that is not shown, since nothing but an assumption makes it."""
    pairs = planned_pairs(plan())
    step = next(each for each in published_steps(plan(), PUBLISHED, pairs, ()) if each.variant == "aladin/static")
    metric = MetricKey(name=step.metric, scope=step.scope)
    few = an_effect(step.variant, metric, (0.1, 1.0, 10.0), "too few runs", against=step.against)
    shown = [
        published_steps(plan(), PUBLISHED, pairs, [effect])[place].is_inside
        for effect in (few, few.model_copy(update={"verdict": "undecided"}))
        for place, each in enumerate(published_steps(plan(), PUBLISHED, pairs, ()))
        if each == step
    ]
    assert shown == [None, True]
