"""The bulk format: an action line before each document, with its id and routing."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

import orjson

from producers.dataset import DatasetError
from producers.datasets.source.document import Document

LIKE_AN_ACTION: Final = re.compile(rb'\s*\{\s*"(?:index|create|update|delete)"\s*:\s*\{')
METADATA: Final = frozenset(
    {"_id", "_index", "_type", "op_type", "routing", "_routing", "parent", "_parent", "pipeline", "dynamic_templates"}
    | {"version", "_version", "version_type", "_version_type", "if_seq_no", "if_primary_term", "_source"}
    | {"retry_on_conflict", "_retry_on_conflict", "require_alias", "require_data_stream", "list_executed_pipelines"}
    | {"dynamic_template_params"}
)
"""Keys that an action line may have, by `BulkRequestParser` of Elasticsearch 9 and of earlier versions."""
OLD_METADATA: Final = frozenset({"timestamp", "ttl"})
"""Keys up to Elasticsearch 5, which documents have, too."""


def action_in(text: bytes) -> tuple[str, dict[str, Any]] | None:
    """Name and metadata of an action line; `None` for any other text."""
    if not LIKE_AN_ACTION.match(text):
        return None
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    [(name, metadata), *others] = parsed.items()
    others += [key for key in metadata if key not in METADATA | OLD_METADATA and not key.startswith("_")]
    return None if others or (metadata and not metadata.keys() & METADATA) else (name, metadata)


def without_actions(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents of a text, with what their action lines say of them if the text is in the bulk format.

    The first line decides, and from then on actions and documents alternate.

    Raises:
        DatasetError: They do not, or an action is neither `index` nor `create`.
    """
    rest = iter(documents)
    first = next(rest, None)
    if first is None:
        return
    if action_in(first.text) is None:
        for document in chain([first], rest):
            if action_in(document.text):
                raise DatasetError(
                    f"{document.place}: got an action line of the bulk format, but {first.place} is none; "
                    "begin the file with an action line, or remove all of them"
                )
            yield document
        return
    for line in chain([first], rest):
        described = _described(line, next(rest, None))
        if line is first and action_in(described.text):
            raise DatasetError(
                f"{described.place}: got a second action line, expected a document; if these are documents "
                "and no actions of the bulk format, rename their field"
            )
        yield described


def _described(line: Document, document: Document | None) -> Document:
    action = action_in(line.text)
    if action is None:
        raise DatasetError(f"{line.place}: got a document, expected an action line; in the bulk format they alternate")
    name, metadata = action
    if name not in {"index", "create"}:
        raise DatasetError(f"{line.place}: got action {name}, expected index or create: a load only adds documents")
    if document is None:
        raise DatasetError(f"{line.place}: got an action line at the end, expected a document after it")
    return Document(
        document.place,
        document.text,
        _text(line.place, metadata, "_id"),
        _text(line.place, metadata, "routing") or _text(line.place, metadata, "_routing"),
        _text(line.place, metadata, "_index"),
    )


def _text(place: str, metadata: dict[str, Any], name: str) -> str | None:
    value = metadata.get(name)
    if value is None:
        return None
    if value == "" or not isinstance(value, str | int) or isinstance(value, bool):
        raise DatasetError(f"{place}: {name}: expected text or a whole number")
    return str(value)
