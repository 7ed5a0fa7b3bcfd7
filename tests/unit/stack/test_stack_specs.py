"""Specifications of the servers: what makes one differ from another, and what does not."""

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.engines import DEFAULT, Engine, Release
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.stack import elasticsearch as elasticsearch_module
from lab.stack.elasticsearch import give_to, node_settings, node_spec, vector_instructions
from lab.stack.jdk import Jdk
from lab.stack.kafka import (
    NO_PROVIDERS,
    OVERRIDABLE,
    Program,
    class_data_options,
    connect_spec,
    fingerprint,
    kafka_spec,
)
from lab.stack.places import ROOT
from lab.stack.server import ServerSpec

JDK_17 = Jdk(Path("/jdk-17"), 17, "17.0.15")
JDK_21 = Jdk(Path("/jdk-21"), 21, "21.0.7")
JARS = (Path("/jars/broker.jar"), Path("/jars/client.jar"))


def program(folder: Path, changes: dict[str, Any]) -> Program:
    """What both servers are started from; changes of it are taken out of those of the server."""
    own = {name: changes.pop(name) for name in ("version", "jars", "jdk") if name in changes}
    return replace(Program("4.3.1", JARS, JDK_17, folder / "cache"), **own)


def broker(folder: Path, **changes: Any) -> ServerSpec:
    """A broker."""
    made_from = program(folder, changes)
    values = {
        "folder": folder / "kafka",
        "heap_mb": 509,
        "ports": {"client": 9101, "controller": 9103},
    }
    return kafka_spec(made_from, **(values | changes))


def worker(folder: Path, **changes: Any) -> ServerSpec:
    """A Connect worker."""
    made_from = program(folder, changes)
    values = {
        "folder": folder / "connect",
        "agent": Path("/jars/agent.jar"),
        "heap_mb": 1021,
        "ports": {"http": 9107, "metrics": 9109},
        "kafka_port": 9101,
        "plugin_path": (Path("/plugins"), Path("/lab-plugins")),
        "plugin_version": "first",
    }
    return connect_spec(made_from, **(values | changes))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An unpacked Elasticsearch without the security module."""
    (tmp_path / "home" / "config").mkdir(parents=True)
    (tmp_path / "home" / "config" / "jvm.options").write_text("-XX:+UseG1GC\n")
    return tmp_path / "home"


def node(home: Path, folder: Path, **changes: Any) -> ServerSpec:
    """An Elasticsearch node."""
    values = {
        "number": 1,
        "release": DEFAULT,
        "home": home,
        "folder": folder / "node-1",
        "jdk": JDK_17,
        "heap_mb": 1021,
        "ports": {"http": 9127, "transport": 9133},
        "first_transport_port": 9133,
        "user": None,
    }
    return node_spec(**(values | changes))


def test_jvm_options_of_the_environment_reach_every_server_and_its_record(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ours, which they may change; with them it is another server."""
    before = [server.shape for server in (broker(tmp_path), worker(tmp_path), node(home, tmp_path))]
    monkeypatch.setenv("SLUICE_JVM_OPTIONS", "-XX:+UseSerialGC -Xmx257m")

    servers = [broker(tmp_path), worker(tmp_path), node(home, tmp_path)]

    for server, shape_before in zip(servers, before, strict=True):
        ours = next(option for option in server.options if option.startswith("-Xmx"))
        assert server.options.index(ours) < server.options.index("-Xmx257m")
        assert "-XX:+UseSerialGC" in server.options
        assert server.shape != shape_before


def test_a_worker_finds_the_plugins_of_others_beside_ours(tmp_path: Path) -> None:
    """Not every plugin says what it holds, so that only then all classes are looked through."""
    worker(tmp_path, more_plugins=(Path("/rivals"), Path("/more")))
    lines = (tmp_path / "connect" / "worker.properties").read_text().splitlines()
    assert {"plugin.path=/plugins,/lab-plugins,/rivals,/more", "plugin.discovery=hybrid_warn"} <= set(lines)
    worker(tmp_path)
    lines = (tmp_path / "connect" / "worker.properties").read_text().splitlines()
    assert {"plugin.path=/plugins,/lab-plugins", "plugin.discovery=service_load"} <= set(lines)


# --- shapes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"version": "4.3.2"},
        {"heap_mb": 521},
        {"jdk": JDK_21},
        {"ports": {"client": 9102, "controller": 9103}},
        {"ports": {"client": 9101, "controller": 9104}},
    ],
    ids=["version", "heap", "JDK", "client port", "controller port"],
)
def test_a_broker_of_another_configuration_has_another_shape(tmp_path: Path, change: dict[str, Any]) -> None:
    """It must be started anew."""
    assert broker(tmp_path).shape != broker(tmp_path, **change).shape


@pytest.mark.parametrize(
    "change",
    [
        {"version": "4.3.2"},
        {"heap_mb": 1031},
        {"jdk": JDK_21},
        {"plugin_version": "second"},
        {"plugin_path": (Path("/other-plugins"),)},
        {"more_plugins": (Path("/rivals"),)},
        {"kafka_port": 9102},
        {"ports": {"http": 9108, "metrics": 9109}},
        {"ports": {"http": 9107, "metrics": 9110}},
        {"agent": Path("/jars/newer-agent.jar")},
    ],
    ids=[
        "version",
        "heap",
        "JDK",
        "plugin",
        "plugin path",
        "rivals",
        "broker's port",
        "HTTP port",
        "metrics port",
        "agent",
    ],
)
def test_a_worker_of_another_configuration_has_another_shape(tmp_path: Path, change: dict[str, Any]) -> None:
    """A worker reads its plugins once, when it starts."""
    assert worker(tmp_path).shape != worker(tmp_path, **change).shape


@pytest.mark.parametrize(
    "change",
    [
        {"release": Release(DEFAULT.engine, "8.17.4")},
        {"heap_mb": 1031},
        {"jdk": JDK_21},
        {"ports": {"http": 9128, "transport": 9133}},
        {"ports": {"http": 9127, "transport": 9134}},
        {"first_transport_port": 9134},
        {"number": 2},
        {"extra_settings": {"thread_pool.write.queue_size": 1}},
    ],
    ids=["version", "heap", "JDK", "HTTP port", "transport port", "master's port", "number", "asked settings"],
)
def test_a_node_of_another_configuration_has_another_shape(home: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    """It must be started anew."""
    assert node(home, tmp_path).shape != node(home, tmp_path, **change).shape


def test_the_same_configuration_has_the_same_shape(home: Path, tmp_path: Path) -> None:
    """A server that fits stays, however often it is asked for."""
    assert broker(tmp_path).shape == broker(tmp_path).shape
    assert worker(tmp_path).shape == worker(tmp_path).shape
    assert node(home, tmp_path).shape == node(home, tmp_path).shape


def test_an_archive_that_was_written_meanwhile_does_not_change_the_shape(tmp_path: Path) -> None:
    """Otherwise the second run on servers that were kept would start them anew."""
    before = {"kafka": broker(tmp_path), "connect": worker(tmp_path)}
    for spec in before.values():
        assert spec.archive is not None
        spec.archive.write_text("classes")
    assert broker(tmp_path).shape == before["kafka"].shape
    assert worker(tmp_path).shape == before["connect"].shape
    assert broker(tmp_path).command != before["kafka"].command


def test_parts_of_a_fingerprint_do_not_run_into_each_other() -> None:
    """`ab`, `c` is not `a`, `bc`."""
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


# --- class-data archives --------------------------------------------------------------------------------------------


def test_an_archive_that_is_there_is_used(tmp_path: Path) -> None:
    """The start is shorter by the parsing of classes."""
    (tmp_path / "kafka.jsa").write_text("classes")
    options = class_data_options(tmp_path / "kafka.jsa", with_agent=False)
    assert options == (f"-XX:SharedArchiveFile={tmp_path}/kafka.jsa",)


def test_an_archive_that_is_not_there_is_written_at_exit(tmp_path: Path) -> None:
    """Under another name, until the server has ended by itself."""
    options = class_data_options(tmp_path / "class-data" / "kafka.jsa", with_agent=False)
    assert options == (f"-XX:ArchiveClassesAtExit={tmp_path}/class-data/kafka.jsa.pending",)
    assert (tmp_path / "class-data").is_dir()


def test_writing_an_archive_beside_an_agent_has_to_be_allowed(tmp_path: Path) -> None:
    """The JVM refuses it otherwise."""
    assert class_data_options(tmp_path / "connect.jsa", with_agent=True) == (
        f"-XX:ArchiveClassesAtExit={tmp_path}/connect.jsa.pending",
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+AllowArchivingWithJavaAgent",
    )


def test_each_jdk_and_class_path_has_an_archive_of_its_own(tmp_path: Path) -> None:
    """A JVM refuses the archive of another."""
    archives = {
        Program("4.3.1", jars, jdk, tmp_path).archive(name)
        for name in ("kafka", "connect")
        for jdk in (JDK_17, JDK_21)
        for jars in (JARS, JARS[:1])
    }
    assert len(archives) == 8


def test_the_archive_is_written_where_the_specification_expects_it(tmp_path: Path) -> None:
    """Renaming it is left to whoever stops the server."""
    spec = broker(tmp_path)
    assert f"-XX:ArchiveClassesAtExit={spec.pending_archive}" in spec.command


def test_the_first_node_is_master_and_data_node(tmp_path: Path) -> None:
    """Its settings, whole."""
    ports = {"http": 9127, "transport": 9133}
    assert node_settings(tmp_path, 1, ports, 9133, tmp_path / "node-1") == {
        "cluster.name": "sluice",
        "node.name": "elasticsearch-1",
        "node.roles": ["master", "data", "ingest"],
        "network.host": "127.0.0.1",
        "http.port": 9127,
        "transport.port": 9133,
        "discovery.seed_hosts": ["127.0.0.1:9133"],
        "path.data": str(tmp_path / "node-1" / "data"),
        "path.logs": str(tmp_path / "node-1" / "logs"),
        "path.repo": str(tmp_path / "repositories"),
        "action.destructive_requires_name": True,
        "cluster.routing.allocation.disk.watermark.low": "2gb",
        "cluster.routing.allocation.disk.watermark.high": "1gb",
        "cluster.routing.allocation.disk.watermark.flood_stage": "500mb",
        "cluster.initial_master_nodes": ["elasticsearch-1"],
    }


def test_further_nodes_only_hold_data_and_find_the_first(tmp_path: Path) -> None:
    """They join and leave without a vote, so that the first node is the same with and without them."""
    settings = node_settings(tmp_path, 3, {"http": 9137, "transport": 9151}, 9133, tmp_path / "node-3")
    assert settings["node.roles"] == ["data"]
    assert settings["discovery.seed_hosts"] == ["127.0.0.1:9133"]
    assert "cluster.initial_master_nodes" not in settings


def test_security_is_turned_off_where_there_is_any(home: Path) -> None:
    """Nodes listen on the loopback interface only."""
    (home / "modules" / "x-pack-security").mkdir(parents=True)
    settings = node_settings(home, 1, {"http": 1, "transport": 2}, 2, home)
    assert settings["xpack.security.enabled"] is False


@pytest.mark.parametrize(
    ("engine", "folder", "setting"),
    [
        (ELASTICSEARCH, "modules/x-pack-security", {"xpack.security.enabled": False}),
        (ELASTICSEARCH, "modules/x-pack-ml", {"xpack.ml.enabled": False}),
        (ELASTICSEARCH, "modules/ingest-geoip", {"ingest.geoip.downloader.enabled": False}),
        (OPENSEARCH, "modules/ingest-geoip", {}),
        (OPENSEARCH, "plugins/opensearch-security", {"plugins.security.disabled": True}),
    ],
)
def test_a_node_gets_only_switches_that_its_modules_know(
    engine: Engine, folder: str, setting: dict[str, bool], home: Path
) -> None:
    """It refuses to start on an unknown setting; OpenSearch's module of that name has none."""
    without = node_settings(home, 1, {"http": 1, "transport": 2}, 2, home, engine=engine)
    (home / folder).mkdir(parents=True)
    assert node_settings(home, 1, {"http": 1, "transport": 2}, 2, home, engine=engine) == without | setting


def test_security_is_not_mentioned_where_there_is_none(home: Path) -> None:
    """A node refuses to start on a setting that it does not know."""
    assert "xpack.security.enabled" not in node_settings(home, 1, {"http": 1, "transport": 2}, 2, home)


def test_the_settings_are_written_beside_the_distributions_own_configuration(home: Path, tmp_path: Path) -> None:
    """The distribution itself is left as it was unpacked; all checkouts share it."""
    spec = node(home, tmp_path)
    config = Path(spec.environment["ES_PATH_CONF"])
    assert yaml.safe_load((config / "elasticsearch.yml").read_text()) == node_settings(
        home, 1, {"http": 9127, "transport": 9133}, 9133, tmp_path / "node-1"
    )
    assert (config / "jvm.options").read_text() == "-XX:+UseG1GC\n"
    assert [path.name for path in (home / "config").iterdir()] == ["jvm.options"]


def test_a_keystore_stays_in_its_distribution(home: Path, tmp_path: Path) -> None:
    """It has secrets for TLS that the node's settings do not switch on, with which it would not start."""
    (home / "config" / "elasticsearch.keystore").write_text("secret")
    (home / "config" / "log4j2.properties").write_text("status = error\n")
    config = Path(node(home, tmp_path).environment["ES_PATH_CONF"])
    assert sorted(path.name for path in config.iterdir()) == ["elasticsearch.yml", "jvm.options", "log4j2.properties"]


def test_settings_asked_for_are_the_nodes_as_well_and_win(home: Path, tmp_path: Path) -> None:
    """One that is ours too, such as a watermark, has the value asked for."""
    asked = {"thread_pool.write.queue_size": 1, "cluster.routing.allocation.disk.watermark.low": "3gb"}
    spec = node(home, tmp_path, extra_settings=asked)
    written = yaml.safe_load((Path(spec.environment["ES_PATH_CONF"]) / "elasticsearch.yml").read_text())
    assert {name: written[name] for name in asked} == asked
    assert written["node.name"] == "elasticsearch-1"


def test_files_that_a_running_node_removes_meanwhile_are_passed_over(tmp_path: Path) -> None:
    """Such as a translog that was listed and is gone when its turn comes; a link to nowhere is as good as that."""
    (tmp_path / "translog-2.tlog").symlink_to(tmp_path / "gone")
    (tmp_path / "translog-3.tlog").touch()
    give_to(os.getuid(), tmp_path)
    assert (tmp_path / "translog-3.tlog").stat().st_uid == os.getuid()


def test_a_node_has_one_heap_size(home: Path, tmp_path: Path) -> None:
    """A heap that grows would be measured while it grows."""
    assert node(home, tmp_path).options == ("-Xms1021m", "-Xmx1021m")


def test_a_node_is_started_as_a_daemon_with_a_pid_file(home: Path, tmp_path: Path) -> None:
    """By the distribution's own launcher."""
    spec = node(home, tmp_path)
    assert spec.command == (str(home / "bin" / "elasticsearch"), "-d", "-p", str(spec.pid_file))


def properties_of(path: Path) -> dict[str, str]:
    """A properties file."""
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def test_a_start_script_finds_out_whether_a_node_lives_without_ps(
    monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path
) -> None:
    """It asks `ps -p PID`; small containers have none."""
    monkeypatch.setenv("PATH", "/nowhere")
    environment = node(home, tmp_path).environment
    # The second is beyond the largest process id.
    asked = "ps -p $$ && ! ps -p 4194305"
    assert subprocess.run(["/bin/sh", "-c", asked], env=environment, capture_output=True, check=False).returncode == 0


def test_the_machines_own_ps_is_taken_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, home: Path, tmp_path: Path
) -> None:
    """Then the path is left as it is."""
    monkeypatch.setattr(elasticsearch_module.shutil, "which", lambda _: "/usr/bin/ps")
    assert "PATH" not in node(home, tmp_path).environment


def test_a_broker_listens_on_its_ports_of_the_loopback_interface_only(tmp_path: Path) -> None:
    """Nobody else on the network can reach it."""
    broker(tmp_path)
    settings = properties_of(tmp_path / "kafka" / "server.properties")
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9101,CONTROLLER://127.0.0.1:9103"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:9103"


def test_a_brokers_storage_is_formatted_once(tmp_path: Path) -> None:
    """What a broker that has run wrote there stays."""
    broker(tmp_path)
    meta = tmp_path / "kafka" / "data" / "meta.properties"
    assert properties_of(meta)["version"] == "1"
    meta.write_text("version=1\nwritten.by=broker\n")
    broker(tmp_path)
    assert properties_of(meta)["written.by"] == "broker"


def test_a_worker_passes_bytes_through(tmp_path: Path) -> None:
    """It is configured for the sink, and never parses a document."""
    worker(tmp_path)
    settings = properties_of(tmp_path / "connect" / "worker.properties")
    converter = "org.apache.kafka.connect.converters.ByteArrayConverter"
    assert (settings["key.converter"], settings["value.converter"]) == (converter, converter)
    assert settings["plugin.path"] == "/plugins,/lab-plugins"
    assert settings["bootstrap.servers"] == "127.0.0.1:9101"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "JVM arguments [-Xms1g]\n[NativeAccess] Using native vector library; to disable start with -D…\n"
            "[Provider] Java vector incubator API enabled; uses preferredBitSize=512; FMA enabled\n",
            ("native library", "Panama, 512 bits"),
        ),
        (
            "JVM arguments [-Xms1g]\nUsing native vector library\nJVM arguments [-Xms1g]\n"
            "Java vector incubator module is not readable\n",
            (),
        ),
    ],
)
def test_vector_instructions_are_those_of_the_last_start(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    """A log goes on over restarts, and another Java may have been given since."""
    (tmp_path / "sluice.log").write_text(text)
    assert vector_instructions(tmp_path / "sluice.log") == expected
    assert vector_instructions(tmp_path / "gone.log") is None
    (tmp_path / "rolled.log").write_text("[cluster] started\n")
    assert vector_instructions(tmp_path / "rolled.log") is None, "the log of the start was put away"


def test_containers_and_kubernetes_allow_connectors_what_the_lab_does() -> None:
    """Three files name the settings that a connector may override, and the property that forbids its own providers."""
    worker = yaml.safe_load((ROOT / "compose" / "pipeline.yaml").read_text("utf-8"))["x-worker"]["environment"]
    resource = next(yaml.safe_load_all((ROOT / "deploy/kubernetes/base/connect.yaml").read_text("utf-8")))["spec"]
    overridable = [
        worker["CONNECT_CONNECTOR_CLIENT_CONFIG_OVERRIDE_ALLOWLIST"],
        resource["config"]["connector.client.config.override.allowlist"],
    ]
    assert [tuple(text.split(", ")) for text in overridable] == [OVERRIDABLE, OVERRIDABLE]
    assert worker["KAFKA_OPTS"] == NO_PROVIDERS
    assert [f"-D{each['name']}={each['value']}" for each in resource["jvmOptions"]["javaSystemProperties"]] == [
        NO_PROVIDERS
    ]


def test_every_setting_that_a_template_or_a_profile_overrides_may_be_overridden() -> None:
    """Or the worker refuses the connector."""
    texts = [
        path.read_text("utf-8")
        for folder in ("connect/connectors", "experiments", "lab/replay")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".json", ".yaml", ".py"}
    ]
    named = {name for text in texts for name in re.findall(r"\b(?:consumer|producer)\.override\.([a-z.]+)", text)}
    assert "max.poll.records" in named
    assert named - set(OVERRIDABLE) == set()
