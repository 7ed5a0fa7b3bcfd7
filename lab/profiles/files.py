"""Profiles, mappings and other files: where they are, how a message names one, and why one cannot be read."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from lab import ROOT
from lab.profiles.problems import suggestion

REPOSITORY = ROOT
"""The folder that holds experiments/, mappings/ and connect/. The working folder may hold more of them."""


_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)*")
_SUFFIXES = (".yaml", ".yml")


def folders(kind: Path | str, root: Path) -> tuple[Path, ...]:
    """Where files of a kind (`experiments/profiles`, `mappings`) are: your own first, in the working folder."""
    return (Path(kind), root / kind) if root == REPOSITORY else (root / kind,)


def file_of(kind: Path | str, file_name: str, root: Path) -> Path:
    """The file of a kind: your own, or else the one that comes with Sluice, whether that exists or not."""
    *own, ours = (folder / file_name for folder in folders(kind, root))
    return next(filter(is_there, own), ours)


def names_in(kind: Path | str, root: Path, suffix: str = ".yaml") -> list[str]:
    """Names of the files of a kind, sorted."""
    return sorted(
        {
            path.relative_to(folder).with_suffix("").as_posix()
            for folder in folders(kind, root)
            for path in folder.rglob(f"*{suffix}")
        }
    )


def yaml_file(name_or_path: str, kind: Path, root: Path, beside: Path = Path()) -> Path | None:
    """The file of a kind by its name, or of a path relative to `beside`; `None` when there is none."""
    if name_or_path.endswith(_SUFFIXES):
        path = beside / name_or_path
    elif _NAME.fullmatch(name_or_path):
        path = file_of(kind, f"{name_or_path}.yaml", root)
    else:
        return None
    return path if is_there(path) else None


def not_there(name_or_path: str, what: str, names: Iterable[str]) -> str:
    """What to say when there is no `yaml_file`.

    Args:
        what: What the file would hold, such as `profile`.
        names: Those that there are.
    """
    if name_or_path.endswith(_SUFFIXES):
        return f"{name_or_path}: no such file, expected a {what}"
    if what == "profile" and is_there(Path(name_or_path)):
        return f"{name_or_path}: is no profile; of documents, make one with: ./sluice init {shlex.quote(name_or_path)}"
    lists = f"a {what}" if what == "space" else f"one that `./sluice {what}s` lists"
    return f'unknown {what} "{name_or_path}", {suggestion(name_or_path, names, lists)}'


def label_of(path: Path, root: Path) -> str:
    """How a message names a file: relative to the repository when it lies there."""
    resolved = path.resolve()
    return resolved.relative_to(root.resolve()).as_posix() if resolved.is_relative_to(root.resolve()) else str(path)


def is_there(path: Path) -> bool:
    """Whether a file exists, readable or not; one in a folder that may not be opened counts as existing."""
    try:
        path.stat()
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, without its name."""
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8: got byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return f"cannot be read: {error.strerror}"
