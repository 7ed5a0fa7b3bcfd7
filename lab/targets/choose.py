"""Where the servers are that a command uses: `--target`."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol

import typer

from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.remote import load_remote
from lab.records import Result
from lab.run.folder import RunFolder
from lab.stack.compose import ComposeProject
from lab.suite.execution import Bench
from lab.targets.compose import Compose
from lab.targets.local import Local
from lab.targets.remote import Remote
from producers.dataset import Dataset

TARGET_FILE = "SLUICE_TARGET_FILE"


class TargetName(StrEnum):
    """The targets."""

    LOCAL = "local"
    COMPOSE = "compose"
    REMOTE = "remote"


TargetOption = Annotated[
    TargetName,
    typer.Option(
        "--target",
        help="local: servers on this machine; compose: this checkout's containers; remote: servers that exist already.",
    ),
]
TargetFileOption = Annotated[
    Path | None,
    typer.Option(
        "--target-file",
        metavar="FILE",
        help="Where remote servers are and how they are entered [env: SLUICE_TARGET_FILE]; else variables say so.",
    ),
]


class Servers(Protocol):
    """The servers of a target, as commands use them."""

    def fitted(self, profile: Profile) -> Profile:
        """The profile as it runs on them; nothing is started to find out.

        Raises:
            ProfileError: It cannot.
        """
        ...

    def run(self, profile: Profile, dataset: Dataset, runs: Path) -> tuple[RunFolder, Result]:
        """Run a fitted profile once."""
        ...

    def bench(
        self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset], command: Sequence[str]
    ) -> AbstractContextManager[Bench]:
        """The servers of a suite, whose fitted profiles and datasets are given by variant."""
        ...


def servers_of(target: TargetName, file: Path | None) -> Servers:
    """The servers of a target.

    Raises:
        ProfileError: It is not said, or not as it must be, where they are.
    """
    if target is TargetName.REMOTE:
        return Remote(load_remote(remote_file(file)))
    refuse_without_remote(file, target)
    return Compose(ComposeProject()) if target is TargetName.COMPOSE else Local()


def refuse_without_remote(file: Path | None, target: TargetName) -> None:
    """Have nobody believe that the file counts where it does not.

    Raises:
        ProfileError: A file is given.
    """
    if file is not None:
        raise ProfileError(f"--target-file: got {file} with --target {target}, expected --target remote beside it")


def remote_file(given: Path | None) -> Path | None:
    """The file that describes remote servers; `None` where variables do."""
    named = os.environ.get(TARGET_FILE)
    return given or (Path(named) if named else None)
