"""What Kibana asks of Elasticsearch and makes of the answer, as far as our tests need it.

Source: elastic/kibana, `monitoring` plugin: `get_series.ts`, `create_query.ts`, `metrics/classes/metric.ts`;
`vis_types/vega` plugin: `es_query_parser.ts`. Facts, in our own words; no line of theirs.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from lab.publish.dashboard import Panel
from tests.kibana_charts import Bucket, Work

OVERVIEW = "indices_stats._all"
INDEX_PAGE = "index_stats"

Search = Callable[[str, Mapping[str, Any]], Any]
"""Index pattern, body → the parsed answer."""


def series_query(
    part: str,
    cluster_uuid: str,
    window_ms: tuple[int, int],
    bucket_s: int,
    *,
    index: str | None,
    derivative: bool,
    work: Work = "indexing",
) -> dict[str, Any]:
    """The search behind both charts, of which Kibana makes one per metric.

    Args:
        part: `indices_stats._all.primaries`, `index_stats.total` …
        window_ms: First and last instant, as Kibana asks for a rate: from two buckets before what it draws.
        index: The index page adds it.
        derivative: Whether the server has that aggregation.
        work: Whose rate and latency.
    """
    counter = {"indexing": "index", "search": "query"}[work]
    documents, time_ms = f"{part}.{work}.{counter}_total", f"{part}.{work}.{counter}_time_in_millis"
    of_cluster: list[dict[str, Any]] = [
        {"term": {"cluster_uuid": cluster_uuid}},
        {"range": {"timestamp": {"format": "epoch_millis", "gte": window_ms[0], "lte": window_ms[1]}}},
    ]
    of_index = [{"term": {"index_stats.index": index}}] if index else []
    figures: dict[str, Any] = {"documents": {"max": {"field": documents}}, "time_ms": {"max": {"field": time_ms}}}
    grown = {
        f"{name}_grown": {"derivative": {"buckets_path": name, "gap_policy": "skip", "unit": "1s"}}
        for name in ("documents", "time_ms")
    }
    return {
        "size": 0,
        "query": {"bool": {"filter": [*of_cluster, *of_index]}},
        "aggs": {
            "points": {
                "date_histogram": {"field": "timestamp", "fixed_interval": f"{bucket_s}s"},
                "aggs": figures | (grown if derivative else {}),
            }
        },
    }


def drawn_series(
    search: Search,
    part: str,
    cluster_uuid: str,
    window_s: tuple[float, float],
    bucket_s: int,
    *,
    index: str | None = None,
    derivative: bool,
    work: Work = "indexing",
) -> list[Bucket]:
    """The points of both charts that Kibana draws for a window of time."""
    queried_ms = (round((window_s[0] - 2 * bucket_s) * 1000), round(window_s[1] * 1000))
    body = series_query(part, cluster_uuid, queried_ms, bucket_s, index=index, derivative=derivative, work=work)
    buckets = search(".monitoring-es-*", body)["aggregations"]["points"]["buckets"]
    points = [_by_derivative(bucket) for bucket in buckets] if derivative else _by_client(buckets, bucket_s)
    return [point for point in points if point.start_s >= window_s[0] and point.start_s + bucket_s <= window_s[1]]


def _by_derivative(bucket: Mapping[str, Any]) -> Bucket:
    """Kibana's own way: the server has taken the differences."""
    documents, time_ms = (bucket.get(f"{name}_grown", {}).get("normalized_value") for name in ("documents", "time_ms"))
    start_s = bucket["key"] // 1000
    rate = documents if documents is not None and not math.isnan(documents) and documents >= 0 else None
    if rate is None or time_ms is None or time_ms < 0:
        return Bucket(start_s, rate, None)
    return Bucket(start_s, rate, 0.0 if rate == 0 else time_ms / rate)


def _by_client(buckets: list[Mapping[str, Any]], bucket_s: int) -> list[Bucket]:
    """The same where the server cannot: differences of the two `max`."""
    points = []
    for before, after in zip([None, *buckets], buckets, strict=False):
        start_s = after["key"] // 1000
        pairs = [(before and before[name]["value"], after[name]["value"]) for name in ("documents", "time_ms")]
        (first, last), (first_ms, last_ms) = pairs
        if first is None or last is None or last < first:
            points.append(Bucket(start_s, None, None))
            continue
        grown, grown_ms = last - first, last_ms - first_ms
        latency = 0.0 if not grown else None if grown_ms < 0 else grown_ms / grown
        points.append(Bucket(start_s, grown / bucket_s, latency))
    return points


def panel_query(panel: Panel, *filters: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Index pattern and body of a panel's search, with the dashboard's filters where the panel asks for them."""
    url = panel.spec["data"]["url"]
    context = {"%dashboard_context-filter_clause%": list(filters)}
    return url["index"], _with_context(url["body"], context)


def _with_context(part: Any, context: Mapping[str, list[Any]]) -> Any:
    """The same with Kibana's keywords replaced; one that the dashboard has nothing for is left out."""
    if isinstance(part, dict):
        return {name: _with_context(value, context) for name, value in part.items()}
    if isinstance(part, list):
        return [
            filled
            for item in part
            for filled in (
                context.get(item, [])
                if isinstance(item, str) and item.startswith("%dashboard_context")
                else [_with_context(item, context)]
            )
        ]
    return part


def answered_spec(panel: Panel, answer: Any) -> dict[str, Any]:
    """The panel's specification as Kibana hands it to Vega: the search replaced by its answer, sized by Kibana."""
    source = panel.spec["data"]
    data = {"name": source["name"], "values": answer, "format": source["format"]}
    return {**panel.spec, "data": data, "width": 560, "height": 250, "autosize": {"type": "fit", "contains": "padding"}}
