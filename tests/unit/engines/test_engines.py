"""Engines: what each one owns, and that nobody else asks which one it is."""

import ast

import pytest

from lab.engines import DEFAULT, ENGINES, Engine, JavaRange, Release, engine_called
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.engines.opensearch import OPENSEARCH
from lab.errors import ProfileError
from lab.stack.artifacts import ArtifactLock, read_lock
from lab.stack.places import ROOT
from lab.stack.shape import StackShape, fitting_java

OTHERS = [engine for engine in ENGINES if engine is not DEFAULT.engine]


def test_versions_are_sorted_by_number() -> None:
    """8.9 is older than 8.19, although its name comes later."""
    names = ["elasticsearch-9.0.0", "kafka", "elasticsearch-8.19.21", "elasticsearch-8.9.1", "opensearch-10.0.0"]
    lock = ArtifactLock(sets=dict.fromkeys(names, ()))
    assert [release.version for release in lock.releases(ELASTICSEARCH)] == ["8.9.1", "8.19.21", "9.0.0"]
    assert [release.version for release in lock.releases(OPENSEARCH)] == ["10.0.0"]


def test_the_lock_file_has_the_default_release_and_some_of_each_engine() -> None:
    """Two at least: an upgrade is what people compare."""
    assert DEFAULT in read_lock().releases(DEFAULT.engine)
    assert all(len(read_lock().releases(engine)) > 1 for engine in ENGINES)


def test_a_release_names_its_artifacts_and_reads_as_a_sentence() -> None:
    """Records name the engine only where it is not the default one."""
    release = Release(OPENSEARCH, "2.19.1")
    assert (release.set_name, str(release), release.recorded) == ("opensearch-2.19.1", *["OpenSearch 2.19.1"] * 2)
    assert Release(ELASTICSEARCH, "9.0.0").recorded == "9.0.0"


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_an_engine_is_found_by_what_it_calls_itself(engine: Engine) -> None:
    """What nobody knows is taken for the default engine, whose plain build does not answer."""
    assert engine_called(engine.distribution) is engine
    assert engine_called("solr") is DEFAULT.engine


@pytest.mark.parametrize("engine", OTHERS, ids=lambda engine: engine.name)
def test_nobody_asks_which_engine_it_is(engine: Engine) -> None:
    """A difference is an attribute or a method of the engine; the words of messages may name it."""
    sources = [path for path in (ROOT / "lab").rglob("*.py") if path.parent.name != "engines"]
    asking = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if (isinstance(node, ast.Constant) and node.value in {engine.name, engine.title})
        or (isinstance(node, ast.Attribute) and node.attr in {engine.name, engine.name.upper()})
    ]
    assert asking == []


@pytest.mark.parametrize("engine", OTHERS, ids=lambda engine: engine.name)
def test_a_version_that_cannot_be_had_is_one_sentence(engine: Engine) -> None:
    """It names those that can."""
    available = ", ".join(release.version for release in read_lock().releases(engine))
    with pytest.raises(ProfileError) as refusal:
        fitting_java(StackShape(release=Release(engine, "0.1.2")), read_lock(), ())
    assert str(refusal.value) == f"{engine.title} 0.1.2 is not available, expected one of {available}"


def test_a_java_that_opensearch_does_not_run_on_is_one_sentence() -> None:
    """By the key that asks for it."""
    shape = StackShape(release=Release(OPENSEARCH, "3.0.0"), elasticsearch_java=25)
    with pytest.raises(ProfileError) as refusal:
        fitting_java(shape, read_lock(), ())
    assert str(refusal.value) == "elasticsearch.java: got 25, expected 21 to 24 for OpenSearch 3.0.0"


@pytest.mark.parametrize(
    ("release", "java"),
    [
        (Release(ELASTICSEARCH, "7.17.7"), JavaRange(11, 17)),
        (Release(ELASTICSEARCH, "8.17.4"), JavaRange(17, 23)),
        (Release(ELASTICSEARCH, "8.19.21"), JavaRange(17, 25)),
        (Release(ELASTICSEARCH, "9.0.0"), JavaRange(21, 24)),
        (Release(ELASTICSEARCH, "9.5.3"), JavaRange(21, 26)),
        (Release(OPENSEARCH, "2.19.1"), JavaRange(11, 23)),
        (Release(OPENSEARCH, "3.0.0"), JavaRange(21, 24)),
        (Release(OPENSEARCH, "3.8.0"), JavaRange(21, 25, needs_jdk=True)),
    ],
    ids=str,
)
def test_each_engine_has_java_releases_of_its_own(release: Release, java: JavaRange) -> None:
    """Elastic's support matrix; OpenSearch 2.x needs the security manager, 3.0 reads no classes beyond Java 24."""
    assert release.java == java
