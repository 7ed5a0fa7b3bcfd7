"""Servers that are started for a suite: warm ones stay, whatever number of nodes a variant asks for."""

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from lab.clients.target import Target, cluster_of
from lab.profiles import Profile
from lab.records import Result
from lab.records.suite import Variant
from lab.run.folder import RunFolder
from lab.run.load.sink import ELASTICSEARCH_URLS
from lab.run.prepare import remove_traces
from lab.stack.elasticsearch import node_name
from lab.suite.plan import server_shape
from lab.targets.measure import conclude, measure
from producers.dataset import Dataset

Start = Callable[[Profile, Iterable[Profile]], Target]
"""Has servers running in the shape that a profile asks for; the profiles beside it will run on the same ones."""

EXCLUDED = "cluster.routing.allocation.exclude._name"


class StartedBench:
    """Servers for all variants of a suite, started as they ask for them.

    As many Elasticsearch nodes run as any variant on the same servers needs. A variant with fewer gets the first ones:
    the others hold no shard and are sent no request. Stopping them instead would mean a cold JVM each time they come
    back, whose warm-up is a larger effect than most that a suite looks for.

    Args:
        profiles: By variant.
        datasets: By variant.
    """

    def __init__(
        self,
        start: Start,
        profiles: Mapping[str, Profile],
        datasets: Mapping[str, Dataset],
        command: Sequence[str],
    ) -> None:
        self._start = start
        self._profiles = profiles
        self._datasets = datasets
        self._command = command
        self._target: Target | None = None

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Have the servers that the variant needs; each of their processes with the way in which it is used."""
        profile = self._profiles[variant.name]
        alike = (other for other in self._profiles.values() if server_shape(other) == server_shape(profile))
        nodes = max(other.elasticsearch.data_nodes for other in alike)
        shape = profile.elasticsearch.model_copy(update={"data_nodes": nodes})
        whole = self._start(profile.model_copy(update={"elasticsearch": shape}), self._profiles.values())
        unused = ",".join(map(node_name, range(profile.elasticsearch.data_nodes + 1, nodes + 1)))
        self._target = replace(
            narrowed(whole, profile.elasticsearch.data_nodes), cluster_settings={EXCLUDED: unused} if unused else {}
        )
        own_cluster_settings(self._target, self._target.cluster_settings)
        return frozenset((way_of(profile), server.pid) for server in self._target.servers)

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool) -> Result:
        """Run the variant once on the servers that `prepare` gave it, and leave nothing of it in them."""
        assert self._target is not None  # noqa: S101 - `prepare` comes first
        profile = self._profiles[variant.name]
        target = replace(self._target, fresh=warm_up)
        try:
            measure(profile, self._datasets[variant.name], target, folder, self._command)
        finally:
            remove_traces(target, profile, folder.run_id)
        return conclude(folder)

    def leave(self) -> None:
        """Take back what concerns servers that stay after the suite."""
        if self._target is not None and self._target.cluster_settings:
            own_cluster_settings(self._target, {})


def own_cluster_settings(target: Target, settings: Mapping[str, object]) -> None:
    """Have these, and no others, be the settings that Sluice has set in the target's cluster."""
    cluster = cluster_of(target.endpoints)
    try:
        cluster.own_cluster_settings(settings)
    finally:
        cluster.close()


def narrowed(target: Target, data_nodes: int) -> Target:
    """The target with only its first Elasticsearch nodes."""
    whole = target.endpoints
    used = {node_name(number) for number in range(1, data_nodes + 1)}

    def is_used(name: str) -> bool:
        return name in used or not name.startswith(node_name(1).rstrip("1"))

    sink = dict(target.access.sink)
    if ELASTICSEARCH_URLS in sink:
        sink[ELASTICSEARCH_URLS] = ",".join(sink[ELASTICSEARCH_URLS].split(",")[:data_nodes])
    return replace(
        target,
        endpoints=replace(
            whole, elasticsearch_urls=whole.elasticsearch_urls[:data_nodes], access=replace(whole.access, sink=sink)
        ),
        process_ids=lambda: {name: pid for name, pid in target.process_ids().items() if is_used(name)},
        servers=[server for server in target.servers if is_used(server.name)],
        containers=target.containers
        and replace(
            target.containers,
            names={server: name for server, name in target.containers.names.items() if is_used(server)},
        ),
    )


def way_of(profile: Profile) -> str:
    """How a profile uses the servers: code that only another way has run is cold for this one."""
    if profile.load.via == "direct":
        return "direct"
    return " ".join(profile.sink.command) if profile.sink.command else profile.sink.connector


@contextlib.contextmanager
def started_bench(
    start: Start,
    profiles: Mapping[str, Profile],
    datasets: Mapping[str, Dataset],
    command: Sequence[str],
    *,
    stays: bool,
) -> Iterator[StartedBench]:
    """The bench of a suite; servers that stay after it are left as they were."""
    bench = StartedBench(start, profiles, datasets, command)
    try:
        yield bench
    finally:
        if stays:
            bench.leave()
