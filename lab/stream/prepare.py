"""A stream without end through servers that stay: its index, topics and connector, made where they are missing.

What is stored, what the sink has read and what was sent, the servers themselves know: a stream goes on where it was,
however it was stopped. Its id stands in the index and in the name of its topic; where the two do not belong together,
it begins anew.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import BROKERS_DEFAULT, KafkaTopics
from lab.clients.target import cluster_of, topics_of, worker_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.mapping import load_mapping
from lab.run.load.connector import connector_config, placeholders
from lab.run.names import Names, index_name
from lab.run.prepare import create_index, remove_connectors, remove_topics
from lab.stream.laps import RETAINED_BYTES

SEGMENT_BYTES = 64 << 20
KEPT: dict[str, object] = {"retention.ms": "-1"}
"""Nothing goes because it is old: the stack may have been stopped for months."""


@dataclass(frozen=True)
class PreparedStream:
    """A stream that can be sent.

    Attributes:
        is_new: It begins with its first document; otherwise it goes on.
        unassigned: Shards without a node; `None` for a stream that goes on.
    """

    names: Names
    is_new: bool
    unassigned: int | None


def prepare_stream(
    profile: Profile, endpoints: Endpoints, *, root: Path, clock: Callable[[], float] = time.time
) -> PreparedStream:
    """Make what the stream of this profile lacks, and let its sink be the only one that runs.

    Raises:
        ProfileError: The profile cannot be streamed, or a server refuses one of its settings.
        StackError: A server does not answer, or the connector fails.
    """
    refuse_unsuitable(profile)
    cluster, worker, topics = cluster_of(endpoints), worker_of(endpoints), topics_of(endpoints)
    try:
        existing = find_stream(cluster, topics, profile)
        stream_id = new_id(profile, clock())
        names = existing or Names.of(profile, stream_id)
        values = placeholders(profile, endpoints, names)
        config = connector_config(root, profile, values, endpoints.access)
        worker.validate(config)
        remove_connectors(worker, topics, names)
        unassigned = None if existing else begin(cluster, topics, profile, names, stream_id)
        cluster.own_cluster_settings(profile.elasticsearch.cluster_settings)
        drop_failed(worker, names)
        worker.create(names.connector, config)
        worker.wait_until_running(names.connector)
    finally:
        cluster.close()
        worker.close()
    return PreparedStream(names, existing is None, unassigned)


def refuse_unsuitable(profile: Profile) -> None:
    """Refuse a profile that has no topic or no connector; raises ProfileError if it is one."""
    if not profile.load.fills_index:
        place = profile.where.get("load.mode", profile.name)
        raise ProfileError(f"{place}: load.mode: got query, expected documents to stream; use `./sluice run`")
    stated = (profile.where.get(key) for key in ("load.via", "sink.command", "sink.pipeline"))
    place = next(filter(None, stated), profile.name)
    if profile.indices > 1:
        place = profile.where.get("indices", profile.name)
        raise ProfileError(f"{place}: indices: got {profile.indices}, expected 1; use `./sluice run`")
    if not profile.load.uses_kafka:
        raise ProfileError(f"{place}: load.via: got {profile.load.via}, expected kafka; use `./sluice run`")
    if profile.sink.command:
        raise ProfileError(f"{place}: sink.command: got a command, expected a connector; use `./sluice run`")
    if profile.sink.pipeline:
        raise ProfileError(f"{place}: sink.pipeline: got a pipeline, expected a connector; use `./sluice run`")


def new_id(profile: Profile, now_s: float) -> str:
    """The id of a stream that begins now: of its time and of all that the profile says."""
    stamp = datetime.fromtimestamp(now_s, UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}{suffix(profile)}"


def suffix(profile: Profile) -> str:
    """How the id of every stream of exactly this profile, with exactly this mapping, ends."""
    mapping = orjson.dumps(load_mapping(profile.mapping), option=orjson.OPT_SORT_KEYS)
    return f"-stream-{hashlib.sha256(profile.fingerprint().encode() + mapping).hexdigest()[:8]}"


def find_stream(cluster: ElasticsearchClient, topics: KafkaTopics, profile: Profile) -> Names | None:
    """The stream of this profile that can go on; `None` if there is none, or the profile is not what it was."""
    owner = cluster.index_owner(index_name(profile))
    if not owner or not owner.endswith(suffix(profile)):
        return None
    names = Names.of(profile, owner)
    return names if names.topic in topics.names() else None


def copies_of(profile: Profile) -> int:
    """How many brokers keep each partition; a profile that asks for one leaves it to the brokers."""
    asked = profile.topic.replication_factor
    return asked if asked > 1 else BROKERS_DEFAULT


def begin(cluster: ElasticsearchClient, topics: KafkaTopics, profile: Profile, names: Names, stream_id: str) -> int:
    """Make index and topics; what earlier streams and runs of the profile left goes. Shards without a node."""
    unassigned = create_index(cluster, profile, names.index, stream_id)
    remove_topics(topics, names)
    topic = profile.topic
    copies = copies_of(profile)
    bounded = {
        **KEPT,
        "retention.bytes": RETAINED_BYTES // topic.partitions,
        "segment.bytes": min(SEGMENT_BYTES, RETAINED_BYTES // topic.partitions // 4),
        **topic.config,
    }
    # The topic last: an index whose topic is missing is begun anew.
    topics.create(names.dead_letter_topic, partitions=1, replication_factor=copies, config=KEPT)
    topics.create(names.topic, partitions=topic.partitions, replication_factor=copies, config=bounded)
    return unassigned


def drop_failed(worker: ConnectWorker, names: Names) -> None:
    """Remove the stream's own connector if it has failed: the same settings again would not start its tasks anew."""
    if worker.has_failed(names.connector):
        worker.delete(names.connector)
