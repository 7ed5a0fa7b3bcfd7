"""A single OpenSearch node as a server specification: the sink is tested with it."""

from collections.abc import Mapping
from pathlib import Path

from lab.stack.artifacts import version_key
from lab.stack.elasticsearch import WATERMARKS, heap_options, write_config
from lab.stack.jdk import JavaRange, Jdk
from lab.stack.kafka import fingerprint
from lab.stack.ports import LOOPBACK
from lab.stack.server import ServerSpec

NAME = "opensearch"


def java_for_opensearch(version: str) -> JavaRange:
    """The Java releases that an OpenSearch version runs on.

    Source: OpenSearch's compatibility table. 2.x needs the security manager, which Java 24 dropped; 3.0's own agent
    reads classes up to those of Java 24.
    """
    return JavaRange(11, 23) if version_key(version)[0] < 3 else JavaRange(21, 24)


def opensearch_spec(
    *, version: str, home: Path, folder: Path, jdk: Jdk, heap_mb: int, ports: Mapping[str, int], user: int | None
) -> ServerSpec:
    """A node that is a cluster of its own, its configuration, data and logs below `folder`.

    Args:
        home: The unpacked distribution.
        ports: `http` and `transport`.
        user: Who it runs as; `None` for ourselves.
    """
    settings = {
        "cluster.name": "sluice",
        "node.name": NAME,
        "discovery.type": "single-node",
        "network.host": LOOPBACK,
        "http.port": ports["http"],
        "transport.port": ports["transport"],
        "path.data": str(folder / "data"),
        "path.logs": str(folder / "logs"),
        **WATERMARKS,
    }
    config = write_config("opensearch.yml", settings, home=home, folder=folder, jdk=jdk, user=user)
    jvm_options = heap_options(heap_mb)
    return ServerSpec(
        kind="elasticsearch",  # ready when the same request is answered
        name=NAME,
        version=version,
        java_version=jdk.version,
        command=(str(home / "bin" / "opensearch"),),
        environment={
            "OPENSEARCH_JAVA_HOME": str(jdk.home),
            "OPENSEARCH_PATH_CONF": str(config),
            "OPENSEARCH_TMPDIR": str(folder / "tmp"),
            "OPENSEARCH_JAVA_OPTS": jvm_options,
        },
        ports=dict(ports),
        run_as=user,
        log_file=folder / "opensearch.out",
        server_log=folder / "logs" / "sluice.log",
        shape=fingerprint(NAME, version, jdk.home, jvm_options, settings),
    )
