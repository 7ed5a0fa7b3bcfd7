"""The nodes that a deployment goes from and to, and whether the cluster has them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.maintain import line_of, refusal_of
from lab.run.maintain.disk import check_disks
from lab.run.phases import RunContext
from lab.run.prepare import INCLUDED

DATA_ROLES = frozenset({"data", "data_content"})
MASTER_ROLES = frozenset({"master", "cluster_manager"})


@dataclass(frozen=True)
class DataNode:
    """A node that may hold shards of a run.

    Attributes:
        repositories: Folders that it may keep snapshots in (`path.repo`).
    """

    name: str
    repositories: tuple[str, ...]


def data_nodes_in(answer: Mapping[str, Any], roles: Collection[str] = DATA_ROLES) -> list[DataNode]:
    """The nodes of an answer of `_nodes/settings` with one of these roles, in the order of their names."""
    nodes = []
    for described in answer["nodes"].values():
        if not set(roles).isdisjoint(described["roles"]):
            stated = described.get("settings", {}).get("path", {}).get("repo", [])
            repositories = (stated,) if isinstance(stated, str) else tuple(stated)
            nodes.append(DataNode(str(described["name"]), repositories))
    return sorted(nodes, key=lambda node: node.name)


def data_nodes(cluster: ElasticsearchClient, index_settings: Mapping[str, object]) -> list[DataNode]:
    """The data nodes that a run may use.

    Args:
        index_settings: Those of the target, which may name fewer nodes than the cluster has.
    """
    used = str(index_settings.get(INCLUDED, ""))
    return [node for node in data_nodes_in(node_settings(cluster)) if not used or node.name in used.split(",")]


def node_settings(cluster: ElasticsearchClient) -> Mapping[str, Any]:
    """Name, roles and `path.repo` of every node."""
    shown = "filter_path=nodes.*.name,nodes.*.roles,nodes.*.settings.path.repo"
    _, answer = cluster.request("GET", f"/_nodes/settings?{shown}")
    return dict(answer)


def targets_of(profile: Profile, names: Collection[str]) -> tuple[str, ...]:
    """The nodes that the indices of a profile go to, of those that there are.

    Raises:
        ProfileError: The cluster lacks one of them, or has too few.
    """
    section = profile.maintain
    assert section is not None  # noqa: S101 - who has none does not ask
    if refusal := refusal_of(profile, sorted(names)):
        raise ProfileError(refusal)
    return tuple(section.to or sorted(set(names) - {section.index_node}))


def check_repositories(profile: Profile, nodes: Sequence[DataNode]) -> None:
    """Raise ProfileError if a snapshot is asked for and a node may keep none."""
    section = profile.maintain
    without = [node.name for node in nodes if not node.repositories]
    if section is not None and section.route == "snapshot" and without:
        message = (
            f"got snapshot, expected exclude or replicas-first: {', '.join(without)} has no `path.repo`; set it to a "
            "folder that all nodes share and restart them"
        )
        raise ProfileError(line_of(profile, "route", message))


def checked_targets(run: RunContext, cluster: ElasticsearchClient) -> tuple[str, ...]:
    """The nodes that the indices of a run will go to, before anything is loaded.

    Raises:
        ProfileError: The cluster lacks one of them, or what they need.
    """
    nodes = data_nodes(cluster, run.target.index_settings)
    to = targets_of(run.profile, {node.name for node in nodes})
    # A master writes into the repository, too.
    check_repositories(run.profile, data_nodes_in(node_settings(cluster), DATA_ROLES | MASTER_ROLES))
    check_disks(run, cluster, to)
    return to
