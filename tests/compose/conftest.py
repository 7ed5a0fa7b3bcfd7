"""The engine, the stand-ins and the project that the compose tests share; loud where they cannot run."""

from collections.abc import Iterator, Mapping

import pytest

from tests.compose.engine import Engine, docker_engine
from tests.compose.images import StandIns
from tests.compose.machine import EngineMissingError

SEEN: list[str] = []
"""What the tests have measured; printed at the end, whether they pass or not."""

MISSING: list[str] = []
"""Why there is no engine."""


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A Docker engine with Compose; without one, every test that needs it is skipped."""
    try:
        with docker_engine() as found:
            yield found
    except EngineMissingError as error:
        MISSING.append(str(error))
        pytest.skip(f"no Docker engine: {error}")


@pytest.fixture(scope="session")
def stand_ins(engine: Engine) -> Mapping[str, str]:
    """The settings that put images of our own in place of the official ones, which are built if need be."""
    try:
        return StandIns(engine).settings()
    except EngineMissingError as error:
        MISSING.append(str(error))
        pytest.skip(f"no images: {error}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was measured and, so that nobody takes a skip for a pass, what was not tried."""
    if MISSING:
        terminalreporter.section("DOCKER COMPOSE WAS NOT TRIED", sep="!", red=True, bold=True)
        for reason in dict.fromkeys(MISSING):
            terminalreporter.line(reason)
    if SEEN:
        terminalreporter.section("docker compose: what was seen", sep="-")
        for line in SEEN:
            terminalreporter.line(line)
