"""A document as a file holds it, and what its JSON says."""

from typing import Any, Final, NamedTuple

import orjson

from producers.dataset import DatasetError
from producers.json_values import loaded

JSON_KINDS: Final = {list: "an array", str: "a string", int: "a number", float: "a number", bool: "a boolean"}


class Document(NamedTuple):
    """A document of a file.

    Attributes:
        place: File and line where it begins, as a message names it.
        text: Its JSON on one line.
        id: The id that the file gives it beside its fields.
        routing: The routing that the file gives it.
        index_name: The index that the file names for it.
    """

    place: str
    text: bytes
    id: str | None = None
    routing: str | None = None
    index_name: str | None = None


def parsed_document(where: object, document: bytes) -> dict[str, Any]:
    """The JSON object of a document.

    Raises:
        DatasetError: It is none; the message begins with `where`.
    """
    try:
        parsed = loaded(document)
    except orjson.JSONDecodeError as error:
        if "UTF-8" in error.msg:
            raise DatasetError(f"{where}: is not UTF-8 text, expected a JSON object") from error
        raise DatasetError(f"{where}: is not JSON at column {error.pos + 1}: {error.msg}") from error
    if not isinstance(parsed, dict):
        raise DatasetError(f"{where}: got {kind_of(parsed)}, expected a JSON object")
    return parsed


def kind_of(value: object) -> str:
    """The kind of a JSON value that is no object."""
    return JSON_KINDS.get(type(value), "null")
