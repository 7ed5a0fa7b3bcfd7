"""What `sluice init` makes of the documents of a file: the mapping, and the key."""

import gzip
import os
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from lab.errors import ProfileError
from lab.init.mapping import mapping_of
from lab.init.sample import Sample, read_sample


@pytest.fixture
def sampled(tmp_path: Path) -> "Sampled":
    """A sample of documents as a test has them."""
    return Sampled(tmp_path / "books.ndjson")


class Sampled:
    """Samples of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *documents: dict[str, Any], most: int = 1009, key: str | None = None) -> Sample:
        """That of a file with these documents."""
        self.path.write_bytes(b"".join(orjson.dumps(document) + b"\n" for document in documents))
        return read_sample(str(self.path), most, key)


TITLES = [f"the {word} of the {word}" for word in ("sea", "river", "night", "sky")]


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        ([1, 2**63 - 1, None], {"type": "long"}),
        ([1, 2.5], {"type": "double"}),
        ([2**63, 1], {"type": "keyword"}),
        ([True, False], {"type": "boolean"}),
        ([True, "no"], {"type": "keyword"}),
        ([1, "1"], {"type": "keyword"}),
        (["2024-02-29", "2024-01-01T10:00:00.123Z"], {"type": "date", "format": "strict_date_optional_time"}),
        (
            ["2024-02-29", "2024-01-01 10:00:00"],
            {"type": "date", "format": "strict_date_optional_time||yyyy-MM-dd HH:mm:ss"},
        ),
        (["2024/02/29"], {"type": "date", "format": "yyyy/MM/dd"}),
        (["2024/02/29 10:00:00"], {"type": "date", "format": "yyyy/MM/dd HH:mm:ss"}),
        (["2023-02-29"], {"type": "keyword"}),
        (["2024-01-01", ""], {"type": "keyword"}),
        (["2024"], {"type": "keyword"}),
        (TITLES, {"type": "text"}),
        (["history of the world"] * 4, {"type": "keyword"}),
        (["word " * 80] * 4, {"type": "text"}),
        (["http://" + "x" * 300, "a"], {"type": "keyword", "ignore_above": 8191}),
        ([["a", "b"], []], {"type": "keyword"}),
        ([{"x": 1}, {"x": 2.5}], {"properties": {"x": {"type": "double"}}}),
        ([{"x": 1}, 7], {"type": "object", "enabled": False}),
        ([[{"x": 1, "y": 2}]], {"properties": {"x": {"type": "long"}, "y": {"type": "long"}}}),
        ([[{"x": 1}, {"x": 2}]], {"properties": {"x": {"type": "long"}}}),
        (
            [[{"x": 1, "y": 2}, {"x": 2}]],
            {"type": "nested", "properties": {"x": {"type": "long"}, "y": {"type": "long"}}},
        ),
        ([{str(number): 1} for number in range(200)], {"properties": {str(n): {"type": "long"} for n in range(200)}}),
        ([{str(number): 1} for number in range(201)], {"type": "object", "enabled": False}),
    ],
)
def test_a_field_has_the_type_that_takes_all_of_its_values(
    sampled: Sampled, values: list[object], declared: dict[str, Any]
) -> None:
    """Each value stands in a document of its own."""
    sample = sampled(*({"field": value} for value in values))

    assert mapping_of(sample.root) == {
        "settings": {},
        "mappings": {"dynamic": False, "properties": {"field": declared}},
    }


def test_a_dotted_name_is_a_path(sampled: Sampled) -> None:
    """Elasticsearch takes `a.b` for the field `b` of the object `a`; what is always empty is not declared."""
    sample = sampled({"a.b": 1, "a": {"c": True}, "": 1, "none": None, "nothing": []})

    properties = mapping_of(sample.root)["mappings"]["properties"]

    assert properties == {"a": {"properties": {"b": {"type": "long"}, "c": {"type": "boolean"}}}}


def test_objects_in_objects_without_end_are_not_declared(sampled: Sampled) -> None:
    """Elasticsearch takes 20 levels."""
    document: dict[str, Any] = {"x": 1}
    for _ in range(30):
        document = {"x": document}

    declared = mapping_of(sampled(document).root)["mappings"]
    levels = 0
    while "properties" in declared:
        declared, levels = declared["properties"]["x"], levels + 1

    assert (levels, declared) == (18, {"type": "object", "enabled": False})


def test_more_fields_than_an_index_takes_are_refused(sampled: Sampled) -> None:
    """A mapping that the server refuses is not proposed."""
    sample = sampled({f"object{n}": {f"field{m}": 1 for m in range(150)} for n in range(7)})

    with pytest.raises(ProfileError) as refused:
        mapping_of(sample.root)

    assert str(refused.value) == (
        "the documents have 1,057 fields, expected at most 1,000, Elasticsearch's default limit; write a mapping by "
        "hand (mappings/README.md)"
    )


@pytest.mark.parametrize(
    ("documents", "key"),
    [
        ([{"isbn": "a", "id": 1}, {"isbn": "b", "id": 2}], "id"),
        ([{"isbn": "a", "id": 1}, {"isbn": "b", "id": 1}], "isbn"),
        ([{"isbn": "a", "id": 1}, {"isbn": "b"}], "isbn"),
        ([{"isbn": "a"}, {"isbn": "b", "id": 1}], "isbn"),
        ([{"n": 1, "bookId": "a"}, {"n": 2, "bookId": "b"}], "bookId"),
        ([{"n": 1, "book_id": "a"}, {"n": 2, "book_id": "b"}], "book_id"),
        ([{"paid": 1}, {"paid": 2}], None),
        ([{"a": {"id": "x"}}, {"a": {"id": "y"}}], "a.id"),
        ([{"a": {"id": "x"}, "isbn": 1}, {"a": {"id": "y"}, "isbn": 2}], "isbn"),
        ([{"a": [{"id": "x"}]}, {"a": [{"id": "y"}]}], None),
        ([{"id": 1}, {"id": "1"}], None),
        ([{"id": 1.5}, {"id": 2.5}], None),
        ([{"id": ""}, {"id": "x"}], None),
        ([{"id": "x" * 513}, {"id": "y"}], None),
        ([{"code": f"c{n}", "n": n} for n in range(99)], None),
        ([{"code": f"c{n}", "n": n} for n in range(100)], "code"),
        ([{"n": n, "on": "2024-01-01"} for n in range(100)], None),
        ([{f"f{m}": f"v{n}" for m in range(30)} | {"id": n} for n in range(1009)], "id"),
    ],
)
def test_the_key_is_a_field_that_every_document_has_with_a_value_of_its_own(
    sampled: Sampled, documents: list[dict[str, Any]], key: str | None
) -> None:
    """Names of keys are preferred; of other fields, one whose values look like keys, in a hundred documents or more."""
    assert sampled(*documents).key == key


def test_a_key_that_is_given_may_repeat(sampled: Sampled) -> None:
    """How often is told."""
    sample = sampled(*({"id": n % 7} for n in range(11)), key="id")

    assert (sample.key, sample.repeats) == ("id", 4)


def test_only_the_first_documents_are_read(sampled: Sampled) -> None:
    """What stands behind them is not looked at."""
    sample = sampled({"n": 1}, {"n": 2.5}, most=1)

    assert (sample.documents, sample.whole) == (1, False)
    assert mapping_of(sample.root)["mappings"]["properties"] == {"n": {"type": "long"}}


@pytest.mark.parametrize(
    ("suffix", "why"), [("gz", "cannot be read: "), ("zst", r"is not JSON at column \d+: ")], ids=["gz", "zst"]
)
def test_of_a_compressed_file_no_more_is_decompressed_than_read(tmp_path: Path, suffix: str, why: str) -> None:
    """What follows the sample may even be broken off; within it, that is a refusal."""
    lines = b"".join(b'{"id":"%s"}\n' % os.urandom(500).hex().encode() for _ in range(5000))
    packed = gzip.compress(lines) if suffix == "gz" else zstandard.compress(lines)
    path = tmp_path / f"books.ndjson.{suffix}"
    path.write_bytes(packed[: len(packed) * 3 // 4])

    assert read_sample(str(path), 7).documents == 7
    with pytest.raises(ProfileError, match=why):
        read_sample(str(path), 5000)
