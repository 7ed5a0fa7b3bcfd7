"""Options as they are meant: short forms for a profile's values, pairs, the dataset's own options."""

from dataclasses import dataclass
from inspect import signature
from pathlib import Path

import pytest

from lab.cli.dead_letters import given_settings
from lab.cli.options import with_groups
from lab.cli.produce import dataset_options, pair
from lab.cli.run import dataset_of, shorthand
from lab.cli.stack import release_given
from lab.engines import DEFAULT, Release
from lab.engines.elasticsearch import ELASTICSEARCH
from lab.errors import ProfileError
from lab.profiles import Dataset, Profile, load_profile
from tests.unit.messages import MakeMessage

NOTHING = dict.fromkeys(("elasticsearch", "opensearch", "distribution", "dataset", "path", "key", "documents", "rate"))


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A group of options."""

    second: int = 2


@dataclass(frozen=True, kw_only=True)
class Outer:
    """A group that holds another one."""

    inner: Inner
    third: int = 3


def test_options_that_are_not_given_change_nothing() -> None:
    """The profile stays what its file says."""
    assert shorthand(**NOTHING) == []


@pytest.mark.parametrize(
    ("option", "value", "overrides"),
    [
        ("elasticsearch", "9.5.3", ['elasticsearch.version="9.5.3"']),
        ("opensearch", "3.0.0", ['opensearch="3.0.0"']),
        ("distribution", "official", ['elasticsearch.distribution="official"']),
        ("dataset", "file", ['dataset.name="file"']),
        ("path", "my: books.ndjson", ['dataset.path="my: books.ndjson"']),
        ("key", "isbn13", ['dataset.key="isbn13"']),
        ("documents", 1009, ["dataset.documents=1009"]),
        ("rate", 503.5, ['load.mode="stream"', "load.rate_docs_per_s=503.5"]),
    ],
)
def test_an_option_is_short_for_a_value_of_the_profile(option: str, value: object, overrides: list[str]) -> None:
    """A rate makes a stream."""
    assert shorthand(**{**NOTHING, option: value}) == overrides  # type: ignore[arg-type]


def test_short_forms_arrive_in_the_profile() -> None:
    """A version is text although it looks like a number to YAML."""
    profile = load_profile(
        "quickstart",
        overrides=shorthand(**{**NOTHING, "elasticsearch": "9.0.0", "documents": 1009, "rate": 503}),  # type: ignore[arg-type]
    )
    assert (profile.elasticsearch.version, profile.dataset.documents) == ("9.0.0", 1009)
    assert (profile.load.mode, profile.load.rate_docs_per_s) == ("stream", 503)


@pytest.mark.parametrize(
    ("option", "value", "facts"),
    [
        ("rate", 0, ("--rate", 0)),
        ("documents", 0, ("--documents", 0)),
        ("opensearch", "9", ("--opensearch", 9, "3.0.0")),
        ("elasticsearch", "8", ("--elasticsearch", 8, "8.19.21")),
        ("dataset", "file", ("--dataset: dataset.path", "--path")),
    ],
)
def test_a_refusal_names_the_option_that_was_given(
    option: str, value: object, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """And not the key that it sets."""
    with pytest.raises(ProfileError) as error:
        load_profile("quickstart", overrides=shorthand(**{**NOTHING, option: value}))  # type: ignore[arg-type]
    assert str(error.value) == message(*facts)


def profile(**dataset: object) -> Profile:
    """A profile of this dataset."""
    section = Dataset.model_validate({"name": "aladin", **dataset})
    return Profile(name="books", question="?", dataset=section, mapping="dynamic")


def test_the_dataset_is_that_of_the_profile() -> None:
    """With its size and its own options."""
    dataset = dataset_of(profile(documents=1009, model="nested", seed=7))
    assert (dataset.name, dataset.documents, dataset.seed) == ("aladin", 1009, 7)


def test_a_dataset_is_as_large_as_so_many_books() -> None:
    """In place of documents; nested, each is one."""
    assert dataset_of(profile(books=101)).documents == 101


def test_a_file_that_is_not_there_is_the_profiles_fault(tmp_path: Path) -> None:
    """Found out before any server is started."""
    with pytest.raises(ProfileError) as refusal:
        dataset_of(profile(name="file", path=str(tmp_path / "books.ndjson"), key="isbn13"))
    assert str(refusal.value).startswith(f"dataset: {tmp_path}/books.ndjson")


# --- pairs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("linger.ms=5", ("linger.ms", "5")),
        ("sasl.jaas.config=a=b", ("sasl.jaas.config", "a=b")),
        ("client.id=", ("client.id", "")),
    ],
)
def test_a_pair_is_taken_apart_at_its_first_equals_sign(text: str, expected: tuple[str, str]) -> None:
    """The value may hold further ones, or be empty."""
    assert pair(text, "--client") == expected


@pytest.mark.parametrize("text", ["linger.ms", "=5", ""])
def test_what_is_no_pair_is_refused(text: str, message: MakeMessage) -> None:
    """With the option that it was given to."""
    with pytest.raises(ProfileError) as refusal:
        pair(text, "--client")
    assert str(refusal.value) == message(f"--client {text}", "NAME=VALUE")


def test_an_option_of_a_dataset_has_the_type_that_the_dataset_declares() -> None:
    """The command line knows only text."""
    assert dataset_options("aladin", ["model=flat", "shops_mean=3.5", "shops_max=31"]) == {
        "model": "flat",
        "shops_mean": 3.5,
        "shops_max": 31,
    }


@pytest.mark.parametrize("text", ["shops_max=many", "shops_max=3.5", "shops_mean="])
def test_a_value_that_is_no_number_is_refused(text: str, message: MakeMessage) -> None:
    """Where the dataset wants one."""
    name, _, value = text.partition("=")
    with pytest.raises(ProfileError) as refusal:
        dataset_options("aladin", [text])
    assert str(refusal.value) == message(f"--option {name}", value)


def test_options_that_nobody_knows_are_left_to_the_dataset() -> None:
    """It refuses them with the nearest name; so it does an unknown dataset."""
    assert dataset_options("aladin", ["colour=red"]) == {"colour": "red"}
    assert dataset_options("nosuch", ["model=flat"]) == {"model": "flat"}


def test_a_replay_takes_secrets_from_the_environment(monkeypatch: pytest.MonkeyPatch, message: MakeMessage) -> None:
    """Every user of the machine reads the words of a command."""
    monkeypatch.setenv("BOOKS_PASSWORD", "hunter2")
    given = given_settings(["batch.size=7"], ["connection.password=BOOKS_PASSWORD"])
    assert given == {"batch.size": "7", "connection.password": "hunter2"}
    monkeypatch.delenv("BOOKS_PASSWORD")
    with pytest.raises(ProfileError) as error:
        given_settings([], ["connection.password=BOOKS_PASSWORD"])
    assert str(error.value) == message("--set-env: BOOKS_PASSWORD")


@pytest.mark.parametrize("stated", [None, "9.1.7"], ids=["nothing stated", "the same"])
def test_servers_are_of_the_release_of_their_distribution(
    stated: str | None, tmp_path: Path, message: MakeMessage
) -> None:
    """An archive says itself which it is."""
    for name in ("bin/elasticsearch", "lib/elasticsearch-9.1.7.jar"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    given = {"elasticsearch": stated, "opensearch": None}
    assert release_given(tmp_path, **given) == Release(ELASTICSEARCH, "9.1.7")
    with pytest.raises(ProfileError) as refusal:
        release_given(tmp_path, **{**given, "elasticsearch": "9.5.3"})
    assert str(refusal.value) == message("--elasticsearch", "9.5.3", "9.1.7", tmp_path)


def test_without_a_distribution_the_release_is_the_one_given_or_the_default() -> None:
    """`official` names a vendor, and no release."""
    given = {"elasticsearch": None, "opensearch": None}
    assert release_given(None, **given) == DEFAULT
    assert release_given(None, **{**given, "elasticsearch": "9.5.3"}) == Release(ELASTICSEARCH, "9.5.3")


def test_the_options_of_a_group_stand_in_its_place_and_are_given_to_it() -> None:
    """Also those of a group within it."""

    @with_groups
    def command(first: int, *, group: Outer, fourth: int = 4) -> tuple[int, Outer, int]:
        return first, group, fourth

    assert list(signature(command).parameters) == ["first", "second", "third", "fourth"]
    assert command(first=1, second=5, third=7, fourth=11) == (1, Outer(inner=Inner(second=5), third=7), 11)
