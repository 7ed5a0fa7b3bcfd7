"""What a browser may choose, and in which words it is refused."""

from typing import Any

import pytest

from lab.errors import ProfileError
from lab.page.choice import Choice, profile_details, suite_details
from lab.profiles import load_profile
from tests.unit.messages import MakeMessage


def refused(body: Any) -> str:
    """Why a choice is refused."""
    with pytest.raises(ProfileError) as refusal:
        Choice.of(body).check()
    return str(refusal.value)


def test_a_choice_is_a_command() -> None:
    """As it would be typed."""
    run = Choice.of({"kind": "run", "name": "quickstart", "settings": ["sink.tasks=2"]})
    run.check()
    assert run.arguments == ("run", "quickstart", "--set", "sink.tasks=2")
    suite = Choice.of({"kind": "suite", "name": "a-a", "minutes": 7.5})
    suite.check()
    assert suite.arguments == ("suite", "a-a", "--minutes", "7.5")


def test_a_setting_is_refused_with_the_sentence_of_the_command_line() -> None:
    """The very same."""
    with pytest.raises(ProfileError) as on_the_command_line:
        load_profile("quickstart", overrides=["sink.tasks=none"])
    said = refused({"kind": "run", "name": "quickstart", "settings": ["sink.tasks=none"]})
    assert said == str(on_the_command_line.value)


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ([], ("body",)),
        (
            {"kind": "run", "name": "quickstart", "user": 7},
            ("body",),
        ),
        ({"kind": "race", "name": "quickstart"}, ("kind", "race")),
        ({"kind": ["run"], "name": "quickstart"}, ("kind", "['run']")),
        ({"kind": "run", "name": "quikstart"}, ("quikstart", "quickstart")),
        (
            {"kind": "run", "name": "quickstart", "settings": "sink.tasks=2"},
            ("settings", "sink.tasks=2"),
        ),
        (
            {"kind": "run", "name": "quickstart", "settings": ["a=1"] * 101},
            ("settings", "more", 100, "4,000"),
        ),
        (
            {"kind": "run", "name": "quickstart", "minutes": 7},
            ("minutes",),
        ),
        ({"kind": "suite", "name": "a-a", "minutes": 0.5}, ("minutes", 0.5, 1)),
        ({"kind": "suite", "name": "a-a", "minutes": True}, ("minutes", "True", 1)),
    ],
)
def test_what_makes_no_sense_is_refused(body: Any, facts: tuple[object, ...], message: MakeMessage) -> None:
    """Before anything is started."""
    assert refused(body) == message(*facts)


@pytest.mark.parametrize("name", ["../../etc/passwd", "./mine.yaml", "/home/mine.yaml", "-h", 7, None])
def test_a_name_that_is_no_profile_of_the_list_is_refused(name: Any) -> None:
    """Neither a path nor an option."""
    assert refused({"kind": "run", "name": name}).startswith(f'unknown profile "{name}", ')


def test_a_profile_says_its_values_and_where_they_come_from() -> None:
    """As `show` does."""
    details = profile_details("quickstart")
    values = {setting["key"]: setting["value"] for setting in details["settings"]}
    assert values["sink.tasks"] == load_profile("quickstart").sink.tasks
    assert details["yaml"].startswith("question: ")


def test_a_suite_says_its_variants() -> None:
    """With its file."""
    details = suite_details("a-a")
    assert "question:" in details["yaml"]
    assert len(details["variants"]) >= 2
