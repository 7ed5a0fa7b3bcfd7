"""A release as a stranger has it: built twice to the same bytes, and the wheel installed where there is no checkout.

It is made of the last commit. Needs the network: pip fetches what Sluice depends on.
"""

import hashlib
import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab import VERSION
from lab.engines import DEFAULT
from lab.records.result import Result
from lab.stack.artifacts import ArtifactCache, read_lock
from lab.stack.local import LocalStack
from lab.stack.places import ROOT, cache_dir
from tests.integration.conftest import CAN_CUT_OFF, NOT_TRIED, OFFLINE

FILES = {
    "SHA256SUMS",
    f"sluice-{VERSION}-py3-none-any.whl",
    f"sluice-{VERSION}.tar.gz",
    f"sluice-connect-elasticsearch-{VERSION}.zip",
}
DOCUMENTS = 10_007
COMMAND_TIMEOUT_S = 420


def make_release(folder: Path, **environment: str) -> Path:
    """A release of a clone of its own, made with these variables."""
    clone, made = folder / "clone", folder / "release"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    subprocess.run(
        [sys.executable, "-m", "tools.release", str(made)],
        cwd=clone,
        env={**os.environ, **environment, "PYTHONPATH": str(clone)},
        check=True,
        timeout=COMMAND_TIMEOUT_S,
    )
    return made


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release."""
    return make_release(tmp_path_factory.mktemp("one"), TZ="UTC")


def contents(folder: Path) -> dict[str, str]:
    """File → SHA-256."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_two_releases_of_a_commit_are_the_same_bytes(release: Path, tmp_path: Path) -> None:
    """From two clones, in two time zones, with other permissions of new files."""
    before = os.umask(0o077)
    try:
        again = make_release(tmp_path, TZ="Asia/Seoul")
    finally:
        os.umask(before)

    assert contents(release).keys() == FILES
    assert contents(again) == contents(release)


def test_the_checksums_are_those_of_all_other_files(release: Path) -> None:
    """As `sha256sum --check` reads them."""
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"{name}: OK" for name in sorted(FILES - {"SHA256SUMS"})]


@pytest.fixture(scope="module")
def environment(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and with pip, which that needs."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder)
    wheel = release / f"sluice-{VERSION}-py3-none-any.whl"
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"))
    # Most modules of what it depends on are never imported: compiling them would take longer than all else.
    subprocess.run([*pip, "install", "--quiet", "--no-compile", str(wheel)], check=True)
    return folder


def members(wheel: Path) -> dict[str, bytes]:
    """What a wheel holds, beside the plugin, whose compiler may be another one, and the list of all."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("RECORD")]
        return {name: archive.read(name) for name in names if "connect/target/" not in name}


def test_the_source_makes_the_same_wheel(release: Path, environment: Path, tmp_path: Path) -> None:
    """By pip alone, which fetches the build backend that `pyproject.toml` names; the plugin is built without Maven."""
    source = release / f"sluice-{VERSION}.tar.gz"

    subprocess.run(
        [str(environment / "bin" / "pip"), "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source)],
        check=True,
    )

    (wheel,) = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as made, zipfile.ZipFile(release / wheel.name) as expected:
        assert sorted(made.namelist()) == sorted(expected.namelist())
    assert members(wheel) == members(release / wheel.name)


@dataclass(frozen=True)
class Installed:
    """The installed command in an empty folder, with servers of its own."""

    environment: Path
    folder: Path

    @property
    def state(self) -> Path:
        """Where its servers are."""
        return self.folder / "state"

    @property
    def working(self) -> Path:
        """Where it is called."""
        return self.folder / "empty"

    def __call__(self, *words: str, through: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, through a program that starts it where one is named."""
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [*through, str(self.environment / "bin" / "sluice"), *words],
            cwd=self.working,
            env=variables | {"SLUICE_STATE": str(self.state), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_TIMEOUT_S,
        )


@pytest.fixture
def sluice(environment: Path, open_folder: Callable[[], Path]) -> Iterator[Installed]:
    """The installed command."""
    installed = Installed(environment, open_folder())
    installed.working.mkdir()
    yield installed
    LocalStack(installed.state).stop()


def files_below(folder: Path) -> Mapping[Path, int]:
    """File → time of its last change; what Python compiles is left out."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_an_installed_sluice_does_the_quickstart_without_a_network(sluice: Installed) -> None:
    """Once servers are fetched. Its runs are below the working folder; nothing is built or written where it is."""
    lock = read_lock()
    ArtifactCache(cache_dir()).fetch((*lock.sets["kafka"], *lock.sets["jolokia"], *lock.sets[DEFAULT.set_name][:1]))
    before = files_below(sluice.environment)
    if not CAN_CUT_OFF:
        NOT_TRIED.append("a run without a network: cutting it off needs root")

    done = sluice("run", "quickstart", "--documents", str(DOCUMENTS), through=OFFLINE if CAN_CUT_OFF else ())

    assert (done.returncode, done.stderr) == (0, "")
    (folder,) = (sluice.working / "runs" / "quickstart").iterdir()
    result = Result.model_validate_json((folder / "result.json").read_bytes())
    assert (result.status, result.documents.indexed) == ("verified", DOCUMENTS)
    assert (folder / "report.html").is_file()
    assert "sink plugin" not in done.stdout
    assert files_below(sluice.environment) == before


@pytest.mark.parametrize("kind", ["profiles", "suites"])
def test_an_installed_sluice_has_what_a_checkout_has(sluice: Installed, kind: str) -> None:
    """All profiles and suites, by name."""
    folder = ROOT / "experiments" / kind
    names = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))
    assert [entry["name"] for entry in json.loads(sluice(kind, "--json").stdout)] == names


def test_its_version_is_that_of_the_release(sluice: Installed) -> None:
    """As the command tells it."""
    assert sluice("--version").stdout == f"sluice {VERSION}\n"


def test_nothing_but_one_package_is_installed(environment: Path) -> None:
    """No module as general as `lab` lies beside other people's."""
    (record,) = environment.glob(f"lib/*/site-packages/sluice-{VERSION}.dist-info/RECORD")
    tops = {line.partition("/")[0] for line in record.read_text().splitlines()}
    assert tops == {"..", "sluice", f"sluice-{VERSION}.dist-info"}


def test_what_needs_a_checkout_is_refused_in_a_sentence(sluice: Installed) -> None:
    """As an input that cannot be right."""
    done = sluice("test")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sluice: test: needs a checkout of Sluice, got an installed package; run it with the launcher of a checkout\n"
    )
