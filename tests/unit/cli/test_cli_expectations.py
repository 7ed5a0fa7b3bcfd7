"""What a run must have reached to pass in CI."""

import pytest

from lab.analysis.result import analyse
from lab.cli.expectations import Expectation, ending_of, expectation, failures
from lab.errors import ExpectationError, ProfileError, VerificationError
from lab.records.result import Result
from tests.unit.analysis.synthetic import Truth, run, samples, written
from tests.unit.messages import MakeMessage


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Of a run that indexed 5,000 documents a second."""
    return analyse(written(tmp_path_factory.mktemp("run"), run(Truth()), samples(Truth()))).result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("indexing_rate>5000", ("indexing_rate_docs_per_s", "primaries", ">", 5000.0)),
        (" indexing_latency_ms/total <= 0.25 ", ("indexing_latency_ms", "total", "<=", 0.25)),
        ("drain_s<1_000", ("drain_s", "run", "<", 1000.0)),
        ("drain_s<1,000,000.5", ("drain_s", "run", "<", 1_000_000.5)),
        ("cpu_s_per_million_docs<50", ("cpu_s_per_million_docs", "elasticsearch", "<", 50.0)),
        ("rss_bytes_max/connect<1e9", ("rss_bytes_max", "connect", "<", 1e9)),
        ("indexing_rate_docs_per_s/primaries>=2e4", ("indexing_rate_docs_per_s", "primaries", ">=", 20_000.0)),
    ],
)
def test_a_bound_names_a_metric_by_its_beginning(text: str, expected: tuple[str, str, str, float]) -> None:
    """In full where several begin so; without a scope it is the main one."""
    assert expectation(text) == Expectation(text, *expected)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("fast", ("--expect", "fast", "indexing_rate>5000")),
        ("indexing_rate>much", ("--expect", "indexing_rate>much", "indexing_rate>5000")),
        ("indexing_rate=1", ("--expect", "indexing_rate=1", "indexing_rate>5000")),
        ("indexing_rate>=0,95 baseline", ("--expect", "indexing_rate>=0,95 baseline", "drain_s<=1.05 baseline")),
        ("indexing_rte>1", ("--expect", "indexing_rte")),
        (
            "indexing_>1",
            ("--expect", "indexing_", "indexing_rate_docs_per_s", "indexing_latency_ms"),
        ),
    ],
)
def test_what_is_no_bound_is_refused(text: str, facts: tuple[object, ...], message: MakeMessage) -> None:
    """Before anything is started."""
    with pytest.raises(ProfileError) as refused:
        expectation(text)
    assert str(refused.value) == message(*facts)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "rss_bytes_max<1e9",
            ("rss_bytes_max/SCOPE", "elasticsearch-1"),
        ),
        ("indexing_rate/primary>1", ("indexing_rate_docs_per_s/SCOPE", "index-1")),
        ("drain_s/total<60", ("drain_s/SCOPE",)),
        ("answers_wrong<1", ("answers_wrong/SCOPE",)),
        ("heap_used_bytes_max/run<1e9", ("heap_used_bytes_max/SCOPE", "elasticsearch-1")),
    ],
)
def test_a_scope_that_no_value_of_the_metric_has_is_refused(
    text: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before anything is started: the run would only end with `not measured`."""
    with pytest.raises(ProfileError) as refused:
        expectation(text)
    assert str(refused.value) == message("--expect", text, *facts)


def test_what_a_run_misses_is_told_with_what_it_was(result: Result) -> None:
    """A bound that it holds is not; a metric that it has not measured is missed."""
    wanted = [expectation(text) for text in ("indexing_rate>4000", "indexing_rate>6000", "knee_rate_per_s>1")]
    assert failures(result, wanted, no_dead_letters=False) == {
        "verified": None,
        "indexing_rate>4000": None,
        "indexing_rate>6000": "indexing_rate>6000: it was 5,000/s",
        "knee_rate_per_s>1": "knee_rate_per_s>1: not measured",
    }


def test_a_near_miss_is_not_rounded_to_the_bound(result: Result) -> None:
    """It was said that it was the 5,000/s that it should be."""
    metrics = [
        metric.model_copy(update={"value": 4998.5})
        if metric.key == ("indexing_rate_docs_per_s", "primaries")
        else metric
        for metric in result.metrics
    ]
    close = result.model_copy(update={"metrics": tuple(metrics)})
    assert expectation("indexing_rate>=5000").failure(close) == "indexing_rate>=5000: it was 5,000/s (4,998.5)"


def test_a_rate_without_a_measured_window_holds_no_bound(result: Result, message: MakeMessage) -> None:
    """The few samples of a load too short to measure would meet it, or miss it, by chance; its time is known."""
    wanted = [expectation(text) for text in ("indexing_rate>1", "indexing_latency_ms<9", "drain_s<60")]
    assert failures(result.model_copy(update={"measured_window": None}), wanted, no_dead_letters=False) == {
        "verified": None,
        "indexing_rate>1": message("indexing_rate>1"),
        "indexing_latency_ms<9": (message("indexing_latency_ms<9")),
        "drain_s<60": None,
    }


@pytest.mark.parametrize(("letters", "failure"), [(0, None), (None, None), (1009, "1,009 dead letters")])
def test_dead_letters_fail_where_none_may_be(result: Result, letters: int | None, failure: str | None) -> None:
    """They are accounted for, and the run is verified all the same."""
    documents = result.documents.model_copy(update={"dead_lettered": letters})
    checks = failures(result.model_copy(update={"documents": documents}), [], no_dead_letters=True)
    assert checks == {"verified": None, "no dead letters": failure}


def test_a_void_run_ends_so_whatever_else_it_misses(message: MakeMessage) -> None:
    """Its figures are those of no run at all."""
    void, unmet = "7 documents are missing", "drain_s<1: it was 23.0 s"
    endings = [
        ending_of({"verified": verified, "drain_s<1": failure})
        for verified, failure in ((None, None), (None, unmet), (void, None), (void, unmet))
    ]
    assert [(type(ending), str(ending)) for ending in endings] == [
        (type(None), "None"),
        (ExpectationError, message(unmet)),
        (VerificationError, message(void)),
        (VerificationError, message(void)),
    ]
