"""Readings of a pipeline, one every two seconds: offsets, the counters of each shard copy and node, the sink's ledger.

Each part that cannot be read is left out and has its reason; the others are read all the same.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import httpx
from confluent_kafka import KafkaException

from lab.clients.elasticsearch import ElasticsearchClient, error_reason
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.inspect.connector import InspectedConnector
from lab.monitor.kafka import KafkaReader
from lab.monitor.sink import SinkReader
from lab.records.samples import KafkaSample, SinkSample

EVERY_S = 2.0
"""Between two readings: two small requests to Elasticsearch, two or three to Kafka, one to each JMX agent."""
TIMEOUT_S = 10.0
MOST_NAMES_BYTES = 3000
"""Of names in one request."""
LONGEST_NAMES = 200
"""Characters of names in a message."""
MOST_FAILURES = 3
"""A source that failed so often is asked no more: each of its timeouts would delay the others."""

NOT_READ = (StackError, KafkaException, httpx.HTTPError, LookupError, ValueError, TypeError, AttributeError)
"""Errors of one source; the last four also of an answer that has another form than the server's."""

COPY = {
    "index_total": "indexing.index_total",
    "index_time_ms": "indexing.index_time_in_millis",
    "throttle_time_ms": "indexing.throttle_time_in_millis",
    "bulks": "bulk.total_operations",
    "bulk_time_ms": "bulk.total_time_in_millis",
    "bulk_bytes": "bulk.total_size_in_bytes",
    "refresh_time_ms": "refresh.total_time_in_millis",
    "merge_time_ms": "merges.total_time_in_millis",
}
"""Counters of one copy of a shard → path in its `_stats`."""
NODE = {
    "cpu_percent": "os.cpu.percent",
    "process_cpu_percent": "process.cpu.percent",
    "process_cpu_ms": "process.cpu.total_in_millis",
    "write_threads": "thread_pool.write.threads",
    "write_active": "thread_pool.write.active",
    "write_queue": "thread_pool.write.queue",
    "write_rejected": "thread_pool.write.rejected",
    "uptime_ms": "jvm.uptime_in_millis",
    "disk_time_ms": "fs.io_stats.total.io_time_in_millis",
}
"""Gauges and counters of one node → path in `_nodes/stats`."""
METRICS = ("indexing", "bulk", "refresh", "merge")


class Copy(NamedTuple):
    """One copy of a shard: `index/number`, the id of its node, and its counters."""

    shard: str
    node: str
    is_primary: bool
    counters: Mapping[str, int]


class Node(NamedTuple):
    """One node; `ingest` holds documents and milliseconds by ingest pipeline, which need not be a data node."""

    name: str
    host: str
    roles: Sequence[str]
    figures: Mapping[str, int]
    ingest: Mapping[str, tuple[int, int]]

    @property
    def has_data(self) -> bool:
        """Check that shards may lie on it."""
        return any(role.startswith("data") for role in self.roles)


@dataclass(frozen=True)
class Reading:
    """A pipeline at one instant.

    Attributes:
        at_s: Of the clock of this process, half-way between the request for the shards and its answer.
        lost: Source → why it could not be read.
    """

    at_s: float
    kafka: KafkaSample | None = None
    dead_letters: int | None = None
    copies: tuple[Copy, ...] | None = None
    nodes: Mapping[str, Node] | None = None
    sink: SinkSample | None = None
    lost: Mapping[str, str] = field(default_factory=dict)


class PipelineReader:
    """Reads the pipeline of one connector; close it.

    Args:
        cluster: `None` where it does not answer.
        indices: Comma-separated names or patterns.
        pipelines: Ingest pipelines that documents pass.
        has_bulk_stats: False of OpenSearch, whose `_stats` have no part `bulk`.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        connector: InspectedConnector,
        cluster: ElasticsearchClient | None,
        *,
        indices: str,
        pipelines: Sequence[str] = (),
        has_bulk_stats: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._failures: dict[str, list[str]] = defaultdict(list)
        self._indices = indices
        metrics = ",".join(metric for metric in METRICS if has_bulk_stats or metric != "bulk")
        shown = ("routing.primary", "routing.node", *COPY.values())
        self._shards_paths = [
            f"/{part}/_stats/{metrics}?level=shards&ignore_unavailable=true&filter_path="
            f"_shards.failed,{','.join(f'indices.*.shards.*.{path}' for path in shown)}"
            for part in parts_of(indices)
        ]
        ingest = (f"ingest.pipelines.{name}.{figure}" for name in pipelines for figure in ("count", "time_in_millis"))
        self._nodes_path = (
            f"/_nodes/stats/os,process,jvm,thread_pool,fs,ingest?filter_path="
            f"{','.join(f'nodes.*.{path}' for path in ('name', 'host', 'roles', *NODE.values(), *ingest))}"
        )
        access = endpoints.access
        names, letters = ",".join(connector.topics), connector.dead_letters

        def offsets_of(topic: str | None) -> KafkaReader | None:
            group, brokers = connector.group, endpoints.kafka_bootstrap
            return KafkaReader(brokers, topic, group, timeout_s=TIMEOUT_S, client=access.kafka) if topic else None

        self._kafka, self._letters = offsets_of(names), offsets_of(letters)
        metrics_url = endpoints.metrics_url
        self._sink = (
            SinkReader(metrics_url, connector.name, timeout_s=TIMEOUT_S, access=access.metrics) if metrics_url else None
        )

    def read(self) -> Reading:
        """The pipeline at this instant."""
        lost: dict[str, str] = {}

        def tried(source: str, read: Callable[[], Any] | None) -> Any:
            failures = self._failures[source]
            if len(failures) < MOST_FAILURES:
                try:
                    return read() if read else None
                except NOT_READ as error:
                    failures.append(reason_of(error))
            lost[source] = failures[-1]
            return None

        before_s = self._clock()
        copies = tried("shards", self._copies if self._cluster else None)
        at_s = (before_s + self._clock()) / 2
        return Reading(
            at_s=at_s,
            copies=copies,
            nodes=tried("nodes", self._nodes if self._cluster else None),
            kafka=tried("topics", self._kafka.read if self._kafka else None),
            dead_letters=tried("dead letters", self._end_of_letters if self._letters else None),
            sink=tried("sink metrics", self._sink.read if self._sink else None),
            lost=lost,
        )

    def _end_of_letters(self) -> int:
        assert self._letters is not None  # noqa: S101 - asked only where it is there
        return sum(self._letters.end_offsets().values())

    def _copies(self) -> tuple[Copy, ...]:
        indices: dict[str, Any] = {}
        for path in self._shards_paths:
            answer = answer_of(self._cluster, path)
            if failed := answer.get("_shards", {}).get("failed"):
                raise LookupError(f"{failed} shards did not answer")
            indices |= answer.get("indices", {})
        if not indices:
            raise LookupError(f"the cluster has no index {self._indices[:LONGEST_NAMES]}")
        return tuple(
            Copy(f"{index}/{number}", copy["routing"]["node"], copy["routing"]["primary"], figures_at(copy, COPY))
            for index, stats in indices.items()
            for number, copies in stats["shards"].items()
            for copy in copies
        )

    def _nodes(self) -> dict[str, Node]:
        nodes = answer_of(self._cluster, self._nodes_path).get("nodes", {})
        return {
            key: Node(
                stats.get("name", key),
                stats.get("host", key),
                stats.get("roles", ()),
                figures_at(stats, NODE),
                {
                    name: (of["count"], of["time_in_millis"])
                    for name, of in stats.get("ingest", {}).get("pipelines", {}).items()
                },
            )
            for key, stats in nodes.items()
        }

    def close(self) -> None:
        """Close the connections."""
        for reader in (self._kafka, self._letters):
            if reader:
                reader.close()
        if self._sink:
            self._sink.close()


def parts_of(indices: str) -> list[str]:
    """Comma-separated names in parts that fit into a request.

    Source: `http.max_initial_line_length` of Elasticsearch, 4 kB, of which the rest of a request has less than 1 kB.
    """
    parts: list[str] = []
    for name in indices.split(","):
        if parts and len(parts[-1]) + len(name) < MOST_NAMES_BYTES:
            parts[-1] += f",{name}"
        else:
            parts.append(name)
    return parts


def answer_of(cluster: ElasticsearchClient | None, path: str) -> dict[str, Any]:
    """Answer of Elasticsearch to a GET.

    Raises:
        LookupError: It refuses, as where the user lacks a privilege or there is no such index.
        StackError: No node answers.
    """
    assert cluster is not None  # noqa: S101 - asked only where it answers
    status, answer = cluster.request("GET", path, accept=(400, 401, 403, 404, 405))
    if status >= 400:
        raise LookupError(f"status {status}: {error_reason(answer)[:200]}")
    if isinstance(answer or {}, dict):
        return dict(answer or {})
    raise LookupError("got no JSON object; a proxy may serve its own page")


def reason_of(error: Exception) -> str:
    """Why a source could not be read."""
    if isinstance(error, KafkaException):
        return str(error.args[0].str())
    if isinstance(error, StackError | httpx.HTTPError) or type(error) is LookupError:
        return str(error)
    return "its answer has another form than expected; a proxy may serve its own page"


def figures_at(stats: Any, paths: Mapping[str, str]) -> dict[str, int]:
    """The numbers at these paths; those that are not there, or negative for not known, are left out."""
    found = {}
    for name, path in paths.items():
        value = stats
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, int) and value >= 0:
            found[name] = value
    return found


def watch(
    reader: PipelineReader,
    seconds: float,
    *,
    most_s: float,
    is_enough: Callable[[Sequence[Reading]], bool],
    sleep: Callable[[float], None] = time.sleep,
) -> list[Reading]:
    """Readings for so many seconds, and on until they are enough, for `most_s` in all."""
    readings = [reader.read()]
    began_s = due_s = readings[0].at_s
    while True:
        due_s += EVERY_S
        sleep(max(0.0, due_s - time.monotonic()))
        readings.append(reader.read())
        lasted_s = readings[-1].at_s - began_s
        if lasted_s >= most_s or (lasted_s >= seconds and is_enough(readings)):
            return readings
