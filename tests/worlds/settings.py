"""Settings of indices, as Elasticsearch keeps and shows them."""

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tests.worlds.indices import Index

DEFAULTS = orjson.loads(Path(__file__).with_name("defaults.json").read_bytes())
"""Those of Elasticsearch 8.19.21, as it gives them."""


def flat(tree: Mapping[str, Any], prefix: str = "index.", *, keep_none: bool = False) -> dict[str, Any]:
    """Settings as Elasticsearch keeps them: by their dotted names, as text."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        path = name if not prefix or name.startswith(prefix) or name == prefix[:-1] else f"{prefix}{name}"
        if isinstance(value, Mapping):
            inner = flat(value, "", keep_none=keep_none)
            found |= {f"{path}.{rest}".removeprefix("index.index."): each for rest, each in inner.items()}
        elif value is not None or keep_none:
            found[path] = value if isinstance(value, str | list | None) else orjson.dumps(value).decode()
    return found


def nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their dotted names as a tree."""
    tree: dict[str, Any] = {}
    for name, value in settings.items():
        *above, last = name.split(".")
        at = tree
        for part in above:
            at = at.setdefault(part, {})
        at[last] = value
    return tree


def settings_of(index: Index, names: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """The settings of an index that were asked for, and the defaults of the others."""
    patterns = names.split(",")

    def wanted(settings: Mapping[str, str]) -> dict[str, Any]:
        kept = {name: value for name, value in settings.items() if any(map_matches(name, patterns))}
        return kept if parameters.get("flat_settings") == "true" else nested(kept)

    answered = {"settings": wanted(index.settings)}
    if parameters.get("include_defaults") == "true":
        answered["defaults"] = wanted({name: value for name, value in DEFAULTS.items() if name not in index.settings})
    return answered


def map_matches(name: str, patterns: Sequence[str]) -> Iterator[bool]:
    """Whether each of the patterns matches a name."""
    return (pattern == "_all" or fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
