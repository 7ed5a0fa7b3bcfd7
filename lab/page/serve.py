"""Starts the page: in this process, beside a command and as long as that, or beside servers that stay."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil

from lab import IS_CHECKOUT, ROOT
from lab.errors import StackError
from lab.stack.places import state_dir

HERE = "127.0.0.1"
TOKEN = "SLUICE_PAGE_TOKEN"  # noqa: S105 - where the token stands, not a token
SINCE = "SLUICE_PAGE_SINCE_S"
"""When the page's process was started, by which its server, which loads later, knows the runs of the command."""
STATE = "page.json"
"""In the folder of the servers: the page that `up` has started."""
END_WITHIN_S = 3.0
STAYS = "--stay"
NICENESS = 10
"""Of what serves the page: the servers under test come first, and their machine may have few cores."""
UP = "./sluice up" if IS_CHECKOUT else "sluice up"
OF_OURSELVES = 0o600
"""Who may read what holds a token."""


def listening(host: str = HERE, port: int = 0) -> socket.socket:
    """A socket that takes connections; whoever comes before the server is ready waits in its queue.

    Raises:
        StackError: The address is not this machine's, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        # Of an address, Python adds to the system's words what is said here already.
        words = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise StackError(f"page: {host}, port {port}: cannot be listened at: {words}") from error


def new_token() -> str:
    """What a browser must know to start or stop anything."""
    return secrets.token_urlsafe(24)


@contextlib.contextmanager
def page_beside(runs: Path, command: str, announce: Callable[[str], None]) -> Iterator[None]:
    """Serve the page from a process of its own while a command works; the one that `up` has started, if that is there.

    That process does next to nothing before a browser comes, and ends with this one, whatever ends it: it reads a pipe
    that then has no writer. A page that cannot be served fails no command.

    Args:
        command: As it was typed, for the page to say what it belongs to.
        announce: Takes the line with the address.
    """
    kept = KeptPage.find(state_dir())
    if kept is not None and kept.runs == str(runs.resolve()):
        announce(f"page: {kept.address}")
        yield
        return
    try:
        address, child = started(runs, command)
    except (OSError, StackError) as error:
        announce(f"no page: {error}")
        yield
        return
    announce(f"page: {address}")
    try:
        yield
    finally:
        ended(child)


def started(runs: Path, *arguments: str) -> tuple[str, subprocess.Popen[bytes]]:
    """The page's address, and the process that serves it."""
    token, stays = new_token(), STAYS in arguments
    with listening() as taking:
        child = subprocess.Popen(
            # -P: the code of this installation, also where the working folder has a `lab`.
            [sys.executable, "-P", "-m", "lab.page", str(taking.fileno()), str(runs.absolute()), *arguments],
            # No argument may show the token: anybody on this machine can read those.
            env={**os.environ, "PYTHONPATH": str(ROOT), TOKEN: token, SINCE: repr(time.time())},
            stdin=subprocess.DEVNULL if stays else subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[taking.fileno()],
            # Ctrl-C is for the command, which then ends the page; one that stays outlives the terminal.
            start_new_session=stays,
            process_group=None if stays else 0,
        )
        return f"http://{HERE}:{taking.getsockname()[1]}/#token={token}", child


def ended(child: subprocess.Popen[bytes]) -> None:
    """Have the page's process end; it tells its browsers the last first."""
    if child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()
    try:
        child.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@dataclass(frozen=True)
class KeptPage:
    """The page that `up` has started, and that stays as long as its servers.

    Attributes:
        process_started_s: Tells its process from a later one with the same pid.
        runs: The folder of all runs, in full.
    """

    pid: int
    process_started_s: float
    address: str
    runs: str

    @classmethod
    def find(cls, folder: Path) -> "KeptPage | None":
        """The page that is written down in the folder of the servers, if it still runs."""
        try:
            facts: dict[str, Any] = orjson.loads((folder / STATE).read_bytes())
            page = cls(**facts)
            process = psutil.Process(page.pid)
            is_it = abs(process.create_time() - page.process_started_s) < 1.0
        except (OSError, ValueError, TypeError, psutil.Error):
            return None
        return page if is_it and process.status() != psutil.STATUS_ZOMBIE else None

    @classmethod
    def start(cls, folder: Path, runs: Path) -> "KeptPage":
        """The page of these runs: the one that is there, or another one.

        Raises:
            StackError: It cannot be started.
        """
        page = cls.find(folder)
        if page is not None and page.runs == str(runs.resolve()):
            return page
        cls.stop(folder)
        try:
            address, child = started(runs, UP, STAYS)
            page = cls(child.pid, psutil.Process(child.pid).create_time(), address, str(runs.resolve()))
            descriptor = os.open(folder / STATE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OF_OURSELVES)
            with os.fdopen(descriptor, "wb") as file:
                file.write(orjson.dumps(vars(page)))
        except (OSError, psutil.Error) as error:
            raise StackError(f"page: cannot be started: {error}") from error
        return page

    @classmethod
    def stop(cls, folder: Path) -> bool:
        """Stop the page that is written down in the folder; whether there was one."""
        page = cls.find(folder)
        if page is not None:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(page.pid)
                process.send_signal(signal.SIGTERM)
                _gone, left = psutil.wait_procs([process], timeout=END_WITHIN_S)
                for each in left:
                    each.kill()
        with contextlib.suppress(OSError):
            (folder / STATE).unlink(missing_ok=True)
        return page is not None


def make_way() -> None:
    """Give this thread, and those that it starts, a lower priority than the servers under test have."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
