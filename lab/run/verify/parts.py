"""Verification of a run with several indices: each against its own documents, and all of them together."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.errors import StackError
from lab.records.verification import DeadLetterReason, Documents, Verification
from lab.run.verify.accounting import REASONS, DeliveredRecords, delivery_problems, recorded
from lab.run.verify.stored_only import stored_only
from lab.run.verify.verify import VerificationTarget, verify

Accounting = tuple[Documents, Verification]


def verify_parts(
    target: VerificationTarget,
    kafka: KafkaTopics,
    cluster: ElasticsearchClient,
    on_progress: Callable[[int, str], None],
) -> tuple[Documents, Verification, Mapping[str, Documents]]:
    """Compare what is stored in each index with what was produced for it.

    Returns:
        The accounting of the run, its verification, and the accounting of each index; empty for a single one.
    """
    if len(target.names.indices) == 1:
        documents, verification = verify(target, kafka, cluster, on_progress)
        return documents, with_stored_only(verification, cluster, target.names.index), {}
    accountings: dict[str, Accounting] = {}
    for part in target.parts:
        shown = progress_after(sum(documents.indexed for documents, _ in accountings.values()), on_progress)
        expected = part.dataset.documents
        records = DeliveredRecords(expected)
        if target.records.delivered is not None:
            in_topic = sum(kafka.end_offsets(part.names.topic).values())
            records = DeliveredRecords(expected, in_topic, max(0, expected - in_topic))
        own = replace(
            part,
            records=records,
            sample=-(-target.sample // len(target.names.indices)),
            refusals=(),
            shares_dead_letters=True,
        )
        accountings[part.names.index] = verify(own, kafka, cluster, shown)
    documents, verification = total_accounting(accountings, target)
    by_index = {index: own for index, (own, _) in accountings.items()}
    return documents, with_stored_only(verification, cluster, target.names.index), by_index


def with_stored_only(verification: Verification, cluster: ElasticsearchClient, index: str) -> Verification:
    """The verification with the documents of which a value is not indexed; without them where nobody can count them."""
    with suppress(StackError):
        return verification.model_copy(update={"stored_only": stored_only(cluster, index)})
    return verification


def progress_after(done: int, on_progress: Callable[[int, str], None]) -> Callable[[int, str], None]:
    """Progress of one index, told as that of all of them."""
    return lambda more, what: on_progress(done + more, what)


def total_accounting(accountings: Mapping[str, Accounting], target: VerificationTarget) -> Accounting:
    """The sum of the accountings of all indices, compared with the sum of what the producers counted."""
    each = [documents for documents, _ in accountings.values()]
    counts = {
        name: None if getattr(each[0], name) is None else sum(getattr(documents, name) for documents in each)
        for name in Documents.model_fields
    }
    records = target.records
    documents = Documents(
        **{**counts, "produced": records.produced, "delivered": records.delivered, "failed": records.failed}
    )
    problems = [
        *target.refusals,
        *delivery_problems(documents, counts["delivered"], records.failures),
        *(f"{index}: {problem}" for index, (_, accounting) in accountings.items() for problem in accounting.problems),
    ]
    # All of them have one mapping; one that nothing was drawn from has told nothing.
    compared = [verified for _, verified in accountings.values() if verified.contents != "ids only"]
    return documents, Verification(
        verified=not problems,
        contents=compared[0].contents if compared else "ids only",
        not_compared=tuple(sorted({name for each in compared for name in each.not_compared})),
        problems=tuple(problems),
        dead_letters=merged_reasons(
            [reason for _, accounting in accountings.values() for reason in accounting.dead_letters]
        ),
        delivery_failures=recorded(records.failures),
    )


def merged_reasons(reasons: Sequence[DeadLetterReason]) -> tuple[DeadLetterReason, ...]:
    """The reasons of several topics, each once, most frequent first."""
    counts: Counter[str] = Counter()
    for reason in reasons:
        counts[reason.reason] += reason.records
    first = {reason.reason: reason.first for reason in reversed(reasons)}
    return tuple(
        DeadLetterReason(reason=name, records=records, first=first[name])
        for name, records in counts.most_common(REASONS)
    )
