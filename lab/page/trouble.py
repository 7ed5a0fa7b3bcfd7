"""Why runs cannot be kept below their folder now; asked again with each look, so that it ends when the trouble does."""

import os
from pathlib import Path

LEAST_FREE_BYTES = 1 << 20
"""With less, a run cannot even write down that it has begun."""


def trouble_with(runs: Path) -> str | None:
    """Sentence that the disk of all runs is full; `None` if it is not, or if nothing was written there yet."""
    try:
        room = os.statvfs(runs)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{runs}: cannot be read: {error.strerror}"
    blocks = room.f_bavail if os.geteuid() else room.f_bfree  # some are kept for root
    if blocks * room.f_frsize < LEAST_FREE_BYTES:
        return f"{runs}: the disk is full, with less than {LEAST_FREE_BYTES >> 20} MiB free; make room for the next run"
    if room.f_files and not room.f_ffree:
        return f"{runs}: the disk is full, with no room for another file; make room for the next run"
    return None
