"""The bytes of a file: decompressed, and as UTF-8, by what the file begins with."""

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeVar, cast

import zstandard

from producers.dataset import DatasetError

T = TypeVar("T")
Decompressor = bz2.BZ2Decompressor | lzma.LZMADecompressor
CHUNK_BYTES: Final = 1 << 20
HEAD_BYTES: Final = 1 << 16
FRAME_CHUNK_BYTES: Final = 1 << 13
"""Compressed bytes at a time: of the most compressible text, these are 256 MB."""
LARGEST_WINDOW_BYTES: Final = 1 << 31
"""Of `zstd --long=31`; the library refuses more than 128 MB unless told otherwise."""


class _Pieces(io.RawIOBase):
    """Bytes that come in pieces, as a stream."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._rest = memoryview(piece)
        size = min(len(buffer), len(self._rest))
        buffer[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size


def _frames(stream: BinaryIO) -> Iterator[bytes]:
    """The pieces of a file of several frames; the library's own reader ends without a word where a frame is cut off."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW_BYTES)
    frame = decompressor.decompressobj()
    begun = False
    while packed := stream.read(FRAME_CHUNK_BYTES):
        while packed:
            yield frame.decompress(packed)
            begun, packed = not frame.eof, frame.unused_data
            if frame.eof:
                frame = decompressor.decompressobj()
    if begun:
        raise EOFError("the compressed file is cut off")


def _streams(stream: BinaryIO, new: Callable[[], Decompressor], *, is_padded: bool = False) -> Iterator[bytes]:
    """The pieces of a file of several streams; Python's own readers take a damaged later one for the end of the file.

    Source: The .xz File Format 1.2.1, 2.2: streams may be padded with zeros, whose number is a multiple of four.
    """
    packed, padding = b"", 0
    while packed := packed or stream.read(HEAD_BYTES):
        rest = packed.lstrip(b"\x00") if is_padded else packed
        padding += len(packed) - len(rest)
        packed = rest
        if not packed:
            continue
        if padding % 4:
            break
        padding, decompressor = 0, new()
        while not decompressor.eof:
            if decompressor.needs_input and not (packed := packed or stream.read(HEAD_BYTES)):
                raise EOFError("the compressed file is cut off")
            try:
                yield decompressor.decompress(packed, CHUNK_BYTES)
            except (OSError, lzma.LZMAError) as error:
                raise EOFError(f"damaged, or followed by something else: {error}") from error
            packed = b""
        packed = decompressor.unused_data
    if padding % 4:
        raise EOFError("damaged: zeros between its streams are no multiple of four")


CODECS: Final[Mapping[bytes, Callable[[BinaryIO], io.IOBase]]] = {
    rb"\x1f\x8b\x08": lambda stream: gzip.GzipFile(fileobj=stream),
    rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18": lambda stream: _Pieces(_frames(stream)),
    rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)": lambda stream: _Pieces(_streams(stream, bz2.BZ2Decompressor)),
    rb"\xfd7zXZ\x00": lambda stream: _Pieces(_streams(stream, lzma.LZMADecompressor, is_padded=True)),
}
"""Beginning of a compressed file → its reader, for files of several members, frames or streams, too."""

ENCODINGS: Final[Mapping[bytes, str]] = {
    rb"\xef\xbb\xbf": "utf-8-sig",
    rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff": "utf-32",
    rb"\xff\xfe|\xfe\xff": "utf-16",
    rb"[\[{\"\w]\x00[^\x00]\x00": "utf-16-le",
    rb"\x00[\[{\"\w]\x00[^\x00]": "utf-16-be",
}
"""Beginning of a text → its encoding, by its mark, or by the zeros beside its first letter."""


class Unpacked(NamedTuple):
    """The content of a file.

    Attributes:
        head: Its first bytes, which `stream` holds, too.
        as_it_stands: True where these are the bytes of the file itself.
    """

    head: bytes
    stream: BinaryIO
    as_it_stands: bool


@contextlib.contextmanager
def unpacked(path: str) -> Iterator[Unpacked]:
    """The content of a file while it is open; a mark at its beginning is left out.

    Raises:
        DatasetError: It cannot be read or be decompressed, now or later.
    """
    with readable(path) as file:
        stream, as_it_stands = file, True
        head = stream.read(HEAD_BYTES)
        while codec := _first_match(CODECS, head):
            stream, as_it_stands = _buffered(codec(_joined(head, stream))), False
            head = stream.read(HEAD_BYTES)
        if encoding := _first_match(ENCODINGS, head):
            as_it_stands &= encoding == "utf-8-sig"
            texts = codecs.iterdecode(_chunks(head, stream), encoding)
            stream = _buffered(_Pieces(text.encode() for text in texts))
            head = stream.read(HEAD_BYTES)
        yield Unpacked(head, _joined(head, stream), as_it_stands)


@contextlib.contextmanager
def readable(path: str) -> Iterator[BinaryIO]:
    """A file while it is open; an error of reading or decompressing it is one sentence."""
    if Path(path).exists() and not Path(path).is_file():
        raise DatasetError(
            f"{path}: got a stream, expected a file, which is read more than once; write it to one first"
        )
    try:
        with Path(path).open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise DatasetError(f"{path}: no such file") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, UnicodeError) as error:
        raise DatasetError(f"{path}: cannot be read: {error}") from error


def _first_match(of: Mapping[bytes, T], head: bytes) -> T | None:
    return next((value for pattern, value in of.items() if re.match(pattern, head, re.DOTALL)), None)


def _buffered(stream: object) -> BinaryIO:
    return io.BufferedReader(cast(io.RawIOBase, stream), CHUNK_BYTES)


def _chunks(head: bytes, stream: BinaryIO) -> Iterator[bytes]:
    return chain([head], iter(lambda: stream.read(CHUNK_BYTES), b""))


def _joined(head: bytes, stream: BinaryIO) -> BinaryIO:
    return _buffered(_Pieces(_chunks(head, stream)))
