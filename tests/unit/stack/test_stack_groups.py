"""Control groups as both versions of the kernel lay them out: made, bounded, taken back, removed, or refused."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.errors import ProfileError, StackError
from lab.identity import ProcessIdentity
from lab.stack import groups, server
from lab.stack.disks import Disk, disk_of
from lab.stack.groups import Bounds, ServerGroups
from lab.stack.server import ServerProcess
from tests.unit.stack.trivial_servers import shell, spec_of, wait_until

NODE = "elasticsearch-1"
MIB = 2**20
DISK = Disk("vda", "254:0", 8192)
FILES = {
    "first": ("memory.limit_in_bytes", "memory.usage_in_bytes", "rss", "blkio.throttle.read_iops_device"),
    "second": ("memory.max", "memory.current", "anon", "io.max"),
}
UNBOUNDED = {"first": ("-1", "254:0 0"), "second": ("max", "254:0 riops=max")}
BOUNDED = {
    "first": (str(850 * MIB), "254:0 500"),
    "second": (str(850 * MIB), "254:0 riops=500"),
}


class Machine:
    """A machine with control groups of one version; no more than files."""

    def __init__(self, folder: Path, version: str) -> None:
        self.root = folder / "cgroup"
        self.version = version
        self.limit, self.used, self.anonymous, self.iops = FILES[version]
        for name in ("memory", "blkio") if version == "first" else ("",):
            (self.root / name).mkdir(parents=True)
        if version == "second":
            (self.root / "cgroup.subtree_control").write_text("cpu io memory pids\n")
        self.groups = self.another_command(folder / "state")

    def another_command(self, state: Path) -> ServerGroups:
        """The groups as a later command finds them."""
        return ServerGroups(state, self.root, remove=shutil.rmtree, sleep=lambda _: None)

    def hold(self, pid: int, *, used_mb: int = 800, anonymous_mb: int = 700) -> ServerProcess:
        """A server in its groups, which uses so much."""
        for group in self.groups.make(NODE):
            (group / "cgroup.procs").write_text(f"{pid}\n")
        cache = {"first": "cache", "second": "file"}[self.version]
        stat = f"{self.anonymous} {anonymous_mb * MIB}\n{cache} {(used_mb - anonymous_mb - 7) * MIB}\n"
        (self.group / "memory.stat").write_text(stat)
        (self.group / self.used).write_text(f"{used_mb * MIB}\n")
        (self.group / self.limit).write_text("max\n" if self.version == "second" else f"{2**63}\n")
        return ServerProcess(spec=spec_of(self.root, NODE), identity=ProcessIdentity(pid))

    @property
    def group(self) -> Path:
        """The server's group of memory."""
        (found,) = (self.root / ("memory" if self.version == "first" else "")).glob("sluice-*")
        return found

    @property
    def bounds(self) -> tuple[str, str]:
        """What is set of memory, and of the disk."""
        (rule,) = self.root.rglob(self.iops)
        return (self.group / self.limit).read_text().strip(), rule.read_text()


@pytest.fixture(autouse=True)
def _on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "disk_of", lambda _: DISK)


@pytest.fixture(params=["first", "second"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """One of each version."""
    return Machine(tmp_path, request.param)


def test_a_server_is_in_its_groups_before_it_does_anything(machine: Machine, marker: Path, tmp_path: Path) -> None:
    """It sees itself in them, so that all that it reads is charged to them."""
    made = machine.groups.make(NODE)
    seen = tmp_path / "seen"
    procs = " ".join(f"{group}/cgroup.procs" for group in made)
    entry = server.start(
        spec_of(tmp_path, NODE, shell(f"cat {procs} > {seen}.part; mv {seen}.part {seen}")), marker, made
    )
    wait_until(seen.is_file)
    assert seen.read_text() == str(entry.pid) * len(made)
    assert len(made) == {"first": 2, "second": 1}[machine.version]


def test_a_group_that_does_not_take_a_server_is_no_reason_not_to_start_it(marker: Path, tmp_path: Path) -> None:
    """Few profiles bound anything, and those that do look whether it is inside."""
    ran = tmp_path / "ran"
    server.start(spec_of(tmp_path, NODE, shell(f"touch {ran}")), marker, [tmp_path / "gone"])
    wait_until(ran.is_file)


def test_a_server_that_is_started_again_keeps_its_bounds(machine: Machine) -> None:
    """Whoever starts it again in the middle of a run must not change what the run measures."""
    entry = machine.hold(17)
    with machine.groups.bounded([entry], Bounds(memory_limit_mb=850, read_iops_limit=500)):
        machine.groups.make(NODE)
        assert (machine.group / machine.limit).read_text() == str(850 * MIB)


def test_bounds_hold_in_the_block_and_are_taken_back(machine: Machine) -> None:
    """Memory in bytes, read operations of the disk that the servers' folder is on."""
    entry = machine.hold(17)
    with machine.groups.bounded([entry], Bounds(memory_limit_mb=850, read_iops_limit=500)):
        assert machine.bounds == BOUNDED[machine.version]
    assert machine.bounds == UNBOUNDED[machine.version]


def test_bounds_are_taken_back_from_a_block_that_failed(machine: Machine) -> None:
    """Whatever becomes of the queries."""
    entry = machine.hold(17)
    with (
        pytest.raises(ZeroDivisionError),
        machine.groups.bounded([entry], Bounds(memory_limit_mb=850, read_iops_limit=500)),
    ):
        raise ZeroDivisionError
    assert machine.bounds == UNBOUNDED[machine.version]


def test_the_next_command_takes_back_what_a_killed_one_has_left(machine: Machine, tmp_path: Path) -> None:
    """As after kill -9; groups of another state folder are somebody else's."""
    entry = machine.hold(17)
    left = machine.groups.bounded([entry], Bounds(memory_limit_mb=850, read_iops_limit=500))
    left.__enter__()
    machine.another_command(tmp_path / "other").reset()
    assert machine.bounds == BOUNDED[machine.version]
    machine.another_command(tmp_path / "state").reset()
    assert machine.bounds == UNBOUNDED[machine.version]


def test_no_bound_changes_nothing(machine: Machine) -> None:
    """Not even of a server that is in no group."""
    entry = ServerProcess(spec=spec_of(machine.root, NODE), identity=ProcessIdentity(17))
    with machine.groups.bounded([entry], Bounds()):
        assert not list(machine.root.rglob("sluice-*"))


def test_only_own_groups_are_removed(machine: Machine, tmp_path: Path) -> None:
    """Those that are named for the state folder."""
    theirs = machine.another_command(tmp_path / "other").make(NODE)
    machine.groups.make(NODE)
    machine.groups.remove()
    assert sorted(path for path in machine.root.rglob("sluice-*")) == sorted(theirs)


def test_a_group_with_a_process_in_it_is_waited_for(machine: Machine) -> None:
    """A launcher may outlive its server by a moment."""
    refusals = iter([OSError(16, "busy")])

    def remove(group: Path) -> None:
        for refusal in refusals:
            raise refusal
        shutil.rmtree(group)

    machine.groups.make(NODE)
    ServerGroups(machine.root.parent / "state", machine.root, remove=remove, sleep=lambda _: None).remove(1.0)
    assert not list(machine.root.rglob("sluice-*"))


def test_what_is_in_memory_is_never_swapped_out(machine: Machine) -> None:
    """A limit would otherwise push the heap out, in place of files."""
    machine.groups.make(NODE)
    name = {"first": "memory.swappiness", "second": "memory.swap.max"}[machine.version]
    assert (machine.group / name).read_text() == "0"


def test_a_bound_of_page_cache_leaves_all_else_to_the_server(machine: Machine) -> None:
    """700 MB of its own and 7 of the kernel's, whatever a server of that heap comes to use by then."""
    entry = machine.hold(17, used_mb=757, anonymous_mb=700)
    with machine.groups.bounded([entry], Bounds(page_cache_mb=64)):
        assert (machine.group / machine.limit).read_text() == str((700 + 7 + 64) * MIB)


def test_a_limit_below_what_the_server_needs_is_refused(machine: Machine) -> None:
    """The kernel would kill it."""
    entry = machine.hold(17, anonymous_mb=742)
    with pytest.raises(ProfileError) as refusal, machine.groups.bounded([entry], Bounds(memory_limit_mb=801)):
        pass
    assert str(refusal.value) == (
        "elasticsearch.memory_limit_mb: got 801, expected at least 802: elasticsearch-1 uses 742 MB beside page cache "
        "and needs 60 MB more, or the kernel kills it; raise it or lower elasticsearch.heap_mb"
    )


def test_a_server_that_was_started_outside_is_refused(machine: Machine) -> None:
    """By an older version, or by somebody without the right to make groups."""
    entry = machine.hold(17).model_copy(update={"identity": ProcessIdentity(19)})
    with pytest.raises(StackError) as refusal, machine.groups.bounded([entry], Bounds(memory_limit_mb=850)):
        pass
    assert str(refusal.value) == (
        "elasticsearch-1: is in no control group, because it was started without one; restart it with: ./sluice "
        "restart elasticsearch-1"
    )


def test_a_limit_that_the_kernel_does_not_reach_is_an_error(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured under a bound that does not hold; it is taken back."""
    monkeypatch.setattr(groups, "RECLAIM_TIMEOUT_S", 0.0)
    entry = machine.hold(17, used_mb=851)
    with pytest.raises(StackError) as failure, machine.groups.bounded([entry], Bounds(memory_limit_mb=850)):
        pass
    assert str(failure.value) == (
        "elasticsearch-1: uses 851 MB, expected at most 850 within 0 s; raise elasticsearch.memory_limit_mb or "
        "elasticsearch.page_cache_mb"
    )
    assert (machine.group / machine.limit).read_text() == UNBOUNDED[machine.version][0]


def lacking(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """Machines without a controller, and its name in their version."""
    yield tmp_path / "none", "blkio"
    unified = tmp_path / "unified"
    unified.mkdir()
    (unified / "cgroup.subtree_control").write_text("pids\n")
    yield unified, "io"


def test_a_machine_without_control_groups_refuses_bounds_and_starts_servers(tmp_path: Path) -> None:
    """With what would help; servers are then started without."""
    for root, disk in lacking(tmp_path):
        machine = ServerGroups(tmp_path / "state", root)
        assert machine.make(NODE) == ()
        assert tuple(machine.lacks(Bounds(memory_limit_mb=850, read_iops_limit=500))) == (
            "elasticsearch.memory_limit_mb: got 850, expected none: no control group with the controller `memory` can "
            f"be made in {root}; run as root on a machine that has it, or use --target compose",
            f"elasticsearch.read_iops_limit: got 500, expected none: no control group with the controller `{disk}` can "
            f"be made in {root}; run as root on a machine that has it",
        )
        assert tuple(machine.lacks(Bounds())) == ()


def test_a_folder_on_no_disk_has_no_bound_of_operations(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its memory can be bounded all the same."""

    def on_memory(_: Path) -> Disk:
        raise LookupError("tmpfs")

    monkeypatch.setattr(groups, "disk_of", on_memory)
    state = machine.root.parent / "state"
    assert tuple(machine.groups.lacks(Bounds(memory_limit_mb=850, read_iops_limit=500))) == (
        f"elasticsearch.read_iops_limit: got 500, expected none: the servers' folder {state} is on tmpfs, which is "
        "not a disk; set SLUICE_STATE to a folder on a disk",
    )


MOUNTS = """\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
22 21 0:30 / /dev/shm rw - tmpfs tmpfs rw
23 21 8:2 / /with\\040space rw - ext4 /dev/sda2 rw
"""


@pytest.fixture
def blocks(tmp_path: Path) -> Path:
    """What the kernel says of a disk, and of another one's second partition."""
    devices, numbers = tmp_path / "devices", tmp_path / "block"
    for name, number in (("vda", "254:0"), ("sda", "8:0"), ("sda/sda2", "8:2")):
        (devices / name / "queue").mkdir(parents=True)
        (devices / name / "dev").write_text(f"{number}\n")
        (devices / name / "queue" / "read_ahead_kb").write_text("128\n" if name == "sda" else "8192\n")
    (devices / "sda" / "sda2" / "partition").write_text("2\n")
    numbers.mkdir()
    (numbers / "254:0").symlink_to(devices / "vda")
    (numbers / "8:2").symlink_to(devices / "sda" / "sda2")
    (tmp_path / "mountinfo").write_text(MOUNTS)
    return numbers


@pytest.mark.parametrize(
    ("folder", "disk"),
    [("/no/such/folder/yet", Disk("vda", "254:0", 8192)), ("/with space/x", Disk("sda", "8:0", 128))],
)
def test_a_folder_is_on_a_whole_disk(folder: str, disk: Disk, tmp_path: Path, blocks: Path) -> None:
    """A partition cannot be bounded."""
    assert disk_of(Path(folder), mounts=tmp_path / "mountinfo", block_devices=blocks) == disk


def test_a_folder_in_memory_is_on_no_disk(tmp_path: Path, blocks: Path) -> None:
    """The error is the file system's type."""
    with pytest.raises(LookupError) as error:
        disk_of(Path("/dev/shm/x"), mounts=tmp_path / "mountinfo", block_devices=blocks)  # noqa: S108 - no such file
    assert error.value.args == ("tmpfs",)
