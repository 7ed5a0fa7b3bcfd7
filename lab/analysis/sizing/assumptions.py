"""Assumptions of a sizing, which no run here can measure: each with its default and the source of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite

from lab.errors import ProfileError
from lab.profiles.problems import suggestion

OURS = "assumed; say your own"


def _assumed(default: float, unit: str, source: str) -> float:
    value: float = field(default=default, metadata={"unit": unit, "source": source})
    return value


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The machines, and how full they may be; the text of each field stands in its metadata."""

    cores: float = _assumed(16, "cores of a machine", OURS)
    core_speed: float = _assumed(1, "speed of one of these cores ÷ that of the recorded run's", OURS)
    utilisation: float = _assumed(
        0.5,
        "share of cores, network, disk writes and requests in flight that is planned for",
        "M/M/1: at 0.5 a request waits as long as it is served, at 0.9 nine times as long",
    )
    spare: float = _assumed(1, "machines of a kind that may be lost", OURS)
    network_gbit: float = _assumed(10, "Gbit/s of a machine, in each direction", OURS)
    disk_tb: float = _assumed(4, "TB of disk of a machine", OURS)
    disk_fill: float = _assumed(
        0.85,
        "share of a disk that may be filled",
        "Elasticsearch: cluster.routing.allocation.disk.watermark.low; large disks may be fuller",
    )
    disk_mb_per_s: float = _assumed(500, "MB/s that a machine's disk writes for hours", OURS)
    shard_gb: float = _assumed(50, "GB of a primary shard", "Elasticsearch's guide, Size your shards: 10 to 50 GB")
    shards_per_node: float = _assumed(1000, "shards that a node may hold", "Elasticsearch: cluster.max_shards_per_node")
    kafka_hours: float = _assumed(24, "hours that Kafka keeps a record", OURS)
    kafka_copies: float = _assumed(3, "brokers that hold each record", "usual, with min.insync.replicas 2")
    kafka_compression: float = _assumed(1, "bytes in Kafka ÷ bytes of the source", "1: not counted on")
    connector_tasks: float = _assumed(500, "tasks of one connector", OURS)
    cluster_nodes: float = _assumed(200, "data nodes of one cluster", OURS)
    partition_mb_per_s: float = _assumed(10, "MB/s of a partition", OURS)
    partition_headroom: float = _assumed(
        2, "partitions ÷ tasks", "a key's partition changes when partitions are added, so they are made beforehand"
    )

    def with_stated(self, texts: Iterable[str]) -> "Assumptions":
        """Assumptions with the values that a user states as `NAME=VALUE`.

        Raises:
            ProfileError: A name is not known, or a value is no number above 0 (for `spare`, 0 or more).
        """
        known = [each.name for each in fields(self)]
        stated: dict[str, float] = {}
        for text in texts:
            name, _, written = text.partition("=")
            if name not in known:
                nearest = suggestion(name, known, "one of the assumptions")
                raise ProfileError(f"--assume {name}: unknown assumption, {nearest}")
            stated[name] = _number(name, written)
        return replace(self, **stated)

    def table(self) -> list[tuple[str, float, str, str]]:
        """Name, value, unit and source of each."""
        return [
            (each.name, getattr(self, each.name), each.metadata["unit"], each.metadata["source"])
            for each in fields(self)
        ]


WHOLE = frozenset({"spare", "kafka_copies"})
"""Assumptions of things that there is no half of."""
SHARES: Mapping[str, float] = {"utilisation": 1.0, "disk_fill": 1.0}
"""Assumptions that are shares, with the most that they can be."""


def _number(name: str, written: str) -> float:
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    most = SHARES.get(name, float("inf"))
    if name in WHOLE and value != int(value if isfinite(value) else 0):
        raise ProfileError(f"--assume {name}: got {written or 'no value'}, expected a whole number")
    if not (0 < value < float("inf") and value <= most) and not (name == "spare" and value == 0):
        wanted = f"a number above 0 and up to {most:g}" if name in SHARES else "a number above 0"
        raise ProfileError(f"--assume {name}: got {written or 'no value'}, expected {wanted}")
    return value
