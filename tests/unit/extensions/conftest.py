"""The example's package as pip installs it, and packages that are made up for one test."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.stack.places import ROOT
from producers.extensions import FOLDERS

EXAMPLE = ROOT / "examples" / "extension"
Install = Callable[..., None]


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip has installed the example into, with the locked build backend and without a network."""
    source, folder = tmp_path_factory.mktemp("source") / "extension", tmp_path_factory.mktemp("extensions")
    shutil.copytree(EXAMPLE, source)
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    pip = (sys.executable, "-P", "-m", "pip", "install", *options, "--target", folder, source)
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def _own_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports is gone after it."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv(FOLDERS, raising=False)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("sluice_example", "made_up")):
            del sys.modules[name]


@pytest.fixture
def example(example_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, installed."""
    monkeypatch.setenv(FOLDERS, str(example_folder))
    return example_folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs packages with one entry point each: group, name and the text of the module, whose `THING` it is."""
    monkeypatch.setenv(FOLDERS, str(tmp_path / "installed"))

    def installed(group: str, name: str, text: str, *, package: str = "made-up", folder: Path | None = None) -> None:
        module = package.replace("-", "_")
        into = folder or tmp_path / "installed"
        information = into / f"{module}-1.0.dist-info"
        information.mkdir(parents=True)
        (into / f"{module}.py").write_text(text, "utf-8")
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
        (information / "entry_points.txt").write_text(f"[sluice.{group}]\n{name} = {module}:THING\n", "utf-8")

    return installed
