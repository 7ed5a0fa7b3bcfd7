"""The ways from the index node to the nodes that answer queries.

All begin with whole shards, without replicas, on the index node, flushed: operations that are not on disk as segments
would be sent one by one, in no figure of bytes.
"""

from collections.abc import Mapping, Sequence

from lab.run.maintain.moving import Moving
from lab.run.maintain.placement import STARTED, Copy

INCLUDE = "index.routing.allocation.include._name"
EXCLUDE = "index.routing.allocation.exclude._name"
ENABLE = "index.routing.allocation.enable"
REBALANCE = "index.routing.rebalance.enable"


def only_on(moving: Moving) -> dict[str, object]:
    """Index settings that take the index to its nodes, and off the index node."""
    return {INCLUDE: ",".join(moving.to), EXCLUDE: moving.section.index_node}


def by_exclusion(moving: Moving, indices: Sequence[str]) -> None:
    """Everything in one request: where to go, where not to stay, how many replicas.

    The order is Elasticsearch's. A replica is copied from where its primary is at that moment: from the index node if
    it comes first, from another data node if the primary has moved. So between one and `number_of_replicas` + 1 copies
    of each shard leave the index node.
    """
    put_settings(moving, indices, only_on(moving) | {"index.number_of_replicas": moving.section.number_of_replicas})
    moving.wait(indices, "moving to the data nodes")


def by_replicas_first(moving: Moving, indices: Sequence[str]) -> None:
    """One copy of each shard beside that of the index node; that one is then dropped, and the rest copied from there.

    Only a primary is copied from. Were all replicas asked for at once, each would be read from the index node, and were
    the last copy moved, that one, too: `number_of_replicas` + 1 times its bytes. Here it sends each shard exactly once,
    which is the least, whatever recoveries the cluster allows at a time. Its own copy is dropped, not moved, by
    cancelling its allocation: the complete replica becomes the primary. Until then no shard may be rebalanced, and in
    between none allocated, or Elasticsearch would move what is about to be dropped.
    """
    node, replicas = moving.section.index_node, moving.section.number_of_replicas
    beside = {INCLUDE: ",".join((node, *moving.to)), "index.number_of_replicas": 1}
    put_settings(moving, indices, {**beside, REBALANCE: "none"})

    def copied(copies: Sequence[Copy]) -> set[str]:
        waiting = {copy.index for copy in copies if copy.state != STARTED}
        return {copy.index for copy in copies if copy.node in moving.to} - waiting

    moving.wait(indices, "copying one replica of each shard", copied)
    put_settings(moving, indices, {**only_on(moving), ENABLE: "none"})
    drop_primaries(moving, indices)
    put_settings(moving, indices, {"index.number_of_replicas": replicas, ENABLE: None, REBALANCE: None})
    moving.wait(indices, "copying the other replicas")


def drop_primaries(moving: Moving, indices: Sequence[str]) -> None:
    """Drop the copies on the index node, each of which another one stands by for."""
    node = moving.section.index_node
    while True:
        copies = moving.poll(indices)
        dropped = [copy for copy in copies if copy.node == node]
        whole = {(copy.index, copy.shard) for copy in copies if copy.node in moving.to and copy.state == STARTED}
        commands = [
            {"cancel": {"index": copy.index, "shard": copy.shard, "node": node, "allow_primary": True}}
            for copy in dropped
            # Without another copy, as when its node has just died, this one is the only one there is.
            if (copy.index, copy.shard) in whole
        ]
        if commands:
            moving.cluster.request("POST", "/_cluster/reroute?metric=none", {"commands": commands}, accept=(400,))
        if len(commands) == len(dropped):
            return
        moving.pause()


def put_settings(moving: Moving, indices: Sequence[str], settings: Mapping[str, object]) -> None:
    """Change settings of all indices in one request."""
    moving.cluster.put_settings(",".join(indices), settings)
