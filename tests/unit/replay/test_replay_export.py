"""Dead letters as lines of JSON, and as documents alone."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from lab.clients.kafka import Place
from lab.errors import ProfileError
from lab.replay.dead_letters import EVERYTHING, Letter
from lab.replay.export import content_json, document_line, exported, letter_json, new_file
from tests.unit.messages import MakeMessage

PLACE = Place("books", 3, 11)
REASON = "books-3@11: status 400 mapper_parsing_exception: failed to parse field [pages] of type [long]"


def letter(value: bytes | None) -> Letter:
    """A letter with this document."""
    return Letter(Place("bad", 0, 5), PLACE, PLACE, b"9788", value, (), 1009, REASON)


def test_a_letter_is_told_with_its_line_its_field_and_its_value() -> None:
    """On one line, whatever lines the document had; numbers keep their digits."""
    line = orjson.dumps(letter_json(letter(b'{\n "pages": "many",\r\n "price": 1.10\n}'), "books.ndjson:12"))
    assert b"\n" not in line
    assert b'"price": 1.10' in line
    assert orjson.loads(line) == {
        "at": "books-3@11",
        "first_refused_at": "books-3@11",
        "topic": "books",
        "partition": 3,
        "offset": 11,
        "line": "books.ndjson:12",
        "status": 400,
        "reason": REASON,
        "field": "pages",
        "value": "many",
        "sent_again": False,
        "discarded": False,
        "key": "9788",
        "document": {"pages": "many", "price": 1.1},
    }


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, {"document": None}),
        (b"{", {"document_text": "{"}),
        (b"\xff\x00", {"document_base64": "/wA="}),
        (b'{"n": 99999999999999999999}', {"document": {"n": 1e20}}),
    ],
)
def test_a_document_that_is_no_json_is_text_or_base64(content: bytes | None, told: dict[str, object]) -> None:
    """Under another name, so that text is not taken for a JSON string."""
    assert orjson.loads(orjson.dumps(content_json("document", content))) == told


@pytest.mark.parametrize("documents_only", [True, False])
def test_what_a_replay_has_brought_back_is_exported(*, documents_only: bool) -> None:
    """Its letter waits, the first one of its record was sent; of all letters, a document alone is there once."""
    first = replace(letter(b"{}"), sent_again=True)
    back = replace(letter(b"{}"), refused_at=Place("sluice-replay-bad", 0, 1))
    other = {"documents_only": documents_only}
    assert list(exported([first, back, back], EVERYTHING, everything=False, **other)) == [back]
    assert list(exported([first, back], EVERYTHING, everything=True, **other)) == [first, back][: 2 - documents_only]


def test_a_document_alone_is_one_line_as_it_stands() -> None:
    """A tombstone has none."""
    assert document_line(letter(b'{"a":\n1.10}')) == b'{"a": 1.10}\n'
    assert document_line(letter(b"{broken")) == b"{broken\n"
    assert document_line(letter(None)) == b""


def test_a_file_that_exists_is_left_alone(tmp_path: Path, message: MakeMessage) -> None:
    """Exit status 2."""
    path = tmp_path / "letters.ndjson"
    path.write_text("mine")
    with pytest.raises(ProfileError) as refused, new_file(str(path)):
        pass
    assert str(refused.value) == message(path)
    assert path.read_text() == "mine"


def interrupted(path: Path) -> None:
    """Begin to write a file, and be interrupted."""
    with new_file(str(path)) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_a_file_is_there_once_it_is_whole(tmp_path: Path) -> None:
    """One that is killed meanwhile leaves no part of it under that name; whoever makes it meanwhile keeps theirs."""
    path = tmp_path / "letters.ndjson"
    with new_file(str(path)) as file:
        file.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_a_file_that_cannot_be_finished_is_removed(tmp_path: Path) -> None:
    """So that the same command can be run again."""
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "letters.ndjson")
    assert list(tmp_path.iterdir()) == []
