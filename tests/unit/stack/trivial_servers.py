"""Real processes that are as easily started as a server is hard to start."""

import time
from collections.abc import Callable
from pathlib import Path

import psutil

from lab.stack import server
from lab.stack.server import ServerProcess, ServerSpec

KINDS = {"kafka": "kafka", "connect": "connect"}


def spec_of(
    folder: Path, name: str = "kafka", command: tuple[str, ...] = ("sleep", "997"), **others: object
) -> ServerSpec:
    """The specification of a process that stands for a server."""
    values: dict[str, object] = {
        "kind": KINDS.get(name, "elasticsearch"),
        "name": name,
        "version": "1.0",
        "java_version": "17.0.15",
        "command": command,
        "environment": {},
        "ports": {"client": 1, "http": 2, "metrics": 3},
        "run_as": None,
        "log_file": folder / name / f"{name}.log",
        "server_log": None,
        "pid_file": None,
        "archive": None,
        "shape": "first",
    }
    return ServerSpec.model_validate(values | others)


def shell(script: str) -> tuple[str, ...]:
    """A command that runs a shell script."""
    return ("sh", "-c", script)


def has_begun(pid: int) -> bool:
    """Whether the process runs its own program: until then the system shows neither command nor environment."""
    try:
        return server.STACK_MARKER in psutil.Process(pid).environ()
    except psutil.NoSuchProcess:
        return True


def started(spec: ServerSpec, marker: Path) -> ServerProcess:
    """A server that was started and has begun, or ended already."""
    entry = server.start(spec, marker)
    wait_until(lambda: has_begun(entry.pid))
    return entry


def wait_until(happened: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Return as soon as it has happened."""
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.002)
