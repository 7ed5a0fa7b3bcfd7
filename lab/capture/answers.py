"""Answers of an index to a user's searches, so that those of several variants can be compared."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError
from producers.json_values import dumped

FILE: Final = "answers.json"
Questions = Mapping[str, Mapping[str, Any]]
"""Name → body of a search."""


@dataclass(frozen=True)
class Difference:
    """A question whose answers differ between a variant and the control.

    Attributes:
        how: `other documents`, `other order`, `other aggregations`, or the error of one of them.
    """

    question: str
    how: str


def read_questions(path: Path) -> Questions:
    """The searches of a YAML or JSON file: an object of names and bodies.

    Raises:
        ProfileError: It is none, or a body asks for nothing.
    """
    try:
        read = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ProfileError(f"--questions: {path}: cannot be read ({type(error).__name__})") from error
    if not isinstance(read, dict) or not read:
        raise ProfileError(f"--questions: {path}: expected names and searches, such as `all: {{size: 3}}`")
    for name, body in read.items():
        if not isinstance(body, dict) or not body:
            raise ProfileError(f"--questions: {path}: {name}: got no search, expected an object, such as a `query`")
    return {str(name): body for name, body in read.items()}


def answers(cluster: ElasticsearchClient, index: str, questions: Questions) -> dict[str, object]:
    """The answer to each question: number of hits, the documents in their order, and aggregations; or the error."""
    return {name: answer(cluster, index, body) for name, body in questions.items()}


def answer(cluster: ElasticsearchClient, index: str, body: Mapping[str, Any]) -> dict[str, object]:
    """One answer, without what says nothing of documents: times, shards, scores."""
    status, told = cluster.request("POST", f"/{index}/_search", body, accept=range(400, 600))
    if status >= 400 or not isinstance(told, dict):
        error = told.get("error", {}) if isinstance(told, dict) else {}
        cause = error.get("type", "error") if isinstance(error, dict) else "error"
        return {"error": f"{status} {cause}"}
    hits = told.get("hits", {})
    documents = [dumped(hit.get("_source", hit["_id"])).decode() for hit in hits.get("hits", ())]
    return {"total": hits.get("total"), "documents": documents, "aggregations": told.get("aggregations")}


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Difference]:
    """The questions that two indices answer differently."""
    pairs = ((name, one[name], other.get(name, {})) for name in one)
    return [Difference(name, how) for name, first, second in pairs if (how := difference(first, second))]


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """How two answers differ; empty if they do not."""
    if one.get("error") or other.get("error"):
        return "" if one == other else f"{other.get('error', 'an answer')}, not {one.get('error', 'an answer')}"
    if one["total"] != other["total"] or Counter(one["documents"]) != Counter(other["documents"]):
        return "other documents"
    if one["aggregations"] != other["aggregations"]:
        return "other aggregations"
    return "other order" if one["documents"] != other["documents"] else ""


def read_answers(folder: Path) -> dict[str, Any] | None:
    """The answers that were kept with a run; `None` without any."""
    path = folder / FILE
    found: dict[str, Any] | None = orjson.loads(path.read_bytes()) if path.is_file() else None
    return found


def compared(of_control: Sequence[Mapping[str, Any]], of_variant: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Question → how a variant answers it differently; left out where the control's own runs differ, too."""
    if not of_control:
        return {}
    unstable = {each.question for answers in of_control[1:] for each in differences(of_control[0], answers)}
    found = {each.question: each.how for answers in of_variant for each in differences(of_control[0], answers)}
    return {name: how for name, how in found.items() if name not in unstable}
