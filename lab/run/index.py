"""The index of a run: made from mapping and profile, marked as ours, never one that somebody else made."""

import hashlib
import re

from lab.clients.elasticsearch import ElasticsearchClient, IndexExistsError
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.mapping import index_body, load_mapping

GREEN_WITHIN_S = 30


def index_name(profile: Profile) -> str:
    """The index of a profile: `sluice-` and its name in the characters that Elasticsearch and Kafka both take.

    Where that changes more than a slash, a hash of the name keeps two profiles apart.
    """
    taken = re.sub(r"[^a-z0-9_.]+", "-", profile.name.lower()).strip("-.")
    if re.fullmatch(r"[a-z0-9_./-]+", profile.name):
        return f"sluice-{taken}"
    return "-".join(filter(None, ("sluice", taken, hashlib.sha256(profile.name.encode()).hexdigest()[:8])))


def create_index(cluster: ElasticsearchClient, profile: Profile, index: str, run_id: str) -> int:
    """Make the index of a run anew.

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
    body = index_body(load_mapping(profile.mapping), profile.index, cluster.has_analyzer)
    mappings = {**body["mappings"], "_meta": {**body["mappings"].get("_meta", {}), "sluice": {"run": run_id}}}
    if owner is not None:
        cluster.delete_index(index)
    try:
        cluster.create_index(index, {**body, "mappings": mappings})
    except IndexExistsError:
        # Asked again because an answer was lost, Elasticsearch finds the index that it has just made.
        if cluster.index_owner(index) != run_id:
            raise
    status, _ = cluster.index_health(index, "yellow", GREEN_WITHIN_S)
    if profile.number_of_replicas and profile.elasticsearch.data_nodes > 1:
        status, unassigned = cluster.index_health(index, "green", GREEN_WITHIN_S)
    else:
        status, unassigned = cluster.index_health(index, status, 1)
    if status == "red":
        raise ProfileError(f"index {index}: a primary shard finds no node to be on; look at its allocation settings")
    return unassigned
