"""The launcher `sluice`: which environment it starts, and what finding it costs."""

import os
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.stack.places import ROOT

PYTHON = """#!/bin/sh
# version {version}
echo "$*" >>"$CALLS"
case "$*" in
    -V) echo "Python {version}" ;;
    *"-m venv "*) mkdir -p "$3/bin" && ln -s "$0" "$3/bin/python" ;;
    *"-m lab.cli"*) echo "$0"; echo "utf8=$PYTHONUTF8 compiled=${{PYTHONPYCACHEPREFIX:-beside the code}}" ;;
esac
"""


@dataclass
class Checkout:
    """A checkout with nothing but the launcher and lock files, and a Python that only pretends to be one."""

    folder: Path

    @property
    def python(self) -> Path:
        """The Python that is asked for."""
        return self.folder / "bin" / "python3"

    def install(self, version: str) -> None:
        """Put a Python of this version where the last one was."""
        self.python.parent.mkdir(exist_ok=True)
        self.python.unlink(missing_ok=True)
        self.python.write_text(PYTHON.format(version=version), "utf-8")
        self.python.chmod(stat.S_IRWXU)

    def start(self, *words: str) -> tuple[str, list[str]]:
        """The environment that a command line started, without its folder, and what Python was called with."""
        calls = self.folder / "calls"
        calls.write_text("", "utf-8")
        environment = {
            "PATH": f"{self.python.parent}:/usr/bin:/bin",
            "CALLS": str(calls),
            "SLUICE_CACHE": str(self.folder / "cache"),
            "HOME": str(self.folder),
        }
        done = subprocess.run(
            [self.folder / "sluice", *words], env=environment, capture_output=True, text=True, check=True
        )
        self.said = done.stdout.splitlines()
        return Path(self.said[0]).relative_to(self.folder / "cache" / "python").parts[0], calls.read_text().splitlines()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout whose environment has been made."""
    shutil.copy(ROOT / "sluice", tmp_path / "sluice")
    for name in ("requirements", "requirements-test"):
        (tmp_path / f"{name}.lock").write_text(f"{name}==7\n", "utf-8")
    (tmp_path / "lab").mkdir()
    made = Checkout(tmp_path)
    made.install("3.11.7")
    if shutil.which("uv", path="/usr/bin:/bin"):
        pytest.skip("uv would want a real Python")
    made.start("status")
    return made


def test_a_start_with_its_environment_at_hand_starts_python_once(checkout: Checkout) -> None:
    """Every other start of Python would cost more than all the rest of the launcher."""
    assert checkout.start("status", "--json")[1] == ["-P -m lab.cli status --json"]


def test_a_changed_lock_file_gets_an_environment_of_its_own(checkout: Checkout) -> None:
    """Also when the file is older than the environment; the one of before serves the file of before."""
    before, _ = checkout.start("status")
    lock = checkout.folder / "requirements.lock"
    lock.write_text("requirements==8\n", "utf-8")
    os.utime(lock, (7, 7))
    changed, calls = checkout.start("status")
    assert (changed != before, any("-m pip install" in call for call in calls)) == (True, True)
    lock.write_text("requirements==7\n", "utf-8")
    assert checkout.start("status") == (before, ["-P -m lab.cli status"])


def test_another_python_gets_an_environment_of_its_own(checkout: Checkout) -> None:
    """Also when it takes the place of the other, is as large and no newer."""
    before, _ = checkout.start("status")
    checkout.install("3.11.9")
    os.utime(checkout.python, (7, 7))
    assert checkout.start("status")[0] != before


def test_what_needs_no_tests_makes_no_environment_for_them(checkout: Checkout) -> None:
    """Help answers from the environment that every command has."""
    plain, _ = checkout.start("status")
    for words in (("test", "--help"), ("test", "-h"), ("test", "--quick", "--help")):
        assert checkout.start(*words) == (plain, [f"-P -m lab.cli {' '.join(words)}"])
    assert checkout.start("test", "--quick")[0].startswith("requirements-test-")


def test_python_reads_and_writes_utf_8_and_keeps_what_it_compiles(checkout: Checkout) -> None:
    """Whatever the locale says, and also where the checkout cannot be written."""
    environment, _ = checkout.start("status")
    assert checkout.said[1] == "utf8=1 compiled=beside the code"
    (checkout.folder / "lab").rmdir()
    checkout.start("status")
    assert checkout.said[1] == f"utf8=1 compiled={checkout.folder}/cache/python/{environment}/compiled"
