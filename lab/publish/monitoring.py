"""A run as Stack Monitoring documents, in the shape that Kibana reads from 7.17 to 9.x."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from lab.analysis.figures.rates import GAP_FACTOR, read_s, sampling_interval_s
from lab.publish.document import SCOPES, Document, index_template, of_type, timestamp
from lab.records.run import Run, WarningKind
from lab.records.samples import ElasticsearchSample, Sample, ShardCounters

CLUSTER_UUID = "sluice-recordings"
"""One for all recordings: with a basic licence Kibana opens only one cluster."""

CLUSTER_NAME = "Sluice: recorded runs"
INDEX = ".monitoring-es-7-sluice"
TEMPLATE_NAME = "sluice-stack-monitoring"
NODE = "sluice"

WORK = (
    "indexing.index_total",
    "indexing.index_time_in_millis",
    "indexing.throttle_time_in_millis",
    "search.query_total",
    "search.query_time_in_millis",
)
STOCK = ("docs.count", "segments.count", "store.size_in_bytes")

FIELDS = {
    # A field that Kibana filters, sorts or aggregates by must have this type; the others need not be indexed.
    "timestamp": {"type": "date", "format": "date_time"},
    **of_type("long", "interval_ms", "shard.shard"),
    **of_type("keyword", "cluster_uuid", "type", "state_uuid", "cluster_name", "version"),
    **of_type("keyword", "source_node.uuid", "source_node.name"),
    **of_type("keyword", "cluster_state.status", "cluster_state.state_uuid", "cluster_state.master_node"),
    **of_type("long", *(f"indices_stats._all.{scope}.{counter}" for scope in SCOPES for counter in WORK)),
    **of_type("keyword", "index_stats.index", "shard.index", "shard.state", "shard.node"),
    **of_type("long", *(f"index_stats.{scope}.{counter}" for scope in SCOPES for counter in WORK + STOCK)),
    **of_type("boolean", "shard.primary"),
}
TEMPLATE = index_template(INDEX, FIELDS)
SEARCHED = ("cluster_uuid", "timestamp", "index_stats.index", "indices_stats._all.primaries.indexing.index_total")
"""The fields that Kibana filters or counts by: without their types it finds nothing."""

LEAST_BUCKET_S = 10
"""Kibana's `monitoring.ui.min_interval_seconds`, unless it is set."""
BEFORE_THE_END_S = 0.001
"""A bucket's last millisecond still belongs to it, and documents have no finer instants."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of the index and of the nodes at one instant."""

    at_s: float
    elasticsearch: ElasticsearchSample


# --- one reading per bucket -----------------------------------------------------------------------------------------


def resampled(samples: Sequence[Sample], bucket_s: int) -> list[Reading]:
    """One reading for each bucket of Kibana's charts that the samples cover: the counters at its end.

    Kibana divides the growth from one bucket to the next by the bucket's size, so that readings must lie exactly one
    size apart: with samples left where they are, a rate would be off by the part of a bucket by which their places
    differ. The counters at a bucket's end lie on the straight line between the samples on either side of it. Where
    these have a gap between them nothing is made up: the bucket gets its own last sample, or none, and Kibana draws a
    gap. The last bucket has the run's last sample. Where the first sample counts no document, none was counted before
    it either: the bucket before says so, and everything that was counted is then in one point of the line or another.

    Args:
        bucket_s: Size of a bucket; they are aligned to the epoch.
    """
    answered = [Reading(read_s(sample), sample.elasticsearch) for sample in samples if sample.elasticsearch]
    if not answered:
        return []
    interval_s = sampling_interval_s(samples) or float(bucket_s)
    readings = {math.floor(reading.at_s / bucket_s): reading for reading in answered}
    for before, after in pairwise(answered):
        if after.at_s - before.at_s <= GAP_FACTOR * max(interval_s, 1.0):
            first_end = math.ceil((before.at_s + BEFORE_THE_END_S) / bucket_s)
            last_end = math.floor((after.at_s + BEFORE_THE_END_S) / bucket_s)
            for end in range(first_end, last_end + 1):
                readings[end - 1] = _between(before, after, end * bucket_s - BEFORE_THE_END_S)
    if answered[0].elasticsearch.total.index_total == 0:
        first = math.floor(answered[0].at_s / bucket_s)
        readings[first - 1] = _read_at(first * bucket_s - BEFORE_THE_END_S, answered[0].elasticsearch)
    return [readings[number] for number in sorted(readings)]


def empty_buckets(readings: Sequence[Reading], bucket_s: int) -> int:
    """Buckets between the first reading and the last that hold none; each costs Kibana two points of a line."""
    filled = {math.floor(reading.at_s / bucket_s) for reading in readings}
    return max(filled) - min(filled) + 1 - len(filled) if filled else 0


def _between(before: Reading, after: Reading, at_s: float) -> Reading:
    share = (at_s - before.at_s) / (after.at_s - before.at_s)
    first, last = before.elasticsearch, after.elasticsearch
    if any(getattr(last.primaries, name) < getattr(first.primaries, name) for name in ("index_total", "query_total")):
        return _read_at(at_s, first)  # restarted: what was counted in between is unknown
    primaries = _counters_between(first.primaries, last.primaries, share)
    total = _counters_between(first.total, last.total, share)
    return _read_at(at_s, first.model_copy(update={"primaries": primaries, "total": total}))


def _read_at(at_s: float, elasticsearch: ElasticsearchSample) -> Reading:
    """A sample as though it had been read at another instant."""
    return Reading(at_s, elasticsearch.model_copy(update={"read_s": at_s}))


def _counters_between(first: ShardCounters, last: ShardCounters, share: float) -> ShardCounters:
    after = last.model_dump()
    values = {
        name: round(value + share * (after[name] - value))
        for name, value in first.model_dump().items()
        if value is not None and after[name] is not None
    }
    return ShardCounters(**values)


# --- its documents --------------------------------------------------------------------------------------------------


def monitoring_documents(run: Run, readings: list[Reading], bucket_s: int) -> Iterator[Document]:
    """For each reading the cluster, all of its indices and the index under test; once, the shards of that index.

    They hold only what was sampled: for what is missing, such as disk space and uptime, Kibana shows 0.
    """
    for reading in readings:
        primaries, total = reading.elasticsearch.primaries, reading.elasticsearch.total
        all_indices = {"primaries": _work(primaries), "total": _work(total)}
        index = {"index": run.index, "primaries": _index_counters(primaries), "total": _index_counters(total)}
        for kind, source in (
            ("cluster_stats", _cluster(run, reading.elasticsearch)),
            ("indices_stats", {"indices_stats": {"_all": all_indices}}),
            ("index_stats", {"index_stats": index}),
        ):
            yield _document(run, reading.at_s, bucket_s, kind, source)
    if readings:
        # Kibana derives the index's status from its primary shards.
        for number in range((_shard_counts(run) or (0, 0))[0]):
            shard = {"index": run.index, "shard": number, "primary": True, "state": "STARTED", "node": NODE}
            source = {"state_uuid": run.run_id, "shard": shard}
            yield _document(run, readings[-1].at_s, bucket_s, "shards", source, str(number))


def _document(run: Run, at_s: float, bucket_s: int, kind: str, source: dict[str, Any], *parts: str) -> Document:
    common = {
        "cluster_uuid": CLUSTER_UUID,
        "timestamp": timestamp(at_s),
        "interval_ms": bucket_s * 1000,
        "source_node": {"uuid": NODE, "name": NODE},
        "type": kind,
    }
    return Document("-".join((run.profile, run.run_id, str(round(at_s * 1000)), kind, *parts)), common | source)


def _cluster(run: Run, elasticsearch: ElasticsearchSample) -> dict[str, Any]:
    """Its health is what Kibana cannot do without."""
    servers = run.environment.servers
    version = next((server.version for server in servers if server.name.startswith("elasticsearch")), None)
    shards = _shard_counts(run)
    unassigned = any(warning.kind is WarningKind.SHARDS_UNASSIGNED for warning in run.warnings)
    status = "yellow" if unassigned else "green"
    indices: dict[str, Any] = {
        "count": len(run.index.split(",")),
        "docs": {"count": elasticsearch.primaries.docs_count},
        "store": {"size_in_bytes": elasticsearch.total.store_size_bytes},
    }
    heaps = elasticsearch.nodes.values()
    nodes: dict[str, Any] = {
        "count": {"total": len(heaps)},
        "jvm": {
            "mem": {
                "heap_used_in_bytes": sum(node.heap_used_bytes for node in heaps),
                "heap_max_in_bytes": sum(node.heap_max_bytes for node in heaps),
            }
        },
    }
    return {
        "cluster_name": CLUSTER_NAME,
        "license": {"status": "active", "type": "basic"},
        "cluster_stats": {
            "indices": indices | ({"shards": {"total": sum(shards), "primaries": shards[0]}} if shards else {}),
            "nodes": nodes | ({"versions": [version]} if version else {}),
        },
        "cluster_state": {"status": status, "state_uuid": run.run_id, "master_node": NODE},
    } | ({"version": version} if version else {})


def _work(shards: ShardCounters) -> dict[str, dict[str, int]]:
    return {
        "indexing": {"index_total": shards.index_total, "index_time_in_millis": shards.index_time_ms},
        "search": {"query_total": shards.query_total, "query_time_in_millis": shards.query_time_ms},
    }


def _index_counters(shards: ShardCounters) -> dict[str, dict[str, int]]:
    work = _work(shards)
    return work | {
        "docs": {"count": shards.docs_count},
        "indexing": work["indexing"] | {"throttle_time_in_millis": shards.throttle_time_ms},
        "segments": {"count": shards.segments_count},
        "store": {"size_in_bytes": shards.store_size_bytes},
    }


def _shard_counts(run: Run) -> tuple[int, int] | None:
    """(primaries, replicas) of the indices under test, loaded; `None` where their settings were not recorded."""
    settings = run.environment.index_settings
    try:
        primaries = int(str(settings["index.number_of_shards"]))
        replicas = int(str(settings["index.number_of_replicas"]))
    except (KeyError, ValueError):
        return None
    primaries *= len(run.index.split(","))
    # An index is loaded without the replicas that a deployment gives it.
    return primaries, 0 if run.deployment else primaries * replicas
