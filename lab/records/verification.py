"""Verification: the accounting of a run, the ledger of its sink, and the records that were refused."""

from typing import Literal

from lab.records.base import Count, Record
from lab.records.fates import FATES

NAMED_FIELDS = 5


class Documents(Record):
    """The accounting of a run, in records; `Verification.problems` says where it does not add up.

    Attributes:
        produced: Handed to the producer.
        delivered: Acknowledged by Kafka; `None` for a direct load, which bypasses Kafka.
        failed: Given up by the producer; produced = delivered + failed; `None` for a direct load.
        indexed: Records whose document is in the index (counted in the index itself, id by id).
        already_there: Records whose document a later record of the same key has replaced, as in a stream of updates.
        dead_lettered: Records in the dead-letter topic; delivered = indexed + already there + dead-lettered. `None` for
            a direct load, for which produced = indexed + already there.
        dropped: Records that a sink which is to store nothing has read and let go; they belong to that sum, as do:
        redirected: Records whose document is in the failure store of the data stream, by the sink's ledger.
        dropped_by_pipeline: Records whose document an ingest pipeline dropped, by the sink's ledger.
        deleted: Tombstones of a key; the documents that they deleted are among those already there.
        skipped: Records that the worker did not hand to the sink and that are no dead letters: a converter or a
            transform failed, or a transform removed them.
        missing: Documents expected in the index, but not there.
        unexpected: Documents in the index that nothing of this run produced.
        sampled: Documents compared with the dataset: drawn at random, or all of a small index.
        sample_mismatches: Those of them that differ from what the dataset says.
    """

    produced: Count
    delivered: Count | None
    failed: Count | None
    indexed: Count
    already_there: Count
    dead_lettered: Count | None
    dropped: Count = 0
    redirected: Count = 0
    dropped_by_pipeline: Count = 0
    skipped: Count = 0
    deleted: Count = 0
    missing: Count
    unexpected: Count
    sampled: Count
    sample_mismatches: Count

    @property
    def elsewhere(self) -> tuple[tuple[str, int], ...]:
        """Records that are neither in the index nor dead letters nor lost: what became of them, and how many."""
        counts = (
            ("redirected to the failure store", self.redirected),
            ("dropped by an ingest pipeline", self.dropped_by_pipeline),
            ("not handed to the sink by the worker", self.skipped),
        )
        return tuple((what, records) for what, records in counts if records)

    @property
    def loaded(self) -> int:
        """Documents that were there to be indexed: those delivered, or those of a direct load."""
        return self.produced if self.delivered is None else self.delivered


class DeadLetterReason(Record):
    """Number of records that were refused for one reason.

    Attributes:
        reason: Status, type and cause as Elasticsearch or the sink gives them.
        records: How many.
        first: One of them, as `topic-partition@offset`.
    """

    reason: str
    records: Count
    first: str


class DeadLetterGroup(Record):
    """Dead letters with one status and one reason, as `./sluice dead-letters show --json` gives them.

    Attributes:
        status: HTTP status of the item; `None` where Elasticsearch was never asked.
        type: The kind of error, as Elasticsearch names it; `None` likewise.
        cause: The reason in general words, without what it quotes of a document.
        field: The field that the reason names, dotted; `None` where it names none.
        value: What the first document has there, as JSON; `None` where it is not known or not asked for.
        first: The first of them, as `topic-partition@offset` of the record that was rejected, not of its replays.
        lines: The same as `file:line` of the run's file; `None` for a record that is not found there.
    """

    status: int | None
    type: str | None
    cause: str
    field: str | None = None
    value: str | None = None
    records: Count
    first: tuple[str, ...]
    lines: tuple[str | None, ...] = ()


class DeliveryFailure(Record):
    """Documents that the producers gave up for one reason.

    Attributes:
        code: Kafka's name of the error, such as `MSG_SIZE_TOO_LARGE`.
        reason: What Kafka said of the first of them.
    """

    code: str
    reason: str
    documents: Count


class Ledger(Record):
    """Records that a sink has read, by fate; `read` is the sum of the others.

    Attributes:
        in_flight: Read and not decided; below 0 if a record was decided twice, which a sink must never do.
    """

    read: Count
    indexed: Count
    updated: Count
    deleted: Count
    already_there: Count
    stale: Count
    redirected: Count = 0
    dropped_by_pipeline: Count = 0
    dead_lettered: Count
    dropped: Count
    in_flight: int

    @property
    def accounted(self) -> int:
        """Records of which it is known where they are."""
        known: int = sum(getattr(self, fate.name) for fate in FATES)
        return known + self.in_flight

    @property
    def stored(self) -> int:
        """Records whose document, or a later one of the same id, is stored."""
        return sum(getattr(self, fate.name) for fate in FATES if fate.is_stored)


class TaskLedger(Record):
    """The ledger of one task of the sink.

    Attributes:
        total: As the task counts it.
        partitions: As it counts it by partition, `topic-partition` → ledger.
        skipped: Records that a converter or a transform failed on, which the worker tolerated and did not hand over;
            `None` where it does not say.
        filtered: Records that a transform removed; `None` likewise.
    """

    total: Ledger
    partitions: dict[str, Ledger]
    skipped: Count | None = None
    filtered: Count | None = None


class SinkLedger(Record):
    """The sink's own ledger at the end of the load, by number of the task. It starts again with a task."""

    tasks: dict[str, TaskLedger]

    @property
    def skipped(self) -> int:
        """Records that the worker is known to have skipped."""
        return sum(task.skipped or 0 for task in self.tasks.values())


class LedgerCheck(Record):
    """One law of the sink's ledger, and whether it holds.

    Attributes:
        law: `balance`: what a task has read of a partition is somewhere, and nothing is in flight; `totals`: a task's
            sums are those of its partitions; `topic`: as many records were read as each partition holds; `index`: as
            many were stored as verification has found; `dead letters`: as many were refused as lie in their topic.
        found: What was seen, in one sentence; for a law that was not checked: why not.
    """

    law: Literal["balance", "totals", "topic", "index", "dead letters"]
    outcome: Literal["holds", "broken", "not checked"]
    found: str


class LedgerVerdict(Record):
    """Verdict on the sink's ledger: it balances, and agrees with topic and index.

    Attributes:
        covers: What has been counted; after a restart of a task only what was read since, and after one, or after
            partitions have moved between tasks, some records may be counted twice; `None` without a ledger.
    """

    covers: Literal["each record once", "some records twice", "since a task's last start"] | None
    checks: tuple[LedgerCheck, ...]


class StoredOnly(Record):
    """Documents with a value that servers have stored without indexing it, as they list such fields in `_ignored`.

    Elasticsearch lists what is malformed (`ignore_malformed`), too long (`ignore_above`), or beyond the limit of fields
    (`ignore_dynamic_beyond_limit`); OpenSearch only what is malformed (its `KeywordFieldMapper` skips long values).

    Attributes:
        documents: Documents with at least one such field.
        fields: Field → documents, most first.
    """

    documents: Count
    fields: dict[str, Count] = {}

    @property
    def text(self) -> str:
        """Sentence on them, with the first fields."""
        has = "1 document has" if self.documents == 1 else f"{self.documents:,} documents have"
        named = [f"{name} in {count:,}" for name, count in self.fields.items()]
        rest = len(named) - NAMED_FIELDS
        more = [f"{rest:,} more {'field' if rest == 1 else 'fields'}"] if rest > 0 else []
        fields = ", ".join([*named[:NAMED_FIELDS], *more])
        return f"{has} a value that is stored, but not indexed in its field{f': {fields}' if fields else ''}"


class Verification(Record):
    """Verdict on a run: the documents stored are the documents produced.

    Attributes:
        expect: `stored`: every document in the index; `consumed`: every record read by a sink that stores nothing.
        contents: How sampled documents were compared: `as stored`: as JSON; `as rebuilt`: by the rules of an index that
            rebuilds `_source`, in which arrays may be sorted; `ids only`: not at all; `counts only`: neither they nor
            ids, which the cluster has made. `None` where none is stored, and in older records.
        not_compared: Fields of a rebuilt source that no rule is known for.
        problems: One sentence for each sum that does not add up; none when the run is verified.
        dead_letters: The refused records by reason, most frequent first.
        delivery_failures: The documents that Kafka did not take, by reason, most frequent first.
        ledger: What the sink's own ledger says to it.
        stored_only: Documents in the index with a value that is not indexed; `None` where they were not counted, as in
            older records and in a kept index.
    """

    verified: bool
    expect: Literal["stored", "consumed"] = "stored"
    contents: Literal["as stored", "as rebuilt", "ids only", "counts only"] | None = None
    not_compared: tuple[str, ...] = ()
    problems: tuple[str, ...]
    dead_letters: tuple[DeadLetterReason, ...] = ()
    delivery_failures: tuple[DeliveryFailure, ...] = ()
    ledger: LedgerVerdict | None = None
    stored_only: StoredOnly | None = None
