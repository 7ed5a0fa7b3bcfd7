"""A user's own files in other forms than a document per line: arrays, pretty-printed, bulk, MongoDB's."""

import gzip
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import orjson
import pytest

from producers.dataset import DatasetError
from producers.datasets.file import FileDocuments, is_plain, numbered_documents
from producers.part import Part
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage

Objects = list[dict[str, Any]]


def lines(objects: Objects) -> str:
    """One object per line."""
    return "".join(json.dumps(each) + "\n" for each in objects)


def bulk(objects: Objects) -> str:
    """An action line before each object, with its id."""
    return "".join(f'{{"index": {{"_id": "{each["id"]}"}}}}\n{json.dumps(each)}\n' for each in objects)


def pretty(objects: Objects) -> str:
    """Objects of several lines, one behind the other."""
    return "\n".join(json.dumps(each, indent=2, ensure_ascii=False) for each in objects)


FORMS: Mapping[str, Callable[[Objects], bytes]] = {
    "lines": lambda objects: lines(objects).encode(),
    "lines, CRLF": lambda objects: lines(objects).replace("\n", "\r\n").encode(),
    "lines, UTF-8 with a mark": lambda objects: lines(objects).encode("utf-8-sig"),
    "lines, UTF-16 with a mark": lambda objects: lines(objects).encode("utf-16"),
    "lines, UTF-16 big-endian": lambda objects: b"\xfe\xff" + lines(objects).encode("utf-16-be"),
    "lines, UTF-16 without a mark": lambda objects: lines(objects).encode("utf-16-le"),
    "lines, UTF-16 big-endian without a mark": lambda objects: lines(objects).encode("utf-16-be"),
    "objects behind record separators": lambda objects: "".join(f"\x1e{json.dumps(o)}\n" for o in objects).encode(),
    "lines that end in a comma": lambda objects: lines(objects).replace("}\n", "},\n").encode(),
    "an array on one line": lambda objects: json.dumps(objects).encode(),
    "an array, pretty-printed": lambda objects: json.dumps(objects, indent=4, ensure_ascii=False).encode(),
    "objects, pretty-printed": lambda objects: pretty(objects).encode(),
    "objects on one line": lambda objects: "".join(map(json.dumps, objects)).encode(),
    "bulk": lambda objects: bulk(objects).encode(),
    "bulk, UTF-16": lambda objects: bulk(objects).encode("utf-16"),
}
AWKWARD = ("", "}", '{"', "[", '\\"', "a\nb", "\u2028", "책", "😀", '{"index": {"_id": 1}}', ",", "$old")


def some_value(draw: random.Random, depth: int = 0) -> Any:
    """A JSON value."""
    scalars: list[Any] = [None, True, 0, -17, 1.5, 10**17, draw.choice(AWKWARD), draw.choice(AWKWARD)]
    kind = draw.randrange(10)
    if depth < 3 and kind == 0:
        return [some_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if depth < 3 and kind == 1:
        return {draw.choice(AWKWARD[1:]): some_value(draw, depth + 1) for _ in range(draw.randrange(4))}
    return draw.choice(scalars)


def some_objects(seed: int) -> Objects:
    """Up to 23 objects with an id each."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    return [{"id": f"k{number}", "value": some_value(draw)} for number in range(draw.randrange(1, 24))]


def dataset_of(path: Path, content: str | bytes, **options: Any) -> FileDocuments:
    """The dataset of a file with this content."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    made = make_dataset("file", path=str(path), **options)
    assert isinstance(made, FileDocuments)
    return made


def records(dataset: FileDocuments) -> list[tuple[bytes, bytes]]:
    """Key and text of each document."""
    return [record for batch in dataset.batches(0, dataset.documents) for record in batch]


def refusal(path: Path, content: str | bytes, **options: Any) -> str:
    """Why a file is refused, without its folder."""
    with pytest.raises(DatasetError) as refused:
        dataset_of(path, content, **options)
    return str(refused.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize("form", FORMS)
def test_documents_are_the_same_in_each_form(tmp_path: Path, form: str) -> None:
    """Keys and JSON values of generated documents do not depend on how a file has them."""
    for seed in range(41):
        objects = some_objects(seed)
        dataset = dataset_of(tmp_path / f"{seed}", FORMS[form](objects), key=None if "bulk" in form else "id")
        found = [(key.decode(), orjson.loads(text)) for key, text in records(dataset)]
        assert found == [(each["id"], each) for each in objects]
        assert [text for _, text in numbered_documents(dataset.path)] == [text for _, text in records(dataset)]


def test_only_a_file_of_a_document_per_line_is_plain(tmp_path: Path) -> None:
    """Documents of a plain file go out as the bytes that stand there, and can be read from any line on."""
    path = tmp_path / "file"
    plain = set()
    for form, write in FORMS.items():
        path.write_bytes(write(some_objects(5)))
        if is_plain(str(path)):
            plain.add(form)
    assert plain == {"lines", "lines, CRLF", "lines, UTF-8 with a mark"}


def test_bytes_between_the_brackets_stay(tmp_path: Path) -> None:
    """Numbers keep their digits, text keeps its escapes; only line ends between tokens become spaces."""
    content = '[\n{"a": 1.10,\r\n "b": 12345678901234567890123,"c":"\\u00e9\\"}"},{ }]'
    texts = [text for _, text in records(dataset_of(tmp_path / "a.json", content))]
    assert texts == [b'{"a": 1.10,   "b": 12345678901234567890123,"c":"\\u00e9\\"}"}', b"{ }"]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_an_object_may_end_anywhere_in_what_is_read_at_once(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brackets, strings and escapes that are read in pieces are found as in one."""
    monkeypatch.setattr("producers.datasets.source.json_text.CHUNK_BYTES", chunk)
    objects = [{"id": "a", "value": 'x\\"}{'}, {"id": "b", "value": ["}", {"c": []}]}]
    assert [orjson.loads(text) for _, text in records(dataset_of(tmp_path / "a", pretty(objects)))] == objects


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ('[{"a":1},\n\n3]', ("file:3", "number")),
        ("[1]", ("file:1", "number")),
        ("[[]]", ("file:1", "array")),
        ('\n["x"]', ("file:2", "string")),
        ('{"a":1}{"b":\n', ("file:1",)),
        ('[{"a":1},\n{"b":2}', ("file",)),
        ('{\n"a":1,\n"b": "open\n}', ("file:3",)),
        ('{\n"a": secret\n}', ("file:1", "JSON")),
        ('[{"a":1}]]', ("file:1",)),
    ],
)
def test_what_is_no_object_is_named_with_its_line(
    tmp_path: Path, content: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The refusal names the line where the value begins, and never shows it."""
    sentence = refusal(tmp_path / "file", content)
    assert sentence == message(*facts)
    assert "secret" not in sentence


def test_ids_of_a_bulk_file_are_keys(tmp_path: Path) -> None:
    """An id may be a number, and a later document of an id replaces the earlier one."""
    content = '{"index":{"_id":7}}\n{"a":1}\n{ "create" : { "_index": "x", "_id" : "8"} }\n{"a":2}\n'
    dataset = dataset_of(tmp_path / "file", content.replace('"index":{', '"index":{"_index":"x",') * 2)
    assert records(dataset) == [(b"7", b'{"a":1}'), (b"8", b'{"a":2}')] * 2
    assert dataset.latest().tolist() == [2, 3]


def test_a_bulk_file_without_ids_has_numbers_as_keys(tmp_path: Path) -> None:
    """Documents are counted, never their action lines."""
    dataset = dataset_of(tmp_path / "file", '{"index":{}}\n{"a":1}\n{"index":{"_index":"y"}}\n{"a":1}\n')
    assert records(dataset) == [(b"1", b'{"a":1}'), (b"2", b'{"a":1}')]


def test_another_key_can_be_named_for_a_bulk_file(tmp_path: Path) -> None:
    """The field that the user names wins over ids, which may then be missing; `_id` names the ids."""
    content = '{"index":{"_id":7}}\n{"a":"x"}\n{"index":{}}\n{"a":"y"}\n'
    assert [key for key, _ in records(dataset_of(tmp_path / "file", content, key="a"))] == [b"x", b"y"]
    first = content.partition('{"index":{}}')[0]
    assert [key for key, _ in records(dataset_of(tmp_path / "file", first, key="_id"))] == [b"7"]


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        ('{"index":{"_id":1}}\n{"a":1}\n{"a":2}\n', ("file:3", "action")),
        ('{"index":{"_id":1}}\n{"a":1}\n{"index":{"_id":2}}\n', ("file:3", "action")),
        ('{"index":{"_id":1}}\n', ("file:1",)),
        ('{"index":{"_id":1}}\n{"index":{"_id":2}}\n', ("file:2", "action")),
        ('{"a":1}\n{"index":{"_id":1}}\n{"a":2}\n', ("file:2", "file:1", "action")),
        ('{"index":{"_id":1}}\n{"a":1}\n{"delete":{"_id":1}}\n', ("file:3", "delete")),
        ('{"update":{"_id":1}}\n{"doc":{"a":1}}\n', ("file:1", "update")),
        ('{"index":{"_id":1}}\n{"a":1}\n{"index":{}}\n{"a":2}\n', ("file:4", "file:2", "_id")),
        ('{"index":{}}\n{"a":1}\n{"index":{"_id":1}}\n{"a":2}\n', ("file:4", "file:2", "_id")),
        ('{"index":{"_id":{}}}\n{"a":1}\n', ("file:1", "_id")),
        ('{"index":{"_id":""}}\n{"a":1}\n', ("file:1", "_id")),
        (
            '{"index":{"_id":1,"_index":"x"}}\n{"a":1}\n{"index":{"_id":2,"_index":"y"}}\n{"a":2}\n',
            ("file:4", "file:2", "x", "y"),
        ),
    ],
)
def test_a_bulk_file_that_does_not_serve_is_refused(
    tmp_path: Path, content: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """One sentence names the line that breaks the rule."""
    assert refusal(tmp_path / "file", content) == message(*facts)


def test_a_document_may_have_the_name_of_an_action(tmp_path: Path) -> None:
    """Its value tells it from an action line: other names than those of metadata stand in it."""
    content = '{"index":{"name":"KOSPI"}}\n{"index":{"_id":1},"b":2}\n{"index":3}\n'
    assert [text for _, text in records(dataset_of(tmp_path / "file", content))] == content.encode().splitlines()


ROUTED = (
    '{"index":{"_id":1,"routing":"007"}}\n{"a":1}\n'
    '{"index":{"_id":2}}\n{"a":2}\n'
    '{"index":{"_id":3,"_routing":7}}\n{"a":3}\n'
)


def test_a_routing_stays_with_its_document(tmp_path: Path) -> None:
    """In each part of the dataset, too; the same documents with another routing are another dataset."""
    dataset = dataset_of(tmp_path / "file", ROUTED)
    assert (dataset.is_routed, dataset.routings(np.arange(3))) == (True, ["007", None, "7"])
    part = Part.of(dataset, np.array([0, 2]))
    assert (part.is_routed, part.routings(np.array([1]))) == (True, ["7"])
    assert dataset_of(tmp_path / "other", ROUTED.replace("007", "07")).content_hash != dataset.content_hash


def test_documents_without_routing_need_none(tmp_path: Path) -> None:
    """As those of every other dataset."""
    dataset = dataset_of(tmp_path / "file", lines([{"a": 1}]))
    assert (dataset.is_routed, dataset.routings(np.arange(1))) == (False, [None])


def test_a_key_with_two_routings_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Elasticsearch keeps ids apart in each shard alone; the same routing may come again."""
    assert dataset_of(tmp_path / "file", ROUTED * 2).latest().tolist() == [3, 4, 5]
    for other in ('"routing":"8"', '"routing":null'):
        sentence = refusal(tmp_path / "file", ROUTED + ROUTED.replace('"routing":"007"', other))
        assert sentence == message("file", "routings")


@pytest.mark.parametrize(
    ("extended", "plain"),
    [
        ('{"$oid":"65f0a1b2c3d4e5f601234567"}', '"65f0a1b2c3d4e5f601234567"'),
        ('{"$numberLong":"9007199254740993"}', "9007199254740993"),
        ('{"$numberInt":"-7"}', "-7"),
        ('{"$numberDouble":"1.50"}', "1.50"),
        ('{"$numberDouble":"NaN"}', "null"),
        ('{"$numberDecimal":"1.10"}', "1.10"),
        ('{"$date":"2024-01-02T03:04:05Z"}', '"2024-01-02T03:04:05Z"'),
        ('{"$date":{"$numberLong":"1704164645678"}}', '"2024-01-02T03:04:05.678Z"'),
        ('{"$date":-62135596800000}', '"0001-01-01T00:00:00.000Z"'),
        ('{"$binary":{"base64":"AQI=","subType":"00"}}', '"AQI="'),
        ('{"$binary":"AQI=","$type":"00"}', '"AQI="'),
        ('{"$uuid":"c8edabc3-f738-4ca3-b68d-ab92a91478a3"}', '"c8edabc3-f738-4ca3-b68d-ab92a91478a3"'),
        ('{"$timestamp":{"t":1704164645,"i":3}}', '"2024-01-02T03:04:05.000Z"'),
        ('{"$regularExpression":{"pattern":"^a","options":"i"}}', '"/^a/i"'),
        ('{"$minKey":1}', "null"),
        ('{"$ref":"shops","$id":{"$oid":"65f0"}}', '{"$ref":"shops","$id":"65f0"}'),
        ('[1.10,{"$numberLong":"7"}]', "[1.10,7]"),
    ],
)
def test_extended_json_of_mongodb_becomes_plain(tmp_path: Path, extended: str, plain: str) -> None:
    """Beside numbers that keep their digits, and `_id`, which is the key and no field."""
    content = '{"a":1.10,"_id":{"$oid":"65f0"},"value":%s}\n'
    assert records(dataset_of(tmp_path / "file", content % extended)) == [
        (b"65f0", b'{"a":1.10,"value":%b}' % plain.encode())
    ]


def test_text_that_only_looks_like_extended_json_stays(tmp_path: Path) -> None:
    """In a string, beside other names, or with a name that MongoDB does not have."""
    content = b'{"a":"{\\"$oid\\":\\"x\\"}","b":{"$oid":"x","c":1},"c":{"$price":"7"},"d":"$oid","e":{"_id":1}}\n'
    dataset = dataset_of(tmp_path / "file", content)
    assert (records(dataset), is_plain(dataset.path)) == ([(b"1", content.strip())], True)


def test_a_document_that_must_be_rewritten_may_come_late(tmp_path: Path) -> None:
    """One file has one rule, wherever its first extended value stands."""
    content = lines([{"id": number} for number in range(2003)]) + '{"id":{"$numberLong":"2003"}}\n'
    dataset = dataset_of(tmp_path / "file", content, key="id")
    assert records(dataset)[-1] == (b"2003", b'{"id":2003}')


def test_search_hits_are_their_source(tmp_path: Path) -> None:
    """As elasticdump writes them, one per line, with id and routing."""
    content = '{"_index":"books","_id":"7","_score":1.0,"_routing":"x","_source":{"price":1.10}}\n'
    dataset = dataset_of(tmp_path / "file", content)
    assert records(dataset) == [(b"7", b'{"price":1.10}')]
    assert dataset.routings(np.arange(1)) == ["x"]


def test_compound_ids_are_their_json(tmp_path: Path) -> None:
    """Another key can be named."""
    content = '{"_id":{"shop":1,"day":"x"},"a":"k"}\n'
    assert records(dataset_of(tmp_path / "file", content)) == [(b'{"shop":1,"day":"x"}', b'{"a":"k"}')]
    assert records(dataset_of(tmp_path / "other", content, key="a")) == [(b"k", b'{"a":"k"}')]


def test_columns_of_parquet_keep_their_types(tmp_path: Path) -> None:
    """Decimals and 32-bit numbers have the digits that they had, instants are ISO 8601, nested values are nested."""
    path = tmp_path / "books[1]*"
    columns = (
        "1.10::DECIMAL(9, 2) AS price, [0.1::FLOAT] AS vector, TIMESTAMP '2024-01-02 03:04:05.678901' AS at, "
        "TIMESTAMPTZ '2024-01-02 03:04:05+09' AS zoned, TIMESTAMP_NS '2024-01-02 03:04:05.678901234' AS nanos, "
        "DATE '2024-01-02' AS day, {'a': [1.50::DECIMAL(9, 2), NULL]} AS nested, 'ab'::BLOB AS bytes, true AS sold, "
        "18446744073709551615::UBIGINT AS large, 'NaN'::DOUBLE AS nan, NULL::INT AS missing"
    )
    duckdb.sql(f"SELECT {columns} FROM range(2) t(id)").write_parquet(str(tmp_path / "file"))  # noqa: S608
    (tmp_path / "file").rename(path)
    dataset = make_dataset("file", path=str(path))
    assert (dataset.documents, dataset.document(1)) == (
        2,
        b'{"price":1.10,"vector":[0.1],"at":"2024-01-02T03:04:05.678901","zoned":"2024-01-01T18:04:05+00:00",'
        b'"nanos":"2024-01-02T03:04:05.678901234","day":"2024-01-02","nested":{"a":[1.50,null]},"bytes":"YWI=",'
        b'"sold":true,"large":18446744073709551615,"nan":null}',
    )


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rows_of_a_table_are_documents(tmp_path: Path, separator: str, encoding: str) -> None:
    """Names come from the first line; what is empty is left out, and text is any column but those of plain numbers."""
    rows = [
        "id,name,price,zip,sold,mixed,none",
        'a,"Han, ""Kang""",1.10,00123,true,1,',
        '\r\nb,"two\nlines",-2e5,99999,false,true,',
        "c,,12345678901234567890,,,x,\n",
    ]
    content = "\r\n".join(row.replace(",", separator) for row in rows)
    dataset = dataset_of(tmp_path / "file", content.encode(encoding), key="id")
    comma = separator.encode() if separator != "\t" else b"\\t"
    assert [text for _, text in records(dataset)] == [
        b'{"id":"a","name":"Han%b \\"Kang\\"","price":1.10,"zip":"00123","sold":true,"mixed":"1"}' % comma,
        b'{"id":"b","name":"two\\nlines","price":-2e5,"zip":"99999","sold":false,"mixed":"true"}',
        b'{"id":"c","price":12345678901234567890,"mixed":"x"}',
    ]


@pytest.mark.parametrize("name", ["ORCID", "PARENT", "PAR1", "Object", "BZh91", "ARROW1"])
def test_a_table_may_begin_as_another_form(tmp_path: Path, name: str) -> None:
    """Bytes that no text has tell them apart."""
    dataset = dataset_of(tmp_path / "file", f"{name},b\n1,2\n")
    assert dataset.document(0) == b'{"%b":1,"b":2}' % name.encode()


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"a,b\n1,2\n3\n", ("file:3", 1, 2)),
        (b"a,b\n\n1,2,3\n", ("file:3", 3, 2)),
        (b"a,,c\n1,2,3\n", ("file:1", "column 2")),
        (b"a,7,c\n1,2,3\n", ("file:1", "column 2", 7)),
        (b"a,b,a\n1,2,3\n", ("file:1", "column 3", "a")),
        (b'a,b\n1,"x"y\n', ("file:2",)),
        (b"a,b\n1,\xe9\n", ("file:2", "UTF-8", "iconv")),
        (b"no table\n", ("file:1",)),
        (b"2024-01-02,INFO,started\n", ("file:1",)),
    ],
)
def test_a_table_that_does_not_serve_is_refused(
    tmp_path: Path, content: bytes, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """With its line; the first one must hold names."""
    assert refusal(tmp_path / "file", content) == message(*facts)


@pytest.mark.parametrize(
    ("content", "command"),
    [
        (b"Obj\x01\x04", "avro-tools"),
        (b"ORC\x08", "orc-tools"),
        (b"ARROW1\x00\x00", "pyarrow"),
        (b"PK\x03\x04\x14\x00[Content_Types].xml", "soffice"),
        (b"PK\x03\x04\x14\x00books.json", "unzip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "soffice"),
        (b"books.json".ljust(257, b"\x00") + b"ustar\x00", "tar"),
        (b"b".ljust(257, b"\x00") + b"ustar\x00", "tar"),
        (gzip.compress(b"books.json".ljust(257, b"\x00") + b"ustar  \x00", mtime=0), "tar"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"SQLite format 3\x00", "sqlite3"),
        (b'\n<?xml version="1.0"?>', "yq"),
        (gzip.compress(b"PAR1\x15\x04", mtime=0), "decompress"),
        (b'10.0.0.1 "GET / HTTP/1.1" 200\n', "jq"),
        ('{"a":"\u00e9"}'.encode("latin-1"), "iconv"),
        (b'{"took":1,"hits":{"total":2,"hits":[{"_id":"1","_source":{}},{"_id":"2","_source":{}}]}}', "jq"),
        (b'{"type":"F","features":[{"a":"%b"},{"a":1}]}' % (b"x" * (1 << 20)), "jq"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[:4].hex(),
)
def test_what_cannot_be_read_is_named_with_what_converts_it(
    tmp_path: Path, content: bytes, command: str, message: MakeMessage
) -> None:
    """By its first bytes, whatever its name."""
    assert refusal(tmp_path / "file", content) == message("file", command)


def test_a_folder_or_a_pattern_is_all_of_its_files(tmp_path: Path, message: MakeMessage) -> None:
    """In the order of their names, each in its own form; files whose names begin with a dot or `_` are left out."""
    files = {"b/1.csv": "id,n\nc,3\n", "a.json": '[{"id":"a"},\n{"id":"b"}]', "_SUCCESS": "", ".x.json": "?", "c": ""}
    for name, content in files.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    whole = make_dataset("file", path=str(tmp_path / "data"), key="id")
    assert whole.keys(np.arange(whole.documents)) == [b"a", b"b", b"c"]
    pattern = make_dataset("file", path=str(tmp_path / "data" / "*.json"), key="id")
    assert pattern.keys(np.arange(pattern.documents)) == [b"a", b"b"]
    (tmp_path / "data" / "b" / "2.json").write_text('{"id":"d"}\n{}\n')
    with pytest.raises(DatasetError) as refused:
        make_dataset("file", path=str(tmp_path / "data"), key="id")
    assert str(refused.value).replace(f"{tmp_path}/", "") == message("data/b/2.json:2", "id")


@pytest.mark.parametrize("text", [r'{"id":"a","b":"\ud800"}', '{"id":"a","b":1e400}', '{"id":"a","b":1,"b":2}'])
def test_what_elasticsearch_may_take_is_sent_as_it_stands(tmp_path: Path, text: str) -> None:
    """Half a surrogate pair, a number beyond a double, a name twice: the server says what it takes."""
    assert records(dataset_of(tmp_path / "file", text, key="id")) == [(b"a", text.encode())]


@pytest.mark.parametrize(
    ("content", "options", "facts"),
    [
        (r'{"id":"\ud800"}', {"key": "id"}, ("file:1: id", "surrogate")),
        (r'{"_id":"\ud800"}', {}, ("file:1", "_id")),
        (r'{"_id":"a","b":"\ud800"}', {}, ("file:1", "_id")),
        ('{"_id":"a","b":1,"b":2}', {}, ("file:1", "twice")),
        ('{"a":NaN}', {}, ("file:1", "JSON")),
        ('{"_id":"a","b":NaN}', {}, ("file:1", "JSON")),
    ],
)
def test_what_cannot_be_sent_is_refused(
    tmp_path: Path, content: str, options: dict[str, str], facts: tuple[str, ...], message: MakeMessage
) -> None:
    """A key is text in UTF-8, and a document that is written anew has all that it had."""
    assert refusal(tmp_path / "file", content, **options) == message(*facts)
