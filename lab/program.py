"""A program that runs beside a run: started, watched, and stopped with all that it has started."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from lab.errors import StackError
from lab.identity import marked
from producers.children import last_lines

GRACE_S = 20.0
POLL_S = 0.05
LOG_LINES_SHOWN = 12

OWN_MARK = "SLUICE_PROGRAM"
"""Variable that all below a program inherit: it finds a process that has left the session or lost its parent."""


def last_lines_of(log: Path) -> tuple[str, ...]:
    """The last lines of a log; none of one that is not there."""
    if not log.is_file():
        return ()
    with log.open("rb") as file:
        return last_lines(file, LOG_LINES_SHOWN)


class Program:
    """A process in a session of its own and with a mark, so that whatever it starts can be stopped with it.

    Args:
        command: Program and arguments, filled in.
        log: What it writes goes there.
        folder: Where it is started.
        environment: What it must have in its environment besides ours.
        name: What a message calls it.
        clock: Seconds since the epoch.

    Attributes:
        ended_s: When it was seen to have ended well; `None` while it runs.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        folder: Path,
        environment: Mapping[str, str],
        name: str,
        clock: Callable[[], float],
    ) -> None:
        self._command = tuple(command)
        self._name = name
        self._log = log
        self._folder = folder
        self._environment = environment
        self._clock = clock
        self._mark = uuid.uuid4().hex
        self._process: subprocess.Popen[bytes] | None = None
        self.ended_s: float | None = None

    def start(self) -> int:
        """Start it; its process id.

        Raises:
            StackError: There is no such program, or it cannot be run.
        """
        with self._log.open("ab") as log:
            try:
                self._process = subprocess.Popen(
                    self._command,
                    cwd=self._folder,
                    env={**os.environ, **self._environment, OWN_MARK: self._mark},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise StackError(f"{self._name}: cannot be started: {error.strerror}") from error
        return self._process.pid

    def check(self) -> None:
        """Return while it runs or has ended well, which `ended_s` tells.

        Raises:
            StackError: It has failed; with the last lines that it wrote.
        """
        status = self._process.poll() if self._process else None
        if status is None:
            return
        if status:
            how = f"with exit status {status}" if status > 0 else f"by signal {signal.Signals(-status).name}"
            raise StackError(f"{self._name}: ended {how}; its log is {self._log}", self.last_lines())
        if self.ended_s is None:
            self.ended_s = self._clock()

    def last_lines(self) -> tuple[str, ...]:
        """The last lines that it wrote."""
        return last_lines_of(self._log)

    def stop(self, grace_s: float = GRACE_S) -> None:
        """End it and whatever it has started: SIGTERM, then SIGKILL for what is left after the grace time."""
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            for process in self._outside(self._process.pid):
                with contextlib.suppress(psutil.Error):
                    process.send_signal(number)
            if self._is_gone_within(grace_s):
                return

    def _outside(self, group: int) -> list[psutil.Process]:
        """What it has started and is in another process group, as by `setsid`."""
        outside = []
        for process, mark in marked(OWN_MARK):
            with contextlib.suppress(ProcessLookupError):
                if mark == self._mark and os.getpgid(process.pid) != group:
                    outside.append(process)
        return outside

    def _is_gone_within(self, patience_s: float) -> bool:
        assert self._process is not None  # noqa: S101 - `stop` looks
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            self._process.poll()
            try:
                os.killpg(self._process.pid, 0)
            except ProcessLookupError:
                if not self._outside(self._process.pid):
                    return True
            time.sleep(POLL_S)
        return False
