"""Reads what server processes and the machine have used, from `/proc`."""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Mapping

import psutil

from lab.monitor.control_groups import limiting_group
from lab.records.samples import ProcessSample

MAJOR_FAULTS_FIELD, CPU_FIELDS, RESIDENT_FIELD = 9, slice(11, 13), 21
"""Of `/proc/PID/stat`, counted after the command's closing parenthesis; CPU time is user and system (proc(5))."""

TICKS_PER_S, PAGE_BYTES = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


class ProcessReader:
    """Reads each process of a changing list; keeps handles, so that a reused pid is not taken for the old server.

    Args:
        listed: Name → pid.
        with_children: Names of processes that may leave their work to others, whose use is added to theirs.
    """

    def __init__(
        self, listed: Callable[[], Mapping[str, int]], with_children: Collection[str] = ("sink", "rally")
    ) -> None:
        self._listed = listed
        self._with_children = with_children
        self._handles: dict[str, psutil.Process] = {}

    def read(self) -> tuple[dict[str, ProcessSample], dict[str, str]]:
        """Samples by server name, and the reasons for those that could not be read."""
        read: dict[str, ProcessSample] = {}
        lost: dict[str, str] = {}
        for name, pid in self._listed().items():
            try:
                sample_of = tree_sample if name in self._with_children else process_sample
                read[name] = sample_of(self._handle(name, pid))
            except (psutil.Error, OSError) as error:
                self._handles.pop(name, None)
                lost[name] = f"process {pid}: {reason(error)}"
        return read, lost

    def _handle(self, name: str, pid: int) -> psutil.Process:
        handle = self._handles.get(name)
        if handle is None or handle.pid != pid:
            handle = self._handles[name] = psutil.Process(pid)
        return handle


def process_sample(process: psutil.Process) -> ProcessSample:
    """Use of one process since it started, without its children."""
    with open(f"/proc/{process.pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - at each tick, for each server
        fields = stat_fields(file.read())
    read_bytes, write_bytes = disk_bytes(process)
    return ProcessSample(
        pid=process.pid,
        cpu_s=round(sum(map(int, fields[CPU_FIELDS])) / TICKS_PER_S, 2),
        rss_bytes=int(fields[RESIDENT_FIELD]) * PAGE_BYTES,
        major_page_faults=int(fields[MAJOR_FAULTS_FIELD]),
        disk_read_bytes=read_bytes,
        disk_write_bytes=write_bytes,
    )


def tree_sample(process: psutil.Process) -> ProcessSample:
    """Use of a process and its descendants; of ended ones, the CPU time."""
    own = process_sample(process)
    below, ended_s = [own], ended_children_s(process)
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
            ended_s += ended_children_s(child)
            below.append(process_sample(child))
    return ProcessSample(
        pid=own.pid,
        cpu_s=round(sum(sample.cpu_s for sample in below) + ended_s, 2),
        rss_bytes=sum(sample.rss_bytes for sample in below),
        major_page_faults=sum(sample.major_page_faults for sample in below),
        disk_read_bytes=known_sum([sample.disk_read_bytes for sample in below]),
        disk_write_bytes=known_sum([sample.disk_write_bytes for sample in below]),
    )


def ended_children_s(process: psutil.Process) -> float:
    """CPU time of the children that have ended and that the process has waited for, theirs included."""
    times = process.cpu_times()
    return float(times.children_user + times.children_system)


def known_sum(values: Collection[int | None]) -> int | None:
    """The sum; `None` when a part of it is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def disk_bytes(process: psutil.Process) -> tuple[int | None, int | None]:
    """Bytes that reached or left the disk for this process; `None` where only its owner may know."""
    try:
        io = process.io_counters()
    except psutil.AccessDenied:
        return None, None
    return io.read_bytes, io.write_bytes


def stat_fields(stat: bytes) -> list[bytes]:
    """The line of `/proc/PID/stat` behind the command.

    The command, in parentheses, may itself hold spaces and parentheses.
    """
    return stat.rpartition(b")")[2].split()


class MachineReader:
    """Share of usable cores' time that was spent so between two readings.

    Args:
        cpu_times: CPU seconds spent so, and all that there were.
    """

    def __init__(self, cpu_times: Callable[[], tuple[float, float]]) -> None:
        self._cpu_times = cpu_times
        self._before: tuple[float, float] | None = None

    def read(self) -> float | None:
        """Percent; `None` at the first reading and when no time has passed."""
        now = self._cpu_times()
        before, self._before = self._before, now
        if before is None or now[1] <= before[1]:
            return None
        return min(100.0, round(100 * (now[0] - before[0]) / (now[1] - before[1]), 1))


def usable_cores() -> int | float:
    """Cores that this process, and what it starts, may keep busy: by affinity, cpuset and CPU quota."""
    cores, group = len(os.sched_getaffinity(0)), limiting_group()
    return min(cores, (group and group.quota_cores()) or cores)


def busy_and_all_cpu_s() -> tuple[float, float]:
    """CPU seconds that the usable cores have worked, and those they have had; waiting for a disk is not work.

    Time that the hypervisor took from them is in it: nobody else could have had it. Under a CPU quota only what its
    control group has used counts: the other cores are busy for somebody else.
    """
    bounded = quota_cpu_times()
    if bounded:
        return bounded
    idle_s, all_s = cpu_s_in("idle", "iowait")
    return all_s - idle_s, all_s


def programs_and_all_cpu_s() -> tuple[float, float]:
    """CPU seconds that programs have worked on the usable cores, and those that these have had.

    Unlike busy time, without interrupts and without what the hypervisor took away: these are no program's.
    """
    return quota_cpu_times() or cpu_s_in("user", "nice", "system")


def waiting_and_all_cpu_s() -> tuple[float, float]:
    """CPU seconds that usable cores were idle while a program waited for a disk, and those that they have had."""
    return cpu_s_in("iowait")


def stolen_and_all_cpu_s() -> tuple[float, float]:
    """CPU seconds that usable cores had work and the hypervisor ran another machine, and those that they have had.

    A hypervisor that does not tell looks like one that takes nothing.
    """
    return cpu_s_in("steal")


def quota_cpu_times() -> tuple[float, float] | None:
    """CPU seconds that the group under a quota has used, and those that it may use; `None` without a quota."""
    group = limiting_group()
    quota_cores = group.quota_cores() if group else None
    if group is None or quota_cores is None or quota_cores >= len(os.sched_getaffinity(0)):
        return None
    return group.cpu_s(), quota_cores * time.monotonic()


def cpu_s_in(*states: str) -> tuple[float, float]:
    """Seconds since the machine's start that the cores of the affinity mask were in these states, and in all states.

    Args:
        states: As psutil calls them; one that the kernel does not count has taken no time.
    """
    every, mask = psutil.cpu_times(percpu=True), os.sched_getaffinity(0)
    # Where the kernel shows a container its own cores only, they are counted from 0.
    times = [every[number] for number in mask if number < len(every)] if len(mask) < len(every) else every
    # Guests' time is counted in user and nice already.
    all_s = sum(sum(core) - getattr(core, "guest", 0.0) - getattr(core, "guest_nice", 0.0) for core in times)
    return sum(getattr(core, state, 0.0) for core in times for state in states), all_s


def reason(error: BaseException) -> str:
    """Why a reading failed, in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
