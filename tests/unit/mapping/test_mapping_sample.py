"""A sample of a file: how it is drawn, what it refuses, and the key."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lab.errors import ProfileError
from lab.init.files import key_text
from lab.mapping import sample as sample_module
from lab.mapping.proposal import propose
from lab.mapping.sample import documents_of, extent_of, read_sample, spread_blocks, spread_documents
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


def test_a_spread_sample_is_the_same_each_time_and_names_lines(sampled: Sampled) -> None:
    """Each document that is checked on a server was looked at, and stands in the line that a message names."""
    sampled(*({"number": n} for n in range(101)))
    path = str(sampled.path)

    places = list(documents_of(path, 7, extent_of(path, 7)))

    assert places == list(documents_of(path, 7, "spread"))
    lines = sampled.path.read_bytes().splitlines()
    assert [lines[int(str(where).removeprefix(f"{path}:")) - 1] for where, _ in places] == [of for _, of in places]
    assert len({str(where) for where, _ in places}) == 7


def test_a_byte_order_mark_is_no_part_of_the_first_document(sampled: Sampled) -> None:
    """Neither in a spread sample."""
    sampled.path.write_bytes(b"\xef\xbb\xbf" + b'{"n":1}\n\n' * 7)

    where, document = next(documents_of(str(sampled.path), 3, "spread"))

    assert (str(where), document) == (f"{sampled.path}:1", b'{"n":1}')


def test_a_document_that_is_most_of_a_file_takes_no_others_place(sampled: Sampled) -> None:
    """Places at even distances lie within it; the sample then has blocks of documents."""
    small = [{"small": n} for n in range(300)]

    sample = sampled(*small, {"large": 1_000_000 * "x"}, *small, most=100)

    assert 50 <= sample.documents <= 100
    assert sample.root.children["small"].documents >= 50


def test_no_byte_of_a_plain_file_is_read_twice(sampled: Sampled, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long line is passed once, not from each place within it."""
    sampled({"n": 1}, {"large": 1_000_000 * "x"}, {"n": 2})
    starts: list[int] = []
    between = sample_module.documents_between
    monkeypatch.setattr(
        sample_module, "documents_between", lambda file, start, stop: starts.append(start) or between(file, start, stop)
    )

    assert len(list(spread_documents(str(sampled.path), 100))) == 2
    assert len(starts) <= 3


def test_documents_with_ids_beside_their_fields_need_no_key(tmp_path: Path, message: MakeMessage) -> None:
    """Those of a bulk file; a field that is unique would take the place of the ids, and keep what they replace."""
    path = tmp_path / "bulk.json"
    path.write_bytes(b"".join(b'{"index":{"_id":"%d"}}\n{"isbn":"b%d"}\n' % (n % 7, n) for n in range(20)))

    sample = read_sample(str(path), 100)

    assert (sample.key, sample.documents, sample.has_ids) == (None, 20, True)
    assert key_text(sample) == message("id")


@pytest.mark.parametrize(
    ("documents", "facts"),
    [
        ([{"_id": "1"}, {"a": 2}], ("books.ndjson:2", "_id")),
        ([{"a": 1}, {"_id": "2"}], ("books.ndjson:2", "_id")),
        ([{"_id": "x" * 513}], ("books.ndjson:1", 513, 512)),
    ],
)
def test_ids_that_a_run_refuses_are_refused(
    sampled: Sampled, documents: list[dict[str, Any]], facts: tuple[object, ...], message: MakeMessage
) -> None:
    """Before a profile is written of which no run starts; with a key, they do not matter."""
    with pytest.raises(ProfileError) as refused:
        sampled(*documents)
    assert str(refused.value).replace(f"{sampled.path.parent}/", "") == message(*facts)


def test_half_a_surrogate_pair_is_a_string_as_any_other(tmp_path: Path) -> None:
    """Elasticsearch takes it."""
    path = tmp_path / "words.ndjson"
    path.write_bytes(b'{"a":"\\ud800"}\n{"a":"x"}\n')
    assert propose(read_sample(str(path), 7)).fields[0].type == "keyword"


@pytest.mark.parametrize("most", [1, 2, 7, 200, 1000])
def test_a_sample_of_a_stream_is_blocks_from_all_over_it(most: int) -> None:
    """At most so many and at least half; each tenth of the stream has its share of them."""
    taken = [number for number, _ in spread_blocks(((n, b"{}") for n in range(50_003)), most)]

    assert -(-most // 2) <= len(taken) <= most
    assert taken == sorted(set(taken))
    tenths = [sum(n * 5000 <= number < (n + 1) * 5000 for number in taken) for n in range(10)]
    assert max(tenths) - min(tenths) <= max(1, most // 50)


def test_large_documents_of_a_stream_are_fewer_in_its_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory is bounded; the rest is still from all over it."""
    monkeypatch.setattr(sample_module, "KEPT_BYTES", 10_000)

    taken = list(spread_blocks(((n, b"x" * 1000) for n in range(1000)), 500))

    assert sum(len(document) for _, document in taken) <= 13_000
    assert max(number for number, _ in taken) > 700


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_file_is_sampled_all_over(tmp_path: Path, suffix: str) -> None:
    """A pass over it finds both kinds of a file that is sorted."""
    lines = b"".join(b'{"%s":%d}\n' % (b"low" if n < 600 else b"high", n) for n in range(1000))
    path = tmp_path / f"books.ndjson.{suffix}"
    path.write_bytes(gzip.compress(lines) if suffix == "gz" else zstandard.compress(lines))

    sample = read_sample(str(path), 100)

    assert (sample.extent, 50 <= sample.documents <= 100) == ("spread", True)
    assert sample.root.children.keys() == {"low", "high"}


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_compressed_file_that_breaks_off_is_refused(tmp_path: Path, suffix: str) -> None:
    """Wherever it breaks off, for a run would refuse it."""
    lines = b"".join(b'{"id":"%s"}\n' % os.urandom(16).hex().encode() for _ in range(5000))
    packed = gzip.compress(lines) if suffix == "gz" else zstandard.compress(lines)
    path = tmp_path / f"books.ndjson.{suffix}"
    path.write_bytes(packed[: len(packed) * 3 // 4])

    with pytest.raises(ProfileError, match="cannot be read: "):
        read_sample(str(path), 7)


def test_a_field_whose_values_repeat_after_the_sample_is_no_key(sampled: Sampled) -> None:
    """All keys of the file are read; the next field that may be one is."""
    documents = [{"id": n, "isbn": f"b{n}"} for n in range(1000)]

    sample = sampled(*documents, {"id": 501, "isbn": "new"}, most=100)

    assert (sample.key, sample.repeats, sample.total) == ("isbn", 0, 1001)


def test_repeats_of_a_given_key_are_counted_in_the_whole_file(sampled: Sampled) -> None:
    """Also where the sample has none."""
    sample = sampled(*({"id": n} for n in range(1000)), *({"id": n} for n in range(3)), most=100, key="id")

    assert (sample.key, sample.repeats, sample.total) == ("id", 3, 1003)


def test_a_document_without_the_given_key_is_named_wherever_it_stands(sampled: Sampled) -> None:
    """As a run would name it."""
    with pytest.raises(ProfileError, match=r":1001: id: the key field is missing"):
        sampled(*({"id": n} for n in range(1000)), {"n": 1}, most=100, key="id")


def test_of_a_file_too_large_to_read_all_keys_the_doubt_is_said(
    sampled: Sampled, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """A key is proposed all the same."""
    monkeypatch.setattr(sample_module, "CHECKED_BYTES", 5000)

    sample = sampled(*({"id": n} for n in range(1000)), most=100)

    assert (sample.key, sample.total) == ("id", None)
    assert key_text(sample) == message("id")


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


@pytest.mark.parametrize("name", ["_version", "_seq_no", "_primary_term", "_tier", "_doc_count"])
def test_a_name_that_servers_keep_for_themselves_is_refused(sampled: Sampled, name: str) -> None:
    """They refuse the mapping, or reject each document."""
    with pytest.raises(ProfileError, match=f"{name}: Elasticsearch reserves this name; rename the field"):
        sampled({name: 1})
