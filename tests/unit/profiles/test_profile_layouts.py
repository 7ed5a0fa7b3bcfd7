"""Loads of queries alone: what a profile may say of the index that they read."""

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.models import Drain
from tests.unit.profiles.profile_repository import Repository

REWRITTEN = ("load.route=rewritten", "load.codec_before=default")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (
            ("load.route=reindexed",),
            "--set load.route: load.codec_before: missing, expected index.codec before the index was reindexed or "
            "rewritten",
        ),
        (
            ("load.codec_before=default",),
            "--set load.codec_before: only for `route: reindexed` or `route: rewritten`; remove it",
        ),
        (
            ("load.route=rewritten", "load.codec_before=fast"),
            '--set load.codec_before: got "fast", expected `default` or `best_compression`',
        ),
        (
            (*REWRITTEN, "verify.expect=consumed"),
            "--set verify.expect: queries need stored documents, expected `stored`",
        ),
        (
            ("topic.partitions=3",),
            "--set topic.partitions: topic: a load of queries has none, expected no such section",
        ),
        (
            ("load={mode: query, via: direct}",),
            "--set load: load.via: got it for a query-only load, expected none, or another `mode`",
        ),
    ],
)
def test_what_a_kept_index_cannot_be_is_refused(overrides: tuple[str, ...], expected: str) -> None:
    """Before any server is started."""
    with pytest.raises(ProfileError) as refused:
        load_profile("events/queries", overrides=overrides)
    assert str(refused.value) == expected


def test_a_kept_index_holds_each_document_once(repository: Repository) -> None:
    """An update would leave a deleted document in it."""
    refusals = repository.refusal("books", "load.mode=query", "dataset.updates=0.2")
    assert refusals[0] == "--set dataset.updates: got 0.2, expected 0: a kept index holds each document once"


def test_only_a_load_of_queries_has_a_route(repository: Repository) -> None:
    """Every other load fills an index of its own."""
    assert repository.refusal("books", "load.route=loaded") == [
        "--set load.route: got a setting of query-only loads, expected none, or `mode: query`"
    ]


def test_a_load_of_queries_drops_what_it_extends(repository: Repository) -> None:
    """Topic and rate mean nothing to it, and its route nothing to a drain: only what it lacks is left to say."""
    repository.write(
        "paced",
        """
        question: P?
        extends: books
        topic: {partitions: 7}
        load: {mode: stream, rate_docs_per_s: 100}
        """,
    )
    repository.write("asked", "question: A?\nextends: paced\nload: {mode: query, segments: 1, timeout_s: 97}\n")
    assert repository.refusal("asked") == [
        "asked.yaml:3: load.queries: a query load has no question to send, expected `queries.questions`",
        "asked.yaml:3: load.queries: has no end, expected `duration_s` or `requests`",
    ]
    assert repository.load("asked", "load.mode=drain").load == Drain(timeout_s=97)
