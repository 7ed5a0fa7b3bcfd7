"""What `_recovery` has told of the copies that nodes make of shards.

Elasticsearch keeps the last recovery of each copy only, and forgets it with the copy. Hence it is read again and again,
and everything that was ever seen is kept.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.records.deployment import DeploymentProgress, IndexDeployment, Recovery

REPOSITORY = "repository"
OVER = frozenset({"DONE", "FAILURE"})

Key = tuple[str, int, str, str, int]
"""Index, shard, target, kind and start: a copy that is begun anew is another recovery."""


def recoveries_in(answer: Mapping[str, Any]) -> Iterator[tuple[Key, Recovery, bool]]:
    """Each recovery of an answer of `_recovery`, and whether it is under way."""
    for index, described in answer.items():
        for shard in described["shards"]:
            files, ended_ms = shard["index"], shard.get("stop_time_in_millis") or None
            source = shard["source"]
            recovery = Recovery(
                index=index,
                shard=int(shard["id"]),
                primary=bool(shard["primary"]),
                kind=str(shard["type"]),
                source=REPOSITORY if "repository" in source else source.get("name"),
                target=str(shard["target"]["name"]),
                copied_bytes=int(files["size"]["recovered_in_bytes"]),
                total_ms=int(shard["total_time_in_millis"]),
                source_throttle_ms=max(0, int(files["source_throttle_time_in_millis"])),
                target_throttle_ms=max(0, int(files["target_throttle_time_in_millis"])),
                started_s=int(shard["start_time_in_millis"]) / 1000,
                ended_s=None if ended_ms is None else int(ended_ms) / 1000,
            )
            key = (index, recovery.shard, recovery.target, recovery.kind, int(shard["start_time_in_millis"]))
            yield key, recovery, shard["stage"] not in OVER


@dataclass
class RecoveryBook:
    """The recoveries of a deployment, as they were last seen.

    Attributes:
        index_node: The node whose burden is counted.
        progress: One entry for each reading.
        most_from_index_node: Most recoveries under way at once whose source it is.
    """

    index_node: str
    progress: list[DeploymentProgress] = field(default_factory=list)
    most_from_index_node: int = 0
    _before: set[Key] = field(default_factory=set)
    _seen: dict[Key, Recovery] = field(default_factory=dict)

    def ignore(self, answer: Mapping[str, Any]) -> None:
        """These are no part of the deployment: they were there before it."""
        self._before |= {key for key, _, _ in recoveries_in(answer)}

    def read(self, at_s: float, answer: Mapping[str, Any]) -> None:
        """Take note of an answer of `_recovery`."""
        active: list[Recovery] = []
        for key, recovery, is_active in recoveries_in(answer):
            if key in self._before:
                continue
            self._seen[key] = recovery
            if is_active:
                active.append(recovery)
        from_index_node = sum(recovery.source == self.index_node for recovery in active)
        self.most_from_index_node = max(self.most_from_index_node, from_index_node)
        self.progress.append(DeploymentProgress(at_s=at_s, copied_bytes=self.copied_bytes, active=len(active)))

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        """All that were seen, in the order of their starts."""
        return tuple(sorted(self._seen.values(), key=lambda each: (each.started_s, each.index, each.shard)))

    @property
    def copied_bytes(self) -> int:
        """Bytes that all of them have copied by now."""
        return sum(recovery.copied_bytes for recovery in self._seen.values())


def bytes_by_way(recoveries: Sequence[Recovery]) -> dict[str, dict[str, int]]:
    """Source → target → bytes copied; what came from no other place is left out."""
    ways: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for recovery in recoveries:
        if recovery.source is not None and recovery.copied_bytes:
            ways[recovery.source][recovery.target] += recovery.copied_bytes
    return {source: dict(sorted(targets.items())) for source, targets in sorted(ways.items())}


def index_deployment(
    index: str, names: Collection[str], became: str, seconds: float, recoveries: Sequence[Recovery]
) -> IndexDeployment:
    """What the deployment of one index came to.

    Args:
        names: What it was called meanwhile.
    """
    own = [recovery for recovery in recoveries if recovery.index in names]
    return IndexDeployment(
        index=index,
        became=became,
        seconds=seconds,
        copied_bytes=sum(recovery.copied_bytes for recovery in own),
        source_throttle_ms=sum(recovery.source_throttle_ms for recovery in own),
        target_throttle_ms=sum(recovery.target_throttle_ms for recovery in own),
        recoveries=len(own),
    )
