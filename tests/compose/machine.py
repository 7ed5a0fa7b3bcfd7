"""What the tests ask of the machine: programs run to their end, packages of the distribution installed."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

PACKAGES_TIMEOUT_S = 300
SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/go/bin")


class EngineMissingError(Exception):
    """The compose tests cannot run on this machine; the message says what is missing."""


def finished(
    *command: str | Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float,
    text_in: str = "",
) -> subprocess.CompletedProcess[str]:
    """A program, run to its end, whatever its exit status."""
    try:
        return subprocess.run(
            [str(word) for word in command],
            env=environment,
            cwd=folder,
            input=text_in,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise EngineMissingError(f"{command[0]} {command[1]}: no end after {timeout_s:.0f} s") from error


def succeeded(
    *command: str | Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout_s: float,
    text_in: str = "",
) -> str:
    """What a program printed.

    Raises:
        EngineMissingError: It failed; with its last lines.
    """
    done = finished(*command, environment=environment, folder=folder, timeout_s=timeout_s, text_in=text_in)
    if done.returncode:
        words = " ".join(str(word) for word in command[:3])
        raise EngineMissingError(
            f"{words}: ended with exit status {done.returncode}: {last_lines(done.stderr or done.stdout)}"
        )
    return done.stdout


def last_lines(output: str, count: int = 5) -> str:
    """The end of an output, in one line."""
    return " | ".join([line.strip() for line in output.splitlines() if line.strip()][-count:])


def find_program(name: str) -> str | None:
    """A program on the path, or where system programs lie though a user's path may not say so."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(SYSTEM_FOLDERS))


def needed_program(name: str, *, package: str) -> str:
    """A program, installed from the distribution where the machine lacks it.

    Raises:
        EngineMissingError: It cannot be installed here.
    """
    if find_program(name) is None:
        install_packages(*package.split())
    program = find_program(name)
    if program is None:
        raise EngineMissingError(f"{name}: not there, though the package {package} is installed")
    return program


def install_packages(*packages: str) -> None:
    """Install packages of the distribution, its lists fetched anew where they are too old for that.

    Raises:
        EngineMissingError: We are not root, there is no apt, or it fails.
    """
    names = ", ".join(packages)
    if os.geteuid() != 0:
        raise EngineMissingError(f"{names}: not installed, and only root may install it")
    if shutil.which("apt-get") is None:
        raise EngineMissingError(f"{names}: not installed, and there is no apt-get to install it with")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command: Sequence[str] = ("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)
    if finished(*command, environment=environment, timeout_s=PACKAGES_TIMEOUT_S).returncode:
        succeeded("apt-get", "update", "-q", environment=environment, timeout_s=PACKAGES_TIMEOUT_S)
        succeeded(*command, environment=environment, timeout_s=PACKAGES_TIMEOUT_S)
