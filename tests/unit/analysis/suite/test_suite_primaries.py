"""What a document costs and what rate was reached: the headline, and which of both shows a difference."""

from dataclasses import replace

import pytest

from lab.analysis.suite.answer import Findings, conclusions, headline
from lab.analysis.suite.comparisons import planned_pairs
from lab.analysis.suite.figures import CPU_PER_DOCUMENT, PER_DOCUMENT, primary_metrics
from lab.records.suite import Effect, MetricKey, SuitePlan, Variant, Verdict
from tests.unit.analysis.suite.made_effects import Interval, an_effect

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


def about_static(cost: Interval, rate: Interval, verdicts: tuple[Verdict, Verdict], *, duets: bool = False) -> str:
    """The sentence about one comparison, from its last verdict on."""
    made = findings(
        an_effect("static", CPU_PER_DOCUMENT, cost, verdicts[0]),
        an_effect("static", PER_DOCUMENT, rate, verdicts[1]),
    )
    made = replace(made, plan=made.plan.model_copy(update={"duets": duets}))
    return conclusions(made)[1].rpartition("in indexing rate")[2]


def test_the_headline_is_how_far_the_control_may_differ_from_itself() -> None:
    """The further end of the interval, as a change, of cost and of rate."""
    checks = (
        an_effect(AGAIN, CPU_PER_DOCUMENT, (0.97, 1.0, 1.02), "same within 5 %"),
        an_effect(AGAIN, PER_DOCUMENT, (0.95, 1.02, 1.12), "undecided"),
    )
    assert headline(findings(*checks)) == (
        "On this machine, today, two identical variants may differ by up to 3.0 % in CPU per million documents"
        " (elasticsearch) and by up to 12 % in indexing rate (A/A, one start of the servers)."
    )


def test_a_suite_that_was_resumed_says_that_its_servers_were_started_again() -> None:
    """No interval holds how much two starts differ."""
    check = an_effect(AGAIN, CPU_PER_DOCUMENT, (0.97, 1.0, 1.02), "same within 5 %")
    assert headline(findings(check), 2).endswith(" (A/A, 2 starts of the servers, counted as one).")


def test_the_headline_of_pairs_says_what_their_rates_are() -> None:
    """Those of half a machine."""
    made = findings(an_effect(AGAIN, CPU_PER_DOCUMENT, (0.97, 1.0, 1.02), "same within 5 %"))
    pairs = replace(made, plan=made.plan.model_copy(update={"duets": True}))
    assert headline(pairs) == (
        f"{headline(made)} Both runs of a pair went at the same time and shared the cores: rates and latencies are"
        " those of half a machine, and differ less than they would alone. Decide by CPU per document."
    )


def test_two_blocks_are_no_headline() -> None:
    """They give an interval, but no verdict; what the rates of pairs are is said all the same."""
    made = findings(an_effect(AGAIN, CPU_PER_DOCUMENT, (0.97, 1.0, 1.02), "too few runs"))
    assert headline(made) == ""
    assert headline(replace(made, plan=made.plan.model_copy(update={"duets": True}))).startswith("Both runs of a pair")


def test_without_a_check_there_is_no_headline() -> None:
    """Nothing shows how small an effect could be told."""
    assert headline(findings(an_effect("static", PER_DOCUMENT, SAME, "same within 5 %"))) == ""


@pytest.mark.parametrize(
    ("cost", "rate", "verdicts", "ending"),
    [
        ((0.78, 0.8, 0.82), (1.1, 1.25, 1.4), ("lower", "faster"), "; CPU time per document and the rate show"),
        ((0.88, 0.9, 0.92), (0.95, 1.1, 1.3), ("lower", "undecided"), "; CPU time per document shows"),
    ],
)
def test_what_shows_a_difference_is_named(
    cost: Interval, rate: Interval, verdicts: tuple[Verdict, Verdict], ending: str
) -> None:
    """Cost scatters less than the rate, and mostly shows it first."""
    assert about_static(cost, rate, verdicts) == f"{ending} the difference."


def test_where_neither_shows_one_nothing_is_added() -> None:
    """The verdicts say it."""
    assert about_static(SAME, (0.9, 1.0, 1.1), ("same within 5 %", "undecided")) == "."


def test_a_rate_that_cost_does_not_explain_had_another_limit() -> None:
    """A document that costs 30 % less and is indexed no faster waits for something else."""
    assert about_static((0.69, 0.7, 0.71), SAME, ("lower", "same within 5 %")) == (
        ". CPU time alone predicts 1.43 times the rate; 1.00 was measured, so something other than Elasticsearch's CPU"
        " was the limit."
    )


def test_of_runs_at_the_same_time_no_rate_is_what_its_cost_alone_allows() -> None:
    """They share the cores, so that a rate which cost does not explain says nothing of another limit."""
    verdicts: tuple[Verdict, Verdict] = ("lower", "same within 5 %")
    assert about_static((0.69, 0.7, 0.71), SAME, verdicts, duets=True) == (
        "; CPU time per document shows the difference."
    )


def test_other_questions_have_a_single_primary_metric() -> None:
    """Such as how long a query takes."""
    latency = MetricKey(name="query_service_time_ms_mean", scope="run")
    asked = [(latency, PER_DOCUMENT), (PER_DOCUMENT, latency, CPU_PER_DOCUMENT)]
    primary = [primary_metrics(findings(metrics=metrics).plan) for metrics in asked]
    assert primary == [(latency,), (PER_DOCUMENT, CPU_PER_DOCUMENT)]
