"""Commands in forks of a process that has imported what commands import, which takes a fresh interpreter a second.

That process does nothing else: it has one thread, no client and no file of the lab's. A command finds its own
arguments, environment, working folder and outputs, as if the launcher had started it.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from lab import ROOT
from lab.cli.commands import COMMANDS

OF_REPORTS = ("charts", "deployment", "query_charts", "templates")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Else a library starts another one, which no fork has."""
MESSAGE_BYTES = 1 << 20


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    status: int
    output: str
    errors: str


class WarmLauncher:
    """Runs commands one after the other.

    Args:
        python: The interpreter that the launcher would choose.
        environment: What the launcher sets.
    """

    def __init__(self, python: Path, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [str(python), "-P", __file__, str(theirs.fileno())],
                env={**os.environ, **environment, **ONE_THREAD},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def __call__(self, arguments: tuple[str, ...], environment: Mapping[str, str], timeout_s: float) -> Finished:
        """Run a command to its end.

        Raises:
            TimeoutExpired: It took longer, and was killed.
        """
        asked = {"arguments": arguments, "environment": {**environment, **self._environment}, "folder": str(Path.cwd())}
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            socket.send_fds(self._control, [json.dumps(asked).encode()], [output.fileno(), errors.fileno()])
            pid = int(self._control.recv(MESSAGE_BYTES))
            try:
                self._control.settimeout(timeout_s)
                status = int(self._control.recv(MESSAGE_BYTES))
            except TimeoutError as error:
                self._kill(pid)
                raise subprocess.TimeoutExpired(arguments, timeout_s) from error
            except BaseException:
                self._kill(pid)
                raise
            self._control.settimeout(None)
            for file in (output, errors):
                file.seek(0)
            return Finished(status, output.read().decode(), errors.read().decode())

    def _kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self._control.settimeout(None)
        self._control.recv(MESSAGE_BYTES)

    def end(self) -> None:
        """End the process that waits for commands."""
        self._control.close()
        self._process.wait()


def serve(control: socket.socket) -> None:
    """Import what commands import; then fork for each that is asked for, and tell its pid and how it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for place in COMMANDS.values():
        import_module(place.partition(":")[0], "lab.cli")
    for name in OF_REPORTS:
        import_module(f"lab.analysis.report_page.{name}")
    assert len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 - else a fork may hold another thread's lock
    gc.freeze()
    while asked := socket.recv_fds(control, MESSAGE_BYTES, 2)[:2]:
        message, outputs = asked
        if not message:
            return
        if (child := os.fork()) == 0:
            control.close()
            become(json.loads(message), outputs)
        for output in outputs:
            os.close(output)
        control.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        control.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(asked: Mapping[str, object], outputs: list[int]) -> None:
    """Run the command and end as it does."""
    from lab.cli.app import main  # noqa: PLC0415 - a command's own

    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, output in enumerate(outputs, 1):
        os.dup2(output, number)
        os.close(output)
    os.environ.clear()
    os.environ.update(asked["environment"])  # type: ignore[arg-type]
    os.chdir(str(asked["folder"]))
    sys.argv = [str(ROOT / "lab" / "cli" / "__main__.py"), *asked["arguments"]]  # type: ignore[misc]
    sys.exit(main())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
