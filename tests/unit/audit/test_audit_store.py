"""Rows in DuckDB: ids that are as they should be are only counted, and the others come back with all their rows."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.audit.judge import Fate, Row, Stored, Terms
from lab.audit.store import Store
from lab.errors import ProfileError, StackError
from tests.unit.messages import MakeMessage


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty one."""
    with Store(tmp_path / "a.duckdb", "options", resume=False) as made:
        yield made


def record(name: str | None, offset: int, *, content: str | None = None, dead: bool = False) -> tuple[object, ...]:
    """A record in partition 0, whose version is its offset; a tombstone if it deletes."""
    return (name, 0, offset, offset, 1000 + offset, content, dead, False)


def document(name: str, version: int, content: str | None = None, index: str = "books") -> tuple[object, ...]:
    """A document."""
    return (name, index, version, 7, content)


def test_ids_as_they_should_be_are_counted_and_others_come_back(store: Store) -> None:
    """Stored, deleted, missing, stale, unexpected, dead-lettered, in flight, doubled."""
    records = [record(name, number) for number, name in enumerate("aabcdefh")]
    store.add("records", [*records, record("b", 9, dead=True), record("g", 29), record(None, 31)])
    store.add("documents", [document("a", 1), document("d", 0), document("x", 1), document("h", 7)])
    store.add("documents", [document("h", 7, index="books-2")])
    store.add("letters", [(0, 5, "status 400", 1005)])
    store.add("committed", [(0, 23)])

    fates = store.compare(Terms())
    odd = {name: (rows, documents) for name, rows, documents in store.odd()}

    assert fates == {Fate.DOCUMENT: 1, Fate.DELETE: 1, Fate.SUPERSEDED: 2}
    assert list(odd) == ["c", "d", "e", "f", "g", "h", "x"]
    assert odd["c"] == ([Row(0, 3, 3, 1003)], [])
    assert odd["d"] == ([Row(0, 4, 4, 1004)], [Stored("books", 0, 7)])
    assert odd["e"] == ([Row(0, 5, 5, 1005, reason="status 400")], [])
    assert odd["g"] == ([Row(0, 29, 29, 1029, is_open=True)], [])
    assert [each.index for each in odd["h"][1]] == ["books", "books-2"]
    assert odd["x"] == ([], [Stored("books", 1, 7)])
    assert list(store.without_id()) == [Row(0, 31, 31, 1031, is_open=True)]


@pytest.mark.parametrize(("written_ms", "reason"), [(1004, None), (1005, "status 400"), (1006, "status 400")])
def test_a_letter_from_before_a_record_is_not_of_it(store: Store, written_ms: int, reason: str | None) -> None:
    """It is of a topic of the same name that was deleted, and would hide that the record is missing."""
    store.add("records", [record("a", 5)])
    store.add("letters", [(0, 5, "status 400", written_ms)])
    store.compare(Terms())
    assert [rows for _, rows, _ in store.odd()] == [[Row(0, 5, 5, 1005, reason=reason)]]


@pytest.mark.parametrize(("content", "is_odd"), [("same", False), (None, False), ("other", True)])
def test_another_content_makes_an_id_odd(store: Store, content: str | None, *, is_odd: bool) -> None:
    """Unless contents are not compared."""
    store.add("records", [record("a", 3, content="same")])
    store.add("documents", [document("a", 3, content)])
    store.compare(Terms())
    assert [name for name, _, _ in store.odd()] == ["a"] * is_odd


def test_equal_contents_without_ids_are_compared_by_number(store: Store) -> None:
    """Their ids are their contents."""
    store.add("records", [record("x", 1), record("x", 2), record("y", 3)])
    store.add("documents", [document("x", 1), document("x", 1)])
    assert store.compare(Terms(by_content=True, versions=False))[Fate.DOCUMENT] == 2
    assert [name for name, _, _ in store.odd()] == ["y"]


@pytest.mark.parametrize(("versions", "are_offsets"), [((11, 12, 1), True), ((1, 1, 12), False)])
def test_versions_are_those_of_records_if_most_are(
    store: Store, versions: tuple[int, ...], *, are_offsets: bool
) -> None:
    """One document was changed by a program, or is stored by chance as its offset."""
    store.add("records", [record(name, offset) for offset, name in enumerate("abc", 10)])
    store.add("records", [record("a", 13), record("b", 14)])
    store.add("documents", [document(name, version) for name, version in zip("bca", versions, strict=True)])
    assert store.has_versions_of_records() == are_offsets


def test_a_store_is_resumed_where_its_rows_end(tmp_path: Path, message: MakeMessage) -> None:
    """With the same options; without --resume it begins anew."""
    path = tmp_path / "a.duckdb"
    with Store(path, "options", resume=False) as store:
        store.add("records", [record("a", 41)], ("index", "pit 7"))
    with pytest.raises(ProfileError) as error:
        Store(path, "others", resume=True)
    assert str(error.value) == message("--resume")
    with Store(path, "options", resume=True) as store:
        assert (store.reached(), store.note("index")) == ({0: 42}, "pit 7")
    with Store(path, "options", resume=False) as store:
        assert (store.reached(), store.note("index")) == ({}, None)
        store.finish()
    assert list(tmp_path.iterdir()) == []


def test_an_audit_that_is_under_way_keeps_its_files(tmp_path: Path) -> None:
    """A second one of the same topic and index, in another process, is refused before it removes any."""
    path = tmp_path / "a.duckdb"
    code = "import sys; from pathlib import Path; from lab.audit.store import Store\n"
    code += "Store(Path(sys.argv[1]), 'options', resume=False)"
    with Store(path, "options", resume=False) as store:
        second = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
        store.set_note("index", "read")
    assert "StackError" in second.stderr
    with Store(path, "options", resume=True) as store:
        assert store.note("index") == "read"


def test_tombstones_that_tell_nothing_are_not_counted(store: Store) -> None:
    """Those in flight or in the queue, and those before which no document can have been."""
    ids = ("deleted", "kept", "in flight", "dead")
    store.add("records", [record(name, offset) for offset, name in enumerate(ids)])
    tombstones = [record(name, offset, dead=True) for offset, name in enumerate((*ids, "never there"), 10)]
    store.add("records", [each for each in tombstones if each[0] != "in flight"])
    store.add("records", [record("in flight", 50, dead=True)])
    store.add("committed", [(0, 50)])
    store.add("letters", [(0, 13, "status 400", 1013)])
    store.add("documents", [document(name, 1) for name in ("kept", "in flight", "dead")])
    assert store.deleted_share() == (2, 1)


def test_an_error_of_the_store_ends_in_a_sentence(tmp_path: Path, message: MakeMessage) -> None:
    """As when its disk is full; the file is kept, so that the audit can be resumed."""
    path = tmp_path / "a.duckdb"
    with pytest.raises(StackError) as error, Store(path, "options", resume=False) as store:
        store.count("no_such_table")
    assert str(error.value) == message(path)
    path.write_bytes(b"damaged" * 999)
    with pytest.raises(StackError) as error:
        Store(path, "options", resume=True)
    assert str(error.value) == message(path)
