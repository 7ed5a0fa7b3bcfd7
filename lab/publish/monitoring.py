"""A run as Stack Monitoring documents, in the shape that Kibana reads from 7.17 to 9.x."""

from collections.abc import Iterator
from typing import Any

from lab.publish.document import Document, timestamp
from lab.publish.resample import Reading
from lab.records import Run, ShardCounters, WarningKind

CLUSTER_UUID = "sluice-recordings"
"""One for all recordings: with a basic licence Kibana opens no more than one cluster."""

CLUSTER_NAME = "Sluice: recorded runs"
INDEX = ".monitoring-es-7-sluice"
TEMPLATE = "sluice-stack-monitoring"
NODE = "sluice"


def monitoring_documents(run: Run, readings: list[Reading], bucket_s: int) -> Iterator[Document]:
    """For each reading the cluster, all of its indices and the index under test; once, the shards of that index.

    Only what was sampled is in them: for what is missing, such as disk space and uptime, Kibana shows 0.
    """
    for reading in readings:
        common = _common(reading.at_s, bucket_s)
        yield _document(run, reading.at_s, common | _cluster_stats(run, reading))
        yield _document(run, reading.at_s, common | _indices_stats(reading))
        yield _document(run, reading.at_s, common | _index_stats(run, reading))
    if readings:
        yield from _shards(run, readings[-1].at_s, bucket_s)


def _document(run: Run, at_s: float, source: dict[str, Any], part: str = "") -> Document:
    parts = (run.profile, run.run_id, str(round(at_s * 1000)), source["type"], part)
    return Document("-".join(filter(None, parts)), source)


def _common(at_s: float, bucket_s: int) -> dict[str, Any]:
    return {
        "cluster_uuid": CLUSTER_UUID,
        "timestamp": timestamp(at_s),
        "interval_ms": bucket_s * 1000,
        "source_node": {"uuid": NODE, "name": NODE},
    }


def _cluster_stats(run: Run, reading: Reading) -> dict[str, Any]:
    seen = reading.elasticsearch
    version = _version(run)
    shards = _shard_counts(run)
    indices: dict[str, Any] = {
        "count": 1,
        "docs": {"count": seen.primaries.docs_count},
        "store": {"size_in_bytes": seen.total.store_size_bytes},
    }
    nodes: dict[str, Any] = {
        "count": {"total": len(seen.nodes)},
        "jvm": {
            "mem": {
                "heap_used_in_bytes": sum(node.heap_used_bytes for node in seen.nodes.values()),
                "heap_max_in_bytes": sum(node.heap_max_bytes for node in seen.nodes.values()),
            }
        },
    }
    return {
        "type": "cluster_stats",
        "cluster_name": CLUSTER_NAME,
        "license": {"status": "active", "type": "basic"},
        "cluster_stats": {
            "indices": indices | ({"shards": {"total": sum(shards), "primaries": shards[0]}} if shards else {}),
            "nodes": nodes | ({"versions": [version]} if version else {}),
        },
        "cluster_state": {"status": _status(run), "state_uuid": run.run_id, "master_node": NODE},
    } | ({"version": version} if version else {})


def _indices_stats(reading: Reading) -> dict[str, Any]:
    seen = reading.elasticsearch
    return {
        "type": "indices_stats",
        "indices_stats": {"_all": {"primaries": _work(seen.primaries), "total": _work(seen.total)}},
    }


def _index_stats(run: Run, reading: Reading) -> dict[str, Any]:
    seen = reading.elasticsearch
    return {
        "type": "index_stats",
        "index_stats": {"index": run.index, "primaries": _all_of(seen.primaries), "total": _all_of(seen.total)},
    }


def _work(shards: ShardCounters) -> dict[str, Any]:
    return {
        "indexing": {"index_total": shards.index_total, "index_time_in_millis": shards.index_time_ms},
        "search": {"query_total": shards.query_total, "query_time_in_millis": shards.query_time_ms},
    }


def _all_of(shards: ShardCounters) -> dict[str, Any]:
    work = _work(shards)
    return work | {
        "docs": {"count": shards.docs_count},
        "indexing": work["indexing"] | {"throttle_time_in_millis": shards.throttle_time_ms},
        "segments": {"count": shards.segments_count},
        "store": {"size_in_bytes": shards.store_size_bytes},
    }


def _shards(run: Run, at_s: float, bucket_s: int) -> Iterator[Document]:
    """The primary shards, which is what Kibana takes the index's status from."""
    for number in range((_shard_counts(run) or (0, 0))[0]):
        shard = {"index": run.index, "shard": number, "primary": True, "state": "STARTED", "node": NODE}
        source = _common(at_s, bucket_s) | {"type": "shards", "state_uuid": run.run_id, "shard": shard}
        yield _document(run, at_s, source, str(number))


def _status(run: Run) -> str:
    """What Kibana shows as the cluster's health, and cannot do without."""
    return "yellow" if any(warning.kind is WarningKind.SHARDS_UNASSIGNED for warning in run.warnings) else "green"


def _version(run: Run) -> str | None:
    return next((server.version for server in run.environment.servers if server.name.startswith("elasticsearch")), None)


def _shard_counts(run: Run) -> tuple[int, int] | None:
    """(primaries, replicas) of the index under test; `None` where its settings were not written down."""
    settings = run.environment.index_settings
    try:
        primaries, replicas = (
            int(str(settings[f"index.{name}"])) for name in ("number_of_shards", "number_of_replicas")
        )
    except (KeyError, ValueError):
        return None
    return primaries, primaries * replicas
