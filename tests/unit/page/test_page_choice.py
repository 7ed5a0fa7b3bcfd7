"""What a browser may choose, and in which words it is refused."""

from typing import Any

import pytest

from lab.errors import ProfileError
from lab.page.choice import Choice, profile_details, suite_details
from lab.profiles import load_profile


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
    ("body", "sentence"),
    [
        ([], "body: got no JSON object, expected kind, name and settings"),
        (
            {"kind": "run", "name": "quickstart", "user": 7},
            "body: unknown key user, expected kind, name, settings or minutes",
        ),
        ({"kind": "race", "name": "quickstart"}, "kind: got race, expected run or suite"),
        ({"kind": ["run"], "name": "quickstart"}, "kind: got ['run'], expected run or suite"),
        ({"kind": "run", "name": "quikstart"}, 'unknown profile "quikstart", did you mean `quickstart`?'),
        (
            {"kind": "run", "name": "quickstart", "settings": "sink.tasks=2"},
            "settings: got something else, expected a list of texts such as sink.tasks=2",
        ),
        (
            {"kind": "run", "name": "quickstart", "settings": ["a=1"] * 101},
            "settings: got more, expected at most 100 settings of 4,000 characters",
        ),
        (
            {"kind": "run", "name": "quickstart", "minutes": 7},
            "minutes: got some for a run, expected them for a suite only",
        ),
        ({"kind": "suite", "name": "a-a", "minutes": 0.5}, "minutes: got 0.5, expected a number from 1 on"),
        ({"kind": "suite", "name": "a-a", "minutes": True}, "minutes: got True, expected a number from 1 on"),
    ],
)
def test_what_makes_no_sense_is_refused(body: Any, sentence: str) -> None:
    """Before anything is started."""
    assert refused(body) == sentence


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
