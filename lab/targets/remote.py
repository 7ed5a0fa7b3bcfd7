"""Servers elsewhere, as a run and a suite use them: nothing is started, stopped or set."""

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from lab.endpoints import Endpoints
from lab.profiles import Profile
from lab.records import Result
from lab.records.suite import Variant
from lab.run.folder import RunFolder
from lab.run.prepare import remove_traces
from lab.stack.local import LocalStack
from lab.suite.execution import Bench
from lab.targets.bench import way_of
from lab.targets.measure import conclude, measure, recorded
from lab.targets.remote_servers import RemoteTarget, find_remote, nodes_of, refuse_company
from producers.dataset import Dataset


class Remote:
    """Servers that exist already."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    @cached_property
    def found(self) -> RemoteTarget:
        """What they are; they are asked once.

        Raises:
            ProfileError: A run is under way on them.
        """
        LocalStack().remove_orphans()
        found = find_remote(self._endpoints)
        refuse_company(found)
        return found

    def fitted(self, profile: Profile) -> Profile:
        """The profile with what they are.

        Raises:
            ProfileError: It asks for something else.
        """
        return self.found.fitted(profile)

    def run(self, profile: Profile, dataset: Dataset, runs: Path) -> tuple[RunFolder, Result]:
        """Run a fitted profile once."""
        folder = recorded(profile, dataset, self.found.target(), runs)
        return folder, conclude(folder)

    @contextlib.contextmanager
    def bench(
        self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset], command: Sequence[str]
    ) -> Iterator[Bench]:
        """The servers of a suite."""
        yield RemoteBench(self.found, profiles, datasets, command)


class RemoteBench:
    """Servers elsewhere for all variants of a suite.

    Args:
        profiles: By variant, as they fit.
        datasets: By variant.
    """

    def __init__(
        self,
        found: RemoteTarget,
        profiles: Mapping[str, Profile],
        datasets: Mapping[str, Dataset],
        command: Sequence[str],
    ) -> None:
        self._found = found
        self._profiles = profiles
        self._datasets = datasets
        self._command = command

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Each JVM of the cluster, by its start, with the way in which the variant uses it."""
        self._found = replace(self._found, nodes=nodes_of(self._found.endpoints))
        way = way_of(self._profiles[variant.name])
        return frozenset((way, node.name, node.started_ms) for node in self._found.nodes)

    def run(self, variant: Variant, folder: RunFolder, *, warm_up: bool) -> Result:
        """Run the variant once, and leave nothing of it in the servers."""
        profile = self._profiles[variant.name]
        target = replace(self._found.target(), fresh=warm_up)
        try:
            measure(profile, self._datasets[variant.name], target, folder, self._command)
        finally:
            remove_traces(target, profile, folder.run_id)
        return conclude(folder)
