"""`run.json`: what was done, when, on what, and what came of it."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from lab.engines import DEFAULT
from lab.records.base import Count, Record
from lab.records.deployment import Deployment
from lab.records.drivers import Driver
from lab.records.queries import DocumentRamp, QueryLoadResult, QuestionAnswers
from lab.records.verification import Documents, SinkLedger, Verification

SMALL_DISTRIBUTION = "integ-test-zip"
INDEX_REQUEST = "index.json"
"""File beside `run.json`: the body of the request that made the index."""
PhaseName = Literal["prepare", "fill", "load", "settle", "maintain", "verify", "query", "collect"]


class Server(Record):
    """One server of the run.

    Attributes:
        product: What an `elasticsearch-…` is that is not Elasticsearch: `OpenSearch`.
        vector_instructions: What an Elasticsearch node uses of those of the processor, by its log: `native library`,
            `Panama, 512 bits`; `None` where its log is not here, and in records before 0.2.0.
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
    """Settings that decide, beside a limit, which pages of files stay in memory.

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
        cluster_settings: Those in force, persistent or transient; `None` in records before 0.2.0.
        paging: Of this machine; `None` for servers elsewhere, and in records before 0.2.0.
        vector_options: Field of vectors → its index options in effect, those that Elasticsearch chose, too; `None` in
            records before 0.2.0.
        distribution: What local nodes are in place of the small distribution on Maven Central: `official`, or the
            folder of an unpacked archive; `None` for the small one, and for servers elsewhere.
        extensions: Installed packages that add datasets, pipelines, questions or metrics → version; `None` without any.
        contents: Key of the profile (`mapping`, `sink.connector`, `sink.command`) → 16 hexadecimal digits of the file
            that it names; of an installed dataset or pipeline, the package. `None` in records before 0.2.0.
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
    distribution: str | None = None
    extensions: dict[str, str] | None = None
    contents: dict[str, str] | None = None

    @property
    def local_distribution(self) -> str | None:
        """The distribution of local nodes; `None` for servers elsewhere."""
        return (self.distribution or SMALL_DISTRIBUTION) if self.target == "local" else None

    @property
    def product(self) -> str:
        """The engine under test: the default one unless the servers say otherwise."""
        return next((server.product for server in self.servers if server.product), DEFAULT.engine.title)


class WarningKind(StrEnum):
    """Kinds of warnings in a report."""

    COLD_SERVERS = "cold_servers"
    SAMPLES_LOST = "samples_lost"
    SERVER_RESTARTED = "server_restarted"
    SHARD_MOVED = "shard_moved"
    DEAD_LETTERS = "dead_letters"
    NOT_INDEXED = "not_indexed"
    STORED_ONLY = "stored_only"
    SHORT_WINDOW = "short_window"
    DID_NOT_KEEP_UP = "did_not_keep_up"
    DRIVER_LIMITED = "driver_limited"
    BUSY_MACHINE = "busy_machine"
    LATE_PRODUCER = "late_producer"
    CLOCK_SKEW = "clock_skew"
    SHARDS_UNASSIGNED = "shards_unassigned"
    SERVERS_ELSEWHERE = "servers_elsewhere"
    MEMORY_PRESSURE = "memory_pressure"
    NO_STEADY_STATE = "no_steady_state"
    ENVIRONMENTS_DIFFER = "environments_differ"
    CLIENTS_DISAGREE = "clients_disagree"
    QUERY_SENDER_LIMITED = "query_sender_limited"
    QUERY_ERRORS = "query_errors"
    PAGES_TAKEN_AWAY = "pages_taken_away"
    UNREAD_SETTINGS = "unread_settings"
    REPETITION_DIFFERS = "repetition_differs"
    RUNS_FAILED = "runs_failed"
    RATES_RISE = "rates_rise"

    @property
    def heading(self) -> str:
        """As a reader reads it: `Driver limited`."""
        return self.value.replace("_", " ").capitalize()


class RunWarning(Record):
    """Something that a reader must know before believing a figure: what was seen, its likely cause, the remedy."""

    kind: WarningKind
    seen: str
    likely_cause: str
    remedy: str


class Delivery(Record):
    """Delivery of all producer processes.

    Attributes:
        source_bytes: Size of the documents delivered (keys and headers not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        rate_docs_per_s: The rate that was asked for; `None` for as fast as possible, or as recorded.
        first_intended_s: When the first document was due.
        last_acknowledged_s: When Kafka had acknowledged the last one.
        late_documents: Documents sent more than 100 ms after they were due.
        latency_ms: Due → acknowledged by Kafka, percentile name (`p50`, `p90`, `p99`, `p99_9`, `max`) → ms.
        latency_samples: How many documents `latency_ms` rests on; `None` in runs of older versions, as the next one.
        latencies_clamped: How many of them took longer than an hour and were counted as one.
        cpu_s: CPU time of all producer processes.
        earlier_run: The run of the same suite that filled the topic, if it was another one.
        pace: By what recorded times were divided; `None` for documents that were not due as they were recorded.
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
    earlier_run: str | None = None
    pace: float | None = None


class DirectLoad(Record):
    """Delivery of a direct load: ready-made bulk requests over several connections.

    Attributes:
        bulk_by_shard: True if each request held documents of one shard and went to the node of its primary.
        rate_docs_per_s: The rate that was asked for; `None` for as fast as they were answered.
        source_bytes: Size of the documents (action lines not counted).
        entities: Books, or whatever the dataset counts, that these documents describe.
        body_bytes: Size of all bulk bodies.
        prepared_s: Time that preparing the bodies took, before the load.
        started_s: When the connections were told to send.
        ended_s: When the last answer was read.
        index_ended_s: The same of each index, in the order of their names; empty in records before 0.2.0.
        bulk_documents: Documents in the bulk requests that were answered with 200.
        accepted: Documents that Elasticsearch answered with success.
        already_there: Documents of which it had the same or a later version.
        refused: Status and type of the refusal → documents; each of them makes the run void.
    """

    connections: Count
    bulk_by_shard: bool = False
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
    """Delivery by Rally's bulk task, as Rally reports it; figures are made from the samples.

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
        warm_up_record_age: Those of `record_age` that a stream's sink had acknowledged at the end of its warm-up;
            `None` for every other load, for a stream that was over by then, and in older records.
        warm_up_s: From the first due time to that reading; `None` likewise.
    """

    record_age: str | None
    bulk_service_time: str | None
    lost: str | None = None
    warm_up_record_age: str | None = None
    warm_up_s: float | None = None


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


class StageRecord(Record):
    """One stage of a stream, as it was produced.

    Attributes:
        rate_docs_per_s: `None`: as fast as Kafka took them.
    """

    documents: Count
    rate_docs_per_s: float | None
    started_s: float
    ended_s: float


class Course(Record):
    """A stream in stages.

    Attributes:
        limit_docs_per_s: What the index grew by while the first stage was drained; `None` where it was not.
        paused_s: When the nodes of the cluster were paused, and when not any more; `None` where they were not.
    """

    stages: tuple[StageRecord, ...]
    limit_docs_per_s: float | None = None
    paused_s: float | None = None
    resumed_s: float | None = None


class Run(Record):
    """Record of a run: its phases, settings and outcome. Figures are made from the samples, and are not in here.

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
        course: The stages of a stream that has some; `None` for every other load.
        layout: The index of a load of queries alone, which earlier runs may have made; `None` for every other one.
        deployment: Of a run whose profile says `maintain`; `None` for every other one.
        drivers: Of a stream that several drivers on other hosts sent, by share; empty for every other load.
        command: The command line that started the run, word by word, so that a reader can start it again.
        labels: Names and values that the user gave the run, such as `branch`; `baseline` names it for comparisons.
        note: Text that the user gave the run; empty without any.
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
    course: Course | None = None
    deployment: Deployment | None = None
    drivers: tuple[Driver, ...] = ()
    store_size_bytes: dict[str, Count] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    note: str = ""

    def phase(self, name: PhaseName) -> Phase | None:
        """The phase of that name; `None` where the run did not come to it."""
        return next((phase for phase in self.phases if phase.name == name), None)

    @property
    def ramp(self) -> DocumentRamp | QueryLoadResult | None:
        """The record with the steps and the bound of its ramp, of documents or of queries; `None` without a ramp."""
        return self.document_ramp or (self.query_load if self.query_load and self.query_load.steps else None)

    @property
    def source_bytes(self) -> int | None:
        """Size of the documents that were there to be indexed."""
        return next((part.source_bytes for part in (self.delivery, self.direct, self.rally) if part), None)

    @property
    def entities(self) -> int | None:
        """Books, or whatever the dataset counts, that these documents describe."""
        return next((part.entities for part in (self.delivery, self.direct, self.rally) if part), None)
