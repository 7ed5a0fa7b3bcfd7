"""Servers in containers, as a run uses them: where they are reached, and what they are."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from lab.clients.target import Target
from lab.endpoints import Access, Endpoints
from lab.errors import StackError
from lab.monitor import Containers
from lab.records import Server
from lab.run.load.sink import ELASTICSEARCH_URLS
from lab.stack.compose import NODES, Container
from lab.targets.remote_servers import RemoteTarget

HOST = "127.0.0.1"
KAFKA_PORT, CONNECT_PORT, JMX_AGENT_PORT, ELASTICSEARCH_PORT = 9092, 8083, 8778, 9200
"""Ports inside the containers."""


def addresses(containers: Mapping[str, Container]) -> Endpoints:
    """Where the containers are reached from this machine, and Elasticsearch from the worker's container.

    Args:
        containers: By service.

    Raises:
        StackError: One of them is missing, or cannot be reached.
    """
    nodes = [containers[service] for service in NODES if service in containers]
    inside = ",".join(f"http://{node.service}:{ELASTICSEARCH_PORT}" for node in nodes)
    return Endpoints(
        kafka_bootstrap=address(containers, "kafka", KAFKA_PORT),
        connect_url=f"http://{address(containers, 'connect', CONNECT_PORT)}",
        # The other nodes publish no port; the first one passes on what is theirs.
        elasticsearch_urls=(f"http://{address(containers, NODES[0], ELASTICSEARCH_PORT)}",),
        metrics_url=f"http://{address(containers, 'connect', JMX_AGENT_PORT)}/jolokia",
        access=Access(sink={ELASTICSEARCH_URLS: inside}),
    )


def address(containers: Mapping[str, Container], service: str, port: int) -> str:
    """Where a port of a service is reached from this machine."""
    if service not in containers:
        raise StackError(f"service {service}: no container of it is running; see: docker compose ps --all")
    container = containers[service]
    if port not in container.ports:
        raise StackError(f"container {container.name}: port {port} is not published, expected it on {HOST}")
    return f"{HOST}:{container.ports[port]}"


def target_of(
    found: RemoteTarget, containers: Mapping[str, Container], engine: str, before: Collection[int] = ()
) -> Target:
    """The containers as a run uses them.

    Args:
        found: What the servers in them say of themselves.
        containers: By service.
        engine: Where the engine is asked what they use.
        before: First processes of the containers that ran before, and are warm.
    """
    told = found.target()
    versions = {server.name: server.version for server in told.servers}
    named = {f"elasticsearch-{number}": containers[name] for number, name in enumerate(NODES, 1) if name in containers}
    named |= {name: containers[name] for name in ("kafka", "connect")}
    return replace(
        told,
        name="compose",
        servers=[
            server_of(name, versions.get(name) or tag_of(container.image), container)
            for name, container in named.items()
        ],
        fresh=any(container.pid not in before for container in named.values()),
        containers=Containers(engine, {name: container.name for name, container in named.items()}),
    )


def server_of(name: str, version: str, container: Container) -> Server:
    """A server as a run records it, with what holds its container back."""
    memory = () if container.memory_bytes is None else (f"memory={container.memory_bytes}",)
    return Server(
        name=name, version=version, pid=container.pid, command_line_options=(f"image={container.image}", *memory)
    )


def tag_of(image: str) -> str:
    """The tag of an image, which is its version as far as anybody tells; the image itself where it has none."""
    _, _, tag = image.rpartition("/")[2].partition(":")
    return tag or image
