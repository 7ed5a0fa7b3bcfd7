"""Reads what programs that have nothing to do with the run have used of the cores, from `/proc`."""

import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from lab.monitor.control_groups import PROCESSES
from lab.monitor.processes import programs_and_all_cpu_s
from lab.records.samples import ControlGroupSample, ProcessSample

PARENT_FIELD, CPU_FIELDS, STARTED_FIELD = 1, slice(11, 15), 19
"""Of `/proc/PID/stat`, counted after the command's closing parenthesis; CPU time is user, system, and both of children
that have ended (proc(5))."""

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """One process of the machine.

    Attributes:
        started: In clock ticks since the machine's start; tells it from an earlier one of the same pid.
        cpu_ticks: What it has used, and those of its children that have ended and that it has waited for.
    """

    parent: int
    started: int
    cpu_ticks: int


class Reading(NamedTuple):
    """CPU seconds used until one instant.

    Attributes:
        roots: Pid and start of those processes of ours that are below none of the others.
    """

    roots: frozenset[tuple[int, int]]
    own_s: float
    programs_s: float
    all_s: float


class OtherPrograms:
    """CPU of other programs: all CPU of the usable cores, less the servers', this process's and their children's.

    A process that comes and goes between two readings is counted rightly on either side: its time stays with the parent
    that waited for it, and with the cores. What this cannot see: under a CPU quota, programs outside of the quota's
    control group. What it takes for others': a child of ours that left its parent (a daemon), what an engine starts in
    a container beside its first process, and the kernel's own threads, which write back pages for everybody.

    Args:
        cpu_times: CPU seconds of all programs, and those that the usable cores have had.
        processes: Where the kernel shows processes.
        own_pid: This process.
    """

    def __init__(
        self,
        cpu_times: Callable[[], tuple[float, float]] = programs_and_all_cpu_s,
        *,
        processes: Path = PROCESSES,
        own_pid: int | None = None,
    ) -> None:
        self._cpu_times = cpu_times
        self._processes = processes
        self._own_pid = os.getpid() if own_pid is None else own_pid
        self._before: Reading | None = None

    def read(self, servers: Collection[int]) -> float | None:
        """Percent of the usable cores' time since the reading before.

        It may be a little below 0, since the kernel counts cores and processes by different clocks. Such values stay,
        or a mean would be too high.

        Args:
            servers: Their pids on this machine.

        Returns:
            `None` at the first reading, when no time has passed, and when a server has come, gone or been replaced:
            what it used meanwhile is not known.
        """
        programs_s, all_s = self._cpu_times()
        now = Reading(*own_use(process_table(self._processes), {self._own_pid, *servers}), programs_s, all_s)
        before, self._before = self._before, now
        if before is None or now.roots != before.roots or now.all_s <= before.all_s or now.own_s < before.own_s:
            return None
        others_s = now.programs_s - before.programs_s - (now.own_s - before.own_s)
        # Adding 0 makes no difference to any number but -0.0, which would be written as such.
        return round(100 * others_s / (now.all_s - before.all_s), 1) + 0.0


def own_use(table: Mapping[int, Process], ours: Collection[int]) -> tuple[frozenset[tuple[int, int]], float]:
    """Pid and start of our processes that are below none of the others, and what these and all below them have used.

    Args:
        ours: Pids; one that is not in the table has ended.
    """
    children = defaultdict(list)
    for pid, process in table.items():
        children[process.parent].append(pid)
    below = {pid: set(descendants(children, pid)) for pid in ours if pid in table}
    roots = [pid for pid in below if not any(pid in others for others in below.values())]
    members = {*roots, *(pid for root in roots for pid in below[root])}
    return frozenset((pid, table[pid].started) for pid in roots), sum(
        table[pid].cpu_ticks for pid in members
    ) / TICKS_PER_S


def descendants(children: Mapping[int, Collection[int]], pid: int) -> Iterator[int]:
    """The descendants of a process, without the process itself."""
    left, known = [pid], {pid}
    while left:
        # Processes are read one after the other: a pid that was reused meanwhile may close a ring.
        new = [child for child in children.get(left.pop(), ()) if child not in known]
        known.update(new)
        left.extend(new)
        yield from new


def process_table(processes: Path) -> dict[int, Process]:
    """Processes that are seen from here, zombies included."""
    table = {}
    # A machine has hundreds of processes: without paths and text this takes half the time.
    for name in os.listdir(processes):  # noqa: PTH208
        if name.isdigit():
            with (
                contextlib.suppress(FileNotFoundError, ProcessLookupError),
                open(f"{processes}/{name}/stat", "rb", buffering=0) as file,  # noqa: PTH123
            ):
                table[int(name)] = process_of(file.read())
    return table


def process_of(stat: bytes) -> Process:
    """A process out of its line of `/proc/PID/stat`; the command, in parentheses, may hold anything."""
    fields = stat.rpartition(b")")[2].split(None, STARTED_FIELD + 1)
    ticks = sum(int(field) for field in fields[CPU_FIELDS])
    return Process(int(fields[PARENT_FIELD]), int(fields[STARTED_FIELD]), ticks)


def servers_here(
    processes: Mapping[str, ProcessSample],
    containers: Mapping[str, ProcessSample],
    groups: Mapping[str, ControlGroupSample],
) -> list[int]:
    """Pids of the run's servers and senders; empty where those of some are not on this machine, or not seen from it.

    Args:
        processes: Of this machine, by name.
        containers: What containers have used, by the server in them.
        groups: Of those containers that are on this machine.
    """
    names = {*processes, *containers}
    if not any(name.startswith("elasticsearch") for name in names) or not containers.keys() <= groups.keys():
        return []
    return [process.pid for process in (*processes.values(), *containers.values())]
