"""A sample of a file: how it is drawn, what it refuses, and the key."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lab.errors import ProfileError
from lab.mapping.sample import documents_of, extent_of, read_sample
from tests.unit.mapping.sampled import Sampled
from tests.unit.messages import MakeMessage


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


def test_a_file_of_no_more_documents_than_wanted_is_read_whole(sampled: Sampled) -> None:
    """So that nothing else can come in it."""
    sample = sampled({"n": 1}, {"n": 2}, most=2)

    assert (sample.documents, sample.extent) == (2, "whole")
    assert sample.text == "all 2 documents of books.ndjson"


def test_a_sample_of_a_larger_file_is_spread_over_it(sampled: Sampled, message: MakeMessage) -> None:
    """A file that is sorted by kind shows both of them, each document once, and blank lines are none."""
    sample = sampled(*({"low": n} for n in range(500)), *({"high": n} for n in range(500)), most=101)

    assert (sample.documents, sample.extent) == (101, "spread")
    assert sample.text == message(101, "books.ndjson")
    counts = [sample.root.children[name].documents for name in ("low", "high")]
    assert sum(counts) == 101
    assert min(counts) > 40


def test_a_spread_sample_is_the_same_each_time_and_names_bytes(sampled: Sampled) -> None:
    """What is checked on a server is what was looked at; a byte leads to the line."""
    sampled(*({"number": n} for n in range(101)))
    path = str(sampled.path)

    places = list(documents_of(path, 7, extent_of(path, 7)))

    assert places == list(documents_of(path, 7, "spread"))
    content = sampled.path.read_bytes()
    for where, document in places:
        start = int(where.rpartition(" ")[2]) - 1
        assert content[start:].partition(b"\n")[0] == document
    assert len({where for where, _ in places}) == 7


def test_a_byte_order_mark_is_no_part_of_the_first_document(sampled: Sampled) -> None:
    """Neither in a spread sample."""
    sampled.path.write_bytes(b"\xef\xbb\xbf" + b'{"n":1}\n\n' * 7)

    assert next(documents_of(str(sampled.path), 3, "spread")) == (f"{sampled.path} at byte 1", b'{"n":1}')


@pytest.mark.parametrize(
    ("suffix", "why"),
    [("gz", "cannot be read: "), ("zst", r"is not JSON at column \d+: ")],
    ids=["gz", "zst"],
)
def test_of_a_compressed_file_the_first_documents_are_read_and_no_more(
    tmp_path: Path, suffix: str, why: str, message: MakeMessage
) -> None:
    """What follows the sample may even be broken off; within it, that is a refusal."""
    lines = b"".join(b'{"id":"%s"}\n' % os.urandom(500).hex().encode() for _ in range(5000))
    packed = gzip.compress(lines) if suffix == "gz" else zstandard.compress(lines)
    path = tmp_path / f"books.ndjson.{suffix}"
    path.write_bytes(packed[: len(packed) * 3 // 4])

    sample = read_sample(str(path), 7)

    assert (sample.documents, sample.extent) == (7, "first")
    assert sample.text == message(7, f"books.ndjson.{suffix}")
    with pytest.raises(ProfileError, match=why):
        read_sample(str(path), 5000)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"": 1}, ""),
        ({"a": {" ": 1}}, "a. "),
        ({"a..b": 1}, "a..b"),
        ({"a": [{".b": 1}]}, "a..b"),
        ({"a.": 1}, "a."),
    ],
)
def test_a_field_without_a_name_is_refused(
    sampled: Sampled, document: dict[str, Any], name: str, message: MakeMessage
) -> None:
    """Elasticsearch rejects such a document under every mapping."""
    with pytest.raises(ProfileError) as refused:
        sampled({"n": 1}, document)

    assert str(refused.value) == message(f"{sampled.path}:2", name)
