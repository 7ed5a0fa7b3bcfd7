"""Definitions of the metrics: name, unit, label, and meaning in one line.

To add a metric: define it here, yield it from a function of `metrics.py` or `queries.py`, list it in `scopes.py` unless
it is of the run, and add its line to `docs/metrics.md`. A test compares them; result.json, reports, `compare` and
suites then have it. A metric whose raw counter is not sampled yet needs that first: a field in
`lab/records/samples.py`, read in `lab/monitor`. Installed packages add metrics by `lab.extensions.RunMetric`.
"""

import re
from collections.abc import Iterator
from typing import Final

from lab.analysis.text import figure
from lab.errors import ProfileError
from lab.extensions import Definition, RunMetric
from lab.records.result import Metric, Result
from producers.extensions import Registry

_SHARES = {
    "mean": ("mean", "on average"),
    "p50": ("median", "one half took no longer"),
    "p90": ("p90", "90 of 100 took no longer"),
    "p99": ("p99", "99 of 100 took no longer"),
    "p99_9": ("p99.9", "999 of 1000 took no longer"),
    "max": ("longest", "the slowest one"),
}


def _definitions(text: str) -> Iterator[Definition]:
    """The metrics of a text: a line of name, unit and label, below it, indented, the meaning.

    `name_{mean,p50,max}` stands for several of how long something took: on average, and for each share of the cases.
    """
    for block in re.split(r"\n(?=\S)", text.strip()):
        head, *lines = block.splitlines()
        name, unit, label = head.split(" | ")
        meaning = " ".join(line.strip() for line in lines)
        stem, is_family, shares = name.rstrip("}").partition("{")
        if not is_family:
            yield Definition(name, unit, label, meaning)
            continue
        for share in shares.split(","):
            of_share, how_long = _SHARES[share]
            yield Definition(stem + share, unit, f"{label}, {of_share}", f"{meaning}: {how_long}.")


DEFINITIONS = tuple(
    _definitions("""
indexing_rate_docs_per_s | docs/s | Indexing rate
    Growth of Elasticsearch's own counter `index_total` per second of the measured window; of one of several indices,
    its documents, each update counted, ÷ its `index_finish_s`.
indexing_latency_ms | ms | Indexing latency
    Wall time of Elasticsearch's threads per document: growth of `index_time_in_millis` ÷ growth of `index_total`.
    On full cores it repeats the indexing rate.
index_finish_s | s | All documents of an index
    Of several indices: from the first document of any to the last one of this index; `run`: to the last one of all.
index_finish_spread_percent | % | Spread of the finish times
    From the first complete index to the last one, as a share of the time until the last one.
indexing_fairness | share | Fairness between indices
    Jain's index of the documents per index when the first index is complete: 1 is even, 1/n is one of n alone.
source_mb_per_s | MB/s | Source indexed
    Indexing rate on primaries × mean size of a source document (1 MB = 10⁶ bytes).
entities_per_s | entities/s | Entities indexed
    Books, or what else the dataset counts, per second: comparable between document models.
consumed_rate_docs_per_s | docs/s | Consumed rate
    Records read per second of the measured window by a sink that stores nothing.
delivery_rate_docs_per_s | docs/s | Delivery rate
    Documents acknowledged by Kafka per second, from the first due time to the last acknowledgement.
delivery_latency_ms_{p50,p99} | ms | Delivery latency
    Due time until Kafka acknowledged
end_to_end_latency_ms_{p50,p90,p99,p99_9,max} | ms | End to end
    Due time until Elasticsearch acknowledged; of a stream, without its first 5 s
index_delay_ms_{p50,p99} | ms | From topic to index
    Record in the topic until the index has grown by it, told from outside by the samples and as fine as their
    interval; of a stream, or of the last of its stages, without the first 5 s
catch_up_s | s | Caught up after
    From the end of a spike, or of a pause of the cluster, until nothing waited for more than two seconds.
limit_docs_per_s | docs/s | Limit of the pipeline
    Growth of the index per second while a stream's first stage was drained.
bulk_service_time_ms_{p50,p99} | ms | Bulk service time
    Bulk request sent until its answer was read
bulk_size_docs_mean | docs | Documents per bulk
    Mean documents in a bulk request, as sent.
bulk_size_bytes_mean | bytes | Size of a bulk
    Mean body of a bulk request, as sent.
bulk_requests | requests | Bulk requests
    Bulk requests that the sink, or a direct load, sent.
bulk_requests_failed | requests | Bulk requests failed
    Bulk requests not answered with 200.
bulk_retries | requests | Bulk requests repeated
    Bulk requests sent again.
item_retries | docs | Documents repeated
    Documents sent again after a temporary rejection.
lag_records_max | records | Largest lag
    Most records in the topic that the sink had not committed during the load.
cpu_s_per_million_docs | CPU-s | CPU per million documents
    CPU time over the load of a process that documents pass, per million; of Elasticsearch, to the end of its merges.
cpu_cores_mean | cores | Cores busy
    Cores that a process kept busy over the measured window; without one, over the load.
machine_cpu_percent_mean | % | Machine busy
    Busy share of the cores that the run may use (affinity, cpuset, CPU quota) over the measured window; without one,
    of the load.
machine_steal_percent_mean | % | Taken by the hypervisor
    Share of these cores' time taken by the hypervisor while they had work, over the measured window; without one, of
    the load.
other_cpu_percent_mean | % | Taken by other programs
    Share of these cores' time used by programs outside the run, over the measured window; without one, of the load.
probe_slowdown | × | Slowdown of fixed work
    Median wall time of a fixed piece of work in the measured window (without one, in the load) ÷ its least CPU time in
    the run: waiting for a core, also for the run's own servers, and slower cores.
rss_bytes_max | bytes | Memory, most
    Largest resident memory of a process over the run.
major_page_faults | faults | Major page faults
    Page faults of a process that read from the disk.
disk_write_bytes | bytes | Written to disk
    Bytes that a process wrote to the disk over the load phase.
heap_used_bytes_max | bytes | Heap, most
    Largest used Java heap of a node over the run.
gc_young_count | collections | Young collections
    Garbage collections of a node over the run.
gc_young_time_ms | ms | Time in young collections
    Pauses of a node for these collections over the run.
gc_old_count | collections | Old collections
    Full garbage collections of a node over the run.
gc_old_time_ms | ms | Time in old collections
    Pauses of a node for these collections over the run.
write_rejected | requests | Writes rejected
    Bulk requests that a node rejected because its queue was full.
merge_count | merges | Merges
    Merges finished over the run.
merge_time_ms | ms | Merge time
    Time of merges over the run; parallel merges add up.
merge_throttled_time_ms | ms | Merge time throttled
    Time that merges waited for their own rate limit.
refresh_count | refreshes | Refreshes
    Refreshes over the run.
refresh_time_ms | ms | Refresh time
    Time of refreshes over the run.
flush_count | flushes | Flushes
    Flushes over the run.
flush_time_ms | ms | Flush time
    Time of flushes over the run.
indexing_throttle_time_ms | ms | Indexing throttled
    Time that indexing was throttled, that of all shards added up.
index_failed_docs | docs | Indexing failed
    Index operations that Elasticsearch rejected.
segments_count | segments | Segments
    Segments of the index at the last sample.
store_size_bytes | bytes | Size on disk
    Size of the index files at the end of the run, not from Elasticsearch's 10-second cache.
window_gc_time_ms | ms | Garbage collection in the window
    Pauses of a node for garbage collections, young and old, within the measured window.
window_merge_count | merges | Merges in the window
    Merges that ended within the measured window.
window_merge_time_ms | ms | Merge time in the window
    Time of the merges that ended within the measured window, including time before it.
window_refresh_count | refreshes | Refreshes in the window
    Refreshes within the measured window.
window_refresh_time_ms | ms | Refresh time in the window
    Time of refreshes within the measured window.
window_jit_time_ms | ms | Compiling in the window
    Time that a server's virtual machine compiled in the measured window; known for Connect only.
phase_wall_time_s | s | Wall time of a phase
    From the first to the last instant of a phase.
drain_s | s | Drain time
    From the start of the load phase, connector start included, to the last growth of the index (or the last read of
    a sink that stores nothing).
query_rate_per_s | queries/s | Query rate
    Queries answered per second of the measured part of a query load.
query_requests | queries | Queries sent
    Queries sent in the measured part of a query load.
query_errors | queries | Query errors
    Queries without an answer, or with an error; no time includes them.
query_latency_ms_{mean,p50,p90,p99,p99_9,max} | ms | Query latency
    Due time until the answer was read; only in an open loop
query_service_time_ms_{mean,p50,p90,p99,p99_9,max} | ms | Query service time
    First request of an answer sent until its last response was read
query_took_ms_{mean,p50,p99} | ms | Query took
    Elasticsearch's own time for an answer, summed over its requests
query_hits_mean | docs | Hits per query
    Mean documents that matched a query, fetched or not.
requests_per_answer | requests | Requests per answer
    Mean search requests per answer; a join takes at least two.
ids_joined_per_answer | ids | Ids joined per answer
    Mean ids that an answer passes from one request to the next; none where one request is enough.
books_per_answer | entities | Books per answer
    Mean books in the right answers.
answers | answers | Answers
    Answers compared with the dataset, without warm-up.
answers_wrong | answers | Answers wrong
    Answers that differ from the dataset.
rows_right_share | share | Rows right
    Share of the compared rows that are right; for the nearest vectors, the recall.
values_right_share | share | Values right
    Share of these rows whose value is right too.
clients_busy_mean | clients | Clients busy
    Mean clients with a query under way, by Little's law: sum of service times ÷ measured part.
search_rate_per_s | searches/s | Search rate
    Growth of Elasticsearch's own counter `query_total` per second of the measured part; a query counts once per
    shard.
search_latency_ms | ms | Search latency
    Growth of `query_time_in_millis` ÷ growth of `query_total` in the measured part, without fetching.
query_cpu_ms | ms | CPU per query
    CPU time of a server per answered query, over the measured part.
query_read_bytes | bytes | Read per query
    Bytes that a server read from the disk per answered query.
query_major_faults | faults | Major faults per query
    Page faults of a server that read from the disk, per answered query.
query_read_bytes_per_s | bytes/s | Read from disk
    Bytes that a server read from the disk per second of the measured part.
query_major_faults_per_min | faults/min | Major faults per minute
    Page faults of a server that read from the disk, per minute of the measured part.
request_cache_hit_share | share | Request cache, hits
    Request-cache hits ÷ hits and misses, in the measured part.
request_cache_hits | hits | Request cache hits
    Shard answers from the request cache, between the first and the last sample of the measured part.
request_cache_misses | misses | Request cache misses
    Cacheable shard answers that the request cache lacked, between these samples.
query_cache_hit_share | share | Query cache, hits
    Query-cache hits ÷ hits and misses, in the measured part.
query_cache_hits | hits | Query cache hits
    Segment filters from the query cache, between the first and the last sample of the measured part.
query_cache_misses | misses | Query cache misses
    Segment filters that the query cache lacked, between these samples.
query_gc_time_ms | ms | Garbage collection during queries
    Pauses of a node, young and old, between the first and the last sample of the measured part.
search_active_mean | threads | Search threads at work
    Mean busy threads of a node's search pool over the samples of the measured part.
search_queue_max | searches | Searches waiting
    Most shard searches that waited for a thread of a node, over these samples.
search_rejected | searches | Searches rejected
    Shard searches that a node rejected because its queue was full, between the first and the last of these samples.
page_cache_bytes_mean | bytes | Page cache
    Mean file pages in a server's control group over the samples of the measured part.
data_to_cache_ratio | × | Data to cache
    Size on disk on all shards ÷ page cache of all servers.
knee_rate_per_s | /s | Knee
    Highest rate of a ramp at which p99 keeps its bound: between the last step that kept it and the first that did
    not.
deployment_s | s | Deployment
    From the request to deploy until the last copy of an index, or of all, is in place; observed every 0.3 s.
deployment_bytes | bytes | Deployed
    Bytes that nodes copied from others, or from a repository, during a deployment.
deployment_bytes_per_s | bytes/s | Deployment rate
    Bytes copied during a deployment ÷ its time.
deployment_throttle_s | s | Deployment throttled
    Time that sources and targets waited for `indices.recovery.max_bytes_per_sec`; parallel recoveries add up.
deployment_bytes_from_index_node | bytes | Out of the index node
    Bytes that nodes copied from the index node.
deployment_cpu_s | CPU-s | CPU of the deployment
    CPU time of a node from the request until the last copy was in place.
""")
)

BY_NAME: Final[Registry[Definition]] = Registry(
    "metric", RunMetric, {definition.name: definition for definition in DEFINITIONS}, ProfileError
)
"""Ours, then those of installed packages."""

TERMS = {
    "document": "One JSON object; what Elasticsearch stores.",
    "record": "A document as it lies in Kafka, with its key and headers.",
    "entity": "The thing that documents describe, such as a book. A nested model has one document per entity, a flat"
    " model several.",
    "sink": "The Kafka Connect connector that reads records and writes them to Elasticsearch.",
    "bulk request": "One HTTP request that carries many documents to Elasticsearch.",
    "primary shard": "The first copy of a part of the index. `primaries` counts each document once; `total` counts"
    " its copies on replicas as well.",
    "offset": "A record's place in its partition. The committed offset is the next one that the sink wants to read.",
    "lag": "Records in the topic that the sink has not committed yet.",
    "drain": "A load for which the topic is filled first and the sink started afterwards: how fast can it be emptied?",
    "stream": "A load for which documents are sent while the sink reads, at a set rate or as fast as possible.",
    "direct load": "A load that bypasses Kafka: ready-made bulk requests are sent to Elasticsearch as fast as they are"
    " answered. It is the limit that a drain is compared with.",
    "measured window": "The part of the load that rates are taken from: warm-up and the last interval are cut.",
    "dead letter": "A record that can never be indexed; it goes to a topic of its own, with the reason.",
    "verified": "Every id expected is in the index exactly once, each document of a small index and a sample of a large"
    " one equals what was sent, and every document is accounted for.",
    "p99": "99 of 100 took no longer than this.",
    "CPU-second": "One core busy for one second.",
    "query load": "Queries that several clients send side by side, alone or while documents stream.",
    "measured part": "Of a query load: from the end of its warm-up until its last answer was read.",
    "open loop": "Queries are due at a rate, even if earlier ones have no answer yet. Latency counts from the due time,"
    " so that a server that stalls cannot hide it.",
    "deployment": "Indices are loaded on one node, the index node, and then moved to the nodes that answer queries.",
    "recovery": "Making one copy of a shard on a node: from another copy, or from a repository.",
    "closed loop": "Each client sends its next query once it has read an answer. A slow server then gets"
    " fewer queries, so only the service time can be given, and rate and service time are one measurement.",
    "knee": "The highest rate of a ramp at which p99 keeps its bound.",
    "kept index": "An index of queries alone: made and verified once, then read by all runs with the same layout.",
    "layout": "What decides how a kept index is stored: documents, mapping, index settings, codec, route, segments,"
    " version and nodes.",
    "route": "How documents came to their codec: loaded with it, reindexed from another index, or rewritten in place.",
    "question": "Something a user asks of the index, answered by one search or, with a join, by several.",
    "integ-test-zip": "The small distribution of a search engine on Maven Central, which local servers are: the"
    " server's own code with few modules. Scripts, `_reindex` and ingest processors are missing in most versions.",
    "refresh": "Makes the documents indexed since the last refresh visible to searches.",
    "merge": "Joins small segments into larger ones, in the background.",
}


_OF_QUERIES = (
    "query_",
    "search_",
    "answers",
    "rows_right",
    "values_right",
    "requests_per_answer",
    "ids_joined",
    "books_per",
    "clients_busy",
    "request_cache",
    "page_cache",
    "data_to_cache",
    "knee",
)


def is_of_queries(name: str) -> bool:
    """Check that a metric is one of queries, and so depends on the queries sent."""
    return name.startswith(_OF_QUERIES)


def label_of(name: str) -> str:
    """A metric as a reader calls it; its name where no definition is installed."""
    return BY_NAME[name].label if name in BY_NAME else name


def meaning_of(name: str) -> str:
    """The meaning of a metric in one line; empty where no definition is installed."""
    return BY_NAME[name].meaning if name in BY_NAME else ""


def metric(name: str, value: float | None, scope: str = "run") -> Metric:
    """One figure with the unit of its definition; raises KeyError if there is no definition of that name."""
    return Metric(name=name, value=value, unit=BY_NAME[name].unit, scope=scope)


def value_of(metrics: tuple[Metric, ...], name: str, scope: str = "run") -> float | None:
    """The value of one figure; `None` when it is not known or not there."""
    return next((metric.value for metric in metrics if metric.key == (name, scope)), None)


def figure_of(result: Result, name: str, scope: str = "run") -> str:
    """The value of one figure with its unit, as a reader wants it."""
    return figure(value_of(result.metrics, name, scope), BY_NAME[name].unit)
