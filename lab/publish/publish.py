"""Sends a recorded run to an Elasticsearch: Stack Monitoring documents, and its samples."""

from collections.abc import Iterable
from dataclasses import dataclass

import httpx

from lab.analysis.folder import RunFolder
from lab.errors import ProfileError
from lab.publish import monitoring, samples
from lab.publish.document import Document
from lab.publish.server import Server


@dataclass(frozen=True, slots=True)
class Publication:
    """Publication of a run: the documents sent, and Kibana's points from them.

    Attributes:
        documents: Index → documents.
        other_clusters: Because of these, Stack Monitoring documents were left out.
        buckets: Of Stack Monitoring's charts that the run covers.
        buckets_empty: Those of them without an answer of Elasticsearch; each costs Kibana two points of a line.
        first_s: The instant of the first sample.
        last_s: The instant of the last one.
    """

    documents: dict[str, int]
    other_clusters: tuple[str, ...]
    buckets: int
    buckets_empty: int
    first_s: float
    last_s: float


def publish(folder: RunFolder, server: Server, bucket_s: int, *, stack_monitoring: bool | None = None) -> Publication:
    """Send a run; sending it again changes nothing.

    Args:
        bucket_s: Size of a bucket of Stack Monitoring's charts.
        stack_monitoring: Whether to send documents for Stack Monitoring; `None`: unless that would lock another cluster
            out of it.

    Raises:
        ProfileError: Nothing of the run can be shown.
        StackError: The server does not answer, refuses, or would not let Kibana find the documents.
    """
    readings = monitoring.resampled(folder.samples, bucket_s)
    if not readings:
        raise ProfileError(
            f"{folder.path}: no sample of this run has figures of Elasticsearch; there is nothing to publish"
        )
    others = other_clusters(server) if stack_monitoring is None else ()
    if stack_monitoring is None:
        stack_monitoring = not others
    documents: dict[str, Iterable[Document]] = {samples.INDEX: samples.run_documents(folder.run, folder.samples)}
    prepare_samples(server)
    if stack_monitoring:
        documents[monitoring.INDEX] = monitoring.monitoring_documents(folder.run, readings, bucket_s)
        prepare_monitoring(server)
    sent = {index: server.send(index, batch) for index, batch in documents.items()}
    server.request("POST", f"/{','.join(sent)}/_refresh")
    empty = monitoring.empty_buckets(readings, bucket_s)
    return Publication(
        documents=sent,
        other_clusters=others,
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
    """Create the index of our own documents with its template.

    Raises:
        StackError: It exists, created without its template.
    """
    server.request("PUT", f"/_index_template/{samples.INDEX}", samples.TEMPLATE)
    server.prepare_index(samples.INDEX, {name: samples.FIELDS[name]["type"] for name in samples.SEARCHED})


def prepare_monitoring(server: Server) -> None:
    """Create the index of Stack Monitoring documents with the types that Kibana needs.

    Kibana finds nothing where `cluster_uuid` is no keyword, and says nothing about it. So the server's own template for
    monitoring documents serves where there is one, ours is installed where there is none, and the mapping is checked.

    Raises:
        StackError: The index exists, created without a template.
    """
    status, _ = server.request("GET", "/_template/.monitoring-es", accept=(404,))
    if status == httpx.codes.NOT_FOUND:
        server.request("PUT", f"/_index_template/{monitoring.TEMPLATE_NAME}", monitoring.TEMPLATE)
    types = {name: monitoring.FIELDS[name]["type"] for name in monitoring.SEARCHED}
    server.prepare_index(monitoring.INDEX, types)
