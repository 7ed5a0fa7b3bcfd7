"""The containers of `docker compose` in this checkout, as a run and a suite use them."""

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from rich.markup import escape

from lab.clients.target import Target
from lab.console import console
from lab.endpoints import Access, Endpoints
from lab.errors import ProfileError, StackError
from lab.monitor import Containers
from lab.profiles import Profile
from lab.profiles.connector_keys import OURS
from lab.profiles.containers import DEFAULT_VERSION, FOLDER, MOST_NODES, env_text, environment, node_settings
from lab.records.run import Server
from lab.run.load.availability import connector_class, missing_pipeline
from lab.run.load.connector import ELASTICSEARCH_URLS
from lab.run.load.rally.program import why_not_rally
from lab.stack.compose import NODES, SERVERS, STREAM, ComposeProject, Container
from lab.stack.groups import Bounds
from lab.stack.local import LocalStack
from lab.stack.places import ROOT
from lab.stack.server import uninterrupted
from lab.targets.remote import RemoteServers, pause_refusals, read_servers
from lab.targets.servers import Servers, override_refusals, refusal_among_first

SECURITY = "xpack.security.enabled"
HOST = "127.0.0.1"
KAFKA_PORT, CONNECT_PORT, JMX_AGENT_PORT, ELASTICSEARCH_PORT = 9092, 8083, 8778, 9200
"""Ports inside the containers."""


class Compose(Servers):
    """The containers of this checkout's project: those that are there, or some that live as long as the command."""

    def __init__(self, project: ComposeProject) -> None:
        self._project = project
        self._ran_before: Mapping[str, Container] = {}

    def _fitted(self, profile: Profile) -> Profile:
        """The profile itself: containers are started as it asks for them."""
        if refusals := tuple(refusals_of(profile, self._project)):
            raise ProfileError("\n".join(refusals))
        return profile

    def endpoints(self) -> Endpoints:
        """Where the running containers are reached."""
        return endpoints_of(self._project.containers())

    def stop(self) -> None:
        """Containers are made anew for each shape, and stay for the same one."""

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the project for this command; what did not run before is stopped at the end."""
        stack = LocalStack()
        with stack.exclusively():
            stack.remove_orphans()
            self._ran_before = self._project.containers()
            if streaming := [service for service in STREAM if service in self._ran_before]:
                self._project.stop(streaming)
                console.print(
                    "stopped the stream of this project; resume it with: docker compose up --detach", soft_wrap=True
                )
            try:
                yield
            finally:
                with uninterrupted():
                    self._project.stop(name for name in self._project.containers() if name not in self._ran_before)

    def target(self, profile: Profile, beside: Iterable[Profile] = ()) -> Target:  # noqa: ARG002 - no plugins of theirs
        """The containers in the shape that the profile asks for."""
        with console.status("starting containers") as status:
            self._project.up(SERVERS, variables_of(profile), lambda line: status.update(escape(line)))
        containers = self._project.containers()
        servers = read_servers(endpoints_of(containers))
        pids_before = {container.pid for container in self._ran_before.values()}
        return target_of(servers, containers, self._project.engine(), pids_before)


def deployment_refusals(profile: Profile) -> Iterator[str]:
    """Why the containers cannot deploy the indices of a profile."""
    if refusal := refusal_among_first(profile):
        yield refusal
    if profile.maintain and profile.maintain.route == "snapshot":
        yield (
            "maintain.route: got snapshot, expected exclude or replicas-first: the containers share no folder for a "
            "repository; run it without --target compose"
        )


def project_refusals(project: ComposeProject) -> Iterator[str]:
    """Why no run can use the containers of a project."""
    if project.services[NODES[0]].get("environment", {}).get(SECURITY) == "true":
        yield (
            "--target compose: security is enabled in this project (compose/secure.yaml), expected a project without "
            "it; use --target remote"
        )
    if project.is_cluster:
        yield (
            "--target compose: this project is a cluster (compose/cluster.yaml), expected a project without it; use "
            "--target remote"
        )


def refusals_of(profile: Profile, project: ComposeProject) -> Iterator[str]:
    """What the profile asks for and the project's containers do not have; a sentence each."""
    yield from project_refusals(project)
    cluster = profile.elasticsearch
    engine, version = profile.release.engine, profile.release.version
    if not engine.has_images:
        yield (
            f"{engine.dotted_key}: got {version}, expected none: the containers are Elasticsearch; run it without "
            "--target compose"
        )
    if cluster.data_nodes > MOST_NODES:
        yield (
            f"elasticsearch.data_nodes: got {cluster.data_nodes}, expected at most {MOST_NODES}, the services of "
            "compose.yaml; run it without --target compose"
        )
    if cluster.page_cache_mb is not None:
        yield (
            f"elasticsearch.page_cache_mb: got {cluster.page_cache_mb}, expected `memory_limit_mb`: a container "
            "has one limit, from its start on"
        )
    if cluster.java is not None:
        yield (
            f"elasticsearch.java: got {cluster.java}, expected none: a container has the Java of its image; run it "
            "without --target compose"
        )
    if cluster.distribution is not None:
        yield (
            f"elasticsearch.distribution: got {cluster.distribution}, expected none: a container has that of its "
            "image; run it without --target compose"
        )
    if cluster.read_iops_limit is not None:
        yield (
            f"elasticsearch.read_iops_limit: got {cluster.read_iops_limit}, expected none: the disk of a container is "
            "not known here; run it without --target compose"
        )
    yield from deployment_refusals(profile)
    yield from pause_refusals(profile)
    yield from override_refusals(profile)
    if not profile.sink.is_connector:
        lack = missing_pipeline(profile, ROOT)
    else:
        built_with = project.services["connect"].get("build", {}).get("args", {})
        lack = missing_plugin(profile, str(built_with.get("SINK", "sluice")))
    if lack := lack or why_not_rally(profile):
        yield lack
    settings = node_settings(profile)
    file = ROOT / FOLDER / f"{profile.name}.settings.env"
    if settings and not (file.is_file() and file.read_text("utf-8") == env_text(profile.name, settings)):
        yield (
            f"{profile.name}: elasticsearch.node_settings: containers have only those of a profile in "
            "experiments/profiles, as `./sluice compose-env` wrote them; run it without --target compose"
        )


def missing_plugin(profile: Profile, sink: str) -> str | None:
    """What to say when the worker's image does not have the connector.

    Args:
        sink: The plugin that the image is built with.
    """
    name = connector_class(profile, ROOT)
    if not profile.load.uses_kafka or name is None or "." not in name or name.startswith((OURS, f"io.{sink}.")):
        return None
    return (
        f"sink.connector: {profile.sink.connector}: the worker's image (SINK={sink}) has no plugin with the class "
        f"{name}; run it without --target compose"
    )


def variables_of(profile: Profile) -> dict[str, str]:
    """The variables of the Compose files for the profile; whatever `.env` chooses must not get among them."""
    has_file = (ROOT / FOLDER / f"{profile.name}.env").is_file()
    variables = environment(profile)
    if variables["ELASTICSEARCH_VERSION"] == DEFAULT_VERSION:
        # As empty it is that of the Compose files, with the digest that is locked, and still not that of `.env`.
        variables["ELASTICSEARCH_VERSION"] = ""
    return {"EXPERIMENT": profile.name if has_file and node_settings(profile) else "quickstart", **variables}


def endpoints_of(containers: Mapping[str, Container]) -> Endpoints:
    """Where the containers are reached from this machine, and Elasticsearch from the worker's container.

    Args:
        containers: By service.

    Raises:
        StackError: One of them is missing, or cannot be reached.
    """
    inside = ",".join(f"http://{service}:{ELASTICSEARCH_PORT}" for service in NODES if service in containers)
    return Endpoints(
        kafka_bootstrap=address(containers, "kafka", KAFKA_PORT),
        connect_url=f"http://{address(containers, 'connect', CONNECT_PORT)}",
        # The other nodes publish no port; the first one passes on what is theirs.
        elasticsearch_urls=(f"http://{address(containers, NODES[0], ELASTICSEARCH_PORT)}",),
        metrics_url=f"http://{address(containers, 'connect', JMX_AGENT_PORT)}/jolokia",
        access=Access(sink={ELASTICSEARCH_URLS: inside}),
    )


def address(containers: Mapping[str, Container], service: str, port: int) -> str:
    """Where a port of a service is reached from this machine."""
    if service not in containers:
        raise StackError(f"service {service}: has no running container; see: docker compose ps --all")
    container = containers[service]
    if port not in container.ports:
        raise StackError(f"container {container.name}: port {port} is not published, expected it on {HOST}")
    return f"{HOST}:{container.ports[port]}"


def target_of(
    servers: RemoteServers, containers: Mapping[str, Container], engine: str, pids_before: Collection[int] = ()
) -> Target:
    """The containers as a run uses them.

    Args:
        servers: What the servers in them say of themselves.
        containers: By service.
        engine: Where the engine is asked what they use.
        pids_before: First processes of the containers that ran before, and are warm.
    """
    target = servers.target()
    versions = {server.name: server.version for server in target.servers}
    names = {f"elasticsearch-{number}": name for number, name in enumerate(NODES, 1)}
    names |= {name: name for name in ("kafka", "connect")}
    used = {name: containers[service] for name, service in names.items() if service in containers}
    return replace(
        target,
        name="compose",
        servers=[
            server_of(name, versions.get(name) or tag_of(container.image), container)
            for name, container in used.items()
        ],
        fresh=any(container.pid not in pids_before for container in used.values()),
        bounded=bounded_already,
        containers=Containers(engine, {name: container.name for name, container in used.items()}),
    )


@contextlib.contextmanager
def bounded_already(_: Bounds) -> Iterator[None]:
    """The containers as they are: they were made with the profile's limit of memory, and no other is accepted."""
    yield


def server_of(name: str, version: str, container: Container) -> Server:
    """A server as a run records it, with what holds its container back."""
    memory = () if container.memory_bytes is None else (f"memory={container.memory_bytes}",)
    return Server(
        name=name, version=version, pid=container.pid, command_line_options=(f"image={container.image}", *memory)
    )


def tag_of(image: str) -> str:
    """The tag of an image, which is its version as far as anybody tells; the image itself where it has none."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[2] or image
