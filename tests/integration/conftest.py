"""The real servers, started once per test session, and the launcher as a user calls it."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

import httpx
import orjson
import psutil
import pytest

from lab.endpoints import Endpoints
from lab.records.result import Result
from lab.stack.jdk import JVM_OPTIONS
from lab.stack.local import LocalStack
from lab.stack.metrics_agent import USER
from lab.stack.places import cache_dir
from lab.stack.server import marked_processes
from lab.stack.shape import StackShape
from tests.integration.warm_launcher import Finished, WarmLauncher

pytest.register_assert_rewrite("tests.integration.keyed_drain", "tests.integration.sink_connector")

ROOT = Path(__file__).resolve().parents[2]
COMMAND_TIMEOUT_S = 420
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job has Ctrl-C ignored, and so would every command that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
STARTED: list[subprocess.Popen[str]] = []
"""Commands of the test under way that nobody has waited for."""
FRUGAL_JVM = "-XX:TieredStopAtLevel=1 -XX:-UseG1GC -XX:+UseSerialGC -XX:-AlwaysPreTouch"
"""No test here judges how fast a server is: young ones spend half of their time on compiling, and the collector's
threads and pages that nobody needs cost the other servers' time."""

OFFLINE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
"""Starts a command in a network namespace that has nothing but its own loopback."""
CAN_CUT_OFF = os.geteuid() == 0 and shutil.which("unshare") is not None
"""Cutting the network off needs root."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one shape of the servers come one after the other, the usual shape first: none is started twice."""
    items.sort(key=lambda item: [str(marker.args[0]) for marker in item.iter_markers("shape")])


LAUNCHED: set[str] = set()
"""Commands that the launcher has started once in this session."""


class Sluice:
    """Calls `./sluice` against one state folder, its runs in one folder.

    Each command's first call is by the launcher itself, as a user's; further ones need no interpreter of their own.

    Attributes:
        begun: What `up` has said, where it has started the servers.
    """

    def __init__(self, state: Path, runs: Path) -> None:
        self.state = state
        self.runs = runs
        self.begun = Finished(0, "", "")
        self.stack = LocalStack(state)

    @property
    def environment(self) -> dict[str, str]:
        """What the command sees: a terminal of 200 columns, this state folder."""
        return {**os.environ, "SLUICE_STATE": str(self.state), "COLUMNS": "200"}

    def __call__(self, *arguments: str, through: Sequence[str] = ()) -> Finished:
        """Run a command to its end, through a program that starts it where one is named."""
        return finished(arguments, self.environment, through)

    def start(self, *arguments: str, errors: int | IO[str] = subprocess.STDOUT) -> subprocess.Popen[str]:
        """Start a command and leave it running; it does not outlive its test."""
        process = subprocess.Popen(
            [str(ROOT / "sluice"), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        STARTED.append(process)
        return process

    def run(self, *arguments: str) -> Finished:
        """`sluice run`, its records in the session's folder; it need not wait until the size on disk is known anew."""
        return self("run", *arguments, "--runs", str(self.runs))

    def latest(self) -> Path:
        """The folder of the last run."""
        return (self.runs / "latest").resolve()

    def result(self) -> Result:
        """The result of the last run."""
        return Result.model_validate_json((self.latest() / "result.json").read_bytes())

    def processes(self) -> list[psutil.Process]:
        """Every server process that belongs to this state folder, known or not."""
        return list(marked_processes(self.state))


def finished(arguments: Sequence[str], environment: Mapping[str, str], through: Sequence[str] = ()) -> Finished:
    """Run a command to its end."""
    if not through and arguments[0] in LAUNCHED:
        return warm_launcher()(tuple(arguments), environment, COMMAND_TIMEOUT_S)
    LAUNCHED.add(arguments[0])
    done = subprocess.run(
        [*through, str(ROOT / "sluice"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@cache
def warm_launcher() -> WarmLauncher:
    """The one of this session, in the environment that the launcher chooses."""
    lock = (ROOT / "requirements.lock").read_bytes()
    environments = (cache_dir() / "python").glob("requirements-[0-9]*")
    chosen = next(each for each in environments if (each / "stamp").exists() and (each / "lock").read_bytes() == lock)
    path = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "", "SLUICE_CACHE": str(cache_dir())}
    made = WarmLauncher(chosen / "bin" / "python", path)
    atexit.register(made.end)
    return made


@pytest.fixture(scope="session", autouse=True)
def _frugal_servers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(JVM_OPTIONS, os.environ.get(JVM_OPTIONS, FRUGAL_JVM))
        yield


@pytest.fixture(scope="session", autouse=True)
def _python_packages() -> None:
    """What the launcher installs on its first call is installed, so that no test sees it at work."""
    subprocess.run([str(ROOT / "sluice"), "--help"], check=True, capture_output=True, timeout=COMMAND_TIMEOUT_S)


@pytest.fixture(autouse=True)
def _no_command_outlives_its_test() -> Iterator[None]:
    """One that a failed test has left would hold the servers, or wait for its output to be read for ever."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)


@pytest.fixture
def open_folder() -> Iterator[Callable[[], Path]]:
    """Makes temporary folders that Elasticsearch's unprivileged user may enter, which pytest's own are not."""
    folders: list[Path] = []

    def make() -> Path:
        folder = Path(tempfile.mkdtemp(prefix="sluice-test-"))
        folder.chmod(0o755)
        folders.append(folder)
        return folder

    yield make
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sluice() -> Iterator[Sluice]:
    """The launcher, with servers that `up` has started and that stay for the whole session."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-session-"))
    folder.chmod(0o755)
    launcher = Sluice(folder / "state", folder / "runs")
    try:
        launcher.begun = launcher("up")
        assert (launcher.begun.status, launcher.begun.errors) == (0, "")
        yield launcher
    finally:
        launcher.stack.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def own_sluice(open_folder: Callable[[], Path]) -> Iterator[Sluice]:
    """The launcher with a state folder of its own, where nothing runs."""
    folder = open_folder()
    launcher = Sluice(folder / "state", folder / "runs")
    yield launcher
    launcher.stack.stop()


@pytest.fixture
def driver(open_folder: Callable[[], Path]) -> Iterator[Sluice]:
    """The launcher on another machine, as it were: with no servers, and a state folder of its own."""
    folder = open_folder()
    launcher = Sluice(folder / "state", folder / "runs")
    yield launcher
    assert launcher.processes() == []


@pytest.fixture
def elasticsearch(sluice: Sluice) -> Iterator[httpx.Client]:
    """The session's Elasticsearch."""
    sluice.stack.ensure(StackShape(), kept=True)
    with httpx.Client(base_url=sluice.stack.endpoints().elasticsearch_urls[0], timeout=30) as client:
        yield client


def target_file(path: Path, there: Endpoints) -> Path:
    """The path, at which a file then describes these servers; beside it, the password of the worker's metrics."""
    (secret,) = there.access.secrets
    password = path.with_suffix(".password")
    password.write_text(secret)
    path.write_text(
        f"kafka: {{bootstrap_servers: '{there.kafka_bootstrap}'}}\n"
        f"connect: {{url: '{there.connect_url}'}}\n"
        f"elasticsearch: {{urls: ['{there.elasticsearch_urls[0]}']}}\n"
        f"metrics: {{url: '{there.metrics_url}', username: {USER}, password: {{file: {password.name}}}}}\n"
    )
    return path


@pytest.fixture
def open_target(sluice: Sluice, elasticsearch: httpx.Client, tmp_path: Path) -> Path:  # noqa: ARG001 - it is running
    """A file that describes the session's servers."""
    return target_file(tmp_path / "target.yaml", sluice.stack.endpoints())


def write_ndjson(path: Path, documents: list[Mapping[str, object]]) -> Path:
    """An NDJSON file of these documents."""
    path.write_bytes(b"".join(orjson.dumps(document) + b"\n" for document in documents))
    return path


def on(target: Path) -> tuple[str, ...]:
    """The options that lead to these servers."""
    return ("--target", "remote", "--target-file", str(target))


NOT_TRIED: list[str] = []
"""What could not be tried on this machine, and why."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say so, that nobody takes a skip for a pass."""
    if NOT_TRIED:
        terminalreporter.section("NOT TRIED", sep="!", red=True, bold=True)
        for reason in dict.fromkeys(NOT_TRIED):
            terminalreporter.line(reason)
