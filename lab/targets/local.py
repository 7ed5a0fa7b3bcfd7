"""The servers on this machine, as a run and a suite use them."""

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import psutil

from lab.clients.target import Target
from lab.display import StackDisplay
from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError
from lab.profiles import Profile
from lab.profiles.suites import Suite
from lab.records.run import Server
from lab.run.load.availability import plugin_folders, why_not_here
from lab.stack.artifacts import read_lock
from lab.stack.distribution import OFFICIAL, folder_named, release_in
from lab.stack.elasticsearch import vector_instructions
from lab.stack.groups import Bounds
from lab.stack.jdk import find_jdks
from lab.stack.local import LocalStack
from lab.stack.places import ROOT
from lab.stack.server import STACK_MARKER, last_log_lines, uninterrupted
from lab.stack.shape import StackShape, fitting_java
from lab.suite.loads import is_drain
from lab.suite.plan import server_shape
from lab.targets.duets import DuetBench
from lab.targets.servers import Servers, StartedBench, override_refusals, refusal_among_first, release_refusals
from producers.dataset import Dataset

CHECK_INTERVAL_S = 1.0
SPARE_MB = 2048
"""What servers that run side by side leave to everything else, such as the page cache."""
SECOND = "second"
"""Folder of the second set of servers, for runs in pairs."""
RESTART_TIMEOUT_S = 30.0
"""A server that has ended is waited for so long: somebody may start it again."""


class Local(Servers):
    """The servers on this machine: those that `up` started, or some that live as long as the command."""

    has_plugins = False

    def __init__(self, beside: LocalStack | None = None) -> None:
        """The servers of this checkout, or a set beside them that is stopped with them."""
        self._stack = beside or LocalStack()
        self.stay = beside is None
        self._ran_before: Collection[int] = ()
        self._stacks: dict[str, LocalStack] = {}

    def _fitted(self, profile: Profile) -> Profile:
        """The profile, on the release of its distribution: servers are started as it asks for them."""
        profile = on_distribution(profile)
        if profile.elasticsearch.distribution != OFFICIAL:
            # Once the archive is here, its own JDK is known.
            fitting_java(shape_of(profile), read_lock(), find_jdks())
        refusals = (
            why_not_here(profile, ROOT),
            refusal_among_first(profile),
            *override_refusals(profile),
            *self._stack.groups.lacks(Bounds(**profile.elasticsearch.bounds)),
        )
        if stated := [refusal for refusal in refusals if refusal]:
            raise ProfileError("\n".join(stated))
        return profile

    def endpoints(self) -> Endpoints:
        """Where the servers of `up` are found."""
        state = self._stack.state()
        if state is None or not state.kept:
            raise StackError(
                "no servers of ./sluice up are running: a run stops the servers that it starts, and its index and "
                "dead letters are gone with them; to keep them, start servers before the run with: ./sluice up"
            )
        dead = sorted(entry.spec.name for entry in state.servers if not entry.alive)
        if dead:
            raise StackError(f"{' and '.join(dead)} ended; restart with: ./sluice restart {dead[0]}")
        return self._stack.endpoints()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold them for this command; those that `up` has not started are stopped at the end."""
        with self._stack.exclusively():
            self._stack.remove_leftovers()
            self.stay = not self.may_be_started_anew()
            self._ran_before = {entry.pid for entry in self._stack.servers()}
            try:
                yield
            finally:
                self.stop()

    def may_be_started_anew(self) -> bool:
        """Those that `up` has started are somebody's beyond this command."""
        state = self._stack.state()
        return state is None or not state.kept

    def stop(self) -> None:
        """Stop all but those that `up` has started; the next target starts others."""
        self._stacks.clear()
        with uninterrupted(), StackDisplay().showing() as progress:
            if self.stay:
                self._stack.stop_beside(progress)
            else:
                self._stack.stop(progress)

    def refuse_duets(self, profiles: Sequence[Profile]) -> None:
        """Both runs of a pair need servers of one kind, twice, at the same time."""
        if any(profile.load.via == "rally" for profile in profiles):
            raise ProfileError("--duets: got a load through Rally, expected another: one Rally runs at a time")
        if not all(is_drain(profile) for profile in profiles):
            raise ProfileError("--duets: got a variant that is no drain, expected drains only")
        if len({server_shape(profile) for profile in profiles}) > 1:
            raise ProfileError(
                "--duets: got variants on different servers, expected one version and one set of options"
            )
        needed_mb = 2 * max(shape_of(profile).memory_mb for profile in profiles) + SPARE_MB
        if needed_mb > (available_mb := self._available_mb()):
            raise ProfileError(f"--duets: {needed_mb:,} MB of memory are needed, {available_mb:,} MB are available")

    @contextlib.contextmanager
    def duet_bench(self, suite: Suite, datasets: Mapping[str, Dataset], command: Sequence[str]) -> Iterator[DuetBench]:
        """The servers of a suite twice, for two runs at the same time."""
        with self.bench(suite, datasets, command) as first:
            assert isinstance(first, StartedBench)  # noqa: S101 - as for all servers that are started here
            beside = Local(self._stack.beside(SECOND))
            second = replace(first, start=beside.target, stop=beside.stop)
            try:
                yield DuetBench((first, second))
            finally:
                second.inputs.close()

    def run_together(self, profiles: Iterable[Profile]) -> bool:
        """Whether there is memory for all servers that the profiles ask for at the same time."""
        largest: dict[str, int] = {}
        for profile in profiles:
            shape = server_shape(profile)
            largest[shape] = max(largest.get(shape, 0), shape_of(profile).memory_mb)
        return sum(largest.values()) + SPARE_MB <= self._available_mb()

    def _available_mb(self) -> int:
        """Memory that nothing else has taken."""
        entries = (entry for stack in {self._stack, *self._stacks.values()} for entry in stack.servers())
        running = [process for entry in entries if (process := entry.process())]
        taken = sum(process.memory_info().rss for process in running)
        return int(psutil.virtual_memory().available + taken) // 2**20

    def _stack_of(self, profile: Profile, beside: Collection[Profile]) -> LocalStack:
        """The servers of a profile: one that is stopped for another and started again comes back cold."""
        shape = server_shape(profile)
        if shape not in self._stacks:
            is_another = self._stacks and beside and self.run_together(beside)
            self._stacks[shape] = self._stack.beside(len(self._stacks)) if is_another else self._stack
        return self._stacks[shape]

    def target(self, profile: Profile, beside: Iterable[Profile] = ()) -> Target:
        """The servers in the shape that the profile asks for, with the plugins that any of the profiles needs."""
        beside = tuple(beside)
        stack = self._stack_of(profile, beside)
        shape = replace(shape_of(profile), plugin_folders=plugin_folders(profile, *beside))
        with StackDisplay().showing() as progress:
            endpoints = stack.ensure(shape, kept=self.stay and stack is self._stack, progress=progress)
        specs = {entry.pid: entry.spec for entry in stack.servers()}
        return Target(
            name="local",
            endpoints=endpoints,
            process_ids=stack.process_ids,
            servers=[
                Server(
                    name=spec.name,
                    product=spec.product,
                    version=spec.version,
                    pid=pid,
                    command_line_options=spec.options,
                    vector_instructions=vector_instructions(spec.server_log) if spec.server_log else None,
                )
                for pid, spec in specs.items()
            ],
            java_versions={spec.name: spec.java_version for spec in specs.values()},
            fresh=not specs.keys() <= set(self._ran_before),
            check=ServerWatch(stack).check,
            child_environment={STACK_MARKER: str(stack.folder)},
            bounded=stack.bounded,
        )


def on_distribution(profile: Profile) -> Profile:
    """The profile on the release that its unpacked archive holds, with the folder as an absolute path.

    Raises:
        ProfileError: The folder holds none, or the profile states another one.
    """
    home = folder_named(profile.elasticsearch.distribution)
    if home is None:
        return profile
    found = release_in(home)
    if refusals := tuple(release_refusals(profile, found, f"{home} holds")):
        raise ProfileError("\n".join(refusals))
    cluster = profile.elasticsearch.model_copy(update={"distribution": str(home)})
    return profile.model_copy(update={"elasticsearch": cluster}).on(found)


def shape_of(profile: Profile) -> StackShape:
    """The servers that a profile asks for, without the plugins of its sink."""
    cluster = profile.elasticsearch
    return StackShape(
        release=profile.release,
        elasticsearch_java=cluster.java,
        data_nodes=cluster.data_nodes,
        elasticsearch_heap_mb=cluster.heap_mb,
        node_settings=cluster.node_settings,
        distribution=cluster.distribution,
    )


class ServerWatch:
    """Looks whether the servers of a stack still run."""

    def __init__(self, stack: LocalStack, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack = stack
        self._clock = clock
        self._checked_at_s = float("-inf")
        self._ended_at_s: dict[str, float] = {}
        self._finding = ""

    def check(self) -> str:
        """The server that has ended and what to do about it, in a few words; empty if all run.

        Raises:
            StackError: They were stopped, or nobody has started it again in time; with the last lines of its log.
        """
        now_s = self._clock()
        if now_s - self._checked_at_s < CHECK_INTERVAL_S:
            return self._finding
        self._checked_at_s = now_s
        state = self._stack.state()
        if state is None:
            raise StackError("the servers of this checkout were stopped while they were in use")
        ended = {entry.spec.name: entry.spec for entry in state.servers if not entry.alive}
        self._ended_at_s = {name: self._ended_at_s.get(name, now_s) for name in ended}
        for name, ended_at_s in self._ended_at_s.items():
            if now_s - ended_at_s > RESTART_TIMEOUT_S:
                log = ended[name].server_log or ended[name].log_file
                raise StackError(f"{name}: ended while it was in use; its log is {log}", last_log_lines(ended[name]))
        advice = "" if self._stack.is_beside else f": ./sluice restart {next(iter(ended), '')}"
        self._finding = f"{' and '.join(ended)} ended{advice}" if ended else ""
        return self._finding
