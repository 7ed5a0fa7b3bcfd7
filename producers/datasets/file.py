"""A user's own documents: files in any form, checked from first to last before anything is sent."""

import hashlib
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from producers.dataset import Dataset, DatasetError, Record
from producers.datasets.slice import LONGEST_KEY_BYTES, RECORD_OVERHEAD_BYTES, SliceRecords, make_slice
from producers.datasets.source.copy import copy_of, document_in, text_in
from producers.datasets.source.document import Document, documents_inside, parsed_document, refuse_search_answer
from producers.datasets.source.json_text import BYTE_ORDER_MARK
from producers.datasets.source.read import documents_of, is_plain, needs_rewriting
from producers.datasets.source.slice import slice_header
from producers.datasets.source.unpack import CHUNK_BYTES
from producers.json_values import loaded

__all__ = ["FileDocuments", "is_plain", "key_of", "make_file", "numbered_documents", "parsed_document"]

DEFAULT_MAX_MESSAGE_BYTES: Final = 1 << 20
MOST_NAMED: Final = 8
"""Fields of a document that lacks its key."""
ID: Final = "_id"
"""As the name of the key field: the id that the file gives a document beside its fields."""


@dataclass(frozen=True)
class FileDocuments(Dataset):
    """The documents of a file, in order; a later one replaces an earlier one of the same key.

    Without a key field, a document's key is the id that the file gives it beside its fields, else its number in the
    file, from 1, so that equal documents stay two.

    Blank lines, CRLF and a byte order mark are no part of a document. A document of a plain file goes out as the bytes
    that stand there.

    Attributes:
        path: The file as the user named it.
        plain: Where documents are read from, one per line: the file itself, or a copy.
        stamp: Size and time of change of `plain` when it was checked.
        offsets: Where each document's line begins.
        key_hashes: 64 bits of each key's BLAKE2b; two keys of ten million collide with a chance of 3 in a million.
        content_hash: BLAKE2b (128 bits) of the documents, a line feed after each: the same however they are compressed.
        is_copied: True for a copy, on whose lines something stands before the document.
        has_ids: True where keys are ids that the file gives.
        is_routed: True where a document has a routing.
    """

    path: str
    key_field: str | None
    plain: str
    stamp: tuple[int, int]
    offsets: NDArray[np.int64] = field(repr=False, compare=False)
    key_hashes: NDArray[np.int64] = field(repr=False, compare=False)
    seed: int
    keys_repeat: bool
    content_hash: str | None
    is_copied: bool = False
    has_ids: bool = False
    is_routed: bool = False

    name: ClassVar[str] = "file"

    @property
    def documents(self) -> int:  # type: ignore[override]
        """Number of documents."""
        return len(self.key_hashes)

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and text of each document."""
        with self._opened() as lines:
            return [self._record_at(lines, int(number)) for number in numbers]

    def routings(self, numbers: NDArray[np.int64]) -> Sequence[str | None]:
        """The routing of each document."""
        if not self.is_routed:
            return super().routings(numbers)
        with self._opened() as lines:
            return [document_in(self._line_at(lines, int(number))).routing for number in numbers]

    def latest(self) -> NDArray[np.int64]:
        """Document numbers, ascending, that are the last of their key."""
        backwards = self.key_hashes[::-1]
        _, first_seen = np.unique(backwards, return_index=True)
        return np.sort(self.documents - 1 - first_seen).astype(np.int64)

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """A number that all documents of a key share; `None` when no key occurs twice."""
        return self.key_hashes[numbers] if self.keys_repeat else None

    def _opened(self) -> BinaryIO:
        lines = Path(self.plain).open("rb", buffering=CHUNK_BYTES)  # noqa: SIM115 - closed by the caller
        if _stamp(lines) != self.stamp:
            lines.close()
            raise DatasetError(f"{self.path}: has changed since it was checked; start again")
        return lines

    def _line_at(self, lines: BinaryIO, number: int) -> bytes:
        lines.seek(int(self.offsets[number]))
        return lines.readline()

    def _record_at(self, lines: BinaryIO, number: int) -> Record:
        line = self._line_at(lines, number)
        if self.has_ids:
            document = document_in(line)
            return _key_bytes(document.id), document.text
        text = text_in(line) if self.is_copied else line.strip()
        if self.key_field is None:
            return _key_bytes(number + 1), text
        return _key_bytes(field_at(loaded(text), self.key_field)), text


def make_file(
    *,
    documents: int | None,
    seed: int,
    path: str,
    key: str | None = None,
    timestamp: str | None = None,
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
) -> FileDocuments | SliceRecords:
    """The documents of a file, or the records of a slice; all of them, or the first so many.

    Reads the whole file once. Memory: 16 bytes per document. Unless it is plain, with a document on each line, the
    documents are copied to a temporary file without a name, which goes when this process ends.

    Raises:
        DatasetError: The file cannot be read, or a document does not serve: it is named as `file:line`.
    """
    if slice_header(path):
        for option in filter(None, (key and "key", timestamp and "timestamp")):
            raise DatasetError(f"{option}: got one for {path}, which is a slice: its records have keys and times")
        return make_slice(path, documents=documents, seed=seed, max_message_bytes=max_message_bytes)
    reading = _Reading(path, key, timestamp, max_message_bytes)
    own = Path(path).resolve()
    is_own = is_plain(path) and reading.take_all(own, documents)
    plain = own if is_own else copy_of(path, documents)
    if not is_own:
        reading = _Reading(path, key, timestamp, max_message_bytes)
        reading.take_all(plain, documents, is_copied=True)
    found = len(reading.key_hashes)
    if not found:
        raise DatasetError(f"{path}: is empty; expected JSON objects")
    if documents is not None and found < documents:
        raise DatasetError(f"{path}: got {found:,} documents, expected {documents:,}; request fewer, or all")
    hashes = np.array(reading.key_hashes, np.int64)
    keys = len(np.unique(hashes))
    if reading.is_routed and len(np.unique(np.array(reading.routed_hashes, np.int64))) > keys:
        raise DatasetError(f"{path}: a key has two routings; Elasticsearch would store a document of it for each")
    return FileDocuments(
        path,
        key,
        str(plain),
        reading.stamp,
        np.array(reading.offsets, np.int64),
        hashes,
        seed,
        keys_repeat=keys < len(hashes),
        content_hash=reading.content.hexdigest(),
        is_copied=not is_own,
        has_ids=reading.has_ids,
        is_routed=reading.is_routed,
    )


class _Reading:
    """Documents checked so far: where each begins, a hash of each key, a hash of all contents.

    Attributes:
        has_ids: True where the file gives ids, and no other key is named.
        routed_hashes: A hash of each key with its routing; empty where no document has one.
    """

    def __init__(self, path: str, key: str | None, timestamp: str | None, max_message_bytes: int) -> None:
        self.path = path
        self.key = key
        self.timestamp = timestamp
        self.max_message_bytes = max_message_bytes
        self.stamp = 0, 0
        self.offsets, self.key_hashes = array("q"), array("q")
        self.content = hashlib.blake2b(digest_size=16)
        self.first: Document | None = None
        self.has_ids = False
        self.is_routed = False
        self.routed_hashes = array("q")

    def take_all(self, plain: Path, most: int | None, *, is_copied: bool = False) -> bool:
        """Check the documents of a file, one per line; false if one of the user's own file is not sent as it stands."""
        with plain.open("rb", buffering=CHUNK_BYTES) as lines:
            self.stamp = _stamp(lines)
            for line_number, offset, line in islice(_lines(lines), most):
                document = document_in(line) if is_copied else Document(f"{self.path}:{line_number}", line)
                parsed = parsed_document(document.place, document.text)
                if not is_copied and needs_rewriting(line, parsed):
                    return False
                self._take(offset, document, parsed)
        return True

    def _take(self, offset: int, document: Document, parsed: dict[str, Any]) -> None:
        refuse_search_answer(document.place, parsed)
        if self.timestamp is not None and field_at(parsed, self.timestamp) is None:
            raise DatasetError(f"{document.place}: {self.timestamp}: the timestamp field is missing")
        if self.first is None:
            self.first = document
            self.has_ids = self.key in {None, ID} and document.id is not None
        found = self._key(document, parsed)
        _check_size(document.place, found, document.text, self.max_message_bytes, parsed)
        self.offsets.append(offset)
        self.content.update(document.text + b"\n")
        if document.routing is not None and not self.is_routed:
            self.is_routed = True
            self.routed_hashes.extend(self.key_hashes)
        self.key_hashes.append(_hash(found))
        if self.is_routed:
            routing = b"" if document.routing is None else b"\n" + document.routing.encode()
            self.content.update(routing)
            self.routed_hashes.append(_hash(found + routing))

    def _key(self, document: Document, parsed: dict[str, Any]) -> bytes:
        if self.has_ids or (self.key is None and document.id is not None):
            return self._id(document)
        return _key_bytes(len(self.key_hashes) + 1) if self.key is None else key_of(document.place, parsed, self.key)

    def _id(self, document: Document) -> bytes:
        assert self.first is not None  # noqa: S101 - for mypy: the document is the first one, or comes later
        found = id_of(document, self.first)
        self.content.update(found + b"\n")
        return found


def _lines(lines: Iterable[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Line number, offset and document of every line that is not blank."""
    offset = 0
    for line_number, line in enumerate(lines, 1):
        start = offset
        offset += len(line)
        if line.startswith(BYTE_ORDER_MARK):
            start += len(BYTE_ORDER_MARK)
            line = line[len(BYTE_ORDER_MARK) :]  # noqa: PLW2901
        document = line.strip()
        if document:
            yield line_number, start, document


def numbered_documents(path: str) -> Iterator[tuple[int, bytes]]:
    """Line number and text of each document of a file, read no further than asked for.

    Raises:
        DatasetError: The file cannot be read.
    """
    for document in documents_of(path):
        yield int(document.place.rpartition(":")[2]), document.text


def id_of(document: Document, first: Document) -> bytes:
    """The id that a file gives a document, as it gives the first one.

    Raises:
        DatasetError: Only one of them has one, or the id serves for no document.
    """
    if (document.id is None) != (first.id is None):
        has, had = ("an", "none") if document.id else ("no", "one")
        raise DatasetError(
            f"{document.place}: has {has} _id, {first.place} has {had}; give all documents one, or name a key"
        )
    if document.index_name != first.index_name:
        got = f"index {document.index_name}" if document.index_name else "no index"
        raise DatasetError(
            f"{document.place}: got {got}, expected {first.index_name or 'none'} as at {first.place}: "
            "ids are unique in one index; split the file, or name a key"
        )
    if not document.id:
        raise DatasetError(f"{document.place}: {ID}: is empty; every document needs one")
    return _fitting(document.place, _key_bytes(document.id))


def key_of(where: object, parsed: dict[str, Any], key_field: str) -> bytes:
    """The key of a document.

    Raises:
        DatasetError: It has none; the message begins with `where`.
    """
    key = field_at(parsed, key_field)
    if key is None or key == "":
        raise DatasetError(
            f"{where}: {key_field}: the key field is missing or empty; every document needs one; this one has"
            f" {', '.join(list(parsed)[:MOST_NAMED]) or 'no fields'}"
        )
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise DatasetError(f"{where}: {key_field}: the key is neither a string nor a whole number")
    try:
        return _fitting(where, _key_bytes(key))
    except UnicodeEncodeError as error:
        raise DatasetError(f"{where}: {key_field}: the key holds half a surrogate pair") from error


def _fitting(where: object, key: bytes) -> bytes:
    if len(key) > LONGEST_KEY_BYTES:
        raise DatasetError(f"{where}: the key has {len(key)} bytes, Elasticsearch accepts ids of at most 512")
    return key


def _check_size(where: str, key: bytes, document: bytes, max_message_bytes: int, parsed: dict[str, Any]) -> None:
    size = len(key) + len(document) + RECORD_OVERHEAD_BYTES
    if size > max_message_bytes:
        raise DatasetError(
            f"{where}: the record has {size:,} bytes, the broker accepts {max_message_bytes:,}; "
            "raise message.max.bytes of broker, topic and producer, and max_message_bytes here"
            f"{documents_inside(where, parsed)}"
        )


def field_at(document: object, path: str) -> object:
    """The value at a dotted path; a field whose very name has dots comes first. `None` when there is none."""
    if isinstance(document, dict) and path in document:
        found: object = document[path]
        return found
    for name in path.split("."):
        if not isinstance(document, dict):
            return None
        document = document.get(name)
    return document


def _hash(key: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big", signed=True)


def _key_bytes(key: object) -> bytes:
    return str(key).encode()


def _stamp(lines: BinaryIO) -> tuple[int, int]:
    status = os.fstat(lines.fileno())
    return status.st_size, status.st_mtime_ns
