"""Where the figures of a run come from, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.access import Access


@dataclass(frozen=True, slots=True)
class Containers:
    """The containers that servers run in.

    Attributes:
        engine: Where the engine that runs them answers, as `DOCKER_HOST` gives it.
        names: Server name → container.
    """

    engine: str
    names: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """The servers that a sampler asks.

    Attributes:
        elasticsearch_urls: Nodes of the cluster under test; any one that answers is asked.
        index: The index under test.
        kafka_bootstrap: `host:port` of at least one broker, comma-separated.
        topic: The topic under test; `None` where there is none, and Kafka is then not asked.
        consumer_group: Whose committed offset counts; a sink connector's is `connect-<connector>`.
        jolokia_url: HTTP endpoint of the JMX agent in the Connect worker, such as `http://127.0.0.1:8778/jolokia/`;
            `None` where there is none, and the sink's ledger is then not sampled.
        connector: Name of the sink connector; `None` where the sink keeps no ledger of ours.
        access: How the servers are entered.
        containers: `None` for servers that are processes of this machine, or are elsewhere.
    """

    elasticsearch_urls: tuple[str, ...]
    index: str
    kafka_bootstrap: str
    topic: str | None
    consumer_group: str
    jolokia_url: str | None
    connector: str | None
    access: Access = field(default_factory=Access)
    containers: Containers | None = None

    def __post_init__(self) -> None:
        if not self.elasticsearch_urls:
            raise ValueError("sources: elasticsearch_urls: got none, expected at least one URL")
