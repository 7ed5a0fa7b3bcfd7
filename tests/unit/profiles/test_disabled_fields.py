"""Fields of a mapping that a profile has only stored."""

import pytest

from lab.profiles.mapping import load_mapping, mapping_for
from lab.suite.plan import kind_of
from tests.unit.messages import MakeMessage
from tests.unit.profiles.profile_repository import Repository

OFF = {"type": "object", "enabled": False}
MAPPING = """\
{"mappings": {"properties": {"title": {"type": "text"}, "subInfo": {"properties": {"usedList": {"type": "nested"}}}}}}
"""


@pytest.fixture(autouse=True)
def _declared(repository: Repository) -> None:
    (repository.root / "mappings" / "aladin.nested.static.json").write_text(MAPPING)


def test_a_disabled_field_takes_any_value_and_indexes_none(repository: Repository) -> None:
    """A nested array as well; the mapping file is as it was."""
    repository.write("mine", "question: What?\ndataset: {name: aladin, documents: 7}\n")
    plain = repository.load("mine")

    profile = repository.load("mine", "disabled_fields=[title, subInfo.usedList]")

    properties = mapping_for(profile, repository.root)["mappings"]["properties"]
    assert (properties["title"], properties["subInfo"]["properties"]["usedList"]) == (OFF, OFF)
    whole = load_mapping(plain.mapping, repository.root)
    assert mapping_for(plain, repository.root) == whole
    assert {name for name, of in properties.items() if of != whole["mappings"]["properties"][name]} == {
        "title",
        "subInfo",
    }


def test_an_unknown_field_is_refused(repository: Repository, message: MakeMessage) -> None:
    """With the nearest one, or all."""
    repository.write("mine", "question: What?\ndataset: {name: aladin, documents: 7}\ndisabled_fields: [titel]\n")

    assert repository.refusal("mine") == [
        message("mine.yaml:3: disabled_fields", "titel", "aladin.nested.static", "title")
    ]
    assert repository.refusal("mine", "disabled_fields=[subInfo.usedLits]") == [
        message("--set disabled_fields", "subInfo.usedLits", "aladin.nested.static", "subInfo.usedList")
    ]


def test_another_mapping_drops_the_inherited_fields(repository: Repository) -> None:
    """It need not have them."""
    repository.write("mine", "question: What?\ndataset: {name: aladin, documents: 7}\ndisabled_fields: [title]\n")

    assert repository.load("mine").disabled_fields == ["title"]
    for change in ("mapping=dynamic", "dataset.model=flat", "dataset={name: events, documents: 7}"):
        assert repository.load("mine", change).disabled_fields == []


def test_profiles_differ_by_their_disabled_fields_and_are_of_one_kind(repository: Repository) -> None:
    """Records say which, and a profile without any is recorded as it was before; no server compiles anew for one."""
    repository.write("mine", "question: What?\ndataset: {name: aladin, documents: 7}\n")
    plain, without = repository.load("mine"), repository.load("mine", "disabled_fields=[title]")

    assert plain.fingerprint() != without.fingerprint()
    assert "disabled_fields" not in plain.model_dump()
    assert without.model_dump()["disabled_fields"] == ["title"]
    assert kind_of(plain) == kind_of(without)
