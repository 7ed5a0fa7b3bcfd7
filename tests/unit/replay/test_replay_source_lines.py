"""The lines of a user's file from which dead letters came."""

from pathlib import Path

import pytest

from lab.clients.kafka import Place
from lab.replay.source_lines import RecordOfFile, SourceFile, digest_of, source_of
from producers.dataset import DatasetError

BOOKS = ('{"isbn": "a"}', '{"isbn": "b", "pages": "many"}', "", '{"isbn": "c"}', '{"isbn": "b", "pages": "many"}')


def record(offset: int, key: str, value: str) -> RecordOfFile:
    """A record that was rejected."""
    return RecordOfFile(Place("books", 0, offset), key.encode(), digest_of(value.encode()))


def found(path: Path, key: str | None, *records: RecordOfFile) -> dict[int, str]:
    """Line by offset."""
    lines = SourceFile(str(path), key).lines_of(records)
    return {place.offset: line.removeprefix(f"{path}:") for place, line in lines.items()}


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """A file with a blank line and a line that occurs twice."""
    path = tmp_path / "books.ndjson"
    path.write_text("\n".join(BOOKS) + "\n")
    return path


def test_a_record_is_found_by_its_value(books: Path) -> None:
    """Lines count from 1, blank ones with them; what the file does not hold has no line."""
    assert found(books, "isbn", record(7, "c", BOOKS[3]), record(9, "x", '{"isbn": "x"}')) == {7: "4"}


def test_records_of_equal_lines_have_their_lines_in_order_lap_after_lap(books: Path) -> None:
    """The first record has the first line, and the third of two lines the first one again."""
    records = [record(offset, "b", BOOKS[1]) for offset in (101, 3, 211)]
    assert found(books, "isbn", *records) == {3: "2", 101: "5", 211: "2"}


def test_a_record_that_is_asked_for_twice_has_one_line(books: Path) -> None:
    """Such as one that is in a group and shown in full: it takes no line of another one."""
    records = [record(offset, "b", BOOKS[1]) for offset in (3, 3, 101, 101)]
    assert found(books, "isbn", *records) == {3: "2", 101: "5"}


def test_keys_that_are_numbers_tell_equal_documents_apart(books: Path) -> None:
    """The fourth document stands on the fifth line."""
    assert found(books, None, record(0, "4", BOOKS[1])) == {0: "5"}


def test_ids_beside_the_fields_tell_equal_documents_apart(tmp_path: Path) -> None:
    """In the bulk format the line is that of the document."""
    path = tmp_path / "bulk"
    path.write_text('{"index": {"_id": "x"}}\n{"n": 1}\n{"index": {"_id": "y"}}\n{"n": 1}\n')
    assert found(path, None, record(0, "y", '{"n": 1}'), record(1, "x", '{"n": 1}')) == {0: "4", 1: "2"}


def test_the_file_is_read_no_further_than_to_the_last_record(books: Path) -> None:
    """What comes after it may be no document at all."""
    with books.open("a") as file:
        file.write("{")
    assert found(books, "isbn", record(0, "a", BOOKS[0])) == {0: "1"}
    with pytest.raises(DatasetError):
        found(books / "gone", "isbn", record(0, "a", BOOKS[0]))


@pytest.mark.parametrize(
    ("profile", "source"),
    [
        ('{"dataset": {"name": "file", "path": "b.csv", "key": "isbn"}}', SourceFile("b.csv", "isbn")),
        ('{"dataset": {"name": "file", "path": "b.csv"}}', SourceFile("b.csv", None)),
        ('{"dataset": {"name": "events"}}', None),
        ("{}", None),
    ],
)
def test_a_run_knows_the_file_of_its_documents(tmp_path: Path, profile: str, source: SourceFile | None) -> None:
    """Out of its effective profile."""
    (tmp_path / "profile.json").write_text(profile)
    assert source_of(tmp_path) == source
    assert source_of(tmp_path / "gone") is None
