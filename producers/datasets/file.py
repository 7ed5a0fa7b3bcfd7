"""A user's own documents: a file of one JSON object per line, checked from first to last before anything is sent."""

import contextlib
import gzip
import hashlib
import io
import os
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

import numpy as np
import orjson
import zstandard
from numpy.typing import NDArray

from producers.dataset import Dataset, DatasetError, Record

DEFAULT_MAX_MESSAGE_BYTES: Final = 1 << 20
RECORD_OVERHEAD_BYTES: Final = 150
"""What Kafka adds to key and value: the head of a batch (61), of a record (up to 21), and the send-time header (41)."""
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
COPY_CHUNK_BYTES: Final = 1 << 20
COMPRESSED: Final = (".gz", ".zst")
_COPIES: Final[dict[tuple[Path, int, int], Path]] = {}
"""Decompressed copies of this process, by file, size and time of change: a suite's variants share one."""

JSON_KINDS: Final = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


@dataclass(frozen=True)
class FileDocuments(Dataset):
    """The lines of a file, in order; a later line replaces an earlier one of the same key.

    Without a key field, a document's key is its number in the file, from 1, so that equal lines stay two documents.

    Blank lines, CRLF and a byte order mark are no part of a document. A document goes out as the bytes that stand in
    the file.

    Attributes:
        path: The file as the user named it.
        plain: Where its lines are read from: the file itself, or its decompressed copy.
        stamp: Size and time of change of `plain` when it was checked.
        offsets: Where each document's line begins.
        key_hashes: 64 bits of each key's BLAKE2b; two keys of ten million collide with a chance of 3 in a million.
        content_hash: BLAKE2b (128 bits) of the documents, a line feed after each: the same however they are compressed.
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

    name: ClassVar[str] = "file"

    @property
    def documents(self) -> int:  # type: ignore[override]
        """Number of lines that hold a document."""
        return len(self.key_hashes)

    def records(self, numbers: NDArray[np.int64]) -> Sequence[Record]:
        """Key and line of each document."""
        with self._opened() as lines:
            return [self._record_at(lines, int(number)) for number in numbers]

    def latest(self) -> NDArray[np.int64]:
        """Document numbers, ascending, that are the last of their key."""
        backwards = self.key_hashes[::-1]
        _, first_seen = np.unique(backwards, return_index=True)
        return np.sort(self.documents - 1 - first_seen).astype(np.int64)

    def groups(self, numbers: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """A number that all documents of a key share; `None` when no key occurs twice."""
        return self.key_hashes[numbers] if self.keys_repeat else None

    def _opened(self) -> BinaryIO:
        lines = Path(self.plain).open("rb", buffering=COPY_CHUNK_BYTES)  # noqa: SIM115 - closed by the caller
        if _stamp(lines) != self.stamp:
            lines.close()
            raise DatasetError(f"{self.path}: has changed since it was checked; start again")
        return lines

    def _record_at(self, lines: BinaryIO, number: int) -> Record:
        lines.seek(int(self.offsets[number]))
        document = lines.readline().strip()
        if self.key_field is None:
            return _key_bytes(number + 1), document
        return _key_bytes(field_at(orjson.loads(document), self.key_field)), document


def make_file(
    *,
    documents: int | None,
    seed: int,
    path: str,
    key: str | None = None,
    timestamp: str | None = None,
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
) -> FileDocuments:
    """The documents of a file; all of them, or the first so many.

    Reads the whole file once. Memory: 16 bytes per document. A compressed file is decompressed into a temporary file
    without a name, which goes when this process ends.

    Raises:
        DatasetError: The file cannot be read, or a line does not serve: it is named as `file:line`.
    """
    plain = _plain(path)
    offsets, key_hashes = array("q"), array("q")
    content = hashlib.blake2b(digest_size=16)
    with plain.open("rb", buffering=COPY_CHUNK_BYTES) as lines:
        stamp = _stamp(lines)
        for line_number, offset, document in _lines(lines):
            if documents is not None and len(key_hashes) == documents:
                break
            where = f"{path}:{line_number}"
            parsed = parsed_document(where, document)
            if timestamp is not None and field_at(parsed, timestamp) is None:
                raise DatasetError(f"{where}: {timestamp}: the timestamp field is missing")
            found = _key_bytes(len(key_hashes) + 1) if key is None else key_of(where, parsed, key)
            _check_size(where, found, document, max_message_bytes)
            offsets.append(offset)
            content.update(document + b"\n")
            key_hashes.append(int.from_bytes(hashlib.blake2b(found, digest_size=8).digest(), "big", signed=True))
    if not key_hashes:
        raise DatasetError(f"{path}: is empty; expected one JSON object per line")
    if documents is not None and len(key_hashes) < documents:
        raise DatasetError(f"{path}: got {len(key_hashes):,} documents, expected {documents:,}; request fewer, or all")
    hashes = np.array(key_hashes, np.int64)
    keys_repeat = len(np.unique(hashes)) < len(hashes)
    at = np.array(offsets, np.int64)
    return FileDocuments(path, key, str(plain), stamp, at, hashes, seed, keys_repeat, content.hexdigest())


def _lines(lines: Iterable[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Line number, offset and document of every line that is not blank."""
    offset = 0
    for line_number, line in enumerate(lines, 1):
        start = offset
        offset += len(line)
        if line_number == 1 and line.startswith(BYTE_ORDER_MARK):
            start += len(BYTE_ORDER_MARK)
            line = line[len(BYTE_ORDER_MARK) :]  # noqa: PLW2901
        document = line.strip()
        if document:
            yield line_number, start, document


def numbered_documents(path: str) -> Iterator[tuple[int, bytes]]:
    """Line number and bytes of each document of a file, plain or compressed, read no further than asked for.

    Raises:
        DatasetError: The file cannot be read.
    """
    with _readable(path) as content:
        for line_number, _, document in _lines(io.BufferedReader(_uncompressed(content, path), COPY_CHUNK_BYTES)):
            yield line_number, document


def is_plain(path: str) -> bool:
    """Check that a document begins behind each line feed of the file itself."""
    return Path(path).suffix not in COMPRESSED


def parsed_document(where: object, document: bytes) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        DatasetError: It is none; the message begins with `where`.
    """
    try:
        parsed = orjson.loads(document)
    except orjson.JSONDecodeError as error:
        if "UTF-8" in error.msg:
            raise DatasetError(f"{where}: is not UTF-8 text, expected a JSON object") from error
        raise DatasetError(f"{where}: is not JSON at column {error.pos + 1}: {error.msg}") from error
    if not isinstance(parsed, dict):
        kind = JSON_KINDS.get(type(parsed), "null")
        raise DatasetError(f"{where}: got {kind}, expected a JSON object")
    return parsed


def key_of(where: object, parsed: dict[str, Any], key_field: str) -> bytes:
    """The key of a document.

    Raises:
        DatasetError: It has none; the message begins with `where`.
    """
    key = field_at(parsed, key_field)
    if key is None or key == "":
        raise DatasetError(f"{where}: {key_field}: the key field is missing or empty; every document needs one")
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise DatasetError(f"{where}: {key_field}: the key is neither a string nor a whole number")
    return _key_bytes(key)


def _check_size(where: str, key: bytes, document: bytes, max_message_bytes: int) -> None:
    if len(key) > LONGEST_KEY_BYTES:
        raise DatasetError(f"{where}: the key has {len(key)} bytes, Elasticsearch accepts ids of at most 512")
    size = len(key) + len(document) + RECORD_OVERHEAD_BYTES
    if size > max_message_bytes:
        raise DatasetError(
            f"{where}: the record has {size:,} bytes, the broker accepts {max_message_bytes:,}; "
            "raise message.max.bytes of broker, topic and producer, and max_message_bytes here"
        )


LONGEST_KEY_BYTES: Final = 512


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


def _key_bytes(key: object) -> bytes:
    return str(key).encode()


def _stamp(lines: BinaryIO) -> tuple[int, int]:
    status = os.fstat(lines.fileno())
    return status.st_size, status.st_mtime_ns


def _plain(path: str) -> Path:
    """The file, or a decompressed copy of it."""
    source = Path(path)
    with _readable(path) as content:
        return _decompressed(content, source) if source.suffix in COMPRESSED else source.resolve()


@contextlib.contextmanager
def _readable(path: str) -> Iterator[BinaryIO]:
    """The file while it is open; that it cannot be read, or be decompressed, is one sentence."""
    source = Path(path)
    try:
        if source.is_dir():
            raise DatasetError(f"{path}: is a directory, expected a file of one JSON object per line")
        with source.open("rb") as content:
            yield content
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: no such file") from error
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error


def _decompressed(content: BinaryIO, source: Path) -> Path:
    known = source.resolve(), source.stat().st_size, source.stat().st_mtime_ns
    if known in _COPIES:
        return _COPIES[known]
    stream = _uncompressed(content, source.name)
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy, COPY_CHUNK_BYTES)
        copy.flush()
        # Without a name it goes with this process, however that ends; the producers open it by way of this process.
        _COPIES[known] = Path(f"/proc/{os.getpid()}/fd/{os.dup(copy.fileno())}")
        return _COPIES[known]


def _uncompressed(content: BinaryIO, name: str) -> Any:
    """Content of the file of that name, as a stream of bytes."""
    if name.endswith(".gz"):
        return gzip.GzipFile(fileobj=content)
    if name.endswith(".zst"):
        return zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True)
    return content
