"""`./sluice page` as a process of its own, and a browser in front of it."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Page, Playwright, Request

from tests.compose.machine import needed_program
from tests.integration.conftest import ROOT, Sluice

ADDRESS = re.compile(r"page: (http://\S+)")
SOON_S = 30
BY_THE_BROWSER = re.compile("Failed to load resource")
"""What Chromium itself writes to the console of a refused request, such as of a wrong setting, or of one that broke."""


def printed_address(process: subprocess.Popen[str]) -> str:
    """The page's address that a command prints; what else it says is read on, so that it never waits for a reader."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if cells := ADDRESS.search(said):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return cells.group(1)
    raise AssertionError(f"no address: {said}")


class Server:
    """The page of a session's runs. Its token is new with every start, its port the same."""

    def __init__(self, sluice: Sluice) -> None:
        self.sluice = sluice
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    @property
    def origin(self) -> str:
        """Its address without the token."""
        return self.url.partition("/#")[0]

    @property
    def token(self) -> str:
        """What a request that writes must carry."""
        return self.url.rpartition("token=")[2]

    def start(self) -> None:
        """Start it, on the port that it had before."""
        port = str(urlsplit(self.url).port) if self.url else "0"
        self.process = subprocess.Popen(
            [str(ROOT / "sluice"), "page", "--port", port, "--runs", str(self.sluice.runs)],
            env=self.sluice.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.url = printed_address(self.process)

    def kill(self) -> None:
        """End it without a word, as a crash would."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(SOON_S)

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            self.process.wait(SOON_S)


@dataclass
class BrowserLog:
    """What a browser has requested and complained of so far.

    Attributes:
        hosts: Asked for anything.
        complaints: Errors of scripts and of the console, other than the browser's own of a refused request.
    """

    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Listen to all pages of a window that are there or will be."""
        context.on("request", self._note_host)
        context.on("console", lambda message: self._note_complaint(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _note_host(self, request: Request) -> None:
        self.hosts.add(urlsplit(request.url).netloc)

    def _note_complaint(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not BY_THE_BROWSER.match(text):
            self.complaints.append(text)


@contextmanager
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """Debian's browser, installed where it is missing.

    Raises:
        EngineMissingError: It cannot be had on this machine.
    """
    program = needed_program("chromium", package="chromium")
    browser = playwright.chromium.launch(executable_path=program)
    try:
        yield browser
    finally:
        browser.close()


def rows(page: Page, place: str) -> list[list[str]]:
    """The body of a table as text."""
    script = "(all) => all.map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    cells: list[list[str]] = page.locator(f"{place} tbody tr").evaluate_all(script)
    return cells
