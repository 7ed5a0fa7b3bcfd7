"""`./sluice` on a machine with Python alone: the environment is made from the lock file, with the pip that it names."""

import hashlib
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from lab.stack.places import ROOT
from tests.unit.http_server import serving
from tests.unit.messages import MakeMessage

PROGRAMS = ("sh", "cat", "cksum", "cmp", "cp", "cut", "id", "mkdir", "mv", "readlink", "rm", "stat", "tail")
WHEEL = "pip-26.3-py3-none-any.whl"
PIP = 'import pathlib, sys\npathlib.Path(sys.prefix, "installed").write_text(" ".join(sys.argv[1:]))\n'
PYTHON_WITHOUT_ENSUREPIP = f"""\
#!/bin/sh
case "$*" in *"import ensurepip"*) exit 1 ;; esac
exec {sys.executable} "$@"
"""


@dataclass
class Machine:
    """A checkout whose lab only says that it has started, on a machine without uv and without ensurepip."""

    root: Path
    environment: dict[str, str]

    def sluice(self) -> subprocess.CompletedProcess[str]:
        """Start it."""
        command = [str(self.root / "sluice"), "run"]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def environments(self) -> list[Path]:
        """What lies where environments are made."""
        return sorted((self.root / "cache" / "python").iterdir())


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A pip that writes down what it was asked to do."""
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as archive:
        archive.writestr("pip/__main__.py", PIP)
    return tmp_path / WHEEL


@pytest.fixture
def machine(tmp_path: Path, wheel: Path) -> Iterator[Machine]:
    """The machine, and an index of packages that has the wheel."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers = {"/simple/pip/": f'<a href="../../{WHEEL}#sha256=0">'.encode(), f"/{WHEEL}": wheel.read_bytes()}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answers[self.path])

    root, programs = tmp_path / "root", tmp_path / "bin"
    (root / "lab" / "cli").mkdir(parents=True)
    (root / "lab" / "cli" / "__main__.py").write_text("import sys\nprint('started', *sys.argv[1:])\n")
    shutil.copy(ROOT / "sluice", root)
    lock = f"pip==26.3 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\nzstd==1.0\n"
    (root / "requirements.lock").write_text(lock)
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).symlink_to(shutil.which(name) or "/nonexistent")
    (programs / "python3").write_text(PYTHON_WITHOUT_ENSUREPIP)
    (programs / "python3").chmod(0o755)
    with serving(Index) as url:
        environment = {"PATH": str(programs), "SLUICE_CACHE": str(root / "cache"), "PIP_INDEX_URL": f"{url}/simple"}
        yield Machine(root, environment)


def test_the_pip_of_the_lock_file_installs_the_packages_where_python_brings_none(machine: Machine) -> None:
    """Debian packs it apart. The second start installs nothing."""
    first, second = machine.sluice(), machine.sluice()

    told = "sluice: installing Python packages (once) …\n"
    assert (first.returncode, first.stdout, first.stderr) == (0, "started run\n", told)
    (environment,) = machine.environments()
    asked = (environment / "installed").read_text()
    assert asked.startswith("install --ignore-installed --quiet --no-input")
    assert asked.endswith(f"--require-hashes -r {machine.root}/requirements.lock")
    assert (second.returncode, second.stdout, second.stderr) == (0, "started run\n", "")


def test_a_pip_with_another_hash_is_not_run(machine: Machine, wheel: Path, message: MakeMessage) -> None:
    """One sentence says so, and nothing half-done stays."""
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("pip/other.py", "")

    refused = machine.sluice()

    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.splitlines() == [
        "sluice: installing Python packages (once) …",
        message("PIP_INDEX_URL", 26.3, "requirements.lock"),
        message("requirements.lock"),
    ]
    assert machine.environments() == []
