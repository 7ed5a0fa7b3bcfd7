"""The sink plugin: its own checks, and what its folders hold."""

import os
import subprocess
import zipfile
from pathlib import Path

import httpx

from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.jdk import JVM_OPTIONS, choose_jdk, find_jdks, java_for_kafka
from lab.stack.places import cache_dir
from lab.stack.plugin import find_maven, lab_plugin_folder, plugin_folder
from tests.integration.conftest import ROOT, Sluice


def test_the_plugin_keeps_its_promises(sluice: Sluice) -> None:
    """`mvn verify` is green, with the tests that need a real Elasticsearch among them."""
    mvn = find_maven(ArtifactCache(cache_dir()), read_lock().sets["maven"][0])
    jdk = choose_jdk(find_jdks(), java_for_kafka(), "Maven")
    environment = {
        **os.environ,
        "JAVA_HOME": str(jdk.home),
        "JDK_JAVA_OPTIONS": os.environ[JVM_OPTIONS],
        "SLUICE_TEST_ELASTICSEARCH_URL": sluice.stack.endpoints().elasticsearch_urls[0],
    }

    done = subprocess.run(
        [str(mvn), "-B", "--no-transfer-progress", "-f", str(ROOT / "connect" / "pom.xml"), "verify"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=540,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-8000:]


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
