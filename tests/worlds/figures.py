"""What a played server says of itself: `_stats`, `_nodes`, `_nodes/stats`, `_cluster/health`."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.worlds.indices import REFRESH_S, Index

NODE_ID = "playedplayedplayedpl-A"
HEAP_BYTES = 1 << 30
MEMORY_BYTES = 4 << 30
CORES = 2


@dataclass(frozen=True)
class Node:
    """The one node of a played cluster."""

    name: str
    version: str
    started_s: float
    port: int


def shard_stats(index: Index, now_s: float) -> dict[str, Any]:
    """The counters of an index, each by the path under which Elasticsearch has it."""
    index.settle(now_s)
    (documents, busy_s), current = index.counted(now_s), index.merges(now_s)
    active, _ = index.active(now_s)
    share = index.capacity.pace.stored_share
    return {
        "docs": {"count": index.searchable, "deleted": 0, "total_size_in_bytes": int(index.source_bytes * share)},
        "shard_stats": {"total_count": index.shards},
        "store": {
            "size_in_bytes": int(index.source_bytes * share) + 227 * index.shards,
            "total_data_set_size_in_bytes": int(index.source_bytes * share) + 227 * index.shards,
            "reserved_in_bytes": 0,
        },
        "indexing": {
            "index_total": documents,
            "index_time_in_millis": int(1000 * busy_s),
            "index_current": active,
            "index_failed": index.failed,
            "index_failed_due_to_version_conflict": index.failed,
            "delete_total": index.deletes,
            "delete_time_in_millis": 0,
            "delete_current": 0,
            "noop_update_total": 0,
            "is_throttled": False,
            "throttle_time_in_millis": 0,
            "write_load": 0.0,
        },
        "get": {
            "total": index.gets,
            "time_in_millis": 0,
            "exists_total": index.gets,
            "exists_time_in_millis": 0,
            "missing_total": 0,
            "missing_time_in_millis": 0,
            "current": 0,
        },
        "search": search_stats(index),
        "merges": {
            "current": current[0],
            "current_docs": 0,
            "current_size_in_bytes": 0,
            "total": current[1],
            "total_time_in_millis": int(1000 * current[2]),
            "total_docs": 0,
            "total_size_in_bytes": 0,
            "total_stopped_time_in_millis": 0,
            "total_throttled_time_in_millis": 0,
            "total_auto_throttle_in_bytes": 20971520,
        },
        "refresh": {
            "total": index.refreshes + 2 * index.shards,
            "total_time_in_millis": int(1000 * REFRESH_S * index.refreshes),
            "external_total": index.refreshes + 2 * index.shards,
            "external_total_time_in_millis": int(1000 * REFRESH_S * index.refreshes),
            "listeners": 0,
        },
        "flush": {
            "total": 0,
            "periodic": 0,
            "total_time_in_millis": 0,
            "total_time_excluding_waiting_on_lock_in_millis": 0,
        },
        "query_cache": {
            "memory_size_in_bytes": 0,
            "total_count": 0,
            "hit_count": 0,
            "miss_count": 0,
            "cache_size": 0,
            "cache_count": 0,
            "evictions": 0,
        },
        "segments": {"count": min(20, index.refreshes) if index.searchable else 0, "memory_in_bytes": 0},
        "translog": {"operations": index.seq_no, "size_in_bytes": 55 * index.shards + index.source_bytes},
        "request_cache": {"memory_size_in_bytes": 0, "evictions": 0, "hit_count": 0, "miss_count": 0},
    }


def search_stats(index: Index) -> dict[str, int]:
    """The counters of searches."""
    names = ("query", "fetch", "scroll", "suggest")
    counted = {f"{name}_{what}": 0 for name in names for what in ("total", "time_in_millis", "current")}
    return {"open_contexts": 0, **counted, "query_total": index.searches, "fetch_total": index.searches}


def sums(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The counters of several indices as one."""
    first = parts[0] if parts else {}
    return {
        name: sums([part[name] for part in parts])
        if isinstance(value, Mapping)
        else any(part[name] for part in parts)
        if isinstance(value, bool)
        else sum(part[name] for part in parts)
        for name, value in first.items()
    }


def index_stats(indices: Sequence[Index], now_s: float, level: str) -> dict[str, Any]:
    """The answer to `_stats`."""
    each = {index.name: shard_stats(index, now_s) for index in indices}
    total = sums(list(each.values()))
    shards = sum(index.shards for index in indices)
    described = {
        index.name: {
            "uuid": index.uuid,
            "health": health(index),
            "status": "open",
            "primaries": each[index.name],
            "total": each[index.name],
        }
        for index in indices
    }
    if level == "shards":
        for index in indices:
            described[index.name]["shards"] = {str(number): [copy_of(index, number)] for number in range(index.shards)}
    return {
        "_shards": {"total": shards, "successful": shards, "failed": 0},
        "_all": {"primaries": total, "total": total},
        "indices": described,
    }


def copy_of(index: Index, number: int) -> dict[str, Any]:
    """One shard; all writes are counted on the first."""
    last = index.seq_no - 1 if number == 0 else -1
    return {
        "routing": {"state": "STARTED", "primary": True, "node": NODE_ID, "relocating_node": None},
        "seq_no": {"max_seq_no": last, "local_checkpoint": last, "global_checkpoint": last},
    }


def health(index: Index) -> str:
    """The colour of an index on the one node, which cannot hold copies."""
    return "yellow" if index.replicas else "green"


def cluster_health(indices: Sequence[Index], *, timed_out: bool) -> dict[str, Any]:
    """The answer to `_cluster/health`."""
    active = sum(index.shards for index in indices)
    missing = sum(index.shards * index.replicas for index in indices)
    return {
        "cluster_name": "sluice",
        "status": "yellow" if missing else "green",
        "timed_out": timed_out,
        "number_of_nodes": 1,
        "number_of_data_nodes": 1,
        "active_primary_shards": active,
        "active_shards": active,
        "relocating_shards": 0,
        "initializing_shards": 0,
        "unassigned_shards": missing,
        "unassigned_primary_shards": 0,
        "delayed_unassigned_shards": 0,
        "number_of_pending_tasks": 0,
        "number_of_in_flight_fetch": 0,
        "task_max_waiting_in_queue_millis": 0,
        "active_shards_percent_as_number": 100.0 * active / (active + missing) if active else 100.0,
    }


def node_info(node: Node) -> dict[str, Any]:
    """The node in the answer to `_nodes`."""
    return {
        "name": node.name,
        "transport_address": "127.0.0.1:9300",
        "host": "127.0.0.1",
        "ip": "127.0.0.1",
        "version": node.version,
        "build_flavor": "default",
        "build_type": "tar",
        "roles": ["data", "ingest", "master"],
        "attributes": {},
        "jvm": {
            "pid": 1,
            "version": "25.0.3",
            "vm_name": "played",
            "start_time_in_millis": int(1000 * node.started_s),
            "mem": {"heap_init_in_bytes": HEAP_BYTES, "heap_max_in_bytes": HEAP_BYTES},
        },
        "http": {"publish_address": f"127.0.0.1:{node.port}"},
    }


def node_stats(
    node: Node, ever: Sequence[Index], alive: Sequence[Index], now_s: float, cpu_s: tuple[float, float]
) -> dict[str, Any]:
    """The node in the answer to `_nodes/stats`.

    Args:
        ever: All indices, the deleted ones, too: a node goes on counting what it did for them.
        cpu_s: CPU that documents have cost so far, and in the last second.
    """
    kept = ("docs", "store", "segments")
    stats = [(index in alive, shard_stats(index, now_s)) for index in ever]
    counted = sums([part for _, part in stats]) or EMPTY
    present = sums([part for is_alive, part in stats if is_alive]) or EMPTY
    total = {name: (present if name in kept else counted)[name] for name in EMPTY}
    active = [index.active(now_s) for index in ever]
    completed = sum(index.requests for index in ever) - sum(map(sum, active))
    used = HEAP_BYTES // 3 + int(7e7 * cpu_s[0]) % (HEAP_BYTES // 3)
    collections = int(7e7 * cpu_s[0]) // (HEAP_BYTES // 3)
    return {
        "timestamp": int(1000 * time.time()),
        "name": node.name,
        "transport_address": "127.0.0.1:9300",
        "host": "127.0.0.1",
        "roles": ["data", "ingest", "master"],
        "indices": total,
        "os": {"cgroup": {"memory": {"limit_in_bytes": str(MEMORY_BYTES), "usage_in_bytes": str(HEAP_BYTES + used)}}},
        "process": {"cpu": {"percent": round(100 * cpu_s[1] / CORES), "total_in_millis": int(1000 * cpu_s[0])}},
        "jvm": {
            "uptime_in_millis": int(1000 * (time.time() - node.started_s)),
            "mem": {"heap_used_in_bytes": used, "heap_max_in_bytes": HEAP_BYTES},
            "gc": {
                "collectors": {
                    "young": {"collection_count": collections, "collection_time_in_millis": 12 * collections},
                    "old": {"collection_count": 0, "collection_time_in_millis": 0},
                }
            },
        },
        "thread_pool": {
            "write": pool(sum(one for one, _ in active), sum(waiting for _, waiting in active), completed),
            "search": pool(0, 0, sum(index.searches for index in ever)),
        },
    }


EMPTY: dict[str, Any] = {
    "docs": {"count": 0, "deleted": 0},
    "store": {"size_in_bytes": 0},
    "indexing": {"index_total": 0, "index_time_in_millis": 0},
    "merges": {"current": 0},
    "segments": {"count": 0},
}


def pool(active: int, queue: int, completed: int) -> dict[str, int]:
    """A thread pool."""
    return {
        "threads": CORES if completed or active else 0,
        "queue": queue,
        "active": active,
        "rejected": 0,
        "largest": CORES,
        "completed": completed,
    }
