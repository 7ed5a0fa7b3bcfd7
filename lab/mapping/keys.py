"""The key of a file's documents: the field that is unique in all of them and most likely means to be."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.mapping.fields import Field
from lab.mapping.names import KEY_NAMES, key_rank
from lab.mapping.types import LEAST_TO_TRUST, of_strings
from producers.datasets.file import field_at


def candidates(root: Field, documents: int) -> list[Field]:
    """Fields that every document has had with a value of its own, the likeliest key first."""
    unique = [leaf for leaf in root.leaves() if leaf.is_unique(documents)]
    return sorted(unique, key=lambda leaf: (key_rank(leaf.name) > len(KEY_NAMES), leaf.depth, key_rank(leaf.name)))


def proposed_keys(root: Field, documents: int) -> list[str]:
    """Fields that look like a key, by their names or, in enough documents, by their values; the likeliest first."""
    return [leaf.name for leaf in candidates(root, documents) if looks_like_a_key(leaf, documents)]


def looks_like_a_key(leaf: Field, documents: int) -> bool:
    """Check that the name of a unique field, or the look of its many values, is that of a key."""
    is_word = leaf.kinds == {"string"} and of_strings(leaf.strings).declaration == {"type": "keyword"}
    return key_rank(leaf.name) <= len(KEY_NAMES) or (documents >= LEAST_TO_TRUST and is_word)


@dataclass(frozen=True)
class Uniqueness:
    """Result of reading every document of a file for fields that may be its key.

    Attributes:
        documents: Number of documents of the file.
        repeats: Field → documents with a value that an earlier one has, too; without the fields that a document lacks.
    """

    documents: int
    repeats: dict[str, int]


class KeyCounts:
    """Values of fields that may be the key, 8 bytes of memory for each field of each document."""

    def __init__(self, names: Sequence[str]) -> None:
        self.hashes = {name: array("q") for name in names}
        self.documents = 0

    def see(self, document: object) -> None:
        """Take note of a document's values; a field that it lacks, or that is no id, is no longer followed."""
        self.documents += 1
        for name in tuple(self.hashes):
            value = field_at(document, name)
            if value in (None, "") or not isinstance(value, str | int) or isinstance(value, bool):
                del self.hashes[name]
            else:
                self.hashes[name].append(hash(str(value)))

    @property
    def result(self) -> Uniqueness:
        """Count the repeated values of each field that every document has."""
        repeats = {name: len(of) - len(np.unique(np.array(of, np.int64))) for name, of in self.hashes.items()}
        return Uniqueness(self.documents, repeats)
