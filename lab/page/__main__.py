"""`python -m lab.page DESCRIPTOR RUNS COMMAND [--stay]`: the page's process beside a command.

It waits for the first browser with nothing loaded, and ends when its standard input does; with `--stay`, when it is
asked to.
"""

import importlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from lab.page.serve import KEPT_OF, SINCE, STAYS, TOKEN, make_way

THE_END = "the command that this page belongs to has ended"


def main() -> int:
    """Serve the page; the exit status."""
    descriptor, runs, command = sys.argv[1:4]
    stays = STAYS in sys.argv[4:]
    token, since_s = os.environ.pop(TOKEN), float(os.environ.pop(SINCE))
    # Not for the commands that this process starts.
    os.environ.pop(KEPT_OF, None)
    taking = socket.socket(fileno=int(descriptor))
    waited_for = [taking] if stays else [taking, sys.stdin]
    if sys.stdin in select.select(waited_for, [], [])[0]:
        return 0
    loading = threading.Thread(target=load_gently)
    loading.start()
    loading.join()
    from lab.page.server import Page  # noqa: PLC0415 - half a second that a page nobody looks at is spared

    page = Page(taking, Path(runs), token, command=command, since_s=None if stays else since_s)

    def end(_number: int = 0, _frame: FrameType | None = None) -> None:
        page.end(THE_END)

    signal.signal(signal.SIGTERM, end)
    if not stays:
        threading.Thread(target=wait_for_the_command, args=(end,), daemon=True).start()
    page.serve()
    return 0


def load_gently() -> None:
    """Load the server, from a thread whose priority the main one, which starts processes, does not share."""
    make_way()
    importlib.import_module("lab.page.server")


def wait_for_the_command(then: Callable[[], None]) -> None:
    """Return when the command has ended, however: nobody can write to the pipe any more."""
    # Not by `sys.stdin`, whose lock a thread must not hold when the program ends.
    while os.read(0, 4096):
        pass
    then()


if __name__ == "__main__":
    sys.exit(main())
