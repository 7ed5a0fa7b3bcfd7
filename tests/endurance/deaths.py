"""Commands that are killed, and what must be so afterwards."""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from lab.analysis.folder import read_run
from lab.analysis.suite.folder import read_plan, read_runs, read_suite
from lab.analysis.tune.folder import read_tune_plan
from lab.errors import ProfileError
from lab.identity import marked
from lab.page.history import History
from lab.page.serve import KEPT_OF
from lab.page.tree import RunTree
from lab.records.progress import Progress
from lab.records.result import Result
from lab.stack.jdk import JVM_OPTIONS
from lab.stack.local import LocalStack
from lab.stack.server import marked_processes
from tests.integration.conftest import FRUGAL_JVM, ROOT

ENDS_WITHIN_S = 600
SMALL = ("--set", "dataset.documents=3011", "--set", "elasticsearch.heap_mb=512")
BOOKS = "".join(f'{{"isbn":"{number}","title":"the {number} of the rings"}}\n' for number in range(101))
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", JVM_OPTIONS: FRUGAL_JVM}
DOCUMENTED = {0, 2, 3, 4, 5, 130}
WITH_RUNS = {"run", "suite", "race", "tune", "report", "runs", "compare", "page"}


@dataclass(frozen=True)
class Command:
    """A command that is killed.

    Attributes:
        usual_s: About what it takes; it is killed within that, or asked to end then.
        changes: How many changes below its folders it makes at least.
    """

    words: tuple[str, ...]
    usual_s: float
    weight: float
    changes: int


KILLED = (
    Command(("up", "--heap-mb", "512"), 25, 8, 60),
    Command(("up", "--heap-mb", "512", "--page"), 25, 4, 60),
    Command(("page",), 6, 1, 2),
    Command(("run", "quickstart", *SMALL), 30, 12, 60),
    Command(("suite", "a-a", "--repeats", "1", *SMALL), 60, 3, 200),
    Command(("race", "quickstart", "--minutes", "2", "--set", "sink.config.batch.size=500,2000", *SMALL), 60, 3, 200),
    Command(("tune", "quickstart", "--minutes", "10", *SMALL), 60, 2, 200),
    Command(("report", "latest"), 5, 5, 8),
    Command(("init", "books.ndjson"), 3, 3, 12),
    Command(("mapping", "infer", "books.ndjson", "--no-check", "--out", "mappings/inferred.json"), 3, 3, 6),
    Command(("runs",), 3, 1, 1),
    Command(("restart", "kafka"), 6, 2, 6),
    Command(("down",), 4, 4, 4),
    Command(("clean",), 5, 4, 12),
)
NEXT = (
    (("run", "quickstart", *SMALL), {0}),
    (("status",), {0, 3}),
    (("report", "latest"), {0, 2}),
    (("down",), {0}),
    (("up", "--heap-mb", "512"), {0}),
    (("runs",), {0, 2}),
    (("clean",), {0}),
    (("compare", "latest", "latest"), {0, 2}),
    (("dead-letters", "show", "quickstart"), {0, 2, 3}),
    (("tune", "--plan", "quickstart"), {0}),
    (("suite", "a-a", "--resume", *SMALL), {0, 2}),
)
"""Each with the exit statuses that it may have: 2 where no run has come to its end yet, 3 where no servers run."""


@dataclass
class Bed:
    """The folders of a user, with files of his own in each place where Sluice writes.

    Attributes:
        log: What happened, line by line.
    """

    folder: Path
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state, self.runs, self.work = (self.folder / name for name in ("state", "runs", "work"))
        self.work.mkdir()
        self.runs.mkdir()
        self.own = {
            self.work / "books.ndjson": BOOKS,
            self.work / "thesis.tex": "mine",
            self.runs / "notes.txt": "mine",
        }
        for path, text in self.own.items():
            path.write_text(text)
        self.stack = LocalStack(self.state)

    def started(self, words: Sequence[str], *, dies_at: int | None = None) -> subprocess.Popen[str]:
        """A command, its output in a file that nobody has to read meanwhile."""
        program = ["-m", "lab.cli"] if dies_at is None else ["-m", "tests.dying", str(self.folder), str(dies_at)]
        options = ["--runs", str(self.runs)] if words[0] in WITH_RUNS else []
        output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        process = subprocess.Popen(
            [sys.executable, *program, *words, *options],
            cwd=self.work,
            env={**os.environ, "SLUICE_STATE": str(self.state), **ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        )
        process.stdout = output
        return process

    def run(self, words: Sequence[str]) -> tuple[int, str]:
        """Exit status and output of a command that nobody kills."""
        return ended(self.started(words))

    # --- what must be so ---

    def check(self) -> None:
        """Every record is whole, and what is the user's is his."""
        assert {path: path.read_text() for path in self.own} == self.own
        for path in self.runs.rglob("*.json"):
            self.check_record(path)
        for path in self.runs.rglob("runs.ndjson"):
            read_runs(path.parent)
        for path in (*self.runs.rglob("report.html"), *self.runs.rglob("suite.md")):
            text = path.read_text()
            assert text.rstrip().endswith("</html>") if path.suffix == ".html" else text, path
        for path in (*self.work.rglob("*.yaml"), *self.work.rglob("mappings/*.json")):
            assert path.read_text().endswith("\n"), path
        with suppress(ProfileError):
            read_suite(self.runs / "suites" / "a-a" / "latest")
        History(RunTree(self.runs)).refresh()
        self.stack.state()
        for path in (self.work / "experiments", self.work / "mappings"):
            shutil.rmtree(path, ignore_errors=True)

    def check_record(self, path: Path) -> None:
        """It can be read."""
        if path.name == "run.json":
            read_run(path.parent)
        elif path.name == "result.json":
            Result.model_validate_json(path.read_bytes())
        elif path.name == "progress.json":
            Progress.model_validate_json(path.read_bytes())
        elif path.name == "plan.json":
            (read_tune_plan if "tunes" in path.parts and "stages" not in path.parts else read_plan)(path.parent)

    def check_nothing_runs(self) -> None:
        """No server, page or command is left of this user."""
        deadline = time.monotonic() + 20
        while (left := list(self.processes())) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not left, left
        assert not self.stack.servers()

    def processes(self) -> Iterator[psutil.Process]:
        """Everything that belongs to these folders."""
        yield from marked_processes(self.state)
        yield from (process for process, folder in marked(KEPT_OF) if folder == str(self.state))
        yield from (process for process, folder in marked("SLUICE_STATE") if folder == str(self.state))


def ended(process: subprocess.Popen[str], within_s: float = ENDS_WITHIN_S) -> tuple[int, str]:
    """Exit status and output of a command, once it has ended; one that takes longer is asked to."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(within_s)
    if process.poll() is None:
        process.terminate()
    status = process.wait(ENDS_WITHIN_S)
    assert process.stdout is not None
    process.stdout.seek(0)
    text = process.stdout.read()
    process.stdout.close()
    assert "Traceback" not in text, text
    return status, text


def kill(process: subprocess.Popen[str], how: str, chance: random.Random) -> str:
    """Kill a command, and in part of the cases what belongs to it; who was killed.

    Args:
        how: `command`, `tree`, `group`, or `child`: one that it has started, while it goes on.
    """
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(process.pid).children(recursive=True)
        victims = {"command": [], "tree": below, "group": [], "child": chance.sample(below, min(1, len(below)))}[how]
        names = []
        for victim in victims:
            with suppress(psutil.NoSuchProcess):
                names.append(" ".join(victim.cmdline())[:40])
                victim.kill()
        if how == "group":
            os.killpg(process.pid, signal.SIGKILL)
        elif how != "child":
            process.kill()
        return ", ".join(names)
    return "nobody: it had ended"
