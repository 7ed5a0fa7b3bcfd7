"""Reads what the processes of a control group have used, from the kernel's own files."""

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.records.samples import ControlGroupSample, ProcessSample

GROUPS, PROCESSES = Path("/sys/fs/cgroup"), Path("/proc")
RESIDENT = (("anon", "file_mapped"), ("total_rss", "total_mapped_file"), ("rss", "mapped_file"))
"""What `memory.stat` calls the pages that processes have mapped: version 2, version 1 with groups below, version 1."""

OWN_GROUP = "sluice-"
"""Part of the name of a group that a server of this machine was started in."""

PAGE_CACHE, ANONYMOUS = ("file", "total_cache", "cache"), ("anon", "total_rss", "rss")
NO_LIMIT_BYTES = 2**60
"""Version 1 has a number for no limit, which depends on the size of a page."""


@dataclass(frozen=True)
class ControlGroup:
    """The group of a process, be it one of version 2 or one group per controller of version 1.

    Attributes:
        pid: The process that it was found by.
        path: Of the group below where groups are mounted.
        groups: Where that is.
        is_unified: Whether it is version 2.
    """

    pid: int
    path: str
    groups: Path
    is_unified: bool

    def read(self) -> ProcessSample:
        """Use of all processes of the group since it was made.

        Raises:
            OSError: It is gone.
            LookupError: The kernel does not give one of the figures.
        """
        memory = numbers(self._text("memory", "memory.stat"))
        read, written = self._disk_bytes()
        return ProcessSample(
            pid=self.pid,
            cpu_s=round(self.cpu_s(), 2),
            rss_bytes=resident_bytes(memory),
            major_page_faults=major_faults(memory),
            disk_read_bytes=read,
            disk_write_bytes=written,
        )

    def memory(self) -> ControlGroupSample:
        """Its bound of memory, what fills it, and what its processes have read from disks.

        Raises:
            OSError: It is gone.
            LookupError: The kernel does not give one of the figures.
        """
        limit, used = ("max", "current") if self.is_unified else ("limit_in_bytes", "usage_in_bytes")
        stat = numbers(self._text("memory", "memory.stat"))
        return ControlGroupSample(
            memory_limit_bytes=limit_bytes(self._text("memory", f"memory.{limit}")),
            memory_used_bytes=int(self._text("memory", f"memory.{used}")),
            page_cache_bytes=first_of(stat, PAGE_CACHE, "page cache is"),
            anonymous_bytes=first_of(stat, ANONYMOUS, "memory is"),
            major_page_faults=major_faults(stat),
            read_bytes=self._disk_count("io_service_bytes", "rbytes|Read"),
            read_operations=self._disk_count("io_serviced", "rios|Read"),
        )

    def _file(self, controller: str, name: str) -> str:
        return f"{self.groups}/{'' if self.is_unified else controller}/{self.path}/{name}"

    def _text(self, controller: str, name: str) -> str:
        # Several at each tick, for each server: without paths and buffers this takes half the time.
        with open(self._file(controller, name), "rb", buffering=0) as file:  # noqa: PTH123
            return file.read().decode()

    def cpu_s(self) -> float:
        """CPU seconds that all its processes have used since it was made."""
        if self.is_unified:
            return numbers(self._text("cpu", "cpu.stat"))["usage_usec"] / 1e6
        return int(self._text("cpuacct", "cpuacct.usage")) / 1e9

    def quota_cores(self) -> float | None:
        """Cores that all its processes may keep busy together; `None` without a quota."""
        files = ("cpu.max",) if self.is_unified else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        try:
            quota, period = " ".join(self._text("cpu", file) for file in files).split()
        except OSError:
            return None
        return None if quota in {"max", "-1"} else int(quota) / int(period)

    def can_have_quota(self) -> bool:
        """Check that the group has a CPU quota or could get one; the root of all groups could not."""
        return Path(self._file("cpu", "cpu.max" if self.is_unified else "cpu.cfs_quota_us")).is_file()

    def _disk_bytes(self) -> tuple[int | None, int | None]:
        """Bytes read from and written to disks; `None` where the kernel does not count them."""
        read, written = (self._disk_count("io_service_bytes", name) for name in ("rbytes|Read", "wbytes|Write"))
        return read, written

    def _disk_count(self, file: str, operation: str) -> int | None:
        """Count of an operation by the kernel, over all disks; `None` where it does not count.

        Args:
            file: Its name in version 1, which has one for bytes and one for operations.
            operation: Its names.
        """
        name = "io.stat" if self.is_unified else f"blkio.throttle.{file}"
        try:
            text = self._text("blkio", name)
        except OSError:
            return None
        # A kernel that has never bounded a disk counts none in version 1, and says `Total 0` all the same.
        if not self.is_unified and ":" not in text:
            return None
        # Of each disk, `8:0 rbytes=17 wbytes=19 …`, or `8:0 Read 17` line by line.
        return sum(int(count) for count in re.findall(rf"\b(?:{operation})[ =](\d+)", text))


def group_of(pid: int, mark: str, *, groups: Path = GROUPS, processes: Path = PROCESSES) -> ControlGroup | None:
    """The control group of a process.

    Args:
        mark: Part of the group's name, such as a container's id: a process of that number may be another one here.

    Returns:
        `None` where that process, or its group, is not to be seen from here.
    """
    paths = _paths(processes / str(pid))
    unified = paths.get("")
    if unified and mark in unified and (groups / unified / "cpu.stat").is_file():
        return ControlGroup(pid, unified, groups, is_unified=True)
    # Of version 1, whoever runs containers gives all controllers' groups one name.
    path = next((path for controllers, path in paths.items() if "memory" in controllers.split(",")), "")
    if mark in path and (groups / "memory" / path).is_dir():
        return ControlGroup(pid, path, groups, is_unified=False)
    return None


def limiting_group(*, groups: Path = GROUPS, processes: Path = PROCESSES) -> ControlGroup | None:
    """Group with the smallest CPU quota among this process's groups; `None` where none has any."""
    limited = [(cores, group) for group in _groups_with_quota(groups, processes) if (cores := group.quota_cores())]
    return min(limited, key=lambda pair: pair[0])[1] if limited else None


@cache
def _groups_with_quota(groups: Path, processes: Path) -> tuple[ControlGroup, ...]:
    """The groups that this process is in, for good, and that can have a quota."""
    own = (
        # In a container the path may be the host's, and the group is where groups are mounted.
        ControlGroup(os.getpid(), str(place), groups, is_unified=not controllers)
        for controllers, path in _paths(processes / "self").items()
        if not controllers or "cpu" in controllers.split(",")
        for place in (Path(path), *Path(path).parents)
    )
    return tuple(group for group in own if group.can_have_quota())


def _paths(process: Path) -> dict[str, str]:
    """Controllers (none for version 2) → path of the group that the process is in; empty if it is not seen here."""
    try:
        lines = (process / "cgroup").read_text().splitlines()
    except OSError:
        return {}
    return {controllers: path.lstrip("/") for _, controllers, path in (line.split(":", 2) for line in lines)}


def numbers(text: str) -> dict[str, int]:
    """Lines of a name and a number."""
    return {name: int(number) for name, number in (line.split() for line in text.splitlines())}


def resident_bytes(memory: Mapping[str, int]) -> int:
    """Pages that the processes have mapped, as `RSS` counts those of one process; the rest of the cache is not.

    Raises:
        LookupError: They are not given.
    """
    for own, mapped in RESIDENT:
        if own in memory and mapped in memory:
            return memory[own] + memory[mapped]
    raise LookupError("its memory is not given")


def first_of(memory: Mapping[str, int], names: Iterable[str], what: str) -> int:
    """The figure under the first of its names that the kernel gives; raises LookupError if it gives none."""
    for name in names:
        if name in memory:
            return memory[name]
    raise LookupError(f"its {what} not given")


def limit_bytes(text: str) -> int | None:
    """A limit of memory; `None` where there is none."""
    limit = text.strip()
    return None if limit == "max" or int(limit) >= NO_LIMIT_BYTES else int(limit)


class OwnGroups:
    """The control groups of those servers that were started in one of their own; each stays in it for good."""

    def __init__(self, *, groups: Path = GROUPS, proc: Path = PROCESSES) -> None:
        self._groups, self._proc = groups, proc
        self._by_pid: dict[int, ControlGroup | None] = {}

    def read(self, processes: Mapping[str, ProcessSample]) -> dict[str, ControlGroupSample]:
        """Samples of the servers' groups, by server."""
        before = self._by_pid
        self._by_pid = {
            pid: before[pid] if pid in before else group_of(pid, OWN_GROUP, groups=self._groups, processes=self._proc)
            for pid in (process.pid for process in processes.values())
        }
        samples = ((name, memory_of(self._by_pid[process.pid])) for name, process in processes.items())
        return {name: sample for name, sample in samples if sample}


def memory_of(group: ControlGroup | None) -> ControlGroupSample | None:
    """Memory sample of a group; `None` without a group, or where it cannot be read."""
    if group is not None:
        with contextlib.suppress(OSError, LookupError, ValueError):
            return group.memory()
    return None


def major_faults(memory: Mapping[str, int]) -> int:
    """Page faults that had to wait for the disk; raises LookupError if they are not given."""
    return first_of(memory, ("pgmajfault", "total_pgmajfault"), "page faults are")
