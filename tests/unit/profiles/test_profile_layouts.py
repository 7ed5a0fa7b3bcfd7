"""Loads of queries alone: what a profile may say of the index that they read."""

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from lab.profiles.models import Drain
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository

REWRITTEN = ("load.route=rewritten", "load.codec_before=default")


@pytest.mark.parametrize(
    ("overrides", "facts"),
    [
        (
            ("load.route=reindexed",),
            ("--set load.route: load.codec_before", "index.codec"),
        ),
        (
            ("load.codec_before=default",),
            ("--set load.codec_before", "route: reindexed", "route: rewritten"),
        ),
        (
            ("load.route=rewritten", "load.codec_before=fast"),
            ("--set load.codec_before", "fast", "default", "best_compression"),
        ),
        (
            (*REWRITTEN, "verify.expect=consumed"),
            ("--set verify.expect", "stored"),
        ),
        (
            ("topic.partitions=3",),
            ("--set topic.partitions: topic",),
        ),
        (
            ("load={mode: query, via: direct}",),
            ("--set load: load.via", "mode"),
        ),
    ],
)
def test_what_a_kept_index_cannot_be_is_refused(
    overrides: tuple[str, ...], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before any server is started."""
    with pytest.raises(ProfileError) as refused:
        load_profile("events/queries", overrides=overrides)
    assert str(refused.value) == message(*facts)


def test_a_kept_index_holds_each_document_once(repository: Repository, message: MakeMessage) -> None:
    """An update would leave a deleted document in it."""
    refusals = repository.refusal("books", "load.mode=query", "dataset.updates=0.2")
    assert refusals[0] == message("--set dataset.updates", 0.2)


def test_only_a_load_of_queries_has_a_route(repository: Repository, message: MakeMessage) -> None:
    """Every other load fills an index of its own."""
    assert repository.refusal("books", "load.route=loaded") == [message("--set load.route", "mode: query")]


def test_a_load_of_queries_drops_what_it_extends(repository: Repository, message: MakeMessage) -> None:
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
        message("asked.yaml:3: load.queries", "queries.questions"),
        message("asked.yaml:3: load.queries", "duration_s", "requests"),
    ]
    assert repository.load("asked", "load.mode=drain").load == Drain(timeout_s=97)
