"""Slices of topics: written and read back byte for byte, and what a dataset makes of their records."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from producers.dataset import NULL, DatasetError
from producers.datasets.file import make_file
from producers.datasets.slice import SliceRecords
from producers.datasets.source.read import documents_of
from producers.datasets.source.slice import SliceRecord, SliceWriter, line_of, record_in, slice_header
from tests.unit.messages import MakeMessage

BYTES = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
RECORDS = st.builds(
    SliceRecord,
    timestamp_ms=st.integers(0, 1 << 41),
    partition=st.integers(0, 99),
    offset=st.integers(0, 1 << 62),
    key=BYTES,
    value=BYTES,
    headers=st.lists(st.tuples(st.text(max_size=9), BYTES), max_size=3).map(tuple),
)


def written(path: Path, *records: SliceRecord) -> Path:
    """A slice of these records."""
    writer = SliceWriter(path)
    for record in records:
        writer.add(record)
    writer.finish({"topic": "orders"})
    writer.close()
    return path


def record(at_ms: int, key: bytes | None, value: bytes | None, *, partition: int = 0) -> SliceRecord:
    """A record without headers."""
    return SliceRecord(at_ms, partition, 0, key, value)


def dataset(path: Path, *records: SliceRecord) -> SliceRecords:
    """The dataset of a slice of these records."""
    made = make_file(documents=None, seed=1, path=str(written(path / "orders.slz", *records)))
    assert isinstance(made, SliceRecords)
    return made


def numbers_of(made: SliceRecords) -> NDArray[np.int64]:
    """The number of each record."""
    return np.arange(made.documents, dtype=np.int64)


@given(RECORDS)
def test_a_line_holds_any_record(captured: SliceRecord) -> None:
    """Nulls, empty bytes, bytes that are no text, and names of headers that occur twice."""
    assert record_in(line_of(captured)) == captured


def test_the_header_counts_the_records(tmp_path: Path) -> None:
    """It stands first, although it is written last."""
    path = written(tmp_path / "orders.slz", record(1, b"a", b"{}"), record(2, None, b"x"), record(3, b"a", None))
    assert slice_header(str(path)) == {
        "format": "sluice slice",
        "version": 1,
        "topic": "orders",
        "records": 3,
        "tombstones": 1,
        "null_keys": 1,
    }


def test_an_unfinished_slice_leaves_no_file(tmp_path: Path) -> None:
    """What has been written has no name until it is whole."""
    writer = SliceWriter(tmp_path / "orders.slz")
    writer.add(record(1, b"a", b"{}"))
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_slice_replaces_no_file(tmp_path: Path) -> None:
    """Neither one that is there at the beginning nor one that came meanwhile."""
    writer = SliceWriter(tmp_path / "orders.slz")
    (tmp_path / "orders.slz").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        writer.finish({})
    with pytest.raises(FileExistsError):
        SliceWriter(tmp_path / "orders.slz")
    assert (tmp_path / "orders.slz").read_bytes() == b"mine"


def test_a_slice_is_of_its_owner_alone(tmp_path: Path) -> None:
    """It holds what others may not read in Kafka."""
    assert written(tmp_path / "orders.slz", record(1, b"a", b"{}")).stat().st_mode & 0o077 == 0


def test_records_are_due_in_the_order_of_their_times(tmp_path: Path) -> None:
    """But those of a partition keep the order of their offsets, whatever their times say."""
    made = dataset(
        tmp_path,
        record(1000, b"a", b"1"),
        record(1500, b"b", b"2"),
        record(1200, b"c", b"3"),
        record(1100, b"d", b"4", partition=1),
    )
    assert [key for key, _ in made.records(numbers_of(made))] == [b"a", b"d", b"b", b"c"]
    assert (made.recorded_ns(numbers_of(made)) // 1_000_000).tolist() == [0, 100, 500, 500]


def test_nulls_and_empty_bytes_are_told_apart(tmp_path: Path) -> None:
    """A tombstone is no empty value."""
    made = dataset(tmp_path, record(1, None, b"{}"), record(2, b"", b""), record(3, b"a", None))
    nulls = [(key is NULL, value is NULL) for key, value in made.records(numbers_of(made))]
    assert nulls == [(True, False), (False, False), (False, True)]


def test_the_send_time_of_an_earlier_load_is_left_out(tmp_path: Path) -> None:
    """Ages would count from it."""
    headers = (("trace", b"\xff"), ("sluice.intended-send-time-us", b"12345678"), ("trace", None))
    made = dataset(tmp_path, SliceRecord(1, 0, 0, b"a", b"{}", headers))
    assert made.headers(numbers_of(made)) == [[("trace", b"\xff"), ("trace", None)]]


def test_the_index_holds_the_last_document_of_each_key(tmp_path: Path) -> None:
    """No tombstone, and neither a key that makes no id nor a value that is no JSON object."""
    made = dataset(
        tmp_path,
        record(1, b"replaced", b'{"a":1}'),
        record(2, b"replaced", b'{"a":2}'),
        record(3, b"deleted", b"{}"),
        record(4, b"deleted", None),
        record(5, b"again", None),
        record(6, b"again", b"{}"),
        record(7, b"kept", b"{}"),
        record(8, b"kept", b"[1]"),
        record(9, None, b"{}"),
        record(10, b"\xff", b"{}"),
    )
    assert [key for key, _ in made.records(made.latest())] == [b"replaced", b"again", b"kept"]
    assert made.unindexable == 5
    deletes = made.tombstones(numbers_of(made))
    assert deletes is not None
    assert np.flatnonzero(deletes).tolist() == [3, 4]


def test_its_documents_can_be_read_as_those_of_any_file(tmp_path: Path) -> None:
    """Without tombstones and what is no JSON object: a mapping is inferred from them."""
    path = written(tmp_path / "orders.slz", record(1, b"a", b'{"n":1}'), record(2, b"a", None), record(3, b"b", b"7"))
    assert [(document.id, document.text) for document in documents_of(str(path))] == [("a", b'{"n":1}')]


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_a_slice_that_is_cut_off_is_refused(tmp_path: Path, lost: int) -> None:
    """However little is missing."""
    path = written(tmp_path / "orders.slz", *(record(n, b"%d" % n, b'{"n":%d}' % n) for n in range(100)))
    path.write_bytes(path.read_bytes()[:-lost])
    with pytest.raises(DatasetError, match="cut off"):
        make_file(documents=None, seed=1, path=str(path))


def test_a_slice_whose_bytes_have_changed_is_refused(tmp_path: Path) -> None:
    """The frame's checksum tells."""
    path = written(tmp_path / "orders.slz", *(record(n, b"%d" % n, b'{"n":%d}' % n) for n in range(100)))
    whole = bytearray(path.read_bytes())
    whole[-3] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DatasetError, match="cannot be read"):
        make_file(documents=None, seed=1, path=str(path))


def test_a_slice_takes_no_key(tmp_path: Path, message: MakeMessage) -> None:
    """Its records have keys."""
    path = written(tmp_path / "orders.slz", record(1, b"a", b"{}"))
    with pytest.raises(DatasetError) as refused:
        make_file(documents=None, seed=1, path=str(path), key="id")
    assert str(refused.value) == message("key", "slice", folder=tmp_path)


def test_a_record_that_the_broker_would_not_take_is_refused(tmp_path: Path, message: MakeMessage) -> None:
    """Before anything is sent."""
    path = written(tmp_path / "orders.slz", record(1, b"a", b"{}"), record(2, b"b", b"x" * 2000))
    with pytest.raises(DatasetError) as refused:
        make_file(documents=None, seed=1, path=str(path), max_message_bytes=1000)
    assert str(refused.value) == message("orders.slz:3", "2,151", "1,000", folder=tmp_path)
