"""A slice of a topic as a file: one JSON object per line, compressed with zstd; the first one is the header.

The header is a frame of its own, written last, since it counts the records. Bytes that are UTF-8 stand as text, others
as `{"base64": …}`, and what is null in Kafka is null.
"""

import base64
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import orjson
import zstandard

from producers.dataset import DatasetError
from producers.datasets.source.unpack import unpacked

VERSION: Final = 1
BEGINNING: Final = b'{"format":"sluice slice",'
LEVEL: Final = 6
"""Of zstd: twice as fast as a topic is read, and a fifth smaller than by its default."""


class SliceRecord(NamedTuple):
    """A record as the topic held it.

    Attributes:
        timestamp_ms: The record's own, milliseconds since the Unix epoch.
        key: `None` for a record without one.
        value: `None` for a tombstone.
        headers: In order; names may occur more than once.
    """

    timestamp_ms: int
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class SliceWriter:
    """Writes a slice, which is there as a whole once it is finished, or not at all.

    Args:
        path: Where it shall be; nothing may be there.

    Raises:
        FileExistsError: Something is, now or at the end.
    """

    def __init__(self, path: Path) -> None:
        if path.exists():
            raise FileExistsError(path)
        self.path = path
        self.records = self.tombstones = self.null_keys = 0
        self._packed: IO[bytes] = tempfile.TemporaryFile(dir=path.parent)  # noqa: SIM115 - closed by `close`
        self._lines = _compressor().stream_writer(self._packed, closefd=False)

    def add(self, record: SliceRecord) -> None:
        """Add a record; those of a partition in the order of their offsets."""
        self._lines.write(line_of(record))
        self.records += 1
        self.tombstones += record.value is None
        self.null_keys += record.key is None

    def finish(self, about: Mapping[str, object]) -> None:
        """Write the header before the records, and give the file its name.

        Args:
            about: What else the header says: topic, partitions, times, redaction.
        """
        self._lines.close()  # type: ignore[no-untyped-call]
        counts = {"records": self.records, "tombstones": self.tombstones, "null_keys": self.null_keys}
        header = orjson.dumps({"format": "sluice slice", "version": VERSION, **about, **counts}) + b"\n"
        # Of the owner alone, as temporary files are.
        with tempfile.NamedTemporaryFile(dir=self.path.parent, prefix=f".{self.path.name}.") as whole:
            whole.write(_compressor().compress(header))
            self._packed.seek(0)
            shutil.copyfileobj(self._packed, whole)
            whole.flush()
            os.fsync(whole.fileno())
            # A link replaces nothing, as a renaming would.
            os.link(whole.name, self.path)

    def close(self) -> None:
        """Let go of the temporary file."""
        self._packed.close()


def line_of(record: SliceRecord) -> bytes:
    """A record as a line of the file."""
    headers = [[name, _text(value)] for name, value in record.headers]
    named = record._asdict() | {"key": _text(record.key), "value": _text(record.value), "headers": headers}
    return orjson.dumps(named) + b"\n"


def record_in(line: bytes) -> SliceRecord:
    """The record of a line; raises ValueError if it is none, or KeyError, or TypeError."""
    named = orjson.loads(line)
    headers = tuple((str(name), _bytes(value)) for name, value in named["headers"])
    timestamp_ms, partition, offset = (int(named[name]) for name in ("timestamp_ms", "partition", "offset"))
    return SliceRecord(timestamp_ms, partition, offset, _bytes(named["key"]), _bytes(named["value"]), headers)


def is_slice_head(head: bytes) -> bool:
    """Check that a file's content begins as a slice does."""
    return head.startswith(BEGINNING)


def slice_header(path: str) -> dict[str, Any] | None:
    """The header of a slice; `None` for another file.

    Raises:
        DatasetError: The file cannot be read, or is of another version.
    """
    if not Path(path).is_file():
        return None
    with unpacked(path) as content:
        return header_in(path, content.head) if is_slice_head(content.head) else None


def header_in(path: str, head: bytes) -> dict[str, Any]:
    """The header of a slice, of which these are the first bytes.

    Raises:
        DatasetError: It is cut off, or of another version.
    """
    try:
        header: dict[str, Any] = orjson.loads(head.partition(b"\n")[0])
    except orjson.JSONDecodeError as error:
        raise DatasetError(f"{path}:1: the header of the slice is cut off; capture it again") from error
    if header.get("version") != VERSION:
        raise DatasetError(f"{path}: got version {header.get('version')} of a slice, expected {VERSION}")
    return header


def slice_lines(path: str) -> Iterator[tuple[int, bytes, SliceRecord]]:
    """Line number, line and record of each record of a slice; raises DatasetError if the file is cut off or damaged."""
    with unpacked(path) as content:
        due = header_in(path, content.head)["records"]
        number = 1
        for number, line in enumerate(content.stream, 1):
            if number == 1:
                continue
            try:
                record = record_in(line)
            except (ValueError, KeyError, TypeError) as error:
                raise DatasetError(f"{path}:{number}: is no record of a slice; the file is damaged") from error
            yield number, line, record
    if number - 1 != due:
        raise DatasetError(f"{path}: got {number - 1:,} records, expected {due:,} as its header says; it is cut off")


def _compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)


def _text(content: bytes | None) -> str | dict[str, str] | None:
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _bytes(written: str | dict[str, str] | None) -> bytes | None:
    if isinstance(written, dict):
        return base64.b64decode(written["base64"], validate=True)
    return None if written is None else written.encode()
