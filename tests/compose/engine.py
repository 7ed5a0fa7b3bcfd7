"""A Docker engine for the tests: the machine's where one answers, otherwise one of our own while it is used."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from lab.stack.artifacts import locked
from lab.stack.places import cache_dir
from tests.compose.compose_plugin import has_compose, plugin_config
from tests.compose.machine import (
    EngineMissingError,
    find_program,
    finished,
    install_packages,
    last_lines,
    needed_program,
)

WELL_KNOWN_SOCKET = Path("/var/run/docker.sock")
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
CLIENT_TIMEOUT_S = 600

WAYS_TO_START = (
    ("--storage-driver=overlay2",),
    ("--storage-driver=vfs",),
    # Containers of one network reach each other without it; only the way out into other networks is lost.
    ("--storage-driver=overlay2", "--iptables=false"),
    ("--storage-driver=vfs", "--iptables=false"),
)
"""Tried in this order: a kernel may lack the overlay file system, or the tables of the packet filter."""

KERNEL_SETTINGS: Mapping[Path, int | None] = {
    # What Elasticsearch asks of a machine before it lets a node join a cluster of several.
    Path("/proc/sys/vm/max_map_count"): 262_144,
    # Docker's own doing.
    Path("/proc/sys/net/ipv4/ip_forward"): None,
}
"""What an engine of ours changes in the kernel, and the least that we want; put back when it ends."""


class DockerError(Exception):
    """The engine answers, and refuses or fails at what it was asked."""


@dataclass(frozen=True)
class Engine:
    """A Docker engine that answers, and how its client is called.

    Attributes:
        host: As in `DOCKER_HOST`.
        config: As in `DOCKER_CONFIG`; None where the client's own configuration has all that is needed.
    """

    host: str
    config: Path | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process must see to speak with this engine."""
        chosen = {"DOCKER_CONFIG": str(self.config)} if self.config else {}
        return {**os.environ, "DOCKER_HOST": self.host, **chosen}

    def docker(
        self, *arguments: str, timeout_s: float = CLIENT_TIMEOUT_S, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Call the client and wait for its end.

        Raises:
            DockerError: It failed, and `check` was not switched off; with its last lines.
        """
        done = finished("docker", *arguments, environment=self.environment, timeout_s=timeout_s)
        if check and done.returncode:
            raise DockerError(f"docker {arguments[0]}: {last_lines(done.stderr or done.stdout)}")
        return done


@dataclass(frozen=True)
class OwnEngine:
    """The engine that the tests start themselves, all that belongs to it in one folder.

    It is found again by a later session, keeps its images between sessions, and ends with the last session that uses
    it, unless it was asked to stay.
    """

    folder: Path

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "docker.sock"

    @property
    def host(self) -> str:
        """As in `DOCKER_HOST`."""
        return f"unix://{self.socket}"

    @property
    def log(self) -> Path:
        """What it writes."""
        return self.folder / "dockerd.log"

    def process(self) -> psutil.Process | None:
        """The engine, if it runs."""
        try:
            process = psutil.Process(int((self.folder / "dockerd.pid").read_text()))
            return process if self.host in process.cmdline() else None
        except (OSError, ValueError, psutil.Error):
            return None

    def start(self, *, more_sockets: tuple[Path, ...] = ()) -> None:
        """Start it unless it runs.

        Raises:
            EngineMissingError: It does not start in any way; with its last words.
        """
        with locked(self.folder / "start.lock"):
            if self.process() and answers(self.host):
                return
            daemon = needed_program("dockerd", package="docker.io")
            remember_kernel_settings(self.folder / "kernel.json")
            for way in WAYS_TO_START:
                if self._started(daemon, way, more_sockets):
                    raise_kernel_settings()
                    return
        raise EngineMissingError(f"dockerd does not start here: {last_lines(self.log.read_text())}")

    def _started(self, daemon: str, way: tuple[str, ...], more_sockets: tuple[Path, ...]) -> bool:
        command = [daemon, *way, "--host", self.host, "--data-root", str(self.folder / "data")]
        command += ["--exec-root", str(self.folder / "exec"), "--pidfile", str(self.folder / "dockerd.pid")]
        for socket in more_sockets:
            command += ["--host", f"unix://{socket}"]
        with self.log.open("w") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        until_s = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until_s and process.poll() is None:
            if answers(self.host):
                return True
            time.sleep(0.2)
        process.terminate()
        process.wait(STOP_TIMEOUT_S)
        return False

    def stop(self) -> None:
        """Stop it, and with it every container."""
        process = self.process()
        if process is None:
            return
        # Each change of the sources leaves the images made before it, by nobody's name.
        finished("docker", "--host", self.host, "image", "prune", "--force", timeout_s=CLIENT_TIMEOUT_S)
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except psutil.TimeoutExpired:
            process.kill()
        restore_kernel_settings(self.folder / "kernel.json")

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """Keep it from being stopped by others; the last to leave stops it."""
        users = self.folder / "users.lock"
        with users.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            try:
                yield
            finally:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    self.stop()


def own_engine() -> OwnEngine:
    """The one of this machine, beside the cache, which may be cleaned while it runs."""
    cache = cache_dir()
    folder = cache.with_name(f"{cache.name}-docker")
    folder.mkdir(parents=True, exist_ok=True)
    return OwnEngine(folder)


def answers(host: str) -> bool:
    """Whether an engine answers there."""
    environment = {**os.environ, "DOCKER_HOST": host}
    done = finished("docker", "version", "--format", "{{.Server.Version}}", environment=environment, timeout_s=20)
    return done.returncode == 0


def machines_host() -> str | None:
    """Where the machine's own engine answers, as its client is set up; None without one."""
    if shutil.which("docker") is None:
        return None
    done = finished("docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}", timeout_s=20)
    host = os.environ.get("DOCKER_HOST") or done.stdout.strip()
    return host if host and answers(host) else None


def remember_kernel_settings(file: Path) -> None:
    """Write down what the kernel's settings are before the engine starts."""
    file.write_text(json.dumps({str(path): int(path.read_text()) for path in KERNEL_SETTINGS}))


def raise_kernel_settings() -> None:
    """Set what is wanted, where the machine allows less."""
    for path, wanted in KERNEL_SETTINGS.items():
        if wanted is not None and int(path.read_text()) < wanted:
            path.write_text(str(wanted))


def restore_kernel_settings(file: Path) -> None:
    """Put back what was written down."""
    if file.is_file():
        for path, value in json.loads(file.read_text()).items():
            Path(path).write_text(str(value))
        file.unlink()


def prepare_client() -> None:
    """Install the engine and its client from the distribution where there is none.

    Raises:
        EngineMissingError: They cannot be installed here.
    """
    if os.geteuid() != 0:
        raise EngineMissingError("no Docker engine answers, and only root may start one: start Docker, then try again")
    if find_program("docker") is None or find_program("dockerd") is None:
        install_packages("docker.io")


@contextlib.contextmanager
def docker_engine() -> Iterator[Engine]:
    """An engine: the machine's, or our own for as long as somebody uses it.

    Raises:
        EngineMissingError: None can be had here; says why.
    """
    with contextlib.ExitStack() as cleanup:
        host = machines_host()
        if host is None:
            prepare_client()
            # Where the package brings a service manager along, its engine runs by now.
            host = machines_host()
        if host is None:
            own = own_engine()
            cleanup.enter_context(own.used())
            own.start()
            host = own.host
        yield Engine(host)


def with_compose(engine: Engine) -> Engine:
    """The engine, its client with the Compose plugin, which is built where there is none.

    Raises:
        EngineMissingError: It cannot be built.
    """
    return engine if has_compose(engine.environment) else replace(engine, config=plugin_config(own_engine().folder))
