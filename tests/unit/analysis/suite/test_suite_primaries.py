"""What a suite is asked by first: what a document costs and what rate was reached, or what a query takes."""

from lab.analysis.suite.answer import Findings
from lab.analysis.suite.comparisons import planned_pairs
from lab.analysis.suite.figures import CPU_PER_DOCUMENT, PER_DOCUMENT, primary_metrics
from lab.records.suite import Effect, MetricKey, SuitePlan, Variant
from tests.unit.analysis.suite.made_effects import Interval

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
