"""Errors by who must act: the author of a file, the keeper of the servers, or the reader of a void result."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from lab import IS_CHECKOUT

DISK_FULL = {errno.ENOSPC, errno.EDQUOT}


class SluiceError(Exception):
    """One sentence for the person at the terminal, and the exit status that goes with it."""

    exit_status: ClassVar[int] = 1


class ProfileError(SluiceError):
    """The input is wrong (a profile, an option, a file): fix it and start again. Nothing was changed."""

    exit_status: ClassVar[int] = 2


class StackError(SluiceError):
    """A server, an artifact or the machine is not as needed: start, install or repair it.

    Attributes:
        log_lines: The last lines of the log of the server that failed; empty where there is none.
    """

    exit_status: ClassVar[int] = 3

    def __init__(self, message: str, log_lines: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.log_lines = log_lines


class WritingError(SluiceError):
    """A file cannot be written: its disk is full, or its folder is somebody else's."""

    exit_status: ClassVar[int] = 3


class VerificationError(SluiceError):
    """Error of a run whose index or answers differ from the documents produced: it is void, whatever its speed."""

    exit_status: ClassVar[int] = 4


class ExpectationError(SluiceError):
    """A run is verified, and has not reached what was expected of it."""

    exit_status: ClassVar[int] = 5


class AbortError(ExpectationError):
    """A condition of `--abort-on` has ended a run before it had a result."""


def unwritable(sentence: str, error: OSError) -> SluiceError:
    """The error for what cannot be written: the machine's if its disk is full, or else the author's, who named it."""
    return (WritingError if error.errno in DISK_FULL else ProfileError)(f"{sentence} ({error.strerror})")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file that cannot be written, which Python does not where its disk is full.

    Raises:
        WritingError: It cannot be.
    """
    try:
        yield
    except OSError as error:
        raise WritingError(
            f"{path}: cannot be written: {error.strerror}; check the free space of its disk and who may write there"
        ) from error


def is_interrupt(error: BaseException) -> bool:
    """Check for Ctrl-C. Inside Kafka's client, which is C, it becomes the cause of a SystemError."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and isinstance(error.__cause__, KeyboardInterrupt)
    )


def refuse_without_checkout(what: str) -> None:
    """Raise ProfileError where this is no checkout, for what needs the Compose files or the tests."""
    if not IS_CHECKOUT:
        raise ProfileError(
            f"{what}: needs a checkout of Sluice, got an installed package; run it with the launcher of a checkout"
        )
