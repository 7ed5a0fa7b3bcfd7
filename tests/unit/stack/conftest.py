"""What tests with real processes share: nothing that they start outlives them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.stack import server


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
