"""The route through a snapshot repository: nothing is copied from node to node but replicas."""

from collections.abc import Sequence

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import StackError
from lab.monitor import CLOCK
from lab.records.deployment import SnapshotCopy
from lab.run.maintain.moving import MEGABYTE, Moving
from lab.run.maintain.recoveries import REPOSITORY
from lab.run.maintain.repository import RATE, Repository, register
from lab.run.maintain.routes import INCLUDE
from lab.run.prepare import RESTORED, restored_name

ENDED_WELL = "SUCCESS"
UNDER_WAY = "IN_PROGRESS"


def by_snapshot(moving: Moving, indices: Sequence[str], repository: Repository) -> SnapshotCopy:
    """Write a snapshot, and restore it on the nodes under other names.

    The indices themselves stay, for whoever asks them meanwhile.
    """
    register(moving.cluster, repository, moving.run.profile.elasticsearch.cluster_settings.get(RATE))
    moving.begin(indices)
    body = {"indices": ",".join(indices), "include_global_state": False}
    moving.cluster.request("PUT", f"{repository.path}?wait_for_completion=false", body, accept=(400,))
    written_bytes = written(moving, repository)
    written_s = CLOCK.now_s()
    restored = [restored_name(index) for index in indices]
    restore(moving, indices, repository)
    moving.wait(restored, "restoring on the data nodes")
    return SnapshotCopy(
        written_bytes=written_bytes,
        snapshot_s=written_s - moving.started_s,
        restored_bytes=sum(each.copied_bytes for each in moving.book.recoveries if each.source == REPOSITORY),
        restore_s=max(moving.in_place_s.values()) - written_s,
    )


def written(moving: Moving, repository: Repository) -> int:
    """Wait for the snapshot; its size in bytes.

    Raises:
        StackError: It is not complete.
    """
    moving.run.progress.begin("maintain", "writing the snapshot", None)
    while True:
        # `_status` says SUCCESS once the shards are written, a moment before the snapshot is there.
        _, answer = moving.cluster.request("GET", repository.path)
        state = answer["snapshots"][0]["state"]
        _, answer = moving.cluster.request("GET", f"{repository.path}/_status")
        stats = answer["snapshots"][0]["stats"]
        total = int(stats["total"]["size_in_bytes"])
        if state != UNDER_WAY:
            break
        done = int(stats.get("processed", {}).get("size_in_bytes", 0))
        moving.run.progress.update(done, f"{done / MEGABYTE:,.0f} of {total / MEGABYTE:,.0f} MB")
        moving.pause()
    if state != ENDED_WELL:
        raise StackError(f"maintain: the snapshot ended as {state}, expected {ENDED_WELL}")
    return total


def restore(moving: Moving, indices: Sequence[str], repository: Repository) -> None:
    """Ask for the indices under their new names, on their nodes."""
    body = {
        "indices": ",".join(indices),
        "include_global_state": False,
        "include_aliases": False,
        "rename_pattern": "(.+)",
        "rename_replacement": f"$1{RESTORED}",
        "index_settings": {
            INCLUDE: ",".join(moving.to),
            "index.number_of_replicas": moving.section.number_of_replicas,
        },
    }
    moving.cluster.request("POST", f"{repository.path}/_restore?wait_for_completion=false", body)


def rename(moving: Moving, cluster: ElasticsearchClient, indices: Sequence[str]) -> None:
    """From now on the restored indices are those of the run; the others are deleted."""
    moving.run.renamed.update({index: restored_name(index) for index in indices})
    for index in indices:
        cluster.delete_index(index)
