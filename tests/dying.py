"""Kills what writes files, before or in the midst of any of its changes, as `kill -9` or a full disk would.

`python tests/dying.py FOLDER CHANGE COMMAND …` is a command of ours that dies before that change below the folder.
"""

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

CHANGES = frozenset({"open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.symlink", "os.truncate"})
"""Audit events of CPython; each is raised before the change."""

FILES_OPENED = frozenset({"open"})
TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


ENDS_WITHIN_S = 20
"""A library that has threads may wait for ever in a forked process."""


class Death:
    """An audit hook that ends this process at one of the changes that it makes below a folder.

    Attributes:
        at: The number of that change, counted from 1.
        half: Ends it in a file that it opens, behind so many bytes of it; other changes are then not counted.
    """

    def __init__(self, folder: Path, at: int, half: int | None = None) -> None:
        self.folder = f"{folder}{os.sep}"
        self.at, self.half = at, half
        self.seen = 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Count a change, and end at the one."""
        counted = CHANGES if self.half is None else FILES_OPENED
        if event not in counted or not self.concerns(event, arguments):
            return
        self.seen += 1
        if self.seen == self.at:
            self.end()

    def concerns(self, event: str, arguments: tuple[object, ...]) -> bool:
        """Whether something below the folder is changed."""
        if event == "open":
            path, _, flags = arguments
            return isinstance(flags, int) and bool(flags & TO_WRITE) and self.is_below(path)
        # Whole trees are removed by names below an open folder.
        return any(map(self.is_below, arguments[:2])) or not Path(os.fsdecode(str(arguments[0]))).is_absolute()

    def is_below(self, path: object) -> bool:
        """Whether a path is in the folder."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return False
        # Not `resolve`, which would look at the disk for each file that is opened.
        return os.path.abspath(os.fsdecode(path)).startswith(self.folder)  # noqa: PTH100

    def end(self) -> None:
        """End this process: at once, or by the kernel at a byte of the file."""
        if self.half is None:
            os.kill(os.getpid(), signal.SIGKILL)
            return
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.half, resource.RLIM_INFINITY))


def dies(action: Callable[[], object], folder: Path, at: int, half: int | None = None) -> bool:
    """Do something in a process that ends at a change of its; whether it came so far.

    Raises:
        AssertionError: It failed; with its traceback on the standard error.
    """
    if not (pid := os.fork()):
        try:
            signal.alarm(ENDS_WITHIN_S)
            sys.addaudithook(Death(folder, at, half))
            action()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in {0, -signal.SIGKILL, -signal.SIGXFSZ}, f"it failed by itself: status {status}"
    return status != 0


def deaths(action: Callable[[], object], folder: Path, check: Callable[[], object]) -> int:
    """Let it die at each of its changes, one after the other in the same folder, and look at the folder after each.

    Returns:
        How many times it died.
    """
    died = 0
    for half in (None, 0, 7):
        for at in count(1):
            has_died = dies(action, folder, at, half)
            check()
            if not has_died:
                break
            died += 1
    return died


@contextmanager
def room_for(size_bytes: int) -> Iterator[None]:
    """No file grows any further: the kernel says so, as it does of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def main() -> int:
    """Run the command."""
    from lab.cli.app import main as command  # noqa: PLC0415 - its files are no change of the command's

    folder, at = sys.argv[1:3]
    sys.argv[:3] = ["sluice"]
    sys.addaudithook(Death(Path(folder), int(at)))
    return command()


if __name__ == "__main__":
    sys.exit(main())
