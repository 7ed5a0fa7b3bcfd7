"""What tests with real processes share: nothing that they start outlives them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack import readiness, server
from lab.stack.groups import ServerGroups
from lab.stack.jdk import JVM_OPTIONS
from lab.stack.local import LocalStack
from tests.unit.stack.three_servers import NAMES, Wanted
from tests.unit.stack.trivial_servers import has_begun, spec_of


@pytest.fixture(autouse=True)
def _no_options_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(JVM_OPTIONS, raising=False)


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """A state folder; every process that carries it as its marker is ended with the test."""
    folder = tmp_path / "state"
    yield folder
    for child in server._children.values():
        # One that has not begun yet carries no marker.
        if child.poll() is None:
            child.kill()
            child.wait(5.0)
    for process in server.marked_processes(folder):
        process.kill()
        server.wait_for_end(process, 5.0)


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Wanted:
    """Three trivial servers, ready as soon as they are started."""
    made = Wanted(tmp_path, {name: spec_of(tmp_path, name) for name in NAMES})
    monkeypatch.setattr(readiness, "POLL_S", 0.002)
    monkeypatch.setattr(
        readiness, "is_ready", lambda entry: entry.spec.name not in made.unready and has_begun(entry.pid)
    )
    return made


@pytest.fixture
def stack(marker: Path, tmp_path: Path, wanted: Wanted, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalStack]:
    """A stack of these servers."""
    made = LocalStack(marker, tmp_path / "cache", tmp_path / "project")
    monkeypatch.setattr(made, "_specs", wanted.answer)
    # Not in those of this machine.
    made.groups = ServerGroups(marker, tmp_path / "cgroup")
    yield made
    made.stop()
