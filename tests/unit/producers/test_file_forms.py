"""A user's own files in other forms than a document per line: arrays, pretty-printed, bulk, MongoDB's."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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
