"""Contents behind the names in a profile: their hashes, and the fields of the mapping that was sent."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from lab.records.run import INDEX_REQUEST, Environment

NOT_RECORDED = "not recorded"


def contents_of(environment: Environment) -> dict[str, str]:
    """Key of the profile that names a file → hash of its content; of the mapping in records of every version."""
    return environment.contents or {"mapping": NOT_RECORDED}


def unlike_contents(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Keys whose contents both sides have and that are not the same, as far as they are recorded."""
    pairs = {key: (first[key], second[key]) for key in first if key in second}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1] and not _is_unknown(*pair)}


def unknown_contents(first: Mapping[str, str], second: Mapping[str, str]) -> tuple[str, ...]:
    """Keys of which a side has no record, so that nothing tells whether the contents are the same.

    Every run has a mapping: one without a record of it has none of its other files either.
    """
    keys = dict.fromkeys((*first, *second))
    return tuple(keys) if _is_unknown(first.get("mapping", ""), second.get("mapping", "")) else ()


def _is_unknown(*values: str) -> bool:
    # Of several runs, some may have a record.
    return any(NOT_RECORDED in value for value in values)


def mapping_fields(folder: Path) -> dict[str, str]:
    """Field of the mapping that a run sent → its type and parameters; empty for runs that kept none."""
    try:
        mappings = orjson.loads((folder / INDEX_REQUEST).read_bytes())["mappings"]
        return dict(_fields(mappings)) | {
            f"({key})": json.dumps(value) for key, value in mappings.items() if key not in {"properties", "_meta"}
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _fields(parent: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for below in ("properties", "fields"):
        for name, field in parent.get(below, {}).items():
            parameters = [
                f"{key}: {json.dumps(value, ensure_ascii=False)}"
                for key, value in sorted(field.items())
                if key not in {"type", "properties", "fields"}
            ]
            yield f"{prefix}{name}", ", ".join((str(field.get("type", "object")), *parameters))
            yield from _fields(field, f"{prefix}{name}.")
