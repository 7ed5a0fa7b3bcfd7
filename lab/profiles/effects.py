"""Two profiles that ask for the same in different words."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from lab.profiles.connector_keys import is_ours, known_keys, value_as_read
from lab.profiles.mapping import leaves, load_template, mapping_for
from lab.profiles.models import Profile

_NANOSECONDS = {
    "nanos": 1,
    "micros": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
}


def effect_of(profile: Profile, root: Path) -> str:
    """A text that two profiles of a suite share if they make the same run, in whichever words.

    Counted as said: the defaults of this build of our sink, and its values by their types; connector templates and
    mappings by their content, without `_meta`; the path of a file once its links are followed; times of the index in
    any unit. Not counted: `load.warm_up_documents`, since suites warm up anyway. An index setting that states
    Elasticsearch's default is another effect: `refresh_interval: 1s` refreshes a shard that nobody searches, and no
    interval does not (`IndexShard.scheduledRefresh`). So are two files, and two programs, of one content.
    """
    values = profile.model_dump(mode="json", exclude={"name", "question", "where", "disabled_fields", "mapping"})
    mapping = dict(mapping_for(profile, root))
    own = {name.removeprefix("index."): value for name, value in leaves(mapping.pop("settings", {}))}
    mapping["mappings"] = {key: value for key, value in mapping.get("mappings", {}).items() if key != "_meta"}
    settings = _texts(own | dict(profile.index))
    values["mapping"], values["index"] = mapping, {name: _time(text) for name, text in settings.items()}
    values["topic"]["config"] = _texts(profile.topic.config)
    values["producer"]["client"] = _texts(profile.producer.client)
    values["load"].pop("warm_up_documents", None)
    for section, key in (("dataset", "path"), ("sink", "plugin_path")):
        if isinstance(path := values[section].get(key), str):
            values[section][key] = str(Path(path).resolve())
    if profile.load.uses_kafka and profile.sink.is_connector:
        values["sink"] |= {"connector": None, "config": _connector(profile, root)}
    return json.dumps(values, sort_keys=True)


def _connector(profile: Profile, root: Path) -> dict[str, str]:
    """The whole configuration of a profile's connector, with the defaults of ours."""
    config = _texts(load_template(profile.sink.connector, root)) | _texts(profile.sink.config)
    if not is_ours(config.get("connector.class", ""), profile.sink.plugin_path):
        return config
    stated = {name: key.default for name, key in known_keys().items() if key.default} | config
    return {name: value_as_read(name, text) for name, text in stated.items()}


def _time(text: str) -> str:
    """A time in nanoseconds, as Elasticsearch's `TimeValue` reads it; any other text as it is."""
    match = re.fullmatch(rf"\s*([0-9]+)\s*({'|'.join(_NANOSECONDS)})\s*", text, re.IGNORECASE)
    return f"{int(match[1]) * _NANOSECONDS[match[2].lower()]} ns" if match else text


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings as Kafka and Elasticsearch read them: 2000 is "2000", and true is "true"."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
