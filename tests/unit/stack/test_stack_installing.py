"""What a stranger installs the sink by: one version everywhere, an example connector, a snippet for Strimzi."""

import json
import re
import tomllib
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from lab import VERSION
from lab.stack.places import ROOT

SINK = "io.sluice.connect.ElasticsearchSinkConnector"
EXAMPLE = ROOT / "connect" / "etc" / "elasticsearch-sink.json"
STRIMZI = ROOT / "connect" / "etc" / "strimzi-kafkaconnect.yaml"


def pom_text(*path: str) -> str | None:
    """What the plugin's pom says there."""
    pom = ElementTree.parse(ROOT / "connect" / "pom.xml")  # noqa: S314 - our own file
    return pom.findtext("/".join(f"{{http://maven.apache.org/POM/4.0.0}}{name}" for name in path))


def pom_version() -> str | None:
    """The version that Maven builds."""
    return pom_text("version")


def strimzi_resources() -> tuple[dict[str, Any], dict[str, Any]]:
    """The Connect cluster and the connector of the snippet."""
    cluster, connector = yaml.safe_load_all(STRIMZI.read_text())
    return cluster, connector


def test_the_lab_and_the_plugin_have_one_version() -> None:
    """A result names one, and so does the list of plugins; packages take it from the lab."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pom_version() == VERSION
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"] == {"path": "lab/__init__.py"}


def test_the_changelog_begins_with_that_version_and_its_date() -> None:
    """Unless there is something that is not released."""
    (version, released), *_ = re.findall(r"^## ([\d.]+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert (version, released) == (VERSION, pom_text("properties", "release.date"))


@pytest.mark.parametrize("file", ["compose/lab.yaml", "compose/pipeline.yaml", "compose/secure.yaml", ".env.example"])
def test_images_are_tagged_with_that_version(file: str) -> None:
    """An image of another version must not pass for this one."""
    named = re.findall(r"SLUICE_VERSION(?::-|=)([\d.]+\d)", (ROOT / file).read_text())
    assert set(named) == {VERSION}


@pytest.mark.parametrize("file", ["README.md", "connect/README.md"])
def test_what_is_installed_is_named_with_that_version(file: str) -> None:
    """The files of a release are called so."""
    named = re.findall(r"\bsluice-(?:connect-elasticsearch-)?(\d[\d.]*\d)", (ROOT / file).read_text())
    assert set(named) == {VERSION}


def test_the_example_is_a_connector_of_the_sink_as_it_stands() -> None:
    """Nothing has to be filled in to try it on one machine."""
    example = json.loads(EXAMPLE.read_text())
    assert set(example) == {"name", "config"}
    assert example["config"]["connector.class"] == SINK
    assert set(re.findall(r"\$\{[^}]*\}", EXAMPLE.read_text())) == {"${topic}"}


def test_strimzi_builds_the_plugin_of_this_version() -> None:
    """From the release's zip, checked by its hash, into an image with the version as its tag."""
    cluster, _connector = strimzi_resources()
    name = f"sluice-connect-elasticsearch-{pom_version()}.zip"
    assert (cluster["apiVersion"], cluster["kind"]) == ("kafka.strimzi.io/v1", "KafkaConnect")
    assert cluster["spec"]["build"] == {
        "output": {
            "type": "docker",
            "image": f"<registry>/sluice-connect:{pom_version()}",
            "pushSecret": "<registry>-credentials",
        },
        "plugins": [
            {
                "name": "sluice-connect-elasticsearch",
                "artifacts": [{"type": "zip", "url": f"<url>/{name}", "sha512sum": "<sha512>"}],
            }
        ],
    }
    assert f"sha512sum {name}" in STRIMZI.read_text()
    assert set(re.findall("<[a-z0-9]+>", yaml.safe_dump(cluster))) == {"<registry>", "<url>", "<sha512>"}


def test_strimzis_connector_is_the_example() -> None:
    """On the cluster of the same file, with the operator's own words for name, class and tasks."""
    cluster, connector = strimzi_resources()
    example = json.loads(EXAMPLE.read_text())
    assert (connector["apiVersion"], connector["kind"]) == (cluster["apiVersion"], "KafkaConnector")
    assert connector["metadata"]["name"] == example["name"]
    assert connector["metadata"]["labels"] == {"strimzi.io/cluster": cluster["metadata"]["name"]}
    assert cluster["metadata"]["annotations"] == {"strimzi.io/use-connector-resources": "true"}
    spec = connector["spec"]
    elsewhere = {"connector.class": spec["class"], "tasks.max": str(spec["tasksMax"])}
    assert spec["config"] | elsewhere == example["config"] | {"connection.url": "http://elasticsearch:9200"}
