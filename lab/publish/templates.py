"""What Elasticsearch is to make of the documents: the templates of the two indices."""

from typing import Any

from lab.publish import monitoring, samples

KEYWORD, DATE, LONG, DOUBLE, TEXT = ({"type": kind} for kind in ("keyword", "date", "long", "double", "text"))


def _object(**fields: Any) -> dict[str, Any]:
    return {"properties": fields}


def _counted(*names: str) -> dict[str, Any]:
    return {"properties": dict.fromkeys(names, LONG)}


INDEXING = _counted("index_total", "index_time_in_millis", "throttle_time_in_millis")
SEARCH = _counted("query_total", "query_time_in_millis")
INDEX_PART = _object(
    docs=_counted("count"),
    indexing=INDEXING,
    search=SEARCH,
    segments=_counted("count"),
    store=_counted("size_in_bytes"),
)
SUMMARY_PART = _object(indexing=INDEXING, search=SEARCH)

MONITORING_FIELDS: dict[str, Any] = {
    # A field that Kibana filters, sorts or aggregates by must have this type; the others need not be indexed.
    "cluster_uuid": KEYWORD,
    "timestamp": {"type": "date", "format": "date_time"},
    "interval_ms": LONG,
    "type": KEYWORD,
    "state_uuid": KEYWORD,
    "cluster_name": KEYWORD,
    "version": KEYWORD,
    "source_node": _object(uuid=KEYWORD, name=KEYWORD),
    "cluster_state": _object(status=KEYWORD, state_uuid=KEYWORD, master_node=KEYWORD),
    "indices_stats": _object(_all=_object(primaries=SUMMARY_PART, total=SUMMARY_PART)),
    "index_stats": _object(index=KEYWORD, primaries=INDEX_PART, total=INDEX_PART),
    "shard": _object(index=KEYWORD, shard=LONG, primary={"type": "boolean"}, state=KEYWORD, node=KEYWORD),
}

SAMPLE_FIELDS: dict[str, Any] = {
    "@timestamp": DATE,
    "kind": KEYWORD,
    "run": _object(
        id=KEYWORD,
        name=KEYWORD,
        profile=KEYWORD,
        started=DATE,
        verified={"type": "boolean"},
        cpu_cores=LONG,
        target=KEYWORD,
    ),
    "since_load_s": DOUBLE,
    "phase": KEYWORD,
    "process": KEYWORD,
    "latency": KEYWORD,
    "connector_state": KEYWORD,
    "sources_lost": KEYWORD,
    **dict.fromkeys(
        (
            "indexing_rate_docs_per_s_primaries",
            "indexing_rate_docs_per_s_total",
            "indexing_latency_ms_primaries",
            "indexing_latency_ms_total",
            "machine_cpu_percent",
            "cpu_cores",
            "one_in",
            "latency_ms",
        ),
        DOUBLE,
    ),
    **dict.fromkeys(
        (
            "documents_indexed",
            "store_size_bytes",
            "segments_count",
            "merges_current",
            "records_in_topic",
            "lag_records",
            "tasks_running",
            "tasks_failed",
            "bulk_requests_in_flight",
            "rss_bytes",
        ),
        LONG,
    ),
}


def template(index: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The template of an index: one shard, a copy where there is a second node, no field that is not listed."""
    return {
        "index_patterns": [index],
        "priority": 250,
        "template": {
            "settings": {"index.number_of_shards": 1, "index.auto_expand_replicas": "0-1"},
            "mappings": {"dynamic": False, "properties": fields},
        },
        "_meta": {"made_by": "sluice"},
    }


SAMPLES = template(samples.INDEX, SAMPLE_FIELDS)
MONITORING = template(monitoring.INDEX, MONITORING_FIELDS)
