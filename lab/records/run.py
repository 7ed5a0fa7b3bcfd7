"""`run.json`: what was done, when, on what, and what came of it."""

from enum import StrEnum
from typing import Final, Literal

from pydantic import Field

from lab.records.base import Count, Record
from lab.records.verification import Documents, SinkLedger, Verification

PhaseName = Literal["prepare", "fill", "load", "settle", "maintain", "verify", "query", "collect"]


class Server(Record):
    """One server of the run.

    Attributes:
        product: What an `elasticsearch-…` is that is not Elasticsearch: `OpenSearch`.
        vector_instructions: What an Elasticsearch node uses of those of the processor, by its log: `native library`,
            `Panama, 512 bits`; `None` where its log is not here, and in records of 0.2.0 and before.
    """

    name: str
    version: str
    pid: int | None
    command_line_options: tuple[str, ...] = ()
    vector_instructions: tuple[str, ...] | None = None
    product: str | None = None

    @property
    def release(self) -> str:
        """Its version, after its product where its name does not say that."""
        return f"{self.product} {self.version}" if self.product else self.version


class Paging(Record):
    """What decides, beside a limit, which pages of files stay in memory.

    Attributes:
        disk: That the servers' data are on; `None` where they are elsewhere or on no disk.
        read_ahead_kb: Most that the kernel reads from it beyond what is asked for, in KiB.
        damon_pageout: Whether the kernel takes cold pages away by itself.
        transparent_huge_pages: `always`, `madvise`, `never`; `None` where the kernel has none.
    """

    disk: str | None
    read_ahead_kb: Count | None
    swap_bytes: Count
    damon_pageout: bool
    transparent_huge_pages: str | None


class Environment(Record):
    """The machine and the software of a run: what another run must share for the two to be compared.

    Attributes:
        cpu_cores: Those that the run could use, by affinity, cpuset and CPU quota; a quota may allow a part of one.
        cluster_settings: Those in force, persistent or transient; `None` in records of 0.2.0 and before.
        paging: Of this machine; `None` for servers elsewhere, and in records of 0.2.0 and before.
        vector_options: Field of vectors → its index options in effect, those that Elasticsearch chose, too; `None` in
            records of 0.2.0 and before.
    """

    sluice_version: str
    git_commit: str | None
    machine: str
    kernel: str
    cpu_model: str
    cpu_cores: Count | float
    memory_bytes: Count
    python_version: str
    java_versions: dict[str, str]
    target: str
    servers: tuple[Server, ...]
    index_settings: dict[str, object]
    connector: dict[str, object]
    cluster_settings: dict[str, object] | None = None
    paging: Paging | None = None
    vector_options: dict[str, dict[str, object]] | None = None

    @property
    def product(self) -> str:
        """What the servers under test are: Elasticsearch unless they say otherwise."""
        return next((server.product for server in self.servers if server.product), "Elasticsearch")


class WarningKind(StrEnum):
    """What a report may warn of."""

    COLD_SERVERS = "cold_servers"
    SAMPLES_LOST = "samples_lost"
    SERVER_RESTARTED = "server_restarted"
    DEAD_LETTERS = "dead_letters"
    SHORT_WINDOW = "short_window"
    DID_NOT_KEEP_UP = "did_not_keep_up"
    DRIVER_LIMITED = "driver_limited"
    BUSY_MACHINE = "busy_machine"
    LATE_PRODUCER = "late_producer"
    SHARDS_UNASSIGNED = "shards_unassigned"
    SERVERS_ELSEWHERE = "servers_elsewhere"
    MEMORY_PRESSURE = "memory_pressure"
    NO_STEADY_STATE = "no_steady_state"
    ENVIRONMENTS_DIFFER = "environments_differ"
    CLIENTS_DISAGREE = "clients_disagree"
    QUERY_SENDER_LIMITED = "query_sender_limited"
    QUERY_ERRORS = "query_errors"
    PAGES_TAKEN_AWAY = "pages_taken_away"
    REPETITION_DIFFERS = "repetition_differs"
    RUNS_FAILED = "runs_failed"


class RunWarning(Record):
    """Something that a reader must know before believing a figure: what was seen, its likely cause, the remedy."""

    kind: WarningKind
    seen: str
    likely_cause: str
    remedy: str


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
        latency_samples: How many documents `latency_ms` rests on; `None` in runs of older versions, as the next one.
        latencies_clamped: How many of them took longer than an hour and were counted as one.
        cpu_s: CPU time of all producer processes.
    """

    source_bytes: Count
    entities: Count
    rate_docs_per_s: float | None
    first_intended_s: float
    last_acknowledged_s: float
    late_documents: Count
    latency_ms: dict[str, float]
    latency_samples: Count | None = None
    latencies_clamped: Count | None = None
    cpu_s: float


class DirectLoad(Record):
    """What a direct load did: ready-made bulk requests over several connections.

    Attributes:
        rate_docs_per_s: The rate that was asked for; `None` for as fast as they were answered.
        source_bytes: Size of the documents (action lines not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        body_bytes: Size of all bulk bodies.
        prepared_s: Time that preparing the bodies took, before the load.
        started_s: When the connections were told to send.
        ended_s: When the last answer was read.
        index_ended_s: The same of each index, in the order of their names; empty in records of 0.2.0 and before.
        bulk_documents: Documents in the bulk requests that were answered with 200.
        accepted: Documents that Elasticsearch answered with success.
        already_there: Documents of which it had the same or a later version.
        refused: Status and type of the refusal → documents; each of them makes the run void.
    """

    connections: Count
    rate_docs_per_s: float | None = None
    source_bytes: Count
    entities: Count
    body_bytes: Count
    prepared_s: float
    started_s: float
    ended_s: float
    index_ended_s: tuple[float, ...] = ()
    bulk_requests: Count
    bulk_requests_failed: Count
    bulk_retries: Count
    bulk_documents: Count
    bulk_bytes: Count
    item_retries: Count
    accepted: Count
    already_there: Count
    refused: dict[str, Count]


class RallyLoad(Record):
    """What Rally's bulk task did, as far as Rally alone can tell; figures are made from the samples.

    Attributes:
        version: Rally's own.
        bulk_size: Documents in a bulk request.
        source_bytes: Size of the documents (action lines not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        corpus_bytes: Size of all bulk requests, action lines included; these name the index, as ours need not.
        prepared_s: From the first document written to the corpus until Rally sent the first.
        error_percent: Requests that Rally counts as failed; any of them makes the run void.
    """

    version: str
    clients: Count
    bulk_size: Count
    source_bytes: Count
    entities: Count
    corpus_bytes: Count
    prepared_s: float
    error_percent: float


class SinkHistograms(Record):
    """The sink's histograms at the end of the load, summed over its tasks; of a direct load those of its connections.

    Attributes:
        record_age: Base64 of a compressed HdrHistogram in µs: intended send time → acknowledged by Elasticsearch.
        bulk_service_time: The same in µs: bulk request sent → response read.
        lost: Why those of our own sink could not be read; `None` where they were, or there are none.
    """

    record_age: str | None
    bulk_service_time: str | None
    lost: str | None = None


class QuestionAnswers(Record):
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


class RampStep(Record):
    """One step of a ramp.

    Attributes:
        rate_per_s: Queries or documents due per second.
        answered: Queries answered, or documents acknowledged by Elasticsearch.
        latency_ms: Due → answered, percentile name → ms; empty where nothing was.
    """

    rate_per_s: float
    started_s: float
    ended_s: float
    answered: Count
    errors: Count
    latency_ms: dict[str, float]


class DocumentRamp(Record):
    """A rate of documents that rose until one of them took too long, end to end.

    Attributes:
        p99_bound_ms: Of the end-to-end latency.
        steps: Each with the documents that were due in it.
    """

    p99_bound_ms: float
    steps: tuple[RampStep, ...]


class QueryTimes(Record):
    """What the answers to one question of a query load were like, warm-up not counted.

    Attributes:
        question: In words.
        fingerprint: Two runs share it exactly when they asked the same kind of question about the same documents.
        requests: Queries sent; those with an error are in no figure of time.
        errors: Kind of error (`429 es_rejected_execution_exception`, `no answer`) → queries.
        checked: Answers that were compared with the dataset.
        wrong: Those of them that differ from what the dataset says.
        rows_right: Share of the rows of the checked answers that are right: of `top`, names wherever they stand.
        values_right: Share of them whose value (a count) is right, too.
        hits_mean: Documents that matched, on average.
        response_bytes: Size of all answers.
        service_time: Base64 of a compressed HdrHistogram in µs: sent → answer read.
        service_time_s: Sum of them.
        latency: The same from the due time; `None` in a closed loop, whose queries are due when they are sent.
        took: The same of Elasticsearch's own time, in whole ms.
    """

    name: str
    question: str
    model: str
    fingerprint: str
    requests: Count
    errors: dict[str, Count]
    checked: Count
    wrong: Count
    expected_wrong: bool
    first_wrong: str | None
    rows_right: float | None
    values_right: float | None
    hits_mean: float | None
    response_bytes: Count
    service_time: str
    service_time_s: float
    latency: str | None
    took: str

    @property
    def answers(self) -> int:
        """Queries that were answered."""
        return self.requests - sum(self.errors.values())


ANSWERS_EVERY_S: Final = 0.1


class QueryLoadResult(Record):
    """A query load: what was asked for, and what came of it between two instants, warm-up not counted.

    Attributes:
        rate_per_s: Queries due per second; `None` in a closed loop.
        window_s: Length of the windows asked about, in the documents' own time; `None` for all of the data.
        window_documents_mean: Documents in a window, on average.
        started_s: First instant after the warm-up.
        ended_s: When the last answer was read, or the end of the load, whichever is later.
        clients_busy_mean: Clients with a query under way, on average, by Little's law: Σ service times, those of errors
            included, ÷ duration.
        clients_expected: What that must be in a closed loop: clients × service time ÷ (service time + think time);
            `None` in an open one, and where nothing was answered.
        late_starts: Queries that were sent more than 10 ms after they were due although a client was free.
        sender_cpu_s: CPU time of the sending process over the same time.
        answers_read: Answers read in each `ANSWERS_EVERY_S` from `started_s` on, also between steps of a ramp.
        searchable_lag_s: How far the newest searchable document was behind the newest in Kafka, on average, where
            documents streamed meanwhile.
        steps: Of a ramp; empty without one.
        p99_bound_ms: That of the ramp.
    """

    clients: Count
    rate_per_s: float | None
    think_time_s: float
    request_cache: bool
    window_s: float | None
    window_place: str | None
    window_within: float | None
    window_documents_mean: float | None
    warm_up_s: float
    started_s: float
    ended_s: float
    clients_busy_mean: float
    clients_expected: float | None
    late_starts: Count
    sender_cpu_s: float
    answers_read: tuple[Count, ...]
    searchable_lag_s: float | None
    questions: tuple[QueryTimes, ...]
    steps: tuple[RampStep, ...] = ()
    p99_bound_ms: float | None = None


class Layout(Record):
    """The index of queries alone: how it was made, and what it is like on disk.

    Attributes:
        fingerprint: Runs share it exactly when they may read the same index.
        made_by: The run that made and verified it.
        made_in_s: What that took.
        route: `loaded`, `reindexed`, `rewritten`.
        codecs: Mode of the stored fields, as `_segments` tells it → segments.
    """

    fingerprint: str
    made_by: str
    made_in_s: float
    route: str
    codecs: dict[str, Count]
    segments: Count


class Recovery(Record):
    """One copy of a shard that a node has made, as `_recovery` tells it.

    Attributes:
        kind: `PEER`: from another copy; `SNAPSHOT`: from a repository; `EXISTING_STORE`: from the node's own disk.
        source: Node, or `repository`; `None` where there was none.
        copied_bytes: Those that were read from the source; what the target had already is not counted.
        started_s: By the target's clock, as is `ended_s`, which is `None` for one that did not end.
        source_throttle_ms: How long the source waited for `indices.recovery.max_bytes_per_sec`, as the target was told.
        target_throttle_ms: How long the target did.
    """

    index: str
    shard: Count
    primary: bool
    kind: str
    source: str | None
    target: str
    copied_bytes: Count
    total_ms: Count
    source_throttle_ms: Count
    target_throttle_ms: Count
    started_s: float
    ended_s: float | None


class IndexDeployment(Record):
    """What the deployment of one index came to.

    Attributes:
        index: Its name before; `became` after, another one where it was restored.
        seconds: From the request to the moment when its last copy was seen in place.
        copied_bytes: By all recoveries of it.
        source_throttle_ms: Sum over its recoveries, which wait side by side; so is `target_throttle_ms`.
    """

    index: str
    became: str
    seconds: float
    copied_bytes: Count
    source_throttle_ms: Count
    target_throttle_ms: Count
    recoveries: Count


class DeploymentProgress(Record):
    """How far a deployment was at one instant: bytes copied until then, and recoveries under way."""

    at_s: float
    copied_bytes: Count
    active: Count


class SnapshotCopy(Record):
    """What went through the repository.

    Attributes:
        written_bytes: Bytes of the snapshot.
        snapshot_s: From its request until it was complete.
        restored_bytes: Bytes that nodes have read from it.
        restore_s: From the request to restore until the last copy was in place, replicas included.
    """

    written_bytes: Count
    snapshot_s: float
    restored_bytes: Count
    restore_s: float


class NodeWork(Record):
    """What a node used while indices were deployed; disk bytes are `None` where only its owner may know."""

    cpu_s: float
    disk_read_bytes: Count | None
    disk_write_bytes: Count | None


class Deployment(Record):
    """Indices on their way from the node that they were loaded on to those that answer queries.

    Attributes:
        settings: Recovery settings of the cluster that the profile states.
        started_s: When it was asked for.
        ended_s: When the last copy was seen in place.
        polls: How often `_recovery` was read; a recovery that began and ended between two of them is still seen.
        retries: How often allocations that Elasticsearch had given up were asked for again.
        most_from_index_node: Most recoveries under way at once whose source is the index node.
        copied_bytes: Source → target → bytes.
        progress: At every poll.
        snapshot: Of the route `snapshot` only.
        nodes: Node → what it used; empty for servers elsewhere, and without a node that was started again meanwhile.
        queries: `before`, `while`, `after` → what came of the queries sent then; empty where none were.
    """

    route: Literal["exclude", "snapshot", "replicas-first"]
    index_node: str
    to: tuple[str, ...]
    number_of_replicas: Count
    settings: dict[str, object]
    started_s: float
    ended_s: float
    polls: Count
    retries: Count
    most_from_index_node: Count
    indices: tuple[IndexDeployment, ...]
    recoveries: tuple[Recovery, ...]
    copied_bytes: dict[str, dict[str, Count]]
    progress: tuple[DeploymentProgress, ...]
    snapshot: SnapshotCopy | None = None
    nodes: dict[str, NodeWork] = Field(default_factory=dict)
    queries: dict[str, QueryLoadResult] = Field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the request to the last copy in place."""
        return self.ended_s - self.started_s

    @property
    def checked_queries(self) -> list[QueryLoadResult]:
        """The queries whose answers count; during a deployment that is over at once, none may have been due."""
        asked = {when: sum(each.requests for each in sent.questions) for when, sent in self.queries.items()}
        return [sent for when, sent in self.queries.items() if when != "while" or asked[when]]

    @property
    def total_bytes(self) -> int:
        """Bytes that all recoveries copied."""
        return sum(each.copied_bytes for each in self.recoveries)


class Phase(Record):
    """One phase of a run, from its first to its last instant.

    Attributes:
        name: `prepare` makes servers, topic and index; `fill` preloads the topic of a drain, or makes the bodies of a
            direct load; `load` is what is measured; `settle` waits for refresh and merges; `maintain` deploys, where
            the profile says so; `verify` compares; `query` asks the profile's questions, where it has any; `collect`
            writes down.
    """

    name: PhaseName
    started_s: float
    ended_s: float


class Run(Record):
    """What was done, when, and what came of it. Figures are not in here; they are made from the samples.

    Attributes:
        index: Several are separated by commas, as their topics are.
        index_documents: The books of each index, where there are several.
        sink_ledger: `None` where it could not be read; `verification.ledger` says why.
        via: `kafka`: through topic and sink; `direct`: ready-made bulk requests, with no topic; `rally`: sent by Rally.
        delivery: `None` for a load that is not `via` Kafka; so are `direct` and `rally` for every other one.
        store_size_bytes: Size on disk at the end, by scope (`primaries`, `total`); empty in runs of older versions,
            which only have what their samples say: up to 10 s old.
        content_hash: BLAKE2b of the documents, where they were read from a file; otherwise profile and seed tell them.
        query_load: Queries that were sent side by side; `None` where there were none.
        document_ramp: The steps of a stream whose rate rises; `None` for every other load.
        layout: The index of a load of queries alone, which earlier runs may have made; `None` for every other one.
        deployment: Of a run whose profile says `maintain`; `None` for every other one.
        command: The command line that started the run, word by word, so that a reader can start it again.
    """

    run_id: str
    profile: str
    question: str
    started_s: float
    ended_s: float
    phases: tuple[Phase, ...]
    load: Literal["drain", "stream", "query"]
    via: Literal["kafka", "direct", "rally"] = "kafka"
    index: str
    topic: str | None
    documents: Documents
    index_documents: dict[str, Documents] = Field(default_factory=dict)
    verification: Verification
    delivery: Delivery | None
    direct: DirectLoad | None = None
    rally: RallyLoad | None = None
    sink_histograms: SinkHistograms
    sink_ledger: SinkLedger | None = None
    environment: Environment
    warnings: tuple[RunWarning, ...] = ()
    command: tuple[str, ...] = ()
    content_hash: str | None = None
    questions: tuple[QuestionAnswers, ...] = ()
    query_load: QueryLoadResult | None = None
    layout: Layout | None = None
    document_ramp: DocumentRamp | None = None
    deployment: Deployment | None = None
    store_size_bytes: dict[str, Count] = Field(default_factory=dict)

    @property
    def source_bytes(self) -> int | None:
        """Size of the documents that were there to be indexed."""
        return next((part.source_bytes for part in (self.delivery, self.direct, self.rally) if part), None)

    @property
    def entities(self) -> int | None:
        """Books, or whatever the dataset counts, that these documents describe."""
        return next((part.entities for part in (self.delivery, self.direct, self.rally) if part), None)
