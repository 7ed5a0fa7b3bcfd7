"""Where the servers are that a command uses: `--target`."""

import os
from pathlib import Path

from lab.endpoints import Endpoints
from lab.errors import ProfileError, refuse_without_checkout
from lab.profiles.remote import load_remote
from lab.stack.compose import ComposeProject
from lab.targets import TargetName
from lab.targets.compose import Compose
from lab.targets.local import Local
from lab.targets.remote import Remote
from lab.targets.servers import Servers

TARGET_FILE = "SLUICE_TARGET_FILE"


def servers_of(target: TargetName, file: Path | None) -> Servers:
    """The servers of a target.

    Raises:
        ProfileError: A target file is given for another target than `remote`, or is wrong or missing for that; or
            containers are asked for where there is no checkout.
    """
    if target is TargetName.REMOTE:
        return Remote(remote_endpoints(file))
    if file is not None:
        raise ProfileError(f"--target-file: got {file} with --target {target}, expected --target remote beside it")
    if target is TargetName.COMPOSE:
        refuse_without_checkout("--target compose")
        return Compose(ComposeProject())
    return Local()


def read_endpoints(target: TargetName, file: Path | None) -> Endpoints:
    """Where servers are that are only read: a target file alone names those elsewhere, and need not name a worker."""
    if file is not None or target is TargetName.REMOTE:
        return remote_endpoints(file, needs_connect=False)
    return servers_of(target, file).endpoints()


def remote_endpoints(file: Path | None, *, needs_connect: bool = True) -> Endpoints:
    """Where remote servers are, from the file that is given, or the one that a variable names, or variables alone."""
    named = os.environ.get(TARGET_FILE)
    path = file or (Path(named) if named else None)
    return load_remote(path, needs_connect=needs_connect)
