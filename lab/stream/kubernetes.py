"""What a profile asks of Kubernetes' operators: its topics and its connector, and a ConfigMap with all else.

Made of the same profiles as Docker Compose's environment files. Strimzi makes topics and connector of these resources;
the index, which no operator knows, is made by `sluice stream index`. All three agree in the stream's id, which is that
of exactly this profile with exactly this mapping.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from lab.clients.clocks import BROKERS_TIME
from lab.clients.target import cluster_of
from lab.endpoints import Access, Endpoints
from lab.errors import ProfileError
from lab.profiles import Profile, load_profile
from lab.profiles.containers import HEADER, NEED_MORE, elasticsearch_limit_mb
from lab.profiles.loader import profile_names
from lab.run.load.connector import connector_config, placeholders
from lab.run.load.drivers import produce_words
from lab.run.names import Names, index_name
from lab.run.prepare import create_index
from lab.stream.prepare import copies_of, refuse_unsuitable, suffix

FOLDER = Path("deploy") / "kubernetes" / "profiles"
CLUSTER = "sluice"
"""What the resources of Kafka, Connect and Elasticsearch are called; their services' names begin with it."""
API = "kafka.strimzi.io/v1"
CONNECTORS = frozenset({"elasticsearch", "empty"})
"""Templates whose plugins are in the image."""
COPIES_OF_DEAD_LETTERS = "errors.deadletterqueue.topic.replication.factor"
SINK_USER = "/mnt/sink"
"""Where the worker finds the Secret of the sink's user."""

SERVERS = Endpoints(
    kafka_bootstrap=f"{CLUSTER}-kafka-bootstrap:9092",
    connect_url=f"http://{CLUSTER}-connect-api:8083",
    elasticsearch_urls=(f"http://{CLUSTER}-es-http:9200",),
    metrics_url=None,
    access=Access(
        sink={
            "connection.username": f"${{directory:{SINK_USER}:username}}",
            "connection.password": f"${{directory:{SINK_USER}:password}}",
        }
    ),
)
"""The services that the operators make, as pods see them."""

Resource = dict[str, Any]


def stream_id(profile: Profile) -> str:
    """The id of the profile's stream on Kubernetes: another profile, or another mapping, begins anew."""
    return f"kubernetes{suffix(profile)}"


def prepare_index(profile: Profile, endpoints: Endpoints) -> int | None:
    """Make the index of the profile's stream on Kubernetes, unless it is there.

    Returns:
        Shards without a node; `None` if the index was there.

    Raises:
        ProfileError: The profile cannot be streamed, or Elasticsearch refuses one of its settings.
        StackError: It does not answer.
    """
    refuse_unsuitable(profile)
    cluster, index = cluster_of(endpoints), index_name(profile)
    try:
        cluster.own_cluster_settings(profile.elasticsearch.cluster_settings)
        if cluster.index_owner(index) == stream_id(profile):
            return None
        return create_index(cluster, profile, index, stream_id(profile))
    finally:
        cluster.close()


# --- the files ------------------------------------------------------------------------------------------------------


def manifests(root: Path) -> Iterator[tuple[Path, str]]:
    """Every file below `deploy/kubernetes/profiles`, relative to the checkout, and what has to stand in it.

    A profile has none that no connector of ours streams, that needs something of the user's, or that asks for
    nodes of certain names or settings, or for an engine without images.
    """
    for name in profile_names(root):
        if name in NEED_MORE:
            continue
        profile = load_profile(name, root=root)
        if is_suitable(profile):
            documents = yaml.safe_dump_all(resources(root, profile), sort_keys=False, allow_unicode=True, width=1000)
            yield FOLDER / f"{name}.yaml", HEADER.format(name=name) + documents


def is_suitable(profile: Profile) -> bool:
    """Whether a profile has resources."""
    try:
        refuse_unsuitable(profile)
    except ProfileError:
        return False
    own_nodes = profile.maintain or profile.elasticsearch.node_settings
    has_images = profile.release.engine.has_images
    return has_images and not own_nodes and profile.sink.connector in CONNECTORS and profile.sink.plugin_path is None


def resources(root: Path, profile: Profile) -> list[Resource]:
    """ConfigMap, topic, dead-letter topic, topic of the producers' clocks, connector."""
    names = Names.of(profile, stream_id(profile))
    topic = profile.topic
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "sluice-profile"},
            "data": settings(profile, names),
        },
        topic_resource(names.topic, topic.partitions, topic.replication_factor, topic.config),
        topic_resource(names.dead_letter_topic, 1, topic.replication_factor, {"retention.ms": -1}),
        topic_resource(names.clock_topic, 1, topic.replication_factor, BROKERS_TIME),
        connector_resource(root, profile, names),
    ]


def settings(profile: Profile, names: Names) -> dict[str, str]:
    """What the other resources take of the profile (base/kustomization.yaml), and what the producers are told."""
    cluster = profile.elasticsearch
    return {
        "PROFILE": profile.name,
        "ELASTICSEARCH_VERSION": cluster.version,
        "ELASTICSEARCH_NODES": str(cluster.data_nodes),
        "ELASTICSEARCH_JAVA_OPTIONS": f"-Xms{cluster.heap_mb}m -Xmx{cluster.heap_mb}m",
        "ELASTICSEARCH_MEMORY": f"{elasticsearch_limit_mb(profile)}Mi",
        "TOPIC": names.topic,
        "CLOCK_TOPIC": names.clock_topic,
        # A shell takes them apart at their spaces.
        "PRODUCE": " ".join(produce_words(profile)),
    }


def topic_resource(name: str, partitions: int, copies: int, config: Mapping[str, object]) -> Resource:
    """A topic; one that needs no more copies than one has as many as the brokers give by default."""
    spec: Resource = {"partitions": partitions}
    if copies > 1:
        spec["replicas"] = copies
    if config:
        spec["config"] = dict(config)
    return {
        "apiVersion": API,
        "kind": "KafkaTopic",
        "metadata": {"name": name, "labels": {"strimzi.io/cluster": CLUSTER}},
        "spec": spec,
    }


def connector_resource(root: Path, profile: Profile, names: Names) -> Resource:
    """The connector with the configuration that a run gives it; the operator keeps name, class and tasks apart."""
    config = connector_config(root, profile, placeholders(profile, SERVERS, names), SERVERS.access)
    if COPIES_OF_DEAD_LETTERS in config:
        # The worker makes the topic where the operator has not yet.
        config[COPIES_OF_DEAD_LETTERS] = str(copies_of(profile))
    apart = {"name", "connector.class", "tasks.max"}
    return {
        "apiVersion": API,
        "kind": "KafkaConnector",
        "metadata": {"name": names.connector, "labels": {"strimzi.io/cluster": CLUSTER}},
        "spec": {
            "class": config["connector.class"],
            "tasksMax": profile.sink.tasks,
            "config": {setting: value for setting, value in config.items() if setting not in apart},
        },
    }
