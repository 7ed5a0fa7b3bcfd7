"""The records that lie between the stages of a run: what one stage writes to the run's folder, a later one reads.

A folder `runs/<profile>/<run-id>/` holds

    profile.json      the effective profile, every default filled in
    run.json          `Run`: what was done, when, and whether what is stored is what was produced
    samples.ndjson    one `Sample` per line, one line per sampling interval
    result.json       `Result`: the metrics of the measured window, with everything needed to judge them
    report.html       the result for a reader

Instants are seconds since the Unix epoch. `None` means "not known", never zero.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """An immutable record; an unknown key is an error, so that a reader never overlooks what a writer says."""

    model_config = ConfigDict(frozen=True, extra="forbid")


# --- samples.ndjson -------------------------------------------------------------------------------------------------


class ShardCounters(Record):
    """Counters of the index under test, summed over its primary shards or over all of its shards (`_stats`).

    All but `docs_count`, `store_size_bytes`, `segments_count`, `merges_current` and `translog_size_bytes` only grow,
    until a shard is started anew.
    """

    index_total: Count
    index_time_ms: Count
    index_failed: Count
    throttle_time_ms: Count
    docs_count: Count
    store_size_bytes: Count
    refresh_total: Count
    refresh_time_ms: Count
    flush_total: Count
    flush_time_ms: Count
    merges_current: Count
    merges_total: Count
    merges_time_ms: Count
    merges_throttled_time_ms: Count
    segments_count: Count
    translog_size_bytes: Count
    query_total: Count
    query_time_ms: Count


class NodeCounters(Record):
    """What one Elasticsearch node says of itself (`_nodes/stats`).

    The collectors `young` and `old` are G1's; under another collector their counters are `None`.

    Attributes:
        write_threads: Threads of the write pool, started so far.
        write_active: Those of them that were at work at this instant.
    """

    cpu_percent: int | None
    heap_used_bytes: Count
    heap_max_bytes: Count
    gc_young_count: Count | None
    gc_young_time_ms: Count | None
    gc_old_count: Count | None
    gc_old_time_ms: Count | None
    write_queue: Count
    write_rejected: Count
    write_completed: Count
    write_threads: Count | None = None
    write_active: Count | None = None


class ElasticsearchSample(Record):
    """The index under test and every node of its cluster at one instant.

    Attributes:
        nodes: By node name.
        read_s: Half-way between the request for the index counters and its answer: on a busy machine an answer can
            take a good part of the sampling interval, and a rate is only as good as its instants.
    """

    primaries: ShardCounters
    total: ShardCounters
    nodes: dict[str, NodeCounters]
    read_s: float | None = None


class KafkaSample(Record):
    """Offsets of the topic under test, summed over its partitions.

    Attributes:
        end_offset: Records in the topic.
        committed_offset: Records that the sink's consumer group has committed; 0 before its first commit.
    """

    end_offset: Count
    committed_offset: Count

    @property
    def lag_records(self) -> int:
        """Records in the topic that the sink has not committed yet."""
        return max(0, self.end_offset - self.committed_offset)


class SinkSample(Record):
    """The sink's own ledger, summed over its tasks; counters start again with a task.

    The conservation law: `records_read` = indexed + updated + deleted + already there + stale + dead-lettered + dropped
    + in flight.

    Attributes:
        jit_time_ms: What the worker's virtual machine has spent on compiling since it started; no other server says it.
    """

    tasks: Count
    records_read: Count
    records_indexed: Count
    records_updated: Count
    records_deleted: Count
    records_already_there: Count
    records_stale: Count
    records_dead_lettered: Count
    records_dropped: Count
    records_in_flight: Count
    bytes_acknowledged: Count
    bulk_requests: Count
    bulk_requests_failed: Count
    bulk_retries: Count
    item_retries: Count
    bulk_requests_in_flight: Count
    bulk_service_time_ms_total: Count
    bulk_documents_total: Count
    bulk_bytes_total: Count
    time_blocked_ms_total: Count
    jit_time_ms: Count | None = None


class ProcessSample(Record):
    """One server process, from `/proc`.

    Attributes:
        pid: Tells a restarted process, whose counters begin again, from the one before.
        cpu_s: User and system time since the process started.
    """

    pid: Count
    cpu_s: Annotated[float, Field(ge=0)]
    rss_bytes: Count
    major_page_faults: Count
    disk_read_bytes: int | None
    disk_write_bytes: int | None


class Sample(Record):
    """Everything seen at one tick. A source that did not answer is `None` here and has its reason in `lost`.

    Attributes:
        at_s: Instant of the tick.
        phase: The phase of the run that was under way.
        produced: Records acknowledged by Kafka so far, as the producer counts them; `None` when nothing produces.
        processes: By server name (`kafka`, `connect`, `elasticsearch-1`, `producer` …).
        machine_cpu_percent: Busy share of all cores of this machine since the tick before.
        machine_iowait_percent: Share of all cores that were idle because a program waited for a disk.
        lost: Source name → why it could not be read.
    """

    at_s: float
    phase: str
    produced: int | None = None
    elasticsearch: ElasticsearchSample | None = None
    kafka: KafkaSample | None = None
    sink: SinkSample | None = None
    processes: dict[str, ProcessSample] = Field(default_factory=dict)
    machine_cpu_percent: float | None = None
    machine_iowait_percent: float | None = None
    lost: dict[str, str] = Field(default_factory=dict)


# --- run.json -------------------------------------------------------------------------------------------------------


PhaseName = Literal["prepare", "fill", "load", "settle", "verify", "query", "collect"]


class Phase(Record):
    """One phase of a run, from its first to its last instant.

    Attributes:
        name: `prepare` makes servers, topic and index; `fill` preloads the topic of a drain, or makes the bodies of a
            direct load; `load` is what is measured; `settle` waits for refresh and merges; `verify` compares; `query`
            asks the profile's questions, where it has any; `collect` writes down.
    """

    name: PhaseName
    started_s: float
    ended_s: float


class Documents(Record):
    """The books of a run, in records; `Verification.problems` says where they do not balance.

    Attributes:
        produced: Handed to the producer.
        delivered: Acknowledged by Kafka; `None` for a direct load, which knows no Kafka.
        failed: Given up by the producer; produced = delivered + failed; `None` for a direct load.
        indexed: Records whose document is in the index (counted in the index itself, id by id).
        already_there: Records whose document a later record of the same key has replaced, as in a stream of updates.
        dead_lettered: Records in the dead-letter topic; delivered = indexed + already there + dead-lettered. `None` for
            a direct load, for which produced = indexed + already there.
        dropped: Records that a sink which is to store nothing has read and let go; they belong to that sum.
        missing: Documents that ought to be in the index and are not.
        unexpected: Documents in the index that nothing of this run produced.
        sampled: Documents drawn at random and compared with the dataset.
        sample_mismatches: Those of them that differ from what the dataset says.
    """

    produced: Count
    delivered: Count | None
    failed: Count | None
    indexed: Count
    already_there: Count
    dead_lettered: Count | None
    dropped: Count = 0
    missing: Count
    unexpected: Count
    sampled: Count
    sample_mismatches: Count

    @property
    def loaded(self) -> int:
        """Documents that were there to be indexed: those delivered, or those of a direct load."""
        return self.produced if self.delivered is None else self.delivered


class DeadLetterReason(Record):
    """How many records were refused for one reason.

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
        first: The first of them, as `topic-partition@offset`.
    """

    status: int | None
    type: str | None
    cause: str
    records: Count
    first: tuple[str, ...]


class Ledger(Record):
    """What became of the records that a sink has read; `read` is the sum of the others.

    Attributes:
        in_flight: Read and not decided; below 0 if a record was decided twice, which a sink must never do.
    """

    read: Count
    indexed: Count
    updated: Count
    deleted: Count
    already_there: Count
    stale: Count
    dead_lettered: Count
    dropped: Count
    in_flight: int

    @property
    def accounted(self) -> int:
        """Records of which it is known where they are."""
        return self.stored + self.deleted + self.dead_lettered + self.dropped + self.in_flight

    @property
    def stored(self) -> int:
        """Records whose document, or a later one of the same id, is stored."""
        return self.indexed + self.updated + self.already_there + self.stale


class TaskLedger(Record):
    """The ledger of one task of the sink.

    Attributes:
        total: As the task counts it.
        partitions: As it counts it by partition, `topic-partition` → ledger.
    """

    total: Ledger
    partitions: dict[str, Ledger]


class SinkLedger(Record):
    """The sink's own ledger at the end of the load, by number of the task. It starts again with a task."""

    tasks: dict[str, TaskLedger]


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
    """Whether the sink's ledger balances and agrees with topic and index.

    Attributes:
        covers: What has been counted; after a restart of a task only what was read since, and after one, or after
            partitions have moved between tasks, some records may be counted twice; `None` without a ledger.
    """

    covers: Literal["each record once", "some records twice", "since a task's last start"] | None
    checks: tuple[LedgerCheck, ...]


class Verification(Record):
    """Whether what is stored is what was produced.

    Attributes:
        expect: `stored`: every document in the index; `consumed`: every record read by a sink that stores nothing.
        problems: One sentence for each law that does not hold; none when the run is verified.
        dead_letters: The refused records by reason, most frequent first.
        ledger: What the sink's own ledger says to it.
    """

    verified: bool
    expect: Literal["stored", "consumed"] = "stored"
    problems: tuple[str, ...]
    dead_letters: tuple[DeadLetterReason, ...] = ()
    ledger: LedgerVerdict | None = None


class Delivery(Record):
    """What the producers did, over all of their processes.

    Attributes:
        source_bytes: Size of the documents delivered (keys and headers not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        rate_docs_per_s: The rate that was asked for; `None` for as fast as possible.
        first_intended_s: When the first document was due.
        last_acknowledged_s: When Kafka had acknowledged the last one.
        late_documents: Documents sent more than 100 ms after they were due.
        latency_ms: Due → acknowledged by Kafka, percentile name (`p50`, `p90`, `p99`, `p99_9`, `max`) → ms.
        cpu_s: CPU time of all producer processes.
    """

    source_bytes: Count
    entities: Count
    rate_docs_per_s: float | None
    first_intended_s: float
    last_acknowledged_s: float
    late_documents: Count
    latency_ms: dict[str, float]
    cpu_s: float


class DirectLoad(Record):
    """What a direct load did: ready-made bulk requests over several connections, sent as fast as they were answered.

    Attributes:
        source_bytes: Size of the documents (action lines not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        body_bytes: Size of all bulk bodies.
        prepared_s: Time that preparing the bodies took, before the load.
        started_s: When the connections were told to send.
        ended_s: When the last answer was read.
        bulk_documents: Documents in the bulk requests that were answered with 200.
        accepted: Documents that Elasticsearch answered with success.
        already_there: Documents of which it had the same or a later version.
        refused: Status and type of the refusal → documents; each of them makes the run void.
    """

    connections: Count
    source_bytes: Count
    entities: Count
    body_bytes: Count
    prepared_s: float
    started_s: float
    ended_s: float
    bulk_requests: Count
    bulk_requests_failed: Count
    bulk_retries: Count
    bulk_documents: Count
    bulk_bytes: Count
    item_retries: Count
    accepted: Count
    already_there: Count
    refused: dict[str, Count]


class SinkHistograms(Record):
    """The sink's histograms at the end of the load, summed over its tasks; of a direct load those of its connections.

    Attributes:
        record_age: Base64 of a compressed HdrHistogram in µs: intended send time → acknowledged by Elasticsearch.
        bulk_service_time: The same in µs: bulk request sent → response read.
    """

    record_age: str | None
    bulk_service_time: str | None


class QuestionAsked(Record):
    """What the answers to one question were like.

    Attributes:
        question: In words.
        model: The document model whose requests were sent.
        fingerprint: Two runs share it exactly when they asked the same and the same was right.
        answers: How often it was asked, warm-up not counted; the other figures are over these.
        wrong: Answers that differ from what the dataset says.
        expected_wrong: Whether the profile is there to show that they are.
        first_wrong: How the first of them differs.
        requests: Requests that the answers took together.
        ids_joined: Ids that went from one request into the next.
        books: Books in all right answers together.
        service_time: Base64 of a compressed HdrHistogram in µs: first request sent → last response read.
        took: The same in µs: Elasticsearch's own time, summed over the requests of an answer; it tells whole ms.
    """

    name: str
    question: str
    model: str
    fingerprint: str
    answers: Count
    wrong: Count
    expected_wrong: bool
    first_wrong: str | None
    requests: Count
    ids_joined: Count
    books: Count
    service_time: str
    took: str

    @property
    def as_expected(self) -> bool:
        """Whether there are wrong answers exactly where the profile is there to show some."""
        return (self.wrong > 0) == self.expected_wrong


class WarningKind(StrEnum):
    """What a report may warn of."""

    COLD_SERVERS = "cold_servers"
    SAMPLES_LOST = "samples_lost"
    SERVER_RESTARTED = "server_restarted"
    DEAD_LETTERS = "dead_letters"
    SHORT_WINDOW = "short_window"
    DRIVER_LIMITED = "driver_limited"
    BUSY_MACHINE = "busy_machine"
    LATE_PRODUCER = "late_producer"
    SHARDS_UNASSIGNED = "shards_unassigned"
    SERVERS_ELSEWHERE = "servers_elsewhere"
    MEMORY_PRESSURE = "memory_pressure"
    NO_STEADY_STATE = "no_steady_state"
    ENVIRONMENTS_DIFFER = "environments_differ"
    REPETITION_DIFFERS = "repetition_differs"
    RUNS_FAILED = "runs_failed"


class RunWarning(Record):
    """Something that a reader must know before believing a figure: what was seen, its likely cause, the remedy."""

    kind: WarningKind
    seen: str
    likely_cause: str
    remedy: str


class Server(Record):
    """One server of the run."""

    name: str
    version: str
    pid: int | None
    command_line_options: tuple[str, ...] = ()


class Environment(Record):
    """The machine and the software of a run: what another run must share for the two to be compared."""

    sluice_version: str
    git_commit: str | None
    machine: str
    kernel: str
    cpu_model: str
    cpu_cores: Count
    memory_bytes: Count
    python_version: str
    java_versions: dict[str, str]
    target: str
    servers: tuple[Server, ...]
    index_settings: dict[str, object]
    connector: dict[str, object]


class Run(Record):
    """What was done, when, and what came of it. Figures are not in here; they are made from the samples.

    Attributes:
        sink_ledger: `None` where it could not be read; `verification.ledger` says why.
        via: `kafka`: through topic and sink; `direct`: ready-made bulk requests, with no topic.
        delivery: `None` for a direct load, and `direct` for every other one.
        command: The command line that started the run, word by word, so that a reader can start it again.
    """

    run_id: str
    profile: str
    question: str
    started_s: float
    ended_s: float
    phases: tuple[Phase, ...]
    load: Literal["drain", "stream"]
    via: Literal["kafka", "direct"] = "kafka"
    index: str
    topic: str | None
    documents: Documents
    verification: Verification
    delivery: Delivery | None
    direct: DirectLoad | None = None
    sink_histograms: SinkHistograms
    sink_ledger: SinkLedger | None = None
    environment: Environment
    warnings: tuple[RunWarning, ...] = ()
    command: tuple[str, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()

    @property
    def source_bytes(self) -> int | None:
        """Size of the documents that were there to be indexed."""
        return next((part.source_bytes for part in (self.delivery, self.direct) if part), None)

    @property
    def entities(self) -> int | None:
        """Books, or whatever the dataset counts, that these documents describe."""
        return next((part.entities for part in (self.delivery, self.direct) if part), None)


# --- result.json ----------------------------------------------------------------------------------------------------


class Metric(Record):
    """One figure. `value` is `None` where it could not be measured; `scope` says what it was measured on.

    Attributes:
        scope: `primaries`, `total`, `run`, or the name of a process, of a node, of a phase or of a question.
    """

    name: str
    value: float | None
    unit: str
    scope: str


class Window(Record):
    """The measured window: the part of the load in which the index grew steadily.

    Attributes:
        warm_up_s: From the first growth of the index to the start of the window.
        steady: Whether the indexing rate is steady over the window; `None`: too few samples to tell. Where it is not,
            the window is all of the load in which the index grew.
    """

    started_s: float
    ended_s: float
    samples: Count
    warm_up_s: float | None = None
    steady: bool | None = None


class Limit(Record):
    """The stage of the pipeline that had no slack left, and what shows it.

    Attributes:
        stage: `requested rate`: all stages kept up with what was asked; `sender`: that of a direct load; `machine`: no
            core was left for any of them.
    """

    stage: Literal[
        "requested rate", "producer", "broker", "sink", "sender", "elasticsearch", "merge throttling", "disk", "machine"
    ]
    evidence: str


class Result(Record):
    """The outcome of a run, for programs: `result.json`. Its JSON Schema is `docs/result.schema.json`."""

    schema_version: Literal[1] = 1
    run_id: str
    profile: str
    question: str
    status: Literal["verified", "failed"]
    started_s: float
    ended_s: float
    phases: tuple[Phase, ...]
    measured_window: Window | None
    documents: Documents
    verification: Verification
    sink_ledger: SinkLedger | None = None
    metrics: tuple[Metric, ...]
    environment: Environment
    warnings: tuple[RunWarning, ...]
    limited_by: Limit | None = None
