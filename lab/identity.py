"""Identity of a process: its number, and marks that tell it from a later process with the same number.

The start ticks (field 22 of `/proc/PID/stat`, since boot) and the boot id stay the same when the clock is set. The time
of day that a process started at does not: it is computed from the boot time, which the kernel moves with the clock
(`btime` in proc(5)).

A container shares the boot id and the ticks with its machine, and has numbers of its own: elsewhere, its process is not
found. A time namespace shifts the ticks, a restored checkpoint has new ones: there, too, the process counts as ended.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

PROC = Path("/proc")
BOOT_ID = PROC / "sys/kernel/random/boot_id"
START_FIELD = 19
"""Of `/proc/PID/stat`, field 22 of proc(5), counted from the one behind the command on."""

SAME_WITHIN_S = 1.0


@dataclass(frozen=True)
class ProcessIdentity:
    """A process, as another command finds it again.

    Attributes:
        boot_id: Of the boot that it started in; `None` where there is no `/proc`, as on macOS.
        start_ticks: Clock ticks from boot to its start.
        started_s: Where there is no boot id: its start by the clock, compared within a second. Files of older versions
            have only this. With none of the three it is no process: it had ended before it was looked at.
    """

    pid: int
    boot_id: str | None = None
    start_ticks: int | None = None
    started_s: float | None = None

    def process(self) -> psutil.Process | None:
        """The process, if it is still that one and has not ended."""
        try:
            # The handle first: from here on, psutil signals no later process of that number.
            process = psutil.Process(self.pid)
            is_same = self._is_that_of(self.pid)
            return process if is_same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None

    @property
    def is_alive(self) -> bool:
        """Check that the process is alive."""
        return self.process() is not None

    def _is_that_of(self, pid: int) -> bool:
        """Check that the process that has the number now is this one."""
        if self.started_s is not None:
            return abs(psutil.Process(pid).create_time() - self.started_s) < SAME_WITHIN_S
        return self.start_ticks is not None and self == identity_of(pid)


def identity_of(pid: int | None = None) -> ProcessIdentity:
    """The identity of the process that has this number now; by default this one."""
    pid = os.getpid() if pid is None else pid
    try:
        if (boot_id := this_boot()) is None:
            return ProcessIdentity(pid, started_s=psutil.Process(pid).create_time())
        return ProcessIdentity(pid, boot_id, start_ticks(pid))
    except (OSError, psutil.NoSuchProcess):
        return ProcessIdentity(pid)


def start_ticks(pid: int) -> int:
    """Clock ticks from boot to the start of the process; raises OSError if there is none."""
    # The command, in parentheses, may hold spaces and parentheses itself.
    return int((PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[START_FIELD])


@cache
def this_boot() -> str | None:
    """The id of this boot of the machine; `None` where the kernel gives none."""
    with contextlib.suppress(OSError):
        return BOOT_ID.read_text("ascii").strip()
    return None


def marked(variable: str) -> Iterator[tuple[psutil.Process, str]]:
    """Every process that has this variable in its environment and has not ended, with the value.

    Those of containers are left out: the value may name a folder or a process of theirs.
    """
    # psutil keeps what it saw under a number, and refuses to signal another process that has the number since.
    psutil.process_iter.cache_clear()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            value = process.environ().get(variable)
            if value and process.status() != psutil.STATUS_ZOMBIE and is_numbered_like_us(process.pid):
                yield process, value


def is_numbered_like_us(pid: int) -> bool:
    """Check that the process is in our PID namespace: root sees processes of containers too."""
    with contextlib.suppress(FileNotFoundError):
        return (PROC / str(pid) / "ns/pid").readlink() == (PROC / "self/ns/pid").readlink()
    return not PROC.is_dir()


def with_identity(facts: Any, name: str = "identity", pid: str = "pid") -> Any:
    """The facts of a file, with an identity in place of the number and the start time that older versions wrote."""
    if not isinstance(facts, Mapping) or pid not in facts or name in facts:
        return facts
    left = {key: value for key, value in facts.items() if key not in {pid, "process_started_s"}}
    return {**left, name: {"pid": facts[pid], "started_s": facts.get("process_started_s")}}
