"""Mapping files and connector templates, and the body that creates an index from a mapping file."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.errors import ProfileError
from lab.profiles.files import REPOSITORY, file_of, is_there, names_in, why_unreadable
from lab.profiles.models import Profile
from lab.profiles.problems import Place, Problem, refusal, suggestion

FOLDER = "mappings"
TEMPLATES = "connect/connectors"
MappingFile = Mapping[str, Any]
"""`settings` and `mappings` as Elasticsearch's create-index request takes them, and `text_analyzers`: the name of an
analyser that the mapping uses → the analysers that may stand for it, best first."""

_KEYS = ("settings", "mappings", "text_analyzers")


def load_mapping(name: str, root: Path = REPOSITORY) -> MappingFile:
    """The mapping file of this name; raises ProfileError if there is none, or it is not what a mapping file is."""
    path = file_of(FOLDER, f"{name}.json", root)
    label = f"{FOLDER}/{name}.json"
    if not is_there(path):
        remedy = suggestion(name, names_in(FOLDER, root, ".json"), "a mapping")
        raise ProfileError(f'unknown mapping "{name}", {remedy}')
    body = read_object(path, label, "`settings` and `mappings`")
    _check_mapping_file(body, label)
    return body


def mapping_for(profile: Profile, root: Path = REPOSITORY) -> MappingFile:
    """The mapping of a profile, in which the fields that it disables are only stored.

    Raises:
        ProfileError: There is no such mapping, or it has no such field.
    """
    mapping = load_mapping(profile.mapping, root)
    if not profile.disabled_fields:
        return mapping
    mappings = copy.deepcopy(mapping.get("mappings", {}))
    for name in profile.disabled_fields:
        if not _disable(mappings, name.split(".")):
            raise refusal([_unknown_field(profile, name, list(field_names(mappings.get("properties", {}))))])
    return {**mapping, "mappings": mappings}


def _unknown_field(profile: Profile, name: str, names: list[str]) -> Problem:
    place = profile.where.get("disabled_fields", profile.name)
    remedy = suggestion(name, names, "a field that the mapping declares")
    message = f'unknown field "{name}" of mapping {profile.mapping}, {remedy}'
    return Problem(Place.of_key(place, "disabled_fields"), "disabled_fields", message)


def _disable(parent: Any, path: Sequence[str]) -> bool:
    """Have a field, which may be an object, take any value and index none; whether there is such a field."""
    properties = parent.get("properties", {})
    if path[0] not in properties:
        return False
    if path[1:]:
        return _disable(properties[path[0]], path[1:])
    properties[path[0]] = {"type": "object", "enabled": False}
    return True


def field_names(properties: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Every field of a mapping, objects included, by its dotted name."""
    for name, of in properties.items():
        yield f"{prefix}{name}"
        yield from field_names(of.get("properties", {}), f"{prefix}{name}.")


def load_template(name: str, root: Path = REPOSITORY) -> dict[str, Any]:
    """The connector template of this name, its placeholders not filled in.

    Raises:
        ProfileError: There is none, or it is no JSON object.
    """
    path = file_of(TEMPLATES, f"{name}.json", root)
    if not is_there(path):
        remedy = suggestion(name, names_in(TEMPLATES, root, ".json"), "a connector template")
        raise ProfileError(f'sink.connector: unknown connector template "{name}", {remedy}')
    return read_object(path, f"{TEMPLATES}/{name}.json", "connector settings")


def read_object(path: Path, label: str, what: str) -> dict[str, Any]:
    """The JSON object that a file holds, with a byte order mark or without.

    Args:
        label: The file as a message names it.
        what: What the object has.

    Raises:
        ProfileError: The file cannot be read, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if not text.strip():
            raise ProfileError(f"{label}: got an empty file, expected an object with {what}")
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise ProfileError(f"{label}:{error.lineno}: not JSON: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{label}: {why_unreadable(error)}") from error
    if not isinstance(body, dict):
        raise ProfileError(f"{label}: got no object, expected one with {what}")
    return body


def _check_mapping_file(body: dict[str, Any], label: str) -> None:
    for key, section in body.items():
        if key not in _KEYS:
            raise ProfileError(f"{label}: {key}: unknown key, {suggestion(key, _KEYS, 'one of')}")
        if not isinstance(section, dict):
            raise ProfileError(f"{label}: {key}: got {json.dumps(section)}, expected an object")
    for alias, candidates in body.get("text_analyzers", {}).items():
        if not isinstance(candidates, list):
            got = json.dumps(candidates)
            raise ProfileError(f"{label}: text_analyzers.{alias}: got {got}, expected a list of analysers")


def index_body(
    mapping: MappingFile, index_settings: Mapping[str, Any], available_analyzers: Callable[[str], bool]
) -> dict[str, Any]:
    """The body of the request that creates the index.

    Each of the file's `text_analyzers` becomes the first of its candidates that the target has, `standard` when it has
    none of them. The profile's index settings win over those of the file.

    Args:
        mapping: From `load_mapping`; it is not changed.
        index_settings: The profile's, dotted, without `index.`.
        available_analyzers: Whether the target has the analyser of this name.
    """
    analyzers = {
        f"analysis.analyzer.{name}.type": next(filter(available_analyzers, candidates), "standard")
        for name, candidates in mapping.get("text_analyzers", {}).items()
    }
    own = {name.removeprefix("index."): value for name, value in leaves(mapping.get("settings", {}))}
    settings = analyzers | own | dict(index_settings)
    return {"settings": {"index": settings}, "mappings": mapping.get("mappings", {})}


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no mapping, with its dotted key."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
