"""The first documents of a file, read once: their fields, and the field that can be their key."""

from dataclasses import dataclass
from typing import Any

from lab.errors import ProfileError
from lab.init.fields import Field
from lab.init.mapping import candidates, proposed_key
from producers.dataset import DatasetError
from producers.datasets.file import key_of, numbered_documents, parsed_document

METADATA = frozenset({"_field_names", "_id", "_ignored", "_index", "_nested_path", "_routing", "_source", "_type"})
"""Names of fields that Elasticsearch keeps for itself; it rejects documents that have one."""
MOST_NAMED = 5
FIRST = 1000
MOST_CANDIDATES = 10
"""Of more fields that are unique in the first thousand documents, the likeliest are followed: memory is bounded."""


@dataclass(frozen=True)
class Sample:
    """What was read of a file.

    Attributes:
        documents: How many were read.
        whole: Whether these are all of them.
        key: The field that is their key; `None` where there is none.
        repeats: Documents whose key an earlier one has, too.
    """

    path: str
    documents: int
    whole: bool
    root: Field
    key: str | None
    repeats: int


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
        except DatasetError as error:
            self.bad.append(str(error))
            return
        self.documents += 1
        self.root.see_object(parsed, self.documents)
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


def read_sample(path: str, most: int, key: str | None = None) -> Sample:
    """The first documents of a file.

    Args:
        most: How many, at most.
        key: The field that is their key; one is proposed where it is `None`.

    Raises:
        ProfileError: The file cannot be read or holds nothing, or lines do not serve: the first of them are named.
    """
    reading, whole = _Reading(key), True
    try:
        for line_number, line in numbered_documents(path):
            if reading.documents == most or len(reading.bad) == MOST_NAMED:
                whole = False
                break
            reading.take(f"{path}:{line_number}", line)
    except DatasetError as error:
        raise ProfileError(str(error)) from error
    if reading.bad:
        rest = ["(the rest was not read)"] if len(reading.bad) == MOST_NAMED else []
        raise ProfileError("\n  ".join(["a run refuses these lines; correct or remove them:", *reading.bad, *rest]))
    if not reading.documents:
        raise ProfileError(f"{path}: is empty; expected one JSON object per line")
    chosen = key or proposed_key(reading.root, reading.documents)
    repeats = reading.documents - len(reading.keys) if key else 0
    return Sample(path, reading.documents, whole, reading.root, chosen, repeats)
