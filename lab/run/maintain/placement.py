"""Where the copies of shards are, and whether that is where they ought to be."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.clients.elasticsearch import ElasticsearchClient

STARTED = "STARTED"
ATTEMPTS = ("unassigned_info", "relocation_failure_info")
MOST_ATTEMPTS = 5
"""After so many failures Elasticsearch gives a copy up until it is asked for again; `index.allocation.max_retries`."""


@dataclass(frozen=True)
class Copy:
    """One copy of a shard, as the cluster's routing has it.

    Attributes:
        state: `STARTED`, `RELOCATING`, `INITIALIZING`, `UNASSIGNED`.
        node: Name of the node that it is on; `None` while it is on none.
        failures: How often its allocation, or its move, has failed.
    """

    index: str
    shard: int
    primary: bool
    state: str
    node: str | None
    failures: int = 0

    @property
    def is_given_up(self) -> bool:
        """Whether Elasticsearch does not try any more to allocate it, or to move it from where it is."""
        return self.state in {"UNASSIGNED", STARTED} and self.failures >= MOST_ATTEMPTS


def copies_of(cluster: ElasticsearchClient, indices: Collection[str]) -> list[Copy]:
    """Every copy of every shard of these indices, assigned or not."""
    shown = "filter_path=nodes.*.name,routing_table.indices.*.shards"
    _, answer = cluster.request("GET", f"/_cluster/state/nodes,routing_table/{','.join(indices)}?{shown}")
    return routed(answer)


def routed(answer: Mapping[str, Any]) -> list[Copy]:
    """The copies of a cluster state. A target that is still being copied to is a copy of its source, and left out."""
    names = {node: str(described["name"]) for node, described in answer["nodes"].items()}
    routing = answer.get("routing_table", {}).get("indices", {})
    return [
        Copy(
            index=index,
            shard=int(number),
            primary=bool(copy["primary"]),
            state=str(copy["state"]),
            # A node that has just left may still be in the routing.
            node=names.get(copy["node"]) if copy["node"] else None,
            failures=max(int((copy.get(info) or {}).get("failed_attempts", 0)) for info in ATTEMPTS),
        )
        for index, described in routing.items()
        for number, copies in described["shards"].items()
        for copy in copies
    ]


def indices_in_place(copies: Sequence[Copy], to: Collection[str], number_of_replicas: int) -> set[str]:
    """The indices of which every shard has all its copies, started, on nodes of `to`, and none elsewhere."""
    shards = Counter((copy.index, copy.shard) for copy in copies)
    complete = {
        index
        for index in {copy.index for copy in copies}
        if all(count == 1 + number_of_replicas for (of, _), count in shards.items() if of == index)
    }
    elsewhere = {copy.index for copy in copies if copy.state != STARTED or copy.node not in to}
    return complete - elsewhere
