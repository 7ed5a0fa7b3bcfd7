"""Findings on made-up stored states, each beside the state in which nothing is found."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from lab.extensions import Ids
from lab.prove.history import Sent
from lab.prove.judge import Claims, Judgement, Outcome, judge, with_held

Documents = Sequence[tuple[str, Mapping[str, Any]]]


def document(number: int, **more: object) -> dict[str, object]:
    """The document of a record."""
    return {"number": number, "mark": f"mark1n{number:06d}x", **more}


def record(number: int, key: str = "a", *, tombstone: bool = False, odd: bool = False) -> Sent:
    """A record whose offset is its number."""
    value = None if tombstone else orjson.dumps(document(number))
    return Sent(number, f"mark1n{number:06d}x", key.encode(), value, odd, partition=0, offset=number)


def judged(
    records: Sequence[Sent], documents: Documents, *, ids: Ids = "keys", deletes: bool = True, **outcome: Any
) -> Judgement:
    """Findings where every offset is committed, unless the outcome says otherwise."""
    return judge(records, Claims(ids, deletes), Outcome(documents, **{"committed": {0: 100}, **outcome}))


def counts(judgement: Judgement) -> dict[str, int]:
    """Records by kind of finding."""
    return {finding.kind: finding.records for finding in judgement.findings}


def test_the_newest_of_each_key_is_right() -> None:
    """Nothing is found where updates and deletes are done."""
    records = [record(1, "a"), record(2, "b"), record(3, "a"), record(4, "b", tombstone=True)]
    assert judged(records, [("a", document(3))]) == Judgement()


@pytest.mark.parametrize(
    ("documents", "found"),
    [
        ([("b", document(2))], {"lost": 1}),
        ([("a", document(1)), ("b", document(2))], {"stale": 1}),
        ([("a", document(3, price=1)), ("b", document(2))], {"changed": 1}),
        ([("a", document(3)), ("b", document(2)), ("c", document(3))], {"doubled": 1}),
        ([("a", document(3)), ("b", document(2)), ("gone", document(0))], {"resurrected": 1}),
    ],
    ids=["lost", "stale", "changed", "doubled", "resurrected"],
)
def test_each_wrong_state_is_found_once(documents: Documents, found: Mapping[str, int]) -> None:
    """One kind for each state."""
    records = [record(0, "gone"), record(1, "a"), record(2, "b"), record(3, "a"), record(4, "gone", tombstone=True)]
    assert counts(judged(records, documents)) == found


def test_a_tombstone_does_nothing_where_the_pipeline_does_not_delete() -> None:
    """The record before it stays."""
    records = [record(1), record(2, tombstone=True)]
    assert judged(records, [("a", document(1))], deletes=False) == Judgement()


def test_without_keys_every_record_is_a_document() -> None:
    """Two records of one key are two documents."""
    records = [record(1), record(2)]
    assert judged(records, [("x", document(1)), ("y", document(2))], ids="generated") == Judgement()
    assert counts(judged(records, [("x", document(2))], ids="generated")) == {"lost": 1}


def test_a_document_stored_twice_is_a_finding_unless_the_cluster_makes_the_ids() -> None:
    """At-least-once delivery promises no more."""
    twice = [("x", document(1)), ("y", document(1))]
    assert counts(judged([record(1)], twice, ids="offsets")) == {"doubled": 1}
    claimed = judged([record(1)], twice, ids="generated")
    assert (claimed.findings, len(claimed.notes)) == ((), 1)


@pytest.mark.parametrize(
    ("outcome", "found", "notes"),
    [
        ({}, {"stuck": 1}, 0),
        ({"stopped": "task failed"}, {}, 1),
        ({"ended": True}, {"dead without a word": 1}, 0),
    ],
    ids=["runs", "stopped and said so", "ended by itself"],
)
def test_a_record_that_is_not_committed_waits(
    outcome: Mapping[str, object], found: Mapping[str, int], notes: int
) -> None:
    """It is read again when the pipeline goes on."""
    judgement = judged([record(1)], [], committed={0: 1}, **outcome)
    assert (counts(judgement), len(judgement.notes)) == (found, notes)


@pytest.mark.parametrize(
    ("documents", "outcome", "found"),
    [
        ([], {"letters": {1}}, {}),
        ([], {"worded": {1}}, {}),
        ([("a", document(1))], {}, {}),
        ([], {}, {"dead without a word": 1}),
        ([], {"committed": {0: 1}, "stopped": "task failed"}, {}),
        ([("a", document(1))], {"letters": {1}}, {"told wrongly": 1}),
        ([("a", document(1, price=2))], {}, {"changed": 1}),
    ],
    ids=["dead letter", "log", "stored", "nothing", "stopped before it", "dead letter of a stored one", "changed"],
)
def test_an_odd_record_is_stored_or_told(
    documents: Documents, outcome: Mapping[str, object], found: Mapping[str, int]
) -> None:
    """Or the pipeline stops before it, and says so."""
    assert counts(judged([record(1, odd=True)], documents, **outcome)) == found


@pytest.mark.parametrize("told", ["letters", "worded"])
def test_a_good_record_given_up_as_bad_is_told_wrongly(told: str) -> None:
    """By a dead letter or in the log."""
    assert counts(judged([record(1)], [], **{told: {1}})) == {"told wrongly": 1}


def test_a_record_in_the_log_that_is_stored_is_right() -> None:
    """A log may name a retry."""
    assert judged([record(1)], [("a", document(1))], worded={1}) == Judgement()


def test_what_comes_once_the_faults_have_ended_was_stuck_and_not_lost() -> None:
    """As of a pipeline with a queue of its own, which commits what it only holds."""
    records = [record(1, "a"), record(2, "b"), record(3, "c")]
    during = judged(records, [("a", document(1))])
    assert counts(during) == {"lost": 2}
    assert counts(with_held(during, judged(records, [("a", document(1)), ("b", document(2))]))) == {
        "lost": 1,
        "stuck": 1,
    }
    assert counts(with_held(during, during)) == {"lost": 2}
