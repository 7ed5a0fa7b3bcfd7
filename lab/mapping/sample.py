"""A sample of a file's documents, spread over it where it can be: their fields, and the field that can be their key."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal

from lab.errors import ProfileError
from lab.mapping.fields import BlankNameError, Field
from lab.mapping.keys import candidates, proposed_key
from producers.dataset import DatasetError
from producers.datasets.file import BYTE_ORDER_MARK, COMPRESSED, key_of, numbered_documents, parsed_document

METADATA = frozenset({"_field_names", "_id", "_ignored", "_index", "_nested_path", "_routing", "_source", "_type"})
"""Names of fields that Elasticsearch keeps for itself; it rejects documents that have one."""
MOST_NAMED = 5
FIRST = 1000
MOST_CANDIDATES = 10
"""Of more fields that are unique in the first thousand documents, the likeliest are followed: memory is bounded."""
SPOTS = 100
"""Places of a large file at which as many documents are read; a file that is sorted shows all of its kinds so."""

Extent = Literal["whole", "spread", "first"]


@dataclass(frozen=True)
class Sample:
    """Documents read of a file.

    Attributes:
        documents: How many were read.
        extent: Whether these are all of them, some from all over the file, or the first.
        key: The field that is their key; `None` where there is none.
        repeats: Documents whose key an earlier one has, too.
    """

    path: str
    documents: int
    extent: Extent
    root: Field
    key: str | None
    repeats: int

    @property
    def whole(self) -> bool:
        """Check that every document was read."""
        return self.extent == "whole"

    @property
    def text(self) -> str:
        """Text on the documents read."""
        name, count = Path(self.path).name, f"{self.documents:,} documents"
        if self.documents == 1:
            return f"the {'only' if self.whole else 'first'} document of {name}"
        if self.extent == "spread":
            return f"{count} of {name}, spread over the file"
        return f"{'all' if self.whole else 'the first'} {count} of {name}"


class _Reading:
    """Documents read so far."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.root = Field("")
        self.documents = 0
        self.keys: set[int] = set()
        self.bad: list[str] = []

    def take(self, where: str, line: bytes) -> None:
        """Take note of a document, or of what is wrong with it."""
        try:
            parsed = self.checked(where, line)
            self.root.see_object(parsed, self.documents + 1)
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

    def checked(self, where: str, line: bytes) -> dict[str, Any]:
        """The document of a line that a run would take."""
        parsed = parsed_document(where, line)
        if reserved := METADATA & parsed.keys():
            raise DatasetError(f"{where}: {min(reserved)}: Elasticsearch reserves this name; rename the field")
        if self.key is not None:
            self.keys.add(hash(key_of(where, parsed, self.key)))
        return parsed

    def take_all(self, documents: Iterable[tuple[str, bytes]]) -> None:
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
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        raise ProfileError(
            f"{path}: got a stream, expected a file, which is read more than once; write it to one first"
        )
    try:
        extent = extent_of(path, most)
        reading.take_all(documents_of(path, most, extent))
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    if not reading.documents:
        raise ProfileError(f"{path}: is empty; expected one JSON object per line")
    chosen = key or proposed_key(reading.root, reading.documents)
    repeats = reading.documents - len(reading.keys) if key else 0
    return Sample(path, reading.documents, extent, reading.root, chosen, repeats)


def extent_of(path: str, most: int) -> Extent:
    """Way to sample the file; finding it out reads at most so many documents.

    Raises:
        DatasetError: It cannot be read.
    """
    if sum(1 for _ in islice(numbered_documents(path), most + 1)) <= most:
        return "whole"
    return "first" if Path(path).suffix in COMPRESSED else "spread"


def documents_of(path: str, most: int, extent: Extent) -> Iterator[tuple[str, bytes]]:
    """The documents of a sample, each with its place as a message names it; the same ones each time."""
    if extent == "spread":
        for offset, document in spread_documents(path, most):
            yield f"{path} at byte {offset + 1}", document
        return
    for line_number, document in islice(numbered_documents(path), most):
        yield f"{path}:{line_number}", document


def spread_documents(path: str, most: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of documents from places at even distances in a plain file, at each about as many."""
    size, spots = Path(path).stat().st_size, min(SPOTS, most)
    with Path(path).open("rb") as file:
        for spot in range(spots):
            start, stop = (size * end // spots for end in (spot, spot + 1))
            wanted = most * (spot + 1) // spots - most * spot // spots
            yield from islice(documents_between(file, start, stop), wanted)


def documents_between(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Offset and bytes of each document whose line begins at or after one offset and before another."""
    file.seek(max(0, start - 1))
    if start:
        file.readline()
    while (offset := file.tell()) < stop and (line := file.readline()):
        if document := line.removeprefix(b"" if offset else BYTE_ORDER_MARK).strip():
            yield offset, document
