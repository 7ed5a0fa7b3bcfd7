"""A document as a file holds it, and what its JSON says."""

import shlex
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
            raise not_utf8(where, "ndjson") from error
        raise DatasetError(f"{where}: is not JSON at column {error.pos + 1}: {error.msg}") from error
    if not isinstance(parsed, dict):
        raise DatasetError(f"{where}: got {kind_of(parsed)}, expected a JSON object")
    return parsed


def not_utf8(where: object, ending: str) -> DatasetError:
    """The fault of text in another encoding, at a file and line, with the command that converts the file."""
    path = shlex.quote(str(where).rpartition(":")[0])
    return DatasetError(
        f"{where}: is not UTF-8 text; convert it, as by `iconv -f WINDOWS-1252 -t UTF-8 {path} > documents.{ending}`"
    )


def refuse_search_answer(where: object, parsed: dict[str, Any]) -> None:
    """Refuse the answer to a search, which holds documents; raises DatasetError if it is one."""
    if "took" in parsed and (hits := objects_in(parsed).get(".hits.hits")):
        raise DatasetError(
            f"{where}: got the answer to a search, expected documents{_taken_out(where, '.hits.hits', hits)}"
        )


def documents_inside(where: object, parsed: dict[str, Any]) -> str:
    """The end of a sentence on a document that is too large: what in it may be the documents."""
    most = max(((number, path) for path, number in objects_in(parsed).items()), default=None)
    return f", or take the documents out{_taken_out(where, most[1], most[0])}" if most else ""


def objects_in(parsed: dict[str, Any]) -> dict[str, int]:
    """Number of objects in each array by its path for `jq`, in fields and in fields of fields."""
    within = {f".{name}": value for name, value in parsed.items() if name.isidentifier()}
    outer = ((path, value) for path, value in within.items() if isinstance(value, dict))
    within |= {
        f"{path}.{name}": value for path, fields in outer for name, value in fields.items() if name.isidentifier()
    }
    return {
        path: len(each)
        for path, each in within.items()
        if isinstance(each, list) and each and all(isinstance(one, dict) for one in each)
    }


def _taken_out(where: object, path: str, number: int) -> str:
    file = shlex.quote(str(where).rpartition(":")[0])
    return f": `jq -c '{path}[]' {file} > documents.ndjson` gives {number:,}"


def kind_of(value: object) -> str:
    """The kind of a JSON value that is no object."""
    return JSON_KINDS.get(type(value), "null")
