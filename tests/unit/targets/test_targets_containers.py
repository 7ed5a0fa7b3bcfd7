"""Servers in containers as a run uses them."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from lab.errors import StackError
from lab.monitor import Containers
from lab.profiles import load_profile
from lab.records.run import Server
from lab.stack.compose import SERVERS, STREAM, ComposeProject, Container
from lab.targets import compose
from lab.targets.compose import Compose, bounded_already, endpoints_of, tag_of, target_of
from lab.targets.remote import Node, RemoteServers
from lab.targets.servers import narrowed
from tests.unit.messages import MakeMessage

ENGINE = "unix:///var/run/docker.sock"


def container(service: str, pid: int, memory_bytes: int | None = None, **ports: int) -> Container:
    """A container of the service, its ports published."""
    published = {int(inside.removeprefix("p")): outside for inside, outside in ports.items()}
    return Container(service, f"sluice-{service}-1", pid, f"registry:5000/{service}:4.3.1", published, memory_bytes)


CONTAINERS = {
    "kafka": container("kafka", 11, p9092=49_001),
    "elasticsearch": container("elasticsearch", 13, 1_610_612_736, p9200=49_002),
    "elasticsearch-2": container("elasticsearch-2", 17),
    "connect": container("connect", 19, p8083=49_003, p8778=49_004),
    "producer": container("producer", 23),
}


def remote_servers() -> RemoteServers:
    """What the servers say of themselves."""
    nodes = tuple(
        Node(f"elasticsearch-{number}", "8.19.21", "21.0.5", 1024, 1009, 3_600_000, holds_data=True)
        for number in (1, 2)
    )
    return RemoteServers(endpoints_of(CONTAINERS), nodes, "4.3.0", frozenset())


def test_servers_are_reached_by_their_published_ports() -> None:
    """The worker reaches Elasticsearch by the services' names instead."""
    servers = endpoints_of(CONTAINERS)
    assert servers.kafka_bootstrap == "127.0.0.1:49001"
    assert servers.connect_url == "http://127.0.0.1:49003"
    assert servers.elasticsearch_urls == ("http://127.0.0.1:49002",)
    assert servers.metrics_url == "http://127.0.0.1:49004/jolokia"
    assert servers.access.sink == {"connection.url": "http://elasticsearch:9200,http://elasticsearch-2:9200"}


def test_a_service_that_does_not_run_is_one_sentence(message: MakeMessage) -> None:
    """With where to look."""
    with pytest.raises(StackError) as error:
        endpoints_of({name: part for name, part in CONTAINERS.items() if name != "kafka"})
    assert str(error.value) == message("service kafka", "--all")


def test_a_port_that_is_not_published_is_one_sentence(message: MakeMessage) -> None:
    """A file of somebody's own may have taken it away."""
    with pytest.raises(StackError) as error:
        endpoints_of({**CONTAINERS, "kafka": container("kafka", 11)})
    assert str(error.value) == message("container sluice-kafka-1", 9092, "127.0.0.1")


def test_containers_are_recorded_like_servers_of_this_machine() -> None:
    """With their first process, which tells a restart, and what holds them back; other services are none."""
    target = target_of(remote_servers(), CONTAINERS, ENGINE)
    assert target.name == "compose"
    assert list(target.servers) == [
        Server(
            name="elasticsearch-1",
            version="8.19.21",
            pid=13,
            command_line_options=("image=registry:5000/elasticsearch:4.3.1", "memory=1610612736"),
        ),
        Server(
            name="elasticsearch-2",
            version="8.19.21",
            pid=17,
            command_line_options=("image=registry:5000/elasticsearch-2:4.3.1",),
        ),
        Server(name="kafka", version="4.3.1", pid=11, command_line_options=("image=registry:5000/kafka:4.3.1",)),
        Server(name="connect", version="4.3.0", pid=19, command_line_options=("image=registry:5000/connect:4.3.1",)),
    ]
    assert target.containers == Containers(
        ENGINE,
        {
            "elasticsearch-1": "sluice-elasticsearch-1",
            "elasticsearch-2": "sluice-elasticsearch-2-1",
            "kafka": "sluice-kafka-1",
            "connect": "sluice-connect-1",
        },
    )


@pytest.mark.parametrize(("before", "fresh"), [((), True), ((11, 13, 19), True), ((11, 13, 17, 19), False)])
def test_a_container_that_did_not_run_before_is_cold(before: tuple[int, ...], *, fresh: bool) -> None:
    """One is enough."""
    assert target_of(remote_servers(), CONTAINERS, ENGINE, before).fresh is fresh


def test_a_variant_with_fewer_nodes_uses_and_watches_the_first_ones() -> None:
    """The connector is told of no other, either."""
    target = narrowed(target_of(remote_servers(), CONTAINERS, ENGINE), 1)
    assert target.access.sink == {"connection.url": "http://elasticsearch:9200"}
    assert target.containers is not None
    assert set(target.containers.names) == {"elasticsearch-1", "kafka", "connect"}
    assert {server.name for server in target.servers} == {"elasticsearch-1", "kafka", "connect"}


def test_the_version_of_an_image_is_its_tag() -> None:
    """A registry's port is none."""
    assert tag_of("registry:5000/kafka:4.3.1") == "4.3.1"
    assert tag_of(f"apache/kafka:4.3.1@sha256:{64 * 'a'}") == "4.3.1"
    assert tag_of("registry:5000/kafka") == "registry:5000/kafka"
    assert tag_of("kafka") == "kafka"


def test_containers_of_another_number_are_recorded_by_their_service() -> None:
    """The third node is the third, also where the second one has failed."""
    rest = {name: part for name, part in CONTAINERS.items() if name != "elasticsearch-2"}
    third = {**rest, "elasticsearch-3": replace(CONTAINERS["elasticsearch-2"], service="elasticsearch-3")}
    names = [server.name for server in target_of(remote_servers(), third, ENGINE).servers]
    assert names == ["elasticsearch-1", "elasticsearch-3", "kafka", "connect"]


class Project:
    """A project whose containers a test names, and what was done to it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **running: Container) -> None:
        self.running = running
        self.engine = lambda: ENGINE
        self.calls: list[tuple[str, list[str]]] = []
        monkeypatch.setattr(compose, "read_servers", lambda _: remote_servers())

    def containers(self) -> dict[str, Container]:
        """Those that run now."""
        return dict(self.running)

    def up(self, services: Iterable[str], variables: Mapping[str, str], said: Callable[[str], None]) -> None:
        """Start what is not there."""
        said("[creating]")
        self.calls.append(("up", [*services, variables["EXPERIMENT"]]))
        self.running |= CONTAINERS

    def stop(self, services: Iterable[str]) -> None:
        """Stop these."""
        self.calls.append(("stop", sorted(services)))


def servers_of(project: Project) -> Compose:
    """The project as the servers of a command."""
    return Compose(cast("ComposeProject", project))


def test_a_command_stops_what_it_has_started_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also after a failure; containers that somebody runs stay."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    project = Project(monkeypatch, kafka=CONTAINERS["kafka"])
    servers = servers_of(project)
    with ExitStack() as stack:
        stack.enter_context(pytest.raises(KeyError))
        stack.enter_context(servers.held())
        target = servers.target(load_profile("quickstart"))
        raise KeyError
    assert project.calls == [
        ("up", [*SERVERS, "quickstart"]),
        ("stop", ["connect", "elasticsearch", "elasticsearch-2", "producer"]),
    ]
    assert (target.name, target.fresh, servers.endpoints().kafka_bootstrap) == ("compose", True, "127.0.0.1:49001")


def test_containers_that_somebody_runs_are_warm_and_only_their_stream_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would load the servers beside the run; what resumes it is said."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    project = Project(monkeypatch, **CONTAINERS)
    servers = servers_of(project)
    with servers.held():
        assert not servers.target(load_profile("quickstart")).fresh
    streaming = sorted(service for service in STREAM if service in CONTAINERS)
    assert project.calls == [("stop", streaming), ("up", [*SERVERS, "quickstart"]), ("stop", [])]
    assert "docker compose up --detach" in capsys.readouterr().out


def test_nothing_is_stopped_before_where_no_stream_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing is said."""
    monkeypatch.setenv("SLUICE_STATE", str(tmp_path / "state"))
    project = Project(monkeypatch, kafka=CONTAINERS["kafka"])
    with servers_of(project).held():
        assert project.calls == []
    assert capsys.readouterr().out == ""


def test_a_container_keeps_the_bound_that_it_was_made_with() -> None:
    """Sluice's own groups of processes would not reach into it."""
    assert target_of(remote_servers(), CONTAINERS, ENGINE).bounded is bounded_already
