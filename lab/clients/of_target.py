"""Clients of a target's servers, with its credentials."""

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.clients.target import Target

PATIENCE_S = 120.0
"""How long a server that does not answer is asked again: it may be restarted while a run is under way."""


def cluster_of(target: Target, patience_s: float = PATIENCE_S) -> ElasticsearchClient:
    """A client of the target's Elasticsearch."""
    return ElasticsearchClient(
        target.endpoints.elasticsearch_urls, access=target.access.elasticsearch, patience_s=patience_s
    )


def worker_of(target: Target, patience_s: float = PATIENCE_S) -> ConnectWorker:
    """A client of the target's Connect worker."""
    return ConnectWorker(target.endpoints.connect_url, access=target.access, patience_s=patience_s)


def topics_of(target: Target) -> KafkaTopics:
    """A client of the target's Kafka."""
    return KafkaTopics(target.endpoints.kafka_bootstrap, target.access.kafka)
