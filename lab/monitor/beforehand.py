"""Looks at the machine before a measurement begins: do other programs use its cores, and which one most?"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import psutil

from lab.monitor.others import OtherPrograms

LOOK_S = 3.0
"""A core has 300 ticks in it (proc(5))."""


class Program(NamedTuple):
    """A process, and the cores that it has used on average."""

    name: str
    pid: int
    cores: float


class Others(NamedTuple):
    """Other programs' use of the usable cores.

    Attributes:
        percent: Of the cores' time.
        busiest: The one that used most; `None` where none is seen from here.
    """

    percent: float
    busiest: Program | None


def look(
    seconds: float,
    *,
    programs: OtherPrograms | None = None,
    listed: Callable[[], Iterator[psutil.Process]] = psutil.process_iter,
    sleep: Callable[[float], None] = time.sleep,
) -> Others | None:
    """Other programs' use for so long from now; `None` where that cannot be told.

    Args:
        programs: What tells all of their use.
        listed: All processes.
    """
    programs = programs or OtherPrograms()
    programs.read(())
    before = cpu_s_of(listed())
    sleep(seconds)
    percent, after = programs.read(()), cpu_s_of(listed())
    if percent is None:
        return None
    ours = psutil.Process()
    mine = {ours.pid, *(child.pid for child in ours.children(recursive=True))}
    used = [
        Program(name, pid, (cpu_s - before[name, pid]) / seconds)
        for (name, pid), cpu_s in after.items()
        if (name, pid) in before and pid not in mine
    ]
    return Others(percent, max(used, key=lambda program: program.cores, default=None))


def cpu_s_of(processes: Iterator[psutil.Process]) -> dict[tuple[str, int], float]:
    """CPU seconds of each process that lives, without its children, by name and pid."""
    found = {}
    for process in processes:
        try:
            times = process.cpu_times()
            found[process.name(), process.pid] = times.user + times.system
        except psutil.Error:
            continue
    return found
