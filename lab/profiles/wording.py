"""How a refusal words what it found."""

import json
from collections.abc import Iterable, Iterator

from lab.profiles.located import Located
from lab.profiles.problems import Problem, suggestion


def shown(value: object, entry: Located | None) -> str:
    """A value as its author wrote it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if entry is not None and entry.written is not None and not isinstance(value, str):
        return entry.written
    return json.dumps(value, ensure_ascii=False, default=str)


def unknown_name(entry: Located, key: str, what: str, known: Iterable[str]) -> Iterator[Problem]:
    """The problem of a text that is not among the known names; none for what is no text, which is checked elsewhere."""
    names = frozenset(known)
    if isinstance(entry.value, str) and entry.value not in names:
        said = suggestion(entry.value, names, f"a {what}")
        yield Problem(entry.place, key, f'unknown {what} "{entry.value}", {said}')
