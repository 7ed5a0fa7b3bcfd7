"""The pipeline between a topic and an index, as far as its connector, its group and a sample of its ids tell."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lab.audit.ids import CONTENT, NO_DOCUMENT, IdRule, Record, candidates, rule_called
from lab.audit.index import Index
from lab.clients.connect import ConnectWorker, topics_read
from lab.clients.kafka import KafkaTopics
from lab.errors import ProfileError, StackError

OF_CONNECT = "connect-"
GENERATED = re.compile(r"[A-Za-z0-9_-]{20}")
"""An id that Elasticsearch makes (`TimeBasedUUIDGenerator`): 15 bytes in Base64 for URLs."""
LONGEST_ID = 512
"""Characters, since an id has at most so many bytes."""
LEAST_DIFFERENT = 0.1
"""Share of different ids in a sample by a field or header, since small numbers such as quantities are ids by chance."""
LEAST_HITS = 0.02
"""Share of a sample that must be in the index by a rule, so that chance does not choose the rule."""


@dataclass(frozen=True)
class Wishes:
    """Options that say what the pipeline is, in place of what is found.

    Attributes:
        shared: Other topics or programs feed the index, too.
    """

    connector: str | None = None
    group: str | None = None
    dead_letters: str | None = None
    deletes: bool | None = None
    id: str = "auto"
    shared: bool = False


@dataclass(frozen=True)
class Pipeline:
    """Facts about a pipeline.

    Attributes:
        group: Consumer group; `None` if none is known, so that no record is in flight.
        deletes: A tombstone deletes; `None` if nothing says.
        is_upsert: Records are merged into documents, so that neither contents nor versions are theirs.
        unread: Why the connector's configuration is not known, although there is a worker.
    """

    group: str | None = None
    dead_letters: str | None = None
    deletes: bool | None = None
    shared: bool = False
    is_upsert: bool = False
    id_prefix: str = ""
    unread: str = ""
    config: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def doubt(self) -> str:
        """The sentence about dead letters that are not known; empty where they are, or there is no worker."""
        if not self.unread or self.dead_letters:
            return ""
        effect = "so that its dead letters count as missing (--dead-letters)"
        return f"the connector's configuration cannot be read, {effect}: {self.unread}"

    def reads(self, topic: str) -> bool:
        """Check that the connector's configuration, if it is known, names a topic."""
        return topic in topics_read(self.config, there=[topic])


def find_pipeline(wishes: Wishes, topic: str, kafka: KafkaTopics, worker: ConnectWorker | None) -> Pipeline:
    """The pipeline of the connector or group that is named, or else of the one that has read the topic.

    Raises:
        ProfileError: The connector is unknown, does not read the topic, or several groups do and none is named.
    """
    group, connector, unread = wishes.group, wishes.connector, ""
    config: Mapping[str, str] = {}
    if connector is None and group is None:
        groups = kafka.groups_reading(topic)
        if len(groups) > 1:
            raise ProfileError(
                f"topic {topic}: got {len(groups)} consumer groups that read it ({', '.join(groups[:5])}), expected "
                "one; name it with --group, or --group none"
            )
        group = groups[0] if groups else None
    is_unknown = connector is None and group is None
    group = None if group == "none" else group
    if wishes.group and group and not any(kafka.committed_offsets(topic, group).values()):
        raise ProfileError(f"--group: got {group}, expected a group that has committed offsets of topic {topic}")
    if wishes.dead_letters and wishes.dead_letters not in kafka.names():
        raise ProfileError(f"--dead-letters: got {wishes.dead_letters}, expected a topic of this cluster")
    try:
        connector = connector_that_begins(topic, worker) if is_unknown else connector
        config = connector_config(connector, group, worker)
    except StackError as error:
        if wishes.connector:
            raise
        unread = str(error)
    if wishes.connector and topic not in (topics := listed(config.get("topics"))) and not config.get("topics.regex"):
        raise ProfileError(f"--connector: {wishes.connector} reads {', '.join(topics)}, expected {topic} among them")
    if connector and group is None:
        group = config.get("consumer.override.group.id") or OF_CONNECT + connector
    on_null = config.get("behavior.on.null.values", "").lower()
    found = {"delete": True, "ignore": False, "fail": False}.get(on_null)
    return Pipeline(
        group=group,
        dead_letters=wishes.dead_letters or config.get("errors.deadletterqueue.topic.name"),
        deletes=found if wishes.deletes is None else wishes.deletes,
        shared=wishes.shared or len(listed(config.get("topics"))) > 1 or "topics.regex" in config,
        is_upsert=config.get("write.method", "").lower() == "upsert",
        id_prefix=config.get("id.prefix", ""),
        unread=unread,
        config=config,
    )


def listed(text: str | None) -> list[str]:
    """The names in a list with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def connector_that_begins(topic: str, worker: ConnectWorker | None) -> str | None:
    """The only connector of the worker that reads the topic, for one that has committed nothing yet, as if it fails."""
    configs = worker.configs() if worker else {}
    names = [name for name, config in configs.items() if Pipeline(config=config).reads(topic)]
    return names[0] if len(names) == 1 else None


def connector_config(name: str | None, group: str | None, worker: ConnectWorker | None) -> Mapping[str, str]:
    """The configuration of a connector: of the one that is named, or else of the one whose group this is, if any is.

    Raises:
        ProfileError: There is none of the name that is given.
    """
    if worker is None:
        if name:
            raise ProfileError(f"--connector: got {name}, expected `connect` in the target file as well")
        return {}
    if name is not None:
        if not (config := worker.config(name)):
            raise ProfileError(f"--connector: got {name}, expected a connector of this worker")
        return config
    if group is None or not group.startswith(OF_CONNECT):
        return {}
    return worker.config(group.removeprefix(OF_CONNECT)) or {}


def find_rule(wish: str, sample: Sequence[Record], index: Index, pipeline: Pipeline) -> tuple[IdRule, str]:
    """The rule by which ids are made, and the sentence that says so.

    Raises:
        ProfileError: No rule fits, or the index cannot tell.
    """
    if wish != "auto":
        rule = rule_called(wish)
        return rule, f"ids are {rule.text}, as --id says"
    is_empty = not index.count()
    if not sample and not is_empty:
        raise ProfileError(
            f"--id: got auto, expected a rule, since no record of the range can be tried: none has a value"
            f"{f' and is committed by {pipeline.group}' if pipeline.group else ''}"
        )
    hits: dict[str, int] = {}
    best: tuple[int, IdRule] | None = None
    for rule in candidates(sample, pipeline.id_prefix):
        ids = sorted({each for each in map(rule.id_of, sample) if each and len(each) <= LONGEST_ID})
        if rule.name.startswith(("field:", "header:")) and len(ids) < LEAST_DIFFERENT * len(sample):
            ids = []
        # A get finds what an index that was not refreshed yet holds.
        hits[rule.name] = len(index.find(ids) if is_empty else index.search(ids))
        if best is None or hits[rule.name] > best[0]:
            best = hits[rule.name], rule
        if hits[rule.name] > len(sample) / 2:
            break
    if best and best[0] > LEAST_HITS * len(sample):
        number, rule = best
        different = len({rule.id_of(record) for record in sample})
        return rule, f"ids are {rule.text}: {number:,} of {different:,} sampled are in the index"
    if is_empty:
        name = "key" if all(record.key for record in sample) else "offset"
        return rule_called(name), "the index is empty, so that no rule for ids can be found out"
    names = index.first_ids()
    is_json = sum(record.document is not NO_DOCUMENT for record in sample) > len(sample) / 2
    if is_json and all(map(GENERATED.fullmatch, names)):
        rule = rule_called(CONTENT)
        return rule, f"ids are {rule.text}"
    tried = ", ".join(f"{name} ({number})" for name, number in hits.items())
    raise ProfileError(
        f"topic {sample[0].place.topic if sample else ''}: no rule for ids fits: of {len(sample)} sampled records the "
        f"index has by {tried}; name the rule with --id, or check that this topic feeds this index"
    )
