"""Profiles, suites, mappings and templates of one's own, in the working folder, beside those that come with Sluice."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import ProfileError
from lab.profiles import list_profiles, load_profile
from lab.profiles.mapping import load_mapping, load_template
from lab.profiles.suites import load_suite, suite_names
from tests.unit.messages import MakeMessage

Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file below a working folder that is no checkout."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


def test_an_own_profile_extends_one_that_comes_with_sluice(write: Write) -> None:
    """And is known by its name, with a mapping and a connector template of its own."""
    write("mappings/mine.json", '{"mappings": {"dynamic": true}}')
    write("connect/connectors/mine.json", '{"topics": "mine"}')
    write(
        "experiments/profiles/shop/mine.yaml",
        "question: Mine?\nextends: quickstart\nmapping: mine\nsink: {connector: mine}\n",
    )

    profile = load_profile("shop/mine")

    assert (profile.name, profile.mapping, profile.dataset.name) == ("shop/mine", "mine", "aladin")
    assert profile.where["mapping"] == "experiments/profiles/shop/mine.yaml:3"
    assert load_mapping("mine") == {"mappings": {"dynamic": True}}
    assert load_template("mine") == {"topics": "mine"}


def test_own_profiles_are_listed_with_the_others(write: Write) -> None:
    """In one list, by name."""
    theirs = list_profiles()
    write("experiments/profiles/aladin/mine.yaml", "question: Mine?\n")

    assert list_profiles() == sorted([*theirs, ("aladin/mine", "Mine?")])


def test_an_own_file_stands_for_the_one_of_its_name(write: Write) -> None:
    """In the list too."""
    theirs = dict(list_profiles())
    write("experiments/profiles/quickstart.yaml", "question: Mine?\nextends: aladin/static\n")

    assert load_profile("quickstart").question == "Mine?"
    assert dict(list_profiles()) == {**theirs, "quickstart": "Mine?"}


def test_an_own_suite_compares_own_profiles(write: Write) -> None:
    """And is listed."""
    write("experiments/profiles/mine.yaml", "question: Mine?\nextends: quickstart\nindex: {number_of_shards: 2}\n")
    write(
        "experiments/suites/mine.yaml",
        "question: Which?\ncontrol: quickstart\nvariants:\n- profile: quickstart\n- profile: mine\n",
    )

    assert load_suite("mine").variants[-1].profile.question == "Mine?"
    assert "mine" in suite_names()


def test_a_misspelt_name_is_compared_with_own_ones_too(write: Write, message: MakeMessage) -> None:
    """For a mapping and for a profile."""
    write("mappings/bookshop.json", "{}")
    write("experiments/profiles/bookshop.yaml", "question: Mine?\nextends: quickstart\nmapping: bookshpo\n")

    with pytest.raises(ProfileError) as refusal:
        load_profile("bookshop")
    assert str(refusal.value) == message("experiments/profiles/bookshop.yaml:3: mapping", "bookshpo")
    with pytest.raises(ProfileError) as refusal:
        load_profile("bookshpo")
    assert str(refusal.value) == message("bookshpo", "bookshop")


def test_own_files_do_not_count_for_another_root(write: Write, tmp_path: Path) -> None:
    """What is not ours is looked at as it is."""
    write("experiments/profiles/mine.yaml", "question: Mine?\nextends: quickstart\n")

    with pytest.raises(ProfileError) as refusal:
        load_profile("mine", root=tmp_path / "other")
    assert str(refusal.value).startswith('unknown profile "mine"')


def test_documents_in_place_of_a_profile_lead_to_init(tmp_path: Path) -> None:
    """`run ../shop.ndjson` is what somebody tries first."""
    documents = tmp_path / "my shop.ndjson"
    documents.write_text("{}")
    with pytest.raises(ProfileError) as refusal:
        load_profile(str(documents))
    assert str(refusal.value).endswith(f"./sluice init '{documents}'")
