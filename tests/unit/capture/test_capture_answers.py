"""Answers of two indices, and the way in which they differ."""

from pathlib import Path

import pytest

from lab.capture.answers import compared, difference, read_questions
from lab.errors import ProfileError
from tests.unit.messages import MakeMessage

ANSWER = {"total": {"value": 3}, "documents": ["a", "b", "b"], "aggregations": {"n": {"value": 1.5}}}


@pytest.mark.parametrize(
    ("other", "how"),
    [
        (ANSWER, ""),
        (ANSWER | {"documents": ["b", "a", "b"]}, "other order"),
        (ANSWER | {"documents": ["a", "a", "b"]}, "other documents"),
        (ANSWER | {"total": {"value": 4}}, "other documents"),
        (ANSWER | {"aggregations": {"n": {"value": 2.5}}}, "other aggregations"),
        ({"error": "400 parsing_exception"}, "400 parsing_exception, not an answer"),
    ],
)
def test_a_difference_is_named(other: dict[str, object], how: str) -> None:
    """The largest one."""
    assert difference(ANSWER, other) == how


def test_an_error_of_both_is_no_difference() -> None:
    """A search that neither takes tells nothing of them."""
    assert difference({"error": "400 a"}, {"error": "400 a"}) == ""


def test_a_question_that_the_control_answers_in_two_ways_is_left_out() -> None:
    """It tells nothing of the variant."""
    other = ANSWER | {"total": {"value": 4}}
    control = [{"one": ANSWER, "two": ANSWER}, {"one": ANSWER, "two": other}]
    assert compared(control, [{"one": other, "two": other}]) == {"one": "other documents"}
    assert compared([], [{"one": other}]) == {}


@pytest.mark.parametrize("text", ["", "[]", "all: 7", "all: {}", "{"])
def test_a_file_without_searches_is_refused(tmp_path: Path, message: MakeMessage, text: str) -> None:
    """A search without a body asks for nothing."""
    path = tmp_path / "questions.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ProfileError) as refused:
        read_questions(path)
    assert str(refused.value) == message("--questions", folder=tmp_path)
