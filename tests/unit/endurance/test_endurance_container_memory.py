"""What is read of a container's memory, by both versions of control groups, and of a JVM's own account."""

from pathlib import Path

import pytest

from lab.monitor.control_groups import ControlGroup
from tests.endurance.container_memory import MIB, Running, Usage, parts_of

SUMMARY = """
Total: reserved=2000000KB, committed=1400000KB
       malloc: 70000KB #420000

-                 Java Heap (reserved=786432KB, committed=524288KB)
                            (mmap: reserved=786432KB, committed=524288KB, at peak)

-                     Class (reserved=1048576KB, committed=7168KB)
                            (classes #10007)
-                 Metaspace (reserved=65536KB, committed=59392KB)
-                      Code (reserved=247728KB, committed=23552KB)
-                     Other (reserved=3072KB, committed=3072KB)
-                    Symbol (reserved=11264KB, committed=11264KB)
"""


def container(folder: Path, *, is_unified: bool, **files: str) -> Running:
    """A container whose group of memory has these files, their names without `memory.`."""
    group = ControlGroup(17, "docker/books", str(folder), is_unified=is_unified)
    place = folder / ("" if is_unified else "memory") / "docker" / "books"
    place.mkdir(parents=True)
    for name, text in files.items():
        (place / f"memory.{name.replace('kmem_', 'kmem.')}").write_text(text)
    return Running("kafka", "books", group)


def stat(**mib: int) -> str:
    """The text of `memory.stat`."""
    return "".join(f"{name} {value if name.endswith('pgmajfault') else value * MIB}\n" for name, value in mib.items())


@pytest.mark.parametrize("kernel", [{"kernel": 11}, {"kernel_stack": 2, "pagetables": 3, "slab": 6}])
def test_what_cannot_be_given_back_is_anonymous_shared_and_the_kernel_s(tmp_path: Path, kernel: dict[str, int]) -> None:
    """Version 2; kernels before 5.18 give the kernel's memory in parts."""
    text = stat(anon=503, shmem=7, file=211, active_file=101, pgmajfault=13, **kernel)
    read = container(tmp_path, is_unified=True, stat=text, peak=str(769 * MIB), max=str(1021 * MIB))
    assert read.usage() == Usage(own=521, file_active=101, file=211, peak=769, limit=1021, major_faults=13)


def test_version_1_counts_the_kernel_s_memory_in_a_file_of_its_own(tmp_path: Path) -> None:
    """And what groups below take under names of its own."""
    read = container(
        tmp_path,
        is_unified=False,
        stat=stat(total_rss=503, total_shmem=7, total_cache=211, total_active_file=101, total_pgmajfault=13),
        kmem_usage_in_bytes=str(11 * MIB),
        max_usage_in_bytes=str(769 * MIB),
        limit_in_bytes=str(1021 * MIB),
    )
    assert read.usage() == Usage(own=521, file_active=101, file=211, peak=769, limit=1021, major_faults=13)


def test_a_jvm_s_account_is_summed_by_what_memory_is_for() -> None:
    """By what is committed, and nothing is left out."""
    parts = parts_of(SUMMARY)
    assert {name: mib for name, mib in parts.items() if mib} == {
        "heap": 512,
        "metaspace": 65,
        "code cache": 23,
        "direct": 3,
        "other": 11,
    }


def test_a_process_that_gives_no_account_has_no_parts() -> None:
    """Such as a JVM without native memory tracking."""
    assert parts_of("Native memory tracking is not enabled\n") == {}
