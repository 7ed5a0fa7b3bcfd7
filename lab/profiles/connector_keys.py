"""Keys of a connector's configuration that nothing reads: Kafka Connect accepts them in silence."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lab.errors import ProfileError
from lab.profiles.located import Located
from lab.profiles.mapping import TEMPLATES, load_template
from lab.profiles.models import Sink
from lab.profiles.problems import Place, Problem, nearest, suggestion

OURS = "io.sluice.connect."
"""Package of our connectors."""

_CONNECTORS = ("ElasticsearchSink", "DiscardSink", "NumberingSink")
"""Simple names of our connectors, without `Connector`."""

_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_KAFKAS_CONVERTERS = {
    "ByteArrayConverter": ("converter.type",),
    "StringConverter": ("converter.type", "converter.encoding"),
    "JsonConverter": (
        "converter.type",
        "decimal.format",
        "replace.null.with.default",
        "schema.content",
        "schemas.cache.size",
        "schemas.enable",
    ),
}
"""Kafka's own converters → the keys that they read, by their `ConfigDef`."""

_PLUGINS = ("transforms", "predicates")
_CLIENTS = ("consumer.override.", "producer.override.", "admin.override.")
_NAMES_CLASSES = re.compile(r"\.(class|classes|reporters|providers|assignment\.strategy|serializer|deserializer)$")
"""Ends the client settings that name classes, which read keys of their own from the same configuration."""

_TYPING_ERROR = 0.9
"""Similarity from which a client's key is a typing error of one of Kafka's, and not a class's: `max.pol.records`."""


class Key(NamedTuple):
    """Type and default of a key; the default is empty where there is none, and for all keys of others than our sink."""

    type: str
    default: str


@cache
def known_keys() -> Mapping[str, Key]:
    """Keys of our sink, of Kafka Connect, and of Kafka's clients below their prefixes.

    Source: the `ConfigDef` of each; the plugin's `SettingsTableTest` writes the file and compares it. The type `word`
    is one of a few words, in any case.
    """
    lines = Path(__file__).with_name("connector_keys.txt").read_text(encoding="utf-8").splitlines()
    return {key: Key(*rest.partition(" ")[::2]) for key, _, rest in (line.partition(" ") for line in lines)}


def is_ours(connector: object, plugin_path: object) -> bool:
    """True if `connector.class` names a connector of this build, by its class or by a short name that Connect takes.

    A `sink.plugin_path` may hold another build of it, of which nothing is known here.

    Source: `PluginUtils.simpleName` and `prunedName` of Kafka Connect: the simple name, with or without `Connector`.
    """
    name = str(connector).strip()
    return plugin_path is None and (name.startswith(OURS) or name.removesuffix("Connector") in _CONNECTORS)


def value_as_read(key: str, text: str) -> str:
    """A value as the type of its key reads it: ` 02000 ` as 2000, `TRUE` as true; of an unknown key, as it is.

    Source: `ConfigDef.parseType` of Kafka; for words `Accepts.oneOf` of our sink.
    """
    if key not in known_keys():
        return text
    text, kind = text.strip(), known_keys()[key].type
    if kind in {"boolean", "word"}:
        return text.lower()
    if kind in {"short", "int", "long"} and re.fullmatch(r"[+-]?[0-9]+", text):
        return str(int(text))
    return re.sub(r"\s*,\s*", ",", text) if kind == "list" else text


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
    path = tree.at("sink", "plugin_path")
    if not is_ours(config.get("connector.class"), None if path is None else path.value):
        return
    for key, message in unread_keys(config).items():
        if key not in own:
            yield Problem(Place(f"{TEMPLATES}/{connector}.json"), key, message)
        elif not own[key].broken:
            yield Problem(own[key].place, f"sink.config.{key}", message)


def unread_keys(config: Mapping[str, object]) -> dict[str, str]:
    """Keys that nothing reads in the whole configuration of a connector of ours, each with what to say about it.

    The keys of a converter, transform, predicate or class of a client cannot be known, unless it is a converter of
    Kafka's, and count as read if the configuration names that plugin.
    """
    unread = ((key, _why_unread(key, config)) for key in config if key not in known_keys())
    return {key: message for key, message in unread if message is not None}


def _why_unread(key: str, config: Mapping[str, object]) -> str | None:
    """What to say about a key that is none of Kafka's or our sink's; `None` if a plugin may read it."""
    for converter in _CONVERTERS:
        if key.startswith(f"{converter}."):
            return _why_not_of_converter(key, converter, config)
    for kind in _PLUGINS:
        if key.startswith(f"{kind}."):
            return _why_not_of_plugin(key, kind, config)
    for client in _CLIENTS:
        if key.startswith(client):
            return _why_not_of_client(key, client, config)
    settings = [name for name in known_keys() if not name.startswith(_CLIENTS)]
    expected = "a setting of the sink, of Connect, or of a client below `consumer.override.`"
    return f"unknown key, {suggestion(key, settings, expected)}"


def _why_not_of_converter(key: str, converter: str, config: Mapping[str, object]) -> str | None:
    if converter not in config:
        return f"no effect, expected `{converter}` as well, which reads it"
    package, _, name = str(config[converter]).strip().rpartition(".")
    keys = _KAFKAS_CONVERTERS.get(name) if package.startswith("org.apache.kafka.connect") or not package else None
    own = key.removeprefix(f"{converter}.")
    if keys is None or own in keys:
        return None
    return f"no effect: {name} does not read it, {suggestion(own, keys, 'one of')}"


def _why_not_of_plugin(key: str, kind: str, config: Mapping[str, object]) -> str | None:
    named = str(config.get(kind, ""))
    aliases = [alias.strip() for alias in named.split(",") if alias.strip()]
    if "${" in named or key.startswith(tuple(f"{kind}.{alias}." for alias in aliases)):
        return None
    alias = key.split(".")[1]
    return f'no effect: `{kind}` does not name "{alias}", {suggestion(alias, aliases, "one of")}'


def _why_not_of_client(key: str, client: str, config: Mapping[str, object]) -> str | None:
    name = key.removeprefix(client)
    names = [known.removeprefix(client) for known in known_keys() if known.startswith(client)]
    has_classes = any(f"{client}{known}" in config and _NAMES_CLASSES.search(known) for known in names)
    may_be_of_class = has_classes and nearest(name, names, _TYPING_ERROR) is None
    if name.startswith("metrics.context.") or may_be_of_class:
        return None
    match = nearest(name, names)
    remedy = f"did you mean `{client}{match}`?" if match else f"expected a setting of the {client.partition('.')[0]}"
    return f"unknown key, {remedy}"
