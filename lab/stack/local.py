"""The target `local`: the real servers as child processes of this machine, no Docker."""

import contextlib
import fcntl
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
from pydantic import BaseModel, ConfigDict, model_validator

from lab.endpoints import Access, Endpoints
from lab.errors import ProfileError, StackError
from lab.files import remove_folder, write_whole
from lab.identity import ProcessIdentity, identity_of, with_identity
from lab.stack import elasticsearch, kafka, metrics_agent, readiness, server
from lab.stack.artifacts import Artifact, ArtifactCache, ArtifactLock, read_lock
from lab.stack.disks import drop_pages
from lab.stack.distribution import OFFICIAL, official_home
from lab.stack.groups import DATA_FOLDER, REMOVE_TIMEOUT_S, Bounds, ServerGroups
from lab.stack.jdk import Jdk, extra_jvm_options, find_jdks, java_for_kafka, refuse_wrong_java_home
from lab.stack.places import ROOT, cache_dir, state_dir
from lab.stack.plugin import (
    build_plugin,
    folders_fingerprint,
    is_built,
    is_released,
    plugin_artifacts,
    plugin_path,
    released_plugin,
)
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.runtimes import choose_java, java_runtime
from lab.stack.server import ServerProcess, ServerSpec, uninterrupted
from lab.stack.shape import StackShape, fitting_java, kafka_version, port_names, ports_of

BESIDE = "beside"
"""Folder, below a stack's own, of the stacks that run beside it."""


class StackState(BaseModel):
    """What is written down of the servers while they run.

    Attributes:
        kept: Started by `up`, to survive the command; otherwise they belong to one run and go with it.
        owner: The command that started them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kept: bool
    owner: ProcessIdentity
    servers: tuple[ServerProcess, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_older_version(cls, facts: Any) -> Any:
        return with_identity(facts, "owner", "owner_pid")

    def server(self, name: str) -> ServerProcess | None:
        """The server of that name, running or not."""
        return next((entry for entry in self.servers if entry.spec.name == name), None)


@dataclass(frozen=True)
class StackProgress:
    """What to call while servers are made ready, for a progress display.

    Attributes:
        fetching: (bytes present, bytes needed) of the artifacts.
        step: (server or piece, what happens to it: `starting`, `ready`, `building`, `9.5.3 instead of 8.19.21` …).
    """

    fetching: Callable[[int, int], None] = lambda _present, _needed: None
    step: Callable[[str, str], None] = lambda _name, _what: None


class LocalStack:
    """The servers of one checkout on this machine. Every change is in the state file before anything can go wrong."""

    def __init__(self, state: Path | None = None, cache: Path | None = None, project: Path = ROOT / "connect") -> None:
        self.folder = state or state_dir()
        self.cache = ArtifactCache(cache or cache_dir())
        self._cache_dir = cache or cache_dir()
        self._project = project
        self._state_lock = Lock()
        self.groups = ServerGroups(self.folder)

    def beside(self, number: int | str) -> "LocalStack":
        """Another set of servers, which runs at the same time and belongs to this one: who stops these stops those."""
        return LocalStack(self.folder / BESIDE / str(number), self._cache_dir, self._project)

    @property
    def is_beside(self) -> bool:
        """Whether these servers run beside others, which commands by name mean."""
        return self.folder.parent.name == BESIDE

    def _all_beside(self) -> list["LocalStack"]:
        folders = sorted((self.folder / BESIDE).glob("*"))
        return [LocalStack(folder, self._cache_dir, self._project) for folder in folders]

    @property
    def state_file(self) -> Path:
        """Where the servers are written down."""
        return self.folder / "state.json"

    @property
    def _lock_file(self) -> Path:
        return self.folder / "command.lock"

    def _is_ours(self) -> bool:
        """Whether a command has used the folder before, or there is nothing in it yet."""
        return self._lock_file.is_file() or not any(self.folder.glob("*"))

    def state(self) -> StackState | None:
        """What is written down of the servers; `None` if nothing is."""
        try:
            return StackState.model_validate_json(self.state_file.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StackError(
                f"{self.state_file}: cannot be read as a state file of this version; `./sluice down` stops the servers "
                "and removes it"
            ) from error

    def servers(self) -> tuple[ServerProcess, ...]:
        """The servers that run."""
        state = self.state()
        return tuple(entry for entry in state.servers if entry.alive) if state else ()

    def endpoints(self) -> Endpoints:
        """Where the running servers are found.

        Raises:
            StackError: Nothing runs here.
        """
        state = self.state()
        ports = {entry.spec.name: entry.spec.ports for entry in state.servers} if state else {}
        if not {"kafka", "connect"} <= ports.keys():
            raise StackError("no servers are running here; start them with: ./sluice up")
        nodes = sorted(name for name in ports if name.startswith("elasticsearch-"))
        return Endpoints(
            kafka_bootstrap=f"{LOOPBACK}:{ports['kafka']['client']}",
            connect_url=f"http://{LOOPBACK}:{ports['connect']['http']}",
            elasticsearch_urls=tuple(f"http://{LOOPBACK}:{ports[name]['http']}" for name in nodes),
            metrics_url=f"http://{LOOPBACK}:{ports['connect']['metrics']}/jolokia",
            access=self._access(),
        )

    def _access(self) -> Access:
        """The password of the worker's agent, which only we may read."""
        worker = self.server("connect").spec
        if worker.agent_config is None:
            return Access()
        try:
            secret = metrics_agent.password(worker.agent_config)
        except OSError as error:
            raise StackError(
                f"{worker.agent_config}: cannot be read ({error.strerror}), expected the password of the worker's "
                "metrics; write it anew with: ./sluice restart connect"
            ) from error
        return Access(metrics=metrics_agent.access(secret), secrets=frozenset({secret}))

    def process_ids(self) -> dict[str, int]:
        """Process id by server name, as it is now: a server may have been restarted."""
        try:
            return {entry.spec.name: entry.pid for entry in self.servers()}
        except StackError:
            return {}

    @contextlib.contextmanager
    def exclusively(self) -> Iterator[None]:
        """Hold this checkout's servers for one command.

        Raises:
            ProfileError: The folder is somebody's, for other things.
            StackError: Another command holds them.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._is_ours():
                raise ProfileError(
                    f"SLUICE_STATE: {self.folder}: holds files that Sluice did not create, expected a folder of its "
                    "own, which `./sluice clean` removes"
                )
        except OSError as error:
            raise StackError(
                f"{self.folder}: the servers' folder cannot be made ({error.strerror}); set SLUICE_STATE to a folder "
                "that can be written"
            ) from error
        with self._lock_file.open("a+b", buffering=0) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                holder = file.read().decode("ascii", "replace").strip()
                # Between its lock and its number, another one's is there still.
                number = holder.partition(".")[0] if holder and not server.has_ended(holder) else "unknown"
                who = server.described(number)
                raise StackError(
                    f"another sluice command ({who}) is using the servers of this checkout; wait for it or stop it"
                ) from error
            # On a full disk nobody is told who holds them: what stops servers and makes room must work there.
            with contextlib.suppress(OSError):
                file.truncate(0)
                file.write(server.owner_word(identity_of()).encode())
            yield

    def ensure(self, shape: StackShape, *, kept: bool, progress: StackProgress = StackProgress()) -> Endpoints:
        """Make the running servers what `shape` says: what fits stays, the rest is stopped and started.

        Args:
            kept: Whether they are to survive this command. Servers that `up` started keep on surviving.

        Raises:
            StackError: Something is missing or failed; then nothing that this call started is left running, and what
                ran before and fits still runs.
        """
        self.remove_leftovers()
        before = self.state()
        ran_before = {entry.pid for entry in self.servers()}
        try:
            keep = kept or (before is not None and before.kept)
            specs = self._specs(shape, kept=keep, progress=progress)
            self._reshape(specs, kept=keep, progress=progress)
        except BaseException:
            with uninterrupted():
                self._stop_all_but(ran_before)
                if not self.servers():
                    self.state_file.unlink(missing_ok=True)
            raise
        return self.endpoints()

    def _stop_all_but(self, pids: set[int]) -> None:
        server.stop([entry for entry in self.servers() if entry.pid not in pids])
        server.stop_processes(process for process in server.marked_processes(self.folder) if process.pid not in pids)
        self.groups.remove()

    def remove_leftovers(self) -> None:
        """Stop servers whose run is over without them (it was killed), and any that no state file knows."""
        try:
            state = self.state()
        except StackError:
            state = None
            self.stop()
        if state is not None and not state.kept and state.owner != identity_of():
            self.stop()
        ours = {entry.pid for entry in self.servers()}
        for process in server.marked_processes(self.folder):
            # A run with `load.pause` that was killed leaves nodes that take connections and never answer.
            server.signal_quietly(process, signal.SIGCONT)
        server.stop_processes(process for process in server.marked_processes(self.folder) if process.pid not in ours)
        self.remove_orphans()
        self.groups.reset()
        self.groups.remove()
        for other in self._all_beside():
            other.remove_leftovers()

    def remove_orphans(self) -> None:
        """Stop what runs on servers elsewhere have started and not stopped, because they were killed."""
        server.stop_processes(server.orphans(self.folder))

    def stop(self, progress: StackProgress = StackProgress()) -> int:
        """Stop every server: first the worker, which would complain, then the others side by side.

        Returns:
            How many were running.
        """
        running: Sequence[ServerProcess] = ()
        with contextlib.suppress(StackError):
            running = self.servers()
        for kinds in (("connect",), ("kafka", "elasticsearch")):
            group = [entry for entry in running if entry.spec.kind in kinds]
            for entry in group:
                progress.step(entry.spec.name, "stopping")
            server.stop(group)
            for entry in group:
                progress.step(entry.spec.name, "stopped")
        strays = [*server.marked_processes(self.folder), *server.orphans(self.folder)]
        server.stop_processes(strays)
        self.groups.remove(REMOVE_TIMEOUT_S)
        self.state_file.unlink(missing_ok=True)
        return len(running) + len(strays) + self.stop_beside(progress)

    def stop_beside(self, progress: StackProgress = StackProgress()) -> int:
        """Stop the servers that run beside these, and remove what is left of them; how many were running."""
        stopped = sum(other.stop(progress) for other in self._all_beside())
        shutil.rmtree(self.folder / BESIDE, ignore_errors=True)
        return stopped

    def server(self, name: str) -> ServerProcess:
        """The server of that name, running or not; raises ProfileError if there is none."""
        state = self.state()
        entry = state.server(name) if state else None
        if entry is None:
            if state is None:
                raise ProfileError(f"{name}: no servers are running here; start them with: ./sluice up")
            names = ", ".join(sorted(other.spec.name for other in state.servers))
            raise ProfileError(f"{name}: no such server here, expected one of: {names}")
        return entry

    def restart(self, name: str, progress: StackProgress = StackProgress()) -> None:
        """Stop one server if it runs and start it again as it was, its data kept.

        Raises:
            ProfileError: There is no such server.
            StackError: It does not start.
        """
        entry = self.server(name)
        server.stop([entry])
        others = {other.pid for other in self.servers()}
        try:
            self._start((entry.spec.for_restart(),), progress)
        except BaseException:
            with uninterrupted():
                self._stop_all_but(others)
            raise

    def clean(self, *, cache: bool = False) -> list[Path]:
        """Remove the servers' data, configuration and logs. They must have been stopped.

        Args:
            cache: Remove what was downloaded and unpacked as well, for all checkouts. The Python environment, in which
                this very code runs, is left.

        Returns:
            The folders that are gone.
        """
        of_cache = [self._cache_dir / name for name in ("artifacts", "unpacked", "class-data", "java") if cache]
        ours = [self.folder] if self._is_ours() else []
        present = [folder for folder in (*ours, *of_cache) if folder.is_dir()]
        if ours:
            # The lock goes last: it says that the folder is ours, to whoever comes if this is killed.
            for path in self.folder.glob("*/"):
                remove_folder(path)
            for path in self.folder.glob("*"):
                if path != self._lock_file and not path.is_dir():
                    path.unlink(missing_ok=True)
            shutil.rmtree(self.folder, ignore_errors=True)
        for folder in of_cache:
            remove_folder(folder)
        return present

    def _specs(self, shape: StackShape, *, kept: bool, progress: StackProgress) -> tuple[ServerSpec, ...]:
        extra_jvm_options()  # refused before anything is fetched
        refuse_wrong_java_home()
        lock = read_lock()
        if shape.distribution == OFFICIAL:
            unpacked = official_home(shape.release, self._cache_dir, progress.fetching)
            shape = replace(shape, distribution=str(unpacked))
        jdks = find_jdks()
        kafka_java = choose_java(jdks, java_for_kafka(), "Kafka")
        elasticsearch_java = fitting_java(shape, lock, jdks)
        archives = () if shape.distribution else lock.sets[shape.release.set_name][:1]
        self._check_memory(shape)
        kafka_jdk, plugin_version = self._fetch_and_build(
            (*lock.sets["kafka"], *lock.sets["jolokia"], *archives), lock, kafka_java, progress
        )
        elasticsearch_jdk = self._java(elasticsearch_java, progress)
        home = Path(shape.distribution) if shape.distribution else self.cache.unpacked(archives[0])
        user = elasticsearch.unprivileged_user()
        folder = self._data_folder(kept=kept)
        elasticsearch.check_readable(user, (home, folder, elasticsearch_jdk.home))
        ports = self._ports(shape)
        jars = tuple(self.cache.file(artifact) for artifact in lock.sets["kafka"])
        program = kafka.Program(kafka_version(lock), jars, kafka_jdk, self._cache_dir)
        broker = kafka.kafka_spec(
            program, folder=folder / "kafka", heap_mb=shape.kafka_heap_mb, ports=ports_of("kafka", ports)
        )
        worker = kafka.connect_spec(
            program,
            folder=folder / "connect",
            agent=self.cache.file(lock.sets["jolokia"][0]),
            heap_mb=shape.connect_heap_mb,
            ports=ports_of("connect", ports),
            kafka_port=ports["kafka.client"],
            plugin_path=plugin_path(self._project),
            plugin_version=f"{plugin_version}{folders_fingerprint(shape.plugin_folders)}",
            more_plugins=shape.plugin_folders,
        )
        nodes = (
            elasticsearch.node_spec(
                shape.release,
                number=number,
                home=home,
                folder=folder / shape.data_folder / f"node-{number}",
                jdk=elasticsearch_jdk,
                heap_mb=shape.elasticsearch_heap_mb,
                extra_settings=shape.node_settings,
                ports=ports_of(elasticsearch.node_name(number), ports),
                first_transport_port=ports[f"{elasticsearch.node_name(1)}.transport"],
                user=user,
            )
            for number in range(1, shape.data_nodes + 1)
        )
        return (*nodes, broker, worker)

    def _fetch_and_build(
        self, artifacts: Sequence[Artifact], lock: ArtifactLock, java: Jdk | int, progress: StackProgress
    ) -> tuple[Jdk, str]:
        """Fetch everything; Kafka's Java, and the fingerprint of the plugin, which is built on it meanwhile."""

        def build() -> tuple[Jdk, str]:
            jdk = self._java(java, progress)
            if is_released(self._project):
                return jdk, released_plugin(self._project)
            progress.step("sink plugin", "building")
            made_from = build_plugin(self._project, jdk, self.cache, lock)
            progress.step("sink plugin", "ready")
            return jdk, made_from

        needed = (*artifacts, *(() if is_built(self._project) else plugin_artifacts(lock)))
        with ThreadPoolExecutor(1) as pool:
            building = pool.submit(build)
            self.cache.fetch(needed, progress.fetching)
            return building.result()

    def _java(self, java: Jdk | int, progress: StackProgress) -> Jdk:
        """A JDK of this machine, or the runtime of a feature release, which is fetched if need be."""
        if isinstance(java, Jdk):
            return java
        progress.step(f"Java {java}", "fetching")
        fetched = java_runtime(java, self._cache_dir)
        progress.step(f"Java {java}", "ready")
        return fetched

    def _ports(self, shape: StackShape) -> dict[str, int]:
        in_use = {
            f"{entry.spec.name}.{purpose}": port
            for entry in self.servers()
            for purpose, port in entry.spec.ports.items()
        }
        requested = {
            f"{name}.{'client' if name == 'kafka' else 'http'}": port for name, port in shape.requested_ports.items()
        }
        return allot_ports(port_names(shape.data_nodes), self.folder / "ports.json", requested=requested, in_use=in_use)

    def _data_folder(self, *, kept: bool) -> Path:
        folder = self.folder / ("kept" if kept else "run")
        if not kept and not self.servers():
            # What an earlier run left behind must not be found by this one.
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _check_memory(self, shape: StackShape) -> None:
        available_mb = psutil.virtual_memory().available // 2**20
        running = [process for entry in self.servers() if (process := entry.process())]
        running_mb = sum(process.memory_info().rss // 2**20 for process in running)
        if available_mb + running_mb < shape.memory_mb:
            raise StackError(
                f"memory: {available_mb + running_mb:,} MB available, {shape.memory_mb:,} MB needed for "
                f"{shape.data_nodes} {shape.release.engine.title} node{'' if shape.data_nodes == 1 else 's'} of "
                f"{shape.elasticsearch_heap_mb:,} MB heap, "
                "Kafka, Connect; free some memory or lower elasticsearch.heap_mb or elasticsearch.data_nodes"
            )

    def _reshape(self, specs: Sequence[ServerSpec], *, kept: bool, progress: StackProgress) -> None:
        wanted = {spec.name: spec for spec in specs}
        shapes = {(spec.name, spec.shape) for spec in specs}
        fitting = [entry for entry in self.servers() if (entry.spec.name, entry.spec.shape) in shapes]
        stays = {entry.spec.name: ready for entry in fitting if (ready := seen_ready(entry))}
        goes = [entry for entry in self.servers() if entry.spec.name not in stays]
        for entry in goes:
            why = (
                "its start was broken off" if entry in fitting else why_stopped(entry.spec, wanted.get(entry.spec.name))
            )
            progress.step(entry.spec.name, why)
            progress.step(entry.spec.name, "stopping")
        server.stop(goes)
        self._write(StackState(kept=kept, owner=identity_of(), servers=tuple(stays.values())))
        self._start([spec for spec in specs if spec.name not in stays], progress)

    def _start(self, specs: Sequence[ServerSpec], progress: StackProgress) -> None:
        launched = []
        for spec in specs:
            progress.step(spec.name, "starting")
            entry = server.start(spec, self.folder, self._groups_of(spec))
            self._record(entry)
            launched.append(entry)
        for entry in readiness.wait_for_all(launched, self._record, lambda name: progress.step(name, "ready")):
            self._record(entry.model_copy(update={"was_ready": True}))

    def _groups_of(self, spec: ServerSpec) -> tuple[Path, ...]:
        """The control groups that a server is started in; what it reads there is then charged to it."""
        if spec.kind != "elasticsearch":
            return ()
        groups = self.groups.make(spec.name)
        if groups and spec.pid_file:
            drop_pages(spec.pid_file.parent / DATA_FOLDER)
        return groups

    @contextlib.contextmanager
    def bounded(self, bounds: Bounds) -> Iterator[None]:
        """Bound memory and disk reads of every Elasticsearch server that runs; see `ServerGroups.bounded`."""
        nodes = [entry for entry in self.servers() if entry.spec.kind == "elasticsearch"]
        with self.groups.bounded(nodes, bounds):
            yield

    def _record(self, entry: ServerProcess) -> None:
        with self._state_lock:
            state = self.state() or StackState(kept=False, owner=identity_of())
            others = tuple(other for other in state.servers if other.spec.name != entry.spec.name)
            self._write(state.model_copy(update={"servers": (*others, entry)}))

    def _write(self, state: StackState) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.state_file, state.model_dump_json(indent=1) + "\n")


def seen_ready(entry: ServerProcess) -> ServerProcess | None:
    """The server as one that has been ready; `None` for one that is not yet, as where its `up` was killed."""
    if entry.was_ready:
        return entry
    return entry.model_copy(update={"was_ready": True}) if readiness.is_ready(entry) else None


def why_stopped(running: ServerSpec, wanted: ServerSpec | None) -> str:
    """What a server that runs makes room for; `None`: for nothing."""
    if wanted is None:
        return "stopped: this profile does not need it"
    if wanted.release != running.release:
        return f"{wanted.release} instead of {running.release}"
    if wanted.java_version != running.java_version:
        return f"restarted with Java {wanted.java_version} instead of {running.java_version}"
    return "restarted with other settings"
