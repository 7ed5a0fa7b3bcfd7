"""How releases of Docker Compose understand our files: their library, compose-go, built from its Go module."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lab.stack.artifacts import locked
from lab.stack.places import ROOT
from tests.compose.machine import EngineMissingError, find_program, finished, succeeded

SOURCE = Path(__file__).with_name("loader") / "main.go"
LIBRARY = "github.com/compose-spec/compose-go/v2"
LIBRARY_OF = {"2.31.0": "v2.4.5", "5.7.0": "v2.16.2"}
"""Release of Compose → the library that its go.mod names: the oldest that we ask for, and the newest that we know."""
BUILD_TIMEOUT_S = 600
LOAD_TIMEOUT_S = 60


@dataclass(frozen=True)
class Loader:
    """One release."""

    program: Path

    def load(self, files: Sequence[str], settings: Mapping[str, str]) -> Mapping[str, Any]:
        """The project as it understands it; as `docker compose config --format json` prints it."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COMPOSE_")}
        done = finished(
            self.program, *files, environment={**environment, **settings}, folder=ROOT, timeout_s=LOAD_TIMEOUT_S
        )
        assert done.returncode == 0, done.stderr
        project: Mapping[str, Any] = json.loads(done.stdout)
        return project


def loader_of(folder: Path, release: str) -> Loader:
    """A release's loader, built on first use below `folder`.

    Raises:
        EngineMissingError: There is no Go, or the build fails.
    """
    made_from = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:12]
    program = folder / "loaders" / f"{release}-{made_from}"
    with locked(folder / "loader.lock"):
        if not program.is_file():
            build(program, LIBRARY_OF[release])
    return Loader(program)


def build(program: Path, library_version: str) -> None:
    """Build it from the module proxy; its checksum database vouches for the sources."""
    go = find_program("go")
    if go is None:
        raise EngineMissingError("without Go, releases of Docker Compose cannot be compared; install Go")
    program.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "auto"}
    unfinished = program.with_suffix(".part")
    with TemporaryDirectory(prefix="sluice-compose-loader-") as work:
        shutil.copy(SOURCE, work)
        for words in (
            ("mod", "init", "loader"),
            ("get", f"{LIBRARY}/cli@{library_version}"),
            ("build", "-trimpath", "-o", str(unfinished), "."),
        ):
            succeeded(go, *words, environment=environment, folder=Path(work), timeout_s=BUILD_TIMEOUT_S)
    unfinished.rename(program)
