"""What a run makes in the servers before its load, what earlier runs left there, and its own removal."""

import contextlib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient, IndexExistsError
from lab.clients.kafka import KafkaTopics
from lab.clients.target import Target, cluster_of, topics_of
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.profiles.mapping import index_body, mapping_for
from lab.run.names import KEPT, STAGING, Names, consumer_group, is_kept, is_our_connector

GREEN_WITHIN_S = 30
RESTORED = "-restored"
INCLUDED = "routing.allocation.include._name"
"""The index setting that names the nodes which may hold an index."""

NO_SETTINGS: Mapping[str, object] = MappingProxyType({})

SIZE_NOT_CACHED: Mapping[str, object] = MappingProxyType({"store.stats_refresh_interval": "0s"})
"""Elasticsearch tells the size on disk that it saw up to 10 s ago; a run would wait so long for the true one."""

PATIENCE_S = 10.0


def remove_earlier(cluster: ElasticsearchClient, names: Names) -> None:
    """Remove the indices that earlier runs of the profile have made, however many they were and what became of them."""
    for index, mark in cluster.marks(f"{names.base}*").items():
        first = str(mark.get("index", index))
        if names.is_index(first) and index in {first, restored_name(first)}:
            cluster.delete_index(index)


def create_index(
    cluster: ElasticsearchClient,
    profile: Profile,
    index: str,
    run_id: str,
    *,
    target_settings: Mapping[str, object] = NO_SETTINGS,
    codec: str | None = None,
) -> int:
    """Make the index of a run anew.

    Args:
        target_settings: What the target has every index made with; the profile's own settings win over them.
        codec: In place of the profile's, which the index gets later.

    Returns:
        Shards that could not be assigned to a node within 30 s, such as replicas on a single node.

    Raises:
        ProfileError: An index of that name exists and no run made it, or Elasticsearch refuses settings or mapping.
    """
    owner = cluster.index_owner(index)
    if owner == "":
        raise ProfileError(
            f"index {index}: exists and was not made by a run of Sluice; delete or rename it, or run the profile under "
            "another name"
        )
    body = index_request(cluster, profile, target_settings, codec)
    mark = {"run": run_id, "index": index} if profile.maintain else {"run": run_id}
    mappings = {**body["mappings"], "_meta": {**body["mappings"].get("_meta", {}), "sluice": mark}}
    if owner is not None:
        cluster.delete_index(index)
    try:
        cluster.create_index(index, {**body, "mappings": mappings})
    except IndexExistsError:
        # Sent again because an answer was lost, Elasticsearch finds the index that it has just made.
        if cluster.index_owner(index) != run_id:
            raise
    return started_shards(cluster, profile, index)


def index_request(
    cluster: ElasticsearchClient, profile: Profile, target_settings: Mapping[str, object], codec: str | None = None
) -> dict[str, Any]:
    """The body of the request that makes an index of the profile, without the mark of the run; see `create_index`."""
    return index_body(mapping_for(profile), settings_for(profile, target_settings, codec), cluster.has_analyzer)


def settings_for(profile: Profile, target_settings: Mapping[str, object], codec: str | None) -> dict[str, object]:
    """Settings that an index of a run is made with; all of them win over those of the mapping's file.

    A layer wins over those before it. The profile's own layers were merged when it was read (`lab.profiles.layers`):
    what it extends, its file, the suite's variant, the command line.
    """
    before = NO_SETTINGS if codec is None else {"codec": codec}
    layers = (SIZE_NOT_CACHED, target_settings, profile.index, before, loading_settings(profile))
    return {name: value for layer in layers for name, value in layer.items()}


def loading_settings(profile: Profile) -> Mapping[str, object]:
    """Settings with which an index that will be deployed is loaded: on one node, without replicas."""
    if profile.maintain is None:
        return NO_SETTINGS
    return {INCLUDED: profile.maintain.index_node, "number_of_replicas": 0}


def restored_name(index: str) -> str:
    """What an index is called once it was restored from a snapshot."""
    return f"{index}{RESTORED}"


def remove_restored(cluster: ElasticsearchClient, index: str, run_id: str) -> None:
    """Delete what was restored from the index, if this run did: the mark in it is that of the index."""
    restored = restored_name(index)
    # The mapping of an index of a profile that happens to be called so has another mark.
    mark = cluster.marks(f"{restored}*").get(restored, {})
    if mark.get("index") == index and run_id == mark.get("run"):
        cluster.delete_index(restored)


def started_shards(cluster: ElasticsearchClient, profile: Profile, index: str) -> int:
    """Wait for the shards of an index; those that could not be assigned to a node within 30 s.

    Raises:
        ProfileError: A primary is among them.
        StackError: Of that the disks are the reason.
    """
    status, _ = cluster.index_health(index, "yellow", GREEN_WITHIN_S)
    if profile.number_of_replicas and profile.elasticsearch.data_nodes > 1:
        status, unassigned = cluster.index_health(index, "green", GREEN_WITHIN_S)
    else:
        status, unassigned = cluster.index_health(index, status, 1)
    if status == "red" and "disk_threshold" in cluster.deciders_against(index):
        raise StackError(
            f"index {index}: a primary shard cannot be allocated: every data node has less free disk than its high "
            "watermark; make room"
        )
    if status == "red":
        raise ProfileError(f"index {index}: a primary shard cannot be allocated; check index.routing.allocation.*")
    return unassigned


def remove_connectors(worker: ConnectWorker, topics: KafkaTopics, names: Names, *, shared: bool = False) -> None:
    """Remove every connector of ours but the run's own, and return when they write no more.

    One that still writes, as that of a run that was killed, would write into the new index, too.

    Args:
        shared: Others use the servers, too: a connector of another profile may be that of their run.
    """
    for connector in worker.connectors():
        is_removed = names.is_topic(connector) if shared else is_our_connector(connector)
        if is_removed and connector != names.connector:
            worker.delete(connector)
            topics.wait_until_left(consumer_group(connector), PATIENCE_S)


def remove_topics(topics: KafkaTopics, names: Names, *, kept: Collection[str] = ()) -> None:
    """Remove the topics that earlier runs of the profile left behind, but for those that are kept."""
    topics.delete(tuple(name for name in topics.names() if names.is_topic(name) and name not in kept))


def create_topics(topics: KafkaTopics, profile: Profile, names: Names, *, filled: bool = False) -> None:
    """Make the run's topics, unless they are there and filled, and the one for their dead letters."""
    topic = profile.topic
    for name in () if filled else names.topics:
        topics.create(
            name, partitions=topic.partitions, replication_factor=topic.replication_factor, config=topic.config
        )
    topics.create(names.dead_letter_topic, partitions=1, replication_factor=topic.replication_factor, config={})


def remove_traces(target: Target, profile: Profile, run_id: str, *, kept: Collection[str] = ()) -> None:
    """Delete index and topics of a run that is over: open shards and their merges would burden the next one.

    A server that is gone keeps them; the next run of the profile removes them then.

    Args:
        kept: Topics that runs to come drain, too.
    """
    names = Names.of(profile, run_id)
    cluster = cluster_of(target.endpoints, PATIENCE_S)
    topics = topics_of(target.endpoints)
    try:
        # A sink that was interrupted still writes for a moment, and would make the index anew, without our mark.
        topics.wait_until_left(names.consumer_group, PATIENCE_S)
        for index in names.indices:
            with contextlib.suppress(StackError):
                remove_index(cluster, index, run_id)
                if profile.maintain:
                    remove_restored(cluster, index, run_id)
        with contextlib.suppress(StackError):
            topics.delete([name for name in (*names.topics, names.dead_letter_topic) if name not in kept])
    finally:
        cluster.close()


def remove_index(cluster: ElasticsearchClient, index: str, run_id: str) -> None:
    """Delete the index if the run has made it; one that was refused because the index is somebody else's has not."""
    if cluster.index_owner(index) == run_id:
        cluster.delete_index(index)


def remove_kept(target: Target, indices: Collection[str], run_ids: Collection[str]) -> None:
    """Delete the kept indices, and what their making may have left, that one of these runs has made.

    One that another run made is that run's, or somebody else's, who may be reading it.
    """
    with contextlib.closing(cluster_of(target.endpoints, PATIENCE_S)) as cluster, contextlib.suppress(StackError):
        for index, mark in cluster.marks(f"{KEPT}*").items():
            if is_kept(index) and index.removesuffix(STAGING) in indices and mark.get("run") in run_ids:
                cluster.delete_index(index)
