"""What a process that runs for hours takes of its machine, read from outside."""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson
import psutil

from lab.endpoints import METRICS_ORIGIN, Endpoints
from lab.stack.jdk import find_jdks
from lab.stack.local import LocalStack
from lab.stack.server import ServerSpec
from tests.integration.conftest import ROOT, Sluice

MB = 1e6
END_WITHIN_S = 120
ROTATED = "gc.log"
"""What the names of logs begin with that Elasticsearch's JVM replaces itself, at 32 files of 64 MB."""


class Command:
    """`./sluice …`, running, its output in a file that nobody has to read."""

    def __init__(self, sluice: Sluice, output: Path, *arguments: str) -> None:
        self.output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                [str(ROOT / "sluice"), *arguments],
                env=sluice.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process, which the launcher has become."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def stop(self) -> int:
        """Ask it to end, if it has not; its exit status."""
        if not self.has_ended:
            os.kill(self.pid, signal.SIGTERM)
        return self._process.wait(END_WITHIN_S)

    def text(self) -> str:
        """What it has said so far."""
        return self.output.read_text(errors="replace")


@contextlib.contextmanager
def running(sluice: Sluice, output: Path, *arguments: str) -> Iterator[Command]:
    """A command that does not outlive the block."""
    command = Command(sluice, output, *arguments)
    try:
        yield command
    finally:
        if not command.has_ended:
            os.killpg(command.pid, signal.SIGKILL)
        command.stop()


def footprint(pid: int, *, with_children: bool = False) -> dict[str, float]:
    """Resident memory in MB, open files (sockets included) and threads of a process.

    Args:
        with_children: Add those of all processes below it; memory that they share then counts several times.
    """
    process = psutil.Process(pid)
    taken = {"resident memory": 0.0, "open files": 0.0, "threads": 0.0}
    for each in (process, *(process.children(recursive=True) if with_children else ())):
        # A child may have ended since it was listed.
        with contextlib.suppress(psutil.NoSuchProcess):
            resident, files, threads = each.memory_info().rss / MB, each.num_fds(), each.num_threads()
            taken["resident memory"] += resident
            taken["open files"] += files
            taken["threads"] += threads
    return taken


class JavaMachine:
    """The Java virtual machine of the Connect worker, by `jcmd` and its JMX agent."""

    def __init__(self, stack: LocalStack, endpoints: Endpoints) -> None:
        self._stack = stack
        self._url = str(endpoints.metrics_url)
        self._http = endpoints.access.metrics.client(headers={"Origin": METRICS_ORIGIN}, timeout=30)

    def heap_after_collection_mb(self) -> float:
        """Heap in use just after a full collection, which this asks for: what the worker holds on to."""
        self._jcmd("GC.run")
        return heap_in_use_mb(self._jcmd("GC.heap_info"))

    def mbeans(self) -> int:
        """MBeans that are registered, but for those without attributes; the agent shows names and hides values."""
        answer = orjson.loads(self._http.get(f"{self._url}/read/*:*?ignoreErrors=true").raise_for_status().content)
        assert answer["status"] == 200, answer.get("error")
        return len(answer["value"])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _jcmd(self, command: str) -> str:
        jcmd = find_jdks()[0].java.with_name("jcmd")
        words = [str(jcmd), str(self._stack.process_ids()["connect"]), command]
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


def heap_in_use_mb(heap_info: str) -> float:
    """What is used of the heap, by `jcmd PID GC.heap_info`: G1 has one part, others have one per generation."""
    return sum(int(used) for used in re.findall(r" total .*used (\d+)K", heap_info)) / 1024


def log_kb(stack: LocalStack) -> dict[str, float]:
    """Bytes of each server's logs in kB, by server; logs of the garbage collector, which are replaced, are left out."""
    return {server.spec.name: bytes_of(logs_of(server.spec)) / 1000 for server in stack.servers()}


def logs_of(spec: ServerSpec) -> set[Path]:
    """A server's output, and every file beside the log that it writes itself."""
    own = spec.server_log.parent.iterdir() if spec.server_log else ()
    return {spec.log_file, *(path for path in own if not path.name.startswith(ROTATED))}


def bytes_of(files: Iterable[Path]) -> int:
    """The size of all of them; one that is gone has none."""
    return sum(path.stat().st_size for path in files if path.is_file())
