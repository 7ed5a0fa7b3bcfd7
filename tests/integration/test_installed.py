"""The sink as a stranger installs it: its archive, unpacked into a bare Kafka Connect worker of two release lines."""

import dataclasses
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lab import VERSION
from lab.endpoints import Endpoints
from lab.stack import server
from lab.stack.artifacts import read_lock
from lab.stack.jdk import JavaRange, choose_jdk, find_jdks, java_for_kafka
from lab.stack.kafka import Program, connect_spec
from lab.stack.places import ROOT, cache_dir
from lab.stack.plugin import lab_plugin_folder, plugin_folder
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.readiness import wait_until_ready
from lab.stack.shape import StackShape, kafka_version
from tests.integration.conftest import Sluice
from tests.integration.hub_archive import install
from tests.integration.keyed_drain import keyed_drain

OLDER = "3.9.1"
NEWER = kafka_version(read_lock())
SINK = "io.sluice.connect.ElasticsearchSinkConnector"
RECORDS = 10_007
NAME = f"sluice-connect-elasticsearch-{VERSION}"
BUILT = ROOT / "connect" / "target"
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@pytest.fixture(params=[OLDER, NEWER])
def bare_worker(request: pytest.FixtureRequest, sluice: Sluice, tmp_path: Path) -> Iterator[Endpoints]:
    """A worker of a release line on the session's broker, a group of its own, the hub archive its only plugin."""
    version = request.param
    newest = version == NEWER
    session = sluice.stack.ensure(StackShape(), kept=True)
    plugins = tmp_path / "plugins"
    install(BUILT / "components" / "packages" / f"{NAME}.zip", plugins)
    lock = read_lock()
    jars = sluice.stack.cache.fetch(lock.sets["kafka" if newest else f"connect-{OLDER}"])
    ports = allot_ports(("http", "metrics"), tmp_path / "ports.json", requested={}, in_use={})
    (tmp_path / "log4j.properties").write_text(LOG4J)
    program = Program(
        version,
        tuple(jars) if newest else (tmp_path, *jars),
        choose_jdk(find_jdks(), java_for_kafka() if newest else JavaRange(17, 23), f"Kafka Connect {version}"),
        cache_dir() if newest else tmp_path,
    )
    spec = connect_spec(
        program,
        folder=tmp_path,
        agent=sluice.stack.cache.file(lock.sets["jolokia"][0]),
        heap_mb=512,
        ports=ports,
        kafka_port=int(session.kafka_bootstrap.rpartition(":")[2]),
        plugin_path=(plugins,),
        plugin_version=VERSION,
    )
    properties = tmp_path / "worker.properties"
    properties.write_text(properties.read_text().replace("sluice-connect", f"sluice-bare-{version}"))
    launched = server.start(spec, sluice.state)
    try:
        wait_until_ready(launched, lambda _daemon: None)
        yield dataclasses.replace(
            session,
            connect_url=f"http://{LOOPBACK}:{ports['http']}",
            metrics_url=f"http://{LOOPBACK}:{ports['metrics']}/jolokia",
        )
    finally:
        server.stop([launched])


def test_the_archive_is_all_that_a_bare_worker_needs(bare_worker: Endpoints, tmp_path: Path) -> None:
    """One plugin of ours is listed, its example is valid, updates and deletes arrive, and its metrics are there."""
    listed = httpx.get(f"{bare_worker.connect_url}/connector-plugins", timeout=30).json()
    ours = [plugin for plugin in listed if plugin["class"].startswith("io.sluice.")]
    assert ours == [{"class": SINK, "type": "sink", "version": VERSION}]

    example = json.loads((tmp_path / "plugins" / NAME / "etc" / "elasticsearch-sink.json").read_text())
    config = example["config"] | {"name": example["name"], "connection.url": bare_worker.elasticsearch_urls[0]}
    validated = httpx.put(
        f"{bare_worker.connect_url}/connector-plugins/{SINK}/config/validate", json=config, timeout=60
    ).json()
    errors = [error for setting in validated["configs"] for error in setting["value"]["errors"]]
    assert errors == []

    with keyed_drain(bare_worker, partitions=3, keys=1_009, index_settings={}) as drain:
        drain.fill(RECORDS)
        drain.connector.configure_as(example["config"] | {"tasks.max": "2"})

        drain.check_everything_arrived(tasks=2)


def test_the_archive_brings_its_documents(sluice: Sluice) -> None:  # noqa: ARG001 - it has built it
    """What the sink does, and what one may do with it, are read without the network."""
    archive = zipfile.ZipFile(BUILT / "components" / "packages" / f"{NAME}.zip").namelist()
    expected = {"doc/README.md", "doc/LICENSE", "doc/sink-metrics.md", "etc/strimzi-kafkaconnect.yaml"}
    assert {f"{NAME}/{name}" for name in expected} <= set(archive)


def named_connectors(plugins: Path) -> list[str]:
    """The connectors that the service entries of our jars name, below a folder of plugin folders."""
    entry = "META-INF/services/org.apache.kafka.connect.sink.SinkConnector"
    jars = [zipfile.ZipFile(path) for path in plugins.glob("*/sluice-*.jar")]
    return [line for jar in jars for line in jar.read(entry).decode().split()]


def test_the_connector_that_drops_everything_is_not_in_what_users_get(sluice: Sluice) -> None:
    """Only the lab's own workers list it, from a folder of its own."""
    users, labs = plugin_folder(ROOT / "connect"), lab_plugin_folder(ROOT / "connect")
    held = {name for path in users.glob("*/*.jar") for name in zipfile.ZipFile(path).namelist()}
    assert [name for name in held if name.startswith("io/sluice/") and "Discard" in name] == []
    assert named_connectors(users) == ["io.sluice.connect.ElasticsearchSinkConnector"]
    assert named_connectors(labs) == ["io.sluice.connect.DiscardSinkConnector"]

    listed = httpx.get(f"{sluice.stack.endpoints().connect_url}/connector-plugins", timeout=30).json()
    ours = [plugin["class"] for plugin in listed if plugin["class"].startswith("io.sluice.")]
    assert sorted(ours) == [*named_connectors(labs), *named_connectors(users)]
