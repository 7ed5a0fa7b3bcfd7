"""A deployment of indices: how long each took, who copied from whom, and what queries took meanwhile."""

from typing import Literal

from pydantic import Field

from lab.records.base import Count, Record
from lab.records.queries import QueryLoadResult


class Recovery(Record):
    """One copy of a shard that a node has made, as `_recovery` tells it.

    Attributes:
        kind: `PEER`: from another copy; `SNAPSHOT`: from a repository; `EXISTING_STORE`: from the node's own disk.
        source: Node, or `repository`; `None` where there was none.
        copied_bytes: Those that were read from the source; what the target had already is not counted.
        started_s: By the target's clock, as is `ended_s`, which is `None` for one that did not end.
        source_throttle_ms: How long the source waited for `indices.recovery.max_bytes_per_sec`, as the target was told.
        target_throttle_ms: How long the target did.
    """

    index: str
    shard: Count
    primary: bool
    kind: str
    source: str | None
    target: str
    copied_bytes: Count
    total_ms: Count
    source_throttle_ms: Count
    target_throttle_ms: Count
    started_s: float
    ended_s: float | None


class IndexDeployment(Record):
    """Deployment of one index.

    Attributes:
        index: Its name before; `became` after, another one where it was restored.
        seconds: From the request to the moment when its last copy was seen in place.
        copied_bytes: By all recoveries of it.
        source_throttle_ms: Sum over its recoveries, which wait side by side; so is `target_throttle_ms`.
    """

    index: str
    became: str
    seconds: float
    copied_bytes: Count
    source_throttle_ms: Count
    target_throttle_ms: Count
    recoveries: Count


class DeploymentProgress(Record):
    """Progress of a deployment at one instant: bytes copied until then, and recoveries under way."""

    at_s: float
    copied_bytes: Count
    active: Count


class SnapshotCopy(Record):
    """Bytes through the snapshot repository.

    Attributes:
        written_bytes: Bytes of the snapshot.
        snapshot_s: From its request until it was complete.
        restored_bytes: Bytes that nodes have read from it.
        restore_s: From the request to restore until the last copy was in place, replicas included.
    """

    written_bytes: Count
    snapshot_s: float
    restored_bytes: Count
    restore_s: float


class NodeWork(Record):
    """CPU time and disk bytes of a node during a deployment; disk bytes are `None` where only its owner may know."""

    cpu_s: float
    disk_read_bytes: Count | None
    disk_write_bytes: Count | None


class Deployment(Record):
    """Indices on their way from the node that they were loaded on to those that answer queries.

    Attributes:
        settings: Recovery settings of the cluster that the profile states.
        started_s: When it was asked for.
        ended_s: When the last copy was seen in place.
        polls: How often `_recovery` was read; a recovery that began and ended between two of them is still seen.
        retries: How often allocations that Elasticsearch had given up were asked for again.
        most_from_index_node: Most recoveries under way at once whose source is the index node.
        copied_bytes: Source → target → bytes.
        progress: At every poll.
        snapshot: Of the route `snapshot` only.
        nodes: Node → what it used; empty for servers elsewhere, and without a node that was started again meanwhile.
        queries: `before`, `while`, `after` → what came of the queries sent then; empty where none were.
    """

    route: Literal["exclude", "snapshot", "replicas-first"]
    index_node: str
    to: tuple[str, ...]
    number_of_replicas: Count
    settings: dict[str, object]
    started_s: float
    ended_s: float
    polls: Count
    retries: Count
    most_from_index_node: Count
    indices: tuple[IndexDeployment, ...]
    recoveries: tuple[Recovery, ...]
    copied_bytes: dict[str, dict[str, Count]]
    progress: tuple[DeploymentProgress, ...]
    snapshot: SnapshotCopy | None = None
    nodes: dict[str, NodeWork] = Field(default_factory=dict)
    queries: dict[str, QueryLoadResult] = Field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the request to the last copy in place."""
        return self.ended_s - self.started_s

    @property
    def checked_queries(self) -> list[QueryLoadResult]:
        """The queries whose answers count; during a deployment that is over at once, none may have been due."""
        requests = {when: sent.requests for when, sent in self.queries.items()}
        return [sent for when, sent in self.queries.items() if when != "while" or requests[when]]

    @property
    def total_bytes(self) -> int:
        """Bytes that all recoveries copied."""
        return sum(each.copied_bytes for each in self.recoveries)
