"""A profile out of an inspected pipeline: a sample of its documents, its mapping and its settings."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Message

from lab.analysis.text import quantity
from lab.clients.kafka import KafkaTopics, as_bytes
from lab.errors import ProfileError, unwritable
from lab.init.files import NAME, quoted, refuse_taken, write_files
from lab.inspect.connector import POLL, InspectedConnector
from lab.inspect.index import InspectedIndex
from lab.inspect.limits import Pipeline
from lab.profiles import load_profile
from lab.profiles.connector_keys import known_keys, value_as_read

MOST_BYTES = 1_000_000_000
"""Of all sampled documents; a topic of large ones gives fewer."""
MOST_NODES = 6
OF_INDEX = re.compile(
    r"number_of_(shards|replicas)|refresh_interval|codec|mode|translog\..+|sort\..+|merge\..+|mapping\..+"
    r"|max_(ngram|shingle)_diff|routing_partition_size"
)
"""Settings of an index that a profile takes over; others name nodes, policies and pipelines of that cluster."""
NOT_TAKEN = re.compile(r"(key|value|header)\.converter.*|transforms|errors\..+|pipeline|routing|write\.method")
"""Settings of the connector that the lab sets itself, or that need something of that cluster."""
OF_TEMPLATE = frozenset({POLL, "behavior.on.null.values"})
UNWRITABLE_MAPPING = ("_meta", "_data_stream_timestamp", "_routing")
"""Parts of a mapping that the lab writes itself, or that ask of documents what the sample lacks, such as a routing."""


@dataclass(frozen=True)
class Sampled:
    """Documents taken of topics, as the bulk format (with ids) or one per line.

    Attributes:
        left_out: Records without a JSON object, or without the key that is to be their id.
    """

    documents: int
    left_out: int
    has_ids: bool


def sampled_records(topics: KafkaTopics, names: tuple[str, ...], most: int) -> Iterator[Message]:
    """The newest records of each partition, as many of each, at most so many in all; no offset is committed."""
    ends = {name: topics.end_offsets(name) for name in names}
    each = max(1, most // max(1, sum(map(len, ends.values()))))
    for name, offsets in ends.items():
        yield from topics.records(name, {partition: max(0, end - each) for partition, end in offsets.items()})


def write_documents(path: Path, records: Iterator[Message], most: int, *, has_ids: bool) -> Sampled:
    """Write the documents of records into a file that is there.

    Raises:
        ProfileError: No record has a document, or the file cannot be written.
    """
    documents = left_out = size = 0
    try:
        with path.open("wb") as file:
            for record in records:
                line = line_of(record, has_ids=has_ids)
                if line is None:
                    left_out += 1
                    continue
                file.write(line)
                documents, size = documents + 1, size + len(line)
                if documents >= most or size >= MOST_BYTES:
                    break
    except OSError as error:
        raise unwritable(f"{path}: cannot be written", error) from error
    if not documents:
        seen = f"{quantity(left_out, 'record')} without a JSON object or key" if left_out else "no records"
        raise ProfileError(f"--as-profile: got {seen}, expected JSON; values are read as they are in the topic")
    return Sampled(documents, left_out, has_ids)


def line_of(record: Message, *, has_ids: bool) -> bytes | None:
    """A record's document as a line, below its action line where it has an id; `None` without a document or id.

    Of Connect's envelope (`JsonConverter` with schemas) the payload is the document.
    """
    try:
        document = orjson.loads(as_bytes(record.value()) or b"null")
        key = key_text(as_bytes(record.key()))
    except (orjson.JSONDecodeError, UnicodeDecodeError):
        return None
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        document = document["payload"]
    if not isinstance(document, dict) or (has_ids and not key):
        return None
    action = orjson.dumps({"index": {"_id": key}}) + b"\n" if has_ids else b""
    return action + orjson.dumps(document) + b"\n"


def key_text(key: bytes) -> str:
    """A record's key as the id that a sink makes of it: a JSON text without its quotes, or the bytes as text."""
    try:
        parsed = orjson.loads(key)
    except orjson.JSONDecodeError:
        return key.decode()
    return parsed if isinstance(parsed, str) else key.decode()


def write_profile(pipeline: Pipeline, topics: KafkaTopics, name: str, most: int) -> tuple[Sampled, list[Path]]:
    """Write documents, mapping and profile below the working folder; a file that exists stays.

    Raises:
        ProfileError: The name does not serve, a file exists, or the topic has no JSON documents.
    """
    paths = paths_of(name)
    connector, index = pipeline.connector, pipeline.index
    if index is None:
        raise ProfileError("--as-profile: got no index whose mapping can be read, expected one: name it with --index")
    has_ids = connector.value("key.ignore") != "true"
    documents, mapping, profile = paths
    try:
        documents.parent.mkdir(parents=True, exist_ok=True)
        documents.touch(mode=0o600, exist_ok=False)
    except OSError as error:
        raise unwritable(f"{documents}: cannot be written", error) from error
    try:
        records = sampled_records(topics, connector.topics_into(index.name), most)
        sampled = write_documents(documents, records, most, has_ids=has_ids)
        write_files({mapping: mapping_text(index), profile: profile_text(pipeline, index, sampled, name)})
        load_profile(name)
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    return sampled, paths


def paths_of(name: str) -> list[Path]:
    """Documents, mapping and profile of this name.

    Raises:
        ProfileError: The name does not serve, or one of them exists.
    """
    if not NAME.fullmatch(name):
        raise ProfileError(f'--as-profile: got "{name}", expected up to 40 of a-z, 0-9 and hyphens, such as orders')
    documents = Path("documents") / f"{name}.ndjson"
    files = [Path("mappings") / f"{name}.json", Path("experiments") / "profiles" / f"{name}.yaml"]
    if documents.exists():
        raise ProfileError(f"{documents}: exists; choose another name, or remove it")
    refuse_taken(files)
    return [documents, *files]


def mapping_text(index: InspectedIndex) -> str:
    """The mapping file: the index's mapping, and the analyzers and similarities that it names."""
    named = ("analysis.", "similarity.")
    analysis = {f"index.{key}": value for key, value in index.settings.items() if key.startswith(named)}
    mapping = {key: value for key, value in index.mapping.items() if key not in UNWRITABLE_MAPPING}
    return json.dumps({"settings": analysis, "mappings": mapping}, indent=2, ensure_ascii=False) + "\n"


def profile_text(pipeline: Pipeline, index: InspectedIndex, sampled: Sampled, name: str) -> str:
    """The profile."""
    connector = pipeline.connector
    config = sink_config(connector)
    topics = connector.topics_into(index.name)
    partitions = sum(place.rpartition("-")[0] in topics for place in pipeline.figures.lags)
    others = sorted(of for of, setting in connector.settings.items() if not (setting.is_default or is_shared(of)))
    notes = [
        f"Written by `sluice inspect {connector.name} --as-profile {name}`: {sampled.documents:,} documents,",
        f"the newest of each partition of {', '.join(topics)}, and settings of",
        f"{connector.plugin} and index {index.name}.",
        *([f"Settings that were not taken over: {', '.join(others)}."] if others else []),
        *([f"{sampled.left_out:,} records had no JSON object or no key."] if sampled.left_out else []),
        "Transforms, routing and ingest pipelines are not part of it: the documents are as they stand in the topic.",
    ]
    lines = [
        *(f"# {note}" for note in notes),
        f"question: {quoted(f'Which settings load the documents of {connector.name} faster?')}",
        "dataset:",
        "  name: file",
        f"  path: {quoted(str((Path('documents') / f'{name}.ndjson').resolve()))}",
        f"mapping: {quoted(name)}",
        "topic:",
        f"  partitions: {max(1, partitions)}",
        *section("index", index_settings(index)),
        *([f"elasticsearch:\n  data_nodes: {min(MOST_NODES, index.replicas + 1)}"] if index.replicas else []),
        "sink:",
        f"  tasks: {connector.tasks_max}",
        *(f"  {line}" for line in section("config", config)),
        "load:",
        "  mode: drain",
    ]
    return "\n".join(lines) + "\n"


def section(name: str, values: Mapping[str, Any]) -> list[str]:
    """A section of a profile, its values as JSON, which YAML reads; nothing of none."""
    return [f"{name}:", *(f"  {key}: {json.dumps(value)}" for key, value in values.items())] if values else []


def index_settings(index: InspectedIndex) -> dict[str, Any]:
    """Settings of the index that a profile takes over: those that are set, numbers as numbers."""
    return {
        name: int(value) if re.fullmatch(r"[0-9]+", str(value)) else value
        for name, value in sorted(index.stated.items())
        if OF_INDEX.fullmatch(name)
    }


def is_shared(name: str) -> bool:
    """Check that our sink has a setting, too, and that a profile may have it."""
    return name in known_keys() and not NOT_TAKEN.fullmatch(name)


def sink_config(connector: InspectedConnector) -> dict[str, str]:
    """The connector's settings that our sink has, too, where they differ from our defaults."""
    return {
        name: setting.value
        for name, setting in sorted(connector.settings.items())
        if is_shared(name)
        # The template of the lab sets these itself, so that the connector's must be stated.
        and (name in OF_TEMPLATE or value_as_read(name, setting.value) != known_keys()[name].default)
    }
