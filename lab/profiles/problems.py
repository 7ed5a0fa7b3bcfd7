"""What is wrong with a profile, where it stands, and what was probably meant."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.errors import ProfileError


@dataclass(frozen=True)
class Place:
    """Where a value was written.

    Attributes:
        source: A file as a message names it, or `--set KEY`.
        line: Counted from 1; `None` where the source has no lines.
    """

    source: str
    line: int | None = None

    def __str__(self) -> str:
        """`file:line`, or the source alone."""
        return self.source if self.line is None else f"{self.source}:{self.line}"


@dataclass(frozen=True)
class Problem:
    """One line of a refusal.

    Attributes:
        key: Dotted key of the offending value; empty for the file as a whole.
        message: `what: got X, expected Y`.
        is_absence: Something is missing, which another file may hold.
    """

    place: Place
    key: str
    message: str
    is_absence: bool = False

    def __str__(self) -> str:
        """`place: key: message`; a key that the place names already is not repeated."""
        if not self.key or self.place.source == f"--set {self.key}":
            return f"{self.place}: {self.message}"
        return f"{self.place}: {self.key}: {self.message}"


def refusal(problems: Iterable[Problem]) -> ProfileError:
    """One error that holds every problem, a line each, in the order of files and lines; the command line comes last."""
    distinct = list(dict.fromkeys(problems))
    order = {source: rank for rank, source in enumerate(dict.fromkeys(problem.place.source for problem in distinct))}
    distinct.sort(key=lambda problem: (problem.place.line is None, order[problem.place.source], problem.place.line))
    return ProfileError("\n".join(map(str, distinct)))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant to be; `None` when none is close."""
    matches = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def suggestion(word: str, known: Iterable[str], what: str) -> str:
    """The end of a sentence about an unknown word: the nearest known one, or what there is to choose from."""
    words = sorted(known)
    match = nearest(word, words)
    if match is not None:
        return f"did you mean `{match}`?"
    if not words:
        return f"expected {what}, and there is none"
    if len(words) > MOST_WORDS_LISTED:
        return f"expected {what}"
    return f"expected {what}: {', '.join(f'`{known_word}`' for known_word in words)}"


def is_there(path: Path) -> bool:
    """Whether there is something to read, be it that reading it fails; a folder that hides it may hold it."""
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


MOST_WORDS_LISTED = 24
