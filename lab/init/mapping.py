"""A mapping, and a key, proposed from what a sample shows of the fields."""

import re
from collections.abc import Iterator
from typing import Any

from lab.errors import ProfileError
from lab.init.fields import Field

KEY_NAMES = ("id", "uuid", "guid", "key", "isbn13", "isbn", "isbn10", "ean", "gtin", "sku", "doi")
KEY_ENDING = re.compile(r"(?:.*[_.-])?(?:id|uuid|guid|key|isbn|isbn1[03])|.*[a-z](?:Id|ID|Uuid|UUID|Key|Isbn|ISBN)")
LEAST_TO_TRUST = 100
"""In fewer documents, a field of any other name may be unique by chance."""
LONG_STRING = 256
LONGEST_TERM = 8191
"""Lucene takes terms of 32,766 bytes, and UTF-8 up to four for a character."""
MOST_FIELDS = 1000
UNINDEXED = {"type": "object", "enabled": False}

WHY_NOT_DYNAMIC = (
    "dynamic is false: a field that the sample lacks stays in _source, is not indexed, and rejects no document"
)


def mapping_of(root: Field) -> dict[str, Any]:
    """The content of a mapping file.

    Raises:
        ProfileError: There are more fields than an index takes.
    """
    properties = properties_of(root)
    fields = sum(1 for _ in declared(properties))
    if root.unfit or fields > MOST_FIELDS:
        raise ProfileError(
            f"the documents have {'too many' if root.unfit else f'{fields:,}'} fields, expected at most "
            f"{MOST_FIELDS:,}, Elasticsearch's default limit; write a mapping by hand (mappings/README.md)"
        )
    return {"settings": {}, "mappings": {"dynamic": False, "properties": properties}}


def properties_of(of: Field) -> dict[str, Any]:
    """The fields of an object as a mapping declares them; those without a value are left out."""
    return {name: declaration(child) for name, child in of.children.items() if child.kinds}


def declaration(of: Field) -> dict[str, Any]:
    """A field as a mapping declares it. What varies in kind is a `keyword`, which takes every value but an object."""
    kinds = of.kinds
    if kinds == {"object"} and not of.unfit:
        together = {"type": "nested"} if is_nested(of) else {}
        return together | {"properties": properties_of(of)}
    if "object" in kinds:
        return UNINDEXED
    if kinds == {"string"}:
        return declaration_of_strings(of)
    if kinds == {"boolean"}:
        return {"type": "boolean"}
    if kinds <= {"long", "double"}:
        return {"type": "double" if "double" in kinds else "long"}
    return {"type": "keyword"}


def is_nested(of: Field) -> bool:
    """Whether objects of one array would mix up their fields, were they not documents of their own."""
    return of.has_several and len(of.children) > 1


def declaration_of_strings(of: Field) -> dict[str, Any]:
    """Dates; `text` for sentences, unless they are short and repeat; `keyword` for all else, if no term is too long."""
    strings = of.strings
    is_long = strings.longest > LONG_STRING
    if strings.date_formats:
        return {"type": "date", "format": "||".join(sorted(strings.date_formats))}
    if 2 * strings.sentences > strings.count and (is_long or not strings.repeat):
        return {"type": "text"}
    if is_long:
        return {"type": "keyword", "ignore_above": LONGEST_TERM}
    return {"type": "keyword"}


def declared(properties: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a mapping, objects included, by its dotted name."""
    for name, of in properties.items():
        yield f"{prefix}{name}", of
        yield from declared(of.get("properties", {}), f"{prefix}{name}.")


def candidates(root: Field, documents: int) -> list[Field]:
    """Fields that every document has had with a value of its own, the likeliest key first."""
    unique = [leaf for leaf in root.leaves() if leaf.keys is not None and len(leaf.keys) == documents]
    return sorted(unique, key=lambda leaf: (name_rank(leaf.name) > len(KEY_NAMES), leaf.depth, name_rank(leaf.name)))


def proposed_key(root: Field, documents: int) -> str | None:
    """The field that is unique in all documents and most likely means to be; `None` where none does."""
    for leaf in candidates(root, documents):
        trusted = documents >= LEAST_TO_TRUST and declaration(leaf) == {"type": "keyword"}
        if name_rank(leaf.name) <= len(KEY_NAMES) or trusted:
            return leaf.name
    return None


def name_rank(name: str) -> int:
    """How much a name looks like that of a key: 0 is best; of those beyond `len(KEY_NAMES)` none does."""
    last = name.rpartition(".")[2]
    if last.lower() in KEY_NAMES:
        return KEY_NAMES.index(last.lower())
    return len(KEY_NAMES) + (KEY_ENDING.fullmatch(name) is None)
