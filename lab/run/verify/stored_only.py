"""Documents of an index with a value that is stored without being indexed, as the servers list them in `_ignored`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lab.clients.elasticsearch import ElasticsearchClient
from lab.records.verification import StoredOnly

BAD_REQUEST: Final = 400
MOST_FIELDS: Final = 10_000
WHERE: Final = {"size": 0, "track_total_hits": True, "query": {"exists": {"field": "_ignored"}}}


def stored_only(cluster: ElasticsearchClient, index: str) -> StoredOnly:
    """Number of such documents in an index, nested objects not counted, and of them by field.

    `_ignored` has doc values in indices of Elasticsearch 8.15 and later (`DOC_VALUES_FOR_IGNORED_META_FIELD` of its
    `IndexVersions`). In older ones, and in OpenSearch's `IgnoredFieldMapper`, it has only terms, and an aggregation of
    it is a bad request: each field of the mapping is then asked for by itself.

    Raises:
        StackError: The servers do not answer, or the index is closed.
    """
    path = f"/{index}/_search?allow_partial_search_results=false"
    terms = {"fields": {"terms": {"field": "_ignored", "size": MOST_FIELDS}}}
    status, answer = cluster.request("POST", path, {**WHERE, "aggs": terms}, accept=(BAD_REQUEST,))
    if status != BAD_REQUEST:
        counts = {each["key"]: int(each["doc_count"]) for each in answer["aggregations"]["fields"]["buckets"]}
    else:
        mappings = (mapping for _, mapping in cluster.described(index))
        names = {name for mapping in mappings for name in names_of(mapping.get("properties", {}))}
        filters = {name: {"term": {"_ignored": name}} for name in sorted(names)}
        by_field = {"fields": {"filters": {"filters": filters}}} if filters else {}
        _, answer = cluster.request("POST", path, {**WHERE, "aggs": by_field})
        buckets = answer["aggregations"]["fields"]["buckets"] if filters else {}
        counts = {name: int(of["doc_count"]) for name, of in buckets.items()}
    most_first = sorted(((count, name) for name, count in counts.items() if count), key=lambda of: (-of[0], of[1]))
    return StoredOnly(
        documents=int(answer["hits"]["total"]["value"]), fields={name: count for count, name in most_first}
    )


def names_of(properties: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Dotted name of every field of a mapping, those of objects and the further ones of a field among them."""
    for name, of in properties.items():
        yield f"{prefix}{name}"
        for below in ("properties", "fields"):
            yield from names_of(of.get(below, {}), f"{prefix}{name}.")
