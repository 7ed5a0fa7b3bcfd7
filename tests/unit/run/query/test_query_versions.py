"""Vectors that a version of Elasticsearch does not take are refused before servers start."""

import json
from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles import Profile, load_profile
from lab.run.query.vectors import check_vectors
from lab.stack.places import ROOT
from tests.unit.messages import MakeMessage


def refusal(profile: Profile, root: Path = ROOT, *, may_be_licensed: bool = False) -> str:
    """What is said of it; empty where nothing is."""
    try:
        check_vectors(profile, root, may_be_licensed=may_be_licensed)
    except ProfileError as error:
        return str(error)
    return ""


def nearest(*overrides: str) -> Profile:
    """The profile of searches, changed."""
    return load_profile("vectors/nearest", overrides=overrides)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout whose mapping vectors.hnsw has the index type `bbq_disk`."""
    vector = {"type": "dense_vector", "index_options": {"type": "bbq_disk"}}
    (tmp_path / "mappings").mkdir()
    mapping = {"settings": {}, "mappings": {"properties": {"vector": vector, "number": {"type": "long"}}}}
    (tmp_path / "mappings" / "vectors.hnsw.json").write_text(json.dumps(mapping))
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    return tmp_path


@pytest.mark.parametrize(
    ("version", "mapping", "facts"),
    [
        ("7.17.7", "vectors.hnsw", ("hnsw", "7.17.7", 8.0)),
        ("8.12.0", "vectors.flat", ("flat", "8.12.0", 8.13)),
        ("8.15.5", "vectors.bbq-hnsw", ("bbq_hnsw", "8.15.5", 8.16)),
    ],
)
def test_an_index_type_that_is_younger_than_the_version_is_refused(
    version: str, mapping: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Elasticsearch would refuse the mapping once the servers are up."""
    profile = nearest(f"elasticsearch.version={version}", f"mapping={mapping}")
    assert refusal(profile) == message("--set mapping", mapping, *facts)


def test_a_mapping_that_names_no_index_type_needs_an_index_of_vectors(message: MakeMessage) -> None:
    """7.17.7 has none."""
    profile = load_profile("vectors/defaults", overrides=("elasticsearch.version=7.17.7",))
    assert refusal(profile) == message("defaults.yaml:8: mapping", "vectors.default", "7.17.7", "8.0")


def test_an_index_type_that_needs_a_licence_is_refused_for_servers_that_are_started_here(
    root: Path, message: MakeMessage
) -> None:
    """The mapping would be taken, and each document refused; servers of others may have a licence."""
    profile = nearest("elasticsearch.version=9.5.3")
    assert refusal(profile, root) == message("mapping: vectors.hnsw", "bbq_disk", "licence", "--target remote")
    assert refusal(profile, root, may_be_licensed=True) == ""
    assert refusal(nearest("elasticsearch.version=9.0.0"), root) == message("9.0.0", "9.2")


def test_a_request_that_rescores_is_refused_for_a_version_that_does_not_know_it(message: MakeMessage) -> None:
    """8.17.4 answers `unknown field [rescore_vector]`."""
    asked = ("mapping=vectors.int8-hnsw", "queries.model=rescored")
    assert refusal(nearest(*asked, "elasticsearch.version=8.17.4")).splitlines() == [
        message("--set queries.model", name, "rescore_vector", "8.17.4", "8.18")
        for name in ("nearest-10", "nearest-100")
    ]
    assert refusal(nearest(*asked, "elasticsearch.version=8.19.21")) == ""
    assert refusal(nearest("elasticsearch.version=8.17.4")) == ""


def test_an_exact_search_by_script_is_for_servers_that_have_scripts(message: MakeMessage) -> None:
    """Those that are started here have none, and an index that compares every vector, too."""
    profile = nearest("queries.model=scripted", "queries.questions=[nearest-10]")
    assert refusal(profile) == message("--set queries.model", "scripted", "nearest-10", "knn", "flat", "--target")
    assert refusal(profile, may_be_licensed=True) == ""
