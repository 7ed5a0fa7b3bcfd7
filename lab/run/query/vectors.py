"""What a version of Elasticsearch lacks for the vectors of a profile: known before servers start."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.index_settings import parsed_version
from lab.profiles.mapping import load_mapping
from lab.profiles.problems import Place, Problem
from lab.profiles.questions import load_question
from lab.run.query.ask import requests_of

INDEXED_SINCE: Final = (8, 0)
"""Before, a `dense_vector` was not indexed."""
INDEX_TYPES_SINCE: Final[Mapping[str, tuple[int, ...]]] = MappingProxyType(
    {
        "int8_hnsw": (8, 12),
        "flat": (8, 13),
        "int8_flat": (8, 13),
        "int4_hnsw": (8, 15),
        "int4_flat": (8, 15),
        "bbq_hnsw": (8, 16),
        "bbq_flat": (8, 16),
        "bbq_disk": (9, 2),
    }
)
LICENSED: Final = "bbq_disk"
"""An index type whose mapping every server takes, and which refuses every document without an Enterprise licence."""
RESCORED_SINCE: Final = (8, 18)
RESCORE: Final = "rescore_vector"
SCRIPT: Final = "script_score"


def check_vectors(profile: Profile, root: Path, *, may_be_licensed: bool) -> None:
    """Refuse vectors that the profile's Elasticsearch does not take, and requests about them that it does not know.

    Args:
        may_be_licensed: Whether the servers are others', which may have a licence, and scripts; those that are started
            here have neither.

    Raises:
        ProfileError: All that it lacks, a sentence each; a suite leaves such a variant out.
    """
    complaints = *_of_the_mapping(profile, root, may_be_licensed=may_be_licensed), *_of_requests(profile, root)
    if not may_be_licensed:
        complaints = (*complaints, *_of_scripts(profile, root))
    if complaints:
        raise ProfileError("\n".join(complaints))


def _of_the_mapping(profile: Profile, root: Path, *, may_be_licensed: bool) -> Iterator[str]:
    version = parsed_version(profile.elasticsearch.version)
    for index_type in _index_types(load_mapping(profile.mapping, root).get("mappings", {})):
        since = INDEX_TYPES_SINCE.get(index_type, INDEXED_SINCE)
        what = f"an index of vectors of type `{index_type}`" if index_type else "an index of vectors"
        if version < since:
            yield _at(
                profile,
                "mapping",
                f"{profile.mapping} has {what}, got Elasticsearch {profile.elasticsearch.version}, "
                f"expected {_text(since)} or later",
            )
        elif index_type == LICENSED and not may_be_licensed:
            yield _at(
                profile,
                "mapping",
                f"{profile.mapping} has {what}, for which the servers started here have no licence: "
                "they would refuse every document; expected another index type, or servers with one (--target remote)",
            )


def _index_types(mappings: Mapping[str, Any]) -> Iterator[str]:
    """The index type of each field of vectors that is indexed; empty where Elasticsearch chooses it."""
    for field in mappings.get("properties", {}).values():
        if isinstance(field, Mapping) and field.get("type") == "dense_vector" and field.get("index", True):
            options = field.get("index_options")
            yield str(options.get("type", "")) if isinstance(options, Mapping) else ""


def _of_requests(profile: Profile, root: Path) -> Iterator[str]:
    if parsed_version(profile.elasticsearch.version) >= RESCORED_SINCE:
        return
    for what, request in _requests(profile, root):
        knn = request.get("knn")
        if isinstance(knn, Mapping) and RESCORE in knn:
            yield _at(
                profile,
                "queries.model",
                f"{what} have `{RESCORE}`, got Elasticsearch {profile.elasticsearch.version}, "
                f"expected {_text(RESCORED_SINCE)} or later",
            )


def _of_scripts(profile: Profile, root: Path) -> Iterator[str]:
    for what, request in _requests(profile, root):
        query = request.get("query")
        if isinstance(query, Mapping) and SCRIPT in query:
            yield _at(
                profile,
                "queries.model",
                f"{what} have a script, which the servers started here cannot run; expected `knn` on an index of the "
                "type `flat`, which compares every vector, too, or servers with scripts (--target remote)",
            )


def _requests(profile: Profile, root: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every request that the profile sends, with the words for those of its question."""
    for name in profile.queries.questions if profile.queries else ():
        question = load_question(name, root)
        model = requests_of(profile, question)
        for step in question.models[model]:
            yield f'the requests `{model}` of "{name}"', step.request


def _at(profile: Profile, key: str, message: str) -> str:
    place = profile.where.get(key, profile.name)
    return str(Problem(Place.of_key(place, key), key, message))


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
