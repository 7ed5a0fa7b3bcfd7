"""The engine, the stand-ins and the project that the compose tests share; loud where they cannot run."""

import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.compose.engine import Engine, docker_engine, with_compose
from tests.compose.images import StandIns
from tests.compose.machine import EngineMissingError

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job has Ctrl-C ignored, and would leave containers and engine when it is interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
SEEN: list[str] = []
"""What the tests have measured; printed at the end, whether they pass or not."""

MISSING: list[str] = []
"""Why there is no engine."""


@pytest.fixture(scope="session")
def prepared() -> Iterator[tuple[Engine, Mapping[str, str]]]:
    """An engine with Compose, and the settings of the images that it has; where they cannot be had, tests are skipped.

    On a fresh machine Compose is built while the images are, one of which is busy while the other waits.
    """
    try:
        with docker_engine() as found, ThreadPoolExecutor(1) as other:
            compose = other.submit(with_compose, found)
            settings = StandIns(found).settings()
            yield compose.result(), settings
    except EngineMissingError as error:
        MISSING.append(str(error))
        pytest.skip(f"no Docker engine: {error}")


@pytest.fixture(scope="session")
def engine(prepared: tuple[Engine, Mapping[str, str]]) -> Engine:
    """A Docker engine with Compose."""
    return prepared[0]


@pytest.fixture(scope="session")
def stand_ins(prepared: tuple[Engine, Mapping[str, str]]) -> Mapping[str, str]:
    """The settings that put images of our own in place of the official ones."""
    return prepared[1]


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
