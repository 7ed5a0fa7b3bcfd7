"""A document that is sent to Elasticsearch, and the template of the index that stores it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SCOPES = ("primaries", "total")
"""Counters of primary shards, and of all shards."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document and its id; sending it twice stores it once."""

    id: str
    source: Mapping[str, Any]


def timestamp(at_s: float) -> str:
    """An instant in Elasticsearch's format `date_time`, in milliseconds."""
    return datetime.fromtimestamp(round(at_s, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def without_unknown(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are not `None`."""
    return {name: value for name, value in values.items() if value is not None}


def of_type(kind: str, *paths: str) -> dict[str, dict[str, str]]:
    """Fields of one type, by dotted path."""
    return {path: {"type": kind} for path in paths}


def index_template(index: str, fields: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The template of an index: one shard, a replica where there is a second node, no field that is not listed."""
    properties: dict[str, Any] = {}
    for path, field in fields.items():
        *outer, name = path.split(".")
        level = properties
        for part in outer:
            level = level.setdefault(part, {"properties": {}})["properties"]
        level[name] = field
    return {
        "index_patterns": [index],
        "priority": 250,
        "template": {
            "settings": {"index.number_of_shards": 1, "index.auto_expand_replicas": "0-1"},
            "mappings": {"dynamic": False, "properties": properties},
        },
        "_meta": {"made_by": "sluice"},
    }
