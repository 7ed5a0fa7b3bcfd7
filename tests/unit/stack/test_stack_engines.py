"""The engines that can be had: products, their versions, and the Java that each runs on."""

import pytest

from lab.errors import ProfileError
from lab.stack.artifacts import ArtifactLock, read_lock
from lab.stack.engines import Engine, engines, versions
from lab.stack.jdk import JavaRange
from lab.stack.shape import StackShape


def test_versions_are_sorted_by_number() -> None:
    """8.9 is older than 8.19, although its name comes later."""
    names = ["elasticsearch-9.0.0", "kafka", "elasticsearch-8.19.21", "elasticsearch-8.9.1", "opensearch-10.0.0"]
    lock = ArtifactLock(sets=dict.fromkeys(names, ()))
    assert versions("elasticsearch", lock) == ("8.9.1", "8.19.21", "9.0.0")
    assert versions("opensearch", lock) == ("10.0.0",)


def test_the_lock_file_has_the_promised_engines() -> None:
    """By product, oldest first."""
    assert [engine.title for engine in engines(read_lock())] == [
        "Elasticsearch 7.17.7",
        "Elasticsearch 8.17.4",
        "Elasticsearch 8.19.21",
        "Elasticsearch 9.0.0",
        "Elasticsearch 9.5.3",
        "OpenSearch 2.19.1",
        "OpenSearch 3.0.0",
        "OpenSearch 3.8.0",
    ]


def test_a_stack_is_of_opensearch_where_that_is_given() -> None:
    """In place of the version of Elasticsearch, whose default it has all the same."""
    assert str(StackShape(opensearch_version="2.19.1").engine) == "opensearch-2.19.1"
    assert str(StackShape(elasticsearch_version="9.0.0").engine) == "elasticsearch-9.0.0"


def test_a_version_of_opensearch_that_cannot_be_had_is_one_sentence() -> None:
    """It names those that can."""
    with pytest.raises(ProfileError) as refusal:
        Engine("opensearch", "2.11.0").check_available(read_lock())
    assert str(refusal.value) == "OpenSearch 2.11.0 is not available, expected one of 2.19.1, 3.0.0, 3.8.0"


def test_a_java_that_opensearch_does_not_run_on_is_one_sentence() -> None:
    """By the key that asks for it."""
    with pytest.raises(ProfileError) as refusal:
        Engine("opensearch", "3.0.0").check_java(25)
    assert str(refusal.value) == "elasticsearch.java: got 25, expected 21 to 24 for OpenSearch 3.0.0"


@pytest.mark.parametrize(
    ("engine", "java"),
    [
        (Engine("elasticsearch", "9.0.0"), JavaRange(21, 24)),
        (Engine("opensearch", "2.19.1"), JavaRange(11, 23)),
        (Engine("opensearch", "3.0.0"), JavaRange(21, 24)),
        (Engine("opensearch", "3.8.0"), JavaRange(21, 25, needs_jdk=True)),
    ],
    ids=str,
)
def test_each_engine_has_java_releases_of_its_own(engine: Engine, java: JavaRange) -> None:
    """2.x needs the security manager, 3.0 reads no classes beyond Java 24."""
    assert engine.java == java
