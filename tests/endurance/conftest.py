"""Tests that take minutes: `pytest tests/endurance --minutes 10`; without `--minutes` they are skipped."""

import pytest

from tests.integration.conftest import open_folder, own_sluice

__all__ = ["open_folder", "own_sluice"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long, and which course of events."""
    parser.addoption("--minutes", type=float, default=None, help="how long servers are killed")
    parser.addoption("--seed", type=int, default=1, help="which servers are killed, when, and which keys are sent")


def option(config: pytest.Config, name: str) -> float | None:
    """The value of an option, which does not exist when the tests were started from a folder above."""
    value: float | None = config.getoption(name, default=None)
    return value


@pytest.fixture
def minutes(request: pytest.FixtureRequest) -> float:
    """How long servers are killed."""
    value = option(request.config, "--minutes")
    if value is None:
        pytest.skip("takes as many minutes as `pytest tests/endurance --minutes N` says")
    return value


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Which course of events."""
    return int(option(request.config, "--seed") or 1)
