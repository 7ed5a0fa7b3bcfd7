"""Dead letters on the terminal."""

import pytest

from lab.cli.dead_letters_display import print_groups, print_letter, print_outcome
from lab.clients.kafka import Place
from lab.replay.dead_letters import Letter, groups_of
from lab.replay.replay import Replay

PARSING = "status 400 x: failed to parse field [pa\x9bges] of type [long] in document with id '7\x1b[1m'."


def test_what_a_terminal_would_obey_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever wrote the document may not be trusted; markup in it is text, too."""
    places = Place("bad", 0, 0), Place("books", 0, 3), Place("books", 0, 3)
    letter = Letter(*places, None, b'{"pa\xc2\x9bges": "[bold]\xc2\x9b2J", "title": "\x1b]0;x\x07"}', (), 0, PARSING)
    print_groups(groups_of([letter], values=True))
    print_letter(letter, "books.ndjson:3")
    output = capsys.readouterr().out
    assert {character for character in output if not character.isprintable()} <= {"\n"}
    assert '"[bold]\ufffd2J"' in output
    assert "\ufffd]0;x\ufffd" in output


def test_where_nothing_is_sent_again_no_reason_is_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    """They may have been discarded, or the choice may take none."""
    print_outcome(Replay(sent=0))
    assert "no such dead letter, or each was sent again or discarded before" in " ".join(
        capsys.readouterr().out.split()
    )
