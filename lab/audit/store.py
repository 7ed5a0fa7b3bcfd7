"""Rows of a topic and an index in a DuckDB file: compared with bounded memory, and kept for an audit that resumes.

The verification of a run (`lab.run.verify.accounting`) compares hashes in memory instead, 8 bytes for each id: it has
the dataset, and a minute.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np

from lab.audit.judge import Fate, Row, Stored, Terms
from lab.errors import ProfileError, StackError

MEMORY = "512MB"
THREADS = 2
AT_ONCE = 2_048
VERSIONS_SAMPLED = 10_000

TABLES = """
CREATE TABLE IF NOT EXISTS records (id VARCHAR, partition INTEGER, "offset" BIGINT, version BIGINT,
    timestamp_ms BIGINT, hash VARCHAR, tombstone BOOLEAN, newer BOOLEAN);
CREATE TABLE IF NOT EXISTS documents (id VARCHAR, index_name VARCHAR, version BIGINT, seq_no BIGINT, hash VARCHAR);
CREATE TABLE IF NOT EXISTS letters (partition INTEGER, "offset" BIGINT, reason VARCHAR, written_ms BIGINT);
CREATE TABLE IF NOT EXISTS committed (partition INTEGER, "offset" BIGINT);
CREATE TABLE IF NOT EXISTS suspects (id VARCHAR);
CREATE TABLE IF NOT EXISTS notes (name VARCHAR PRIMARY KEY, text VARCHAR);
"""
DTYPES = {
    "records": ("O", "i4", "i8", "i8", "i8", "O", "?", "?"),
    "documents": ("O", "O", "i8", "i8", "O"),
    "letters": ("i4", "i8", "O", "i8"),
    "committed": ("i4", "i8"),
    "suspects": ("O",),
}
JUDGED_ROWS = """
SELECT r.*, l.reason, coalesce(r."offset" >= c."offset", false) AS open
FROM records r LEFT JOIN letters l ON l.partition = r.partition AND l."offset" = r."offset"
    AND l.written_ms >= r.timestamp_ms LEFT JOIN committed c ON c.partition = r.partition
"""
COMPARED = f"""
WITH r AS (
    SELECT id, count(*) AS records, max(version) AS version, arg_max(tombstone, (version, "offset")) AS tombstone,
        arg_max(hash, (version, "offset")) AS hash, min(partition) = max(partition) AS one_partition,
        bool_or(newer OR open OR reason IS NOT NULL OR (tombstone AND NOT $deletes)) AS odd
    FROM ({JUDGED_ROWS}) WHERE id IS NOT NULL GROUP BY id),
d AS (SELECT id, count(*) AS copies, max(version) AS version, any_value(hash) AS hash FROM documents GROUP BY id)
SELECT coalesce(r.id, d.id) AS id, coalesce(r.records, 0) AS records, coalesce(d.copies, 0) AS copies,
    CASE WHEN r.id IS NULL OR odd OR NOT one_partition THEN 'odd'
        WHEN $by_content THEN CASE WHEN r.records = d.copies AND NOT tombstone THEN 'equal' ELSE 'odd' END
        WHEN tombstone THEN CASE WHEN d.id IS NULL THEN 'deleted' ELSE 'odd' END
        WHEN d.copies = 1 AND (NOT $versions OR d.version = r.version)
            AND (r.hash = d.hash OR r.hash IS NULL OR d.hash IS NULL) THEN 'stored'
        ELSE 'odd' END AS verdict
FROM r FULL JOIN d ON r.id = d.id
"""  # noqa: S608 - no part of it is anybody's input


class Store:
    """Rows of an audit.

    Args:
        path: Its file; what memory does not hold goes to a folder beside it.
        options: Text that an audit which is resumed must have had as well.
    """

    def __init__(self, path: Path, options: str, *, resume: bool) -> None:
        import duckdb  # noqa: PLC0415 - only an audit needs its 70 MB

        self._path = path
        self._error = duckdb.Error
        path.parent.mkdir(parents=True, exist_ok=True)
        config: dict[str, Any] = {"memory_limit": MEMORY, "threads": THREADS, "preserve_insertion_order": False}
        config["temp_directory"] = f"{path}.tmp"
        try:
            self._db = duckdb.connect(str(path), config=config)
            if not resume:
                # Only now: a file that is open elsewhere is another audit's.
                self._db.close()
                self._remove()
                self._db = duckdb.connect(str(path), config=config)
        except duckdb.Error as error:
            raise StackError(
                f"{path}: another audit of this topic and index is under way, or it cannot be written, or is damaged "
                f"(then remove it): {first_line(error)}"
            ) from error
        self._db.execute(TABLES)
        if self.note("options") not in {None, options}:
            self._db.close()
            raise ProfileError("--resume: got other options than the audit that was broken off, expected the same")
        self.set_note("options", options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        with suppress(self._error):
            self._db.close()
        if isinstance(error, self._error):
            raise StackError(
                f"{self._path}: the rows of the audit cannot be kept or compared: {first_line(error)}"
            ) from error
        if kind is not None and issubclass(kind, ProfileError):
            # Nothing to go on with: the next audit has other options.
            self._remove()

    def finish(self) -> None:
        """Remove the file: the audit is done."""
        self._db.close()
        self._remove()

    def _remove(self) -> None:
        for path in (self._path, Path(f"{self._path}.wal")):
            path.unlink(missing_ok=True)
        folder = Path(f"{self._path}.tmp")
        for path in folder.glob("*") if folder.is_dir() else ():
            path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()

    def note(self, name: str) -> str | None:
        """A text that was kept; `None` if none was."""
        found = self._db.execute("SELECT text FROM notes WHERE name = ?", [name]).fetchone()
        return found[0] if found else None

    def set_note(self, name: str, text: str) -> None:
        """Keep a text."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", [name, text])

    def kept(self, name: str, find: Callable[[], str]) -> str:
        """A text that an audit begins with; of a resumed one that with which it began."""
        if (text := self.note(name)) is None:
            self.set_note(name, text := find())
        return text

    def add(self, table: str, rows: Sequence[tuple[Any, ...]], note: tuple[str, str] | None = None) -> None:
        """Add rows, and a note of how far they reach, both or neither."""
        self._db.begin()
        if rows:
            columns = zip(*rows, strict=True)
            batch = {  # noqa: F841 - DuckDB finds it by its name
                f"c{number}": array_of(column, kind)
                for number, (column, kind) in enumerate(zip(columns, DTYPES[table], strict=True))
            }
            self._db.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - one of ours
        if note:
            self.set_note(*note)
        self._db.commit()

    def clear(self, table: str) -> None:
        """Remove all rows of a table."""
        self._db.execute(f"DELETE FROM {table}")  # noqa: S608 - one of ours

    def count(self, table: str, which: str = "true") -> int:
        """Rows of a table, or those that a condition chooses."""
        return int(self._one(f"SELECT count(*) FROM {table} WHERE {which}")[0])  # noqa: S608 - one of ours

    def reached(self) -> dict[int, int]:
        """For each partition the offset after the last record that was read."""
        found = self._db.execute('SELECT partition, max("offset") + 1 FROM records GROUP BY partition').fetchall()
        return dict(found)

    def has_versions_of_records(self) -> bool | None:
        """Check that most stored versions are those of their records, of a sample; `None` if no document has any."""
        query = f"""SELECT count(*) FILTER (WHERE same), count(*) FROM (
            SELECT d.id, bool_or(d.version = r.version) AS same
            FROM (FROM documents USING SAMPLE {VERSIONS_SAMPLED} ROWS) d JOIN records r ON d.id = r.id
            GROUP BY d.id)"""  # noqa: S608 - a number of ours
        same, ids = self._one(query)
        return 2 * int(same) > int(ids) if ids else None

    def some_ids(self, number: int) -> list[str]:
        """So many ids of records."""
        found = self._db.execute("SELECT DISTINCT id FROM records WHERE id IS NOT NULL LIMIT ?", [number]).fetchall()
        return [row[0] for row in found]

    def deleted_share(self) -> tuple[int, int]:
        """Ids whose last record is a tombstone, and those among them that are in the index.

        Only those tell what a tombstone does: it is committed and no dead letter, and there was a document before it.
        """
        query = f"""SELECT count(*), count(d.id) FROM (
            SELECT id FROM ({JUDGED_ROWS}) WHERE id IS NOT NULL GROUP BY id
            HAVING arg_max(tombstone AND NOT open AND reason IS NULL, (version, "offset"))
                AND bool_or(NOT tombstone AND NOT open AND reason IS NULL)) r
            LEFT JOIN (SELECT DISTINCT id FROM documents) d USING (id)"""  # noqa: S608 - no part of it is anybody's input
        deleted, present = self._one(query)
        return deleted, present

    def compare(self, terms: Terms) -> dict[Fate, int]:
        """Compare all ids; fates of the records of those that are as they should be. The others are kept as odd."""
        asked = {"deletes": terms.deletes, "versions": terms.versions, "by_content": terms.by_content}
        odd = f"CREATE OR REPLACE TABLE odd AS SELECT id FROM ({COMPARED}) WHERE verdict = 'odd'"  # noqa: S608
        self._db.execute(odd, asked)
        query = f"SELECT verdict, count(*), sum(records) FROM ({COMPARED}) GROUP BY verdict"  # noqa: S608
        found = {verdict: (ids, int(records)) for verdict, ids, records in self._db.execute(query, asked).fetchall()}
        stored, equal, deleted = (found.get(verdict, (0, 0)) for verdict in ("stored", "equal", "deleted"))
        return {
            Fate.DOCUMENT: stored[0] + equal[1],
            Fate.DELETE: deleted[0],
            Fate.SUPERSEDED: stored[1] - stored[0] + deleted[1] - deleted[0],
        }

    def without_id(self) -> Iterator[Row]:
        """Records that the rule gives no id."""
        found = self._db.cursor().execute(f"SELECT * FROM ({JUDGED_ROWS}) WHERE id IS NULL")  # noqa: S608
        while rows := found.fetchmany(AT_ONCE):
            yield from map(row_of, rows)

    def odd(self) -> Iterator[tuple[str, list[Row], list[Stored]]]:
        """Records and documents of each id that is not as it should be."""
        query = f"""SELECT * FROM ({JUDGED_ROWS}) WHERE id IN (SELECT id FROM odd) UNION ALL
            SELECT id, NULL, NULL, version, seq_no, hash, NULL, NULL, index_name, NULL
            FROM documents WHERE id IN (SELECT id FROM odd) ORDER BY id"""  # noqa: S608 - no part of it is anybody's input
        return grouped(self._db.cursor().execute(query))

    def suspects(self, at_once: int) -> Iterator[list[str]]:
        """Ids that were found to differ, so many at once."""
        found = self._db.cursor().execute("SELECT id FROM suspects ORDER BY id")
        while rows := found.fetchmany(at_once):
            yield [row[0] for row in rows]

    def rows_of(self, ids: Sequence[str]) -> dict[str, list[Row]]:
        """The records of these ids."""
        query = f"SELECT * FROM ({JUDGED_ROWS}) WHERE id IN (SELECT unnest(?)) ORDER BY id"  # noqa: S608
        return {name: rows for name, rows, _ in grouped(self._db.cursor().execute(query, [list(ids)]))}

    def range_rows(self, ranges: Mapping[int, Sequence[tuple[int, int]]]) -> list[tuple[str, int, int]]:
        """Id, partition and offset of the records in these ranges of offsets that are no tombstones."""
        query = """SELECT id, partition, "offset" FROM records WHERE NOT tombstone AND NOT newer AND id IS NOT NULL
            AND partition = ? AND "offset" BETWEEN ? AND ?"""
        return [
            row
            for partition, each in ranges.items()
            for first, last in each
            for row in self._db.execute(query, [partition, first, last]).fetchall()
        ]

    def _one(self, query: str) -> tuple[Any, ...]:
        found = self._db.execute(query).fetchone()
        assert found is not None  # noqa: S101 - each of these queries has one row
        return tuple(found)


def first_line(error: BaseException) -> str:
    """First line of an error of DuckDB, without its advice."""
    return str(error).partition("\n")[0]


def array_of(values: Sequence[Any], kind: str) -> Any:
    """A column as DuckDB reads it; one of nothing but `None` has no type of its own."""
    if kind == "O" and not any(value is not None for value in values):
        return np.ma.array(np.zeros(len(values), dtype="i4"), mask=True)
    return np.array(values, dtype=kind)


def row_of(columns: Sequence[Any]) -> Row:
    """A record in a row of `JUDGED_ROWS`."""
    return Row(*columns[1:])


def grouped(found: Any) -> Iterator[tuple[str, list[Row], list[Stored]]]:
    """Records and documents of each id, from rows in the order of ids."""
    rows = iter(lambda: found.fetchmany(AT_ONCE), [])
    for name, of_id in groupby((row for page in rows for row in page), key=lambda row: row[0]):
        records, documents = [], []
        for row in of_id:
            if row[1] is None:
                documents.append(Stored(index=row[8], version=row[3], seq_no=row[4], hash=row[5]))
            else:
                records.append(row_of(row))
        yield name, records, documents
