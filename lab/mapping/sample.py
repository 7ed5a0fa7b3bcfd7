"""A sample of a file's documents, spread over it where it can be: their fields, and the field that can be their key."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from lab.errors import ProfileError
from lab.mapping.fields import BlankNameError, Field, Origin
from lab.mapping.keys import KeyCounts, Uniqueness, candidates, proposed_keys
from producers.dataset import DatasetError
from producers.datasets.file import id_of, key_of
from producers.datasets.source.document import Document, parsed_document, refuse_search_answer
from producers.datasets.source.extended import rewritten
from producers.datasets.source.json_text import BYTE_ORDER_MARK
from producers.datasets.source.read import documents_of as all_documents
from producers.datasets.source.read import is_plain

METADATA = frozenset({
    "_data_stream_timestamp", "_doc_count", "_field_names", "_id", "_ignored", "_ignored_source", "_index",
    "_nested_path", "_primary_term", "_routing", "_seq_no", "_source", "_tier", "_type", "_version",
})  # fmt: skip
"""Names of fields that Elasticsearch keeps for itself; it rejects documents that have one."""
MOST_NAMED = 5
FIRST = 1000
MOST_CANDIDATES = 10
"""Of more fields that are unique in the first thousand documents, the likeliest are followed: memory is bounded."""
SPOTS = 100
"""Places of a large file at which as many documents are read; a file that is sorted shows all of its kinds so."""
KEPT_BYTES = 64 << 20
"""Documents that a sample keeps in memory while a file is read that has no offsets, such as a compressed one."""
MOST_KEYS = 3
"""Of more fields that may be the key, the likeliest are read to the end of the file."""
CHECKED_BYTES = 1 << 30
"""Of a larger file, keys are not read to the end: parsing takes some 10 s per GB."""

Extent = Literal["whole", "spread"]


@dataclass(frozen=True)
class Sample:
    """Documents read of a file.

    Attributes:
        documents: How many were read.
        extent: All of them, or some from all over the file.
        key: The field that is their key; `None` where there is none.
        repeats: Documents whose key an earlier one has, too: of the whole file where `total` is known.
        total: Documents of the file; `None` where it is too large to read all keys.
        has_ids: True where the file gives each document an id beside its fields, as a bulk file does.
    """

    path: str
    documents: int
    extent: Extent
    root: Field
    key: str | None
    repeats: int
    total: int | None
    has_ids: bool = False

    @property
    def whole(self) -> bool:
        """Check that every document was read."""
        return self.extent == "whole"

    @property
    def text(self) -> str:
        """Text on the documents read."""
        return text_on(self.path, self.documents, self.extent)


def text_on(path: str, documents: int, extent: Extent) -> str:
    """Text on so many documents read of a file."""
    name, count, whole = Path(path).name, f"{documents:,} documents", extent == "whole"
    if documents == 1:
        return f"the only document of {name}" if whole else f"one document of {name}"
    return f"all {count} of {name}" if whole else f"{count} of {name}, spread over the file"


class _Reading:
    """Documents read so far."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.root = Field("")
        self.documents = 0
        self.counts = KeyCounts([] if key is None else [key])
        self.bad: list[str] = []

    def take(self, where: object, line: bytes) -> None:
        """Take note of a document, or of what is wrong with it."""
        try:
            parsed = self.checked(where, line)
            self.root.see_object(parsed, Origin(self.documents + 1, where))
        except BlankNameError as error:
            name = str(error)
            self.bad.append(f'{where}: "{name}": Elasticsearch takes no field without a name; rename it')
            return
        except DatasetError as error:
            self.bad.append(str(error))
            return
        except RecursionError:
            self.bad.append(f"{where}: arrays in arrays, too deep for a mapping")
            return
        self.documents += 1
        if self.documents == FIRST:
            for leaf in candidates(self.root, FIRST)[MOST_CANDIDATES:]:
                leaf.keys = None

    def checked(self, where: object, line: bytes) -> dict[str, Any]:
        """The document of a line that a run would take."""
        parsed = parsed_document(where, line)
        refuse_search_answer(where, parsed)
        if reserved := METADATA & parsed.keys():
            raise DatasetError(f"{where}: {min(reserved)}: Elasticsearch reserves this name; rename the field")
        if self.key is not None:
            key_of(where, parsed, self.key)
            self.counts.see(parsed)
        return parsed

    def take_all(self, documents: Iterable[tuple[object, bytes]]) -> None:
        """Take note of documents until too many of them are bad.

        Raises:
            ProfileError: Some of them do not serve; the first are named.
        """
        for where, line in documents:
            self.take(where, line)
            if len(self.bad) == MOST_NAMED:
                break
        if self.bad:
            rest = ["(the rest was not read)"] if len(self.bad) == MOST_NAMED else []
            raise ProfileError("\n  ".join(["a run refuses these lines; correct or remove them:", *self.bad, *rest]))


def read_sample(path: str, most: int, key: str | None = None) -> Sample:
    """A sample of a file's documents: all, if there are no more than wanted.

    Args:
        most: How many, at most.
        key: The field that is their key; one is proposed where it is `None`.

    Raises:
        ProfileError: The file cannot be read or holds nothing, or lines do not serve: the first of them are named.
    """
    reading = _Reading(key)
    refuse_stream(path)
    try:
        extent = extent_of(path, most, has_key=key is not None)
        reading.take_all(documents_of(path, most, extent))
        if not reading.documents:
            raise ProfileError(f"{path}: is empty, expected documents")
        has_ids = any(document.id is not None for document in islice(all_documents(path), 1))
        proposed = [] if has_ids else proposed_keys(reading.root, reading.documents)[:MOST_KEYS]
        names = proposed if key is None else [key]
        read = reading.counts.result if extent == "whole" and key else uniqueness(path, names, key)
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    total = reading.documents if extent == "whole" else read.documents if read else None
    unique = [name for name in names if read is None or read.repeats.get(name) == 0]
    found = key or next(iter(unique), None)
    repeats = (read or reading.counts.result).repeats.get(found, 0) if found else 0
    return Sample(path, reading.documents, extent, reading.root, found, repeats, total, has_ids and key is None)


def refuse_stream(path: str) -> None:
    """Raise ProfileError if the path is that of a pipe or a device."""
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ProfileError(
            f"{path}: got a stream, expected a file, which is read more than once; write it to one first"
        )


def opened(path: str, most: int) -> Extent:
    """Way to sample a file of documents.

    Raises:
        ProfileError: It cannot be read, or holds none.
    """
    refuse_stream(path)
    try:
        extent = extent_of(path, most)
        is_empty = extent == "whole" and next(all_documents(path), None) is None
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    if is_empty:
        raise ProfileError(f"{path}: is empty, expected documents")
    return extent


def documents_taken(path: str, most: int, extent: Extent) -> Iterator[tuple[object, bytes]]:
    """The documents of a sample, as `documents_of` gives them.

    Raises:
        ProfileError: A run refuses one of them before it is sent.
    """
    reading = _Reading(None)
    try:
        for where, line in documents_of(path, most, extent):
            reading.checked(where, line)
            yield where, line
    except DatasetError as error:
        raise ProfileError(str(error)) from error


def uniqueness(path: str, names: Sequence[str], key: str | None) -> Uniqueness | None:
    """Read all keys of a file; `None` where it is too large for that, or nothing may be its key.

    Args:
        names: Fields that may be the key.
        key: The field that every document must have, since the user named it.

    Raises:
        DatasetError: The file cannot be read to its end, or a document does not serve.
    """
    if not names or (is_plain(path) and Path(path).stat().st_size > CHECKED_BYTES):
        return None
    counts, size = KeyCounts(names), 0
    for document in all_documents(path):
        size += len(document.text)
        if size > CHECKED_BYTES:
            return None
        parsed = parsed_document(document.place, document.text)
        if key is not None:
            key_of(document.place, parsed, key)
        counts.see(parsed)
    return counts.result


def extent_of(path: str, most: int, *, has_key: bool = True) -> Extent:
    """Way to sample the file; finding it out reads at most so many documents.

    Args:
        has_key: Whether a field is the key, so that ids of the file do not matter.

    Raises:
        DatasetError: It cannot be read, or gives some of them an id, or one that does not serve.
    """
    first, count = None, 0
    for count, document in enumerate(islice(all_documents(path), most + 1), 1):  # noqa: B007 - counted
        first = first or document
        if not has_key and (document.id is not None or first.id is not None):
            id_of(document, first)
    return "whole" if count <= most else "spread"


@dataclass(frozen=True)
class Place:
    """Place of a document in a plain file, which is counted as a line only for a message.

    Attributes:
        offset: Of the line's first byte.
    """

    path: str
    offset: int

    def __str__(self) -> str:
        """The file and the number of the line, from 1."""
        line, left = 1, self.offset
        with Path(self.path).open("rb") as file:
            while left and (chunk := file.read(min(left, 1 << 20))):
                line, left = line + chunk.count(b"\n"), left - len(chunk)
        return f"{self.path}:{line}"


def documents_of(path: str, most: int, extent: Extent) -> Iterator[tuple[object, bytes]]:
    """The documents of a sample, each with its place as a message names it; the same ones each time."""
    placed: Iterator[tuple[object, bytes]] = ((document.place, document.text) for document in all_documents(path))
    if extent == "whole":
        return placed
    # Where a few documents are most of a file, places at even distances in it are within those.
    if is_plain(path) and 2 * sum(1 for _ in spread_documents(path, most)) >= most:
        return ((Place(path, offset), sent(path, offset, line)) for offset, line in spread_documents(path, most))
    return spread_blocks(placed, most)


def sent(path: str, offset: int, line: bytes) -> bytes:
    """The document of a line as a run sends it; an `_id` or a `$date` may come late in a plain file.

    Raises:
        DatasetError: It cannot be written anew.
    """
    try:
        return rewritten(Document("", line)).text
    except DatasetError:
        return rewritten(Document(str(Place(path, offset)), line)).text


def spread_blocks(documents: Iterable[tuple[object, bytes]], most: int) -> Iterator[tuple[object, bytes]]:
    """Place and bytes of documents in blocks at even distances: at most so many, and at least half of them.

    Fewer where they are large: `KEPT_BYTES` bounds what is kept. Blocks are thinned, each second one, as more come.
    """
    most_blocks = max(2, min(2 * SPOTS, most))
    length, stride, size = max(1, most // most_blocks), 1, 0
    blocks: list[list[tuple[object, bytes]]] = []
    for count, (where, document) in enumerate(documents):
        block, place = divmod(count, length)
        if block % stride:
            continue
        if not place:
            while len(blocks) == most_blocks or (size > KEPT_BYTES and len(blocks) > 1):
                blocks, stride = blocks[::2], 2 * stride
                size = sum(len(kept) for each in blocks for _, kept in each)
            if block % stride:
                continue
            blocks.append([])
        blocks[-1].append((where, document))
        size += len(document)
    return islice(chain.from_iterable(blocks), most)


def spread_documents(path: str, most: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of documents from places at even distances in a plain file, at each about as many.

    No byte is read twice: a place within a long line that has been passed holds no document.
    """
    size, spots, reached = Path(path).stat().st_size, min(SPOTS, most), 0
    with Path(path).open("rb") as file:
        for spot in range(spots):
            start, stop = (size * end // spots for end in (spot, spot + 1))
            if reached >= stop:
                continue
            wanted = most * (spot + 1) // spots - most * spot // spots
            yield from islice(documents_between(file, max(start, reached), stop), wanted)
            reached = file.tell()


def documents_between(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each document whose line begins at or after one offset and before another."""
    file.seek(max(0, start - 1))
    if start:
        file.readline()
    while (offset := file.tell()) < stop and (line := file.readline()):
        if document := line.removeprefix(BYTE_ORDER_MARK).strip():
            yield offset, document
