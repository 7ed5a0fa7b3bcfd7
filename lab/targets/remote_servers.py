"""Servers elsewhere: whether they let us in, what they are, and whether a profile can run on them as they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from lab.clients.elasticsearch import ElasticsearchClient, error_reason
from lab.clients.http import UNAUTHORIZED
from lab.clients.target import Target, cluster_of, topics_of, worker_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.profiles.problems import Place, Problem
from lab.records import Server
from lab.run.load.availability import why_not_on
from lab.run.names import is_our_connector
from lab.stack.places import ROOT, state_dir
from lab.stack.server import STACK_MARKER, owned_marker

ANSWER_WITHIN_S = 10.0
"""Servers that somebody else keeps are there or they are not; nobody is about to start them."""

FRESH_MS = 5 * 60_000
MIB = 1024 * 1024
NODES = "/_nodes/stats/jvm?filter_path=nodes.*.name,nodes.*.roles,nodes.*.jvm.uptime_in_millis"
NODES_INFO = (
    "/_nodes/jvm?filter_path=nodes.*.name,nodes.*.version,nodes.*.roles,nodes.*.jvm.version,"
    "nodes.*.jvm.start_time_in_millis,nodes.*.jvm.mem.heap_max_in_bytes"
)
DATA_ROLES = frozenset({"data", "data_content"})
"""Roles of the nodes that hold an index which says nothing of tiers."""

ONLY_USED = "remote servers are used as they are: leave it out, or run without --target remote"


@dataclass(frozen=True)
class Node:
    """One node of the cluster.

    Attributes:
        started_ms: When its JVM was started, by its own clock.
        uptime_ms: For how long it has been running.
        holds_data: Whether shards of a run's index may lie on it.
    """

    name: str
    version: str
    java_version: str
    heap_mb: int
    started_ms: int
    uptime_ms: int
    holds_data: bool


@dataclass(frozen=True)
class RemoteTarget:
    """Servers elsewhere, as they were found.

    Attributes:
        plugins: Classes of the connectors that the worker has.
        connectors: Those of ours that it runs.
    """

    endpoints: Endpoints
    nodes: tuple[Node, ...]
    connect_version: str
    plugins: frozenset[str]
    connectors: tuple[str, ...] = ()

    @property
    def versions(self) -> str:
        """The version of Elasticsearch; of a cluster that is being upgraded all of them."""
        return " and ".join(sorted({node.version for node in self.nodes}))

    @property
    def data_nodes(self) -> list[Node]:
        """The nodes that may hold shards."""
        return [node for node in self.nodes if node.holds_data]

    @property
    def heaps_mb(self) -> list[int]:
        """The heaps of the nodes that may hold shards, in MiB."""
        return sorted({node.heap_mb for node in self.data_nodes})

    def target(self) -> Target:
        """These servers as a run uses them. Brokers do not tell their version, so that none is recorded."""
        named = {f"elasticsearch-{number}": node for number, node in enumerate(self.nodes, 1)}
        return Target(
            name="remote",
            endpoints=self.endpoints,
            process_ids=dict,
            servers=[
                *(Server(name=name, version=node.version, pid=None) for name, node in named.items()),
                Server(name="connect", version=self.connect_version, pid=None),
            ],
            java_versions={name: node.java_version for name, node in named.items()},
            fresh=any(node.uptime_ms < FRESH_MS for node in self.data_nodes),
            child_environment={STACK_MARKER: owned_marker(state_dir())},
        )

    def fitted(self, profile: Profile) -> Profile:
        """The profile with the cluster's own version, number of nodes and heap, as it is then written down.

        Raises:
            ProfileError: It asks for others.
        """
        if refusals := tuple(self.refusals(profile)):
            raise ProfileError("\n".join(refusals))
        found = {"version": self.versions, "data_nodes": len(self.data_nodes), "heap_mb": max(self.heaps_mb)}
        return profile.model_copy(update={"elasticsearch": profile.elasticsearch.model_copy(update=found)})

    def refusals(self, profile: Profile) -> Iterator[str]:
        """What the profile asks for and these servers, which nothing is changed of, do not have; a sentence each."""
        if lack := why_not_on(self.plugins, profile, ROOT):
            yield lack
        asked = profile.elasticsearch
        heaps = " and ".join(map(str, self.heaps_mb))
        for key, wanted, found, whose in (
            ("version", asked.version, self.versions, "the cluster runs"),
            ("data_nodes", asked.data_nodes, str(len(self.data_nodes)), "the cluster has"),
            ("heap_mb", asked.heap_mb, heaps, "the cluster's data nodes have"),
        ):
            if (place := profile.where.get(f"elasticsearch.{key}")) and str(wanted) != found:
                message = f"got {wanted}, expected {found}, which {whose}; {ONLY_USED}"
                yield refusal_at(place, f"elasticsearch.{key}", message)
        for section, settings in (
            ("node_settings", asked.node_settings),
            ("cluster_settings", asked.cluster_settings),
        ):
            for name in settings:
                key = f"elasticsearch.{section}.{name}"
                yield refusal_at(profile.where.get(key, profile.name), key, f"got a value, expected none; {ONLY_USED}")


def refusal_at(place: str, key: str, message: str) -> str:
    """One line of a refusal, as the profile's own."""
    return str(Problem(Place(f"{place} {key}" if place == "--set" else place), key, message))


def find_remote(endpoints: Endpoints) -> RemoteTarget:
    """Ask every one of the servers what it is.

    Raises:
        ProfileError: One of them does not let us in.
        StackError: One of them does not answer.
    """
    nodes = nodes_of(endpoints)
    if not any(node.holds_data for node in nodes):
        raise StackError(f"{endpoints.elasticsearch_urls[0]}: the cluster has no node that holds data")
    worker = worker_of(endpoints, ANSWER_WITHIN_S)
    try:
        version, running, plugins = worker.version(), worker.connectors(), worker.plugins()
    finally:
        worker.close()
    topics_of(endpoints).names(ANSWER_WITHIN_S)
    ask_metrics(endpoints)
    ours = tuple(sorted(filter(is_our_connector, running)))
    return RemoteTarget(endpoints, nodes, version, plugins, ours)


def refuse_company(found: RemoteTarget) -> None:
    """See that no run is under way on servers whose other users nobody here knows.

    Raises:
        ProfileError: One is.
    """
    if found.connectors:
        raise ProfileError(
            f"{found.endpoints.connect_url}: connector {found.connectors[0]}: is there already, expected no connector "
            "of Sluice: another run is under way on these servers, or one was killed; wait for it, or delete the "
            "connector"
        )


def nodes_of(endpoints: Endpoints) -> tuple[Node, ...]:
    """The nodes of the cluster, in the order of their names."""
    cluster = cluster_of(endpoints, ANSWER_WITHIN_S)
    try:
        told = answer(cluster, NODES_INFO, endpoints)
        uptimes = answer(cluster, NODES, endpoints)
    finally:
        cluster.close()
    return tuple(
        sorted((node_of(told[key], uptimes[key]) for key in told.keys() & uptimes.keys()), key=lambda node: node.name)
    )


def answer(cluster: ElasticsearchClient, path: str, endpoints: Endpoints) -> Mapping[str, Any]:
    """What each node answers, by its id."""
    status, body = cluster.request("GET", path, accept=tuple(UNAUTHORIZED))
    if status in UNAUTHORIZED:
        raise ProfileError(
            f"{endpoints.elasticsearch_urls[0]}: Elasticsearch rejected our credentials ({status}): "
            f"{error_reason(body)}"
        )
    if not isinstance(body, dict) or "nodes" not in body:
        raise StackError(f"{endpoints.elasticsearch_urls[0]}: is not an Elasticsearch: /_nodes lists no nodes")
    return dict(body["nodes"])


def node_of(told: Mapping[str, Any], uptime: Mapping[str, Any]) -> Node:
    """A node out of what it says of itself."""
    return Node(
        name=str(told["name"]),
        version=str(told["version"]),
        java_version=str(told["jvm"]["version"]),
        heap_mb=round(int(told["jvm"]["mem"]["heap_max_in_bytes"]) / MIB),
        started_ms=int(told["jvm"]["start_time_in_millis"]),
        uptime_ms=int(uptime["jvm"]["uptime_in_millis"]),
        holds_data=not DATA_ROLES.isdisjoint(told["roles"]),
    )


def ask_metrics(endpoints: Endpoints) -> None:
    """Have the JMX agent answer, if there is said to be one.

    Raises:
        ProfileError: It does not let us in.
        StackError: It does not answer, or is none.
    """
    if endpoints.metrics_url is None:
        return
    url = f"{endpoints.metrics_url.rstrip('/')}/version"
    try:
        with endpoints.access.metrics.client(timeout=ANSWER_WITHIN_S) as client:
            response = client.get(url)
    except httpx.TransportError as error:
        raise StackError(f"{url}: the JMX agent does not answer ({type(error).__name__})") from error
    if response.status_code in UNAUTHORIZED:
        raise ProfileError(f"{url}: the JMX agent rejected our credentials ({response.status_code})")
    if not response.is_success:
        raise StackError(f"{url}: is not a JMX agent: status {response.status_code}")
