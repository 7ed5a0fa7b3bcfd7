"""What is wrong with a profile, where it stands, and what was probably meant."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from lab.errors import ProfileError

MOST_WORDS_LISTED = 24
TYPING_ERROR = 0.8
"""Similarity of words that differ by a letter or two."""
SET = "--set"
"""The option for any value of a profile; some values have one of their own."""


@dataclass(frozen=True)
class Place:
    """Where a value was written.

    Attributes:
        source: A file as a message names it, or an option: `--set KEY`, `--rate`.
        line: Counted from 1; `None` where the source has no lines.
        key: The dotted key that an option sets; empty for a file.
    """

    source: str
    line: int | None = None
    key: str = ""

    def __str__(self) -> str:
        """`file:line`, or the source alone."""
        return self.source if self.line is None else f"{self.source}:{self.line}"

    @classmethod
    def of_key(cls, where: str, key: str) -> "Place":
        """Where a profile says that it has the value of a key: in a file, `--set`, or another option."""
        if where == SET:
            return cls(f"{SET} {key}", key=key)
        return cls(where, key=key if where.startswith("--") else "")


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
        if not self.key or self.key == self.place.key:
            return f"{self.place}: {self.message}"
        return f"{self.place}: {self.key}: {self.message}"


def refusal(problems: Iterable[Problem]) -> ProfileError:
    """One error that holds every problem, a line each, in the order of files and lines; the command line comes last."""
    distinct = list(dict.fromkeys(problems))
    order = {source: rank for rank, source in enumerate(dict.fromkeys(problem.place.source for problem in distinct))}
    distinct.sort(key=lambda problem: (problem.place.line is None, order[problem.place.source], problem.place.line))
    return ProfileError("\n".join(map(str, distinct)))


def nearest(word: str, words: Iterable[str], similarity: float = 0.6) -> str | None:
    """Which of the words `word` was probably meant to be; `None` when none is as similar, from 0 to 1.

    `shards` is `number_of_shards` rather than a word of somewhat similar letters.
    """
    choices = sorted(words)
    typed = difflib.get_close_matches(word, choices, n=1, cutoff=max(similarity, TYPING_ERROR))
    whole = [choice for choice in choices if word in re.split(r"[._-]", choice)]
    similar = difflib.get_close_matches(word, choices, n=1, cutoff=similarity)
    return next(iter(typed or (whole if len(whole) == 1 else similar)), None)


def suggestion(word: str, words: Iterable[str], what: str) -> str:
    """The end of a sentence about an unknown word: the nearest one that exists, or all that there are."""
    choices = sorted(words)
    match = nearest(word, choices)
    if match is not None:
        return f"did you mean `{match}`?"
    if not choices:
        return "there are none"
    if len(choices) > MOST_WORDS_LISTED:
        return f"expected {what}"
    return f"expected {what}: {', '.join(f'`{choice}`' for choice in choices)}"
