"""The servers on this machine, as a run and a suite use them."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lab.clients.target import Target
from lab.display import StackDisplay
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.records import Result, Server
from lab.run.folder import RunFolder
from lab.run.load.availability import plugin_folders, why_not_here
from lab.stack.artifacts import read_lock
from lab.stack.interrupts import uninterrupted
from lab.stack.local import LocalStack, StackShape, check_version
from lab.stack.places import ROOT
from lab.stack.server import STACK_MARKER
from lab.stack.watch import ServerWatch
from lab.suite.execution import Bench
from lab.targets.bench import started_bench
from lab.targets.measure import conclude, recorded
from producers.dataset import Dataset


class Local:
    """The servers on this machine: those that `up` started, or some that live as long as the command."""

    def fitted(self, profile: Profile) -> Profile:
        """The profile itself: servers are started as it asks for them.

        Raises:
            ProfileError: The machine lacks what the profile names.
        """
        check_version(profile.elasticsearch.version, read_lock())
        if lack := why_not_here(profile, ROOT):
            raise ProfileError(lack)
        return profile

    def run(self, profile: Profile, dataset: Dataset, runs: Path) -> tuple[RunFolder, Result]:
        """Run a fitted profile once."""
        with held_stack() as (stack, kept):
            before = {entry.pid for entry in stack.servers()}
            target = started_target(stack, profile, kept=kept, before=before)
            folder = recorded(profile, dataset, target, runs)
        return folder, conclude(folder)

    @contextlib.contextmanager
    def bench(
        self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset], command: Sequence[str]
    ) -> Iterator[Bench]:
        """The servers of a suite."""
        with held_stack() as (stack, kept):

            def start(profile: Profile, beside: Iterable[Profile]) -> Target:
                # Whether they are cold, the suite finds out by itself.
                return started_target(stack, profile, kept=kept, before=set(), beside=beside)

            with started_bench(start, profiles, datasets, command, stays=kept) as bench:
                yield bench


@contextlib.contextmanager
def held_stack() -> Iterator[tuple[LocalStack, bool]]:
    """This machine's servers, for this command alone, and whether they stay; those that do not are stopped then."""
    stack = LocalStack()
    with stack.exclusively():
        stack.remove_leftovers()
        state = stack.state()
        kept = state is not None and state.kept
        try:
            yield stack, kept
        finally:
            if not kept:
                stop(stack)


def stop(stack: LocalStack) -> None:
    """Stop the servers of this run, come what may."""
    with uninterrupted(), StackDisplay().showing() as progress:
        stack.stop(progress)


def started_target(
    stack: LocalStack, profile: Profile, *, kept: bool, before: set[int], beside: Iterable[Profile] = ()
) -> Target:
    """The local servers in the shape that the profile asks for.

    Args:
        beside: Profiles that will run on the same servers, so that one worker has the plugins of all of them.
    """
    shape = StackShape(
        elasticsearch_version=profile.elasticsearch.version,
        data_nodes=profile.elasticsearch.data_nodes,
        elasticsearch_heap_mb=profile.elasticsearch.heap_mb,
        node_settings=profile.elasticsearch.node_settings,
        plugin_folders=plugin_folders(profile, *beside),
    )
    with StackDisplay().showing() as progress:
        endpoints = stack.ensure(shape, kept=kept, progress=progress)
    state = stack.state()
    if state is None:
        raise StackError("the servers' state file has vanished while they were starting")
    return Target(
        name="local",
        endpoints=endpoints,
        process_ids=stack.process_ids,
        servers=[
            Server(
                name=entry.spec.name, version=entry.spec.version, pid=entry.pid, command_line_options=entry.spec.options
            )
            for entry in state.servers
        ],
        java_versions={entry.spec.name: entry.spec.java_version for entry in state.servers},
        fresh=not {entry.pid for entry in state.servers} <= before,
        check=ServerWatch(stack).check,
        child_environment={STACK_MARKER: str(stack.folder)},
    )
