"""A control group for each Elasticsearch server: made, bounded while queries are sent, taken back, removed.

Page cache is charged to the group of whoever reads a page first. Hence a group per server, that it is started in.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.errors import ProfileError, StackError
from lab.stack.disks import disk_of, drop_pages
from lab.stack.server import ServerProcess, uninterrupted

GROUPS = Path("/sys/fs/cgroup")
PREFIX = "sluice-"
BESIDE_ANONYMOUS_MB = 60
"""What a server needs beside its heap and the JVM's own memory: page tables, stacks, and the code that it runs."""

RECLAIM_TIMEOUT_S = 10.0
REMOVE_TIMEOUT_S = 3.0
"""A launcher may outlive its server by a moment, and a group with a process in it cannot be removed."""

POLL_S = 0.05
MIB = 2**20
MEMORY, READ_IOPS = "elasticsearch.memory_limit_mb", "elasticsearch.read_iops_limit"
PAGE_CACHE = "elasticsearch.page_cache_mb"
DATA_FOLDER = "data"


@dataclass(frozen=True)
class Bounds:
    """What is bounded of each Elasticsearch server; `None` for nothing.

    Attributes:
        memory_limit_mb: Memory that it may use, page cache included, in MiB.
        page_cache_mb: Page cache beside all that it uses when the bound is set, in MiB.
        read_iops_limit: Read operations on its disk per second.
    """

    memory_limit_mb: int | None = None
    page_cache_mb: int | None = None
    read_iops_limit: int | None = None

    @property
    def memory(self) -> tuple[str, int] | None:
        """The key that bounds memory, and its value."""
        if self.page_cache_mb is not None:
            return PAGE_CACHE, self.page_cache_mb
        return None if self.memory_limit_mb is None else (MEMORY, self.memory_limit_mb)


@dataclass(frozen=True)
class Interface:
    """The names of one of the kernel's two versions.

    Attributes:
        rule: Sets a disk's read operations per second.
        no_swap: File and value that keep what has no file behind it in memory.
        anonymous: Its name in `memory.stat`.
        page_cache: The same.
    """

    version: int
    memory_limit: str
    no_memory_limit: str
    memory_used: str
    anonymous: str
    page_cache: str
    no_swap: tuple[str, str]
    read_iops: str
    rule: str
    no_rule: str


V1 = Interface(
    version=1,
    memory_limit="memory.limit_in_bytes",
    no_memory_limit="-1",
    memory_used="memory.usage_in_bytes",
    anonymous="rss",
    page_cache="cache",
    no_swap=("memory.swappiness", "0"),
    read_iops="blkio.throttle.read_iops_device",
    rule="{disk} {limit}",
    no_rule="0",
)
V2 = Interface(
    version=2,
    memory_limit="memory.max",
    no_memory_limit="max",
    memory_used="memory.current",
    anonymous="anon",
    page_cache="file",
    no_swap=("memory.swap.max", "0"),
    read_iops="io.max",
    rule="{disk} riops={limit}",
    no_rule="max",
)


@dataclass(frozen=True)
class Controllers:
    """Where groups can be made.

    Attributes:
        memory: The folder that a group with a bound of memory is made in; `None` where none can be made.
        disk: The same for disk operations.
    """

    interface: Interface
    memory: Path | None
    disk: Path | None


def controllers(root: Path = GROUPS) -> Controllers:
    """Where groups can be made: version 2 where its controllers are, or else the folders of version 1."""
    try:
        offered = (root / "cgroup.subtree_control").read_text("ascii").split()
    except OSError:
        return Controllers(V1, writable(root / "memory"), writable(root / "blkio"))
    memory, disk = (writable(root) if name in offered else None for name in ("memory", "io"))
    return Controllers(V2, memory, disk)


def writable(folder: Path) -> Path | None:
    """The folder, if groups can be made in it."""
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


class ServerGroups:
    """The control groups of the servers of one state folder, which their names tell.

    Args:
        folder: The state folder.
        root: Where the kernel's groups are mounted.
        remove: Removes a group.
        sleep: Waits for the kernel.
    """

    def __init__(
        self,
        folder: Path,
        root: Path = GROUPS,
        *,
        remove: Callable[[Path], None] = Path.rmdir,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folder = folder
        self._root = root
        self._remove = remove
        self._sleep = sleep
        self._prefix = f"{PREFIX}{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}-"

    @property
    def _controllers(self) -> Controllers:
        return controllers(self._root)

    def _parents(self) -> list[Path]:
        folders = (self._controllers.memory, self._controllers.disk)
        return list(dict.fromkeys(folder for folder in folders if folder))

    def _groups(self, name: str) -> tuple[Path, ...]:
        return tuple(parent / (self._prefix + name) for parent in self._parents())

    def _all(self) -> list[Path]:
        """Every group of this state folder, whichever command made it."""
        return [group for parent in self._parents() for group in parent.glob(f"{self._prefix}*") if group.is_dir()]

    def _memory(self, name: str) -> Path:
        return (self._controllers.memory or self._root) / (self._prefix + name)

    def _disk(self, name: str) -> Path:
        return (self._controllers.disk or self._root) / (self._prefix + name)

    # --- what can be bounded ----------------------------------------------------------------------------------------

    def lacks(self, bounds: Bounds) -> Iterator[str]:
        """Why these bounds cannot be set here, a sentence each; nothing is started or changed to find out."""
        usable, read_iops_limit = self._controllers, bounds.read_iops_limit
        if bounds.memory is not None and usable.memory is None:
            key, value = bounds.memory
            or_else = ", or use --target compose" if key == MEMORY else ""
            yield f"{key}: got {value}, {self._no_groups('memory')}{or_else}"
        if read_iops_limit is None:
            return
        if usable.disk is None:
            yield f"{READ_IOPS}: got {read_iops_limit}, {self._no_groups('blkio' if usable.interface is V1 else 'io')}"
        try:
            disk_of(self._folder)
        except (LookupError, OSError) as error:
            yield (
                f"{READ_IOPS}: got {read_iops_limit}, expected none: the servers' folder {self._folder} is on "
                f"{error}, which is not a disk; set SLUICE_STATE to a folder on a disk"
            )

    def _no_groups(self, controller: str) -> str:
        return (
            f"expected none: no control group with the controller `{controller}` can be made in {self._root}; "
            "run as root on a machine that has it"
        )

    # --- made and removed -------------------------------------------------------------------------------------------

    def make(self, name: str) -> tuple[Path, ...]:
        """The server's groups, without bounds; none where none can be made, and nothing can then be bounded."""
        groups = self._groups(name)
        try:
            for group in groups:
                # One that is there already keeps its bounds: its server is started again in the middle of a run.
                group.mkdir(exist_ok=True)
        except OSError:
            return ()
        if self._controllers.memory:
            file, value = self._controllers.interface.no_swap
            write_if_there(self._memory(name) / file, value)
        self._count_operations(name)
        return groups

    def _count_operations(self, name: str) -> None:
        """Recent kernels count a version 1 group's disk operations only once a rule was written, even an empty one."""
        interface = self._controllers.interface
        if self._controllers.disk and interface is V1:
            with contextlib.suppress(LookupError, OSError, StackError):
                self._set_read_iops(name, interface.no_rule)

    def remove(self, wait_s: float = 0.0) -> None:
        """Remove every group of this state folder that no process is in.

        Args:
            wait_s: How long to wait for the last of its processes to end.
        """
        deadline = time.monotonic() + wait_s
        while self._not_removed() and time.monotonic() < deadline:
            self._sleep(POLL_S)

    def _not_removed(self) -> list[Path]:
        for group in self._all():
            with contextlib.suppress(OSError):
                self._remove(group)
        return self._all()

    # --- bounds -----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def bounded(self, servers: Sequence[ServerProcess], bounds: Bounds) -> Iterator[None]:
        """Bound each of the servers, and take the bounds back at the end.

        Whoever enters finds the kernel done with taking pages away: each server uses no more than its limit.

        Raises:
            ProfileError: A bound cannot be set here, or the servers need more.
            StackError: A server is in no group, or the kernel did not get it below its limit.
        """
        if bounds == Bounds():
            yield
            return
        if lacks := tuple(self.lacks(bounds)):
            raise ProfileError("\n".join(lacks))
        for entry in servers:
            self._check_is_inside(entry)
        limits_mb = {entry.spec.name: self._limit_mb(entry.spec.name, bounds) for entry in servers}
        try:
            for entry in servers:
                if (limit_mb := limits_mb[entry.spec.name]) is not None:
                    self._bound_memory(entry, limit_mb)
                if bounds.read_iops_limit is not None:
                    self._set_read_iops(entry.spec.name, str(bounds.read_iops_limit))
            yield
        finally:
            with uninterrupted():
                self.reset()

    def reset(self) -> None:
        """Take every bound back, also those that a command which was killed has left."""
        for group in self._all():
            self._reset(group)

    def _reset(self, group: Path) -> None:
        interface = self._controllers.interface
        if (limit := group / interface.memory_limit).is_file():
            write_if_there(limit, interface.no_memory_limit)
        for disk in disks_of(group / interface.read_iops):
            write_if_there(group / interface.read_iops, interface.rule.format(disk=disk, limit=interface.no_rule))

    def _check_is_inside(self, entry: ServerProcess) -> None:
        name = entry.spec.name
        for group in self._groups(name):
            try:
                inside = (group / "cgroup.procs").read_text("ascii").split()
            except OSError:
                inside = []
            if str(entry.pid) not in inside:
                raise StackError(
                    f"{name}: is in no control group, because it was started without one; restart it with: ./sluice "
                    f"restart {name}"
                )

    def _limit_mb(self, name: str, bounds: Bounds) -> int | None:
        """The limit of one server: the one stated, or what it uses beside page cache and the cache that it may have."""
        if bounds.page_cache_mb is not None:
            interface = self._controllers.interface
            used = read_number(self._memory(name) / interface.memory_used) - self._stat(name)[interface.page_cache]
            return -(-used // MIB) + bounds.page_cache_mb
        if bounds.memory_limit_mb is not None:
            self._check_is_enough(name, bounds.memory_limit_mb)
        return bounds.memory_limit_mb

    def _check_is_enough(self, name: str, limit_mb: int) -> None:
        anonymous_mb = self._stat(name)[self._controllers.interface.anonymous] // MIB
        if limit_mb < anonymous_mb + BESIDE_ANONYMOUS_MB:
            raise ProfileError(
                f"{MEMORY}: got {limit_mb}, expected at least {anonymous_mb + BESIDE_ANONYMOUS_MB}: {name} uses "
                f"{anonymous_mb} MB beside page cache and needs {BESIDE_ANONYMOUS_MB} MB more, or the kernel kills it; "
                "raise it or lower elasticsearch.heap_mb"
            )

    def _stat(self, name: str) -> Mapping[str, int]:
        lines = (self._memory(name) / "memory.stat").read_text("ascii").splitlines()
        return {key: int(value) for key, value in (line.split() for line in lines)}

    def _bound_memory(self, entry: ServerProcess, limit_mb: int) -> None:
        """Set the limit, and wait until the kernel has taken away what is above it."""
        group, interface = self._memory(entry.spec.name), self._controllers.interface
        if entry.spec.pid_file:
            drop_pages(entry.spec.pid_file.parent / DATA_FOLDER)
        deadline = time.monotonic() + RECLAIM_TIMEOUT_S
        while True:
            # Version 1 refuses a limit while it cannot take enough away.
            with contextlib.suppress(OSError):
                (group / interface.memory_limit).write_text(str(limit_mb * MIB), "ascii")
            limit, used = (read_number(group / file) for file in (interface.memory_limit, interface.memory_used))
            if limit <= limit_mb * MIB and used <= limit:
                return
            if time.monotonic() > deadline:
                raise StackError(
                    f"{entry.spec.name}: uses {used // MIB} MB, expected at most {limit_mb} within "
                    f"{RECLAIM_TIMEOUT_S:g} s; raise {MEMORY} or {PAGE_CACHE}"
                )
            self._sleep(POLL_S)

    def _set_read_iops(self, name: str, limit: str) -> None:
        interface = self._controllers.interface
        rule = interface.rule.format(disk=disk_of(self._folder).number, limit=limit)
        try:
            (self._disk(name) / interface.read_iops).write_text(rule, "ascii")
        except OSError as error:
            raise StackError(f"{READ_IOPS}: cannot be set for {name} here: {error.strerror}") from error


def disks_of(rules: Path) -> list[str]:
    """The disks that a group has a rule of."""
    try:
        return [line.split()[0] for line in rules.read_text("ascii").splitlines() if line.strip()]
    except OSError:
        return []


def write_if_there(file: Path, value: str) -> None:
    """Set one of the kernel's files, if the group is still there and has it."""
    with contextlib.suppress(OSError):
        file.write_text(value, "ascii")


def read_number(file: Path) -> int:
    """A number of the kernel; `max` is the largest."""
    text = file.read_text("ascii").strip()
    return 2**63 if text == "max" else int(text)
