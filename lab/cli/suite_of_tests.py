"""`sluice test`: everything that this project is checked by."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Annotated

import typer
from rich.table import Table

from lab.console import console
from lab.stack.places import ROOT

LINT_IMPORTS = "from importlinter.cli import lint_imports_command as check; check()"


@dataclass(frozen=True)
class Check:
    """One part of the tests: a name and a command of Python's arguments."""

    name: str
    arguments: tuple[str, ...]
    quick: bool = True


FETCHED_AHEAD = ("-m", "tests.compose", "fetch")
"""What the compose tests need is fetched while checks run that need no server; what fails here fails there again."""
FETCH_TIMEOUT_S = 600
POLL_S = 0.2
STOP_TIMEOUT_S = 60

OF_THE_PLUGIN = ("tests/integration/test_plugin.py", "tests/integration/test_search_servers.py")
"""They share Maven's folder: one after the other, behind the compose tests, which take half as long as the rest."""

CHECKS = (
    Check("style", ("-m", "ruff", "check", ".")),
    Check("formatting", ("-m", "ruff", "format", "--check", "--quiet", ".")),
    Check("types", ("-m", "mypy")),
    Check("imports", ("-c", LINT_IMPORTS)),
    Check("unit tests", ("-m", "pytest", "tests/unit")),
    Check(
        "integration tests",
        ("-m", "pytest", "tests/integration", "--durations=15", *(f"--ignore={path}" for path in OF_THE_PLUGIN)),
        quick=False,
    ),
    Check("compose and plugin tests", ("-m", "pytest", "tests/compose", *OF_THE_PLUGIN), quick=False),
)


def test(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Only what needs no server.")] = False,  # noqa: PT028
) -> int:
    """Run all checks: style, types, unit tests, the Java plugin's own, integration tests, and the containers' tests."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    outcomes: list[Outcome] = []
    with ExitStack() as cleanup:
        fetching = None if quick else cleanup.enter_context(fetched_ahead(environment))
        for check in CHECKS:
            if check.quick:
                outcomes += side_by_side([check], environment)
        if fetching:
            with suppress(subprocess.TimeoutExpired):
                fetching.wait(FETCH_TIMEOUT_S)
            # Both wait for servers most of the time, and neither judges how fast they are.
            outcomes += side_by_side([check for check in CHECKS if not check.quick], environment)
    table = Table(show_header=False, show_edge=False)
    for outcome in outcomes:
        said = f"[red]failed with exit status {outcome.status}[/red]" if outcome.status else "[green]passed[/green]"
        table.add_row(outcome.name, said, f"{outcome.seconds:.0f} s")
    console.print(table)
    return 1 if any(outcome.status for outcome in outcomes) else 0


@dataclass(frozen=True)
class Outcome:
    """How a check has ended."""

    name: str
    status: int
    seconds: float


def side_by_side(checks: Sequence[Check], environment: Mapping[str, str]) -> list[Outcome]:
    """Run checks at the same time; the first one is seen as it goes, what the others say when all are over."""
    with ExitStack() as cleanup:
        console.rule(" and ".join(check.name for check in checks), align="left")
        outputs = [None, *(cleanup.enter_context(tempfile.TemporaryFile()) for _ in checks[1:])]
        processes = [
            cleanup.enter_context(started(check, environment, output))
            for check, output in zip(checks, outputs, strict=True)
        ]
        seconds = seconds_until_over(processes)
        for check, output in zip(checks, outputs, strict=True):
            if output is not None:
                console.rule(check.name, align="left")
                output.seek(0)
                sys.stdout.buffer.write(output.read())
                sys.stdout.buffer.flush()
    return [
        Outcome(check.name, process.returncode, took)
        for check, process, took in zip(checks, processes, seconds, strict=True)
    ]


@contextmanager
def started(
    check: Check, environment: Mapping[str, str], output: IO[bytes] | None
) -> Iterator[subprocess.Popen[bytes]]:
    """A check that runs; where nobody waits for its result, it still has time to stop what it started."""
    process = subprocess.Popen(
        [sys.executable, *check.arguments], cwd=ROOT, env=environment, stdout=output, stderr=output
    )
    try:
        yield process
    finally:
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def seconds_until_over(processes: Sequence[subprocess.Popen[bytes]]) -> list[float]:
    """Wait for all; how long each one took."""
    started_s = time.monotonic()
    took: dict[int, float] = {}
    while len(took) < len(processes):
        for process in processes:
            if process.pid not in took and process.poll() is not None:
                took[process.pid] = time.monotonic() - started_s
        time.sleep(POLL_S)
    return [took[process.pid] for process in processes]


@contextmanager
def fetched_ahead(environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Fetch for the compose tests beside the checks; what is still at it in the end is stopped."""
    command = [sys.executable, *FETCHED_AHEAD]
    quiet = subprocess.DEVNULL
    fetching = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        yield fetching
    finally:
        if fetching.poll() is None:
            os.killpg(fetching.pid, signal.SIGTERM)
            fetching.wait()
