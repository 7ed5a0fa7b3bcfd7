"""Secrets of a YAML file: it says where each of them is, an environment variable or a file, and never what it is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.endpoints import is_secret
from lab.profiles.located import Located
from lab.profiles.problems import Problem

WHERE = "`{env: NAME}` or `{file: PATH}`"
PROVIDED = re.compile(r"\$\{[^{}]+\}")
"""A value that the Connect worker itself looks up, by one of its configuration providers."""
VISIBLE = re.compile(r"[\x20-\x7e]+")


@dataclass
class SecretValues:
    """Reads secrets from where a file says that they are; keeps them, and what is wrong.

    No problem shows a value: one that stands where none should may be the secret itself.

    Args:
        folder: What paths of files are relative to.
        environment: The variables.
    """

    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    found: set[str] = field(default_factory=set, repr=False)
    problems: list[Problem] = field(default_factory=list)

    def read(self, entry: Located, key: str, *, secret: bool) -> Located:
        """The entry with what stands in the variable or file as its value; broken if there is none to be had.

        Args:
            secret: Whether it is one; a user's name may stand there just as well.
        """
        names = sorted(entry.entries)
        if names not in (["env"], ["file"]):
            got = "other keys" if entry.entries else "a value"
            return self._refused(entry, key, f"got {got}, expected where the secret is: {WHERE}")
        (kind,) = names
        where = entry.entries[kind].value
        if not isinstance(where, str) or not where:
            return self._refused(entry, key, f"got no text under `{kind}`, expected {WHERE}")
        text = self._of_variable(where) if kind == "env" else self._of_file(where)
        if isinstance(text, _Missing):
            return self._refused(entry, key, text.why)
        if secret:
            self.found.add(text)
        return Located(text, entry.place)

    def read_settings(self, entry: Located, key: str) -> Located:
        """Settings of another system, by name, each as text."""
        if not isinstance(entry.value, dict):
            self._refused(entry, key, "got no mapping, expected settings by name")
            return Located({}, entry.place, broken=True)
        settings = {
            name: self.read_setting(setting, f"{key}.{name}", secret=is_secret(name))
            for name, setting in entry.entries.items()
        }
        return replace(entry, value=settings)

    def read_setting(self, entry: Located, key: str, *, secret: bool) -> Located:
        """A setting of another system as text; its value stands there itself unless it is a secret.

        Args:
            secret: Whether the setting's name says that its value is one.
        """
        if entry.entries:
            return self.read(entry, key, secret=secret)
        if entry.value is None or isinstance(entry.value, dict | list):
            return self._refused(entry, key, f"got no text or number, expected one (or {WHERE})")
        text = setting_text(entry)
        if secret and not PROVIDED.fullmatch(text):
            return self._refused(entry, key, f"got a value, expected where the secret is: {WHERE}")
        return replace(entry, value=text)

    def _of_variable(self, name: str) -> "str | _Missing":
        text = self.environment.get(name, "")
        return text or _Missing(f"the environment variable {name} is not set, expected it to hold the secret")

    def _of_file(self, name: str) -> "str | _Missing":
        path = self.folder / name
        try:
            text = path.read_text(encoding="utf-8-sig").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            return _Missing(f"{path}: cannot be read ({type(error).__name__}), expected a file that holds the secret")
        return text or _Missing(f"{path}: is empty, expected a file that holds the secret")

    def _refused(self, entry: Located, key: str, message: str) -> Located:
        self.problems.append(Problem(entry.place, key, message))
        return Located("", entry.place, broken=True)


@dataclass(frozen=True)
class _Missing:
    """Why there is no secret."""

    why: str


def setting_text(entry: Located) -> str:
    """A setting's value as its author wrote it; `true` and `false` as Kafka reads them."""
    if isinstance(entry.value, bool):
        return str(entry.value).lower()
    return str(entry.value) if entry.written is None else entry.written


def fits_into_a_header(text: str) -> bool:
    """Whether a text can be sent in a header of HTTP; whoever tries with another is told of it, with the text."""
    return VISIBLE.fullmatch(text) is not None
