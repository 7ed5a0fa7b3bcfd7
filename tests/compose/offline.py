"""What builds of images would fetch, fetched beforehand by this machine's own means: no image needs a network."""

import hashlib
import os
import re
import shlex
import shutil
import venv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.stack.artifacts import locked
from lab.stack.jdk import Jdk
from tests.compose.machine import succeeded

FETCH_TIMEOUT_S = 600
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "any")
MACHINES_MAVEN_SETTINGS = Path("/etc/maven/settings.xml")


def maven_repository(folder: Path, maven: Path, jdk: Jdk, project: Path, dockerfile: Path) -> Path:
    """A local repository with all that a Dockerfile's calls of Maven need, filled by making the same calls here.

    Args:
        maven: The unpacked Maven that the image has; another one would take other versions of its plugins.
        project: The folder that they are made in.
    """
    text = dockerfile.read_text()
    made_from = (project / "pom.xml").read_text() + text + maven.name
    repository = folder / f"maven-{hashlib.sha256(made_from.encode()).hexdigest()[:12]}"
    with locked(repository.with_suffix(".lock")):
        if not repository.is_dir():
            unfinished = repository.with_suffix(".part")
            with TemporaryDirectory(prefix="sluice-maven-") as work:
                copy = Path(work) / project.name
                shutil.copytree(project, copy, ignore=shutil.ignore_patterns("target"))
                for words in maven_calls(text, Path(work)):
                    succeeded(
                        maven / "bin" / "mvn", *machines_settings(), f"-Dmaven.repo.local={unfinished}", *words,
                        environment={**os.environ, "JAVA_HOME": str(jdk.home)},
                        folder=copy,
                        timeout_s=FETCH_TIMEOUT_S,
                    )  # fmt: skip
            unfinished.rename(repository)
    return repository


def maven_calls(dockerfile: str, root: Path) -> Iterator[list[str]]:
    """The arguments of every `RUN mvn …`, with the defaults of its arguments, absolute folders moved below `root`."""
    text = re.sub(r"\\\n\s*", " ", dockerfile)
    defaults = dict(re.findall(r"^ARG (\w+)=(\S+)", text, re.MULTILINE))
    for call in re.findall(r"^RUN mvn ([^&|;\n]+)", text, re.MULTILINE):
        chosen = re.sub(r"\$\{(\w+)\}", lambda found: defaults[found[1]], call)
        yield [word.replace("=/", f"={root}/") for word in shlex.split(chosen)]


def machines_settings() -> tuple[str, ...]:
    """The settings of the machine's own Maven, which may name a mirror; those of its user are found anyway."""
    return ("-gs", str(MACHINES_MAVEN_SETTINGS)) if MACHINES_MAVEN_SETTINGS.is_file() else ()


def wheels(folder: Path, lock: Path, python_version: str) -> Path:
    """The packages of a lock file as wheels for a Python of that version, checked against the lock file's hashes."""
    key = hashlib.sha256(lock.read_bytes() + python_version.encode()).hexdigest()[:12]
    target = folder / f"wheels-{key}"
    with locked(target.with_suffix(".lock")):
        if not target.is_dir():
            unfinished = target.with_suffix(".part")
            platforms = [f"--platform={platform}" for platform in PLATFORMS]
            with TemporaryDirectory(prefix="sluice-pip-") as work:
                # The environment that the tests run in need not have pip.
                venv.create(work, with_pip=True)
                succeeded(
                    Path(work) / "bin" / "pip", "download", "--quiet", "--require-hashes", "--only-binary=:all:",
                    f"--python-version={python_version}", "--implementation=cp", *platforms,
                    "--requirement", lock, "--dest", unfinished,
                    timeout_s=FETCH_TIMEOUT_S,
                )  # fmt: skip
            unfinished.rename(target)
    return target
