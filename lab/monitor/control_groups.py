"""Reads what the processes of a control group have used, from the kernel's own files."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.records.samples import ProcessSample

GROUPS, PROCESSES = Path("/sys/fs/cgroup"), Path("/proc")
RESIDENT = (("anon", "file_mapped"), ("total_rss", "total_mapped_file"), ("rss", "mapped_file"))
"""What `memory.stat` calls the pages that processes have mapped: version 2, version 1 with groups below, version 1."""


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
        """What all its processes have used since it was made.

        Raises:
            OSError: It is gone.
            LookupError: The kernel does not give one of the figures.
        """
        memory = numbers((self._folder("memory") / "memory.stat").read_text())
        read, written = self._disk_bytes()
        return ProcessSample(
            pid=self.pid,
            cpu_s=round(self.cpu_s(), 2),
            rss_bytes=resident_bytes(memory),
            major_page_faults=major_faults(memory),
            disk_read_bytes=read,
            disk_write_bytes=written,
        )

    def _folder(self, controller: str) -> Path:
        return self.groups / (self.path if self.is_unified else f"{controller}/{self.path}")

    def cpu_s(self) -> float:
        """CPU seconds that all its processes have used since it was made."""
        if self.is_unified:
            return numbers((self._folder("cpu") / "cpu.stat").read_text())["usage_usec"] / 1e6
        return int((self._folder("cpuacct") / "cpuacct.usage").read_text()) / 1e9

    def quota_cores(self) -> float | None:
        """Cores that all its processes may keep busy together; `None` without a quota."""
        folder = self._folder("cpu")
        try:
            if self.is_unified:
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / f"cpu.cfs_{name}_us").read_text().strip() for name in ("quota", "period"))
        except OSError:
            return None
        return None if quota in {"max", "-1"} else int(quota) / int(period)

    def _disk_bytes(self) -> tuple[int | None, int | None]:
        """Bytes read from and written to disks; `None` where the kernel does not count them."""
        name = "io.stat" if self.is_unified else "blkio.throttle.io_service_bytes"
        try:
            text = (self._folder("blkio") / name).read_text()
        except OSError:
            return None, None
        # Of each disk, `8:0 rbytes=17 wbytes=19 …`, or `8:0 Read 17` line by line.
        read, written = (
            sum(int(count) for count in re.findall(rf"\b(?:{operation})[ =](\d+)", text))
            for operation in ("rbytes|Read", "wbytes|Write")
        )
        return read, written


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
    """Of the groups that this process is in, the one with the smallest CPU quota; `None` where none has any."""
    limited = []
    for controllers, path in _paths(processes / "self").items():
        if not controllers or "cpu" in controllers.split(","):
            # In a container the path may be the host's, and the group is where groups are mounted.
            for place in (Path(path), *Path(path).parents):
                group = ControlGroup(os.getpid(), str(place), groups, is_unified=not controllers)
                if quota_cores := group.quota_cores():
                    limited.append((quota_cores, group))
    return min(limited, key=lambda pair: pair[0])[1] if limited else None


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


def major_faults(memory: Mapping[str, int]) -> int:
    """Page faults that had to wait for the disk.

    Raises:
        LookupError: They are not given.
    """
    for name in ("pgmajfault", "total_pgmajfault"):
        if name in memory:
            return memory[name]
    raise LookupError("its page faults are not given")
