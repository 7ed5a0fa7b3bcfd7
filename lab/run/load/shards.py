"""The shards of an index: the one that each id belongs to, and the node that holds its primary."""

from collections.abc import Sequence
from dataclasses import dataclass

import mmh3

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError, StackError

SHOWN = (
    "metadata.indices.*.routing_num_shards,metadata.indices.*.settings.index,"
    "routing_table.indices.*.shards.*.primary,routing_table.indices.*.shards.*.node"
)
ROUTED_OTHERWISE = ("routing_partition_size", "routing_path", "dimensions")
"""Index settings with which an id alone does not tell the shard."""

MODULO_SINCE = 9_064_000
"""Index version from which Elasticsearch (9.4) has no routing shards: `IndexVersions.MOD_ROUTING_FUNCTION`."""

OPENSEARCH = 1 << 27
"""Index versions of OpenSearch, which has routing shards, begin here: `MASK` of its `Version`."""


@dataclass(frozen=True)
class ShardTable:
    """The primary shards of an index whose documents are shared out by their routing, else their id.

    Attributes:
        routing_shards: A multiple of the index's shards, which a split or shrink keeps; as many as these where the
            server has no routing shards.
        urls: By shard, the node that holds its primary.
    """

    routing_shards: int
    urls: tuple[str, ...]

    def shard_of(self, key: bytes) -> int:
        """Number of the shard that holds the document of this id or routing.

        Source: `Murmur3HashFunction.hash`; `RoutingFunction` of Elasticsearch 9.4, `IndexRouting.hashToShardId` of
        earlier ones, `OperationRouting.calculateScaledShardId` of 7.17 and OpenSearch.
        """
        hashed = mmh3.hash(key.decode().encode("utf-16-le"))
        return hashed % self.routing_shards // (self.routing_shards // len(self.urls))


def shard_table(cluster: ElasticsearchClient, index: str, scheme: str = "http") -> ShardTable:
    """The shards of an index as they are at the moment.

    Args:
        scheme: Of the nodes' URLs, which the cluster does not tell.

    Raises:
        ProfileError: The index has settings with which an id alone does not tell the shard.
        StackError: No node holds one of the primaries.
    """
    _, state = cluster.request("GET", f"/_cluster/state/metadata,routing_table/{index}?filter_path={SHOWN}")
    _, nodes = cluster.request("GET", "/_nodes/http?filter_path=nodes.*.http.publish_address")
    described = state["metadata"]["indices"][index]
    settings = described["settings"]["index"]
    for name in ROUTED_OTHERWISE:
        if settings.get(name, "1") != "1":
            raise ProfileError(
                f"load.bulk_by_shard: got true, expected false: index {index} has `index.{name}`, with which an id "
                "alone does not tell the shard"
            )
    urls = {node: url_of(each["http"]["publish_address"], scheme) for node, each in nodes["nodes"].items()}
    shards = state["routing_table"]["indices"][index]["shards"]
    primaries = {
        int(number): urls.get(copy["node"]) for number, copies in shards.items() for copy in copies if copy["primary"]
    }
    held = [url for _, url in sorted(primaries.items()) if url is not None]
    if len(held) < len(shards):
        raise StackError(f"index {index}: {len(shards) - len(held)} of {len(shards)} primary shards are on no node")
    is_modulo = MODULO_SINCE <= int(settings["version"]["created"]) < OPENSEARCH
    return ShardTable(len(held) if is_modulo else int(described["routing_num_shards"]), tuple(held))


def nodes_of(tables: Sequence[ShardTable]) -> list[str]:
    """URL of each node that holds a primary shard of these indices, in the order of their names."""
    return sorted({url for table in tables for url in table.urls})


def url_of(address: str, scheme: str) -> str:
    """The URL of a node by the address that it publishes: `10.0.0.7:9200`, or with a name `es-1/10.0.0.7:9200`."""
    name, _, ip = address.rpartition("/")
    return f"{scheme}://{name}:{ip.rpartition(':')[2]}" if name else f"{scheme}://{ip}"
