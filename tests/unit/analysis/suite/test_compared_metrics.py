"""What a suite compares beyond what its file asks for."""

import pytest

from lab.analysis.suite.figures import PER_ENTITY, PER_MB, compared_metrics, value_in
from lab.records.result import Metric
from lab.records.suite import MetricKey, SuitePlan, Variant

QUERIES = MetricKey(name="query_service_time_ms_mean", scope="run")
STORE = MetricKey(name="store_size_bytes", scope="primaries")
INDEXING = MetricKey(name="indexing_rate_docs_per_s", scope="primaries")


@pytest.mark.parametrize(
    ("metrics", "compared"),
    [
        ((QUERIES, STORE), (QUERIES, STORE)),
        ((QUERIES, INDEXING), (QUERIES, INDEXING, PER_ENTITY, PER_MB)),
        ((PER_MB, INDEXING), (PER_MB, INDEXING, PER_ENTITY)),
    ],
)
def test_units_that_do_not_count_documents_are_for_suites_that_index(
    metrics: tuple[MetricKey, ...], compared: tuple[MetricKey, ...]
) -> None:
    """A suite of queries alone has no document on its way, and no empty table that says so."""
    plan = SuitePlan(
        suite="tiny",
        suite_id="20270115-080000",
        question="Which?",
        started_s=0.0,
        seed=1,
        repeats=1,
        control="a",
        repetition=None,
        variants=(Variant(name="a", profile="a", fingerprint="0"),),
        order=(("a",),),
        metrics=metrics,
    )
    assert compared_metrics(plan) == compared


def test_a_question_has_no_figure_of_others_that_begin_alike() -> None:
    """`nearest-10` got no answer: the sum of those with more candidates is not its time."""
    others = [Metric(name=QUERIES.name, value=5.0, unit="ms", scope=f"nearest-10-of-{each}") for each in (50, 100)]
    assert value_in(others, MetricKey(name=QUERIES.name, scope="nearest-10")) is None
