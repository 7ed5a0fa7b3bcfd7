"""Files of the repository: where they are, how a message names one, and why one cannot be read."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
"""The folder that holds experiments/, mappings/ and connect/."""


def names_in(folder: Path) -> list[str]:
    """Names of the YAML files below a folder, sorted."""
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml"))


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
