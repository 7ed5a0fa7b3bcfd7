"""`sink.command` of a profile: a pipeline that is any program."""

import shlex
import string
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.endpoints import words_without_secrets
from lab.errors import ProfileError
from lab.extensions import PipelineContext, ProgramPipeline


class CommandPipeline(ProgramPipeline):
    """The program and arguments that a profile states, with its placeholders filled in.

    Args:
        words: As the profile states them.
        values: What stands for `${kafka_bootstrap}`, `${topic}`, `${group}` …
    """

    def __init__(self, context: PipelineContext, words: Sequence[str], values: Mapping[str, str]) -> None:
        super().__init__(context)
        self._words = words
        self._values = values

    def prepare(self) -> None:
        """Fill in the placeholders; raises ProfileError if one is unknown."""
        self._words = filled_command(self._words, self._values)

    def command(self) -> Sequence[str]:
        """The words, filled in once it is prepared."""
        return self._words

    def description(self) -> Mapping[str, str]:
        """The command as it may be written down."""
        return {"command": shlex.join(words_without_secrets(self._words))}


def filled_command(words: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The command with its placeholders filled in.

    Args:
        values: What stands for `${kafka_bootstrap}`, `${topic}`, `${group}` …

    Raises:
        ProfileError: A placeholder is unknown, or a dollar sign begins none.
    """
    if broken := next((n for n, word in enumerate(words, 1) if not string.Template(word).is_valid()), None):
        raise ProfileError(
            f"sink.command: word {broken}: a dollar sign begins no placeholder; write $$ for a plain one"
        )
    try:
        return [string.Template(word).substitute(values) for word in words]
    except KeyError as error:
        names = ", ".join(f"${{{name}}}" for name in values)
        raise ProfileError(f"sink.command: unknown placeholder {error}; there are: {names}") from error


def own_values(root: Path) -> dict[str, str]:
    """The placeholders that need no server: this interpreter, and the checkout."""
    return {"python": sys.executable, "root": str(root)}
