"""Sends a recorded run to an Elasticsearch: Stack Monitoring documents, and its samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from lab.analysis.figures.stack_monitoring import Counted, gaps
from lab.analysis.folder import RunFolder
from lab.errors import ProfileError, StackError
from lab.publish import monitoring, samples, templates
from lab.publish.resample import resampled
from lab.publish.server import Server


@dataclass(frozen=True, slots=True)
class Published:
    """What was written, and what is to be known of it.

    Attributes:
        documents: Index → documents.
        other_clusters: Those for whose sake Stack Monitoring documents were left out.
        buckets: Of Stack Monitoring's charts that the run covers.
        buckets_empty: Those of them without an answer of Elasticsearch; each costs Kibana two points of a line.
        first_s: The instant of the first sample.
        last_s: The instant of the last one.
    """

    documents: dict[str, int]
    other_clusters: tuple[str, ...]
    bucket_s: int
    buckets: int
    buckets_empty: int
    first_s: float
    last_s: float


def publish(folder: RunFolder, server: Server, bucket_s: int, *, stack_monitoring: bool | None = None) -> Published:
    """Send a run; sending it again changes nothing.

    Args:
        bucket_s: Size of a bucket of Stack Monitoring's charts.
        stack_monitoring: Whether to send documents for Stack Monitoring; `None`: unless that would lock another cluster
            out of it.

    Raises:
        ProfileError: Nothing of the run can be shown.
        StackError: The server does not answer, refuses, or would not let Kibana find the documents.
    """
    readings = resampled(folder.samples, bucket_s)
    if not readings:
        raise ProfileError(
            f"{folder.path}: holds no sample that Elasticsearch answered, so that there is nothing to show"
        )
    others = other_clusters(server) if stack_monitoring is None else ()
    documents = {samples.INDEX: samples.run_documents(folder.run, folder.samples)}
    prepare_samples(server)
    if not others if stack_monitoring is None else stack_monitoring:
        documents[monitoring.INDEX] = monitoring.monitoring_documents(folder.run, readings, bucket_s)
        prepare_monitoring(server)
    sent = {index: server.send(index, made) for index, made in documents.items()}
    server.request("POST", f"/{','.join(sent)}/_refresh")
    counted = [Counted(reading.at_s, reading.elasticsearch.primaries.index_total, 0) for reading in readings]
    empty = gaps(counted, bucket_s)
    return Published(
        documents=sent,
        other_clusters=others,
        bucket_s=bucket_s,
        buckets=len(readings) + empty,
        buckets_empty=empty,
        first_s=readings[0].at_s,
        last_s=readings[-1].at_s,
    )


def other_clusters(server: Server) -> tuple[str, ...]:
    """The clusters beside our recordings whose monitoring documents the server holds.

    With a basic licence Kibana opens one cluster; of several in its window of time it opens none but its own.
    """
    ours = {"term": {"cluster_uuid": monitoring.CLUSTER_UUID}}
    body = {
        "size": 0,
        "query": {"bool": {"must_not": [ours]}},
        "aggs": {"clusters": {"terms": {"field": "cluster_uuid"}}},
    }
    path = "/.monitoring-es-*/_search?ignore_unavailable=true&allow_no_indices=true&expand_wildcards=all"
    status, answer = server.request("POST", path, body, accept=(400,))
    if status != httpx.codes.OK or "aggregations" not in answer:
        return ()  # no such index, or none in which Kibana could tell clusters apart
    return tuple(bucket["key"] for bucket in answer["aggregations"]["clusters"]["buckets"])


def prepare_samples(server: Server) -> None:
    """Have the index of our own documents read them as they are meant.

    Raises:
        StackError: It was made without its template.
    """
    server.request("PUT", f"/_index_template/{samples.INDEX}", templates.SAMPLES)
    prepare_index(server, samples.INDEX)


def prepare_monitoring(server: Server) -> None:
    """Have the index of Stack Monitoring documents read them as Kibana means them.

    Kibana finds nothing where `cluster_uuid` is no keyword, and says nothing about it. So the server's own template for
    monitoring documents serves where there is one, ours is installed where there is none, and what came of it is read.

    Raises:
        StackError: The index was made without a template.
    """
    status, _ = server.request("GET", "/_template/.monitoring-es", accept=(404,))
    if status == httpx.codes.NOT_FOUND:
        server.request("PUT", f"/_index_template/{monitoring.TEMPLATE}", templates.MONITORING)
    prepare_index(server, monitoring.INDEX)


def prepare_index(server: Server, index: str) -> None:
    """Make an index that is not there yet, and have its fields be what is asked for.

    Raises:
        StackError: It was made without its template.
    """
    server.request("PUT", f"/{index}", accept=(400,))  # it may be there already
    check_fields(server, index, FIELDS[index])


FIELDS = {
    samples.INDEX: {"run.name": "keyword", "kind": "keyword", "run.started": "date", "since_load_s": "double"},
    monitoring.INDEX: {
        "cluster_uuid": "keyword",
        "timestamp": "date",
        "index_stats.index": "keyword",
        "indices_stats._all.primaries.indexing.index_total": "long",
    },
}
"""Index → the fields that Kibana filters, sorts or counts by, and what they must be."""


def check_fields(server: Server, index: str, fields: Mapping[str, str]) -> None:
    """Refuse an index in which Kibana would find nothing.

    Raises:
        StackError: A field is of another type.
    """
    _, answer = server.request("GET", f"/{index}/_mapping")
    mapping = next(iter(answer.values()))["mappings"]
    for name, expected in fields.items():
        found = field_type(mapping, name)
        if found != expected:
            raise StackError(
                f"{server.url}: {index}: {name}: got {found or 'no such field'}, expected {expected}; the index was "
                "made without its template, so that Kibana would find nothing in it: delete it and publish again"
            )


def field_type(mapping: Mapping[str, Any], name: str) -> str | None:
    """The type of a field; `None` where the mapping does not have it."""
    node: Mapping[str, Any] = mapping
    for part in name.split("."):
        node = node.get("properties", {}).get(part, {})
    return node.get("type")
