"""`sluice test`: everything that this project is checked by."""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated

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

QUICK = (
    Check("style", ("-m", "ruff", "check", ".")),
    Check("formatting", ("-m", "ruff", "format", "--check", "--quiet", ".")),
    Check("types", ("-m", "mypy")),
    Check("imports", ("-c", LINT_IMPORTS)),
    Check("unit tests", ("-m", "pytest", "tests/unit")),
)
INTEGRATION = Check(
    "integration tests", ("-m", "pytest", "tests/integration", "--durations=15", f"--ignore={PLUGIN_TESTS}")
)
PLUGIN = Check("plugin tests", ("-m", "pytest", PLUGIN_TESTS), PASSED_FILE)
COMPOSE = Check("compose tests", ("-m", "pytest", "tests/compose"))
FETCHED_AHEAD = Check("fetching for the compose tests", ("-m", "tests.compose", "fetch"))
"""Waits for the network while checks run that wait for a processor; what fails here fails in the compose tests."""


def test(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Only what needs no server.")] = False,  # noqa: PT028
) -> int:
    """Run all checks: style, types, unit tests, the Java plugin's own, integration tests, and the containers' tests."""
    lanes = [QUICK] if quick else [(*QUICK, INTEGRATION), (PLUGIN, COMPOSE), (FETCHED_AHEAD,)]
    outcomes = in_lanes(lanes, {**os.environ, "PYTHONPATH": str(ROOT)})
    counted = [outcome for outcome in outcomes if outcome.name != FETCHED_AHEAD.name]
    table = Table(show_header=False, show_edge=False)
    for outcome in counted:
        table.add_row(outcome.name, str(outcome), f"{outcome.seconds:.0f} s")
    console.print(table)
    return 1 if any(outcome.status for outcome in counted) else 0


def in_lanes(lanes: Sequence[Sequence[Check]], environment: Mapping[str, str]) -> list[Outcome]:
    """Run the checks of each lane one after the other, the lanes at the same time.

    The first lane is seen as it goes; what the others say, when all are over.
    """
    outcomes: list[Outcome] = []
    with ExitStack() as cleanup:
        outputs = [cleanup.enter_context(tempfile.TemporaryFile()) for _ in lanes[1:]]
        running = [
            cleanup.enter_context(closing(run_lane(lane, environment, output, outcomes)))
            for lane, output in zip(lanes, (None, *outputs), strict=True)
        ]
        while running := [lane for lane in running if next(lane, False)]:
            time.sleep(POLL_S)
        for output in outputs:
            output.seek(0)
            sys.stdout.buffer.write(output.read())
            sys.stdout.buffer.flush()
    return outcomes


def run_lane(
    lane: Sequence[Check], environment: Mapping[str, str], output: IO[bytes] | None, outcomes: list[Outcome]
) -> Generator[bool, None, None]:
    """Run checks into `outcomes`; yields while one of them is at work."""
    for check in lane:
        made_from = plugin_fingerprint() if check.passed_file else ""
        if check.passed_file and check.passed_file.is_file() and check.passed_file.read_text() == made_from:
            outcomes.append(Outcome(check.name, 0, 0, before=True))
            continue
        if output is None:
            console.rule(check.name, align="left")
        else:
            output.write(f"── {check.name}\n".encode())
            output.flush()
        started_s = time.monotonic()
        with started(check, environment, output) as process:
            while process.poll() is None:
                yield True
        outcomes.append(Outcome(check.name, process.returncode, time.monotonic() - started_s))
        if check.passed_file and not process.returncode:
            check.passed_file.parent.mkdir(parents=True, exist_ok=True)
            check.passed_file.write_text(made_from)


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


def plugin_fingerprint() -> str:
    """A hash of the plugin and its tests, of the servers and how they are started, and of this machine's JDKs."""
    connect = ROOT / "connect"
    files = [path for path in connect.rglob("*") if path.is_file() and "target" not in path.relative_to(connect).parts]
    files += [path for path in Path(places.__file__).parent.iterdir() if path.is_file()]
    files += [
        *(ROOT / "tests" / "integration").glob("*search_servers.py"),
        ROOT / "tests" / "integration" / "conftest.py",
    ]
    files += [ROOT / "requirements-test.lock"]
    digest = hashlib.sha256(repr((sorted(map(str, find_jdks())), os.environ.get(JVM_OPTIONS))).encode())
    for path in sorted(files):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
