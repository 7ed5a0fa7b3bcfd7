"""What a run leaves in the servers, and its removal."""

import contextlib

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import Target, cluster_of, topics_of
from lab.errors import StackError
from lab.profiles import Profile
from lab.run.names import Names

PATIENCE_S = 10.0


def remove_traces(target: Target, profile: Profile, run_id: str) -> None:
    """Delete index and topics of a run that is over: open shards and their merges would burden the next one.

    A server that is gone keeps them; the next run of the profile removes them then.
    """
    names = Names.of(profile, run_id)
    cluster = cluster_of(target.endpoints, PATIENCE_S)
    topics = topics_of(target.endpoints)
    try:
        # A sink that was interrupted still writes for a moment, and would make the index anew, without our mark.
        topics.wait_until_left(names.consumer_group, PATIENCE_S)
        with contextlib.suppress(StackError):
            remove_index(cluster, names.index, run_id)
        with contextlib.suppress(StackError):
            topics.delete((names.topic, names.dead_letter_topic))
    finally:
        cluster.close()


def remove_index(cluster: ElasticsearchClient, index: str, run_id: str) -> None:
    """Delete the index if the run has made it; one that was refused because the index is somebody else's has not."""
    if cluster.index_owner(index) == run_id:
        cluster.delete_index(index)
