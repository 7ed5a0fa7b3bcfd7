"""What all unit tests share: the golden files of messages."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from lab import ROOT
from tests.unit.messages import MakeMessage, Message


@pytest.fixture
def message(snapshot: SnapshotAssertion, tmp_path: Path) -> MakeMessage:
    """Make an expected message of its facts; those with a name differ from run to run."""

    def make(*facts: object, **changing: object) -> Message:
        return Message(snapshot, (*facts, *changing.values()), {**changing, "tmp_path": tmp_path, "ROOT": ROOT})

    return make
