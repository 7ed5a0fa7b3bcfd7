"""JSON objects of a text: one per line, in an array, pretty-printed, or one behind the other."""

import re
import shlex
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO, Final

import orjson

from producers.dataset import DatasetError
from producers.datasets.source.document import Document, kind_of
from producers.datasets.source.unpack import CHUNK_BYTES
from producers.json_values import loaded

LONGEST_LINE_BYTES: Final = 1 << 24
"""A longer first line is no document by itself, but holds many."""
LARGEST_OBJECT_BYTES: Final = 100 << 20
"""Elasticsearch takes no larger request (`http.max_content_length`); a file with a brace too many ends here."""

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
BETWEEN: Final = re.compile(rb"(?:[\s,\x1e]|\xef\xbb\xbf)*")
"""White space and commas, the separator of RFC 7464, and the marks of files that were joined."""
TOKEN: Final = re.compile(rb'"(?:[^"\\\r\n]++|\\[^\r\n])*+"|[{}\[\]"]')
"""A string as a whole, else a bracket; a quotation mark alone begins a string that does not end yet."""
NO_JSON: Final = "text that is no JSON"
AS_LINES: Final = "jq -cR '{{message: .}}' {path} > documents.ndjson"
IN_STRING: Final = re.compile(rb'(?:[^"\\\r\n]++|\\[^\r\n])*+')


def json_documents(stream: BinaryIO, path: str) -> Iterator[Document]:
    """The JSON objects of a text, one at a time in memory.

    Lines are documents if the first one is a JSON value by itself.

    Raises:
        DatasetError: Something else than JSON objects stands there.
    """
    number, first = first_line(stream)
    if is_document(first):
        for line_number, line in enumerate(chain([first], stream), number):
            if text := line.strip().removeprefix(BYTE_ORDER_MARK):
                yield Document(f"{path}:{line_number}", text)
        return
    yield from _Scan(chain([first], iter(lambda: stream.read(CHUNK_BYTES), b"")), path, number).documents()


def first_line(stream: BinaryIO) -> tuple[int, bytes]:
    """Number and bytes of the first line that is not blank, cut off after 16 MiB."""
    number = 1
    while (line := stream.readline(LONGEST_LINE_BYTES)) and not line.strip():
        number += line.endswith(b"\n")
    return number, line


def is_document(line: bytes) -> bool:
    """Check that a line is a JSON value by itself, and no array of documents."""
    try:
        return not isinstance(loaded(line), list)
    except orjson.JSONDecodeError:
        return False


class _Scan:
    """Search for the ends of top-level objects, whose bytes are kept but for line ends between their tokens."""

    def __init__(self, chunks: Iterator[bytes], path: str, line: int) -> None:
        self._chunks = chunks
        self._path = path
        self._line = line
        self._buffer = b""
        self._at = 0
        self._in_array = False

    def documents(self) -> Iterator[Document]:
        """Each object with the line on which it begins."""
        is_first = True
        while self._skip():
            bracket = self._buffer[self._at : self._at + 1]
            if bracket == (b"]" if self._in_array else b"["):
                self._in_array = not self._in_array
                self._at += 1
            elif bracket == b"{":
                place = self._place
                yield Document(place, self._object().replace(b"\r", b" ").replace(b"\n", b" "))
                is_first = False
            else:
                kind = self._kind()
                lines = f"; if its lines are to be documents, {AS_LINES.format(path=shlex.quote(self._path))}"
                hint = lines if is_first and kind == NO_JSON else ""
                raise DatasetError(f"{self._place}: got {kind}, expected a JSON object{hint}")
        if self._in_array:
            raise DatasetError(f"{self._path}: its array does not end; the file is cut off")

    @property
    def _place(self) -> str:
        return f"{self._path}:{self._line}"

    def _more(self) -> bool:
        chunk = next(self._chunks, b"")
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _skip(self) -> bool:
        """Go on to the next byte of a value; false at the end."""
        while True:
            end = BETWEEN.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            self._line += self._buffer.count(b"\n", self._at, end)
            self._at = end
            if end < len(self._buffer):
                return True
            if not self._more():
                return False

    def _object(self) -> bytes:
        depth, seen = 0, self._at
        while True:
            for token in TOKEN.finditer(self._buffer, seen):
                first = token[0]
                if first in b"{[":
                    depth += 1
                elif first in b"}]":
                    depth -= 1
                    if not depth:
                        return self._taken(token.end())
                elif first == b'"':
                    seen = self._string_end(token.end())
                    break
            else:
                seen = self._read_on(len(self._buffer))

    def _string_end(self, seen: int) -> int:
        """Place behind a string that does not end in the buffer; each byte of it is looked at once."""
        while True:
            seen = IN_STRING.match(self._buffer, seen).end()  # type: ignore[union-attr]
            if self._buffer[seen : seen + 1] == b'"':
                return seen + 1
            self._refuse_line_end(seen)
            seen = self._read_on(seen)

    def _read_on(self, seen: int) -> int:
        """Read more of an object; the place in the buffer where it goes on."""
        seen -= self._at
        if not self._more():
            raise DatasetError(f"{self._place}: the JSON object that begins here does not end")
        if len(self._buffer) > LARGEST_OBJECT_BYTES:
            raise DatasetError(
                f"{self._place}: the JSON object that begins here does not end within {LARGEST_OBJECT_BYTES >> 20} MiB"
            )
        return seen

    def _taken(self, end: int) -> bytes:
        text = self._buffer[self._at : end]
        self._line += text.count(b"\n")
        self._at = end
        return text

    def _refuse_line_end(self, end: int) -> None:
        """Refuse a string whose part up to here is followed by the end of a line, or by a backslash and that."""
        if self._buffer[end : end + 2].lstrip(b"\\")[:1] in {b"\r", b"\n"}:
            line = self._line + self._buffer.count(b"\n", self._at, end)
            raise DatasetError(f"{self._path}:{line}: is not JSON: a string does not end on its line")

    def _kind(self) -> str:
        value = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^\s,\]\[{}"]+|.', re.DOTALL).match(self._buffer, self._at)
        try:
            return "an array in an array" if value[0] == b"[" else kind_of(loaded(value[0]))  # type: ignore[index]
        except orjson.JSONDecodeError:
            return NO_JSON
