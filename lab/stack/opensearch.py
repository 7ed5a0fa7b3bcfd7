"""A single OpenSearch node as a server specification: the sink is tested with it, profiles run on Elasticsearch."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

from lab.stack.artifacts import version_key
from lab.stack.elasticsearch import WATERMARKS, give_to, with_own_folders, with_present_modules
from lab.stack.jdk import JavaRange, Jdk, asked_jvm_options
from lab.stack.kafka import fingerprint, write_if_changed
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
    config = folder / "config"
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
    if not config.is_dir():
        shutil.copytree(home / "config", config)
        options = config / "jvm.options"
        options.write_text(with_present_modules(with_own_folders(options.read_text("utf-8"), folder), jdk), "utf-8")
    write_if_changed(config / "opensearch.yml", yaml.safe_dump(settings, sort_keys=False))
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    give_to(user, folder)
    jvm_options = " ".join((f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m", *asked_jvm_options()))
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
        pid_file=None,
        archive=None,
        shape=fingerprint(NAME, version, jdk.home, jvm_options, settings),
    )
