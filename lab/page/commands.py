"""Commands that the page runs for a browser: a run in the background, and short ones whose answer is shown."""

import asyncio
import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from lab import ROOT
from lab.errors import SluiceError, StackError
from lab.page.choice import command_text
from lab.records.progress import Progress
from producers.children import last_lines

SAID_LINES = 8
COLUMNS = "1000"
"""Of what is no terminal: a sentence is to come in one line."""
STOP_WITHIN_S = 120.0
"""A run that is interrupted stops its servers, and may write their class-data archives."""
ANSWER_WITHIN_S = 60.0


class BusyError(SluiceError):
    """A run is under way, and there is room for one."""


def sluice(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command line of a command of ours, by this very Python, and its environment."""
    # -P: the code of this installation, also where the working folder has a `lab`.
    return [sys.executable, "-P", "-m", "lab.cli", *arguments], {**os.environ, "PYTHONPATH": str(ROOT)}


class Starter:
    """Starts processes from the thread that called `serve`, so that they have its priority.

    A server thread that has made way for the servers under test, by a higher nice value, hands it on to all that it
    starts; and only root may take it back.
    """

    def __init__(self) -> None:
        self._wanted: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._has_ended = False

    def __call__(self, start: Callable[[], Any]) -> Any:
        """Have it started, and wait for that; raises StackError if nothing is started any more."""
        future: Future[Any] = Future()
        self._wanted.put((start, future))
        if self._has_ended:
            self._refuse_all()
        return future.result()

    def serve(self) -> None:
        """Start what is wanted, until `end`."""
        while (wanted := self._wanted.get()) is not None:
            start, future = wanted
            try:
                future.set_result(start())
            except BaseException as error:
                future.set_exception(error)
        self._has_ended = True
        self._refuse_all()

    def _refuse_all(self) -> None:
        """Let nobody wait for a thread that has ended."""
        with contextlib.suppress(queue.Empty):
            while True:
                wanted = self._wanted.get_nowait()
                if wanted is not None:
                    wanted[1].set_exception(StackError("the page ends; start it again, then ask once more"))

    def end(self) -> None:
        """Start nothing any more."""
        self._wanted.put(None)


def output_file() -> IO[bytes]:
    """A file for what a command says; in memory, where no full disk takes the command's voice away, or the page's."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("sluice-output"), "w+b")
    return tempfile.TemporaryFile()


@dataclass
class RunningCommand:
    """The command that was started last.

    Attributes:
        start: Starts a process.
        runs: The folder of all runs.
    """

    start: Callable[[Callable[[], Any]], Any]
    runs: Path
    _arguments: tuple[str, ...] = field(default=(), init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _output: IO[bytes] | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def is_running(self) -> bool:
        """Check that the command has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Its process; `None` before any was started."""
        return self._process.pid if self._process else None

    def begin(self, arguments: tuple[str, ...]) -> None:
        """Start a command in the background; it has no page of its own.

        What is told of the one before stays until this one has been started.

        Raises:
            BusyError: The one before has not ended.
            OSError: The system has no room for another process.
        """
        with self._lock:
            if self.is_running:
                raise BusyError(f"{command_text(self._arguments)}: has not ended; stop it first")
            words, environment = sluice([*arguments, "--runs", str(self.runs), "--no-page"])
            with contextlib.ExitStack() as unless_started:
                output = unless_started.enter_context(output_file())
                process = self.start(
                    lambda: subprocess.Popen(
                        words,
                        env={**environment, "COLUMNS": COLUMNS},
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
                unless_started.pop_all()
            before, self._output = self._output, output
            self._arguments, self._process = arguments, process
            if before is not None:
                before.close()

    def view(self) -> dict[str, Any] | None:
        """Outcome of the command; `None` before any was started."""
        if self._process is None:
            return None
        return {
            "command": command_text(self._arguments),
            "running": self.is_running,
            "exit_status": self._process.poll(),
            "said": self._said(),
        }

    def _said(self) -> list[str]:
        """The last lines of its output."""
        if self._output is None:
            return []
        # Another description of the same file: where the command goes on to write must not move.
        with contextlib.suppress(OSError), Path(f"/proc/self/fd/{self._output.fileno()}").open("rb") as reading:
            return list(last_lines(reading, SAID_LINES))
        return []

    def stop(self, *, wait: bool = False) -> bool:
        """Ask it to end, as Ctrl-C does; whether there was one to ask."""
        process = self._process
        if process is None or not self.is_running:
            return False
        process.send_signal(signal.SIGTERM)
        if wait:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_WITHIN_S)
        return True


def stop_run(progress: Progress) -> None:
    """Ask the command of a run to end, as Ctrl-C does.

    Raises:
        StackError: It is not the process that began the run any more, or is somebody else's.
    """
    process = progress.identity.process()
    if process is None:
        raise StackError(f"process {progress.identity.pid}: has ended")
    try:
        process.send_signal(signal.SIGTERM)
    except psutil.Error as error:
        raise StackError(f"process {process.pid}: cannot be asked to end: {error}") from error


@dataclass
class ShortCommand:
    """A command whose answer somebody waits for.

    Attributes:
        start: Starts a process.
    """

    start: Callable[[Callable[[], Any]], Any]
    arguments: Sequence[str]
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _is_wanted: bool = field(default=True, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def run(self) -> tuple[int, str, str]:
        """Exit status, output and errors."""
        words, environment = sluice(self.arguments)
        process: subprocess.Popen[bytes] = self.start(
            lambda: subprocess.Popen(
                words,
                env={**environment, "COLUMNS": COLUMNS},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        )
        with self._lock:
            self._process = process
            if not self._is_wanted:
                process.kill()
        output, errors = process.communicate()
        return process.returncode, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")

    def kill(self) -> None:
        """Nobody waits any more; from any thread."""
        with self._lock:
            self._is_wanted = False
            if self._process is not None:
                self._process.kill()


async def answer_of(
    start: Callable[[Callable[[], Any]], Any], arguments: Sequence[str], within_s: float = ANSWER_WITHIN_S
) -> tuple[int, str, str]:
    """Exit status, output and errors of a short command, which is killed when nobody waits for it any more.

    Raises:
        StackError: It takes too long.
    """
    command = ShortCommand(start, arguments)
    try:
        async with asyncio.timeout(max(0.0, within_s)):
            return await asyncio.get_running_loop().run_in_executor(None, command.run)
    except TimeoutError:
        raise StackError(f"{command_text(arguments)}: no answer within {max(0.0, within_s):.3g} s") from None
    finally:
        command.kill()


def refusal_in(errors: str) -> str:
    """The sentence that a command ended with, as it was printed behind its name."""
    lines = errors.strip().splitlines()
    start = next((place for place, line in enumerate(lines) if line.startswith("sluice: ")), None)
    if start is None:
        return lines[-1] if lines else "the command failed without a word"
    return "\n".join([lines[start].removeprefix("sluice: "), *lines[start + 1 :]])
