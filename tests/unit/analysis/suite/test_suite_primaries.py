"""What a suite is asked by first: what a document costs and what rate was reached, or what a query takes."""

import pytest

from lab.analysis.suite.figures import CPU_PER_DOCUMENT, PER_DOCUMENT, PER_ENTITY, primary_metrics
from lab.analysis.suite.summary import summary
from lab.records.suite import Effect, MetricKey, SuitePlan, SuiteResult, Variant, Verdict
from tests.unit.analysis.suite.made_effects import Interval, a_result, an_effect
from tests.unit.messages import MakeMessage

AGAIN = "control (again)"
SAME: Interval = (0.98, 1.0, 1.02)


def findings(*effects: Effect, metrics: tuple[MetricKey, ...] = (CPU_PER_DOCUMENT, PER_DOCUMENT)) -> SuiteResult:
    """A suite of one comparison and the control once more."""
    plan = SuitePlan(
        suite="made up",
        suite_id="1",
        question="Which?",
        started_s=0,
        seed=1,
        repeats=5,
        control="control",
        repetition=AGAIN,
        variants=tuple(
            Variant(name=name, profile="p", fingerprint=name, against=against)
            for name, against in (("control", None), (AGAIN, "control"), ("static", "control"))
        ),
        order=(),
        metrics=metrics,
    )
    return a_result(plan, effects)


def test_other_questions_have_a_single_primary_metric() -> None:
    """Such as how long a query takes."""
    latency = MetricKey(name="query_service_time_ms_mean", scope="run")
    asked = [(latency, PER_DOCUMENT), (PER_DOCUMENT, latency, CPU_PER_DOCUMENT)]
    primary = [primary_metrics(findings(metrics=metrics).plan) for metrics in asked]
    assert primary == [(latency,), (PER_DOCUMENT, CPU_PER_DOCUMENT)]


def test_a_difference_is_told_though_the_first_metric_was_not_measured(message: MakeMessage) -> None:
    """CPU of servers elsewhere: it was said that nothing could be compared, beside a rate that differs."""
    told = summary(findings(an_effect("static", PER_DOCUMENT, (1.1, 1.2, 1.3), "faster")), {})

    assert told == message("5 repeats", "indexing rate", "`static` faster by 20")


def test_a_control_that_differs_from_itself_is_told_beside_what_is_compared(message: MakeMessage) -> None:
    """By the metrics that differ; what is the same is a row of the table."""
    cost = an_effect(AGAIN, CPU_PER_DOCUMENT, SAME, "same within 5 %")
    rate = an_effect(AGAIN, PER_DOCUMENT, (1.1, 1.2, 1.3), "faster")

    assert summary(findings(cost, rate, an_effect("static", PER_DOCUMENT, SAME, "same within 5 %")), {}) == message(
        "5 repeats", "0 of 1", "1 same within 5 %", "from itself", "faster by 20 % (+10 % to +30 %) in indexing rate"
    )


def test_comparisons_of_too_few_runs_are_told_beside_the_others(message: MakeMessage) -> None:
    """Of two, one with two blocks: it was said that the one comparison shows no difference."""
    found = findings(
        an_effect("static", PER_DOCUMENT, SAME, "same within 5 %"),
        an_effect("flat", PER_DOCUMENT, (1.1, 1.2, 1.3), "too few runs", ratios=(1.1, 1.3)),
        metrics=(PER_DOCUMENT,),
    )
    flat = Variant(name="flat", profile="p", fingerprint="flat", against="control")
    plan = found.plan.model_copy(update={"variants": (*found.plan.variants, flat)})
    told = summary(found.model_copy(update={"plan": plan}), {})

    assert told == message("0 of 2", "5 repeats", "1 same within 5 % and 1 too few runs")


def test_a_suite_of_the_control_alone_says_how_it_compares_with_itself(message: MakeMessage) -> None:
    """Beside other comparisons the A/A is none that the suite asks for."""
    found = findings(an_effect(AGAIN, PER_DOCUMENT, SAME, "same within 5 %"))
    alone = found.plan.model_copy(update={"variants": found.plan.variants[:2]})

    assert summary(found, {}) == message("Nothing")
    assert summary(found.model_copy(update={"plan": alone}), {}) == message("5 repeats", "0 of 1", "1 same")


@pytest.mark.parametrize("verdict", ["same within 5 %", "faster"])
def test_variants_that_count_otherwise_are_told_with_what_remains(verdict: Verdict, message: MakeMessage) -> None:
    """Whatever the figures per document say, and by whichever metric."""
    found = findings(
        an_effect("static", CPU_PER_DOCUMENT, SAME, verdict),
        an_effect("static", PER_ENTITY, (0.32, 0.33, 0.34), "slower"),
    )
    told = summary(found, {("static", "control"): (3.0, 1.0)})

    assert told == message("3 documents in `static` and 1 in `control`", "slower by 67 %")


def test_too_many_lost_blocks_are_no_want_of_blocks() -> None:
    """Of five blocks three have both runs, and what is left may be a selection."""
    few = an_effect("static", PER_DOCUMENT, (1.1, 1.2, 1.3), "too few runs", ratios=(1.2, 1.1, 1.3))
    told = summary(findings(few.model_copy(update={"dropped_blocks": 2})), {})

    assert "three blocks, and three of every four, in which both runs are verified" in told
