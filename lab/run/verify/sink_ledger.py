"""The sink's own ledger against topic and index: which laws hold, and which cannot be held against it.

A task's counters start again with the task, and records are read again after that. So the sums are compared with topic
and index only where each record was counted; what was not compared is said, with the reason.
"""

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from lab.endpoints import OPEN, HttpAccess
from lab.monitor import read_sink_ledger
from lab.records.samples import Sample
from lab.records.verification import Documents, Ledger, LedgerCheck, LedgerVerdict, SinkLedger, Verification
from lab.run.verify.accounting import Unindexed

SETTLED_WITHIN_S = 5.0
"""Offsets are committed once their records are decided; so nothing is in flight for longer than an instant."""

POLL_S = 0.1
NAMED = 3

Law = Literal["balance", "totals", "topic", "index", "dead letters"]
Covers = Literal["each record once", "some records twice", "since a task's last start"]


@dataclass(frozen=True)
class LedgerReading:
    """The ledger at the end of the load, or in one sentence why there is none."""

    ledger: SinkLedger | None
    why_none: str = ""


@dataclass(frozen=True)
class LedgerEvidence:
    """What the ledger is held against.

    Attributes:
        in_topic: Records in each partition of the topic, by `topic-partition`.
        documents: What verification has counted.
        restarted: Whether a task was seen to start again during the run.
    """

    in_topic: Mapping[str, int]
    documents: Documents
    restarted: bool


def read_settled_ledger(
    metrics_url: str | None,
    connector: str,
    *,
    access: HttpAccess = OPEN,
    read: Callable[[str, str], SinkLedger] | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> LedgerReading:
    """The sink's ledger once nothing is in flight, or as it is after five seconds."""
    if metrics_url is None:
        return LedgerReading(None, "the worker offers no metrics")
    read = read or functools.partial(read_sink_ledger, access=access)
    deadline = clock() + SETTLED_WITHIN_S
    while True:
        try:
            ledger = read(metrics_url, connector)
        except (httpx.HTTPError, LookupError, ValueError) as error:
            # A sink that is not ours keeps none, and the run is none the worse for it.
            return LedgerReading(None, f"the sink's ledger cannot be read: {type(error).__name__}: {error}")
        if clock() > deadline or not any(task.total.in_flight for task in ledger.tasks.values()):
            return LedgerReading(ledger)
        sleep(POLL_S)


def tasks_restarted(samples: Iterable[Sample]) -> bool:
    """Whether a task of the sink started again: decisions are never taken back, and a process keeps its number."""
    decided, workers = 0, set()
    for sample in samples:
        if (worker := sample.processes.get("connect")) is not None:
            workers.add(worker.pid)
        if sample.sink is not None:
            before, decided = decided, sample.sink.records_read - sample.sink.records_in_flight
            if decided < before:
                return True
    return len(workers) > 1


def samples_in(path: Path) -> Iterator[Sample]:
    """The samples of the run; a line that a full disk has cut off is passed over."""
    with contextlib.suppress(OSError), path.open("rb") as lines:
        for line in lines:
            with contextlib.suppress(ValueError):
                yield Sample.model_validate_json(line)


def with_ledger(verification: Verification, reading: LedgerReading, evidence: LedgerEvidence) -> Verification:
    """The verification, and what the sink's ledger says to it; a law that is broken makes the run void."""
    verdict = ledger_verdict(reading, evidence)
    broken = tuple(f"sink's ledger: {check.found}" for check in verdict.checks if check.outcome == "broken")
    return verification.model_copy(
        update={
            "verified": verification.verified and not broken,
            "problems": (*verification.problems, *broken),
            "ledger": verdict,
        }
    )


def ledger_verdict(reading: LedgerReading, evidence: LedgerEvidence) -> LedgerVerdict:
    """Every law, and whether it holds."""
    laws: tuple[Law, ...] = ("balance", "totals", "topic", "index", "dead letters")
    if reading.ledger is None:
        return LedgerVerdict(covers=None, checks=tuple(not_checked(law, reading.why_none) for law in laws))
    within = (balance(reading.ledger), totals(reading.ledger))
    covers = coverage(reading.ledger, evidence.in_topic, restarted=evidence.restarted)
    if covers == "since a task's last start":
        read, there = sum(records_read(reading.ledger).values()), sum(evidence.in_topic.values())
        why = f"the ledger counts since a task's last start: {read:,} records read, the topic holds {there:,}"
        if not evidence.restarted:
            why += "; or a transformation removed them before the sink"
        return LedgerVerdict(covers=covers, checks=(*within, *(not_checked(law, why) for law in laws[2:])))
    return LedgerVerdict(covers=covers, checks=(*within, *against_the_run(reading.ledger, evidence, covers)))


def not_checked(law: Law, why: str) -> LedgerCheck:
    """A law that cannot be held against this ledger."""
    return LedgerCheck(law=law, outcome="not checked", found=why)


def checked(law: Law, finding: str, *, holds: bool) -> LedgerCheck:
    """A law that was held against the ledger."""
    return LedgerCheck(law=law, outcome="holds" if holds else "broken", found=finding)


def partitions(ledger: SinkLedger) -> Iterator[tuple[str, str, Ledger]]:
    """Task, partition and its ledger."""
    for number, task in ledger.tasks.items():
        for name, part in task.partitions.items():
            yield number, name, part


def records_read(ledger: SinkLedger) -> Counter[str]:
    """Records read of each partition, by all tasks that had it."""
    read: Counter[str] = Counter()
    for _, name, part in partitions(ledger):
        read[name] += part.read
    return read


def balance(ledger: SinkLedger) -> LedgerCheck:
    """What a task has read of a partition is somewhere, and nothing is under way any more."""
    parts = list(partitions(ledger))
    wrong = [
        f"task {number}, {name}: read {part.read:,}, accounted {part.accounted:,}, in flight {part.in_flight:,}"
        for number, name, part in parts
        if part.accounted != part.read or part.in_flight
    ]
    balanced = "1 partition balances" if len(parts) == 1 else f"{len(parts)} partitions balance"
    return checked("balance", "; ".join(wrong[:NAMED]) or balanced, holds=not wrong)


def totals(ledger: SinkLedger) -> LedgerCheck:
    """A task counts as a whole what it counts by partition."""
    wrong = []
    for number, task in ledger.tasks.items():
        for field in Ledger.model_fields:
            whole, parts = getattr(task.total, field), sum(getattr(part, field) for part in task.partitions.values())
            if whole != parts:
                wrong.append(f"task {number}: {field} {whole:,} as a whole, {parts:,} over its partitions")
    agree = "1 task agrees with its" if len(ledger.tasks) == 1 else f"{len(ledger.tasks)} tasks agree with their"
    return checked("totals", "; ".join(wrong[:NAMED]) or f"{agree} partitions", holds=not wrong)


def coverage(ledger: SinkLedger, in_topic: Mapping[str, int], *, restarted: bool) -> Covers:
    """What has been counted. The worker does not say of which partition it has handed no record over."""
    read, there = records_read(ledger), Counter(in_topic)
    unread = (there - read).total()
    if restarted or unread > ledger.skipped:
        return "since a task's last start"
    is_once = unread == ledger.skipped and not read - there
    return "each record once" if is_once else "some records twice"


def unindexed_records(
    reading: LedgerReading | None, in_topic: Mapping[str, int], *, restarted: bool
) -> Mapping[str, Unindexed]:
    """Records of each topic that are not in the index as the ledger says; none where it has not counted each once.

    What the worker has not handed over is known of a single topic only.
    """
    ledger = reading.ledger if reading else None
    if ledger is None or coverage(ledger, in_topic, restarted=restarted) != "each record once":
        return {}
    topics = {name.rpartition("-")[0] for name in in_topic}
    undelivered = ledger.skipped if len(topics) == 1 else 0
    return {topic: unindexed_of(topic, ledger, undelivered) for topic in topics}


def unindexed_of(topic: str, ledger: SinkLedger, undelivered: int) -> Unindexed:
    """Those of one topic."""
    parts = [part for _, name, part in partitions(ledger) if name.rpartition("-")[0] == topic]
    return Unindexed(
        redirected=sum(part.redirected for part in parts),
        dropped_by_pipeline=sum(part.dropped_by_pipeline for part in parts),
        dead_lettered=sum(part.dead_lettered for part in parts),
        undelivered=undelivered,
    )


def against_the_run(ledger: SinkLedger, evidence: LedgerEvidence, covers: Covers) -> Iterator[LedgerCheck]:
    """The laws between sink, topic and index. A record that was read twice may be counted twice, but never less."""
    documents = evidence.documents
    parts = [part for _, _, part in partitions(ledger)]
    letters, all_letters = sum(part.dead_lettered for part in parts), documents.dead_lettered or 0
    of_worker = min(max(0, all_letters - letters), ledger.skipped)
    comparisons: tuple[tuple[Law, int, str, int, str, int], ...] = (
        (
            "topic",
            sum(part.read for part in parts),
            "read",
            sum(evidence.in_topic.values()),
            "in the topic",
            ledger.skipped,
        ),
        (
            "index",
            # A tombstone that finds nothing counts as already there, or as stale.
            sum(part.stored + (part.deleted if documents.deleted else 0) for part in parts),
            "stored or deleted" if documents.deleted else "stored",
            documents.indexed + documents.already_there + documents.deleted,
            f"found in the index or overwritten {'or deleted ' if documents.deleted else ''}there",
            0,
        ),
        ("dead letters", letters, "dead-lettered", all_letters, "in the dead-letter topic", of_worker),
    )
    for law, counted, by_sink, present, where, skipped in comparisons:
        accounted = counted + skipped
        holds = accounted == present if covers == "each record once" else accounted >= present
        by_worker = f"{skipped:,} skipped by the worker, " if skipped else ""
        yield checked(law, f"{counted:,} {by_sink} by the sink, {by_worker}{present:,} {where}", holds=holds)
