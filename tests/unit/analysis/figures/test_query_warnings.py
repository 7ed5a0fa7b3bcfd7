"""What a query load warns of, on either side of each bound, and what limited it."""

from pathlib import Path
from typing import Any

import pytest

from lab.analysis.result import analyse
from lab.records.result import Limit
from lab.records.run import WarningKind
from tests.unit.analysis.query_truth import PROFILE, QueryTruth, analysed, query_run, query_samples, step
from tests.unit.analysis.synthetic import with_samples, written
from tests.unit.messages import MakeMessage


def told(folder: Path, truth: QueryTruth) -> dict[WarningKind, tuple[str, str]]:
    """What a synthetic run warns of: seen and likely cause."""
    return {warning.kind: (warning.seen, warning.likely_cause) for warning in analysed(folder, truth).result.warnings}


def limit(folder: Path, truth: QueryTruth) -> Limit | None:
    """What limited a synthetic run."""
    return analysed(folder, truth).result.limited_by


@pytest.mark.parametrize(
    ("busy", "seen", "facts"),
    [
        (2.84, "2.84", ("sender",)),
        (3.16, "3.16", ("warm-up",)),
    ],
)
def test_clients_that_little_s_law_does_not_find_are_told(
    tmp_path: Path, busy: float, seen: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Both numbers, and on which side of 5 % they lie; 2.85 and 3.15 of 3 are within."""
    found, why = told(tmp_path / "a", QueryTruth(busy=busy))[WarningKind.CLIENTS_DISAGREE]
    assert found == message(seen, "3.00")
    assert why == message(*facts)
    within = 2.86 if busy < 3 else 3.14
    assert WarningKind.CLIENTS_DISAGREE not in told(tmp_path / "b", QueryTruth(busy=within))


def test_an_open_loop_has_no_number_of_clients_to_agree_with(tmp_path: Path) -> None:
    """How many are busy at a rate is what is measured."""
    assert WarningKind.CLIENTS_DISAGREE not in told(tmp_path, QueryTruth(rate_per_s=30.0, expected=None, busy=0.1))


def test_a_sender_that_computes_all_the_time_is_told(tmp_path: Path, message: MakeMessage) -> None:
    """One process has one core: above 0.9 of it there is no slack."""
    assert told(tmp_path / "a", QueryTruth(sender_share=0.91))[WarningKind.QUERY_SENDER_LIMITED] == (
        message(91),
        message(),
    )
    assert WarningKind.QUERY_SENDER_LIMITED not in told(tmp_path / "b", QueryTruth(sender_share=0.9))
    assert limit(tmp_path / "a", QueryTruth(sender_share=0.91)) == Limit.model_construct(
        stage="sender", evidence=message(91)
    )


def test_queries_that_are_sent_late_are_told_from_one_in_a_hundred_on(tmp_path: Path, message: MakeMessage) -> None:
    """6 of 510 are more than one in a hundred, 5 are not."""
    assert told(tmp_path / "a", QueryTruth(late_starts=6))[WarningKind.QUERY_SENDER_LIMITED] == (
        message(25, 6, 510, 10),
        message(),
    )
    assert WarningKind.QUERY_SENDER_LIMITED not in told(tmp_path / "b", QueryTruth(late_starts=5))


def test_queries_without_an_answer_are_told_by_kind(tmp_path: Path, message: MakeMessage) -> None:
    """The most frequent first; a load without errors says nothing."""
    errors = (("no answer", 3), ("429 es_rejected_execution_exception", 5))
    seen, _ = told(tmp_path / "a", QueryTruth(errors=errors))[WarningKind.QUERY_ERRORS]
    assert seen == message(8, 518, 429, "es_rejected_execution_exception", 5, 3)
    assert WarningKind.QUERY_ERRORS not in told(tmp_path / "b", QueryTruth())


def test_an_open_loop_that_is_not_answered_as_fast_as_it_asks_did_not_keep_up(
    tmp_path: Path, message: MakeMessage
) -> None:
    """30/s are 95 % of 31.5/s and less of 31.7/s; a ramp is meant to break."""
    slow = QueryTruth(rate_per_s=31.7, search_active=4)
    assert told(tmp_path / "a", slow)[WarningKind.DID_NOT_KEEP_UP] == (
        message("NOT", 31.7, "queries/s", "30/s"),
        message(100, 0),
    )
    assert WarningKind.DID_NOT_KEEP_UP not in told(tmp_path / "b", QueryTruth(rate_per_s=31.5))
    ramp = QueryTruth(rate_per_s=31.7, steps=(step(31.7, 12.0, answered=510), step(40.0, 120.0)))
    assert WarningKind.DID_NOT_KEEP_UP not in told(tmp_path / "c", ramp)


@pytest.mark.parametrize(
    ("truth", "stage", "facts"),
    [
        (QueryTruth(rate_per_s=30.0, busy=1.1), "requested rate", ("30 of 30", "1.10", 3)),
        (QueryTruth(cpu_ms=60.0, machine_cpu_percent=97.0), "elasticsearch", (97, "1.80", 2, 0.25)),
        (
            QueryTruth(cpu_ms=10.0, machine_cpu_percent=27.0, iowait_percent=30.0, read_bytes=1_000_000),
            "disk",
            (30, "30\u202fMB/s", 27),
        ),
        (QueryTruth(search_active=4, search_queue=5), "elasticsearch", (100, 5)),
        (QueryTruth(think_time_s=0.5, busy=1.2, expected=1.2), "clients", ("1.20", 3, 50, 47)),
    ],
)
def test_what_limited_queries_is_told_from_their_samples(
    tmp_path: Path, truth: QueryTruth, stage: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """One stage each, with what shows it."""
    assert limit(tmp_path, truth) == Limit.model_construct(stage=stage, evidence=message(*facts))


def test_memory_that_is_bounded_on_purpose_is_no_news(tmp_path: Path, message: MakeMessage) -> None:
    """Five thousand major faults a second are what such a profile is there to show; without a bound they are told."""
    faulting: dict[str, Any] = {"major_faults": 200}
    assert WarningKind.MEMORY_PRESSURE not in told(tmp_path / "a", QueryTruth(**faulting))
    seen, _ = told(tmp_path / "b", QueryTruth(cache_bytes=None, **faulting))[WarningKind.MEMORY_PRESSURE]
    assert seen == message("elasticsearch-1", "6,000")


def test_samples_lost_while_queries_were_sent_are_told_so(tmp_path: Path, message: MakeMessage) -> None:
    """No index grew."""
    seen = query_samples(QueryTruth())
    lost = with_samples(
        seen, lambda sample: {"lost": {"elasticsearch": "TimeoutError"}} if sample in seen[15:17] else {}
    )
    result = analyse(written(tmp_path, query_run(QueryTruth()), lost, PROFILE)).result
    assert [warning.seen for warning in result.warnings] == [message(22, 2)]
