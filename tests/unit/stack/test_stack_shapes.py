"""What can be asked of this machine: versions, nodes, memory, ports."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.engines import Release
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.errors import ProfileError, StackError
from lab.stack import local
from lab.stack import runtimes as runtimes_module
from lab.stack.artifacts import ArtifactLock, read_lock
from lab.stack.jdk import Jdk
from lab.stack.local import LocalStack
from lab.stack.shape import StackShape, fitting_java, kafka_version, port_names, ports_of
from tests.unit.stack.repository_server import artifact_of
from tests.unit.stack.three_servers import ALL


def jdks(*features: int) -> Sequence[Jdk]:
    """JDKs of a machine."""
    return [Jdk(Path(f"/jdk-{feature}"), feature, f"{feature}.0.1") for feature in features]


@pytest.fixture(autouse=True)
def _usual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes_module, "this_machine", lambda: "Linux-x86_64")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_a_version_that_cannot_be_had_is_one_sentence() -> None:
    """It names those that can."""
    with pytest.raises(ProfileError) as refusal:
        fitting_java(StackShape(release=Release(ELASTICSEARCH, "8.1.1")), read_lock(), jdks(17))
    assert str(refusal.value) == (
        "Elasticsearch 8.1.1 is not available, expected one of "
        + ", ".join(release.version for release in read_lock().releases(ELASTICSEARCH))
    )


@pytest.mark.parametrize("data_nodes", [0, 7])
def test_a_number_of_nodes_that_cannot_be_had_is_one_sentence(data_nodes: int) -> None:
    """One to six."""
    with pytest.raises(StackError) as refusal:
        fitting_java(StackShape(data_nodes=data_nodes), read_lock(), jdks(17))
    assert str(refusal.value) == f"elasticsearch.data_nodes: got {data_nodes}, expected 1 to 6"


@pytest.mark.parametrize("release", read_lock().releases(ELASTICSEARCH), ids=str)
def test_each_version_runs_on_the_newest_of_three_jdks_that_it_takes(release: Release) -> None:
    """17, 21 and 25 serve all of them; the range of each version has a test of its own."""
    features = [feature for feature in (17, 21, 25) if feature in release.java.features]
    (newest,) = jdks(max(features))
    assert fitting_java(StackShape(release=release), read_lock(), jdks(17, 21, 25)) == newest


@pytest.mark.parametrize("release", read_lock().releases(ELASTICSEARCH), ids=str)
def test_without_a_jdk_each_version_runs_on_a_runtime(release: Release) -> None:
    """A machine with Python alone runs all of them."""
    features = [feature for feature in (17, 21, 25) if feature in release.java.features]
    assert fitting_java(StackShape(release=release), read_lock(), ()) == max(features)


@pytest.mark.parametrize(
    ("version", "java", "there", "chosen"),
    [
        ("9.0.0", None, (17, 25), 21),
        ("7.17.7", None, (25,), 17),
        ("8.17.4", 21, (17, 21), jdks(21)[0]),
        ("8.17.4", 21, (17,), 21),
        ("8.19.21", 17, (17, 21, 25), jdks(17)[0]),
    ],
)
def test_a_runtime_is_fetched_where_no_jdk_fits(
    version: str, java: int | None, there: tuple[int, ...], chosen: Jdk | int
) -> None:
    """What the machine has is preferred; two versions can be given the same Java."""
    shape = StackShape(release=Release(ELASTICSEARCH, version), elasticsearch_java=java)
    assert fitting_java(shape, read_lock(), jdks(*there)) == chosen


def test_a_java_that_a_version_does_not_run_on_is_one_sentence() -> None:
    """Before anything is fetched."""
    with pytest.raises(ProfileError) as refusal:
        fitting_java(StackShape(release=Release(ELASTICSEARCH, "9.0.0"), elasticsearch_java=25), read_lock(), jdks(25))
    assert str(refusal.value) == "elasticsearch.java: got 25, expected 21 to 24 for Elasticsearch 9.0.0"


def test_a_java_that_nobody_has_is_one_sentence() -> None:
    """No runtime of 23 is to be fetched; those that fit are named."""
    shape = StackShape(release=Release(ELASTICSEARCH, "8.17.4"), elasticsearch_java=23)
    with pytest.raises(ProfileError) as refusal:
        fitting_java(shape, read_lock(), jdks(19))
    assert str(refusal.value) == "elasticsearch.java: got 23, expected an available one: 17, 19, 21"


def test_the_memory_of_a_stack_is_that_of_all_its_jvms() -> None:
    """Heaps, and 300 MB beside each: 2 nodes of 1,009, Kafka 503, Connect 1,013."""
    shape = StackShape(data_nodes=2, elasticsearch_heap_mb=1009, kafka_heap_mb=503, connect_heap_mb=1013)
    assert shape.memory_mb == 2 * 1009 + 503 + 1013 + 4 * 300


def test_too_little_memory_is_one_sentence(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what there is, what is needed and what to change."""

    @dataclasses.dataclass
    class Memory:
        available: int = 1999 * 2**20

    monkeypatch.setattr(local.psutil, "virtual_memory", Memory)
    with pytest.raises(StackError) as refusal:
        stack._check_memory(StackShape())
    assert str(refusal.value) == (
        "memory: 1,999 MB available, 3,460 MB needed for 1 Elasticsearch node of 1,024 MB heap, Kafka, Connect; free "
        "some memory or lower elasticsearch.heap_mb or elasticsearch.data_nodes"
    )


def test_every_port_of_a_stack_belongs_to_one_server() -> None:
    """What is taken apart by server is the whole."""
    ports = {name: 9001 + number for number, name in enumerate(port_names(3))}
    owners = {name.rpartition(".")[0] for name in ports}
    assert owners == {"kafka", "connect", "elasticsearch-1", "elasticsearch-2", "elasticsearch-3"}
    assert sum(len(ports_of(owner, ports)) for owner in owners) == len(ports) == 10
    assert ports_of("kafka", ports) == {"client": 9001, "controller": 9002}


def test_requested_ports_are_those_that_clients_connect_to(marker: Path, tmp_path: Path) -> None:
    """`client` of the broker, `http` of all others."""
    stack = LocalStack(marker, tmp_path / "cache")
    first = stack._ports(ALL)
    asked = {"kafka": first["connect.metrics"], "elasticsearch-1": first["kafka.controller"]}
    (marker / "ports.json").unlink()
    ports = stack._ports(StackShape(requested_ports=asked))
    assert (ports["kafka.client"], ports["elasticsearch-1.http"]) == (asked["kafka"], asked["elasticsearch-1"])


def test_the_version_of_kafka_is_that_of_its_client() -> None:
    """It is pinned in one place."""
    client = artifact_of("org/apache/kafka/kafka-clients/4.3.1/kafka-clients-4.3.1.jar", b"client")
    other = artifact_of("org/example/other/1.0/other-1.0.jar", b"other")
    assert kafka_version(ArtifactLock(sets={"kafka": (other, client)})) == "4.3.1"
