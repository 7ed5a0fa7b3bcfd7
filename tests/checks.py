"""`sluice test`: everything that this project is checked by."""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from lab.console import console
from lab.stack import places
from lab.stack.jdk import JVM_OPTIONS, find_jdks
from lab.stack.places import ROOT

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as check; check()"
POLL_S = 0.2
STOP_TIMEOUT_S = 60
PASSED_FILE = ROOT / "connect" / "target" / "plugin.checked"
"""Holds the fingerprint of all that the last plugin tests that have passed have tested, and of what they ran on."""


@dataclass(frozen=True)
class Check:
    """One part of the tests: a name and a command of Python's arguments.

    Attributes:
        passed_file: Where a pass is written down, for checks of which `plugin_fingerprint` says all.
    """

    name: str
    arguments: tuple[str, ...]
    passed_file: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """How a check has ended; `before`: it was left out, as it has passed before."""

    name: str
    status: int
    seconds: float
    before: bool = False

    def __str__(self) -> str:
        """As the table shows it."""
        if self.before:
            return f"[green]passed before[/green] with the same connect/ and servers; to run it, remove {PASSED_FILE}"
        return f"[red]failed with exit status {self.status}[/red]" if self.status else "[green]passed[/green]"


PLUGIN_TESTS = "tests/integration/test_search_servers.py"
RELEASE_TESTS = "tests/integration/test_release.py"

QUICK = (
    Check("style", ("-m", "ruff", "check", ".")),
    Check("formatting", ("-m", "ruff", "format", "--check", "--quiet", ".")),
    Check("types", ("-m", "mypy", "--cache-dir", str(places.cache_dir() / "mypy"))),
    Check("imports", ("-c", LINT_IMPORTS)),
    Check("unit tests", ("-m", "pytest", "tests/unit")),
)
OTHER_TESTS = tuple(
    f"tests/integration/test_{name}.py"
    for name in (
        *("page", "page_server", "queries", "race", "remote", "suite", "tune"),
        *("deploy", "remote_guarded", "stack"),
    )
)
"""Integration tests apart, so that all lanes take about the same time; the last ones kill or restart servers."""

ON_SERVERS = ("-m", "pytest", "--durations=15", "--durations-min=10")
"""Their times are shown, so that it is seen which test costs what."""

INTEGRATION = Check(
    "integration tests",
    (
        *ON_SERVERS,
        "tests/integration",
        *(f"--ignore={path}" for path in (PLUGIN_TESTS, RELEASE_TESTS, *OTHER_TESTS)),
    ),
)
OTHERS = Check("integration tests, the others", (*ON_SERVERS, *OTHER_TESTS))
PLUGIN = Check("plugin tests", (*ON_SERVERS, PLUGIN_TESTS), PASSED_FILE)
RELEASE = Check("release tests", (*ON_SERVERS, RELEASE_TESTS))
COMPOSE = Check("compose tests", (*ON_SERVERS, "tests/compose"))

LANES = ((*QUICK, PLUGIN), (INTEGRATION,), (RELEASE, COMPOSE, OTHERS))
"""The last two wait for servers a third of the time, and none judges how fast they are."""


def test(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Only what needs no server.")] = False,  # noqa: PT028
    everything: Annotated[bool, typer.Option("--all", help="Also the tests that take longest.")] = False,  # noqa: PT028
) -> int:
    """Run the checks of this project: style, types, unit, plugin, integration and container tests."""
    chosen = {"PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} -m ''"} if everything else {}
    outcomes = in_lanes([QUICK] if quick else LANES, {**os.environ, "PYTHONPATH": str(ROOT), **chosen})
    table = Table(show_header=False, show_edge=False)
    for outcome in outcomes:
        table.add_row(outcome.name, str(outcome), f"{outcome.seconds:.0f} s")
    console.print(table)
    return 1 if any(outcome.status for outcome in outcomes) else 0


def in_lanes(lanes: Sequence[Sequence[Check]], environment: Mapping[str, str]) -> list[Outcome]:
    """Run the checks of each lane one after the other, the lanes at the same time; outcomes as checks end."""
    outcomes: list[Outcome] = []
    processes: list[subprocess.Popen[bytes]] = []
    with ExitStack() as cleanup:
        status = cleanup.enter_context(console.status(""))
        running = [cleanup.enter_context(closing(run_lane(lane, environment, outcomes, processes))) for lane in lanes]
        # Before the lanes wait, each for its own: all are told at once.
        cleanup.callback(interrupt_all, processes)
        while at_work := [(lane, name) for lane in running if (name := next(lane, None))]:
            running = [lane for lane, _ in at_work]
            status.update(", ".join(name for _, name in at_work))
            time.sleep(POLL_S)
    return outcomes


def interrupt_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Interrupt checks that still run, with all that is in their process groups, as Ctrl-C on a terminal does.

    SIGTERM, which a CI service sends, reaches this process alone.
    """
    for process in processes:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)


def run_lane(
    lane: Sequence[Check],
    environment: Mapping[str, str],
    outcomes: list[Outcome],
    processes: list[subprocess.Popen[bytes]],
) -> Generator[str, None, None]:
    """Run checks into `outcomes`, each by one of `processes`; yields the name of the one that is at work."""
    for check in lane:
        made_from = plugin_fingerprint() if check.passed_file else ""
        if check.passed_file and check.passed_file.is_file() and check.passed_file.read_text() == made_from:
            outcomes.append(Outcome(check.name, 0, 0, before=True))
            continue
        started_s = time.monotonic()
        with started(check, environment) as process:
            processes.append(process)
            while process.poll() is None:
                yield check.name
        outcomes.append(Outcome(check.name, process.returncode, time.monotonic() - started_s))
        if check.passed_file and not process.returncode:
            check.passed_file.parent.mkdir(parents=True, exist_ok=True)
            check.passed_file.write_text(made_from)


@contextmanager
def started(check: Check, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A check that runs; what it says is shown in one piece when it is over.

    Where nobody waits for its result, it still has time to stop what it started. It has a process group of its own:
    Ctrl-C reaches it by this process, and once.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, *check.arguments],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
            process_group=0,
        )
        try:
            yield process
        finally:
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            console.rule(check.name, align="left")
            output.seek(0)
            console.out(output.read().decode(errors="replace"), end="", highlight=False)


def plugin_fingerprint() -> str:
    """A hash of the plugin and its tests, of the servers and how they are started, and of this machine's JDKs."""
    connect = ROOT / "connect"
    files = [path for path in connect.rglob("*") if path.is_file() and "target" not in path.relative_to(connect).parts]
    files += [path for path in Path(places.__file__).parent.iterdir() if path.is_file()]
    files += [
        *(ROOT / "tests" / "integration").glob("*search*.py"),
        ROOT / "tests" / "integration" / "conftest.py",
    ]
    files += [ROOT / "requirements-test.lock"]
    digest = hashlib.sha256(repr((sorted(map(str, find_jdks())), os.environ.get(JVM_OPTIONS))).encode())
    for path in sorted(files):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
