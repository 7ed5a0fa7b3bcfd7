"""The servers that a run uses, wherever they are, and clients of them."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from lab.clients.connect import ConnectWorker
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.kafka import KafkaTopics
from lab.endpoints import Access, Endpoints
from lab.errors import ProfileError
from lab.monitor import Containers
from lab.records.run import Server
from lab.stack.groups import Bounds

PATIENCE_S = 120.0
"""How long a server that does not answer is asked again: it may be restarted while a run is under way."""


@contextmanager
def unbounded(bounds: Bounds) -> Iterator[None]:
    """Servers that nothing is set of; raises ProfileError if a bound is asked for."""
    if bounds != Bounds():
        raise ProfileError(
            "elasticsearch: got a bound of memory or disk reads, expected none: these servers are used as "
            "they are; run it on local servers"
        )
    yield


@dataclass(frozen=True)
class Target:
    """Servers to run on.

    Attributes:
        name: `local`, `compose`, `remote`.
        process_ids: Server name → pid on this machine, as it is at the moment; empty for servers elsewhere.
        fresh: Whether they were started just now, and are cold.
        child_environment: What a process that a run starts must have in its environment, so that it is found again
            and stopped if the run dies without stopping it.
        check: What is wrong with a server at the moment, empty if nothing is; raises StackError when one has ended
            for good.
        index_settings: What every index on them is made with, dotted, without `index.`: the nodes that it may use.
        kept: Kept indices that runs to come on these servers read, besides those that each run looks after.
        run_ids: Runs of the suite that is under way: what they have made, its next ones may use.
        containers: Those that the servers run in; `None` where they run in none that is known.
        bounded: Bounds every Elasticsearch node while its `with` block lasts.
        beside_ids: Pids of servers that another run of the same suite uses at the same time.
    """

    name: str
    endpoints: Endpoints
    process_ids: Callable[[], Mapping[str, int]]
    servers: Sequence[Server]
    java_versions: Mapping[str, str]
    fresh: bool
    child_environment: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[], str] = str
    index_settings: Mapping[str, object] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    run_ids: frozenset[str] = frozenset()
    containers: Containers | None = None
    bounded: Callable[[Bounds], AbstractContextManager[None]] = unbounded
    beside_ids: Callable[[], Collection[int]] = tuple

    @property
    def access(self) -> Access:
        """Credentials for the servers."""
        return self.endpoints.access


def cluster_of(
    endpoints: Endpoints, patience_s: float = PATIENCE_S, sleep: Callable[[float], None] = time.sleep
) -> ElasticsearchClient:
    """A client of Elasticsearch."""
    return ElasticsearchClient(
        endpoints.elasticsearch_urls, access=endpoints.access.elasticsearch, patience_s=patience_s, sleep=sleep
    )


def worker_of(
    endpoints: Endpoints, patience_s: float = PATIENCE_S, sleep: Callable[[float], None] = time.sleep
) -> ConnectWorker:
    """A client of the Connect worker."""
    return ConnectWorker(endpoints.connect_url, access=endpoints.access, patience_s=patience_s, sleep=sleep)


def topics_of(endpoints: Endpoints) -> KafkaTopics:
    """A client of Kafka."""
    return KafkaTopics(endpoints.kafka_bootstrap, endpoints.access.kafka)
