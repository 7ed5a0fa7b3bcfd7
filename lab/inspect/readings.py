"""Readings of a pipeline, one every two seconds: offsets, the counters of each shard copy and node, the sink's ledger.

Each part that cannot be read is left out and has its reason; the others are read all the same.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import httpx
from confluent_kafka import KafkaException

from lab.clients.elasticsearch import ElasticsearchClient, error_reason
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.inspect.connector import InspectedConnector
from lab.monitor.elasticsearch import NODE_FIELDS, SHARD_FIELDS
from lab.monitor.kafka import KafkaReader
from lab.monitor.sink import SinkReader
from lab.records.samples import KafkaSample, SinkSample

Value = TypeVar("Value")
EVERY_S = 2.0
"""Between two readings: two small requests to Elasticsearch, two or three to Kafka, two to each JMX agent."""
TIMEOUT_S = 10.0
MOST_NAMES_BYTES = 3000
"""Of names in one request."""
LONGEST_NAMES = 200
"""Characters of names in a message."""
MOST_FAILING_S = 30.0
"""A source that has kept the others waiting for so long, without one answer in between, is asked no more."""

NOT_READ = (StackError, KafkaException, httpx.HTTPError, LookupError, ValueError, TypeError, AttributeError)
"""Errors of one source; the last four also of an answer that has another form than the server's."""

INDEXING = ("index_total", "index_time_ms", "throttle_time_ms", "refresh_time_ms")
MERGES = ("merges_current", "merges_time_ms", "merges_throttled_time_ms")
COPY = {name: SHARD_FIELDS[name] for name in (*INDEXING, *MERGES)} | {
    "merges_stopped_time_ms": "merges.total_stopped_time_in_millis",
    "bulks": "bulk.total_operations",
    "bulk_time_ms": "bulk.total_time_in_millis",
    "bulk_bytes": "bulk.total_size_in_bytes",
}
"""Figures of one copy of a shard → path in its `_stats`, the same in Elasticsearch 7.17 to 9.5 and OpenSearch 2 and 3.

Source: `toXContent` of `IndexingStats`, `BulkStats`, `RefreshStats` and `MergeStats`. A merge counts when it ends
(`afterMerge`), with the time in which it was slowed down (*throttled*) or stopped.
"""
WRITE = ("write_threads", "write_active", "write_queue", "write_rejected")
NODE = {name: NODE_FIELDS[name] for name in WRITE} | {
    "cpu_percent": "os.cpu.percent",
    "process_cpu_percent": "process.cpu.percent",
    "process_cpu_ms": "process.cpu.total_in_millis",
    "coordinating_rejected": "indexing_pressure.memory.total.coordinating_rejections",
    "primary_rejected": "indexing_pressure.memory.total.primary_rejections",
    "uptime_ms": "jvm.uptime_in_millis",
    "disk_time_ms": "fs.io_stats.total.io_time_in_millis",
}
"""Figures of one node → path in `_nodes/stats`. The disk's is a sum over all devices (`FsInfo.IoStats`).

A request is rejected with 429 by a full write queue, or before by `IndexingPressure`, which bounds memory.
"""
REJECTED = ("write_rejected", "coordinating_rejected", "primary_rejected")
PASSED, TOOK = (0, "count"), (0, "time_in_millis")
"""Documents of an ingest pipeline, and their time in it. Source: `IngestStats.toXContent` of 7.17 to 9.5."""
INGEST = (PASSED[1], TOOK[1], f"processors.*.stats.{TOOK[1]}")
"""Paths below an ingest pipeline of `_nodes/stats`."""
GAUGES = ("cpu_percent", "process_cpu_percent", "write_threads", "write_active", "write_queue", "merges_current")
"""Figures that go up and down; all others only grow, until their server begins to count again."""


class Copy(NamedTuple):
    """One copy of a shard: `index/number`, the id of its node, and its figures."""

    shard: str
    node: str
    is_primary: bool
    counters: Mapping[str, int]


class Node(NamedTuple):
    """One node, which need not be a data node.

    Attributes:
        ingest: Of the watched ingest pipelines, by pipeline, place and name. `PASSED` and `TOOK` are of a whole
            pipeline; times of its processors have their places from 1 on and their names, `type:tag` or `type`.
    """

    name: str
    host: str
    roles: Sequence[str]
    figures: Mapping[str, int]
    ingest: Mapping[tuple[str, int, str], int]
    disks: int = 1

    @property
    def tiers(self) -> set[str]:
        """Roles by which shards may lie on it, such as `data_hot`."""
        return {role for role in self.roles if role.startswith("data")}


@dataclass(frozen=True)
class Reading:
    """A pipeline at one instant; `at_s` is half-way between the request for the shards and its answer."""

    at_s: float
    kafka: KafkaSample | None = None
    dead_letters: int | None = None
    copies: tuple[Copy, ...] | None = None
    nodes: Mapping[str, Node] | None = None
    sink: SinkSample | None = None


class PipelineReader:
    """Reads the pipeline of one connector; close it.

    Args:
        cluster: `None` where it does not answer.
        indices: Comma-separated names or patterns.
        pipelines: Ingest pipelines that documents pass.
        has_bulk_stats: False of OpenSearch, whose `_stats` have no part `bulk`.

    Attributes:
        lost: Source → why it could not be read the last time.
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
        self.lost: dict[str, str] = {}
        self._clock = clock
        self._failing_s: dict[str, float] = defaultdict(float)
        self._sources: dict[str, Callable[[], Any]] = {}
        self._open = ExitStack()

        def offsets_of(topic: str) -> KafkaReader:
            brokers, client = endpoints.kafka_bootstrap, endpoints.access.kafka
            reader = KafkaReader(brokers, topic, connector.group, timeout_s=TIMEOUT_S, client=client)
            return self._open.enter_context(closing(reader))

        if cluster:
            metrics = "indexing,bulk,refresh,merge" if has_bulk_stats else "indexing,refresh,merge"
            self._sources["shards"] = lambda: read_copies(cluster, indices, metrics)
            self._sources["nodes"] = lambda: read_nodes(cluster, pipelines)
        if connector.topics:
            self._sources["topics"] = offsets_of(",".join(connector.topics)).read
        if connector.dead_letters:
            letters = offsets_of(connector.dead_letters)
            self._sources["dead letters"] = lambda: sum(letters.end_offsets().values())
        if url := endpoints.metrics_url:
            sink = SinkReader(url, connector.name, timeout_s=TIMEOUT_S, access=endpoints.access.metrics)
            self._sources["sink metrics"] = self._open.enter_context(closing(sink)).read

    def read(self) -> Reading:
        """The pipeline at this instant."""
        before_s = self._clock()
        copies = self._tried("shards")
        return Reading(
            at_s=(before_s + self._clock()) / 2,
            copies=copies,
            nodes=self._tried("nodes"),
            kafka=self._tried("topics"),
            dead_letters=self._tried("dead letters"),
            sink=self._tried("sink metrics"),
        )

    def _tried(self, source: str) -> Any:
        """A source's part of a reading; `None` where there is no such source, or it cannot be read."""
        if source not in self._sources or self._failing_s[source] >= MOST_FAILING_S:
            return None
        before_s = self._clock()
        value = tried(source, self.lost, self._sources[source])
        if source in self.lost:
            self._failing_s[source] += self._clock() - before_s
        else:
            self._failing_s[source] = 0.0
        return value

    def close(self) -> None:
        """Close the connections."""
        self._open.close()


def tried(source: str, lost: dict[str, str], read: Callable[[], Value]) -> Value | None:
    """A value of a source; `None`, and the reason among the lost, where it cannot be read."""
    try:
        value = read()
    except NOT_READ as error:
        lost[source] = reason_of(error)
        return None
    lost.pop(source, None)
    return value


def read_copies(cluster: ElasticsearchClient, indices: str, metrics: str) -> tuple[Copy, ...]:
    """Each copy of a shard of these indices.

    Raises:
        LookupError: There is no such index, or a shard does not answer.
    """
    shown = ",".join(f"indices.*.shards.*.{path}" for path in ("routing.primary", "routing.node", *COPY.values()))
    options = f"level=shards&ignore_unavailable=true&filter_path=_shards.failed,{shown}"
    found: dict[str, Any] = {}
    for part in parts_of(indices):
        # The next reading asks again. An answer that comes late would be of another instant than the reading's.
        answer = answer_of(cluster, f"/{part}/_stats/{metrics}?{options}", patience_s=0)
        if failed := answer.get("_shards", {}).get("failed"):
            raise LookupError(f"{failed} shards did not answer")
        found |= answer.get("indices", {})
    if not found:
        raise LookupError(f"the cluster has no index {indices[:LONGEST_NAMES]}")
    return tuple(
        Copy(f"{index}/{number}", copy["routing"]["node"], copy["routing"]["primary"], figures_at(copy, COPY))
        for index, stats in found.items()
        for number, copies in stats["shards"].items()
        for copy in copies
    )


def read_nodes(cluster: ElasticsearchClient, pipelines: Sequence[str]) -> dict[str, Node]:
    """Each node by its id, with these ingest pipelines."""
    # A dot of a name ends a step of the filter, unless it is escaped (`FilterPath.insertNode`).
    names = [name.replace(".", r"\.") for name in pipelines]
    ingest = (f"ingest.pipelines.{name}.{figure}" for name in names for figure in INGEST)
    paths = ("name", "host", "roles", "fs.io_stats.devices.device_name", *NODE.values(), *ingest)
    shown = ",".join(f"nodes.*.{path}" for path in paths)
    path = f"/_nodes/stats/os,process,jvm,thread_pool,fs,ingest,indexing_pressure?filter_path={shown}"
    return {
        key: Node(
            stats.get("name", key),
            stats.get("host", key),
            stats.get("roles", ()),
            figures_at(stats, NODE),
            ingest_of(stats.get("ingest", {}).get("pipelines", {})),
            len(stats.get("fs", {}).get("io_stats", {}).get("devices", ())),
        )
        for key, stats in answer_of(cluster, path, patience_s=0).get("nodes", {}).items()
    }


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


def answer_of(cluster: ElasticsearchClient, path: str, patience_s: float | None = None) -> dict[str, Any]:
    """Answer of Elasticsearch to a GET.

    Args:
        patience_s: How long to ask again; `None` for as long as the client does.

    Raises:
        LookupError: It refuses, as where the user lacks a privilege or there is no such index.
        StackError: No node answers.
    """
    status, answer = cluster.request("GET", path, accept=(400, 401, 403, 404, 405), patience_s=patience_s)
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


def ingest_of(pipelines: Mapping[str, Any]) -> dict[tuple[str, int, str], int]:
    """Ingest pipelines of `_nodes/stats`; each processor is an object with its name as the only key."""
    found = {(name, *figure): stats[figure[1]] for name, stats in pipelines.items() for figure in (PASSED, TOOK)}
    for name, stats in pipelines.items():
        for place, each in enumerate(stats.get("processors", ()), 1):
            found |= {(name, place, processor): of["stats"][TOOK[1]] for processor, of in each.items()}
    return found


def watch(
    reader: PipelineReader,
    seconds: float,
    *,
    most_s: float,
    is_enough: Callable[[Sequence[Reading]], bool],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> list[Reading]:
    """Readings for so many seconds, and on until they are enough, for `most_s` in all."""
    readings = [reader.read()]
    began_s = due_s = readings[0].at_s
    while True:
        # After a reading that took long, as of a cluster that is away, none is made up for.
        due_s = max(due_s, readings[-1].at_s) + EVERY_S
        sleep(max(0.0, due_s - clock()))
        readings.append(reader.read())
        lasted_s = readings[-1].at_s - began_s
        if lasted_s >= most_s or (lasted_s >= seconds and is_enough(readings)):
            return readings
