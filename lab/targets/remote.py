"""Servers elsewhere: what they are, and whether a profile can run on them; nothing is started, stopped or set."""

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import httpx

from lab.clients.elasticsearch import ElasticsearchClient, error_reason
from lab.clients.http import UNAUTHORIZED
from lab.clients.target import Target, cluster_of, topics_of, worker_of
from lab.endpoints import METRICS_ORIGIN, Endpoints, urls_of
from lab.engines import DEFAULT, Engine, Release, engine_called
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.profiles.loads import Stream
from lab.profiles.suites import Suite
from lab.records.run import Server
from lab.records.suite import Variant
from lab.run.load.availability import why_not_on
from lab.run.load.rally.program import why_not_engine, why_not_rally_on
from lab.run.names import is_our_connector
from lab.stack.local import LocalStack
from lab.stack.places import ROOT, state_dir
from lab.stack.server import STACK_MARKER, owned_marker
from lab.targets.servers import Servers, VariantBench, refusal_at, release_refusals
from producers.dataset import Dataset

ANSWER_TIMEOUT_S = 10.0
"""Short, because Sluice does not start remote servers: they answer now or not at all."""

FRESH_MS = 5 * 60_000
MIB = 1024 * 1024
NODES_STATS = "/_nodes/stats/jvm?filter_path=nodes.*.jvm.uptime_in_millis"
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
class RemoteServers:
    """What servers elsewhere are.

    Attributes:
        plugins: Classes of the connectors that the worker has.
        connectors: Those of ours that it runs.
        engine: What the nodes are.
    """

    endpoints: Endpoints
    nodes: tuple[Node, ...]
    connect_version: str
    plugins: frozenset[str]
    connectors: tuple[str, ...] = ()
    engine: Engine = DEFAULT.engine

    @property
    def release(self) -> Release:
        """The release of the nodes; of a cluster that is being upgraded with all versions."""
        return Release(self.engine, " and ".join(sorted({node.version for node in self.nodes})))

    @property
    def data_nodes(self) -> list[Node]:
        """The nodes that may hold shards."""
        return [node for node in self.nodes if node.holds_data]

    @property
    def heaps_mb(self) -> list[int]:
        """The heaps of the nodes that may hold shards, in MiB."""
        return sorted({node.heap_mb for node in self.data_nodes})

    def target(self) -> Target:
        """These servers as a run uses them. Brokers do not say their version, so that none is recorded."""
        product = self.engine.recorded
        nodes = {f"elasticsearch-{number}": node for number, node in enumerate(self.nodes, 1)}
        versions = {name: node.version for name, node in nodes.items()} | {"connect": self.connect_version}
        return Target(
            name="remote",
            endpoints=self.endpoints,
            process_ids=dict,
            servers=[
                Server(name=name, version=version, pid=None, product=product if name in nodes else None)
                for name, version in versions.items()
            ],
            java_versions={name: node.java_version for name, node in nodes.items()},
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
        actual = {"data_nodes": len(self.data_nodes), "heap_mb": max(self.heaps_mb)}
        cluster = profile.elasticsearch.model_copy(update=actual)
        return profile.model_copy(update={"elasticsearch": cluster}).on(self.release)

    def refusals(self, profile: Profile) -> Iterator[str]:
        """A sentence for each setting of the profile that these servers, which Sluice does not change, do not have."""
        if lack := why_not_on(self.plugins, profile, ROOT) or (
            why_not_engine(profile, self.engine) or why_not_rally_on(self.endpoints, profile)
        ):
            yield lack
        yield from release_refusals(profile, self.release, f"the cluster runs; {ONLY_USED}")
        wanted = profile.elasticsearch
        for name, actual, owner in (
            ("data_nodes", str(len(self.data_nodes)), "the cluster has"),
            ("heap_mb", " and ".join(map(str, self.heaps_mb)), "the cluster's data nodes have"),
        ):
            key, value = f"elasticsearch.{name}", str(getattr(wanted, name))
            if (place := profile.where.get(key)) and value != actual:
                yield refusal_at(place, key, f"got {value}, expected {actual}, which {owner}; {ONLY_USED}")
        for name, bound in wanted.bounds.items():
            key = f"elasticsearch.{name}"
            if bound is not None:
                place = profile.where.get(key, profile.name)
                yield refusal_at(
                    place, key, f"got {bound}, expected none: nothing is set on servers elsewhere; {ONLY_USED}"
                )
        for name, asked in (("java", wanted.java), ("distribution", wanted.distribution)):
            if asked is not None:
                key = f"elasticsearch.{name}"
                yield refusal_at(profile.where.get(key, profile.name), key, f"got {asked}, expected none; {ONLY_USED}")
        for key in (
            *(f"elasticsearch.node_settings.{name}" for name in wanted.node_settings),
            *(f"elasticsearch.cluster_settings.{name}" for name in wanted.cluster_settings),
        ):
            yield refusal_at(profile.where.get(key, profile.name), key, f"got a value, expected none; {ONLY_USED}")
        yield from pause_refusals(profile)


def pause_refusals(profile: Profile) -> Iterator[str]:
    """Why nodes that Sluice has not started on this machine cannot be paused."""
    if isinstance(profile.load, Stream) and profile.load.pause:
        place = profile.where.get("load.pause.seconds", profile.name)
        yield refusal_at(place, "load.pause", "got a pause, expected none: only `--target local` has nodes to pause")


class Remote(Servers):
    """Servers that exist already."""

    may_be_licensed = True

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    @cached_property
    def servers(self) -> RemoteServers:
        """What they are; they are asked once.

        Raises:
            ProfileError: A run is under way on them.
        """
        LocalStack().remove_orphans()
        servers = read_servers(self._endpoints)
        refuse_concurrent_run(servers)
        return servers

    def _fitted(self, profile: Profile) -> Profile:
        """The profile with what they are."""
        return self.servers.fitted(profile)

    def endpoints(self) -> Endpoints:
        """Where they are."""
        return self._endpoints

    def stop(self) -> None:
        """None of them is only for this command."""

    def held(self) -> AbstractContextManager[None]:
        """Nobody can be kept out."""
        return nullcontext()

    def target(self, profile: Profile, beside: Iterable[Profile] = ()) -> Target:  # noqa: ARG002 - used as they are
        """The servers as they are."""
        return self.servers.target()

    @contextlib.contextmanager
    def bench(self, suite: Suite, datasets: Mapping[str, Dataset], command: Sequence[str]) -> Iterator[VariantBench]:
        """The servers of a suite."""
        profiles = {variant.name: variant.profile for variant in suite.variants}
        bench = RemoteBench(profiles, datasets, command, self.servers)
        try:
            yield bench
        finally:
            bench.inputs.close()
            bench.leave()


@dataclass
class RemoteBench(VariantBench):
    """Servers elsewhere for all variants of a suite."""

    servers: RemoteServers

    def restart(self) -> None:
        """Do nothing: remote servers are not ours to restart."""

    def change_part(self, before: str, after: str) -> None:
        """Do nothing: remote servers are not ours to change."""

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Each JVM of the cluster, by its start, with the way in which the variant uses it."""
        self.servers = replace(self.servers, nodes=nodes_of(self.servers.endpoints))
        self.target = self.servers.target()
        return frozenset((variant.way, node.name, node.started_ms) for node in self.servers.nodes)


def read_servers(endpoints: Endpoints) -> RemoteServers:
    """Ask every one of the servers what it is.

    Raises:
        ProfileError: One of them rejects our credentials.
        StackError: One of them does not answer.
    """
    nodes = nodes_of(endpoints)
    if not any(node.holds_data for node in nodes):
        raise StackError(f"{endpoints.elasticsearch_urls[0]}: the cluster has no node that holds data")
    with closing(worker_of(endpoints, ANSWER_TIMEOUT_S)) as worker:
        version, connectors, plugins = worker.version(), worker.connectors(), worker.plugins()
    topics_of(endpoints).names(ANSWER_TIMEOUT_S)
    check_metrics_agent(endpoints)
    ours = tuple(sorted(filter(is_our_connector, connectors)))
    return RemoteServers(endpoints, nodes, version, plugins, ours, engine_of(endpoints))


def engine_of(endpoints: Endpoints) -> Engine:
    """The engine that the cluster says that it is; a plain build of Elasticsearch says nothing."""
    with closing(cluster_of(endpoints, ANSWER_TIMEOUT_S)) as cluster:
        _, body = cluster.request("GET", "/", accept=(*UNAUTHORIZED, 404, 405))
    version = body.get("version", {}) if isinstance(body, dict) else {}
    return engine_called(version.get("distribution"))


def refuse_concurrent_run(servers: RemoteServers) -> None:
    """Raise ProfileError if a run is under way on servers whose other users nobody here knows."""
    if servers.connectors:
        raise ProfileError(
            f"{servers.endpoints.connect_url}: connector {servers.connectors[0]}: exists already, expected no "
            "connector of Sluice; another run is under way on these servers, or one was killed: wait for it, or delete "
            "the connector"
        )


def nodes_of(endpoints: Endpoints) -> tuple[Node, ...]:
    """The nodes of the cluster, in the order of their names."""
    with closing(cluster_of(endpoints, ANSWER_TIMEOUT_S)) as cluster:
        infos, stats = (nodes_answer(cluster, path, endpoints) for path in (NODES_INFO, NODES_STATS))
    nodes = [
        Node(
            name=str(info["name"]),
            version=str(info["version"]),
            java_version=str(info["jvm"]["version"]),
            heap_mb=round(int(info["jvm"]["mem"]["heap_max_in_bytes"]) / MIB),
            started_ms=int(info["jvm"]["start_time_in_millis"]),
            uptime_ms=int(stats[key]["jvm"]["uptime_in_millis"]),
            holds_data=not DATA_ROLES.isdisjoint(info["roles"]),
        )
        for key, info in infos.items()
        if key in stats
    ]
    return tuple(sorted(nodes, key=lambda node: node.name))


def nodes_answer(cluster: ElasticsearchClient, path: str, endpoints: Endpoints) -> Mapping[str, Any]:
    """What each node answers, by its id."""
    url = endpoints.elasticsearch_urls[0]
    status, body = cluster.request("GET", path, accept=tuple(UNAUTHORIZED))
    if status in UNAUTHORIZED:
        raise ProfileError(f"{url}: Elasticsearch rejected our credentials ({status}): {error_reason(body)}")
    if not isinstance(body, dict) or "nodes" not in body:
        raise StackError(f"{url}: is not an Elasticsearch: /_nodes lists no nodes")
    return dict(body["nodes"])


def check_metrics_agent(endpoints: Endpoints) -> None:
    """Check that every configured JMX agent responds.

    Raises:
        ProfileError: It rejects our credentials.
        StackError: It does not answer, or is none.
    """
    for agent in urls_of(endpoints.metrics_url or ""):
        check_agent(f"{agent}/version", endpoints)


def check_agent(url: str, endpoints: Endpoints) -> None:
    """Check that one JMX agent responds; raises as above."""
    try:
        with endpoints.access.metrics.client(timeout=ANSWER_TIMEOUT_S) as client:
            response = client.get(url, headers={"Origin": METRICS_ORIGIN})
    except httpx.TransportError as error:
        raise StackError(f"{url}: the JMX agent does not answer ({type(error).__name__})") from error
    if response.status_code in UNAUTHORIZED:
        raise ProfileError(f"{url}: the JMX agent rejected our credentials ({response.status_code})")
    if not response.is_success:
        raise StackError(f"{url}: is not a JMX agent: status {response.status_code}")
