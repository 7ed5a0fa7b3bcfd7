"""What a run needs to know of the servers it runs on, wherever they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lab.access import Access
from lab.monitor import Containers
from lab.records import Server


class Endpoints(Protocol):
    """Where the servers of a target are found."""

    @property
    def kafka_bootstrap(self) -> str:
        """`host:port` of at least one broker."""
        ...

    @property
    def connect_url(self) -> str:
        """The REST API of a Connect worker."""
        ...

    @property
    def elasticsearch_urls(self) -> tuple[str, ...]:
        """The nodes' HTTP endpoints."""
        ...

    @property
    def metrics_url(self) -> str | None:
        """The JMX agent of the Connect worker; `None` where there is none."""
        ...


@dataclass(frozen=True)
class Target:
    """Servers to run on.

    Attributes:
        name: `local`, `compose`, `remote`.
        process_ids: Server name → pid on this machine, as it is at the moment; empty for servers elsewhere.
        fresh: Whether they were started just now, and are cold.
        child_environment: What a process that a run starts must have in its environment, so that it is found again
            and stopped if the run dies without stopping it.
        access: How the servers are entered.
        containers: Those that the servers run in; `None` where they run in none that is known.
    """

    name: str
    endpoints: Endpoints
    process_ids: Callable[[], Mapping[str, int]]
    servers: Sequence[Server]
    java_versions: Mapping[str, str]
    fresh: bool
    child_environment: Mapping[str, str] = field(default_factory=dict)
    access: Access = field(default_factory=Access)
    containers: Containers | None = None
