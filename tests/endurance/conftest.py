"""Tests that take minutes or hours, or what not every machine has; each is skipped without its option.

pytest tests/endurance --minutes 10              # servers are killed during a stream
pytest tests/endurance --minutes 10 --second-node  # likewise, and one node of two is dead half of the time
pytest tests/endurance --faults 60               # each part of a cluster is killed, cut off and paused
pytest tests/endurance --deaths 50 --seed 1      # commands are killed at random moments, and run out of disk
pytest tests/endurance --soak 60                 # a stream of updates and deletes; what grows meanwhile?
pytest tests/endurance --drain 10000000          # does a drain slow down?
pytest tests/endurance --metricbeat PATH         # the real Metricbeat against our sampler
pytest tests/endurance --prometheus PATH         # a real Prometheus against our sampler
pytest tests/endurance --page-blocks 5           # what does the live page cost?
pytest tests/endurance --api-server FOLDER       # does a real API server take deploy/kubernetes?
pytest tests/endurance --container-memory 5      # what does each container take of its memory limit?
"""

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from tests.compose.conftest import engine, prepared, stand_ins
from tests.integration.conftest import _no_command_outlives_its_test, open_folder, own_sluice

__all__ = ["_no_command_outlives_its_test", "engine", "open_folder", "own_sluice", "prepared", "stand_ins"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long, which course of events, and where reports go."""
    parser.addoption("--minutes", type=float, default=None, help="how long servers are killed")
    parser.addoption("--second-node", action="store_true", help="a second node, which is dead half of the time")
    parser.addoption("--deaths", type=int, metavar="N", help="how many commands are killed, or run out of disk")
    parser.addoption("--faults", type=float, default=None, help="seconds that each fault of the cluster lasts")
    parser.addoption("--faults-for", type=float, default=600, help="minutes after which no further fault begins")
    parser.addoption("--only", default="", help="of those the ones with all of these words, such as worker,cut/pause")
    parser.addoption("--pairs", type=int, default=5, help="how many times two parts fail at once")
    parser.addoption("--seed", type=int, default=1, help="which servers are killed, when, and which keys are sent")
    parser.addoption("--soak", type=minutes_of_soak, metavar="MINUTES", help="how long the soak streams")
    parser.addoption(
        "--rate", type=int, metavar="RECORDS_PER_S", help="the rate of the soak; default: 70 % of the limit"
    )
    parser.addoption("--drain", type=documents_of_drain, metavar="DOCUMENTS", help="how many documents are drained")
    parser.addoption("--page-blocks", type=int, metavar="N", help="how many blocks of runs, watched and not")
    parser.addoption("--metricbeat", type=program, metavar="PATH", help="a Metricbeat, such as 7.17.29")
    parser.addoption("--prometheus", type=program, metavar="PATH", help="a Prometheus, such as Debian's 2.42.0")
    parser.addoption("--api-server", type=Path, metavar="FOLDER", help="what tools/api_server.py has built")
    parser.addoption("--container-memory", type=float, metavar="MINUTES", help="how long containers are under load")
    parser.addoption("--report", type=Path, metavar="FOLDER", help="where reports go; default: a temporary folder")


def minutes_of_soak(text: str) -> float:
    """Minutes, enough for slopes: the heap is read once a minute."""
    if not text.replace(".", "", 1).isdigit() or float(text) < 5:
        raise argparse.ArgumentTypeError(f"got {text}, expected 5 minutes or more")
    return float(text)


def documents_of_drain(text: str) -> int:
    """Documents, enough for tenths that last some seconds."""
    if not text.isdigit() or int(text) < 1_000_000:
        raise argparse.ArgumentTypeError(f"got {text}, expected 1000000 documents or more")
    return int(text)


def program(text: str) -> Path:
    """A program that can be run."""
    if not Path(text).is_file() or not os.access(text, os.X_OK):
        raise argparse.ArgumentTypeError(f"got {text}, expected a program that can be run")
    return Path(text).resolve()


def option(request: pytest.FixtureRequest, name: str) -> Any:
    """The value of an option; `None`, too, where tests were started from a folder above, which knows none of them."""
    return request.config.getoption(name, default=None)


def wanted(request: pytest.FixtureRequest, name: str, words: str) -> Any:
    """The value of an option that a test cannot do without.

    Args:
        words: What stands after the option, for whoever reads why the test was skipped.
    """
    value = option(request, name)
    if value is None:
        pytest.skip(f"only by hand: pytest tests/endurance {name} {words}")
    return value


@pytest.fixture
def minutes(request: pytest.FixtureRequest) -> float:
    """How long servers are killed."""
    return float(wanted(request, "--minutes", "10"))


@pytest.fixture
def data_nodes(request: pytest.FixtureRequest) -> int:
    """One node, or two of which the second is dead half of the time."""
    return 2 if option(request, "--second-node") else 1


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """How many commands are killed."""
    return int(wanted(request, "--deaths", "50"))


@pytest.fixture
def soak_minutes(request: pytest.FixtureRequest) -> float:
    """How long the soak streams."""
    return float(wanted(request, "--soak", "60"))


@pytest.fixture
def soak_rate(request: pytest.FixtureRequest) -> int | None:
    """Records per second of the soak; `None` for 70 % of what the sink takes."""
    value: int | None = option(request, "--rate")
    return value


@pytest.fixture
def drain_documents(request: pytest.FixtureRequest) -> int:
    """How many documents are drained."""
    return int(wanted(request, "--drain", "10000000"))


@pytest.fixture
def page_blocks(request: pytest.FixtureRequest) -> int:
    """How many blocks of runs measure the page."""
    return int(wanted(request, "--page-blocks", "5"))


@pytest.fixture
def metricbeat(request: pytest.FixtureRequest) -> Path:
    """The program."""
    return Path(wanted(request, "--metricbeat", "PATH (docs/kibana.md says how to build one)"))


@pytest.fixture
def prometheus(request: pytest.FixtureRequest) -> Path:
    """The program."""
    return Path(wanted(request, "--prometheus", "PATH (apt-get download prometheus, and dpkg -x)"))


@pytest.fixture(scope="session")
def api_server_programs(request: pytest.FixtureRequest) -> Path:
    """The folder with Kubernetes' API server, etcd and the operators' definitions."""
    folder = Path(wanted(request, "--api-server", "FOLDER (python -m tools.api_server FOLDER makes one)"))
    return folder.resolve()


@pytest.fixture
def report(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder for what a test has found."""
    folder = Path(option(request, "--report") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def fault_s(request: pytest.FixtureRequest) -> float:
    """How long each fault of the cluster lasts, in seconds."""
    return float(wanted(request, "--faults", "60"))


@pytest.fixture
def memory_minutes(request: pytest.FixtureRequest) -> float:
    """How long the containers are under load."""
    return float(wanted(request, "--container-memory", "5"))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Which course of events."""
    return int(option(request, "--seed") or 1)
