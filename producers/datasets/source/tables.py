"""Tables as documents: CSV, TSV and Parquet; a row is a document, and a field without a value is left out."""

import csv
import functools
import io
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import orjson

from producers.dataset import DatasetError
from producers.datasets.source.document import Document, not_utf8
from producers.datasets.source.unpack import HEAD_BYTES, readable, unpacked
from producers.datasets.source.unreadable import BINARY
from producers.json_values import JSON_NUMBER

KEYS: Final = frozenset({str, int, float, bool, date, datetime, UUID})
"""Types of keys that orjson writes."""
PARQUET: Final = re.compile(rb"PAR1" + BINARY, re.DOTALL)
SEPARATORS: Final = "\t;|,"
SEPARATOR_LINE: Final = re.compile(r"\s*sep=([\t;|,])\r?\n")
"""First line by which Excel is told the separator."""
LARGEST_FIELD_CHARACTERS: Final = 100 << 20
ROWS_AT_ONCE: Final = 1000
DUCKDB_MEMORY: Final = "512MB"


# --- CSV ------------------------------------------------------------------------------------------------------------


def separator_of(path: str, head: bytes) -> str | None:
    """The character that divides the first lines of a table into equally many columns; `None` for any other text.

    Where several do, the first of `SEPARATORS`: `1;3,50` has a decimal comma, `name; first` seldom stands in a name.

    Raises:
        DatasetError: Several do, and a later one divides into more columns; or the names read like a sentence.
    """
    text = ((len(head) == HEAD_BYTES and head.rpartition(b"\n")[0]) or head).decode(errors="replace")
    if named := SEPARATOR_LINE.match(text):
        return named[1]
    widths = {each: _widths(text, each) for each in SEPARATORS}
    divided = {each: found[0] for each, found in widths.items() if found and found[0] > 1}
    equally = {each: columns for each, columns in divided.items() if set(widths[each]) == {columns}}
    if not divided:
        return None
    best = next(iter(equally), max(divided, key=lambda each: divided[each]))
    names = next(row for row in csv.reader(io.StringIO(text, "\n"), delimiter=best) if row)
    if names[0].lstrip()[:1].isdigit():
        return None
    if any(name[:1] == " " for name in names) and any(" " in name.strip() for name in names):
        raise DatasetError(
            f"{path}: got text, or a table with names of several words and blanks before them, expected JSON or CSV; "
            f"begin a table with a line sep={best}"
        )
    if equally and (other := max(equally, key=lambda each: equally[each])) and equally[other] > equally[best]:
        raise DatasetError(
            f"{path}: got {equally[best]} columns by {best!r}, {equally[other]} by {other!r}, expected one separator; "
            f"name it in a first line, sep={best} or sep={other}"
        )
    return best


def _widths(text: str, separator: str) -> list[int]:
    """Columns of each row up to the first that is no CSV."""
    widths = []
    try:
        for row in csv.reader(io.StringIO(text, "\n"), delimiter=separator, strict=True):
            widths += [len(row)] if row else []
    except csv.Error as error:
        return widths if "unexpected end of data" in str(error) else [*widths, 0]
    return widths


def csv_documents(path: str, separator: str) -> Iterator[Document]:
    """The rows of a table, its first line their field names.

    A value is text, unless every value of its column is a number in JSON's notation, or is `true` or `false`: then it
    is one, in its own digits. So `00123` stays text, and 1.10 stays 1.10.

    Raises:
        DatasetError: A name is missing or occurs twice, or a row has more or fewer fields than names.
    """
    rows = _rows(path, separator)
    _, names = next(rows)
    bare = _bare_columns(path, separator, Path(path).stat().st_mtime_ns)
    members = [orjson.dumps(name) + b":" for name in names]
    for line, row in rows:
        fields = (
            member + (value.encode() if number in bare else orjson.dumps(value))
            for number, (member, value) in enumerate(zip(members, row, strict=True))
            if value
        )
        yield Document(f"{path}:{line}", b"{%b}" % b",".join(fields))


@functools.lru_cache(maxsize=64)
def _bare_columns(path: str, separator: str, _changed_ns: int) -> frozenset[int]:
    """Numbers of the columns whose values are written without quotation marks: numbers, or booleans."""
    kinds: dict[int, str] = {}
    rows = _rows(path, separator)
    _, names = next(rows)
    left = set(range(len(names)))
    for _, row in rows:
        for number in tuple(left):
            if not (value := row[number]):
                continue
            kind = "boolean" if value in {"true", "false"} else "number" if JSON_NUMBER.fullmatch(value) else "text"
            if kind == "text" or kinds.setdefault(number, kind) != kind:
                left.remove(number)
    return frozenset(left)


def _rows(path: str, separator: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Line and fields of each row, the names first."""
    csv.field_size_limit(LARGEST_FIELD_CHARACTERS)
    with unpacked(path) as content:
        reader = csv.reader((line.decode() for line in content.stream), delimiter=separator, strict=True)
        names: list[str] = []
        line = 1
        try:
            for row in reader:
                place, line = line, reader.line_num + 1
                if not row or (not names and row == ["sep=", ""]):
                    continue
                if not names:
                    names = row = _checked_names(f"{path}:{place}", row)  # noqa: PLW2901
                if len(row) != len(names):
                    raise DatasetError(f"{path}:{place}: got {len(row)} fields, expected {len(names)} as in the header")
                yield place, row
        except UnicodeDecodeError as error:
            raise not_utf8(f"{path}:{line}", "csv") from error
        except csv.Error as error:
            raise DatasetError(f"{path}:{reader.line_num}: is no CSV: {error}") from error


ROW_NAME = "row_name"
"""Name of a first column without one: R's `write.csv` and pandas' `to_csv` put names of rows there."""


def _checked_names(place: str, row: Sequence[str]) -> list[str]:
    names = [name.strip() for name in row]
    if len(names) > 1 and not names[0]:
        names[0] = ROW_NAME
    for number, name in enumerate(names, 1):
        if not name or JSON_NUMBER.fullmatch(name):
            got = f"got {name}" if name else "has no name"
            raise DatasetError(
                f"{place}: column {number}: {got}, expected a field name: the first line of a table names the fields"
            )
        if name in names[: number - 1]:
            raise DatasetError(f"{place}: column {number}: {name} occurs twice, expected different field names")
    return names


# --- Parquet --------------------------------------------------------------------------------------------------------


def parquet_documents(path: str) -> Iterator[Document]:
    """The rows of a Parquet file by their types: instants as ISO 8601, decimals in their own digits, bytes as Base64.

    NaN and the infinities, which JSON does not have, are null, and so are infinite dates. Keys of maps are text.

    Raises:
        DatasetError: DuckDB cannot read it.
    """
    import duckdb  # noqa: PLC0415 - only tables of this kind need its 70 MB

    with readable(path) as file:
        source = [f"/proc/self/fd/{file.fileno()}"]  # DuckDB takes `*` and `[` in a name for a pattern
        settings: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "memory_limit": DUCKDB_MEMORY}
        try:
            with duckdb.connect(config=settings) as connection:
                described = connection.execute("FROM read_parquet(?) LIMIT 0", source).description
                names = [name for name, *_ in described]
                columns = ", ".join(_column(_quoted(name), kind) for name, kind, *_ in described)
                found = connection.execute(f"SELECT {columns} FROM read_parquet(?)", source)  # noqa: S608
                rows = chain.from_iterable(iter(lambda: found.fetchmany(ROWS_AT_ONCE), []))
                for number, row in enumerate(rows, 1):
                    fields = {name: value for name, value in zip(names, row, strict=True) if value is not None}
                    yield Document(f"{path}:{number}", _json_of(fields))
        except duckdb.Error as error:
            first = str(error).partition("\n")[0].replace(source[0], path)
            raise DatasetError(f"{path}: cannot be read: {first}") from error


def _column(at: str, kind: Any, depth: int = 0) -> str:
    """A value in SQL, without the digits that a 32-bit number gets as one of 64 bits, and with all of an instant.

    Args:
        at: The value as it is, in SQL.
        kind: DuckDB's type of it.
        depth: Lists and maps that it is in.
    """
    if kind.id in {"list", "map", "struct"}:
        return _nested(at, kind, depth)
    if kind.id == "float":
        return f"{at}::VARCHAR::DOUBLE"
    if kind.id not in {"date", "timestamp", "timestamp with time zone", "timestamp_ns"}:
        return at
    value = f"replace({at}::VARCHAR, ' ', 'T')" if kind.id == "timestamp_ns" else at
    return f"CASE WHEN isfinite({at}) THEN {value} END"


def _nested(at: str, kind: Any, depth: int) -> str:
    each = f"x{depth}"
    if kind.id == "list":
        return f"list_transform({at}, lambda {each}: {_column(each, kind.children[0][1], depth + 1)})"
    if kind.id == "map":
        return f"map_from_entries(list_transform(map_entries({at}), lambda {each}: {_packed(each, kind, depth + 1)}))"
    return f"CASE WHEN {at} IS NOT NULL THEN {_packed(at, kind, depth)} END"


def _packed(at: str, kind: Any, depth: int) -> str:
    fields = ((_quoted(name), of) for name, of in kind.children)
    return f"struct_pack({', '.join(name + ' := ' + _column(at + '.' + name, of, depth) for name, of in fields)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _json_of(fields: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return orjson.dumps(_with_text_keys(fields), default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _with_text_keys(value: object) -> object:
    """A value without keys of maps, and times with a zone, that orjson does not take."""
    match value:
        case dict():
            return {_key(key): _with_text_keys(each) for key, each in value.items()}
        case list() | tuple():
            return [_with_text_keys(each) for each in value]
        case time():
            return value.isoformat()
    return value


def _key(key: object) -> object:
    if isinstance(key, Decimal):
        return format(key, "f")
    return b64encode(key).decode() if isinstance(key, bytes) else key if type(key) in KEYS else str(key)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f").encode())
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)
