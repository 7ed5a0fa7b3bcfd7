"""OpenSearch nodes as server specifications."""

from collections.abc import Mapping
from pathlib import Path

from lab.stack.elasticsearch import heap_options, node_name, node_settings, path_with_ps, write_config
from lab.stack.engines import TITLES
from lab.stack.jdk import Jdk
from lab.stack.kafka import fingerprint
from lab.stack.server import ServerSpec


def opensearch_spec(
    *,
    number: int,
    version: str,
    home: Path,
    folder: Path,
    jdk: Jdk,
    heap_mb: int,
    ports: Mapping[str, int],
    first_transport_port: int,
    user: int | None,
    extra_settings: Mapping[str, object] | None = None,
) -> ServerSpec:
    """The n-th node of a cluster, named and set as one of Elasticsearch is; see `elasticsearch_spec`."""
    ours = node_settings(home, number, ports, first_transport_port, folder, master="cluster_manager")
    settings = ours | dict(extra_settings or {})
    config = write_config("opensearch.yml", settings, home=home, folder=folder, jdk=jdk, user=user)
    jvm_options = heap_options(heap_mb)
    return ServerSpec(
        kind="elasticsearch",  # ready when the same request is answered
        name=node_name(number),
        product=TITLES["opensearch"],
        version=version,
        java_version=jdk.version,
        command=(str(home / "bin" / "opensearch"), "-d", "-p", str(folder / "pid")),
        environment={
            "OPENSEARCH_JAVA_HOME": str(jdk.home),
            "OPENSEARCH_PATH_CONF": str(config),
            "OPENSEARCH_TMPDIR": str(folder / "tmp"),
            "OPENSEARCH_JAVA_OPTS": jvm_options,
            **path_with_ps(folder),
        },
        ports=dict(ports),
        run_as=user,
        log_file=folder / "opensearch.out",
        server_log=folder / "logs" / "sluice.log",
        pid_file=folder / "pid",
        shape=fingerprint("opensearch", version, jdk.home, jvm_options, settings),
    )
