"""A user's own file: what is read, what is refused before anything is sent."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from producers.dataset import Dataset, DatasetError
from producers.registry import make_dataset
from tests.unit.messages import MakeMessage

LINES = b"".join(b'{"id":"k%d","value":{"n":%d}}\n' % (number % 211, number) for number in range(1009))


def file_dataset(path: Path, content: bytes, **options: Any) -> Dataset:
    """A dataset of a file with this content."""
    path.write_bytes(content)
    return make_dataset("file", path=str(path), **{"key": "id", **options})


def refusal(path: Path, content: bytes, **options: Any) -> str:
    """Why the file is refused, without its folder."""
    with pytest.raises(DatasetError) as refused:
        file_dataset(path, content, **options)
    return str(refused.value).removeprefix(f"{path.parent}/")


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("books.ndjson", LINES),
        ("books.ndjson.gz", gzip.compress(LINES[:5000]) + gzip.compress(LINES[5000:])),
        ("books.ndjson.zst", zstandard.compress(LINES[:5000]) + zstandard.compress(LINES[5000:])),
        ("books.json.bz2", bz2.compress(LINES[:5000]) + bz2.compress(LINES[5000:])),
        ("books.xz", lzma.compress(LINES[:5000]) + lzma.compress(LINES[5000:])),
        ("books", gzip.compress(LINES)),
        ("books.gz", LINES),
    ],
)
def test_every_line_is_a_document(tmp_path: Path, name: str, packed: bytes) -> None:
    """Plain or compressed, in one piece or several, whatever the name, the lines are the documents."""
    dataset = file_dataset(tmp_path / name, packed)
    assert dataset.documents == 1009
    assert [value for batch in dataset.batches(0, 1009) for _, value in batch] == LINES.splitlines()
    assert dataset.content_hash == hashlib.blake2b(LINES, digest_size=16).hexdigest()
    copy = pickle.loads(pickle.dumps(dataset))  # noqa: S301 - our own
    assert (copy.key(700), copy.document(700)) == (b"k67", b'{"id":"k67","value":{"n":700}}')


def test_later_lines_replace_earlier_ones_of_the_same_key(tmp_path: Path) -> None:
    """The last line of each key is what must be in the index."""
    dataset = file_dataset(tmp_path / "books.ndjson", LINES)
    assert dataset.latest().tolist() == list(range(1009 - 211, 1009))
    groups = dataset.groups(np.arange(1009, dtype=np.int64))
    assert groups is not None
    assert len(set(groups.tolist())) == 211


def test_unique_keys_need_no_groups(tmp_path: Path) -> None:
    """Where no key occurs twice, any process may send any line."""
    dataset = file_dataset(tmp_path / "books.ndjson", b'{"id":1}\n{"id":2}\n')
    assert dataset.groups(np.arange(2, dtype=np.int64)) is None
    assert [dataset.key(0), dataset.key(1)] == [b"1", b"2"]


def test_without_a_key_field_every_line_is_a_document_of_its_own(tmp_path: Path) -> None:
    """The key is the document's number, from 1; blank lines are not counted, and equal lines stay two documents."""
    dataset = file_dataset(tmp_path / "books.ndjson", b'{"id":1}\n\n{"id":1}\n', key=None)
    assert [record for batch in dataset.batches(0, 2) for record in batch] == [(b"1", b'{"id":1}'), (b"2", b'{"id":1}')]
    assert dataset.latest().tolist() == [0, 1]


def test_blank_lines_crlf_byte_order_mark_and_a_missing_end_are_tolerated(tmp_path: Path) -> None:
    """What editors leave behind is no part of a document."""
    content = b'\xef\xbb\xbf{"id":"a"}\r\n\r\n  \n {"id":"b"} \r\n{"id":"c"}'
    dataset = file_dataset(tmp_path / "books.ndjson", content)
    records = [record for batch in dataset.batches(0, 3) for record in batch]
    assert records == [(b"a", b'{"id":"a"}'), (b"b", b'{"id":"b"}'), (b"c", b'{"id":"c"}')]


def test_the_first_documents_can_be_asked_for(tmp_path: Path) -> None:
    """A size takes the first lines; the lines after them are not looked at."""
    dataset = file_dataset(tmp_path / "books.ndjson", LINES + b"no JSON\n", documents=97)
    assert dataset.documents == 97


def test_keys_may_be_nested(tmp_path: Path) -> None:
    """A dotted path goes into objects; a field with dots in its name comes first."""
    content = b'{"a":{"b":"deep"}}\n{"a.b":"flat","a":{"b":"deep"}}\n'
    dataset = file_dataset(tmp_path / "books.ndjson", content, key="a.b")
    assert [dataset.key(0), dataset.key(1)] == [b"deep", b"flat"]


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (b"", ("books.ndjson",)),
        (b"\n \n", ("books.ndjson",)),
        (b'{"id":1}\n[1]\n', ("books.ndjson:2",)),
        (b'{"id":1}\n\nnull\n', ("books.ndjson:3", "null")),
        (b'{"id":1}\n"x"\n', ("books.ndjson:2",)),
        (
            b'{"id":1}\n{"other":1}\n',
            ("books.ndjson:2: id",),
        ),
        (b'{"id":""}\n', ("books.ndjson:1: id",)),
        (b'{"id":null}\n', ("books.ndjson:1: id",)),
        (b'{"id":1.5}\n', ("books.ndjson:1: id",)),
        (b'{"id":true}\n', ("books.ndjson:1: id",)),
        (
            b'{"id":"' + b"k" * 513 + b'"}\n',
            ("books.ndjson:1", 513, 512),
        ),
    ],
)
def test_a_line_that_does_not_serve_is_named(
    tmp_path: Path, content: bytes, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """The refusal is one sentence with file and line."""
    assert refusal(tmp_path / "books.ndjson", content) == message(*facts)


def test_a_line_that_is_not_json_is_named_with_its_column(tmp_path: Path, message: MakeMessage) -> None:
    """The parser's reason comes with file, line and column, and without the content."""
    sentence = refusal(tmp_path / "books.ndjson", b'{"id":1}\n{"id":secret}\n')
    assert sentence == message("books.ndjson:2", "JSON", 7)
    assert "secret" not in sentence


def test_a_document_over_the_brokers_limit_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Key, document and Kafka's overhead together must fit; one byte more does not."""
    line = json.dumps({"id": "k", "text": "x" * 1000}).encode()
    size = len(line) + 1 + 150
    assert file_dataset(tmp_path / "books.ndjson", line, max_message_bytes=size).documents == 1
    assert refusal(tmp_path / "books.ndjson", line, max_message_bytes=size - 1) == message(
        "books.ndjson:1", f"{size:,}", f"{size - 1:,}", "message.max.bytes", "max_message_bytes"
    )


def test_a_missing_timestamp_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Where a timestamp field is named, every document has it."""
    content = b'{"id":1,"at":{"utc":"2024-01-01"}}\n{"id":2,"at":{}}\n'
    assert refusal(tmp_path / "books.ndjson", content, timestamp="at.utc") == message("books.ndjson:2: at.utc")


def test_more_documents_than_lines_are_refused(tmp_path: Path, message: MakeMessage) -> None:
    """A file cannot be longer than it is."""
    assert refusal(tmp_path / "books.ndjson", LINES, documents=1010) == message("books.ndjson", "1,009", "1,010")


@pytest.mark.parametrize("name", ["none.ndjson", "", "*.ndjson"])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str, message: MakeMessage) -> None:
    """A missing file, an empty folder and a pattern of no file are one sentence each."""
    with pytest.raises(DatasetError) as refused:
        make_dataset("file", path=str(tmp_path / name), key="id")
    assert str(refused.value) == message(tmp_path / name)


def test_a_stream_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """It could be read once alone, and its beginning says how to read it."""
    os.mkfifo(tmp_path / "books")
    with pytest.raises(DatasetError) as refused:
        make_dataset("file", path=str(tmp_path / "books"), key="id")
    assert str(refused.value) == message(tmp_path / "books", "stream")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
def test_a_damaged_compressed_file_is_refused(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """A compressed file whose end is not what its beginning says is one sentence."""
    packed = pack(LINES)
    damaged = packed[: len(packed) // 2] + b"x" * 97
    assert refusal(tmp_path / "books", damaged).startswith("books: cannot be read: ")


def test_the_temporary_folder_keeps_what_users_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in it is removed, whatever its name, and a decompressed copy has no name that could stay behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    theirs = {"sluice-20260101-books.ndjson", "sluice-999999999-a.ndjson", "sluice-notes-1.ndjson"}
    for name in theirs:
        (tmp_path / "temporary" / name).touch()
    assert file_dataset(tmp_path / "books.ndjson.gz", gzip.compress(LINES)).documents > 0
    assert {path.name for path in (tmp_path / "temporary").iterdir()} == theirs


def test_a_copy_that_has_no_room_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: MakeMessage
) -> None:
    """The temporary folder is named, since it is not the file that is full; no part of the copy stays open."""
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: Path("/dev/full").open("wb"))  # noqa: SIM115
    opened = len(list(Path("/proc/self/fd").iterdir()))
    sentence = refusal(tmp_path / "books.ndjson.gz", gzip.compress(LINES))
    assert sentence == message("books.ndjson.gz", "No space left", "TMPDIR", folder=tempfile.gettempdir())
    assert len(list(Path("/proc/self/fd").iterdir())) == opened


def test_a_process_that_is_sent_the_dataset_reads_the_decompressed_copy(tmp_path: Path) -> None:
    """Producer processes get the dataset pickled."""
    dataset = file_dataset(tmp_path / "books.ndjson.gz", gzip.compress(LINES))
    script = "import pickle, sys; sys.stdout.buffer.write(pickle.load(sys.stdin.buffer).document(1008))"
    reader = [sys.executable, "-c", script]
    done = subprocess.run(
        reader, input=pickle.dumps(dataset), capture_output=True, check=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout == dataset.document(1008)


def test_a_file_that_changes_is_found_out(tmp_path: Path, message: MakeMessage) -> None:
    """What was checked is what is sent."""
    dataset = file_dataset(tmp_path / "books.ndjson", LINES)
    (tmp_path / "books.ndjson").write_bytes(LINES + LINES)
    with pytest.raises(DatasetError) as error:
        dataset.document(5)
    assert str(error.value) == message("books.ndjson")


def test_the_content_is_that_of_the_documents_that_are_loaded(tmp_path: Path) -> None:
    """One changed byte shows; what is not loaded does not; a generated dataset needs no hash."""
    whole = file_dataset(tmp_path / "a.ndjson", LINES, documents=1008).content_hash
    assert file_dataset(tmp_path / "b.ndjson", LINES + b'{"id":1}', documents=1008).content_hash == whole
    assert (
        file_dataset(tmp_path / "c.ndjson", LINES.replace(b'"n":7}', b'"n":8}'), documents=1008).content_hash != whole
    )
    assert make_dataset("aladin", documents=7).content_hash is None


def test_variants_on_one_compressed_file_share_its_copy(tmp_path: Path) -> None:
    """Each would take as much disk, which nobody could see, until the command ends."""
    packed = tmp_path / "books.ndjson.gz"
    opened = len(list(Path("/proc/self/fd").iterdir()))
    datasets = [file_dataset(packed, gzip.compress(LINES, mtime=0)), make_dataset("file", path=str(packed), key="id")]
    assert len(list(Path("/proc/self/fd").iterdir())) <= opened + 1
    assert datasets[0].document(1008) == datasets[1].document(1008)
