"""Two profiles that ask for the same in different words."""

import json
from collections.abc import Mapping
from pathlib import Path

from lab.profiles.connector_keys import OURS, known_keys
from lab.profiles.mapping import leaves, load_template, mapping_for
from lab.profiles.models import Profile


def effect_of(profile: Profile, root: Path) -> str:
    """A text that two profiles share if they make the same run, whichever of them states a default or names a file.

    Counted as said: the sink's own defaults, connector templates, mappings by their content. An index setting that
    states Elasticsearch's default is not: `refresh_interval: 1s` refreshes a shard that nobody searches, and no
    interval does not (`IndexShard.scheduledRefresh`).
    """
    values = profile.model_dump(mode="json", exclude={"name", "question", "where", "disabled_fields", "mapping"})
    mapping = dict(mapping_for(profile, root))
    own = {name.removeprefix("index."): value for name, value in leaves(mapping.pop("settings", {}))}
    values["mapping"], values["index"] = mapping, _texts(own | dict(profile.index))
    values["topic"]["config"] = _texts(profile.topic.config)
    values["producer"]["client"] = _texts(profile.producer.client)
    if profile.load.uses_kafka and profile.sink.is_connector:
        values["sink"] |= {"connector": None, "config": _connector(profile, root)}
    return json.dumps(values, sort_keys=True)


def _connector(profile: Profile, root: Path) -> dict[str, str]:
    """The whole configuration of a profile's connector, with the defaults of ours."""
    config = _texts(load_template(profile.sink.connector, root)) | _texts(profile.sink.config)
    if not config.get("connector.class", "").startswith(OURS):
        return config
    return {key: default for key, default in known_keys().items() if default} | config


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    """Settings as Kafka and Elasticsearch read them: 2000 is "2000", and true is "true"."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
