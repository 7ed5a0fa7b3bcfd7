"""Nodes of OpenSearch as specifications."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.engines import Release
from lab.engines.opensearch import OPENSEARCH
from lab.stack.elasticsearch import node_spec
from lab.stack.jdk import Jdk
from lab.stack.server import ServerSpec

VECTORS = "-Xlog:gc\n20-:--add-modules=jdk.incubator.vector\n-XX:+UseG1GC\n"


def java(home: Path, release: str) -> Jdk:
    """A Java runtime whose `release` file says this."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "release").write_text(release)
    return Jdk(home, 21, "21.0.8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An unpacked distribution."""
    (tmp_path / "home" / "config").mkdir(parents=True)
    (tmp_path / "home" / "config" / "jvm.options").write_text("-XX:HeapDumpPath=data\n" + VECTORS)
    return tmp_path / "home"


def node(home: Path, folder: Path, **changes: Any) -> ServerSpec:
    """A node of it."""
    values = {
        "number": 1,
        "release": Release(OPENSEARCH, "3.0.0"),
        "home": home,
        "folder": folder / "node",
        "jdk": java(folder / "java", 'MODULES="java.base java.sql"\n'),
        "heap_mb": 389,
        "ports": {"http": 9157, "transport": 9161},
        "first_transport_port": 9161,
        "user": None,
    }
    return node_spec(**(values | changes))


def test_the_first_node_of_opensearch_is_the_cluster_manager(home: Path, tmp_path: Path) -> None:
    """Named as one of Elasticsearch, on the loopback interface, its files below its own folder."""
    spec = node(home, tmp_path)
    config = Path(spec.environment["OPENSEARCH_PATH_CONF"])
    assert yaml.safe_load((config / "opensearch.yml").read_text()) == {
        "cluster.name": "sluice",
        "node.name": "elasticsearch-1",
        "node.roles": ["cluster_manager", "data", "ingest"],
        "network.host": "127.0.0.1",
        "http.port": 9157,
        "transport.port": 9161,
        "discovery.seed_hosts": ["127.0.0.1:9161"],
        "path.data": str(tmp_path / "node" / "data"),
        "path.logs": str(tmp_path / "node" / "logs"),
        "path.repo": str(tmp_path / "repositories"),
        "action.destructive_requires_name": True,
        "cluster.routing.allocation.disk.watermark.low": "2gb",
        "cluster.routing.allocation.disk.watermark.high": "1gb",
        "cluster.routing.allocation.disk.watermark.flood_stage": "500mb",
        "cluster.initial_cluster_manager_nodes": ["elasticsearch-1"],
    }
    assert (config / "jvm.options").read_text() == f"-XX:HeapDumpPath={tmp_path}/node/data\n-Xlog:gc\n-XX:+UseG1GC\n"
    assert spec.environment["OPENSEARCH_JAVA_OPTS"] == "-Xms389m -Xmx389m"
    assert spec.options == ("-Xms389m", "-Xmx389m")
    assert spec.command == (str(home / "bin" / "opensearch"), "-d", "-p", str(tmp_path / "node" / "pid"))
    assert (spec.name, spec.release) == ("elasticsearch-1", "OpenSearch 3.0.0")


def test_further_nodes_hold_data_alone_and_the_profiles_settings_win(home: Path, tmp_path: Path) -> None:
    """They look for the first one."""
    spec = node(home, tmp_path, number=3, extra_settings={"cluster.routing.allocation.disk.watermark.low": "7gb"})
    written = yaml.safe_load((Path(spec.environment["OPENSEARCH_PATH_CONF"]) / "opensearch.yml").read_text())
    assert written["node.name"] == spec.name == "elasticsearch-3"
    assert written["node.roles"] == ["data"]
    assert written["discovery.seed_hosts"] == ["127.0.0.1:9161"]
    assert "cluster.initial_cluster_manager_nodes" not in written
    assert written["cluster.routing.allocation.disk.watermark.low"] == "7gb"


@pytest.mark.parametrize(
    "change", [{"release": Release(OPENSEARCH, "3.0.1")}, {"heap_mb": 397}, {"ports": {"http": 1, "transport": 2}}]
)
def test_another_configuration_is_another_shape(home: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    """It must be started anew."""
    assert node(home, tmp_path).shape != node(home, tmp_path, **change).shape
