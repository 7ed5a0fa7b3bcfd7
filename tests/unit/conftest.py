"""What all unit tests share: the golden files of messages, and a machine that nobody else uses."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from lab import ROOT
from lab.cli import beforehand
from lab.engines import ELASTICSEARCH
from lab.stack.artifacts import read_lock
from tests.unit.messages import MakeMessage, Message

VERSIONS = ", ".join(release.version for release in read_lock().releases(ELASTICSEARCH))


@pytest.fixture
def message(snapshot: SnapshotAssertion, tmp_path: Path) -> MakeMessage:
    """Make an expected message of its facts; those with a name differ from run to run."""

    def make(*facts: object, **changing: object) -> Message:
        return Message(
            snapshot,
            (*facts, *changing.values()),
            {**changing, "tmp_path": tmp_path, "ROOT": ROOT, "versions": VERSIONS},
        )

    return make


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare commands the seconds in which they look at it."""
    monkeypatch.setattr(beforehand, "look", lambda _: None)
