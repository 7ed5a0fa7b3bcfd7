"""The folder of a run: `runs/<profile>/<run-id>/`, and `runs/latest`, which points to the last finished one."""

import contextlib
import glob
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab.errors import ProfileError, unwritable
from lab.files import write_whole
from lab.records.base import Record

LATEST = "latest"
SUITES, TUNES = "suites", "tunes"
"""Folders below that of all runs in which suites and tunes keep theirs."""
MOST_IN_A_SECOND = 1000


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps its records."""

    path: Path
    run_id: str

    @classmethod
    def create(
        cls, runs: Path, profile: str, clock: Callable[[], float] = time.time, *, taken: Collection[str] = ()
    ) -> "RunFolder":
        """A new folder for a run of the profile, named after the present second; no id that is taken."""
        base = datetime.fromtimestamp(clock(), UTC).strftime("%Y%m%d-%H%M%S")
        for number in range(1, MOST_IN_A_SECOND):
            run_id = base if number == 1 else f"{base}-{number}"
            path = runs / profile / run_id
            if run_id in taken:
                continue
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise unwritable(f"{path}: the run's folder cannot be made", error) from error
            return cls(path, run_id)
        raise ProfileError(f"{runs / profile / base}: too many runs in one second")

    @property
    def samples(self) -> Path:
        """One `Sample` per line."""
        return self.path / "samples.ndjson"

    def write(self, name: str, record: Record) -> Path:
        """Write a record; the file is complete or not there."""
        return self.write_text(name, record.model_dump_json(indent=1) + "\n")

    def write_text(self, name: str, text: str) -> Path:
        """Write a file; it is complete or not there."""
        target = self.path / name
        write_whole(target, text)
        return target


def check_runs(runs: Path) -> None:
    """See that runs can be kept below a folder; nothing is made yet.

    Raises:
        ProfileError: They cannot.
    """
    try:
        with tempfile.TemporaryFile(dir=next(place for place in (runs, *runs.absolute().parents) if place.exists())):
            return
    except OSError as error:
        raise unwritable(f"--runs: got {runs}, expected a folder that can be written to", error) from error


def become_latest(folder: Path, runs: Path) -> None:
    """Have `latest` in the folder of all runs, or of all suites, point to this one, which has finished."""
    fresh = runs / f".{LATEST}.{os.getpid()}"
    # Where there are no links, or `latest` is somebody's folder, what has finished must not fail for it.
    with contextlib.suppress(OSError):
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(os.path.relpath(folder, runs))
        fresh.rename(runs / LATEST)


def finished_runs(runs: Path) -> Iterator[Path]:
    """The folders of the runs that have finished, as `latest` counts them: without those of suites and tunes."""
    records = runs.glob("**/run.json")
    return (path.parent for path in records if path.relative_to(runs).parts[0] not in {SUITES, TUNES})


def find_run(runs: Path, name: str) -> Path:
    """The folder of a run: `latest`, a run id, `<profile>/<run-id>`, a profile (its last run) or a path.

    Raises:
        ProfileError: There is no such run.
    """
    for candidate in (Path(name), runs / name):
        if (candidate / "run.json").is_file():
            return candidate.resolve()
    below = runs / name
    ids = sorted(path.parent for path in below.glob("*/run.json")) if below.is_dir() else []
    ids = ids or sorted(path.parent for path in runs.glob(f"**/{glob.escape(name)}/run.json"))
    if ids:
        return ids[-1].resolve()
    if name == LATEST and not any(path.is_dir() for path in runs.glob("*/*")):
        raise ProfileError(f"{name}: there is no run below {runs} yet; start one, such as: ./sluice run quickstart")
    finished = max(finished_runs(runs), key=lambda folder: folder.name, default=None)
    last = f"last finished run: {finished.relative_to(runs)}" if finished else "no run has finished yet"
    if name == LATEST or any(path.is_dir() for path in (Path(name), below, *runs.glob(f"**/{glob.escape(name)}"))):
        raise ProfileError(f"{name}: no result below {runs}: the run was interrupted or has not ended; {last}")
    raise ProfileError(
        f"{name}: no such run below {runs}; expected `latest`, a run id or a profile that has been run; {last}"
    )
