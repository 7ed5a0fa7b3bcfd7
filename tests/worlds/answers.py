"""Answers as Elasticsearch writes them: `filter_path`, errors, and the items of a bulk request."""

import fnmatch
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson

from lab.prove.http import Response
from tests.worlds.indices import Index, Outcome

PRODUCT = {"x-elastic-product": "Elasticsearch", "content-type": "application/json"}
NOTHING = object()


def answer(content: Any, parameters: Mapping[str, str], status: int = 200) -> Response:
    """An answer with this content, as much of it as `filter_path` lets through."""
    if wanted := parameters.get("filter_path"):
        kept = filtered(content, [path.split(".") for path in wanted.split(",")])
        content = {} if kept is NOTHING else kept
    return Response(orjson.dumps(content), status, PRODUCT)


def filtered(content: Any, paths: Sequence[Sequence[str]]) -> Any:
    """The parts of an answer that one of the paths leads to; lists are passed through, what is empty then is gone."""
    if isinstance(content, list):
        kept = [part for each in content if (part := filtered(each, paths)) is not NOTHING]
        return kept or NOTHING
    if not isinstance(content, dict):
        return NOTHING
    parts = {}
    for name, value in content.items():
        rests = [rest for path in paths for rest in rests_of(path, name)]
        part = value if any(not rest for rest in rests) else filtered(value, rests) if rests else NOTHING
        if part is not NOTHING:
            parts[name] = part
    return parts or NOTHING


def rests_of(path: Sequence[str], name: str) -> list[Sequence[str]]:
    """What is left of a path below a name; several where `**` may end here or go on."""
    if path[0] == "**":
        return [path, *rests_of(path[1:], name)]
    return [path[1:]] if fnmatch.fnmatchcase(name, path[0]) else []


def failure(status: int, kind: str, reason: str, more: Mapping[str, str] | None = None) -> Response:
    """An error answer."""
    error = {"type": kind, "reason": reason, **(more or {})}
    return Response(orjson.dumps({"error": {"root_cause": [error], **error}, "status": status}), status, PRODUCT)


def no_such_index(name: str) -> Response:
    """The answer about an index that does not exist."""
    of_index = {"resource.type": "index_or_alias", "resource.id": name, "index_uuid": "_na_", "index": name}
    return failure(404, "index_not_found_exception", f"no such index [{name}]", of_index)


# --- bulk -----------------------------------------------------------------------------------------------------------


def bulk_answer(outcomes: Sequence[tuple[Index, Outcome]], took_ms: int, parameters: Mapping[str, str]) -> Response:
    """The answer to a bulk request."""
    wanted = parameters.get("filter_path", "")
    has_errors = any(outcome.error for _, outcome in outcomes)
    items = b",".join(filter(None, (item_bytes(index, outcome, wanted) for index, outcome in outcomes)))
    head = {"errors": has_errors, "took": took_ms}
    if wanted:
        kept = filtered(head, [path.split(".") for path in wanted.split(",")])
        head = {} if kept is NOTHING else kept
    fields = [orjson.dumps(head)[1:-1]] if head else []
    if items:
        fields.append(b'"items":[' + items + b"]")
    return Response(b"{" + b",".join(fields) + b"}", 200, PRODUCT)


def item_bytes(index: Index, outcome: Outcome, wanted: str) -> bytes:
    """One item; written by a pattern where it succeeded, as items are many."""
    if outcome.error:
        return pieces(error_item(index, outcome), wanted)
    pattern = item_pattern(outcome.action, outcome.result, outcome.status, index.replicas, wanted)
    written = pattern.replace(b'"@id"', orjson.dumps(outcome.id)).replace(b'"@index"', orjson.dumps(index.name))
    if b'"@version"' in written or b'"@seq_no"' in written:
        written = written.replace(b'"@version"', b"%d" % outcome.version)
        written = written.replace(b'"@seq_no"', b"%d" % outcome.seq_no)
    return written


@cache
def item_pattern(action: str, result: str, status: int, replicas: int, wanted: str) -> bytes:
    """An item that succeeded, with names in the places of what differs between items."""
    item = {
        "_index": "@index",
        "_id": "@id",
        "_version": "@version",
        "result": result,
        "_shards": {"total": 1 + replicas, "successful": 1, "failed": 0},
        "_seq_no": "@seq_no",
        "_primary_term": 1,
        "status": status,
    }
    return pieces({action: item}, wanted)


def error_item(index: Index, outcome: Outcome) -> dict[str, Any]:
    """An item that failed."""
    kind, reason = outcome.error or ("", "")
    error = {"type": kind, "reason": reason, "index_uuid": index.uuid, "shard": "0", "index": index.name}
    of_item = {"_index": index.name, "_id": outcome.id, "status": outcome.status, "error": error}
    return {outcome.action: of_item}


def pieces(item: Mapping[str, Any], wanted: str) -> bytes:
    """An item as JSON, as much of it as `filter_path` lets through; empty for nothing."""
    if not wanted:
        return orjson.dumps(item)
    kept = filtered({"items": [item]}, [path.split(".") for path in wanted.split(",")])
    return b"" if kept is NOTHING else orjson.dumps(kept["items"][0])
