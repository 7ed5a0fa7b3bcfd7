"""What the containers of a Compose project take of their memory, by the kernel and by each JVM's own account."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.monitor.control_groups import ControlGroup, group_of, numbers
from tests.compose.engine import DockerError, Engine

MIB = 2**20
SERVICE = "com.docker.compose.service"
JCMD = "/opt/java/openjdk/bin/jcmd"
"""Where the official images of Java have it, and our stand-ins as well; not on every path."""

AREA = re.compile(r"^-\s+(\S.*?) \(reserved=\d+KB, committed=(\d+)KB", re.MULTILINE)
AREAS = {
    "heap": ("Java Heap",),
    "metaspace": ("Class", "Metaspace", "Shared class space"),
    "code cache": ("Code",),
    "compiler": ("Compiler", "Arena Chunk"),
    "collector": ("GC", "GCCardSet"),
    "threads": ("Thread",),
    "direct": ("Other",),
}
"""Areas of native memory tracking by what they are for: `Other` has the direct buffers. The rest is "other"."""


@dataclass(frozen=True)
class Usage:
    """Memory of a container at one instant, in MiB.

    Attributes:
        own: What no page of a file can make room for: anonymous, shared and the kernel's memory.
        file_active: Page cache that was used more than once since it was read, mapped files and libraries included.
        file: All page cache.
        peak: The most that was ever charged at once, page cache included.
        major_faults: Pages that had to be read from disk again, or for the first time, while a process waited.
    """

    own: float
    file_active: float
    file: float
    peak: float
    limit: float
    major_faults: int


@dataclass(frozen=True)
class Running:
    """A running container of a project."""

    service: str
    container: str
    group: ControlGroup

    def text(self, name: str) -> str:
        """One of the files of its memory's group."""
        folder = Path(self.group.groups) / ("" if self.group.is_unified else "memory") / self.group.path
        return (folder / name).read_text()

    def usage(self) -> Usage:
        """What it takes now."""
        stat = numbers(self.text("memory.stat"))
        if self.group.is_unified:
            own, prefix = stat["anon"] + stat["shmem"] + kernel_bytes(stat), ""
            file, peak, limit = stat["file"], "memory.peak", "memory.max"
        else:
            kernel = int(self.text("memory.kmem.usage_in_bytes"))
            own, prefix = stat["total_rss"] + stat["total_shmem"] + kernel, "total_"
            file, peak, limit = stat["total_cache"], "memory.max_usage_in_bytes", "memory.limit_in_bytes"
        return Usage(
            own=own / MIB,
            file_active=stat[f"{prefix}active_file"] / MIB,
            file=file / MIB,
            peak=int(self.text(peak)) / MIB,
            limit=int(self.text(limit)) / MIB,
            major_faults=stat[f"{prefix}pgmajfault"],
        )

    def processes(self) -> dict[int, tuple[int, float]]:
        """Number of each process in the container → its number here, and its anonymous memory in MiB."""
        found = {}
        for pid in map(int, self.text("cgroup.procs").split()):
            status = dict(
                line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line
            )
            found[int(status["NSpid"].split()[-1])] = (pid, int(status["RssAnon"].split()[0]) / 1024)
        return found


def kernel_bytes(stat: Mapping[str, int]) -> int:
    """The kernel's memory in a group of version 2; kernels before 5.18 give its parts alone."""
    parts = ("kernel_stack", "pagetables", "percpu", "sock", "slab")
    return stat.get("kernel", sum(stat.get(part, 0) for part in parts))


def running(engine: Engine, project: str) -> Iterator[Running]:
    """The running containers of a project, those of `run` included."""
    label = f"label=com.docker.compose.project={project}"
    ids = engine.docker("ps", "--quiet", "--filter", label).stdout.split()
    for name in ids:
        try:
            words = f'{{{{.State.Pid}}}} {{{{.Id}}}} {{{{index .Config.Labels "{SERVICE}"}}}}'
            pid, full, service = engine.docker("inspect", "--format", words, name).stdout.split()
        except DockerError:
            continue  # it has just ended
        if (group := group_of(int(pid), full)) is not None:
            yield Running(service, full, group)


def killed_for_memory(engine: Engine, project: str) -> list[str]:
    """Services of which the kernel has killed a process for want of memory."""
    label = f"label=com.docker.compose.project={project}"
    ids = engine.docker("ps", "--all", "--quiet", "--filter", label).stdout.split()
    words = f'{{{{.State.OOMKilled}}}} {{{{.State.ExitCode}}}} {{{{index .Config.Labels "{SERVICE}"}}}}'
    lines = engine.docker("inspect", "--format", words, *ids).stdout.splitlines()
    states = (line.split() for line in lines)
    return [service for killed, status, service in states if killed == "true" or status == "137"]


def parts_of_jvm(engine: Engine, container: Running) -> dict[str, float]:
    """MiB of a container's largest JVM by what they are for, and those of its other processes.

    Empty where the process is no JVM that tells.
    """
    processes = container.processes()
    number = max(processes, key=lambda each: processes[each][1])
    words = ("exec", container.container, JCMD, str(number), "VM.native_memory", "summary", "scale=KB")
    parts = parts_of(engine.docker(*words, check=False).stdout)
    others = sum(anonymous for other, (_, anonymous) in processes.items() if other != number)
    return {**parts, "other processes": others} if parts else {}


def parts_of(summary: str) -> dict[str, float]:
    """MiB that a JVM has committed, by what they are for, as its summary in kB says; empty if that is none."""
    areas = {name: int(kilobytes) / 1024 for name, kilobytes in AREA.findall(summary)}
    if not areas:
        return {}
    parts = {part: sum(areas.pop(name, 0.0) for name in names) for part, names in AREAS.items()}
    return {**parts, "other": sum(areas.values())}


def most(usages: Iterable[Usage]) -> Usage:
    """Of each figure the largest."""
    every = list(usages)
    return Usage(
        own=max(usage.own for usage in every),
        file_active=max(usage.file_active for usage in every),
        file=max(usage.file for usage in every),
        peak=max(usage.peak for usage in every),
        limit=max(usage.limit for usage in every),
        major_faults=max(usage.major_faults for usage in every),
    )
