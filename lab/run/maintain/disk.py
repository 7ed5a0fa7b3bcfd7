"""Whether the disks of the nodes have room for a deployment, before anything is loaded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.analysis.text import bytes_text
from lab.clients.elasticsearch import ElasticsearchClient, in_effect
from lab.errors import ProfileError
from lab.profiles.maintain import line_of
from lab.profiles.models import Maintain
from lab.run.phases import RunContext
from producers.dataset import Dataset

DISK = "cluster.routing.allocation.disk."
LOW = f"{DISK}watermark.low"
HEADROOM = f"{LOW}.max_headroom"
UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40, "pb": 2**50}
MOST_MEASURED = 1_000
"""Documents whose sizes make the mean."""


@dataclass(frozen=True)
class NodeDisk:
    """The disk of a node.

    Attributes:
        place: Host and mount point; nodes that share it share its room.
    """

    node: str
    place: str
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Watermark:
    """Above which use of its disk a node is given no more copies of shards.

    Attributes:
        stated: `85%`, or `2gb`: what must stay free.
        most_free: Most that a percentage keeps free; `None` for no such bound.
    """

    stated: str
    most_free: str | None

    def kept_free_bytes(self, total_bytes: int) -> int:
        """What Elasticsearch keeps free of a disk of that size."""
        if (share := used_share(self.stated)) is None:
            return size_bytes(self.stated)
        kept = int(total_bytes * (1 - share))
        bounded = self.most_free not in {None, "", "-1"}
        return min(kept, size_bytes(str(self.most_free))) if bounded else kept


def used_share(text: str) -> float | None:
    """`85%` and `0.85` as 0.85; `None` for a size."""
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def size_bytes(text: str) -> int:
    """A size of Elasticsearch's, such as `2gb`."""
    number = text.lower().rstrip("bkmgtp")
    return int(float(number) * UNITS[text.lower()[len(number) :]])


def watermark_in(answer: Mapping[str, Any]) -> Watermark | None:
    """The low watermark of an answer of `_cluster/settings`; `None` where the cluster looks at no disk."""
    settings = in_effect(answer)
    if str(settings.get(f"{DISK}threshold_enabled", "true")) == "false":
        return None
    return Watermark(str(settings[LOW]), settings.get(HEADROOM))


def disks_in(answer: Mapping[str, Any]) -> list[NodeDisk]:
    """The disks of an answer of `_nodes/stats/fs`."""
    return [
        NodeDisk(
            node=str(node["name"]),
            place=f"{node.get('host')} {node['fs']['data'][0].get('mount')}",
            total_bytes=int(node["fs"]["total"]["total_in_bytes"]),
            free_bytes=int(node["fs"]["total"]["available_in_bytes"]),
        )
        for node in answer["nodes"].values()
    ]


def mean_document_bytes(dataset: Dataset) -> float:
    """Mean size of the first documents."""
    measured = min(dataset.documents, MOST_MEASURED)
    return sum(len(dataset.document(number)) for number in range(measured)) / measured


def lacking(
    disks: Sequence[NodeDisk],
    watermark: Watermark,
    primaries_bytes: int,
    section: Maintain,
    to: Sequence[str],
) -> Iterator[str]:
    """A sentence for each target node whose disk has no room for its share of the copies.

    Shares are equal. On a disk that several nodes have, their shares add up, and those of the index node, too.
    """
    share = primaries_bytes * (1 + section.number_of_replicas) // len(to)
    places = {disk.node: disk.place for disk in disks}
    for disk in sorted(disks, key=lambda disk: disk.node):
        if disk.node not in to:
            continue
        needed = share * sum(places.get(node) == disk.place for node in to)
        if places.get(section.index_node) == disk.place:
            # There, too, the nodes of this machine keep their snapshots.
            needed += primaries_bytes * (2 if section.route == "snapshot" else 1)
        kept = watermark.kept_free_bytes(disk.total_bytes)
        if needed > disk.free_bytes - kept:
            yield (
                f"{disk.node}: about {bytes_text(needed)} are needed on its disk, expected at most "
                f"{bytes_text(max(0, disk.free_bytes - kept))}: {bytes_text(disk.free_bytes)} are free, and "
                f"Elasticsearch keeps {bytes_text(kept)} free ({LOW}: {watermark.stated}); load fewer documents, or "
                "free some room"
            )


def check_disks(run: RunContext, cluster: ElasticsearchClient, to: Sequence[str]) -> None:
    """Raise ProfileError if the disk of a target node has too little room above the low watermark.

    The estimate is the size of the documents: an index is as a rule no larger.
    """
    section = run.profile.maintain
    assert section is not None  # noqa: S101 - who has none does not ask
    _, settings = cluster.request("GET", "/_cluster/settings?include_defaults=true&flat_settings=true")
    watermark = watermark_in(settings)
    if watermark is None:
        return
    shown = "filter_path=nodes.*.name,nodes.*.host,nodes.*.fs.total,nodes.*.fs.data.mount"
    _, stats = cluster.request("GET", f"/_nodes/stats/fs?{shown}")
    primaries_bytes = int(run.dataset.documents * mean_document_bytes(run.dataset))
    problems = tuple(lacking(disks_in(stats), watermark, primaries_bytes, section, to))
    if problems:
        raise ProfileError("\n".join(line_of(run.profile, "to", problem) for problem in problems))
