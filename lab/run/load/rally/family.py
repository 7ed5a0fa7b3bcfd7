"""Runs a command and stays the parent of every process that comes of it, until none of them is left.

Rally's actors leave their session and their parent, and some stay after a race. As a subreaper this process is given
them all: whoever samples it and what is below it has counted everything, and it stops what the command has left.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

import psutil

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # of linux/prctl.h
GRACE_S = 3.0
NOT_STARTED = 127


def adopt_orphans() -> None:
    """Become the parent of what is left below this process, and be ended by SIGTERM when its own parent has ended.

    Raises:
        OSError: The kernel refuses it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((PR_SET_CHILD_SUBREAPER, 1), (PR_SET_PDEATHSIG, signal.SIGTERM)):
        if libc.prctl(option, value, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


def run(command: Sequence[str]) -> int:
    """The exit status of the command; whatever it has left is stopped."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: cannot be started: {error.strerror}\n")
        return NOT_STARTED
    while True:
        pid, status = os.wait()
        if pid == process.pid:
            # Popen must not wait for it again.
            process.returncode = os.waitstatus_to_exitcode(status)
            stop_children()
            return process.returncode


def end() -> None:
    """End everything below this process, and remove what Rally was given to read, beside the list of its words."""
    stop_children()
    for path in Path(sys.argv[1]).parent.glob("documents.json*"):
        path.unlink(missing_ok=True)


def stop_children() -> None:
    """End everything below this process: SIGTERM, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = psutil.Process().children(recursive=True)
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        psutil.wait_procs(left, timeout=GRACE_S)


def on_signal(_number: int, _frame: FrameType | None) -> NoReturn:
    """Stop all of them and end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end()
    os._exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, on_signal)
    adopt_orphans()
    # In a file, since Rally takes every Python with its name on the command line for another race.
    status = run(json.loads(Path(sys.argv[1]).read_bytes()))
    end()
    sys.exit(status if status >= 0 else 128 - status)
