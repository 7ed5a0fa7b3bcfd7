"""The documents of a file, a folder, a pattern or a track, in any form."""

import glob
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from producers.dataset import DatasetError
from producers.datasets.source.bulk import action_in, without_actions
from producers.datasets.source.corpora import corpus_files, track_in
from producers.datasets.source.document import Document
from producers.datasets.source.extended import rewritten
from producers.datasets.source.json_text import first_line, is_document, json_documents
from producers.datasets.source.slice import is_slice_head, slice_lines
from producers.datasets.source.tables import PARQUET, csv_documents, parquet_documents, separator_of
from producers.datasets.source.unpack import unpacked
from producers.datasets.source.unreadable import refuse_unreadable
from producers.json_values import loaded

LOOKED_AT: Final = 1000
"""Lines from which a form is told."""


def documents_of(path: str) -> Iterator[Document]:
    """The documents of a file, or of all files of a directory or a pattern, read no further than asked for.

    Raises:
        DatasetError: A file cannot be read, or holds something else than documents.
    """
    if track := track_in(path):
        for file, due in corpus_files(track):
            found = 0
            for found, document in enumerate(_documents_in(file), 1):  # noqa: B007 - counted
                yield document
            if found != due:
                raise DatasetError(f"{file}: got {found:,} documents, expected {due:,} as {track.file} says")
        return
    for file in files_of(path):
        yield from _documents_in(file)


def files_of(path: str) -> list[str]:
    """The files that a path stands for: itself, those in a directory or of a pattern, sorted, or a track's corpora.

    Files and folders whose names begin with `.` or `_` are left out: marks of programs that wrote the others.

    Raises:
        DatasetError: There are none, or a link among them leads to no file.
    """
    if not path:
        raise DatasetError("path: is empty, expected a file, a folder or a pattern")
    if track := track_in(path):
        return [file.path for file in corpus_files(track)]
    if Path(path).is_dir():
        below = (file.relative_to(path).parts for file in Path(path).rglob("*"))
        named = [str(Path(path, *parts)) for parts in below if not any(part[0] in "._" for part in parts)]
        _refuse_links(link for link in named if Path(link).is_symlink() and not Path(link).is_file())
    elif not Path(path).exists() and glob.has_magic(path):
        matches = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        named = [file for file in matches if Path(file).name[:1] not in {".", "_"}]
        _refuse_links(link for link in named if not Path(link).exists())
    else:
        return [path]
    files = sorted(file for file in named if Path(file).is_file())
    if not files:
        has = "has" if Path(path).is_dir() else "matches"
        raise DatasetError(f"{path}: {has} no files, expected at least one")
    return files


def _refuse_links(links: Iterable[str]) -> None:
    if link := min(links, default=None):
        got = "a link to a folder" if Path(link).exists() else "a link to nothing"
        raise DatasetError(f"{link}: got {got}, expected files; remove it, or name the files by a pattern")


def is_plain(path: str) -> bool:
    """Check that a document begins behind each line feed of the file itself, and stands there as it is sent.

    Raises:
        DatasetError: The file cannot be read.
    """
    if files_of(path) != [path]:
        return False
    with unpacked(path) as content:
        if not content.as_it_stands or is_slice_head(content.head):
            return False
        _, first = first_line(content.stream)
        lines = (line.strip() for line in (first, *islice(content.stream, LOOKED_AT)))
        return is_document(first) and not any(
            needs_rewriting(line, loaded(line)) for line in lines if line and is_document(line)
        )


def needs_rewriting(text: bytes, parsed: object) -> bool:
    """Check that a line is not sent as it stands: it is an action of the bulk format, or holds more than fields."""
    if not isinstance(parsed, dict) or (b"$" not in text and "_id" not in parsed and len(parsed) != 1):
        return False
    try:
        return action_in(text) is not None or rewritten(line := Document("", text)) is not line
    except DatasetError:
        return True


def _documents_in(path: str) -> Iterator[Document]:
    with unpacked(path) as content:
        if is_slice_head(content.head):
            yield from _documents_of_slice(path)
            return
        refuse_unreadable(path, content.head, is_packed=not content.as_it_stands)
        if PARQUET.match(content.head):
            if not content.as_it_stands:
                raise DatasetError(f"{path}: got compressed Parquet, expected Parquet itself; decompress it first")
            yield from map(rewritten, parquet_documents(path))
            return
        if separator := _separator_in(path, content.head):
            yield from map(rewritten, csv_documents(path, separator))
            return
        yield from map(rewritten, without_actions(json_documents(content.stream, path)))


def _documents_of_slice(path: str) -> Iterator[Document]:
    """The records of a slice that are JSON objects, with their keys as ids."""
    for number, _, record in slice_lines(path):
        if record.value is not None and is_document(record.value) and record.value.lstrip()[:1] == b"{":
            key = None if record.key is None else record.key.decode(errors="replace")
            yield Document(f"{path}:{number}", record.value, key)


def _separator_in(path: str, head: bytes) -> str | None:
    """The character between the columns of a table; `None` for any other text."""
    first = next((line for line in head.splitlines(keepends=True) if line.strip()), b"")
    return None if first.lstrip(b"\x1e, \t")[:1] in {b"{", b"["} or is_document(first) else separator_of(path, head)
