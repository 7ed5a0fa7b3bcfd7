"""What a run finds in the servers and what it makes there before its load."""

from lab.clients.connect import ConnectWorker
from lab.clients.kafka import KafkaTopics
from lab.profiles import Profile
from lab.run.names import Names


def remove_earlier_runs(worker: ConnectWorker, topics: KafkaTopics, names: Names) -> None:
    """Remove connectors of ours, and topics that earlier runs of the profile left behind."""
    prefix = f"{names.index}-"
    for connector in worker.connectors():
        if connector.startswith("sluice-"):
            worker.delete(connector)
    stamps = tuple(name for name in topics.names() if name.startswith(prefix) and name[len(prefix)].isdigit())
    topics.delete(stamps)


def create_topics(topics: KafkaTopics, profile: Profile, names: Names) -> None:
    """Make the run's topic and the one for its dead letters."""
    topic = profile.topic
    topics.create(
        names.topic, partitions=topic.partitions, replication_factor=topic.replication_factor, config=topic.config
    )
    topics.create(names.dead_letter_topic, partitions=1, replication_factor=topic.replication_factor, config={})
