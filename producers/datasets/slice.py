"""The records of a slice of a topic, as a dataset: keys, headers, tombstones and times as they were captured."""

import hashlib
import os
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import NULL, Dataset, DatasetError, Header, Record
from producers.datasets.source.document import parsed_document
from producers.datasets.source.slice import SliceRecord, record_in, slice_lines
from producers.sending import INTENDED_SEND_TIME_HEADER

LONGEST_KEY_BYTES: Final = 512
RECORD_OVERHEAD_BYTES: Final = 150
"""What Kafka adds to key and value: the head of a batch (61), of a record (up to 21), and the send-time header (41)."""


@dataclass(frozen=True)
class SliceRecords(Dataset):
    """The records of a slice, in the order of their times; those of a partition keep the order of their offsets.

    A record is as old as its timestamp says, or as the record before it in its partition where that is later.

    Attributes:
        path: The file as the user named it.
        plain: Its lines, in a copy without a name that goes when this process ends.
        offsets: Where each record's line begins there.
        times_ms: When each record was written, milliseconds since the Unix epoch, ascending.
        key_hashes: 64 bits of each key's BLAKE2b; of a record without a key, another number for each.
        deletes: True for each tombstone with a key.
        makes_no_document: True for each record that is dead-lettered whatever the mapping.
        content_hash: BLAKE2b (128 bits) of the lines.
    """

    path: str
    plain: str
    offsets: NDArray[np.int64] = field(repr=False, compare=False)
    times_ms: NDArray[np.int64] = field(repr=False, compare=False)
    key_hashes: NDArray[np.int64] = field(repr=False, compare=False)
    deletes: NDArray[np.bool_] = field(repr=False, compare=False)
    makes_no_document: NDArray[np.bool_] = field(repr=False, compare=False)
    keys_repeat: bool
    has_headers: bool
    seed: int
    content_hash: str | None

    name: ClassVar[str] = "file"

    @property
    def documents(self) -> int:  # type: ignore[override]
        """Number of records."""
        return len(self.offsets)

    @property
    def unindexable(self) -> int:  # type: ignore[override]
        """Records that make no document."""
        return int((self.deletes | self.makes_no_document).sum())

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and value of each record; `NULL` for Kafka's null."""
        return [
            (NULL if record.key is None else record.key, NULL if record.value is None else record.value)
            for record in self._records_at(numbers)
        ]

    def headers(self, numbers: NDArray[np.int64]) -> Sequence[list[Header]]:
        """The headers of each record as recorded, but for an earlier load's send time."""
        if not self.has_headers:
            return ()
        return [
            [header for header in record.headers if header[0] != INTENDED_SEND_TIME_HEADER]
            for record in self._records_at(numbers)
        ]

    def recorded_ns(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """When each record was written, since the first one was."""
        since_first_ms: NDArray[np.int64] = self.times_ms[numbers] - self.times_ms[0]
        return since_first_ms * 1_000_000

    def tombstones(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """True for each tombstone with a key; `None` where the slice has none."""
        return self.deletes[numbers] if self.deletes.any() else None

    def latest(self) -> NDArray[np.int64]:
        """Numbers of the records that are documents and the last of their key."""
        backwards = np.flatnonzero(~self.makes_no_document)[::-1]
        _, first_seen = np.unique(self.key_hashes[backwards], return_index=True)
        last = np.sort(backwards[first_seen]).astype(np.int64)
        return last[~self.deletes[last]]

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """A number that all records of a key share; `None` when no key occurs twice."""
        return self.key_hashes[numbers] if self.keys_repeat else None

    def _records_at(self, numbers: NDArray[np.int64]) -> Iterator[SliceRecord]:
        with Path(self.plain).open("rb") as lines:
            for offset in self.offsets[numbers].tolist():
                lines.seek(offset)
                yield record_in(lines.readline())


def make_slice(path: str, *, documents: int | None, seed: int, max_message_bytes: int) -> SliceRecords:
    """The records of a slice; all of them, or the first so many. Variants of a suite share one copy of its lines.

    Memory: 34 bytes for each record.

    Raises:
        DatasetError: The file cannot be read, is damaged, or has a record that the broker would not take.
    """
    status = Path(path).stat()
    return _made(path, (status.st_size, status.st_mtime_ns), documents, seed, max_message_bytes)


@lru_cache(maxsize=8)
def _made(path: str, _stamp: tuple[int, int], documents: int | None, seed: int, max_message_bytes: int) -> SliceRecords:
    read = _Reading(path, max_message_bytes)
    with _copy(path) as lines:
        for number, line, record in slice_lines(path):
            read.take(f"{path}:{number}", line, record)
            lines.write(line)
        plain = f"/proc/{os.getpid()}/fd/{os.dup(lines.fileno())}"
    found = len(read.times_ms)
    if not found:
        raise DatasetError(f"{path}: is empty; expected records")
    if documents is not None and found < documents:
        raise DatasetError(f"{path}: got {found:,} records, expected {documents:,}; request fewer, or all")
    times = np.array(read.times_ms, np.int64)
    order = np.argsort(times, kind="stable")[:documents]
    hashes = np.array(read.key_hashes, np.int64)[order]
    return SliceRecords(
        path,
        plain,
        np.array(read.offsets, np.int64)[order],
        times[order],
        hashes,
        np.array(read.deletes, np.bool_)[order],
        np.array(read.makes_no_document, np.bool_)[order],
        keys_repeat=len(np.unique(hashes)) < len(hashes),
        seed=seed,
        content_hash=read.content.hexdigest(),
        has_headers=read.has_headers,
    )


@contextmanager
def _copy(path: str) -> Iterator[BinaryIO]:
    try:
        with tempfile.TemporaryFile() as lines:
            yield lines
            lines.flush()
    except OSError as error:
        raise DatasetError(
            f"{path}: its temporary copy in {tempfile.gettempdir()} cannot be written: {error.strerror}; "
            "free some room, or name another folder in TMPDIR"
        ) from error


class _Reading:
    """Records read so far, in the order of the file."""

    def __init__(self, path: str, max_message_bytes: int) -> None:
        self.path = path
        self.max_message_bytes = max_message_bytes
        self.offsets, self.times_ms, self.key_hashes = array("q"), array("q"), array("q")
        self.deletes, self.makes_no_document = array("b"), array("b")
        self.content = hashlib.blake2b(digest_size=16)
        self.has_headers = False
        self._newest_ms: defaultdict[int, int] = defaultdict(int)
        self._at = 0

    def take(self, place: str, line: bytes, record: SliceRecord) -> None:
        """Take note of a record; raises DatasetError if the broker would not take it."""
        named = (len(name) + len(value or b"") for name, value in record.headers)
        size = len(record.key or b"") + len(record.value or b"") + sum(named) + RECORD_OVERHEAD_BYTES
        if size > self.max_message_bytes:
            raise DatasetError(
                f"{place}: the record has {size:,} bytes, the broker accepts {self.max_message_bytes:,}; "
                "raise message.max.bytes of broker, topic and producer, and max_message_bytes here"
            )
        self._newest_ms[record.partition] = max(self._newest_ms[record.partition], record.timestamp_ms)
        self.offsets.append(self._at)
        self._at += len(line)
        self.times_ms.append(self._newest_ms[record.partition])
        hashed = str(len(self.key_hashes)).encode() if record.key is None else b"=" + record.key
        self.key_hashes.append(int.from_bytes(hashlib.blake2b(hashed, digest_size=8).digest(), "big", signed=True))
        is_id = _is_id(record.key)
        self.deletes.append(is_id and record.value is None)
        self.makes_no_document.append(not is_id or (record.value is not None and not is_object(record.value)))
        self.has_headers |= bool(record.headers)
        self.content.update(line)


def _is_id(key: bytes | None) -> bool:
    try:
        return key is not None and bool(key.decode()) and len(key) <= LONGEST_KEY_BYTES
    except UnicodeDecodeError:
        return False


def is_object(value: bytes) -> bool:
    """Check that a value is a JSON object, as Elasticsearch takes one."""
    try:
        parsed_document("", value)
    except DatasetError:
        return False
    return True
