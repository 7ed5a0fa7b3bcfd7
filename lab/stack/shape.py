"""What the servers of this machine shall be: versions, nodes, memory, ports."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.engines import DEFAULT, Release
from lab.errors import ProfileError, StackError
from lab.stack import elasticsearch
from lab.stack.artifacts import ArtifactLock
from lab.stack.jdk import Jdk, read_java
from lab.stack.kafka import fingerprint
from lab.stack.runtimes import choose_java, runtimes

MAX_NODES = 6
MEMORY_BESIDE_HEAP_MB = 300
"""What a JVM of ours takes beside its heap: metaspace, code, threads, direct buffers."""


@dataclass(frozen=True)
class StackShape:
    """What the servers shall be.

    Attributes:
        release: What the nodes are; what is said of Elasticsearch below holds for every engine.
        data_nodes: Elasticsearch nodes, 1 to 6; the first is also the master.
        node_settings: Settings of each Elasticsearch node beside those that make it a node of this cluster.
        plugin_folders: Folders of plugin folders, of other people's connectors, beside our own.
        elasticsearch_java: Feature release of the Java that Elasticsearch runs on; `None`: of one that fits.
        distribution: `official`, or the folder of an unpacked archive; `None`: the distribution that is locked.
        requested_ports: By server name (`elasticsearch-1`, `kafka`, `connect`): the port its clients shall find it at.
    """

    release: Release = DEFAULT
    data_nodes: int = 1
    elasticsearch_heap_mb: int = 1024
    kafka_heap_mb: int = 512
    connect_heap_mb: int = 1024
    node_settings: Mapping[str, object] = field(default_factory=dict)
    plugin_folders: tuple[Path, ...] = ()
    requested_ports: Mapping[str, int] = field(default_factory=dict)
    elasticsearch_java: int | None = None
    distribution: str | None = None

    @property
    def data_folder(self) -> str:
        """Folder of the nodes' data: no distribution reads what plugins of another one have stored."""
        name = self.release.set_name
        return name if self.distribution is None else f"{name}-{fingerprint(self.distribution)[:8]}"

    @property
    def memory_mb(self) -> int:
        """Memory that all servers together will take, page cache not counted."""
        heaps = [self.elasticsearch_heap_mb] * self.data_nodes + [self.kafka_heap_mb, self.connect_heap_mb]
        return sum(heaps) + MEMORY_BESIDE_HEAP_MB * len(heaps)


def fitting_java(shape: StackShape, lock: ArtifactLock, jdks: Sequence[Jdk]) -> Jdk | int:
    """The JDK of this machine that the shape's nodes get, or else the feature release of a runtime; fetches nothing.

    An unpacked archive with a JDK runs on that one, unless the shape has another feature release.

    Raises:
        ProfileError: The version is not available, or does not run on the Java that is asked for.
        StackError: The number of nodes is not possible, or no Java fits.
    """
    release = shape.release
    available = lock.releases(release.engine)
    if shape.distribution is None and release not in available:
        expected = ", ".join(other.version for other in available)
        raise ProfileError(f"{release} is not available, expected one of {expected}")
    if not 1 <= shape.data_nodes <= MAX_NODES:
        raise StackError(f"elasticsearch.data_nodes: got {shape.data_nodes}, expected 1 to {MAX_NODES}")
    supported = release.java
    own = read_java(Path(shape.distribution) / "jdk") if shape.distribution else None
    if own and shape.elasticsearch_java is None:
        return own
    if shape.elasticsearch_java is not None:
        check_java_is_there(release, shape.elasticsearch_java, {jdk.feature for jdk in jdks} | set(runtimes()))
        supported = replace(supported, oldest=shape.elasticsearch_java, newest=shape.elasticsearch_java)
    return choose_java(jdks, supported, str(release))


def check_java_is_there(release: Release, feature: int, there: Collection[int]) -> None:
    """Raise ProfileError unless the nodes run on this feature release of Java, and it is available."""
    if feature not in release.java.features:
        raise ProfileError(f"elasticsearch.java: got {feature}, expected {release.java} for {release}")
    if feature not in there:
        fitting = ", ".join(str(each) for each in release.java.features if each in there) or "none"
        raise ProfileError(f"elasticsearch.java: got {feature}, expected an available one: {fitting}")


def port_names(data_nodes: int) -> tuple[str, ...]:
    """Every port of a stack, as `server.purpose`."""
    nodes = (elasticsearch.node_name(number) for number in range(1, data_nodes + 1))
    return (
        "kafka.client",
        "kafka.controller",
        "connect.http",
        "connect.metrics",
        *(f"{node}.{purpose}" for node in nodes for purpose in ("http", "transport")),
    )


def ports_of(name: str, ports: Mapping[str, int]) -> dict[str, int]:
    """One server's ports, by purpose."""
    return {
        purpose: port for key, port in ports.items() for owner, _, purpose in [key.rpartition(".")] if owner == name
    }


def kafka_version(lock: ArtifactLock) -> str:
    """The pinned Kafka version."""
    (client,) = (artifact for artifact in lock.sets["kafka"] if "/kafka-clients/" in artifact.path)
    return client.path.split("/")[-2]
