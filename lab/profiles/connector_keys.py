"""Keys of a connector's configuration that nothing reads: Kafka Connect accepts them in silence."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from lab.errors import ProfileError
from lab.profiles.located import Located
from lab.profiles.mapping import TEMPLATES, load_template
from lab.profiles.models import Sink
from lab.profiles.problems import Place, Problem, suggestion

OURS = "io.sluice.connect."
"""Package of our connectors."""

_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_PLUGINS = ("transforms", "predicates")
_CLIENTS = ("consumer.override.", "producer.override.", "admin.override.")
_NAMES_CLASSES = re.compile(r"\.(class|classes|reporters|providers|assignment\.strategy)$")
"""Ends the client settings that name classes, which read keys of their own from the same configuration."""


@cache
def known_keys() -> Mapping[str, str]:
    """Keys of our sink, of Kafka Connect, and of Kafka's clients below their prefixes → default of a key of our sink.

    The default is empty where there is none, and for all keys of others. Source: the `ConfigDef` of each; the plugin's
    `SettingsTableTest` writes the file and compares it.
    """
    lines = Path(__file__).with_name("connector_keys.txt").read_text(encoding="utf-8").splitlines()
    return {key: default for key, _, default in (line.partition(" ") for line in lines)}


def connector_key_problems(tree: Located, root: Path) -> Iterator[Problem]:
    """Every key of our connector, in the profile or in the template, that nothing reads; none of other connectors."""
    if tree.at("sink", "command") is not None or tree.at("sink", "pipeline") is not None:
        return
    name = tree.at("sink", "connector")
    connector = str(name.value) if name is not None else Sink().connector
    section = tree.at("sink", "config")
    own = section.entries if section is not None else {}
    try:
        template = load_template(connector, root)
    except ProfileError:
        # A template that is missing or broken is refused elsewhere.
        return
    config = template | {key: entry.plain() for key, entry in own.items()}
    if not str(config.get("connector.class")).startswith(OURS):
        return
    for key, message in unread_keys(config).items():
        if key not in own:
            yield Problem(Place(f"{TEMPLATES}/{connector}.json"), key, message)
        elif not own[key].broken:
            yield Problem(own[key].place, f"sink.config.{key}", message)


def unread_keys(config: Mapping[str, object]) -> dict[str, str]:
    """Keys that nothing reads in the whole configuration of a connector of ours, each with what to say about it.

    The keys of a converter, transform, predicate or class of a client cannot be known, and count as read if the
    configuration names that plugin.
    """
    own = tuple(f"{prefix}metrics.context." for prefix in _CLIENTS) + tuple(
        prefix for prefix in _CLIENTS if any(key.startswith(prefix) and _NAMES_CLASSES.search(key) for key in config)
    )
    return {
        key: message
        for key in config
        if key not in known_keys() and not key.startswith(own) and (message := _why_unread(key, config)) is not None
    }


def _why_unread(key: str, config: Mapping[str, object]) -> str | None:
    """What to say about a key that is none of Kafka's or our sink's; `None` if a plugin may read it."""
    for converter in _CONVERTERS:
        if key.startswith(f"{converter}."):
            return None if converter in config else f"no effect, expected `{converter}` as well, which reads it"
    for kind in _PLUGINS:
        if key.startswith(f"{kind}."):
            named = str(config.get(kind, ""))
            aliases = [alias.strip() for alias in named.split(",") if alias.strip()]
            if "${" in named or key.startswith(tuple(f"{kind}.{alias}." for alias in aliases)):
                return None
            alias = key.split(".")[1]
            return f'no effect: `{kind}` does not name "{alias}", {suggestion(alias, aliases, "one of")}'
    expected = "a setting of the sink, of Connect, or of a client below `consumer.override.`"
    return f"unknown key, {suggestion(key, known_keys(), expected)}"
