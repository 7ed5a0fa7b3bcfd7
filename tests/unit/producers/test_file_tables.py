"""Separators, names and ids of tables, and values of Parquet that JSON does not have."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from producers.dataset import DatasetError
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage


def first_document(path: Path, content: str) -> bytes:
    """The first document of a file with this content."""
    path.write_text(content)
    return make_dataset("file", path=str(path)).document(0)


@pytest.mark.parametrize(
    ("content", "document"),
    [
        ('"name","price"\n"Han","1.10"\n', b'{"name":"Han","price":1.10}'),
        ("Datum;Preis, netto\n01.02.2024;3,50\n", b'{"Datum":"01.02.2024","Preis, netto":"3,50"}'),
        ("id;name, first\na1;Smith, John\n", b'{"id":"a1","name, first":"Smith, John"}'),
        ("id\tlat,lon\na1\t1.5,2\n", b'{"id":"a1","lat,lon":"1.5,2"}'),
        ("name, price\nHan, 2\n", b'{"name":"Han","price":" 2"}'),
        ("sep=;\nid;a,b,c\na1;1,2,3\n", b'{"id":"a1","a,b,c":"1,2,3"}'),
        ("sep=|\r\nid|n\r\na1|x\r\n", b'{"id":"a1","n":"x"}'),
        ("a,b\n1;2,x\n", b'{"a":"1;2","b":"x"}'),
        ('"","speed"\n"a1",4\n', b'{"row_name":"a1","speed":4}'),
        (",speed,note\n0,4,x\n", b'{"row_name":0,"speed":4,"note":"x"}'),
    ],
)
def test_the_separator_divides_all_lines_equally(tmp_path: Path, content: str, document: bytes) -> None:
    """A comma divides only what nothing else does; a first line `sep=` decides."""
    assert first_document(tmp_path / "file", content) == document


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ("Hello, world of logs\nThis, is text\n", ("file", "text", "sep=,")),
        ("id;a,b,c\na1;1,2,3\n", ("file", ";", ",", "sep=")),
    ],
)
def test_text_without_one_separator_is_refused(
    tmp_path: Path, content: str, facts: tuple[str, ...], message: MakeMessage
) -> None:
    """Values are never cut apart by a guess."""
    with pytest.raises(DatasetError) as refused:
        first_document(tmp_path / "file", content)
    assert str(refused.value).replace(f"{tmp_path}/", "") == message(*facts)


def test_a_first_line_may_be_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    """Its names tell the separator then."""
    names = [f"column{number}" for number in range(9000)]
    content = ",".join(names) + "\n" + ",".join("x" for _ in names) + "\n"
    assert first_document(tmp_path / "file", content).startswith(b'{"column0":"x","column1":"x"')


def test_a_column_of_ids_is_the_key(tmp_path: Path) -> None:
    """As mongoexport writes it, and no field."""
    (tmp_path / "file").write_text("_id,n\n65f0,1.10\n65f1,2\n")
    dataset = make_dataset("file", path=str(tmp_path / "file"))
    assert dataset.keys(np.arange(2)) == [b"65f0", b"65f1"]
    assert dataset.document(0) == b'{"n":1.10}'


NANOSECONDS, NINE_DIGITS = "TIMESTAMP_NS '2024-01-02 03:04:05.123456789'", b'"2024-01-02T03:04:05.123456789"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("'10:00:00+02'::TIMETZ", b'"08:00:00+00:00"'),
        ("[MAP {1.50::DECIMAL(3, 2): '10:00:00+02'::TIMETZ}]", b'[{"1.50":"08:00:00+00:00"}]'),
        ("MAP {'ab'::BLOB: 1}", b'{"YWI=":1}'),
        ("MAP {TIMESTAMP '2024-01-02 03:04:05': 1.10::DECIMAL(3, 2)}", b'{"2024-01-02T03:04:05":1.10}'),
        ("MAP {TIME '10:00:00': 1}", b'{"10:00:00":1}'),
        ("{'a': 0.1::FLOAT, 'FLOAT': [{'x': 0.1::FLOAT}]}", b'{"a":0.1,"FLOAT":[{"x":0.1}]}'),
        ("MAP {'a': 0.1::FLOAT}", b'{"a":0.1}'),
        (f"{{'at': {NANOSECONDS}, 'a \"b': [{NANOSECONDS}]}}", b'{"at":%b,"a \\"b":[%b]}' % (NINE_DIGITS, NINE_DIGITS)),
        (f"MAP {{{NANOSECONDS}: [[{NANOSECONDS}]]}}", b"{%b:[[%b]]}" % (NINE_DIGITS, NINE_DIGITS)),
        ("[DATE 'infinity', DATE '2024-01-02', NULL]", b'[null,"2024-01-02",null]'),
        ("[{'at': TIMESTAMPTZ '-infinity'}, NULL]", b'[{"at":null},null]'),
        ("[MAP {'a': [1.5::FLOAT]}, NULL]", b'[{"a":[1.5]},null]'),
    ],
)
def test_values_of_parquet_are_json(tmp_path: Path, value: str, text: bytes) -> None:
    """Those for which JSON has no type are text; 32-bit numbers keep their digits also within others."""
    duckdb.sql(f"COPY (SELECT {value} AS x) TO '{tmp_path}/file' (FORMAT parquet)")
    assert make_dataset("file", path=str(tmp_path / "file")).document(0) == b'{"x":%b}' % text


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_infinite_dates_are_null(tmp_path: Path, kind: str) -> None:
    """As infinite numbers, and left out as every null."""
    duckdb.sql(f"COPY (SELECT 1 AS a, '-infinity'::{kind} AS x) TO '{tmp_path}/file' (FORMAT parquet)")
    assert make_dataset("file", path=str(tmp_path / "file")).document(0) == b'{"a":1}'


def test_damaged_parquet_is_named_by_its_path(tmp_path: Path, message: MakeMessage) -> None:
    """In one line."""
    path = tmp_path / "file"
    path.write_bytes(b"PAR1\x15\x04" + b"x" * 40)
    with pytest.raises(DatasetError) as refused:
        make_dataset("file", path=str(path))
    assert str(refused.value).replace(f"{tmp_path}/", "") == message("file: cannot be read")
