"""What the kernel says of control groups, laid out as both of its versions do."""

from pathlib import Path

import pytest

from lab.monitor.control_groups import ControlGroup, OwnGroups, group_of, limiting_group, memory_of, resident_bytes
from lab.records.samples import ControlGroupSample, ProcessSample
from tests.unit.messages import MakeMessage

MARK = "c25d99ee2e3d"
PID = 4099

V1 = {
    "cpuacct": {"cpuacct.usage": "7130000000\n"},
    "memory": {
        "memory.stat": "cache 258048\nrss 5\nmapped_file 3\ntotal_rss 1000003\ntotal_mapped_file 20011\n"
        "total_pgmajfault 13\ntotal_cache 300007\n",
        "memory.limit_in_bytes": "891289600\n",
        "memory.usage_in_bytes": "1300010\n",
    },
    "blkio": {
        "blkio.throttle.io_serviced": "8:0 Read 2\n8:0 Write 3\n8:0 Total 5\n8:16 Write 5\nTotal 10\n",
        "blkio.throttle.io_service_bytes": "8:0 Read 17\n8:0 Write 19\n8:0 Sync 36\n8:0 Total 36\n8:16 Write 23\n"
        "Total 59\n",
    },
}
V2 = {
    "cpu.stat": "usage_usec 7130000\nuser_usec 7000000\nsystem_usec 130000\n",
    "memory.max": "891289600\n",
    "memory.current": "1300010\n",
    "memory.stat": "anon 1000003\nfile 300007\nfile_mapped 20011\npgmajfault 13\n",
    "io.stat": "8:0 rbytes=17 wbytes=19 rios=2 wios=3 dbytes=0 dios=0\n8:16 rbytes=0 wbytes=23 rios=0 wios=5\n",
}
EXPECTED = ProcessSample(
    pid=PID, cpu_s=7.13, rss_bytes=1_020_014, major_page_faults=13, disk_read_bytes=17, disk_write_bytes=42
)


def process(folder: Path, *lines: str) -> Path:
    """A folder like `/proc`, with this in the process's `cgroup`."""
    place = folder / "proc" / str(PID)
    place.mkdir(parents=True)
    (place / "cgroup").write_text("".join(f"{line}\n" for line in lines))
    return folder / "proc"


def files(folder: Path, contents: dict[str, str]) -> None:
    """Files of these names and contents."""
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_text(content)


def found(folder: Path, processes: Path, mark: str = MARK) -> ControlGroup | None:
    """The group of the process."""
    return group_of(PID, mark, groups=folder / "groups", processes=processes)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A machine with groups of version 1, and one of version 2 that counts nothing beside them."""
    for controller, contents in V1.items():
        files(tmp_path / "groups" / controller / "docker" / MARK, contents)
    return process(tmp_path, f"8:blkio:/docker/{MARK}", f"4:cpuset,memory:/docker/{MARK}", f"0::/docker/{MARK}")


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """A machine with groups of version 2."""
    files(tmp_path / "groups" / "system.slice" / f"docker-{MARK}.scope", V2)
    return process(tmp_path, f"0::/system.slice/docker-{MARK}.scope")


@pytest.mark.parametrize("version", ["first", "second"])
def test_a_group_is_counted_as_a_process_is(version: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Whatever its version; the bytes of all disks are added up."""
    group = found(tmp_path, request.getfixturevalue(version))
    assert group is not None
    assert group.read() == EXPECTED


@pytest.mark.parametrize("version", ["first", "second"])
def test_a_group_says_what_bounds_it_and_what_fills_it(
    version: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The page cache is the group's own; reads are counted in bytes and in operations."""
    expected = ControlGroupSample(
        memory_limit_bytes=891_289_600,
        memory_used_bytes=1_300_010,
        page_cache_bytes=300_007,
        anonymous_bytes=1_000_003,
        major_page_faults=13,
        read_bytes=17,
        read_operations=2,
    )
    assert memory_of(found(tmp_path, request.getfixturevalue(version))) == expected


@pytest.mark.parametrize(
    ("version", "file", "text"), [("first", "limit_in_bytes", "9223372036854771712\n"), ("second", "max", "max\n")]
)
def test_no_limit_is_no_number(
    version: str, file: str, text: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Version 1 has a very large one for it."""
    processes = request.getfixturevalue(version)
    (place,) = tmp_path.rglob(f"memory.{file}")
    place.write_text(text)
    group = memory_of(found(tmp_path, processes))
    assert group is not None
    assert group.memory_limit_bytes is None


def test_a_kernel_that_counts_no_operations_says_nothing_of_them(tmp_path: Path, first: Path) -> None:
    """Recent ones write `Total 0` until some disk has been bounded; that is no figure."""
    for place in tmp_path.rglob("blkio.throttle.*"):
        place.write_text("Total 0\n")
    group = found(tmp_path, first)
    assert group is not None
    assert (group.read().disk_read_bytes, group.memory().read_operations) == (None, None)


def test_only_servers_in_a_group_of_their_own_have_figures_of_one(tmp_path: Path) -> None:
    """Others share the group of whoever started them."""
    name = "sluice-0a1b-elasticsearch-1"
    for controller, contents in V1.items():
        files(tmp_path / "groups" / controller / name, contents)
    processes = process(tmp_path, f"8:blkio:/{name}", f"4:memory:/{name}", "0::/")
    servers = {"elasticsearch-1": EXPECTED, "kafka": EXPECTED.model_copy(update={"pid": PID + 1})}
    own = OwnGroups(groups=tmp_path / "groups", proc=processes)
    assert list(own.read(servers)) == ["elasticsearch-1"]
    swapped = {"elasticsearch-1": servers["kafka"], "kafka": servers["elasticsearch-1"]}
    assert list(own.read(swapped)) == ["kafka"]
    assert own.read({}) == {}


def test_another_process_of_that_number_is_not_taken_for_it(tmp_path: Path, first: Path) -> None:
    """The engine may run in a virtual machine, where numbers are others."""
    assert found(tmp_path, first, mark="d36e00ff") is None


def test_a_process_that_is_not_there_has_no_group(tmp_path: Path) -> None:
    """It has ended, or is on another machine."""
    assert found(tmp_path, tmp_path) is None


def test_a_group_that_was_removed_has_no_figures(tmp_path: Path, second: Path) -> None:
    """The reader is told, and asks for the container again."""
    group = found(tmp_path, second)
    assert group is not None
    for path in (tmp_path / "groups").rglob("*.stat"):
        path.unlink()
    with pytest.raises(FileNotFoundError):
        group.read()


def test_disks_that_the_kernel_does_not_count_are_not_known(tmp_path: Path, second: Path) -> None:
    """And not nought; a group that has not read or written yet has a file that says nothing."""
    group = found(tmp_path, second)
    assert group is not None
    stat = next((tmp_path / "groups").rglob("io.stat"))
    stat.write_text("")
    assert (group.read().disk_read_bytes, group.read().disk_write_bytes) == (0, 0)
    stat.unlink()
    assert (group.read().disk_read_bytes, group.read().disk_write_bytes) == (None, None)


def test_memory_that_is_not_given_is_an_error(message: MakeMessage) -> None:
    """And not nought."""
    with pytest.raises(LookupError) as error:
        resident_bytes({"cache": 7})
    assert str(error.value) == message()


# --- how many cores may be used -------------------------------------------------------------------------------------


def own(folder: Path, *lines: str) -> Path:
    """A folder like `/proc`, with this in our own `cgroup`."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "self" / "cgroup").write_text("".join(f"{line}\n" for line in lines))
    return folder / "proc"


@pytest.mark.parametrize(
    ("lines", "quotas", "path", "cores"),
    [
        (["0::/a/b"], {"a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, "a", 1.5),
        (["0::/a/b"], {"a/b/cpu.max": "50000 100000", "a/cpu.max": "150000 100000"}, "a/b", 0.5),
        (["0::/../host"], {"cpu.max": "200000 100000"}, ".", 2.0),
        (
            ["4:cpu,cpuacct:/a", "0::/a"],
            {"cpu/a/cpu.cfs_quota_us": "25000", "cpu/a/cpu.cfs_period_us": "100000", "cpu/cpu.cfs_quota_us": "-1"},
            "a",
            0.25,
        ),
    ],
)
def test_the_smallest_quota_of_our_groups_counts(
    tmp_path: Path, lines: list[str], quotas: dict[str, str], path: str, cores: float
) -> None:
    """Of either version, of a group above as well; a container may be told a path that only its host has."""
    for name, content in quotas.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(f"{content}\n")
    group = limiting_group(groups=tmp_path / "groups", processes=own(tmp_path, *lines))
    assert group is not None
    assert (group.path, group.quota_cores()) == (path, cores)


def test_no_quota_is_no_limit(tmp_path: Path) -> None:
    """Nor are groups that are not there."""
    (tmp_path / "groups").mkdir()
    (tmp_path / "groups" / "cpu.max").write_text("max 100000\n")
    assert limiting_group(groups=tmp_path / "groups", processes=own(tmp_path, "0::/a", "3:cpu:/b")) is None
