"""Temporary copies of documents, one per line, for files that do not have them so."""

import os
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final

import orjson

from producers.dataset import DatasetError
from producers.datasets.source.document import Document
from producers.datasets.source.read import documents_of, files_of
from producers.datasets.source.unpack import readable

_COPIES: Final[dict[tuple[tuple[str, int, int], ...], tuple[Path, int | None]]] = {}
"""Copies of this process by files, sizes and times of change, and their most documents: variants share one."""


def copy_of(path: str, documents: int | None) -> Path:
    """A copy of the documents of a file, or of the first so many; it has no name and goes when this process ends.

    Raises:
        DatasetError: The file cannot be read, or the copy has no room.
    """
    known = tuple(_stamp(file) for file in files_of(path))
    if known in _COPIES:
        copy, most = _COPIES[known]
        if most is None or (documents is not None and documents <= most):
            return copy
    try:
        with tempfile.TemporaryFile() as file:
            file.writelines(map(_line, islice(documents_of(path), documents)))
            file.flush()
            # Without a name it goes with this process, however that ends; the producers open it by way of this process.
            copy = Path(f"/proc/{os.getpid()}/fd/{os.dup(file.fileno())}")
    except OSError as error:
        raise DatasetError(
            f"{path}: its temporary copy in {tempfile.gettempdir()} cannot be written: {error.strerror}; "
            "free some room, or name another folder in TMPDIR"
        ) from error
    _COPIES[known] = copy, documents
    return copy


def document_in(line: bytes) -> Document:
    """The document of a line of a copy."""
    beside, _, text = line.partition(b"\t")
    place, *named = orjson.loads(beside)
    return Document(place, text.rstrip(b"\n"), *named)


def text_in(line: bytes) -> bytes:
    """The JSON of the document of a line of a copy."""
    return line.partition(b"\t")[2].rstrip(b"\n")


def _line(document: Document) -> bytes:
    place, text, *named = document
    return orjson.dumps([place, *named]) + b"\t" + text + b"\n"


def _stamp(path: str) -> tuple[str, int, int]:
    with readable(path) as file:
        status = os.fstat(file.fileno())
    return str(Path(path).resolve()), status.st_size, status.st_mtime_ns
