"""Sends a recorded run to an Elasticsearch: Stack Monitoring documents, and its samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.analysis.folder import RunFolder
from lab.analysis.stack_monitoring import Counted, gaps
from lab.errors import ProfileError, StackError
from lab.publish import monitoring, samples, templates
from lab.publish.resample import resampled
from lab.publish.server import Server


@dataclass(frozen=True, slots=True)
class Published:
    """What was written, and what is to be known of it.

    Attributes:
        documents: Index → documents.
        buckets: Of Stack Monitoring's charts that the run covers.
        buckets_empty: Those of them without an answer of Elasticsearch; each costs Kibana two points of a line.
        first_s: The instant of the first sample.
        last_s: The instant of the last one.
    """

    documents: dict[str, int]
    bucket_s: int
    buckets: int
    buckets_empty: int
    first_s: float
    last_s: float


def publish(folder: RunFolder, server: Server, bucket_s: int) -> Published:
    """Send a run; sending it again changes nothing.

    Args:
        bucket_s: Size of a bucket of Stack Monitoring's charts.

    Raises:
        ProfileError: Nothing of the run can be shown.
        StackError: The server does not answer, refuses, or would not let Kibana find the documents.
    """
    readings = resampled(folder.samples, bucket_s)
    if not readings:
        raise ProfileError(
            f"{folder.path}: holds no sample that Elasticsearch answered, so that there is nothing to show"
        )
    prepare(server)
    sent = {
        samples.INDEX: server.send(samples.INDEX, samples.sample_documents(folder.run, folder.samples)),
        monitoring.INDEX: server.send(
            monitoring.INDEX, monitoring.monitoring_documents(folder.run, readings, bucket_s)
        ),
    }
    server.request("POST", f"/{samples.INDEX},{monitoring.INDEX}/_refresh")
    empty = gaps(
        [Counted(reading.at_s, reading.elasticsearch.primaries.index_total, 0) for reading in readings], bucket_s
    )
    return Published(
        documents=sent,
        bucket_s=bucket_s,
        buckets=len(readings) + empty,
        buckets_empty=empty,
        first_s=readings[0].at_s,
        last_s=readings[-1].at_s,
    )


def prepare(server: Server) -> None:
    """Have both indices read the documents as they are meant.

    Kibana finds nothing where `cluster_uuid` is no keyword, and says nothing about it. So the server's own template for
    monitoring documents serves where there is one, ours is installed where there is none, and what came of it is read.

    Raises:
        StackError: An index was made without a template.
    """
    server.request("PUT", f"/_index_template/{samples.INDEX}", templates.SAMPLES)
    status, _ = server.request("GET", "/_template/.monitoring-es", accept=(404,))
    if status == 404:
        server.request("PUT", f"/_index_template/{monitoring.TEMPLATE}", templates.MONITORING)
    for index, fields in FIELDS.items():
        server.request("PUT", f"/{index}", accept=(400,))  # it may be there already
        check_fields(server, index, fields)


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
