"""The disk that holds a folder, as the kernel numbers it, and the pages that it keeps of the folder's files."""

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

MOUNTS, BLOCK_DEVICES = Path("/proc/self/mountinfo"), Path("/sys/dev/block")


@dataclass(frozen=True)
class Disk:
    """A whole disk: the kernel bounds no partition.

    Attributes:
        name: `vda`.
        number: `254:0`, major and minor.
        read_ahead_kb: Most that the kernel reads ahead, in KiB; `None` where it does not say.
    """

    name: str
    number: str
    read_ahead_kb: int | None


def disk_of(folder: Path, *, mounts: Path = MOUNTS, block_devices: Path = BLOCK_DEVICES) -> Disk:
    """The disk of the file system that a folder, which need not exist yet, is on.

    Raises:
        LookupError: It is on none (tmpfs, overlay, a network); with the file system's type.
    """
    number, file_system = mounted(folder.resolve(), mounts.read_text("utf-8", "replace"))
    device = block_devices / number
    if not device.exists():
        raise LookupError(file_system)
    place = device.resolve()
    if (place / "partition").is_file():
        place = place.parent
    return Disk(place.name, first_word(place / "dev") or number, read_ahead_kb(place))


def mounted(folder: Path, mount_info: str) -> tuple[str, str]:
    """Device number and type of the file system that a folder is on, out of `/proc/self/mountinfo`."""
    within = {str(folder), *map(str, folder.parents)}
    mount = ("", "an unknown file system")
    longest = 0
    for line in mount_info.splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        place = re.sub(r"\\(\d{3})", lambda match: chr(int(match[1], 8)), words[4])
        # Of two that are mounted at one place, the later one is seen.
        if place in within and len(place) >= longest:
            mount, longest = (words[2], after.split()[0]), len(place)
    return mount


def read_ahead_kb(disk: Path) -> int | None:
    """What the disk's queue is set to."""
    word = first_word(disk / "queue" / "read_ahead_kb")
    return int(word) if word and word.isdigit() else None


def first_word(file: Path) -> str | None:
    """The first word of one of the kernel's files; `None` if it is not there or empty."""
    with contextlib.suppress(OSError):
        return next(iter(file.read_text("ascii").split()), None)
    return None


def drop_pages(folder: Path) -> None:
    """Have the kernel forget what it keeps of the files below a folder, as far as no process has them mapped.

    A page is charged to whoever read it first, so that what others have read would not count for a control group.
    """
    for parent, _folders, files in os.walk(folder):
        for name in files:
            # Files come and go while a server runs.
            with contextlib.suppress(OSError):
                descriptor = os.open(Path(parent) / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    os.fdatasync(descriptor)  # a page that is not written yet is not dropped
                    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(descriptor)
