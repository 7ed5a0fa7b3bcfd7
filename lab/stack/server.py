"""One server process: started, found again by its identity, stopped gracefully and then by force."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import psutil
from pydantic import BaseModel, ConfigDict, model_validator

from lab.endpoints import words_without_secrets
from lab.engines import ENGINES
from lab.errors import StackError
from lab.identity import ProcessIdentity, identity_of, marked, with_identity
from lab.stack import metrics_agent
from producers.children import last_lines

STACK_MARKER = "SLUICE_STACK"
"""Environment variable of every server we start; its value is the state folder. It finds a server that was started by a
command which was killed before it could write the pid down."""

LOG_LINES_SHOWN = 12
FULL_BYTES = 1 << 20
"""Less than that is free on a full disk: no server starts with it."""
GRACE_S = 20.0
UNREADY_GRACE_S = 2.0
ARCHIVE_GRACE_S = 90.0

AT_THE_GATE = ("/bin/sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh")
"""Waits until it has been put into its control groups, which it may not enter itself: it runs as another user."""

_children: dict[int, subprocess.Popen[bytes]] = {}
"""The processes that this command started. One that is forgotten is reaped by `subprocess` itself, unseen, and its exit
status is lost."""


class ServerSpec(BaseModel):
    """How a server is started, complete, so that it can be started again from the state file alone.

    Attributes:
        kind: Tells how to see that it is ready.
        name: `kafka`, `connect`, `elasticsearch-1` …, whatever the engine of that node is.
        product: The engine of a node that is not the default one.
        ports: By purpose; `http` or `client` is the one that others connect to.
        run_as: The user id to run as; `None` for our own.
        log_file: Its standard output and error.
        server_log: The log it writes itself, where that is another file.
        pid_file: Written by a server whose launcher ends once it is up; `None` if the process we start is the server.
        agent_config: Configuration of its JMX agent, written anew at each start; `None` if it has no agent.
        archive: Class-data archive that it uses if it is there and writes when it stops if it is not.
        shape: Fingerprint of version and configuration; a server of another shape must be started anew.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["kafka", "connect", "elasticsearch"]
    name: str
    product: str | None = None
    version: str
    java_version: str
    command: tuple[str, ...]
    environment: dict[str, str] = {}
    ports: dict[str, int]
    run_as: int | None = None
    log_file: Path
    server_log: Path | None = None
    pid_file: Path | None = None
    agent_config: Path | None = None
    archive: Path | None = None
    shape: str

    @property
    def options(self) -> tuple[str, ...]:
        """The options that matter to who reads the figures: JVM options without class path and agents."""
        given = [self.environment.get(f"{engine.variables}_JAVA_OPTS", "") for engine in ENGINES]
        words = (*self.command, *" ".join(given).split())
        return tuple(word for word in words if word.startswith("-X"))

    @property
    def release(self) -> str:
        """Its version, after its product where the name does not say that."""
        return f"{self.product} {self.version}" if self.product else self.version

    @property
    def pending_archive(self) -> Path | None:
        """Where the class-data archive is written when the server stops; renamed only if it stopped by itself."""
        return self.archive.with_name(self.archive.name + ".pending") if self.archive else None

    def for_restart(self) -> "ServerSpec":
        """The same for another start: it uses the class-data archive that the first start may have written."""
        if self.archive is None or not self.archive.is_file():
            return self
        writing = f"-XX:ArchiveClassesAtExit={self.pending_archive}"
        using = f"-XX:SharedArchiveFile={self.archive}"
        return self.model_copy(update={"command": tuple(using if word == writing else word for word in self.command)})


class ServerProcess(BaseModel):
    """A server that was started.

    Attributes:
        identity: Its process.
        was_ready: Whether it has been ready to work since.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    spec: ServerSpec
    identity: ProcessIdentity
    was_ready: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_older_version(cls, facts: Any) -> Any:
        return with_identity(facts)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self.identity.pid

    def process(self) -> psutil.Process | None:
        """The process if it is still the one that was started and has not ended."""
        return self.identity.process()

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.identity.is_alive


def start(spec: ServerSpec, marker: Path, groups: Sequence[Path] = ()) -> ServerProcess:
    """Start the server (or its launcher) in a session of its own, its output appended to its log file.

    Args:
        groups: Control groups that it, and all that it starts, are in from their first instruction on.

    Raises:
        StackError: Its program is not there or cannot be run.
    """
    spec.log_file.parent.mkdir(parents=True, exist_ok=True)
    environment = {**inherited_environment(), **spec.environment, STACK_MARKER: str(marker)}
    identity = {} if spec.run_as is None else {"user": spec.run_as, "group": spec.run_as, "extra_groups": []}
    if spec.pid_file:
        spec.pid_file.unlink(missing_ok=True)
    if spec.agent_config:
        metrics_agent.configure(spec.agent_config, spec.ports["metrics"])
    with spec.log_file.open("ab") as log:
        try:
            child = subprocess.Popen(
                (*AT_THE_GATE, *spec.command) if groups else spec.command,
                env=environment,
                cwd=spec.log_file.parent,
                stdin=subprocess.PIPE if groups else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **identity,  # type: ignore[call-overload]
            )
        except OSError as error:
            raise StackError(f"{spec.name}: cannot be started: {error.filename}: {error.strerror}") from error
    _children[child.pid] = child
    if child.stdin:
        with contextlib.suppress(BrokenPipeError), child.stdin as gate:
            enter(groups, child.pid)
            gate.write(b"\n")
    return ServerProcess(spec=spec, identity=identity_of(child.pid))


def enter(groups: Sequence[Path], pid: int) -> None:
    """Put a server's process into control groups, as far as they take it; who bounds it looks whether they did."""
    for group in groups:
        with contextlib.suppress(OSError):
            (group / "cgroup.procs").write_text(str(pid), "ascii")


def inherited_environment() -> dict[str, str]:
    """Our environment without what would change a server behind our back (`JAVA_TOOL_OPTIONS`, `ES_JAVA_OPTS` …)."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"} or name.startswith("LC_")
    }


def daemon(server: ServerProcess) -> ServerProcess | None:
    """The server behind a launcher, once it has written its pid file; `None` until then."""
    if server.spec.pid_file is None:
        return server
    try:
        pid = int(server.spec.pid_file.read_text())
    except (OSError, ValueError):
        return None
    found = ServerProcess(spec=server.spec, identity=identity_of(pid))
    return found if psutil.pid_exists(pid) else None


def reap(pid: int) -> int | None:
    """The exit status of a child of ours that has ended; `None` if it runs or is not our child."""
    child = _children.get(pid)
    return child.poll() if child else None


def session_lives(leader_pid: int) -> bool:
    """Check that a process of this session is alive; a server and its launcher begin a session each."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == leader_pid and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False


def last_log_lines(spec: ServerSpec, count: int = LOG_LINES_SHOWN) -> tuple[str, ...]:
    """The last lines of what the server wrote last: its own log, or its (or its launcher's) output.

    Stack frames are left out: they would push the sentence that matters out of sight.
    """
    logs = [path for path in (spec.server_log, spec.log_file) if path is not None and path.is_file()]
    written = [path for path in logs if path.stat().st_size]
    if not written:
        return ()
    newest = max(written, key=lambda path: path.stat().st_mtime_ns)
    with newest.open("rb") as file:
        return last_lines(file, count, without=("at ", "... "))


def died(spec: ServerSpec, exit_status: int | None = None) -> StackError:
    """The error for a server that ended while it was starting."""
    how = f" with exit status {exit_status}" if exit_status is not None else ""
    # On a full disk its log says nothing of that, or nothing at all.
    full = ", on a disk that is full; make room" if shutil.disk_usage(spec.log_file.parent).free < FULL_BYTES else ""
    return StackError(f"{spec.name}: ended{how} while starting; its log is {spec.log_file}{full}", last_log_lines(spec))


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Block signals (all but SIGKILL) during shutdown. Without effect outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # A handler that was not set from Python is `None` and could not be set again.
    ours = [number for number in numbers if signal.getsignal(number) is not None]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(servers: Sequence[ServerProcess], *, grace_s: float = GRACE_S) -> None:
    """Stop servers side by side: SIGTERM, then SIGKILL for what is still there after its grace time.

    One that was not ready yet has nothing to put in order and gets little time: a Connect worker, for one, would first
    finish its start. A class-data archive that a server wrote while ending is kept only if the server had been ready
    and ended by itself; otherwise it would hold a part of the classes for ever.
    """
    running = [(server, process) for server in servers if (process := server.process())]
    for _, process in running:
        ask_to_end(process)
    signalled_at_s = time.monotonic()
    for server, process in sorted(running, key=lambda pair: patience_s(pair[0], grace_s)):
        wait_for_end(process, signalled_at_s + patience_s(server, grace_s) - time.monotonic())
        killed = server.alive
        if killed:
            signal_quietly(process, signal.SIGKILL)
            wait_for_end(process, grace_s)
        archive, pending = server.spec.archive, server.spec.pending_archive
        if archive and pending and pending.is_file():
            if killed or not server.was_ready:
                pending.unlink()
            else:
                pending.rename(archive)


def patience_s(server: ServerProcess, grace_s: float) -> float:
    """How long a server that was asked to end may take."""
    if not server.was_ready:
        return min(grace_s, UNREADY_GRACE_S)
    archiving = server.spec.archive is not None and not server.spec.archive.exists()
    return ARCHIVE_GRACE_S if archiving else grace_s


def signal_quietly(process: psutil.Process, number: int) -> None:
    """Send a signal to a process that may have ended meanwhile."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def ask_to_end(process: psutil.Process) -> None:
    """Send SIGTERM, which a process that a killed run has paused sees only once it goes on."""
    signal_quietly(process, signal.SIGTERM)
    signal_quietly(process, signal.SIGCONT)


def wait_for_end(process: psutil.Process, timeout_s: float) -> None:
    """Wait until the process has ended or the time is over; a zombie child of ours is reaped."""
    deadline = time.monotonic() + timeout_s
    with contextlib.suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
            time.sleep(0.05)
    # It may have ended since it was looked for.
    reap(process.pid)


def marked_processes(folder: Path) -> list[psutil.Process]:
    """Every process on the machine that belongs to this state folder, whatever the state file says."""
    return [process for process, marker in marked(STACK_MARKER) if marker == str(folder)]


def owned_marker(marker: Path) -> str:
    """The marker of what a run on servers elsewhere starts: it belongs to this command and to no servers."""
    return f"{marker}#{owner_word(identity_of())}"


def owner_word(owner: ProcessIdentity) -> str:
    """A command of this boot, in a word: its number, and its start where the kernel counts that."""
    return f"{owner.pid}" if owner.start_ticks is None else f"{owner.pid}.{owner.start_ticks}"


def described(number: str) -> str:
    """A sluice command by the number of its process, with its words where they can be read: `process 7: run books`."""
    words: list[str] = []
    with contextlib.suppress(ValueError, psutil.Error):
        words = psutil.Process(int(number)).cmdline()
    typed = words[words.index("lab.cli") + 1 :] if "lab.cli" in words else []
    return f"process {number}: {shlex.join(words_without_secrets(typed))}" if typed else f"process {number}"


def orphans(folder: Path) -> list[psutil.Process]:
    """Every process that a command has marked as its own and that has outlived it, as after kill -9."""
    ours = f"{folder}#"
    owned = ((process, marker) for process, marker in marked(STACK_MARKER) if marker.startswith(ours))
    return [process for process, marker in owned if has_ended(marker.removeprefix(ours))]


def has_ended(owner: str) -> bool:
    """Whether a command is gone, by its word; older versions wrote its number alone."""
    number, _, start = owner.partition(".")
    if not number.isdigit() or not psutil.pid_exists(int(number)):
        return number.isdigit()
    return bool(start) and owner_word(identity_of(int(number))) != owner


def stop_processes(processes: Iterable[psutil.Process], grace_s: float = 5.0) -> None:
    """Stop processes that no state file knows."""
    running = list(processes)
    for process in running:
        ask_to_end(process)
    _gone, left = psutil.wait_procs(running, timeout=grace_s)
    for process in left:
        signal_quietly(process, signal.SIGKILL)
    psutil.wait_procs(left, timeout=grace_s)
