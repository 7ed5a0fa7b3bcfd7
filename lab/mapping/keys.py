"""The key of a sample's documents: the field that is unique in all of them and most likely means to be."""

from lab.mapping.fields import Field
from lab.mapping.names import KEY_NAMES, key_rank
from lab.mapping.types import LEAST_TO_TRUST, of_strings


def candidates(root: Field, documents: int) -> list[Field]:
    """Fields that every document has had with a value of its own, the likeliest key first."""
    unique = [leaf for leaf in root.leaves() if leaf.is_unique(documents)]
    return sorted(unique, key=lambda leaf: (key_rank(leaf.name) > len(KEY_NAMES), leaf.depth, key_rank(leaf.name)))


def proposed_key(root: Field, documents: int) -> str | None:
    """The likeliest key; `None` where no field looks like one, by its name or, in enough documents, by its values."""
    for leaf in candidates(root, documents):
        is_word = leaf.kinds == {"string"} and of_strings(leaf.strings).declaration == {"type": "keyword"}
        if key_rank(leaf.name) <= len(KEY_NAMES) or (documents >= LEAST_TO_TRUST and is_word):
            return leaf.name
    return None
