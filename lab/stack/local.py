"""The target `local`: the real servers as child processes of this machine, no Docker."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import psutil
from pydantic import BaseModel, ConfigDict

from lab.endpoints import Endpoints
from lab.errors import ProfileError, StackError
from lab.stack import elasticsearch, kafka, server
from lab.stack.artifacts import Artifact, ArtifactCache, ArtifactLock, elasticsearch_versions, read_lock
from lab.stack.interrupts import uninterrupted
from lab.stack.jdk import (
    Jdk,
    choose_jdk,
    extra_jvm_options,
    find_jdks,
    java_for_elasticsearch,
    java_for_kafka,
    refuse_wrong_java_home,
)
from lab.stack.places import ROOT, cache_dir, state_dir
from lab.stack.plugin import build_plugin, find_maven, folders_fingerprint, plugin_path
from lab.stack.ports import LOOPBACK, allot_ports
from lab.stack.readiness import wait_for_all
from lab.stack.server import ServerProcess, ServerSpec

MAX_NODES = 4
MEMORY_BESIDE_HEAP_MB = 300
"""What a JVM of ours takes beside its heap: metaspace, code, threads, direct buffers."""


@dataclass(frozen=True)
class StackShape:
    """What the servers shall be.

    Attributes:
        data_nodes: Elasticsearch nodes, 1 to 4; the first is also the master.
        node_settings: Settings of each Elasticsearch node beside those that make it a node of this cluster.
        plugin_folders: Folders of plugin folders, of other people's connectors, beside our own.
        asked_ports: By server name (`elasticsearch-1`, `kafka`, `connect`): the port its clients shall find it at.
    """

    elasticsearch_version: str = "8.19.21"
    data_nodes: int = 1
    elasticsearch_heap_mb: int = 1024
    kafka_heap_mb: int = 512
    connect_heap_mb: int = 1024
    node_settings: Mapping[str, object] = field(default_factory=dict)
    plugin_folders: tuple[Path, ...] = ()
    asked_ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def memory_mb(self) -> int:
        """Memory that all servers together will take, page cache not counted."""
        heaps = [self.elasticsearch_heap_mb] * self.data_nodes + [self.kafka_heap_mb, self.connect_heap_mb]
        return sum(heaps) + MEMORY_BESIDE_HEAP_MB * len(heaps)


class StackState(BaseModel):
    """What is written down of the servers while they run.

    Attributes:
        kept: Started by `up`, to survive the command; otherwise they belong to one run and go with it.
        owner_pid: The command that started them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kept: bool
    owner_pid: int
    servers: tuple[ServerProcess, ...] = ()

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

    # --- what is there ----------------------------------------------------------------------------------------------

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
        broker, worker = (state.server(name) if state else None for name in ("kafka", "connect"))
        if state is None or broker is None or worker is None:
            raise StackError("no servers are running here; start them with: ./sluice up")
        nodes = sorted(
            (entry.spec for entry in state.servers if entry.spec.kind == "elasticsearch"), key=lambda spec: spec.name
        )
        return Endpoints(
            kafka_bootstrap=f"{LOOPBACK}:{broker.spec.ports['client']}",
            connect_url=f"http://{LOOPBACK}:{worker.spec.ports['http']}",
            elasticsearch_urls=tuple(f"http://{LOOPBACK}:{spec.ports['http']}" for spec in nodes),
            metrics_url=f"http://{LOOPBACK}:{worker.spec.ports['metrics']}/jolokia",
        )

    def process_ids(self) -> dict[str, int]:
        """Process id by server name, as it is now: a server may have been restarted."""
        try:
            return {entry.spec.name: entry.pid for entry in self.servers()}
        except StackError:
            return {}

    # --- changing it ------------------------------------------------------------------------------------------------

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
                    f"SLUICE_STATE: {self.folder}: holds files that are not ours, expected a folder for nothing but "
                    "servers, which `./sluice clean` removes"
                )
        except OSError as error:
            raise StackError(
                f"{self.folder}: the servers' folder cannot be made ({error.strerror}); set SLUICE_STATE to a folder "
                "that can be written"
            ) from error
        with self._lock_file.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                raise StackError(
                    f"another sluice command (process {file.read().strip() or 'unknown'}) is using the servers of this "
                    "checkout; wait for it or stop it"
                ) from error
            file.seek(0)
            file.truncate()
            file.write(str(os.getpid()))
            file.flush()
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
                self._undo(ran_before)
            raise
        return self.endpoints()

    def _undo(self, ran_before: set[int]) -> None:
        """Stop what did not run before; forget everything if nothing did."""
        self._stop_all_but(ran_before)
        if not self.servers():
            self.state_file.unlink(missing_ok=True)

    def _stop_all_but(self, pids: set[int]) -> None:
        server.stop([entry for entry in self.servers() if entry.pid not in pids])
        server.stop_processes(process for process in server.marked_processes(self.folder) if process.pid not in pids)

    def remove_leftovers(self) -> None:
        """Stop servers whose run is over without them (it was killed), and any that no state file knows."""
        try:
            state = self.state()
        except StackError:
            state = None
            self.stop()
        if state is not None and not state.kept and state.owner_pid != os.getpid():
            self.stop()
        known = {entry.pid for entry in self.servers()}
        server.stop_processes(process for process in server.marked_processes(self.folder) if process.pid not in known)
        self.remove_orphans()

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
        self.state_file.unlink(missing_ok=True)
        return len(running) + len(strays)

    def server(self, name: str) -> ServerProcess:
        """The server of that name, running or not.

        Raises:
            ProfileError: There is none.
        """
        state = self.state()
        entry = state.server(name) if state else None
        if entry is None:
            names = ", ".join(sorted(known.spec.name for known in state.servers)) if state else "none"
            raise ProfileError(f"{name}: no such server here; there are: {names}")
        return entry

    def restart(self, name: str, progress: StackProgress = StackProgress()) -> None:
        """Stop one server if it runs and start it again as it was, its data kept.

        Raises:
            ProfileError: There is no such server.
            StackError: It does not start.
        """
        entry = self.server(name)
        server.stop([entry])
        others = {known.pid for known in self.servers()}
        try:
            self._start((with_present_archive(entry.spec),), progress)
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
        folders = [self.folder] if self._is_ours() else []
        if cache:
            folders += [self._cache_dir / name for name in ("artifacts", "unpacked", "class-data")]
        present = [folder for folder in folders if folder.is_dir()]
        for folder in present:
            shutil.rmtree(folder, ignore_errors=True)
        return present

    # --- how --------------------------------------------------------------------------------------------------------

    def _specs(self, shape: StackShape, *, kept: bool, progress: StackProgress) -> tuple[ServerSpec, ...]:
        extra_jvm_options()  # refused before anything is fetched
        refuse_wrong_java_home()
        lock = read_lock()
        jdks = find_jdks()
        kafka_jdk = choose_jdk(jdks, java_for_kafka(), "Kafka")
        elasticsearch_jdk = choose_elasticsearch_jdk(shape, lock, jdks)
        archive = lock.sets[f"elasticsearch-{shape.elasticsearch_version}"][0]
        self._check_memory(shape)
        plugin_version = self._fetch_and_build(
            (*lock.sets["kafka"], *lock.sets["jolokia"], archive), lock, kafka_jdk, progress
        )
        home = self.cache.unpacked(archive)
        user = elasticsearch.unprivileged_user()
        folder = self._data_folder(kept=kept)
        elasticsearch.check_readable(user, (home, folder))
        ports = self._ports(shape)
        version = kafka_version(lock)
        jars = [self.cache.file(artifact) for artifact in lock.sets["kafka"]]
        broker = kafka.kafka_spec(
            folder=folder / "kafka",
            cache=self._cache_dir,
            jdk=kafka_jdk,
            jars=jars,
            version=version,
            heap_mb=shape.kafka_heap_mb,
            ports=ports_of("kafka", ports),
        )
        worker = kafka.connect_spec(
            folder=folder / "connect",
            cache=self._cache_dir,
            jdk=kafka_jdk,
            jars=jars,
            agent=self.cache.file(lock.sets["jolokia"][0]),
            version=version,
            heap_mb=shape.connect_heap_mb,
            ports=ports_of("connect", ports),
            kafka_port=ports["kafka.client"],
            plugin_path=plugin_path(self._project),
            plugin_version=f"{plugin_version}{folders_fingerprint(shape.plugin_folders)}",
            more_plugins=shape.plugin_folders,
        )
        nodes = (
            elasticsearch.elasticsearch_spec(
                number=number,
                version=shape.elasticsearch_version,
                home=home,
                folder=folder / f"elasticsearch-{shape.elasticsearch_version}" / f"node-{number}",
                jdk=elasticsearch_jdk,
                heap_mb=shape.elasticsearch_heap_mb,
                asked_settings=shape.node_settings,
                ports=ports_of(elasticsearch.node_name(number), ports),
                first_transport_port=ports[f"{elasticsearch.node_name(1)}.transport"],
                user=user,
            )
            for number in range(1, shape.data_nodes + 1)
        )
        return (*nodes, broker, worker)

    def _fetch_and_build(
        self, artifacts: Sequence[Artifact], lock: ArtifactLock, jdk: Jdk, progress: StackProgress
    ) -> str:
        def build() -> str:
            mvn = find_maven(self.cache, lock.sets["maven"][0])
            progress.step("sink plugin", "building")
            made_from = build_plugin(self._project, mvn, jdk)
            progress.step("sink plugin", "ready")
            return made_from

        # Maven's downloads and compilation and our own downloads wait for different things.
        with ThreadPoolExecutor(1) as pool:
            building = pool.submit(build)
            self.cache.fetch(artifacts, progress.fetching)
            return building.result()

    def _ports(self, shape: StackShape) -> dict[str, int]:
        in_use = {
            f"{entry.spec.name}.{purpose}": port
            for entry in self.servers()
            for purpose, port in entry.spec.ports.items()
        }
        asked = {f"{name}.{'client' if name == 'kafka' else 'http'}": port for name, port in shape.asked_ports.items()}
        return allot_ports(port_names(shape.data_nodes), self.folder / "ports.json", asked=asked, in_use=in_use)

    def _data_folder(self, *, kept: bool) -> Path:
        folder = self.folder / ("kept" if kept else "run")
        if not kept and not self.servers():
            # What an earlier run left behind must not be found by this one.
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _check_memory(self, shape: StackShape) -> None:
        available_mb = psutil.virtual_memory().available // 2**20
        running_mb = sum(process_memory_mb(entry) for entry in self.servers())
        if available_mb + running_mb < shape.memory_mb:
            raise StackError(
                f"memory: {available_mb + running_mb} MB available, {shape.memory_mb} MB needed for "
                f"{shape.data_nodes} Elasticsearch node(s) of {shape.elasticsearch_heap_mb} MB heap, Kafka, Connect; "
                "free some memory or lower elasticsearch.heap_mb or elasticsearch.data_nodes"
            )

    def _reshape(self, specs: Sequence[ServerSpec], *, kept: bool, progress: StackProgress) -> None:
        wanted = {spec.name: spec for spec in specs}
        stays: list[ServerProcess] = []
        goes: list[ServerProcess] = []
        for entry in self.servers():
            spec = wanted.get(entry.spec.name)
            (stays if spec is not None and spec.shape == entry.spec.shape else goes).append(entry)
        for entry in goes:
            spec = wanted.get(entry.spec.name)
            if spec is not None and spec.version != entry.spec.version:
                progress.step(entry.spec.name, f"{spec.version} instead of {entry.spec.version}")
            progress.step(entry.spec.name, "stopping")
        server.stop(goes)
        self._write(StackState(kept=kept, owner_pid=os.getpid(), servers=tuple(stays)))
        staying = {entry.spec.name for entry in stays}
        self._start([spec for spec in specs if spec.name not in staying], progress)

    def _start(self, specs: Sequence[ServerSpec], progress: StackProgress) -> None:
        launched = []
        for spec in specs:
            progress.step(spec.name, "starting")
            entry = server.start(spec, self.folder)
            self._record(entry)
            launched.append(entry)
        for entry in wait_for_all(launched, self._record, lambda name: progress.step(name, "ready")):
            self._record(entry.model_copy(update={"was_ready": True}))

    def _record(self, entry: ServerProcess) -> None:
        with self._state_lock:
            state = self.state() or StackState(kept=False, owner_pid=os.getpid())
            others = tuple(known for known in state.servers if known.spec.name != entry.spec.name)
            self._write(state.model_copy(update={"servers": (*others, entry)}))

    def _write(self, state: StackState) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.state_file.with_suffix(".part")
        partial.write_text(state.model_dump_json(indent=1) + "\n", "utf-8")
        partial.rename(self.state_file)


def choose_elasticsearch_jdk(shape: StackShape, lock: ArtifactLock, jdks: Sequence[Jdk]) -> Jdk:
    """The JDK for the shape's Elasticsearch version.

    Raises:
        ProfileError: The version is not available.
        StackError: The number of nodes cannot be had, or no JDK on this machine fits.
    """
    check_version(shape.elasticsearch_version, lock)
    if not 1 <= shape.data_nodes <= MAX_NODES:
        raise StackError(f"elasticsearch.data_nodes: got {shape.data_nodes}, expected 1 to {MAX_NODES}")
    supported = java_for_elasticsearch(shape.elasticsearch_version)
    return choose_jdk(jdks, supported, f"Elasticsearch {shape.elasticsearch_version}")


def check_version(version: str, lock: ArtifactLock) -> None:
    """See that an Elasticsearch version is one that can be started here.

    Raises:
        ProfileError: It is not.
    """
    versions = elasticsearch_versions(lock)
    if version not in versions:
        raise ProfileError(f"Elasticsearch {version}: is not available, expected one of {', '.join(versions)}")


def port_names(data_nodes: int) -> tuple[str, ...]:
    """Every port of a stack, as `server.purpose`."""
    nodes = (elasticsearch.node_name(number) for number in range(1, data_nodes + 1))
    return (
        "kafka.client",
        "kafka.controller",
        "connect.http",
        "connect.metrics",
        *(f"{node}.{purpose}" for node in nodes for purpose in ("http", "transport")),
    )


def ports_of(name: str, ports: Mapping[str, int]) -> dict[str, int]:
    """One server's ports, by purpose."""
    return {
        purpose: port for key, port in ports.items() for owner, _, purpose in [key.rpartition(".")] if owner == name
    }


def kafka_version(lock: ArtifactLock) -> str:
    """The pinned Kafka version."""
    (client,) = (artifact for artifact in lock.sets["kafka"] if "/kafka-clients/" in artifact.path)
    return client.path.split("/")[-2]


def process_memory_mb(entry: ServerProcess) -> int:
    """Resident memory of a server that runs, 0 once it has ended."""
    process = entry.process()
    return process.memory_info().rss // 2**20 if process else 0


def with_present_archive(spec: ServerSpec) -> ServerSpec:
    """The specification for another start: it uses the class-data archive that the first start may have written."""
    if spec.archive is None or not spec.archive.is_file():
        return spec
    writing = f"-XX:ArchiveClassesAtExit={spec.pending_archive}"
    using = f"-XX:SharedArchiveFile={spec.archive}"
    return spec.model_copy(update={"command": tuple(using if word == writing else word for word in spec.command)})
