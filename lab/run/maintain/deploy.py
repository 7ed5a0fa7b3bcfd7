"""Deploys the indices of a run: they were loaded on one node, and others are to answer queries with them."""

from collections.abc import Callable, Sequence

from lab.clients.elasticsearch import ElasticsearchClient
from lab.profiles.models import Maintain
from lab.records.deployment import Deployment, SnapshotCopy
from lab.records.queries import QueryLoadResult
from lab.run.maintain.guard import Guard
from lab.run.maintain.moving import Moving
from lab.run.maintain.nodes import check_repositories, data_nodes
from lab.run.maintain.queries import DeploymentQueries
from lab.run.maintain.recoveries import RecoveryBook, bytes_by_way, index_deployment
from lab.run.maintain.repository import Repository, folder_of, remove_left_repositories, remove_repository
from lab.run.maintain.routes import by_exclusion, by_replicas_first
from lab.run.maintain.snapshot import by_snapshot, rename
from lab.run.maintain.work import WorkOfNodes
from lab.run.names import is_our_connector
from lab.run.phases import RunContext

RECOVERY_SETTINGS = ("cluster.routing.allocation.", "indices.recovery.")


def deploy(run: RunContext, cluster: ElasticsearchClient, to: Sequence[str], guard: Guard) -> Deployment:
    """Take the indices of the run to their nodes; what they are called then is in `run.renamed`.

    Args:
        to: The nodes, which the cluster has.
        guard: Is told of a repository before that is registered.

    Raises:
        StackError: That takes longer than the profile allows, or a server ended for good.
    """
    section = run.profile.maintain
    assert section is not None  # noqa: S101 - who has none does not come here
    indices, queries = run.names.indices, DeploymentQueries(run, section.queries)
    cluster.request("POST", f"/{','.join(indices)}/_flush")
    queries.send("before")
    snapshot, work = None, WorkOfNodes(run)
    with queries.sent_meanwhile() as check:
        moving = moving_of(run, cluster, section, to, check)
        if section.route == "snapshot":
            repository = repository_of(run, cluster)
            guard.watch_repository(repository)
            snapshot = by_snapshot(moving, indices, repository)
        else:
            moving.begin(indices)
            (by_exclusion if section.route == "exclude" else by_replicas_first)(moving, indices)
        nodes = work.since()
    if guard.repository:
        rename(moving, cluster, indices)
        remove_repository(cluster, guard.repository, keep_restored=True)
    queries.send("after")
    return deployment_of(moving, indices, snapshot, queries.results).model_copy(update={"nodes": nodes})


def repository_of(run: RunContext, cluster: ElasticsearchClient, name: str | None = None) -> Repository:
    """The repository of this run, or one that another run of ours has left.

    Raises:
        ProfileError: The nodes have no folder for it.
    """
    nodes = data_nodes(cluster, run.target.index_settings)
    check_repositories(run.profile, nodes)
    name = name or run.names.connector
    is_here = run.target.name == "local" and nodes[0].repositories
    return Repository(name, folder_of(name, nodes[0].repositories[0]) if is_here else None)


def remove_leftovers(run: RunContext, cluster: ElasticsearchClient) -> None:
    """Remove the repositories that killed runs have left; on servers of others only those of this profile."""
    is_ours = run.names.is_topic if run.target.name == "remote" else is_our_connector
    remove_left_repositories(cluster, is_ours, lambda name: repository_of(run, cluster, name))


def moving_of(
    run: RunContext,
    cluster: ElasticsearchClient,
    section: Maintain,
    to: Sequence[str],
    check: Callable[[], None],
) -> Moving:
    """The deployment that is about to begin."""
    _, answer = cluster.request("GET", f"/{run.names.index}/_stats/store?filter_path=_all.primaries.store")
    size_bytes = int(answer["_all"]["primaries"]["store"]["size_in_bytes"])
    book = RecoveryBook(section.index_node)
    return Moving(run, cluster, section, to, check, size_bytes * (1 + section.number_of_replicas), book)


def deployment_of(
    moving: Moving, indices: Sequence[str], snapshot: SnapshotCopy | None, queries: dict[str, QueryLoadResult]
) -> Deployment:
    """The record of a deployment whose last copy is in place."""
    section, profile, recoveries = moving.section, moving.run.profile, moving.book.recoveries
    renamed = moving.run.renamed
    return Deployment(
        route=section.route,
        index_node=section.index_node,
        to=tuple(moving.to),
        number_of_replicas=section.number_of_replicas,
        settings={
            name: value
            for name, value in profile.elasticsearch.cluster_settings.items()
            if name.startswith(RECOVERY_SETTINGS)
        },
        started_s=moving.started_s,
        ended_s=max(moving.in_place_s.values()),
        polls=len(moving.book.progress),
        retries=moving.retries,
        most_from_index_node=moving.book.most_from_index_node,
        indices=tuple(
            index_deployment(
                index,
                {index, renamed.get(index, index)},
                renamed.get(index, index),
                moving.in_place_s[renamed.get(index, index)] - moving.started_s,
                recoveries,
            )
            for index in indices
        ),
        recoveries=recoveries,
        copied_bytes=bytes_by_way(recoveries),
        progress=tuple(moving.book.progress),
        snapshot=snapshot,
        queries=queries,
    )
