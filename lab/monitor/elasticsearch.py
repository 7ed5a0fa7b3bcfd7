"""Reads the index and node counters of an Elasticsearch cluster, from 7.17 to 9.x."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx
import orjson

from lab.endpoints import OPEN, HttpAccess
from lab.records.samples import ElasticsearchSample, IndexCounters, NodeCounters, ShardCounters

SHARD_FIELDS = {
    "index_total": "indexing.index_total",
    "index_time_ms": "indexing.index_time_in_millis",
    "index_failed": "indexing.index_failed",
    "throttle_time_ms": "indexing.throttle_time_in_millis",
    "docs_count": "docs.count",
    "store_size_bytes": "store.size_in_bytes",
    "refresh_total": "refresh.total",
    "refresh_time_ms": "refresh.total_time_in_millis",
    "flush_total": "flush.total",
    "flush_time_ms": "flush.total_time_in_millis",
    "merges_current": "merges.current",
    "merges_total": "merges.total",
    "merges_time_ms": "merges.total_time_in_millis",
    "merges_throttled_time_ms": "merges.total_throttled_time_in_millis",
    "segments_count": "segments.count",
    "translog_size_bytes": "translog.size_in_bytes",
    "query_total": "search.query_total",
    "query_time_ms": "search.query_time_in_millis",
    "query_current": "search.query_current",
    "fetch_total": "search.fetch_total",
    "fetch_time_ms": "search.fetch_time_in_millis",
    "request_cache_hits": "request_cache.hit_count",
    "request_cache_misses": "request_cache.miss_count",
    "request_cache_evictions": "request_cache.evictions",
    "query_cache_hits": "query_cache.hit_count",
    "query_cache_misses": "query_cache.miss_count",
}

NODE_FIELDS = {
    "cpu_percent": "process.cpu.percent",
    "heap_used_bytes": "jvm.mem.heap_used_in_bytes",
    "heap_max_bytes": "jvm.mem.heap_max_in_bytes",
    "gc_young_count": "jvm.gc.collectors.young.collection_count",
    "gc_young_time_ms": "jvm.gc.collectors.young.collection_time_in_millis",
    "gc_old_count": "jvm.gc.collectors.old.collection_count",
    "gc_old_time_ms": "jvm.gc.collectors.old.collection_time_in_millis",
    "write_queue": "thread_pool.write.queue",
    "write_rejected": "thread_pool.write.rejected",
    "write_completed": "thread_pool.write.completed",
    "write_threads": "thread_pool.write.threads",
    "write_active": "thread_pool.write.active",
    "search_threads": "thread_pool.search.threads",
    "search_active": "thread_pool.search.active",
    "search_queue": "thread_pool.search.queue",
    "search_rejected": "thread_pool.search.rejected",
    "search_completed": "thread_pool.search.completed",
    "memory_limit_bytes": "os.cgroup.memory.limit_in_bytes",
    "memory_used_bytes": "os.cgroup.memory.usage_in_bytes",
    "index_total": "indices.indexing.index_total",
    "index_time_ms": "indices.indexing.index_time_in_millis",
    "segments_count": "indices.segments.count",
    "merges_current": "indices.merges.current",
}

UNLIMITED_BYTES = 1 << 62
"""How control groups of version 1 say that there is no limit: the largest whole number of pages below 2⁶³ bytes."""

INDEX_PATH = "_stats/docs,store,indexing,search,merge,refresh,flush,segments,translog,request_cache,query_cache"
INDEX_FILTER = ",".join(["_shards.failed", *(f"_all.*.{field}" for field in SHARD_FIELDS.values())])
PROCESSED = "polling_ingest_stats.message_processor_stats.total_processed_count"
COPIES_FILTER = ",".join(f"indices.*.shards.*.{field}" for field in ("routing.primary", "routing.node", PROCESSED))
EACH_INDEX_FILTER = ",".join(f"indices.*.primaries.{SHARD_FIELDS[name]}" for name in IndexCounters.model_fields)
NODES_PATH = "_nodes/stats/jvm,process,os,thread_pool,indices/indexing,segments,merge"
NODES_FILTER = ",".join(["nodes.*.name", *(f"nodes.*.{field}" for field in NODE_FIELDS.values())])


class ElasticsearchReader:
    """Asks one node for the whole cluster; when it does not answer, the next reading asks the next node.

    Where shards are it asks once it has seen several nodes: on a single one they cannot move. `filter_path` keeps each
    answer to about 1 kB per node, so that being watched costs the server little.

    Args:
        is_pulled: Whether the index reads a topic itself. `indexing.index_total` stays 0 then (OpenSearch 3.8.0); what
            its primary shards have processed stands for it, attempts and rejected documents included.
    """

    def __init__(
        self,
        urls: Sequence[str],
        index: str,
        *,
        timeout_s: float,
        now: Callable[[], float],
        access: HttpAccess = OPEN,
        is_pulled: bool = False,
    ) -> None:
        self._is_pulled = is_pulled
        self._urls = tuple(url.rstrip("/") for url in urls)
        self._index = index
        self._index_filter = f"{INDEX_FILTER},{EACH_INDEX_FILTER}" if "," in index else INDEX_FILTER
        self._now = now
        self._failures = 0
        self._has_several_nodes = False
        # Compressing 1 kB costs the server more than sending it.
        self._client = access.client({"Accept-Encoding": "identity"}, timeout=timeout_s)
        self._requests: dict[str, httpx.Request] = {}

    def read(self) -> ElasticsearchSample:
        """The counters at this instant.

        Raises:
            httpx.HTTPError: No answer, or a refusal.
            KeyError: An answer without a field that all supported versions give.
            LookupError: An answer without those shards that did not answer in turn, whose counters would seem to fall.
        """
        base = self._urls[self._failures % len(self._urls)]
        try:
            before_s = self._now()
            index = self._index_stats(base)
            after_s = self._now()
            nodes = self._get(f"{base}/{NODES_PATH}", filter_path=NODES_FILTER)
        except httpx.TransportError:
            self._failures += 1
            raise
        names = {key: node.get("name", key) for key, node in nodes["nodes"].items()}
        self._has_several_nodes = len(names) > 1
        return ElasticsearchSample(
            primaries=shard_counters(index["_all"]["primaries"]),
            total=shard_counters(index["_all"]["total"]),
            indices={name: index_counters(of) for name, of in index.get("indices", {}).items() if "primaries" in of},
            shard_copies=shard_copies(index.get("indices", {}), names),
            nodes={names[key]: node_counters(node) for key, node in nodes["nodes"].items()},
            read_s=(before_s + after_s) / 2,
        )

    def _index_stats(self, base: str) -> Any:
        url = f"{base}/{self._index}/{INDEX_PATH}"
        if self._is_pulled or self._has_several_nodes:
            stats = self._get(url, level="shards", filter_path=f"{self._index_filter},{COPIES_FILTER}")
        else:
            stats = self._get(url, filter_path=self._index_filter)
        if self._is_pulled:
            pulled = pulled_documents(stats.get("indices", {}))
            for half in stats["_all"].values():
                half["indexing"]["index_total"] += pulled
        if failed := stats.get("_shards", {}).get("failed"):
            raise LookupError(f"{failed} shards did not answer")
        return stats

    def _get(self, url: str, **params: str) -> Any:
        # Built once: to encode a filter of 1 kB takes longer than all else that a reading does here.
        key = f"{url}?{params.get('level', '')}"
        request = self._requests.get(key)
        if request is None:
            request = self._requests[key] = self._client.build_request("GET", url, params=params)
        return orjson.loads(self._client.send(request).raise_for_status().content)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def pulled_documents(indices: Mapping[str, Any]) -> int:
    """Records that primary shards have read from their topic and processed, out of a `_stats` answer by shards."""
    shards = [copies for stats in indices.values() for copies in stats.get("shards", {}).values()]
    return sum(_at(copy, PROCESSED) or 0 for copies in shards for copy in copies if copy["routing"]["primary"])


def shard_counters(stats: Mapping[str, Any]) -> ShardCounters:
    """Index counters out of one half (`primaries` or `total`) of a `_stats` answer.

    Raises:
        KeyError: A counter is missing that every supported version gives.
    """
    counters = {name: _at(stats, path) for name, path in SHARD_FIELDS.items()}
    for name, value in counters.items():
        if value is None and ShardCounters.model_fields[name].is_required():
            raise KeyError(SHARD_FIELDS[name])
    return ShardCounters.model_validate(counters)


def index_counters(stats: Mapping[str, Any]) -> IndexCounters:
    """Counters of one index out of its part of a `_stats` answer."""
    return IndexCounters.model_validate(
        {name: _at(stats["primaries"], SHARD_FIELDS[name]) for name in IndexCounters.model_fields}
    )


def shard_copies(indices: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The nodes of the copies of each shard, that of the primary first, out of a `_stats` answer by shards.

    Args:
        names: Node id → name.
    """
    found = {}
    for index, stats in indices.items():
        for number, copies in stats.get("shards", {}).items():
            places = sorted((not copy["routing"]["primary"], copy["routing"]["node"]) for copy in copies)
            found[f"{index}/{number}"] = tuple(names.get(node, node) for _, node in places)
    return found


def node_counters(stats: Mapping[str, Any]) -> NodeCounters:
    """Node counters out of one node of a `_nodes/stats` answer."""
    counters = {name: _at(stats, path) for name, path in NODE_FIELDS.items()}
    if counters["cpu_percent"] == -1:  # how Elasticsearch says that it does not know
        counters["cpu_percent"] = None
    if (counters["memory_limit_bytes"] or 0) >= UNLIMITED_BYTES:
        counters["memory_limit_bytes"] = None
    return NodeCounters.model_validate(counters)


def _at(stats: Any, path: str) -> int | None:
    """The number at a path; `None` where there is none. Figures of control groups come as text."""
    for key in path.split("."):
        if not isinstance(stats, dict) or key not in stats:
            return None
        stats = stats[key]
    return None if stats == "max" else int(stats)  # how control groups of version 2 say that there is no limit
