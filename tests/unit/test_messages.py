"""Expected messages: facts as whole words, the golden text, and names for what changes."""

from typing import Any, cast

from tests.unit.messages import Message, Naming


class Anything:
    """A golden file that is being renewed: every text is right."""

    __hash__ = None

    def __eq__(self, _: object) -> bool:
        return True


def expected(golden: object, *facts: object, **changing: object) -> Message:
    """An expected message with a golden text of the test's own."""
    return Message(cast("Any", golden), facts, changing)


def test_a_fact_is_a_whole_word() -> None:
    """A number within another number is none."""
    assert Naming(7, "expected at least 17") == "got 7, expected at least 17"
    assert Naming(7) != "got 17, expected more"


def test_facts_in_other_words_are_another_message() -> None:
    """The golden file decides."""
    assert expected("got 7 books", 7) == "got 7 books"
    assert expected("got 7 books", 7) != "had 7 books"


def test_no_renewal_accepts_a_message_without_its_facts() -> None:
    """Facts come before the golden text."""
    assert expected(Anything(), 7) == "got 7 books"
    assert expected(Anything(), 7) != "got 8 books"


def test_what_changes_has_a_name_in_the_golden_file() -> None:
    """A folder, and the present."""
    text = "/tmp/7/books: gone at 2026-01-01T00:00:07.000Z"  # noqa: S108
    assert text == expected("{folder}/books: gone at {instant}", folder="/tmp/7")  # noqa: S108


def test_what_is_no_text_is_no_message() -> None:
    """Such as an error in place of its sentence."""
    assert ValueError("got 7") != Naming(7)
