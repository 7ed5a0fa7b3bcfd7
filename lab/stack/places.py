"""Where Sluice keeps things on this machine."""

import hashlib
import os
from pathlib import Path

from lab import ROOT

__all__ = ["ROOT", "cache_dir", "state_dir"]


def cache_dir() -> Path:
    """The per-user cache of downloads, unpacked servers and class-data archives; shared by all checkouts."""
    if chosen := os.environ.get("SLUICE_CACHE"):
        return Path(chosen)
    if os.geteuid() == 0:
        # Elasticsearch's unprivileged user cannot look into root's home.
        return Path("/var/cache/sluice")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sluice"


def state_dir(root: Path = ROOT) -> Path:
    """The folder of this checkout's servers: their state file, configuration, data and logs."""
    if chosen := os.environ.get("SLUICE_STATE"):
        return Path(chosen).absolute()
    name = f"{root.name}-{hashlib.sha256(str(root).encode()).hexdigest()[:8]}"
    if os.geteuid() == 0:
        return Path("/var/lib/sluice") / name
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "sluice" / name
