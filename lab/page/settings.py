"""Settings that the page may change: an allowlist, with the reason why each does no harm.

Whoever gets hold of a browser in which the page is open, or of its token, is to change how much is done, how often or
how it is stored, and never where data goes, which file, class or program is loaded, or who authenticates. All else is
set in a profile's file or on the command line.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence

from lab.engines import ENGINES
from lab.errors import ProfileError
from lab.profiles.loader import overridden
from lab.profiles.located import Located
from producers.registry import DATASETS

MAY_BE_SET: Mapping[str, str] = {
    # --- documents: generated ones only; a file of one's choice (`dataset.path`) would be read as whoever runs the page
    "dataset.name": "which generated documents; `file` still needs a path, which only a profile can give",
    "dataset.documents": "how many",
    "dataset.books": "how many",
    "dataset.seed": "which of equally likely ones",
    "dataset.model": "nested or flat",
    "dataset.shops_mean": "how large",
    "dataset.shops_max": "how large",
    "dataset.updates": "how often one is sent again",
    "dataset.key_order": "in which order",
    "dataset.start": "the instant in the first event",
    "dataset.interval_us": "the time between two events",
    "dataset.payload_chars": "how large",
    "dataset.time_field": "which of two names a field has",
    "dataset.dimensions": "how large",
    # --- mapping and indices
    "mapping": "one of those in `mappings/`, by its name in that list: a path is none",
    "disabled_fields": "how much of a document is indexed",
    "indices": "how many",
    # --- topic and producers
    "topic.partitions": "how many",
    "topic.replication_factor": "how many copies",
    "topic.config.compression.type": "how small batches are stored",
    "topic.config.max.message.bytes": "how large a batch may be",
    "topic.config.min.insync.replicas": "how many copies before a record is acknowledged",
    "topic.config.segment.bytes": "how large a log file grows",
    "producer.processes": "how many",
    "producer.client.acks": "how many copies before a record is acknowledged",
    "producer.client.batch.num.messages": "how many records in a batch",
    "producer.client.batch.size": "how large a batch is",
    "producer.client.compression.codec": "how small batches are",
    "producer.client.compression.level": "how small batches are",
    "producer.client.compression.type": "how small batches are",
    "producer.client.linger.ms": "how long a batch waits",
    "producer.client.max.in.flight": "how many requests at a time",
    "producer.client.max.in.flight.requests.per.connection": "how many requests at a time",
    "producer.client.message.max.bytes": "how large a request may be",
    "producer.client.queue.buffering.max.kbytes": "how much is buffered",
    "producer.client.queue.buffering.max.messages": "how much is buffered",
    "producer.client.queue.buffering.max.ms": "how long a batch waits",
    "producer.client.sticky.partitioning.linger.ms": "how often the partition changes",
    # --- sink: no converter, transform, proxy, URL, credential, pipeline, index name or dead-letter topic
    "sink.tasks": "how many",
    "sink.config.batch.size": "how many documents in a bulk request",
    "sink.config.bulk.size.bytes": "how large a bulk request is",
    "sink.config.linger.ms": "how long a bulk request waits",
    "sink.config.max.in.flight.requests": "how many bulk requests at a time",
    "sink.config.max.buffered.records": "how much is buffered",
    "sink.config.max.buffered.bytes": "how much is buffered",
    "sink.config.max.documents.per.second": "how fast at most",
    "sink.config.max.bytes.per.second": "how fast at most",
    "sink.config.flush.timeout.ms": "how long it waits",
    "sink.config.max.retries": "how often it tries again",
    "sink.config.retry.backoff.ms": "how long it waits before it tries again",
    "sink.config.retry.backoff.max.ms": "how long it waits before it tries again",
    "sink.config.retry.timeout.ms": "how long it tries again",
    "sink.config.stall.timeout.ms": "how long it waits",
    "sink.config.connection.timeout.ms": "how long it waits",
    "sink.config.read.timeout.ms": "how long it waits",
    "sink.config.connection.compression": "whether bodies are compressed",
    "sink.config.consumer.override.max.poll.records": "how many records it takes at a time",
    "sink.config.consumer.override.fetch.min.bytes": "how much it fetches at a time",
    "sink.config.consumer.override.fetch.max.bytes": "how much it fetches at a time",
    "sink.config.consumer.override.fetch.max.wait.ms": "how long a fetch waits",
    "sink.config.consumer.override.max.partition.fetch.bytes": "how much it fetches at a time",
    "sink.config.consumer.override.receive.buffer.bytes": "how large a buffer of the system is",
    # --- servers: their number and size
    **{engine.dotted_key: "releases that the lock file pins by hash, and no other" for engine in ENGINES},
    "elasticsearch.java": "the number of a release: no path, and no option of the JVM",
    "elasticsearch.data_nodes": "how many, six at most",
    "elasticsearch.heap_mb": "how large",
    "elasticsearch.memory_limit_mb": "how large",
    "elasticsearch.page_cache_mb": "how large",
    "elasticsearch.read_iops_limit": "how many reads a second",
    "elasticsearch.cluster_settings.cluster.routing.allocation.node_concurrent_recoveries": "how many at a time",
    "elasticsearch.cluster_settings.cluster.routing.allocation.node_initial_primaries_recoveries": "how many at a time",
    "elasticsearch.cluster_settings.indices.recovery.max_bytes_per_sec": "how fast",
    "elasticsearch.node_settings.indices.fielddata.cache.size": "how large a cache is",
    "elasticsearch.node_settings.indices.memory.index_buffer_size": "how much is buffered",
    "elasticsearch.node_settings.indices.queries.cache.size": "how large a cache is",
    "elasticsearch.node_settings.indices.requests.cache.size": "how large a cache is",
    "elasticsearch.node_settings.node.processors": "how many threads",
    "elasticsearch.node_settings.thread_pool.search.queue_size": "how many requests wait",
    "elasticsearch.node_settings.thread_pool.search.size": "how many threads",
    "elasticsearch.node_settings.thread_pool.write.queue_size": "how many requests wait",
    "elasticsearch.node_settings.thread_pool.write.size": "how many threads",
    # --- index: no path, pipeline, analysis (files), similarity (scripts), store type, allocation filter or policy
    "index.codec": "how small stored documents are: a codec that the server has, by name",
    "index.compound_format": "how many files a segment has",
    "index.mapping.depth.limit": "how deep documents may be",
    "index.mapping.nested_fields.limit": "how many fields",
    "index.mapping.nested_objects.limit": "how many nested documents",
    "index.mapping.source.mode": "whether the source is stored or put together again",
    "index.mapping.total_fields.limit": "how many fields",
    "index.max_result_window": "how many documents a search may return",
    "index.merge.policy.floor_segment": "how large segments become",
    "index.merge.policy.max_merge_at_once": "how many segments are merged at a time",
    "index.merge.policy.max_merged_segment": "how large segments become",
    "index.merge.policy.segments_per_tier": "how many segments there are",
    "index.merge.scheduler.auto_throttle": "how fast merges are",
    "index.merge.scheduler.max_merge_count": "how many merges wait",
    "index.merge.scheduler.max_thread_count": "how many merges at a time",
    "index.mode": "how documents are ordered and stored",
    "index.number_of_replicas": "how many copies",
    "index.number_of_routing_shards": "how often an index can be split",
    "index.number_of_shards": "how many",
    "index.queries.cache.enabled": "whether a cache may answer",
    "index.refresh_interval": "how often",
    "index.requests.cache.enable": "whether a cache may answer",
    "index.routing_path": "which fields decide the shard of a time series",
    "index.routing.allocation.total_shards_per_node": "how many shards on a node",
    "index.search.idle.after": "how long without a search until refreshes stop",
    "index.sort.field": "in which order a segment keeps its documents",
    "index.sort.missing": "in which order a segment keeps its documents",
    "index.sort.mode": "in which order a segment keeps its documents",
    "index.sort.order": "in which order a segment keeps its documents",
    "index.time_series.end_time": "which instants an index takes",
    "index.time_series.start_time": "which instants an index takes",
    "index.translog.durability": "how often it is synced",
    "index.translog.flush_threshold_size": "how large it grows",
    "index.translog.sync_interval": "how often it is synced",
    # --- load: how fast and how long; not `via`, which may start another program
    "load.mode": "drain, stream or queries alone",
    "load.rate_docs_per_s": "how fast",
    "load.timeout_s": "how long at most",
    "load.connections": "how many",
    "load.batch_documents": "how many documents in a bulk request",
    "load.bulk_size_bytes": "how large a bulk request is",
    "load.bulk_by_shard": "which documents share a bulk request",
    "load.clients": "how many",
    "load.bulk_size": "how many documents in a bulk request",
    "load.segments": "how many segments are left",
    "load.queries.clients": "how many",
    "load.queries.rate_per_s": "how fast",
    "load.queries.think_time_s": "how long a client waits",
    "load.queries.duration_s": "how long",
    "load.queries.requests": "how many",
    "load.queries.warm_up_s": "how long",
    "load.ramp.p99_ms": "how slow is too slow",
    "load.ramp.factor": "how much faster each step is",
    "load.ramp.step_s": "how long",
    # --- questions, checks and samples: how many
    "queries.repeats": "how often",
    "queries.warm_up": "how many",
    "queries.seed": "which of equally likely values",
    "queries.window.seconds": "how long",
    "queries.window.place": "newest or drawn",
    "queries.window.within": "how much of the documents",
    "queries.request_cache": "whether a cache may answer",
    "maintain.number_of_replicas": "how many copies",
    "maintain.timeout_s": "how long at most",
    "verify.sample": "how many documents are compared",
    "sampling.interval_s": "how often",
}
"""Dotted key of a profile → what it changes."""

MOST_VALUES, MOST_CHARACTERS = 100, 200
LIKE = 0.85
"""So similar is a mistyped key to the one that was meant."""


def check_settings(settings: Sequence[str]) -> None:
    """See that each setting may be set from the page.

    What is judged are the keys that a profile would get, however they are written: `sink={config: {…}}`, too.

    Raises:
        ProfileError: What may not, a line each; nothing else has looked at the values yet.
    """
    refused = [sentence for key, entry in overridden(settings) for sentence in problems(key, entry)]
    if refused:
        raise ProfileError("\n".join(refused))


def problems(key: str, entry: Located) -> Iterator[str]:
    """Why one value may not be set from the page; nothing where it may."""
    if key not in MAY_BE_SET:
        similar = difflib.get_close_matches(key, MAY_BE_SET, n=1, cutoff=LIKE)
        remedy = f"did you mean `{similar[0]}`?" if similar else "set it with `--set` on the command line"
        yield f"{key[:MOST_CHARACTERS]}: cannot be set from the page, {remedy}"
        return
    if key == "dataset.name" and str(entry.value) in set(DATASETS) - set(DATASETS.built_in):
        yield f"{key}: got a dataset of an installed package, expected one of {', '.join(DATASETS.built_in)}"
        return
    values = entry.value if isinstance(entry.value, list) else [entry]
    if len(values) > MOST_VALUES or any(isinstance(each.value, list | dict) for each in values):
        yield f"{key}: got more, expected one value, or a list of at most {MOST_VALUES}"
        return
    for text in (each.value for each in values if isinstance(each.value, str)):
        # Kafka Connect and Elasticsearch replace `${…}` by files and variables, and print them where they are wrong.
        if "$" in text or not text.isprintable() or len(text) > MOST_CHARACTERS:
            yield f"{key}: got a text with $ or control characters, or a long one, expected a plain value"
