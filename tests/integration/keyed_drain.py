"""A topic of keyed updates and deletes, a connector that drains it, and what must be true of the index in the end."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.endpoints import Endpoints
from tests.integration.keyed_stream import Comparison, KeyedStream, stored_documents
from tests.integration.sink_connector import SinkConnector

MAPPINGS = {"properties": {"number": {"type": "long"}, "key": {"type": "keyword"}, "text": {"enabled": False}}}


@dataclass(frozen=True)
class KeyedDrain:
    """A stream on its way into an index; topic, index and connector have one name."""

    name: str
    bootstrap: str
    stream: KeyedStream
    connector: SinkConnector
    cluster: ElasticsearchClient
    topics: KafkaTopics

    def fill(self, records: int) -> None:
        """Put so many records into the topic."""
        self.stream.send(records)
        self.stream.finish()
        assert sum(self.topics.end_offsets(self.name).values()) == self.stream.produced

    def compare(self) -> Comparison:
        """The index against what was produced."""
        return self.stream.compared_with(stored_documents(self.cluster, self.name))

    def check_everything_arrived(self, *, tasks: int) -> None:
        """Every record is committed, every document is the last of its key, the ledger of every task balances."""
        self.connector.wait_until_drained()
        self.connector.wait_until(lambda: self.connector.states() == ["RUNNING"] * tasks, "running")
        self.connector.wait_until(lambda: len(self.connector.ledgers()) == tasks, "seen in the metrics")
        comparison = self.compare()
        assert comparison == Comparison(compared=comparison.compared)
        assert self.connector.balance() == [0] * tasks
        assert [ledger["RecordsInFlight"] for ledger in self.connector.ledgers()] == [0] * tasks


@contextlib.contextmanager
def keyed_drain(
    endpoints: Endpoints,
    *,
    partitions: int,
    keys: int,
    index_settings: Mapping[str, object],
    topic_config: Mapping[str, object] | None = None,
) -> Iterator[KeyedDrain]:
    """A drain of its own, whose topic, index and connector are gone afterwards."""
    name = f"sluice-test-{secrets.token_hex(4)}"
    cluster = ElasticsearchClient(endpoints.elasticsearch_urls)
    topics = KafkaTopics(endpoints.kafka_bootstrap)
    topics.create(name, partitions=partitions, replication_factor=1, config=topic_config or {})
    cluster.create_index(name, {"settings": {"number_of_replicas": 0, **index_settings}, "mappings": MAPPINGS})
    stream = KeyedStream(endpoints.kafka_bootstrap, name, keys=keys, seed=len(name))
    connector = SinkConnector(endpoints, name)
    try:
        yield KeyedDrain(name, endpoints.kafka_bootstrap, stream, connector, cluster, topics)
    finally:
        connector.delete()
        topics.delete([name])
        cluster.delete_index(name)
        cluster.close()
