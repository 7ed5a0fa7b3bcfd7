"""Finds the folders of runs, suites and tunes; one is listed again only when something in it was made or removed."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.run.folder import SUITES, TUNES

RUN_ID = re.compile(r"\d{8}-\d{6}(-\d+)?")
"""How a folder is called that holds one run, or one suite."""
KINDS = ("runs", "warm-up")
"""The folders of a suite that hold its runs, by variant."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Content of a folder when it was last listed.

    Attributes:
        others: Names of the folders in it that hold no run themselves.
        ids: Names of those that do, oldest first.
    """

    changed_ns: int
    others: tuple[str, ...]
    ids: tuple[str, ...]


NOTHING = Listing(0, (), ())


@dataclass
class RunTree:
    """The folder of all runs.

    Attributes:
        listed: How many folders were listed so far.
        unreadable: Folders that are there and cannot be listed now, and why not; what they held before counts.
    """

    runs: Path
    listed: int = field(default=0, init=False)
    unreadable: dict[Path, str] = field(default_factory=dict, init=False)
    _seen: dict[Path, Listing] = field(default_factory=dict, init=False)

    def run_folders(self) -> list[Path]:
        """The folders of all runs but those of suites."""
        return [folder / name for folder, listing in self._single() for name in listing.ids]

    def suite_folders(self) -> list[Path]:
        """The folders of all suites."""
        return [folder / name for folder, listing in self._below(self.runs / SUITES) for name in listing.ids]

    def tune_folders(self) -> list[Path]:
        """The folders of all tunes."""
        return [folder / name for folder, listing in self._below(self.runs / TUNES) for name in listing.ids]

    def newest_run(self) -> Path | None:
        """The run that was begun last, be it a suite's; `None` where there is none."""
        newest = [folder / listing.ids[-1] for folder, listing in self._single() if listing.ids]
        if (suite := self.newest_suite()) is not None:
            newest += [
                folder / listing.ids[-1]
                for kind in KINDS
                for folder, listing in self._below(suite / kind)
                if listing.ids
            ]
        return max(newest, key=lambda run: began(run.name), default=None)

    def newest_suite(self) -> Path | None:
        """The suite in whose folder something was written last: an interrupted one may be resumed.

        A stage of a tune is one, too.
        """
        return max([*self.suite_folders(), *self._stages()], key=written_ns, default=None)

    def _stages(self) -> Iterator[Path]:
        """The folders of all stages of tunes."""
        for tune in self.tune_folders():
            stages = tune / "stages"
            yield from (stages / stage for stage in self._listing(stages).others)

    def _single(self) -> Iterator[tuple[Path, Listing]]:
        """The folders that hold runs which are no suite's."""
        top = self._listing(self.runs)
        yield self.runs, top
        for name in top.others:
            if name not in {SUITES, TUNES}:
                yield from self._below(self.runs / name)

    def _below(self, folder: Path) -> Iterator[tuple[Path, Listing]]:
        """A folder and all below it, but for those that hold a run."""
        listing = self._listing(folder)
        yield folder, listing
        for name in listing.others:
            yield from self._below(folder / name)

    def _listing(self, folder: Path) -> Listing:
        """Listing of a folder, without links, such as `latest`, and without hidden folders."""
        try:
            changed_ns = folder.stat().st_mtime_ns
            known = self._seen.get(folder, NOTHING)
            if known.changed_ns != changed_ns:
                self.listed += 1
                known = self._seen[folder] = listed(folder, changed_ns)
        except (FileNotFoundError, NotADirectoryError):
            known = self._seen[folder] = NOTHING
        except OSError as error:
            self.unreadable[folder] = error.strerror or type(error).__name__
            return self._seen.get(folder, NOTHING)
        self.unreadable.pop(folder, None)
        return known


def listed(folder: Path, changed_ns: int) -> Listing:
    """Content of a folder now."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)]
    ids = sorted((name for name in names if RUN_ID.fullmatch(name)), key=began)
    return Listing(changed_ns, tuple(sorted({*names} - {*ids})), tuple(ids))


def began(run_id: str) -> tuple[str, int]:
    """When a run began, by its id: the second, and which one of that second."""
    return run_id[:15], int(run_id[16:] or 1)


def written_ns(suite: Path) -> int:
    """When a suite's folder, or its list of runs, was last written."""
    newest = 0
    for path in (suite, suite / "runs.ndjson"):
        try:
            newest = max(newest, path.stat().st_mtime_ns)
        except OSError:
            continue
    return newest
