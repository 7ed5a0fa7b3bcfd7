"""The sink as a stranger installs it: its archive, unpacked into a bare Kafka Connect worker of two release lines."""

import dataclasses
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lab import VERSION
from lab.endpoints import Access, Endpoints
from lab.engines import JavaRange
from lab.stack import metrics_agent, server
from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.jdk import choose_jdk, find_jdks, java_for_kafka
from lab.stack.kafka import Program, connect_spec
from lab.stack.places import ROOT, cache_dir
from lab.stack.plugin import build_plugin, lab_plugin_folder, plugin_folder
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.readiness import wait_until_ready
from lab.stack.runtimes import java_runtime
from lab.stack.shape import StackShape, kafka_version
from tests.integration.conftest import Sluice
from tests.integration.hub_archive import install
from tests.integration.keyed_drain import keyed_drain
from tests.integration.plugin_builds import calls_into_java, copy_of_the_project, entries, plugin_files
from tools.maven import maven

OLDER = "3.9.1"
NEWER = kafka_version(read_lock())
SINK = "io.sluice.connect.ElasticsearchSinkConnector"
RECORDS = 10_007
NAME = f"sluice-connect-elasticsearch-{VERSION}"
OUR_JARS = (f"{NAME}.jar", f"{NAME}-discard.jar")
LOG4J = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `mvn package` leaves for users."""
    project = copy_of_the_project(tmp_path_factory.mktemp("maven"))
    maven(project, "package", "-Dmaven.test.skip=true")
    return project / "target"


@pytest.fixture(params=[OLDER, NEWER])
def bare_worker(request: pytest.FixtureRequest, sluice: Sluice, built: Path, tmp_path: Path) -> Iterator[Endpoints]:
    """A worker of a release line on the session's broker, a group of its own, the hub archive its only plugin."""
    version = request.param
    newest = version == NEWER
    session = sluice.stack.ensure(StackShape(), kept=True)
    plugins = tmp_path / "plugins"
    install(built / "components" / "packages" / f"{NAME}.zip", plugins)
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
    text = properties.read_text().replace("sluice-connect", f"sluice-bare-{version}")
    if version == OLDER:
        # The policy came with 4.2 (KIP-1188).
        text = text.replace("override.policy=Allowlist", "override.policy=All")
    properties.write_text(text)
    launched = server.start(spec, sluice.state)
    assert spec.agent_config is not None
    try:
        wait_until_ready(launched, lambda _daemon: None)
        yield dataclasses.replace(
            session,
            connect_url=f"http://{LOOPBACK}:{ports['http']}",
            metrics_url=f"http://{LOOPBACK}:{ports['metrics']}/jolokia",
            access=Access(metrics=metrics_agent.access(metrics_agent.password(spec.agent_config))),
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


def test_the_archive_brings_its_documents(built: Path) -> None:
    """What the sink does, and what one may do with it, are read without the network."""
    archive = zipfile.ZipFile(built / "components" / "packages" / f"{NAME}.zip").namelist()
    expected = {"doc/README.md", "doc/LICENSE", "doc/sink-metrics.md", "etc/strimzi-kafkaconnect.yaml"}
    assert {f"{NAME}/{name}" for name in expected} <= set(archive)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the lab builds, without Maven and without a JDK."""
    project = copy_of_the_project(tmp_path_factory.mktemp("ours"))
    build_plugin(project, java_runtime(25, cache_dir()), ArtifactCache(cache_dir()), read_lock())
    return project / "target"


def test_the_lab_fills_the_folders_that_maven_fills(ours: Path, built: Path) -> None:
    """With the very same libraries."""
    files, expected = plugin_files(ours), plugin_files(built)
    assert files.keys() == expected.keys()
    libraries = {name for name in files if not name.endswith(OUR_JARS)}
    assert len(libraries) == 6
    assert {name: files[name].read_bytes() for name in libraries} == {
        name: expected[name].read_bytes() for name in libraries
    }


@pytest.mark.parametrize("jar", OUR_JARS)
def test_the_labs_jars_are_those_of_maven(ours: Path, built: Path, jar: str) -> None:
    """The same classes and resources; javac writes the tables of some switches as further classes."""
    made, expected = (entries(next(target.glob(f"*plugin/*/{jar}"))) for target in (ours, built))
    tables = {name for name in expected.keys() - made.keys() if re.search(r"\$\d+\.class$", name)}
    assert made.keys() == expected.keys() - tables
    resources = {name for name in made if not name.endswith(".class")}
    assert {name: made[name] for name in resources} == {name: expected[name] for name in resources}
    assert resources >= {"META-INF/services/org.apache.kafka.connect.sink.SinkConnector"}


def test_the_labs_classes_call_nothing_that_java_17_lacks(ours: Path, built: Path) -> None:
    """They are compiled against a newer Java; Maven's are checked against that of Java 17."""
    made, expected = (set().union(*map(calls_into_java, target.glob("*plugin/*/sluice-*"))) for target in (ours, built))
    assert made - expected == set()
    assert len(made) > 300


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
