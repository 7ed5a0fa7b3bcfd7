"""`samples.ndjson`: what was seen of servers, index and topic at one instant."""

from typing import Annotated

from pydantic import Field

from lab.records.base import Count, Record


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
    query_current: Count | None = None
    fetch_total: Count | None = None
    fetch_time_ms: Count | None = None
    request_cache_hits: Count | None = None
    request_cache_misses: Count | None = None
    request_cache_evictions: Count | None = None
    query_cache_hits: Count | None = None
    query_cache_misses: Count | None = None


class NodeCounters(Record):
    """Statistics of one Elasticsearch node (`_nodes/stats`).

    The collectors `young` and `old` are G1's; under another collector their counters are `None`.

    Attributes:
        write_threads: Threads of the write pool, started so far.
        write_active: Those of them that were at work at this instant.
        search_threads: Threads of the search pool, as those of the write pool.
        memory_limit_bytes: That of its control group, as Elasticsearch itself reads it; `None` where there is none.
        index_total: Operations that its shards have indexed, of primaries, replicas and other indices alike; `None`, as
            the three after it, in older records.
        index_time_ms: What that has taken, as for an index.
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
    search_threads: Count | None = None
    search_active: Count | None = None
    search_queue: Count | None = None
    search_rejected: Count | None = None
    search_completed: Count | None = None
    memory_limit_bytes: Count | None = None
    memory_used_bytes: Count | None = None
    index_total: Count | None = None
    index_time_ms: Count | None = None
    segments_count: Count | None = None
    merges_current: Count | None = None


class IndexCounters(Record):
    """Counters of one of several indices under test, summed over its primary shards."""

    index_total: Count
    index_time_ms: Count


class ElasticsearchSample(Record):
    """The index under test, or all of several, and every node of its cluster at one instant.

    Attributes:
        indices: Each of several indices, by its name; empty of a single one.
        shard_copies: `index/number` of each shard → the nodes of its copies, that of the primary first; empty where the
            cluster has one node, in its first sample, and in older records.
        nodes: By node name.
        read_s: Half-way between the request for the index counters and its answer: on a busy machine an answer can
            take a good part of the sampling interval, and a rate is only as good as its instants.
    """

    primaries: ShardCounters
    total: ShardCounters
    nodes: dict[str, NodeCounters]
    indices: dict[str, IndexCounters] = Field(default_factory=dict)
    shard_copies: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    read_s: float | None = None


class KafkaSample(Record):
    """Offsets of the topic under test, summed over its partitions.

    Attributes:
        end_offset: Records in the topic.
        committed_offset: Records that the sink's consumer group has committed; 0 before its first commit.
        partitions: `topic-partition` → (end offset, committed offset); empty in older records.
    """

    end_offset: Count
    committed_offset: Count
    partitions: dict[str, tuple[Count, Count]] = Field(default_factory=dict)

    @property
    def lag_records(self) -> int:
        """Records in the topic that the sink has not committed yet."""
        return max(0, self.end_offset - self.committed_offset)


class SinkSample(Record):
    """The sink's own ledger, summed over its tasks; counters start again with a task.

    The conservation law: `records_read` is the sum of all fates and of those in flight.

    Attributes:
        jit_time_ms: What the worker's virtual machine has spent on compiling since it started; no other server says it.
        record_age_ms_p50: Median from the due time of a record to its acknowledgement by Elasticsearch, over all
            records so far; `None`, as p99, in most samples: it is read every few seconds, and only of a stream.
    """

    tasks: Count
    records_read: Count
    records_indexed: Count
    records_updated: Count
    records_deleted: Count
    records_already_there: Count
    records_stale: Count
    records_redirected: Count = 0
    records_dropped_by_pipeline: Count = 0
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
    record_age_ms_p50: float | None = None
    record_age_ms_p99: float | None = None


class TaskSample(Record):
    """One task of the connector, as its worker sees it.

    Attributes:
        state: In the worker's words: `RUNNING`, `FAILED`, `PAUSED`, `UNASSIGNED` …
        worker: `host:port` of the worker that it runs on.
        reason: The innermost cause of a failure.
    """

    id: Count
    state: str
    worker: str
    reason: str | None = None


class ConnectorSample(Record):
    """The connector and its tasks, as the Connect worker sees them."""

    state: str
    tasks: tuple[TaskSample, ...]


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


class ControlGroupSample(Record):
    """The control group of a server whose memory is bounded, as the kernel accounts for it.

    Attributes:
        page_cache_bytes: Pages of files that it has read or written; those another process read first are not in it.
        anonymous_bytes: Heap and everything else that no file stands behind.
    """

    memory_limit_bytes: int | None
    memory_used_bytes: Count
    page_cache_bytes: Count
    anonymous_bytes: Count
    major_page_faults: Count
    read_bytes: Count | None
    read_operations: Count | None


class Sample(Record):
    """Everything seen at one tick. A source that did not answer is `None` here and has its reason in `lost`.

    Attributes:
        at_s: Instant of the tick.
        phase: The phase of the run that was under way.
        produced: Records acknowledged by Kafka so far, as the producer counts them; `None` when nothing produces.
        connector: In every third sample; `None` also while there is no such connector. No figure is made of it.
        processes: By server name (`kafka`, `connect`, `elasticsearch-1`, `producer` …).
        control_groups: By server name; only those of servers that have one of their own.
        machine_cpu_percent: Busy share of the cores that the run may use since the tick before, stolen time included.
        machine_iowait_percent: Share of those cores that were idle because a program waited for a disk.
        machine_steal_percent: Share of those cores' time in which they had work and the hypervisor ran another machine.
        other_cpu_percent: Share of those cores that programs used which are not the run's: neither its servers, nor
            this process, nor what is below them. `None` also where the servers are elsewhere, and when one has come or
            gone. Under a CPU quota only programs of its control group are seen; the kernel's own threads are others.
            May be a little below 0, since cores and processes are counted by different clocks.
        probe_wall_ms: What a fixed piece of work took just before servers were asked; `None` where the tick before is
            so near that it would have taken too much of a core. So it is in records before 0.2.0, as the others.
        probe_cpu_ms: CPU time of that work.
        lost: Source name → why it could not be read.
    """

    at_s: float
    phase: str
    produced: int | None = None
    elasticsearch: ElasticsearchSample | None = None
    kafka: KafkaSample | None = None
    sink: SinkSample | None = None
    connector: ConnectorSample | None = None
    processes: dict[str, ProcessSample] = Field(default_factory=dict)
    control_groups: dict[str, ControlGroupSample] = Field(default_factory=dict)
    machine_cpu_percent: float | None = None
    machine_iowait_percent: float | None = None
    machine_steal_percent: float | None = None
    other_cpu_percent: float | None = None
    probe_wall_ms: float | None = None
    probe_cpu_ms: float | None = None
    lost: dict[str, str] = Field(default_factory=dict)
