"""Samples of documents as a test has them."""

from pathlib import Path

import pytest

from tests.unit.mapping.sampled import Sampled


@pytest.fixture
def sampled(tmp_path: Path) -> Sampled:
    """Makes a file of documents, and a sample of it."""
    return Sampled(tmp_path / "books.ndjson")
