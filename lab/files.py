"""Writes and removes so that whoever comes next finds a whole or nothing: a command may be killed at any instant."""

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lab.errors import writing

GONE = ".gone"


def write_whole(path: Path, text: str, *, mode: int = 0o666) -> None:
    r"""Write a file, or leave what was there as it was. Lines end as they do in the text, such as with `\r\n`.

    Args:
        mode: Who may read and write it, before the umask.

    Raises:
        WritingError: It cannot be written.
    """
    with writing(path), _partial(path, mode) as (partial, file):
        file.write(text.encode())
        file.close()
        partial.rename(path)


def write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet; raises as `new_file`."""
    with new_file(path) as file:
        file.write(text.encode())


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is there once all of it is written; whoever makes it meanwhile keeps theirs.

    Raises:
        FileExistsError: It is there.
        OSError: It cannot be written.
    """
    with _partial(path, 0o666) as (partial, file):
        yield file
        file.close()
        try:
            # Unlike a rename, it takes no other's place.
            path.hardlink_to(partial)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links: EPERM, EOPNOTSUPP or ENOSYS, as it likes.
            if path.exists():
                raise
            partial.rename(path)


def remove_folder(folder: Path) -> None:
    """Remove a folder: it has another name before a part of it is gone. What cannot be removed stays.

    One that cannot be renamed, such as a mounted one, loses what it holds. One behind a link stays as it is.
    """
    gone = folder.with_name(f"{folder.name}.{os.getpid()}{GONE}")
    try:
        if not folder.is_symlink():
            folder.rename(gone)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
    # With what a killed command has left of an earlier one.
    for left in folder.parent.glob(f"{glob.escape(folder.name)}.*{GONE}"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _partial(path: Path, mode: int) -> Iterator[tuple[Path, BinaryIO]]:
    """A file beside the path, open, which is gone afterwards."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            yield partial, file
    except OSError as error:
        # Of a full disk the system names no file, and of others the one beside.
        error.filename, error.filename2 = str(path), None
        raise
    finally:
        partial.unlink(missing_ok=True)
