"""What decides, beside a limit, which pages of files stay in memory: read from the kernel, nothing is changed."""

import contextlib
import re
from pathlib import Path

import psutil

from lab.records.run import Paging, RunWarning, WarningKind
from lab.stack.disks import disk_of
from lab.stack.groups import Bounds

KERNEL = Path("/sys")


def paging_of(data: Path | None, kernel: Path = KERNEL) -> Paging:
    """How this machine pages.

    Args:
        data: A folder on the disk that the servers' data are on; `None` where they are elsewhere.
    """
    disk = None
    with contextlib.suppress(OSError, LookupError):
        disk = data and disk_of(data)
    return Paging(
        disk=disk.name if disk else None,
        read_ahead_kb=disk.read_ahead_kb if disk else None,
        swap_bytes=psutil.swap_memory().total,
        damon_pageout=takes_cold_pages_away(kernel),
        transparent_huge_pages=chosen(kernel / "kernel" / "mm" / "transparent_hugepage" / "enabled"),
    )


def takes_cold_pages_away(kernel: Path = KERNEL) -> bool:
    """Whether DAMON watches memory and takes away what is not used, page cache among it, limit or not."""
    for state in (kernel / "kernel" / "mm" / "damon" / "admin" / "kdamonds").glob("*/state"):
        actions = state.parent.glob("contexts/*/schemes/*/action")
        if text_of(state) == "on" and any(text_of(action) == "pageout" for action in actions):
            return True
    return text_of(kernel / "module" / "damon_reclaim" / "parameters" / "enabled") == "Y"


def chosen(file: Path) -> str | None:
    """The choice in brackets, as in `always [madvise] never`."""
    match = re.search(r"\[(\w+)\]", text_of(file))
    return match[1] if match else None


def text_of(file: Path) -> str:
    """What a file of the kernel says; empty if it is not there."""
    with contextlib.suppress(OSError):
        return file.read_text("ascii").strip()
    return ""


def pages_taken_away(paging: Paging | None, bounds: Bounds) -> RunWarning | None:
    """The kernel takes pages away by itself, so that a limit is not all that bounds the page cache."""
    if paging is None or not paging.damon_pageout or bounds.memory is None:
        return None
    return RunWarning(
        kind=WarningKind.PAGES_TAKEN_AWAY,
        seen=f"the kernel pages out what is cold (DAMON, `pageout`) beside {bounds.memory[0]}",
        likely_cause="some virtual machines do so to return memory; a pause then cools the page cache",
        remedy="compare only interleaved runs, each measured right after its warm-up; to stop it, as root: "
        "echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state",
    )
