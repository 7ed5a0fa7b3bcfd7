"""What a suite is asked by first: what a document costs and what rate was reached, or what a query takes."""

from dataclasses import replace

from lab.analysis.suite.comparisons import planned_pairs
from lab.analysis.suite.figures import CPU_PER_DOCUMENT, PER_DOCUMENT, primary_metrics
from lab.analysis.suite.summary import Findings, summary
from lab.records.suite import Effect, MetricKey, SuitePlan, Variant
from tests.unit.analysis.suite.made_effects import Interval, an_effect
from tests.unit.messages import MakeMessage

AGAIN = "control (again)"
SAME: Interval = (0.98, 1.0, 1.02)


def findings(*effects: Effect, metrics: tuple[MetricKey, ...] = (CPU_PER_DOCUMENT, PER_DOCUMENT)) -> Findings:
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
    return Findings(plan, "5 repeats", planned_pairs(plan), effects, (), {})


def test_other_questions_have_a_single_primary_metric() -> None:
    """Such as how long a query takes."""
    latency = MetricKey(name="query_service_time_ms_mean", scope="run")
    asked = [(latency, PER_DOCUMENT), (PER_DOCUMENT, latency, CPU_PER_DOCUMENT)]
    primary = [primary_metrics(findings(metrics=metrics).plan) for metrics in asked]
    assert primary == [(latency,), (PER_DOCUMENT, CPU_PER_DOCUMENT)]


def test_a_difference_is_told_though_the_first_metric_was_not_measured(message: MakeMessage) -> None:
    """CPU of servers elsewhere: it was said that nothing could be compared, beside a rate that differs."""
    told = summary(findings(an_effect("static", PER_DOCUMENT, (1.1, 1.2, 1.3), "faster")))

    assert told == message("5 repeats", "indexing rate", "`static` faster by 20")


def test_the_check_of_the_method_is_told_of_each_metric(message: MakeMessage) -> None:
    """A control that is the same in cost and differs from itself in rate was called the same."""
    cost = an_effect(AGAIN, CPU_PER_DOCUMENT, SAME, "same within 5 %")
    rate = an_effect(AGAIN, PER_DOCUMENT, (1.1, 1.2, 1.3), "faster")

    assert summary(findings(cost, rate)) == message(
        "difference from itself",
        "same within 5 % (-2.0 % to +2.0 %) in CPU per million documents (elasticsearch)",
        "faster by 20 % (+10 % to +30 %) in indexing rate",
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
    told = summary(replace(found, plan=plan, pairs=planned_pairs(plan)))

    assert told == message("None of 2", "5 repeats", "1 same within 5 % and 1 too few runs")


def test_a_suite_of_the_control_alone_says_that_nothing_else_was_compared(message: MakeMessage) -> None:
    """The A/A is no comparison that the suite asks for."""
    told = summary(findings(an_effect(AGAIN, PER_DOCUMENT, SAME, "same within 5 %")))

    assert told == message("Nothing", "5 repeats")


def test_a_check_of_too_few_runs_says_nothing_of_the_method(message: MakeMessage) -> None:
    """Two blocks have an interval, and no verdict."""
    told = summary(
        findings(
            an_effect("static", PER_DOCUMENT, SAME, "same within 5 %"),
            an_effect(AGAIN, PER_DOCUMENT, (1.1, 1.2, 1.3), "too few runs", ratios=(1.1, 1.3)),
        )
    )

    assert told == message("A/A", "too few runs")
