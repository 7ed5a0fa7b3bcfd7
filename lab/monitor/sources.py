"""Where the figures of a run come from, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.endpoints import Endpoints


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
        endpoints: Any node that answers is asked. Without `metrics_url` the sink's ledger is not sampled.
        index: The index under test.
        topic: The topic under test; `None` where there is none, and Kafka is then not asked.
        consumer_group: Whose committed offset counts; a sink connector's is `connect-<connector>`.
        connector: Name of the sink connector; `None` where the sink keeps no ledger of ours.
        containers: `None` for servers that are processes of this machine, or are elsewhere.
    """

    endpoints: Endpoints
    index: str
    topic: str | None
    consumer_group: str
    connector: str | None
    containers: Containers | None = None
