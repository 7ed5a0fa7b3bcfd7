"""The sink's ledger against topic and index: every law is broken once, and none gives a false alarm."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.endpoints import HttpAccess
from lab.monitor.sink import SinkNotRegisteredError
from lab.records.samples import ProcessSample, Sample, SinkSample
from lab.records.verification import Documents, Ledger, SinkLedger, TaskLedger, Verification
from lab.run.verify import sink_ledger
from lab.run.verify.accounting import Unindexed
from lab.run.verify.sink_ledger import (
    LedgerEvidence,
    LedgerReading,
    ledger_verdict,
    read_settled_ledger,
    samples_in,
    tasks_restarted,
    unindexed_records,
    with_ledger,
)
from tests.unit.messages import MakeMessage

LAWS = ["balance", "totals", "topic", "index", "dead letters"]


def ledger(**counts: int) -> Ledger:
    """A ledger with these counts and no others; what is not said to be read is the sum."""
    zero = dict.fromkeys(Ledger.model_fields, 0)
    return Ledger(**(zero | {"read": sum(counts.values())} | counts))


def summed(parts: Sequence[Ledger]) -> Ledger:
    """The sums of a task."""
    return Ledger(**{field: sum(getattr(part, field) for part in parts) for field in Ledger.model_fields})


def tasks(*partitions: dict[str, Ledger]) -> SinkLedger:
    """A ledger of tasks that add up."""
    return SinkLedger(
        tasks={
            str(number): TaskLedger(total=summed(list(parts.values())), partitions=parts)
            for number, parts in enumerate(partitions)
        }
    )


def found(in_topic: dict[str, int], *, restarted: bool = False, **counts: int) -> LedgerEvidence:
    """A topic of these partitions, and what verification has counted."""
    zero = dict.fromkeys(Documents.model_fields, 0)
    return LedgerEvidence(in_topic=in_topic, documents=Documents(**(zero | counts)), restarted=restarted)


WHOLE = tasks(
    {"b-0": ledger(indexed=101, updated=7, stale=3), "b-1": ledger(indexed=89)},
    {"b-2": ledger(indexed=53, already_there=2, dead_lettered=5)},
)
RUN = found({"b-0": 111, "b-1": 89, "b-2": 60, "b-3": 0}, indexed=243, already_there=12, dead_lettered=5)


def outcomes(reading: SinkLedger | None, against: LedgerEvidence = RUN) -> list[str]:
    """How each law came out, in the order of the laws."""
    verdict = ledger_verdict(LedgerReading(reading, "no metrics"), against)
    assert [check.law for check in verdict.checks] == LAWS
    return [check.outcome for check in verdict.checks]


def test_a_ledger_that_agrees_with_everything_holds_in_all_its_laws(message: MakeMessage) -> None:
    """Each record was read once and is somewhere."""
    verdict = ledger_verdict(LedgerReading(WHOLE), RUN)
    assert verdict.covers == "each record once"
    assert [(check.outcome, check.found) for check in verdict.checks] == [
        ("holds", message(3, "balance")),
        ("holds", message(2, "agree with")),
        ("holds", message(260, "read by the sink")),
        ("holds", message(255, "stored by the sink", "overwritten")),
        ("holds", message(5, "dead-lettered by the sink")),
    ]


def test_sentences_are_right_for_one_and_for_thousands(message: MakeMessage) -> None:
    """One partition balances, one task agrees; large numbers have separators."""
    verdict = ledger_verdict(
        LedgerReading(tasks({"b-0": ledger(read=20_011, indexed=20_011)})), found({"b-0": 20_011}, indexed=20_011)
    )
    assert [check.found for check in verdict.checks] == [
        message(1, "balances"),
        message(1, "agrees with"),
        message("20,011", "read by the sink"),
        message("20,011", "stored by the sink", "overwritten"),
        message(0, "dead-lettered by the sink"),
    ]


def test_a_run_without_dead_letters_holds_as_well() -> None:
    """None in the ledger and none in the topic are the same number."""
    assert outcomes(tasks({"b-0": ledger(indexed=101)}), found({"b-0": 101}, indexed=101)) == ["holds"] * 5


def test_a_record_in_flight_at_the_end_breaks_the_balance(message: MakeMessage) -> None:
    """Its offset is committed and nobody knows where it is."""
    lost = tasks({"b-0": ledger(indexed=101, in_flight=1)})
    verdict = ledger_verdict(LedgerReading(lost), found({"b-0": 102}, indexed=101))
    assert (verdict.checks[0].outcome, verdict.checks[0].found) == (
        "broken",
        message("task 0", "b-0", 102, 1, "in flight"),
    )


def test_a_record_that_is_nowhere_breaks_the_balance() -> None:
    """Read, and in none of the sums."""
    assert outcomes(tasks({"b-0": ledger(read=102, indexed=101)}), found({"b-0": 102}, indexed=102))[0] == "broken"


def test_a_record_that_was_decided_twice_breaks_the_balance() -> None:
    """It shows as less than nothing in flight."""
    twice = tasks({"b-0": ledger(read=101, indexed=101, updated=1, in_flight=-1)})
    assert outcomes(twice, found({"b-0": 101}, indexed=101))[0] == "broken"


def test_three_of_many_unbalanced_partitions_are_named(message: MakeMessage) -> None:
    """A sentence stays a sentence."""
    lost = tasks({f"b-{number}": ledger(read=102, indexed=101) for number in range(5)})
    check = ledger_verdict(LedgerReading(lost), found({"b-0": 102})).checks[0]
    assert check.found == message(102, 101, "b-0", "b-1", "b-2")


def test_a_task_that_disagrees_with_its_partitions_is_told(message: MakeMessage) -> None:
    """Both are counted apart from each other in the sink."""
    parts = {"b-0": ledger(indexed=101)}
    apart = SinkLedger(tasks={"3": TaskLedger(total=ledger(read=101, indexed=97, updated=4), partitions=parts)})
    verdict = ledger_verdict(LedgerReading(apart), found({"b-0": 101}, indexed=101))
    assert verdict.checks[1].outcome == "broken"
    assert verdict.checks[1].found == message("task 3", 97, 101, 4, 0)


def test_three_of_many_disagreements_are_named() -> None:
    """A sentence stays a sentence."""
    apart = SinkLedger(
        tasks={"3": TaskLedger(total=ledger(indexed=1, updated=2, stale=3, dead_lettered=5), partitions={})}
    )
    assert ledger_verdict(LedgerReading(apart), RUN).checks[1].found.count("task 3: ") == 3


@pytest.mark.parametrize(
    ("field", "law"), [("indexed", "index"), ("already_there", "index"), ("dead_lettered", "dead letters")]
)
def test_one_document_more_or_less_than_the_sink_counts_breaks_one_law(field: str, law: str) -> None:
    """The sink says what it did, verification what is there."""
    for change in (-1, 1):
        documents = RUN.documents.model_copy(update={field: getattr(RUN.documents, field) + change})
        seen = dict(zip(LAWS, outcomes(WHOLE, LedgerEvidence(RUN.in_topic, documents, restarted=False)), strict=True))
        assert {name for name, outcome in seen.items() if outcome == "broken"} == {law}


def test_a_broken_law_makes_the_run_void(message: MakeMessage) -> None:
    """Its sentence is one of the run's problems."""
    verified = Verification(verified=True, problems=())
    documents = RUN.documents.model_copy(update={"dead_lettered": 4})
    judged = with_ledger(verified, LedgerReading(WHOLE), LedgerEvidence(RUN.in_topic, documents, restarted=False))
    assert (judged.verified, judged.problems) == (False, (message(5, 4, "dead-lettered by the sink"),))
    assert judged.ledger is not None
    assert [check.outcome for check in judged.ledger.checks] == [*["holds"] * 4, "broken"]


def test_a_ledger_that_balances_leaves_the_verification_as_it_is() -> None:
    """A run that is void for another reason stays so."""
    for before in (Verification(verified=True, problems=()), Verification(verified=False, problems=("7 are missing",))):
        judged = with_ledger(before, LedgerReading(WHOLE), RUN)
        assert (judged.verified, judged.problems) == (before.verified, before.problems)


def with_skipped(made: SinkLedger, *, skipped: int | None = None, filtered: int | None = None) -> SinkLedger:
    """The ledger of one task, to which the worker has not handed these over."""
    ((number, task),) = made.tasks.items()
    return SinkLedger(tasks={number: task.model_copy(update={"skipped": skipped, "filtered": filtered})})


def test_records_that_the_worker_skipped_close_the_topic(message: MakeMessage) -> None:
    """Of which partition they were, it does not say."""
    made = with_skipped(tasks({"b-0": ledger(indexed=101), "b-1": ledger(indexed=50)}), skipped=3, filtered=0)
    against = found({"b-0": 103, "b-1": 51}, indexed=151)
    verdict = ledger_verdict(LedgerReading(made), against)
    assert (verdict.covers, [check.outcome for check in verdict.checks]) == ("each record once", ["holds"] * 5)
    assert verdict.checks[2].found == message(151, 3, 154, "read by the sink", "skipped by the worker")


def test_what_a_transform_removed_is_missing() -> None:
    """A document that nobody refused and nobody stored is lost, whoever has removed it."""
    made = with_skipped(tasks({"b-0": ledger(indexed=101)}), skipped=0, filtered=2)
    assert outcomes(made, found({"b-0": 103}, indexed=101))[2] == "not checked"


def test_a_record_too_few_is_not_made_up_for_by_one_that_was_skipped() -> None:
    """One was skipped, and two are not read."""
    made = with_skipped(tasks({"b-0": ledger(indexed=101)}), skipped=1)
    assert outcomes(made, found({"b-0": 103}, indexed=101))[2] == "not checked"


def test_dead_letters_of_the_worker_are_told_from_the_sinks(message: MakeMessage) -> None:
    """What a converter fails on is in the same topic; more letters than that are too many."""
    made = with_skipped(tasks({"b-0": ledger(indexed=101, dead_lettered=3)}), skipped=2)
    verdict = ledger_verdict(LedgerReading(made), found({"b-0": 106}, indexed=101, dead_lettered=5))
    assert (verdict.checks[4].outcome, verdict.checks[4].found) == (
        "holds",
        message(3, 2, 5, "dead-lettered by the sink", "skipped by the worker"),
    )
    assert outcomes(made, found({"b-0": 106}, indexed=101, dead_lettered=6))[4] == "broken"


def test_what_is_elsewhere_is_known_by_topic() -> None:
    """Topics may have hyphens; what the worker skipped is of the only topic."""
    made = tasks({"b-c-0": ledger(indexed=7, redirected=2), "b-c-1": ledger(indexed=5, dead_lettered=3)})
    in_topic = {"b-c-0": 9, "b-c-1": 8}
    assert unindexed_records(LedgerReading(made), in_topic, restarted=False) == {
        "b-c": Unindexed(redirected=2, dead_lettered=3)
    }
    skipping = LedgerReading(with_skipped(made, skipped=4))
    assert unindexed_records(skipping, {"b-c-0": 11, "b-c-1": 10}, restarted=False)["b-c"].undelivered == 4
    several = LedgerReading(with_skipped(tasks({"a-0": ledger(dropped_by_pipeline=7), "b-0": ledger(indexed=1)})))
    assert unindexed_records(several, {"a-0": 7, "b-0": 1}, restarted=False) == {
        "a": Unindexed(dropped_by_pipeline=7),
        "b": Unindexed(),
    }


def test_nothing_is_elsewhere_by_a_ledger_that_has_not_counted_each_record_once() -> None:
    """Missing documents stay missing."""
    made = LedgerReading(tasks({"b-0": ledger(indexed=7, redirected=2)}))
    assert unindexed_records(made, {"b-0": 9}, restarted=True) == {}
    assert unindexed_records(made, {"b-0": 8}, restarted=False) == {}
    assert unindexed_records(LedgerReading(None, "no metrics"), {"b-0": 9}, restarted=False) == {}
    assert unindexed_records(None, {}, restarted=False) == {}


def test_after_a_restart_only_the_ledger_itself_is_checked() -> None:
    """The counters have begun again, and some records were read twice: nothing can be said of the whole."""
    for since, restarted in (({"b-0": ledger(indexed=31)}, False), ({"b-0": ledger(indexed=97, stale=31)}, True)):
        against = found({"b-0": 101}, indexed=101, restarted=restarted)
        assert outcomes(tasks(since), against) == ["holds", "holds", "not checked", "not checked", "not checked"]
        assert ledger_verdict(LedgerReading(tasks(since)), against).covers == "since a task's last start"


def test_one_partition_that_was_not_read_whole_is_enough_to_judge_none() -> None:
    """Records read twice in one must not make up for those not counted in another."""
    since = tasks({"b-0": ledger(indexed=101, already_there=31), "b-1": ledger(indexed=53)})
    against = found({"b-0": 101, "b-1": 84}, indexed=185)
    assert outcomes(since, against) == ["holds", "holds", "not checked", "not checked", "not checked"]


def test_a_law_that_is_not_checked_says_why(message: MakeMessage) -> None:
    """Both counts are named; without a restart that was seen, another reason is possible."""
    since = tasks({"b-0": ledger(indexed=31)})
    sentences = [
        ledger_verdict(LedgerReading(since), found({"b-0": 101}, indexed=101, restarted=restarted)).checks[2].found
        for restarted in (True, False)
    ]
    assert sentences[0] == message(31, 101)
    assert sentences[1] == message(sentences[0], "transformation")


def test_records_read_twice_are_no_false_alarm_and_missing_ones_still_an_alarm(message: MakeMessage) -> None:
    """A partition that changed its task is read again in part."""
    twice = tasks(
        {"b-0": ledger(indexed=53, dead_lettered=2)}, {"b-0": ledger(indexed=48, already_there=7, dead_lettered=1)}
    )
    against = found({"b-0": 103}, indexed=101, dead_lettered=2)
    assert outcomes(twice, against) == ["holds"] * 5
    assert ledger_verdict(LedgerReading(twice), against).covers == "some records twice"
    assert outcomes(twice, found({"b-0": 103}, indexed=109, dead_lettered=2))[3] == "broken"
    enough = ledger_verdict(LedgerReading(twice), found({"b-0": 103}, indexed=101, dead_lettered=3)).checks[4]
    assert (enough.outcome, enough.found) == ("holds", message(3, "dead-lettered by the sink"))


def test_a_sink_without_a_ledger_has_no_law_checked() -> None:
    """A sink that is not ours is none the worse for it, and no report says that its ledger balances."""
    verdict = ledger_verdict(LedgerReading(None, "the worker offers no metrics"), RUN)
    assert verdict.covers is None
    assert {(check.outcome, check.found) for check in verdict.checks} == {
        ("not checked", "the worker offers no metrics")
    }


# --- reading it -----------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now_s

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now_s += seconds


def settled(answers: list[Any], clock: Clock | None = None) -> LedgerReading:
    """What is read from a sink that answers so, one after the other, the last one for ever."""
    clock = clock or Clock()

    def read(_url: str, _connector: str) -> SinkLedger:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, SinkLedger)
        return answer

    return read_settled_ledger("http://worker", "sluice-x", read=read, sleep=clock.sleep, clock=clock)


def test_the_ledger_is_read_once_nothing_is_in_flight() -> None:
    """A record that is under way at the first look is not lost."""
    other = {"b-1": ledger(indexed=5)}
    busy, idle = tasks({"b-0": ledger(indexed=7, in_flight=3)}, other), tasks({"b-0": ledger(indexed=10)}, other)
    assert settled([busy, busy, idle]) == LedgerReading(idle)


def test_the_ledger_is_read_with_the_targets_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker behind a password would otherwise keep its ledger to itself, and no law would be checked."""
    idle, access = tasks({"b-0": ledger(indexed=7)}), HttpAccess()

    def read(_url: str, _connector: str, *, access: HttpAccess) -> SinkLedger:
        asked.append(access)
        return idle

    asked: list[HttpAccess] = []
    monkeypatch.setattr(sink_ledger, "read_sink_ledger", read)
    assert read_settled_ledger("http://worker", "sluice-x", access=access) == LedgerReading(idle)
    assert asked[0] is access


def test_what_stays_in_flight_for_five_seconds_is_read_as_it_is() -> None:
    """The check says then what it found."""
    clock = Clock()
    busy = tasks({"b-0": ledger(indexed=7, in_flight=3)})
    assert settled([busy], clock) == LedgerReading(busy)
    assert clock.now_s == pytest.approx(5.0, abs=0.2)


def test_a_sink_that_is_not_ours_has_no_ledger(message: MakeMessage) -> None:
    """With the reason."""
    reading = settled([SinkNotRegisteredError("no task of connector sluice-x has registered its metrics")])
    assert reading == LedgerReading(None, message("SinkNotRegisteredError", "sluice-x"))
    assert read_settled_ledger(None, "sluice-x") == LedgerReading(None, "the worker offers no metrics")


# --- restarts -------------------------------------------------------------------------------------------------------


def sample(at_s: float, *, read: int | None, in_flight: int = 0, worker: int | None = None) -> Sample:
    """The sink's and the worker's part of a sample."""
    counts = dict.fromkeys(SinkSample.model_fields, 0) | {"records_read": read or 0, "records_in_flight": in_flight}
    process = ProcessSample(
        pid=worker or 0, cpu_s=1, rss_bytes=1, major_page_faults=0, disk_read_bytes=None, disk_write_bytes=None
    )
    return Sample(
        at_s=at_s,
        phase="load",
        sink=None if read is None else SinkSample(**counts),
        processes={} if worker is None else {"connect": process},
    )


def test_a_counter_that_falls_is_a_restart() -> None:
    """Also over a gap without an answer."""
    assert tasks_restarted([sample(1, read=101), sample(2, read=None), sample(3, read=7)])


def test_records_given_back_are_no_restart() -> None:
    """They no longer count as read, but were never decided."""
    assert not tasks_restarted([sample(1, read=101, in_flight=50), sample(2, read=60, in_flight=3), sample(3, read=71)])


def test_a_sink_that_waits_is_no_restart() -> None:
    """Neither before its first record nor between two of them."""
    assert not tasks_restarted([sample(1, read=0), sample(2, read=101), sample(3, read=101)])


def test_another_process_is_a_restart() -> None:
    """Even when its counters have overtaken those of the one before."""
    assert tasks_restarted([sample(1, read=101, worker=7), sample(2, read=211, worker=11)])
    assert not tasks_restarted([sample(1, read=101, worker=7), sample(2, read=211, worker=7)])


def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    """And no samples at all are no samples."""
    whole = [sample(1, read=101), sample(2, read=103)]
    lines = [one.model_dump_json().encode() + b"\n" for one in whole]
    (tmp_path / "samples.ndjson").write_bytes(lines[0] + lines[0][:31] + b"\n" + lines[1] + b'{"at_s')
    assert list(samples_in(tmp_path / "samples.ndjson")) == whole
    assert list(samples_in(tmp_path / "absent.ndjson")) == []
