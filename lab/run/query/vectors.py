"""What a release lacks for the vectors of a profile: known before servers start."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from lab.engines.engine import DenseVectors
from lab.errors import ProfileError
from lab.profiles import Profile
from lab.profiles.mapping import load_mapping
from lab.profiles.problems import Place, Problem
from lab.profiles.questions import load_question
from lab.run.query.ask import requests_of

RESCORE: Final = "rescore_vector"
SCRIPT: Final = "script_score"


def check_vectors(profile: Profile, root: Path, *, may_be_licensed: bool) -> None:
    """Refuse vectors that the profile's release does not take, and requests about them that it does not know.

    Args:
        may_be_licensed: Whether the servers are others', which may have a licence, and scripts; those that are started
            here have neither.

    Raises:
        ProfileError: All that it lacks, a sentence each; a suite leaves such a variant out.
    """
    known = profile.release.engine.dense_vectors
    if known is None:
        return
    complaints = (
        *_of_the_mapping(profile, root, known, may_be_licensed=may_be_licensed),
        *_of_requests(profile, root, known),
    )
    if not may_be_licensed:
        complaints = (*complaints, *_of_scripts(profile, root))
    if complaints:
        raise ProfileError("\n".join(complaints))


def _of_the_mapping(profile: Profile, root: Path, known: DenseVectors, *, may_be_licensed: bool) -> Iterator[str]:
    for index_type in _index_types(load_mapping(profile.mapping, root).get("mappings", {})):
        since = known.index_types.get(index_type, known.indexed)
        what = f"an index of vectors of type `{index_type}`" if index_type else "an index of vectors"
        if profile.release.numbers < since:
            yield _at(
                profile,
                "mapping",
                f"{profile.mapping} has {what}, got {profile.release}, expected {_text(since)} or later",
            )
        elif index_type == known.licensed and not may_be_licensed:
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


def _of_requests(profile: Profile, root: Path, known: DenseVectors) -> Iterator[str]:
    if profile.release.numbers >= known.rescored:
        return
    for what, request in _requests(profile, root):
        knn = request.get("knn")
        if isinstance(knn, Mapping) and RESCORE in knn:
            yield _at(
                profile,
                "queries.model",
                f"{what} have `{RESCORE}`, got {profile.release}, expected {_text(known.rescored)} or later",
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
