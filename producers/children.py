"""Child processes of our own: told what to do on their standard input, answering in lines of JSON.

Both ends of the protocol stand here. A child ends at once when its standard input closes, which is what happens when
the process that started it dies, however that dies.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

LAST_LINES = 3
LOG_TAIL_BYTES = 32 * 1024
ROOT = str(Path(__file__).resolve().parents[1])


class ChildError(Exception):
    """A child process failed, or ended early; the message says why."""


class Children:
    """Processes of one module, from their start to their last word. Leaving the context ends those that still run.

    Args:
        module: What they run: `python -m module`.
        name: What a message calls one of them.
        number: How many there are.
        environment: What they must have in their environment beside ours.
        descriptors: Open files that they inherit.
        grace_s: How long a child may take to end by itself once its standard input is closed; 0 for not at all.
    """

    def __init__(
        self,
        module: str,
        name: str,
        number: int = 1,
        *,
        environment: Mapping[str, str] | None = None,
        descriptors: tuple[int, ...] = (),
        grace_s: float = 0.0,
    ) -> None:
        self._module = module
        self._name = name
        self._number = number
        self._environment = environment or {}
        self._descriptors = descriptors
        self._grace_s = grace_s
        self.processes: list[subprocess.Popen[bytes]] = []
        self._errors: list[IO[bytes]] = []
        self._inbox: queue.Queue[tuple[int, dict[str, Any] | None]] = queue.Queue()
        self._done: set[int] = set()

    def __enter__(self) -> Self:
        try:
            for number in range(self._number):
                self._start(number)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self, number: int) -> None:
        self._errors.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed with the children
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors[number],
            pass_fds=self._descriptors,
            env={**os.environ, **self._environment, "PYTHONPATH": import_path()},
            # A session of its own: Ctrl-C reaches this process only, which then ends them all.
            start_new_session=True,
        )
        self.processes.append(process)
        threading.Thread(target=self._listen, args=(number, process), daemon=True).start()

    def _listen(self, number: int, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 - a pipe
        for line in process.stdout:
            self._inbox.put((number, json.loads(line)))
        self._inbox.put((number, None))

    def tell(self, number: int, content: bytes) -> None:
        """Write to a child; one that has ended says why in its last word, or by its silence."""
        stream = self.processes[number].stdin
        assert stream is not None  # noqa: S101 - a pipe
        with suppress(BrokenPipeError):
            stream.write(content)
            stream.flush()

    def answer(self, timeout_s: float) -> tuple[int, dict[str, Any]] | None:
        """The next answer and the child that gives it; `None` if none comes in time.

        Raises:
            ChildError: A child has failed, or ended before it was done.
        """
        try:
            number, answer = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if answer is None:
            if number not in self._done:
                raise ChildError(self._exit_message(number))
            return None
        if answer["kind"] == "error":
            raise ChildError(answer["message"])
        if answer["kind"] == "done":
            self._done.add(number)
        return number, answer

    def _exit_message(self, number: int) -> str:
        status = self.processes[number].wait()
        lines = last_lines(self._errors[number], LAST_LINES)
        which = self._name if self._number == 1 else f"{self._name} {number + 1} of {self._number}"
        return f"{which} ended early with status {status}" + (f"; its last lines: {' | '.join(lines)}" if lines else "")

    def _end(self) -> None:
        for number, process in enumerate(self.processes):
            if process.poll() is None and number not in self._done and not self._grace_s:
                process.kill()
            assert process.stdin is not None  # noqa: S101 - a pipe
            with suppress(BrokenPipeError):
                process.stdin.close()
        for process in self.processes:
            try:
                process.wait(self._grace_s or None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for errors in self._errors:
            errors.close()


def last_lines(log: IO[bytes], count: int, *, without: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The last lines of an open log, blank ones left out.

    Args:
        without: How lines begin that are left out as well, such as the frames of a stack.
    """
    log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
    lines = log.read().decode(errors="replace").splitlines()
    return tuple(line for line in lines if line.strip() and not line.lstrip().startswith(without))[-count:]


def import_path() -> str:
    """Where a child finds what this process can import, whatever its working directory."""
    return os.pathsep.join([ROOT, *(place for place in sys.path if place and place != ROOT)])


# --- in the child ---------------------------------------------------------------------------------------------------


class Answers:
    """What goes back to the process that started this one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, kind: str, **content: Any) -> None:
        """Send one line; the kinds `done` and `error` are last words."""
        self._stream.write(json.dumps({"kind": kind, **content}).encode() + b"\n")
        self._stream.flush()


def end_with(commands: BinaryIO) -> None:
    """End this process, without another word, when its standard input closes; nothing more is to be read from it."""

    def watch() -> None:
        # Past the buffer: Python aborts where it ends while another thread waits in one.
        while os.read(commands.fileno(), 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def serve(work: Callable[[BinaryIO, Answers], None], errors: tuple[type[Exception], ...]) -> int:
    """Do what the process that started this one says; the exit status.

    Args:
        work: Is given standard input and where to answer; what it or others print goes to standard error.
        errors: What may go wrong and is told in a sentence, with status 1.
    """
    answers = Answers(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    try:
        work(sys.stdin.buffer, answers)
    except errors as error:
        answers.write("error", message=str(error) or type(error).__name__)
        return 1
    return 0
