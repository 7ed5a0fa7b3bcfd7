"""Loads of queries alone: what a profile may say of the index that they read."""

import pytest

from lab.profiles import QueryOnly
from tests.unit.profiles.profile_repository import Repository

QUERY = "load={mode: query, route: rewritten, codec_before: default, segments: 1}"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            ("load.mode=query", "load.route=reindexed"),
            "--set load.route: load.codec_before: missing, expected index.codec before the index was reindexed or "
            "rewritten",
        ),
        (
            ("load.mode=query", "load.codec_before=default"),
            "--set load.codec_before: an index that is loaded has none, expected none (or `route: reindexed` or "
            "`route: rewritten`)",
        ),
        (
            (QUERY, "load.codec_before=fast"),
            '--set load.codec_before: got "fast", expected `default` or `best_compression`',
        ),
        (
            (QUERY, "load.codec_before=legacy_default", "elasticsearch.version=7.17.7"),
            '--set load.codec_before: got "legacy_default", which Elasticsearch 7.17.7 does not have, expected '
            "`default` or `best_compression`",
        ),
        (
            ("index.codec=legacy_best_compression", "elasticsearch.version=7.17.7"),
            '--set index.codec: got "legacy_best_compression", which Elasticsearch 7.17.7 does not have, expected '
            "`default` or `best_compression`",
        ),
        ((QUERY, "verify.expect=consumed"), "--set verify.expect: queries need what is stored, expected `stored`"),
        (
            (QUERY, "dataset.updates=0.2"),
            "--set dataset.updates: got 0.2, expected 0: a kept index holds each document once",
        ),
        (
            (QUERY, "topic.partitions=3"),
            "--set topic.partitions: topic: a load of queries has none, expected no such section",
        ),
        ((QUERY, "load.via=direct"), "--set load.via: a load of queries has none, expected none (or another `mode`)"),
        (
            ("load.route=loaded",),
            "--set load.route: only a load of queries has it, expected none (or `mode: query`)",
        ),
    ],
)
def test_what_a_kept_index_cannot_be_is_refused(
    repository: Repository, overrides: tuple[str, ...], expected: str
) -> None:
    """Before any server is started."""
    assert repository.refusal("books", *overrides) == [expected]


@pytest.mark.parametrize("version", ["8.19.21", "9.5.3"])
def test_legacy_codecs_are_there_from_8_on(repository: Repository, version: str) -> None:
    """Deflate can be compared with zstd on one version."""
    loaded = repository.load("books", "index.codec=legacy_best_compression", f"elasticsearch.version={version}")
    assert loaded.index["codec"] == "legacy_best_compression"


def test_a_load_of_queries_drops_what_it_extends(repository: Repository) -> None:
    """Topic, sink and rate mean nothing to it, and its route means nothing to a drain that extends it."""
    repository.write(
        "paced",
        """
        question: P?
        extends: books
        topic: {partitions: 7}
        load: {mode: stream, rate_docs_per_s: 100, timeout_s: 97}
        """,
    )
    repository.write("asked", "question: A?\nextends: paced\nload: {mode: query, segments: 1}\n")
    asked = repository.load("asked")
    assert asked.load == QueryOnly(mode="query", segments=1, timeout_s=97)
    assert asked.topic.partitions == 1
    assert repository.load("asked", "load.mode=drain").load.timeout_s == 97
