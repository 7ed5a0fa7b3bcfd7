"""`sluice test`: everything that this project is checked by."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.table import Table

from lab.cli.display import console
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

CHECKS = (
    Check("style", ("-m", "ruff", "check", ".")),
    Check("formatting", ("-m", "ruff", "format", "--check", "--quiet", ".")),
    Check("types", ("-m", "mypy")),
    Check("imports", ("-c", LINT_IMPORTS)),
    Check("unit tests", ("-m", "pytest", "tests/unit")),
    Check("integration tests", ("-m", "pytest", "tests/integration"), quick=False),
    Check("compose tests", ("-m", "pytest", "tests/compose"), quick=False),
)


def test(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Only what needs no server.")] = False,  # noqa: PT028
) -> int:
    """Run all checks: style, types, unit tests, the Java plugin's own, and integration tests on the real servers."""
    table = Table(show_header=False, show_edge=False)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    failed = False
    with ExitStack() as cleanup:
        fetching = None if quick else cleanup.enter_context(fetched_ahead(environment))
        for check in CHECKS:
            if quick and not check.quick:
                continue
            if fetching and not check.quick:
                # Servers are not measured beside it.
                with suppress(subprocess.TimeoutExpired):
                    fetching.wait(FETCH_TIMEOUT_S)
            console.rule(check.name, align="left")
            started_s = time.monotonic()
            status = subprocess.call([sys.executable, *check.arguments], cwd=ROOT, env=environment)
            failed = failed or status != 0
            outcome = "[green]passed[/green]" if status == 0 else f"[red]failed with exit status {status}[/red]"
            table.add_row(check.name, outcome, f"{time.monotonic() - started_s:.0f} s")
    console.print(table)
    return 1 if failed else 0


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
