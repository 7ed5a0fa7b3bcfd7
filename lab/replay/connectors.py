"""Dead letters of connectors that run in a worker: their queue, and a way beside the connector back into the index."""

import re
import secrets
from collections.abc import Mapping

from lab.clients.connect import topics_read
from lab.clients.target import worker_of
from lab.endpoints import Endpoints
from lab.errors import ProfileError
from lab.profiles.connector_keys import OURS
from lab.replay.replay import Route, replayed

QUEUE = "errors.deadletterqueue.topic.name"
BESIDE = "sluice-replay-"
RENAMING = "sluiceReplay"
OTHERS_OWN = ("topics", "topics.regex", "consumer.override.group.id", "consumer.override.group.instance.id")
"""Settings that say what the running connector reads, and as whom."""

Configs = Mapping[str, Mapping[str, str]]


def configs_of(endpoints: Endpoints) -> Configs:
    """The configurations of the worker's connectors, by name."""
    worker = worker_of(endpoints)
    try:
        return worker.configs()
    finally:
        worker.close()


def queue_of(configs: Configs, topic: str) -> str | None:
    """The dead-letter topic of a connector that has or reads this topic; `None` where there is no such connector."""
    reading = [
        config for config in configs.values() if topic in (config.get(QUEUE), *topics_read(config, there=[topic]))
    ]
    return next((queue for config in reading if (queue := config.get(QUEUE))), None)


def connector_of_queue(configs: Configs, queue: str, named: str | None) -> dict[str, str]:
    """The configuration with which letters of this queue are sent again.

    Args:
        named: The connector that the user names.

    Raises:
        ProfileError: There is no such connector, several have the queue, or it is not a connector of ours.
    """
    # One of a replay that was killed has the queue, too.
    configs = {name: config for name, config in configs.items() if not name.startswith(BESIDE)}
    there = ", ".join(sorted(configs)) or "none"
    if named is not None and named not in configs:
        raise ProfileError(f"--connector: got {named}, which the worker does not have; there are: {there}")
    found = [named] if named else sorted(name for name, config in configs.items() if config.get(QUEUE) == queue)
    if len(found) != 1:
        raise ProfileError(
            f"topic {queue}: got {', '.join(found) or 'no connector'} with {QUEUE}={queue}, expected one; name it with "
            f"--connector; there are: {there}"
        )
    config = {**configs[found[0]], "name": found[0]}
    kind = config.get("connector.class", "")
    if not kind.startswith(OURS):
        raise ProfileError(
            f"connector {found[0]}: got class {kind}, expected one of ours, which alone gives a letter the id and "
            "version that its record had; `./sluice dead-letters export` writes the documents to a file"
        )
    return config


def beside(config: Mapping[str, str], queue: str, source: str, unfinished: str | None = None) -> Route:
    """Way into the index that the running connector, which reads the source, does not see.

    Letters go into a topic of the replay's own. A first transform gives each record the name of its source, so that
    index, mapping of topics and further transforms are those of the connector.

    Args:
        source: Topic that the records were in.
        unfinished: Topic that a replay, broken off, has left.
    """
    kept = {name: value for name, value in config.items() if name not in OTHERS_OWN}
    # Of each replay another one: a letter that is rejected again is known by its place there.
    topic = unfinished or f"{BESIDE}{queue}--{source}--{secrets.token_hex(4)}"
    chain = [RENAMING, *filter(None, (name.strip() for name in config.get("transforms", "").split(",")))]
    renaming = {"type": "org.apache.kafka.connect.transforms.RegexRouter", "regex": ".*", "replacement": source}
    own = {
        "name": BESIDE + re.sub(r"[^\w.-]", "-", config["name"]),
        "topics": topic,
        "tasks.max": "1",
        "transforms": ",".join(chain),
        **{f"transforms.{RENAMING}.{name}": value for name, value in renaming.items()},
    }
    return Route(replayed({**kept, **own}), topic, is_temporary=True)


def unfinished_topics(names: set[str], queue: str) -> dict[str, str]:
    """Topics of letters that a replay, broken off, has sent and the sink may not have read, by source topic."""
    begin = f"{BESIDE}{queue}--"
    return {name.removeprefix(begin).rpartition("--")[0]: name for name in names if name.startswith(begin)}
