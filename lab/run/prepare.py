"""What a run finds in the servers and what it makes there before its load."""

from lab.clients.connect import ConnectWorker
from lab.clients.kafka import KafkaTopics
from lab.profiles import Profile
from lab.run.names import Names, is_our_connector


def remove_earlier_runs(worker: ConnectWorker, topics: KafkaTopics, names: Names, *, shared: bool) -> None:
    """Remove connectors of ours, and topics that earlier runs of the profile left behind.

    Args:
        shared: Others use the servers, too: a connector of another profile may be that of their run.
    """
    for connector in worker.connectors():
        if names.is_topic(connector) if shared else is_our_connector(connector):
            worker.delete(connector)
    topics.delete(tuple(filter(names.is_topic, topics.names())))


def create_topics(topics: KafkaTopics, profile: Profile, names: Names) -> None:
    """Make the run's topic and the one for its dead letters."""
    topic = profile.topic
    topics.create(
        names.topic, partitions=topic.partitions, replication_factor=topic.replication_factor, config=topic.config
    )
    topics.create(names.dead_letter_topic, partitions=1, replication_factor=topic.replication_factor, config={})
