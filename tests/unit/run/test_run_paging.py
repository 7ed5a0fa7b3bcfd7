"""What takes pages away beside a limit: read as the kernel lays it out, and warned of."""

from pathlib import Path

import pytest

from lab.records.run import Paging, RunWarning, WarningKind
from lab.run.paging import pages_taken_away, paging_of, takes_cold_pages_away
from lab.stack.groups import Bounds


def write(file: Path, text: str) -> None:
    """A file with its folders."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def paging(*, damon_pageout: bool) -> Paging:
    """That of a machine."""
    return Paging(
        disk="vda",
        read_ahead_kb=8192,
        swap_bytes=0,
        damon_pageout=damon_pageout,
        transparent_huge_pages="madvise",
    )


@pytest.mark.parametrize(
    ("state", "action", "expected"), [("on", "pageout", True), ("off", "pageout", False), ("on", "stat", False)]
)
def test_damon_takes_pages_away_when_it_runs_to_do_so(
    state: str, action: str, *, expected: bool, tmp_path: Path
) -> None:
    """Not when it is off or only counts."""
    daemon = tmp_path / "kernel" / "mm" / "damon" / "admin" / "kdamonds" / "0"
    write(daemon / "state", state)
    write(daemon / "contexts" / "0" / "schemes" / "0" / "action", action)
    assert takes_cold_pages_away(tmp_path) is expected


def test_damon_may_be_a_module_of_its_own(tmp_path: Path) -> None:
    """`damon_reclaim` does the same."""
    write(tmp_path / "module" / "damon_reclaim" / "parameters" / "enabled", "Y")
    assert takes_cold_pages_away(tmp_path)


def test_a_kernel_that_says_nothing_is_recorded_as_that(tmp_path: Path) -> None:
    """Missing is not no."""
    read = paging_of(None, tmp_path)
    assert (read.disk, read.read_ahead_kb, read.transparent_huge_pages) == (None, None, None)
    assert not read.damon_pageout


def test_the_choice_of_huge_pages_is_the_one_in_brackets(tmp_path: Path) -> None:
    """As the kernel writes it."""
    write(tmp_path / "kernel" / "mm" / "transparent_hugepage" / "enabled", "always [madvise] never")
    assert paging_of(None, tmp_path).transparent_huge_pages == "madvise"


def test_a_limit_beside_which_pages_are_taken_away_is_warned_of() -> None:
    """The bound is not all that decides."""
    assert pages_taken_away(paging(damon_pageout=True), Bounds(page_cache_mb=64)) == RunWarning(
        kind=WarningKind.PAGES_TAKEN_AWAY,
        seen="the kernel pages out what is cold (DAMON, `pageout`) beside elasticsearch.page_cache_mb",
        likely_cause="some virtual machines do so to return memory; a pause then cools the page cache",
        remedy="compare only interleaved runs, each measured right after its warm-up; to stop it, as root: "
        "echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state",
    )


def test_without_a_limit_or_without_damon_nothing_is_warned_of() -> None:
    """Nor on servers elsewhere."""
    limit = Bounds(memory_limit_mb=850)
    cases = ((paging(damon_pageout=True), Bounds()), (paging(damon_pageout=False), limit), (None, limit))
    assert [pages_taken_away(*case) for case in cases] == [None, None, None]
