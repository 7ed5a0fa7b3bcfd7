"""Starts the page: in this process, beside a command and as long as that, or beside servers that stay."""

import contextlib
import os
import secrets
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
from lab.errors import StackError, WritingError
from lab.files import write_whole
from lab.identity import ProcessIdentity, identity_of, marked, with_identity
from lab.stack.places import state_dir

HERE = "127.0.0.1"
TOKEN = "SLUICE_PAGE_TOKEN"  # noqa: S105 - where the token stands, not a token
SINCE = "SLUICE_PAGE_SINCE_S"
"""When the page's process was started, by which its server, which loads later, knows the runs of the command."""
STATE = "page.json"
"""In the folder of the servers: the page that `up` has started."""
KEPT_OF = "SLUICE_PAGE_OF"
"""Environment variable of that page; its value is the folder. It finds one that `up` had no time to write down."""
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
    """Token that a browser needs to start or stop anything."""
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


def started(runs: Path, *arguments: str, kept_of: Path | None = None) -> tuple[str, subprocess.Popen[bytes]]:
    """The page's address, and the process that serves it.

    Args:
        kept_of: The folder of the servers that it stays with; without, it ends with this process.
    """
    token, stays = new_token(), kept_of is not None
    more = [STAYS] if stays else []
    environment = {TOKEN: token, SINCE: repr(time.time()), KEPT_OF: str(kept_of or "")}
    with listening() as taking:
        child = subprocess.Popen(
            # -P: the code of this installation, also where the working folder has a `lab`.
            [sys.executable, "-P", "-m", "lab.page", str(taking.fileno()), str(runs.absolute()), *arguments, *more],
            # No argument may show the token: anybody on this machine can read those.
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
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
        identity: Its process.
        runs: The folder of all runs, in full.
    """

    identity: ProcessIdentity
    address: str
    runs: str

    @classmethod
    def find(cls, folder: Path) -> "KeptPage | None":
        """The page that is written down in the folder of the servers, if it still runs."""
        try:
            facts: dict[str, Any] = with_identity(orjson.loads((folder / STATE).read_bytes()))
            page = cls(ProcessIdentity(**facts.pop("identity")), **facts)
            is_alive = page.identity.is_alive
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        return page if is_alive else None

    @classmethod
    def start(cls, folder: Path, runs: Path) -> "KeptPage":
        """The page of these runs: the one that is there, or another one; raises StackError if it cannot be started."""
        page = cls.find(folder)
        if page is not None and page.runs == str(runs.resolve()):
            return page
        cls.stop(folder)
        child = None
        try:
            address, child = started(runs, UP, kept_of=folder)
            page = cls(identity_of(child.pid), address, str(runs.resolve()))
            page._write(folder)
        except (OSError, WritingError) as error:
            if child is not None:
                # Not by its marker: a program that the system is still laying out has no environment yet.
                child.kill()
                child.wait()
            raise StackError(f"page: cannot be started: {error}") from error
        return page

    def _write(self, folder: Path) -> None:
        write_whole(folder / STATE, orjson.dumps(self).decode(), mode=OF_OURSELVES)

    @classmethod
    def stop(cls, folder: Path) -> bool:
        """Stop the page of these servers, written down or not; whether there was one."""
        page = cls.find(folder)
        running = {process for process, servers in marked(KEPT_OF) if servers == str(folder)}
        if page is not None and (process := page.identity.process()):
            running.add(process)
        for process in running:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        _gone, left = psutil.wait_procs(running, timeout=END_WITHIN_S)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=END_WITHIN_S)
        with contextlib.suppress(OSError):
            (folder / STATE).unlink(missing_ok=True)
        return bool(running)


def make_way() -> None:
    """Give this thread, and those that it starts, a lower priority than the servers under test have."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
