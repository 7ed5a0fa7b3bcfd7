"""The servers of a suite under way, and what shows its runs, as an execution sees them."""

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

from lab.profiles import Profile
from lab.records.result import Result
from lab.records.suite import SuiteRun, Variant
from lab.run.folder import RunFolder
from lab.run.phases import RunProgress
from producers.dataset import Dataset


class RunOptions(TypedDict):
    """How a variant runs.

    Attributes:
        short: With as many documents as its profile states, whatever counted runs have.
    """

    warm_up: bool
    short: bool
    display: AbstractContextManager[RunProgress]


class Bench(Protocol):
    """The servers of a suite, and one run on them.

    Attributes:
        run_ids: Runs of the suite so far.
    """

    run_ids: set[str]

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Bring the servers into the shape that the variant needs.

        Returns:
            What has to be warm for it: each server process together with the way in which the variant uses it.
        """
        ...

    def replace(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Run the variants with other profiles from here on, but for short runs."""
        ...

    def restart(self) -> None:
        """Stop all servers that only the suite uses, so that the next run has others."""
        ...

    def change_part(self, before: str, after: str) -> None:
        """Stop the servers of a part that the next one does not use as they are."""
        ...

    def run(self, variant: Variant, folder: RunFolder, **how: Unpack[RunOptions]) -> Result:
        """Run the variant once into the folder and remove what it leaves in the servers."""
        ...


class SuiteProgress(Protocol):
    """Shows each run of a suite."""

    def begins(self, what: str, variant: Variant, done: int, total: int) -> None:
        """A run begins; `done` of `total` counted runs are there."""
        ...

    def of_run(self) -> AbstractContextManager[RunProgress]:
        """The display of the run that begins."""
        ...

    def ended(self, run: SuiteRun, result: Result | None) -> None:
        """A run has ended."""
        ...

    def narrowed(self, folder: Path) -> None:
        """Another block of each comparison that is asked for has ended."""
        ...

    def warned(self, text: str) -> None:
        """Show what is to be known before the figures are, such as a time that is too short; empty for nothing."""
        ...
