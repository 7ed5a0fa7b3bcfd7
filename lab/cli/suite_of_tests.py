"""`sluice test`: everything that this project is checked by."""

import os
import subprocess
import sys
import time
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
    failed = False
    for check in CHECKS:
        if quick and not check.quick:
            continue
        console.rule(check.name, align="left")
        started_s = time.monotonic()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        status = subprocess.call([sys.executable, *check.arguments], cwd=ROOT, env=environment)
        failed = failed or status != 0
        outcome = "[green]passed[/green]" if status == 0 else f"[red]failed with exit status {status}[/red]"
        table.add_row(check.name, outcome, f"{time.monotonic() - started_s:.0f} s")
    console.print(table)
    return 1 if failed else 0
