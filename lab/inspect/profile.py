"""A profile out of an inspected pipeline: a sample of its documents, its mapping and its settings."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import yaml
from confluent_kafka import Message

from lab.analysis.text import quantity
from lab.clients.kafka import KafkaTopics, as_bytes
from lab.engines import DEFAULT
from lab.errors import ProfileError, unwritable
from lab.init.files import NAME, refuse_taken, write_files
from lab.inspect.connector import POLL, InspectedConnector
from lab.inspect.index import InspectedIndex
from lab.inspect.limits import Pipeline
from lab.profiles import load_profile
from lab.profiles.connector_keys import known_keys
from lab.profiles.index_settings import expected_value, known_settings
from lab.replay.export import LINE_ENDS
from producers.json_values import dumped, loaded

MOST_BYTES = 1_000_000_000
"""Of all sampled documents; a topic of large ones gives fewer."""
MOST_NODES = 6
OF_INDEX = re.compile(
    r"number_of_(shards|replicas)|refresh_interval|codec|mode|translog\..+|sort\..+|merge\..+|mapping\..+"
    r"|max_(ngram|shingle)_diff|routing_path"
)
"""Settings of an index that a profile takes over; others name nodes, policies and pipelines of that cluster.

Of time series, the bounds are left out: without them, any instant fits (`IndexSettings.TIME_SERIES_START_TIME`).
"""
DIMENSION = "time_series_dimension"
KEY_IGNORED = ("key.ignore.topics", "topic.key.ignore")
"""Lists of topics whose keys are ignored; the sinks have one or the other."""
NOT_TAKEN = re.compile(
    r"(key|value|header)\.converter.*|transforms|errors\..+|pipeline|routing|write\.method|key\.ignore\.topics|topic\..+"
    r"|max\.(documents|bytes)\.per\.second"
)
"""Settings of the connector that the lab sets itself, that need something of that cluster, or hide all others."""
UNWRITABLE_MAPPING = ("_meta", "_data_stream_timestamp", "_routing")
"""Parts of a mapping that the lab writes itself, or that ask of documents what the sample lacks, such as a routing."""


class Sampled(NamedTuple):
    """Documents taken of topics, and records left out: those without a JSON object, or without a key for an id."""

    documents: int
    left_out: int


def sampled_records(topics: KafkaTopics, names: tuple[str, ...], most: int) -> Iterator[Message]:
    """The newest records of each partition, as many of each, at most so many in all; no offset is committed."""
    ends = {name: topics.end_offsets(name) for name in names}
    each = max(1, most // max(1, sum(map(len, ends.values()))))
    for name, offsets in ends.items():
        yield from topics.records(name, {partition: max(0, end - each) for partition, end in offsets.items()})


def write_documents(path: Path, records: Iterator[Message], most: int, *, has_ids: bool) -> Sampled:
    """Write the documents of records into a file that is there; raises ProfileError if no record has one."""
    documents = left_out = size = 0
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
    if not documents:
        seen = f"{quantity(left_out, 'record')} without a JSON object or key" if left_out else "no records"
        raise ProfileError(f"--as-profile: got {seen}, expected JSON; values are read as they are in the topic")
    return Sampled(documents, left_out)


def line_of(record: Message, *, has_ids: bool) -> bytes | None:
    """A record's document as a line, below its action line where it has an id; `None` without a document or id.

    Of Connect's envelope (`JsonConverter` with schemas) the payload is the document.
    """
    value = as_bytes(record.value())
    try:
        document = loaded(value or b"null")
        key = key_text(as_bytes(record.key())) if has_ids else ""
    except (orjson.JSONDecodeError, UnicodeDecodeError):
        return None
    if isinstance(document, dict) and document.keys() == {"schema", "payload"}:
        document = document["payload"]
        value = dumped(document)
    if not isinstance(document, dict) or (has_ids and not key):
        return None
    action = dumped({"index": {"_id": key}}) + b"\n" if has_ids else b""
    return action + value.translate(LINE_ENDS) + b"\n"


def key_text(key: bytes) -> str:
    """A record's key as the id that a sink makes of it: a JSON text without its quotes, or the bytes as text."""
    try:
        parsed = loaded(key)
    except orjson.JSONDecodeError:
        parsed = None
    return parsed if isinstance(parsed, str) else key.decode()


def write_profile(pipeline: Pipeline, topics: KafkaTopics, name: str, most: int) -> tuple[Sampled, list[Path]]:
    """Write documents, mapping and profile below the working folder; a file that exists stays.

    Raises:
        ProfileError: The name does not serve, a file exists, the topic has no JSON documents, or the index is of a
            kind that a profile cannot have.
    """
    documents, mapping, profile = paths = paths_of(name)
    connector, index = pipeline.connector, pipeline.index
    if index is None:
        raise ProfileError("--as-profile: got no index whose mapping can be read, expected one: name it with --index")
    index_settings(index)
    try:
        documents.parent.mkdir(parents=True, exist_ok=True)
        documents.touch(mode=0o600, exist_ok=False)
    except OSError as error:
        raise unwritable(f"{documents}: cannot be written", error) from error
    try:
        records = sampled_records(topics, connector.topics_into(index.name), most)
        sampled = write_documents(documents, records, most, has_ids=has_ids(connector, index))
        write_files({mapping: mapping_text(index), profile: profile_text(pipeline, index, sampled, name)})
        load_profile(name)
    except BaseException as error:
        for path in paths:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise unwritable(f"{documents}: cannot be written", error) from error
        raise
    return sampled, paths


def paths_of(name: str) -> list[Path]:
    """Documents, mapping and profile of this name.

    Raises:
        ProfileError: The name does not serve, or one of them exists.
    """
    if not NAME.fullmatch(name):
        raise ProfileError(f'--as-profile: got "{name}", expected up to 40 of a-z, 0-9 and hyphens, such as orders')
    files = [Path(f"documents/{name}.ndjson"), Path(f"mappings/{name}.json"), Path(f"experiments/profiles/{name}.yaml")]
    refuse_taken(files)
    return files


def mapping_text(index: InspectedIndex) -> str:
    """The mapping file: the index's mapping, and the analyzers and similarities that it names."""
    named = ("analysis.", "similarity.")
    analysis = {f"index.{key}": value for key, value in index.settings.items() if key.startswith(named)}
    mapping = {key: value for key, value in index.mapping.items() if key not in UNWRITABLE_MAPPING}
    return json.dumps({"settings": analysis, "mappings": mapping}, indent=2, ensure_ascii=False) + "\n"


def profile_text(pipeline: Pipeline, index: InspectedIndex, sampled: Sampled, name: str) -> str:
    """The profile."""
    connector, topics = pipeline.connector, pipeline.connector.topics_into(index.name)
    settings, refused = index_settings(index)
    stated = [of for of, setting in connector.settings.items() if not setting.is_default and not is_shared(of)]
    left_out = [*sorted(stated), *(f"index.{each}" for each in refused)]
    notes = [
        f"Written by `sluice inspect {connector.name} --as-profile {name}`: {sampled.documents:,} documents,",
        f"the newest of each partition of {', '.join(topics)}, and settings of",
        f"{connector.plugin} and index {index.name}.",
        *([f"Settings that were not taken over: {', '.join(left_out)}."] if left_out else []),
        *([f"{sampled.left_out:,} records had no JSON object or no key."] if sampled.left_out else []),
        "Transforms, routing and ingest pipelines are not part of it: the documents are as they stand in the topic.",
    ]
    partitions = sum(place.rpartition("-")[0] in topics for place in pipeline.figures.lags)
    profile = {
        "question": f"Which settings load the documents of {connector.name} faster?",
        "dataset": {"name": "file", "path": str(Path(f"documents/{name}.ndjson").resolve())},
        "mapping": name,
        "topic": {"partitions": max(1, partitions)},
        "index": settings,
        "elasticsearch": {"data_nodes": min(MOST_NODES, index.replicas + 1)},
        "sink": {"tasks": connector.tasks_max, "config": sink_config(connector, index)},
        "load": {"mode": "drain"},
    }
    return "".join(f"# {note}\n" for note in notes) + yaml.safe_dump(profile, sort_keys=False, allow_unicode=True)


def index_settings(index: InspectedIndex) -> tuple[dict[str, Any], list[str]]:
    """Settings of the index that a profile takes over: those that are set, numbers as numbers; names of refused ones.

    Raises:
        ProfileError: Its documents need what a sample of records lacks, or no index can be made of what is known.
    """
    for name in [name for name, kind, _ in index.fields if kind == "join"]:
        raise ProfileError(
            f"--as-profile: index {index.name}: got the join field {name}, whose children need a routing that sampled "
            "records lack, expected none; export the index in the bulk format with `routing`, and run that: --path FILE"
        )
    taken = {name: value for name, value in sorted(index.stated.items()) if OF_INDEX.fullmatch(name)}
    if index.is_time_series and "routing_path" not in taken:
        # From 9.2 on, a data stream states `index.dimensions` instead, which only the server may set.
        keywords = {name: of for name, kind, of in index.fields if kind == "keyword"}
        taken["routing_path"] = [name for name, of in keywords.items() if of.get(DIMENSION) is True]
    if taken.get("routing_path") == []:
        raise ProfileError(
            f"--as-profile: index {index.name}: got time series without `index.routing_path` or a keyword with "
            f"`{DIMENSION}`, expected one of them; no such index can be made without"
        )
    known, release = known_settings(), DEFAULT.numbers
    refused = [name for name, value in taken.items() if known.complaint(name, release) or expected_value(name, value)]
    settings = {name: value for name, value in taken.items() if name not in refused}
    return {name: int(value) if str(value).isdecimal() else value for name, value in settings.items()}, refused


def is_shared(name: str) -> bool:
    """Check that our sink has a setting, too, and that a profile may have it."""
    return name in known_keys() and not NOT_TAKEN.fullmatch(name)


def has_ids(connector: InspectedConnector, index: InspectedIndex) -> bool:
    """Check that the keys of records become ids; time series make ids of dimensions and time."""
    ignored = {topic for name in KEY_IGNORED for topic in (connector.value(name) or "").split(",")}
    is_ignored = connector.value("key.ignore") == "true" or ignored.issuperset(connector.topics_into(index.name))
    return not is_ignored and not index.is_time_series


def sink_config(connector: InspectedConnector, index: InspectedIndex) -> dict[str, str]:
    """The connector's settings that our sink has, too, where they differ from our defaults."""
    taken = {
        name: setting.value
        for name, setting in connector.settings.items()
        # The template of the lab sets how much a poll reads, so that the connector's must be stated.
        if is_shared(name) and (name == POLL or setting.value != known_keys()[name].default)
    }
    if not has_ids(connector, index):
        # Our sink refuses to delete by keys that it ignores; a sample has no tombstones.
        taken |= {"key.ignore": "true", "behavior.on.null.values": "ignore"}
    return dict(sorted((taken | ({"use.autogenerated.ids": "true"} if index.is_time_series else {})).items()))
