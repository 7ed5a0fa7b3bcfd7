"""The accounting of a run: what was produced against what is stored, record by record, and the sums that must add up.

Ids are compared by 64-bit hashes, which keeps tens of millions of them in memory; that any two of n ids share one has
a chance of n²/2⁶⁵: 3·10⁻⁸ for a million.

An audit (`lab.audit.store`) compares rows on disk instead: it knows no dataset, must not outgrow its memory, goes on
after a kill, and looks again at what differs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lab.clients.kafka import DeadLetter
from lab.records.verification import DeadLetterReason, DeliveryFailure, Documents, Verification
from lab.run.verify.contents import AS_STORED, SourceRules
from lab.run.verify.refusal_reasons import general_reason
from producers.delivery import Failure, in_words
from producers.json_values import loaded

NAMED = 3
"""Missing or altered documents that are named; the rest is counted."""
REASONS = 20
"""Reasons for dead letters that are listed."""

Hashes = NDArray[np.int64]


@dataclass(frozen=True)
class DeliveredRecords:
    """What the producers say, and what the topic says, in records; a direct load has `produced` alone."""

    produced: int
    delivered: int | None = None
    failed: int | None = None
    in_topic: int | None = None
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Unindexed:
    """Records that are not in the index and not lost, as the sink's ledger says.

    Attributes:
        dead_lettered: By the sink itself.
        undelivered: Read by the worker and not handed to the sink; where there is a dead-letter queue, those that a
            converter or a transform failed on are dead letters.
    """

    redirected: int = 0
    dropped_by_pipeline: int = 0
    dead_lettered: int = 0
    undelivered: int = 0

    def skipped(self, letters: int) -> int:
        """Undelivered records that are no dead letters, of which there are so many in all."""
        return max(0, self.undelivered - max(0, letters - self.dead_lettered))

    def records(self, letters: int) -> int:
        """All that are neither in the index nor dead letters."""
        return self.redirected + self.dropped_by_pipeline + self.skipped(letters)


NONE_UNINDEXED = Unindexed()


@dataclass(frozen=True)
class Comparison:
    """The records' ids against the stored ones.

    Attributes:
        indexed: Ids that have records and are stored.
        already_there: Records beyond one of an id that is stored, dead letters not counted, and those that a tombstone
            has deleted.
        missing: Hashes of ids that have a record which was not dead-lettered, and are not stored.
        unexpected: Stored ids that no record has.
        duplicates: Stored ids beyond one of the same.
        deleted: Tombstones.
    """

    indexed: int
    already_there: int
    missing: Hashes
    unexpected: int
    duplicates: int
    deleted: int = 0


def hash_of(document_id: str | bytes) -> int:
    """A hash of an id (as UTF-8), good within this process."""
    return hash(document_id if isinstance(document_id, bytes) else document_id.encode())


def hashes_of(ids: Iterable[str | bytes]) -> Hashes:
    """The hash of each id."""
    return np.fromiter(map(hash_of, ids), dtype=np.int64)


def compare(record_ids: Hashes, stored_ids: Hashes, dead_ids: Hashes, times: Hashes | None = None) -> Comparison:
    """Hold what is stored against the records.

    Args:
        record_ids: The id of each record in the topic; several records may share one.
        stored_ids: The id of each stored document.
        dead_ids: The id of each dead-lettered record.
        times: How often each record was sent; once, unless it is given.
    """
    ids, numbers = np.unique(record_ids, return_inverse=True)
    records = np.bincount(numbers, times).astype(np.int64)
    dead, times_dead = np.unique(dead_ids, return_counts=True)
    _, places, of_dead = np.intersect1d(ids, dead, assume_unique=True, return_indices=True)
    alive = records.copy()
    alive[places] -= times_dead[of_dead]
    distinct, times_stored = np.unique(stored_ids, return_counts=True)
    is_stored = np.isin(ids, distinct, assume_unique=True)
    indexed = int(is_stored.sum())
    return Comparison(
        indexed=indexed,
        already_there=int((alive[is_stored].clip(min=1) - 1).sum()),
        missing=ids[~is_stored & (alive > 0)],
        unexpected=len(distinct) - indexed,
        duplicates=int((times_stored - 1).sum()),
    )


def compare_deleted(
    record_ids: Hashes, stored_ids: Hashes, dead_ids: Hashes, tombstones: NDArray[np.bool_]
) -> Comparison:
    """Hold what is stored against the records, of which some delete the document of their id.

    An id with dead letters behind a tombstone may be absent: which of its records were refused is not known.

    Args:
        record_ids: The id of each record, in the order in which records of one id were sent.
        tombstones: True for each record that is one.
    """
    ids, last = np.unique(record_ids[::-1], return_index=True)
    is_gone = tombstones[::-1][last]
    in_doubt = np.isin(ids, record_ids[tombstones]) & np.isin(ids, dead_ids) & ~np.isin(ids, stored_ids)
    of_gone = np.isin(record_ids, ids[is_gone | in_doubt])
    kept, times = record_ids[~of_gone], (~tombstones[~of_gone]).astype(np.int64)
    comparison = compare(kept, stored_ids, dead_ids, times)
    deleted_before = int((of_gone & ~tombstones).sum()) - int(np.isin(dead_ids, record_ids[of_gone]).sum())
    return replace(
        comparison,
        already_there=comparison.already_there + deleted_before,
        deleted=int(tombstones.sum()),
    )


def without(hashes: Hashes, gone: Hashes) -> Hashes:
    """What is left of a multiset without another one, sorted."""
    values, times = np.unique(hashes, return_counts=True)
    others, times_gone = np.unique(gone, return_counts=True)
    _, places, of_gone = np.intersect1d(values, others, assume_unique=True, return_indices=True)
    times[places] -= np.minimum(times[places], times_gone[of_gone])
    return np.repeat(values, times)


def compare_contents(produced: Hashes, stored: Hashes, dead: Hashes) -> Comparison:
    """Hold stored documents without ids that are known against those produced, as multisets of their contents.

    Args:
        dead: The contents of each dead-lettered record.
    """
    alive = without(produced, dead)
    missing, extra = without(alive, stored), without(stored, alive)
    strange = int((~np.isin(extra, produced)).sum())
    return Comparison(
        indexed=len(alive) - len(missing),
        already_there=0,
        missing=missing,
        unexpected=strange,
        duplicates=len(extra) - strange,
    )


def distinct_letters(letters: Iterable[DeadLetter]) -> list[DeadLetter]:
    """Dead letters, each record once: one that was refused again after a restart is in the topic twice."""
    return list({letter.place: letter for letter in letters}.values())


def dead_letter_reasons(letters: Sequence[DeadLetter]) -> tuple[DeadLetterReason, ...]:
    """The dead letters by general reason, most frequent first."""
    counts = Counter(general_reason(letter.reason) for letter in letters)
    first = {general_reason(letter.reason): letter for letter in reversed(letters)}
    return tuple(
        DeadLetterReason(reason=reason, records=count, first=str(first[reason].place))
        for reason, count in counts.most_common(REASONS)
    )


def altered(expected: Mapping[str, bytes], stored: Mapping[str, object], rules: SourceRules = AS_STORED) -> list[str]:
    """Ids of those documents that are stored otherwise than they were produced, or not at all."""
    return [
        document_id
        for document_id, document in expected.items()
        if document_id not in stored or not rules.is_same(loaded(document), stored[document_id])
    ]


@dataclass(frozen=True)
class Found:
    """What an index holds against what was to be in it.

    Attributes:
        missing_named: Ids of some of the missing documents, or their keys.
        sampled: Documents whose contents were compared.
        contents: How, as in `Verification`.
    """

    comparison: Comparison
    contents: str
    missing_named: Sequence[str] = ()
    sampled: int = 0
    mismatches: Sequence[str] = ()
    not_compared: tuple[str, ...] = ()


def account_for(
    records: DeliveredRecords,
    found: Found,
    letters: Sequence[DeadLetter],
    *,
    refusals: Sequence[str] = (),
    unindexed: Unindexed = NONE_UNINDEXED,
) -> tuple[Documents, Verification]:
    """The accounting of the run, and a sentence for each sum that does not add up.

    Args:
        refusals: Problems that the load itself has seen, a sentence each.
        unindexed: Records that the sink's ledger accounts for elsewhere.
    """
    elsewhere = unindexed.records(len(letters))
    comparison = without_unindexed(found.comparison, records, len(letters), elsewhere)
    # Which of the absent ids are the lost ones, a count does not tell.
    missing_named = () if elsewhere else found.missing_named
    documents = Documents(
        produced=records.produced,
        delivered=records.delivered,
        failed=records.failed,
        indexed=comparison.indexed,
        already_there=comparison.already_there,
        dead_lettered=len(letters) if records.delivered is not None else None,
        redirected=unindexed.redirected,
        dropped_by_pipeline=unindexed.dropped_by_pipeline,
        skipped=unindexed.skipped(len(letters)),
        deleted=comparison.deleted,
        missing=len(comparison.missing),
        unexpected=comparison.unexpected + comparison.duplicates,
        sampled=found.sampled,
        sample_mismatches=len(found.mismatches),
    )
    problems = (
        *refusals,
        *delivery_problems(documents, records.in_topic, records.failures),
        *storage_problems(documents, comparison, missing_named, found.mismatches),
    )
    return documents, Verification(
        verified=not problems,
        problems=problems,
        dead_letters=dead_letter_reasons(letters),
        delivery_failures=recorded(records.failures),
    )


def without_unindexed(comparison: Comparison, records: DeliveredRecords, letters: int, unindexed: int) -> Comparison:
    """The comparison without so many records that are known to be elsewhere.

    Where ids have several records and some ids are absent, a record that is elsewhere may be one of a stored id, and
    an absent id lost: then all absent ones stay missing.
    """
    if not unindexed or records.delivered is None:
        return comparison
    if not len(comparison.missing):
        return replace(comparison, already_there=max(0, comparison.already_there - unindexed))
    if comparison.already_there:
        return comparison
    lost = max(0, records.delivered - comparison.indexed - letters - unindexed)
    return replace(comparison, missing=comparison.missing[:lost])


def recorded(failures: Iterable[Failure]) -> tuple[DeliveryFailure, ...]:
    """What the producers say of documents that were given up, for the run's record."""
    return tuple(DeliveryFailure(**asdict(failure)) for failure in failures)


def delivery_problems(documents: Documents, in_topic: int | None, failures: Sequence[Failure]) -> Iterator[str]:
    """One sentence for each sum between dataset and topic that does not add up; none where there is no topic."""
    if documents.delivered is None or documents.failed is None:
        return
    if documents.produced != documents.delivered + documents.failed:
        yield f"produced {documents.produced:,} is not delivered {documents.delivered:,} + failed {documents.failed:,}"
    if documents.failed:
        why = f": {in_words(failures)}" if failures else ""
        yield f"{counted(documents.failed, 'was', 'were')} not delivered to Kafka{why}"
    if documents.delivered != in_topic:
        yield f"delivered {documents.delivered:,}, but the topic holds {in_topic:,} records"


def index_problems(
    comparison: Comparison, missing_named: Sequence[str], mismatches: Sequence[str], sampled: int, origin: str
) -> Iterator[str]:
    """One sentence for each way in which the index differs from what was sent.

    Args:
        origin: What has sent it, such as `this run`.
    """
    if missing := len(comparison.missing):
        names = f", such as {', '.join(missing_named[:NAMED])}" if missing_named else ""
        is_empty = not (comparison.indexed or comparison.unexpected or comparison.duplicates)
        advice = (
            " (it is empty: look into the log of the pipeline, and at which index it writes to)" if is_empty else ""
        )
        yield f"{counted(missing, 'is', 'are')} missing from the index{advice}{names}"
    if comparison.unexpected:
        yield f"{counted(comparison.unexpected, 'in the index was', 'in the index were')} not produced by {origin}"
    if comparison.duplicates:
        yield f"{counted(comparison.duplicates, 'is', 'are')} stored more than once"
    if mismatches:
        differ = "differs" if len(mismatches) == 1 else "differ"
        share = f"{len(mismatches):,} of {sampled:,} sampled documents"
        yield f"{share} {differ} from the dataset, such as {', '.join(mismatches[:NAMED])}"


def storage_problems(
    documents: Documents, comparison: Comparison, missing_named: Sequence[str], mismatches: Sequence[str]
) -> Iterator[str]:
    """One sentence for each sum between topic and index that does not add up."""
    yield from index_problems(comparison, missing_named, mismatches, documents.sampled, "this run")
    elsewhere = documents.deleted + sum(records for _, records in documents.elsewhere)
    accounted = documents.indexed + documents.already_there + (documents.dead_lettered or 0) + elsewhere
    if documents.loaded == accounted or documents.missing:
        return
    if documents.delivered is None:
        yield (
            f"produced {documents.produced:,} is not indexed {documents.indexed:,} + overwritten "
            f"{documents.already_there:,}"
        )
    else:
        yield (
            f"delivered {documents.delivered:,} is not indexed {documents.indexed:,} + overwritten "
            f"{documents.already_there:,} + dead-lettered {documents.dead_lettered:,}"
            + (f" + redirected, dropped by a pipeline, deleted or skipped {elsewhere:,}" if elsewhere else "")
        )


def counted(documents: int, one: str, several: str) -> str:
    """How many documents, and the words that go with one or with several."""
    return f"1 document {one}" if documents == 1 else f"{documents:,} documents {several}"
