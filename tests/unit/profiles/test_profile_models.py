"""Defaults, immutability and the way through JSON."""

import pytest
from pydantic import ValidationError

from lab.profiles import Profile
from lab.profiles.models import Stream
from tests.unit.profiles.profile_repository import Repository


def test_a_profile_needs_only_a_question_and_a_dataset(repository: Repository) -> None:
    """Everything else has a default."""
    repository.write("least", "question: What?\ndataset: {name: events, documents: 7}\n")
    profile = repository.load("least")
    assert profile.mapping == "events.static"
    assert (profile.topic.partitions, profile.producer.processes, profile.sink.tasks) == (1, 1, 1)
    assert profile.sink.connector == "elasticsearch"
    assert (profile.elasticsearch.version, profile.elasticsearch.data_nodes) == ("8.19.21", 1)
    assert (profile.load.mode, profile.load.rate_docs_per_s) == ("drain", None)
    assert (profile.verify.sample, profile.sampling.interval_s) == (1000, 1.0)
    assert (profile.number_of_shards, profile.number_of_replicas) == (1, 1)


def test_every_field_that_an_author_writes_is_described() -> None:
    """The descriptions are what `missing` messages quote."""
    undescribed = [
        f"{section}.{name}"
        for section, field in Profile.model_fields.items()
        if hasattr(field.annotation, "model_fields")
        for name, inner in field.annotation.model_fields.items()
        if not inner.description
    ]
    assert undescribed == []


def test_a_profile_goes_through_json_unchanged(repository: Repository) -> None:
    """What a run's folder holds is the profile that the run had, places included."""
    profile = repository.load("books", "index.sort.field=[title, isbn]", "load={mode: stream, rate_docs_per_s: 11}")
    assert Profile.model_validate(profile.model_dump(mode="json")) == profile
    assert Profile.model_validate_json(profile.model_dump_json()) == profile


def test_a_profile_cannot_be_changed(repository: Repository) -> None:
    """A run cannot alter what it was asked to do."""
    with pytest.raises(ValidationError):
        repository.load("books").topic.partitions = 2  # type: ignore[misc]


def test_a_whole_number_serves_where_a_number_is_expected(repository: Repository) -> None:
    """A rate may be written without a point, or with an exponent."""
    profile = repository.load("books", "load.mode=stream", "load.rate_docs_per_s=1e4")
    assert isinstance(profile.load, Stream)
    assert profile.load.rate_docs_per_s == 10_000


def test_a_profile_without_a_distribution_is_written_as_before_there_was_one(repository: Repository) -> None:
    """So are records and fingerprints of the small distribution, which suites are resumed by."""
    plain, official = (repository.load("books", *which) for which in ((), ("elasticsearch.distribution=official",)))
    assert "distribution" not in plain.model_dump()["elasticsearch"]
    assert official.model_dump()["elasticsearch"]["distribution"] == "official"
    assert official.fingerprint() != plain.fingerprint()


def test_a_fingerprint_tells_runs_apart_and_not_questions(repository: Repository) -> None:
    """Two profiles that ask for the same run share it, whatever they are called."""
    plain = repository.load("books").fingerprint()
    assert repository.load("books", "question=Why?").fingerprint() == plain
    assert repository.load("books", "index.number_of_shards=2").fingerprint() != plain
