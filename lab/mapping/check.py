"""A proposed mapping on a server: the sample's documents are indexed, and each one that is rejected is named."""

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import ProfileError, StackError, VerificationError
from lab.mapping.types import LENIENT_BOOLEAN
from lab.profiles.mapping import MappingFile, index_body
from lab.run.verify.refusal_reasons import reason_of

INDEX = "sluice-mapping-check"
OWNER = "mapping-check"
"""Begins the mark of the index, where that of a run has the run's id; behind it stands which check made it."""
SETTINGS = {"number_of_shards": 1, "number_of_replicas": 0}
BATCH_DOCUMENTS = 1000
BATCH_BYTES = 5 << 20
ACTION = b'{"index":{}}\n'
MOST_NAMED = 5
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "scaled_float": {"type": "scaled_float", "scaling_factor": 100},
    "flattened": {"type": "flattened"},
    LENIENT_BOOLEAN: {"type": "boolean", "ignore_malformed": True},
}
"""Type that not all builds have → a field of it that every build which has the type accepts."""


@dataclass(frozen=True)
class Rejection:
    """A document that the servers have rejected.

    Attributes:
        where: Its place in the file.
        reason: Elasticsearch's, without what it quotes of the document.
        answer: Status, type and reason in full: it may quote the document.
    """

    where: object
    reason: str
    answer: str = ""
    document: bytes = b""


@dataclass(frozen=True)
class Indexed:
    """Result of indexing a sample.

    Attributes:
        rejections: Of the documents that were rejected, the first few.
        places: Numbers of all that were, from 0.
        seconds: That it took, on servers that may be cold.
    """

    documents: int
    rejected: int
    rejections: tuple[Rejection, ...]
    places: frozenset[int]
    seconds: float

    @property
    def share(self) -> float:
        """Share of the documents that were rejected."""
        return self.rejected / self.documents if self.documents else 0.0


@contextlib.contextmanager
def index_for_check(cluster: ElasticsearchClient, mapping: MappingFile) -> Iterator[str]:
    """The name of an empty index with a mapping, which is deleted in the end.

    Raises:
        ProfileError: Elasticsearch refuses the mapping, or somebody else's index has that name.
        StackError: It was another check's index in the end: a request to one that is gone makes one that takes all.
    """
    body = index_body(mapping, SETTINGS, cluster.has_analyzer)
    mark = f"{OWNER}-{secrets.token_hex(4)}"
    meta = {**body["mappings"].get("_meta", {}), "sluice": {"run": mark}}
    owner = cluster.index_owner(INDEX)
    if owner is not None and not owner.startswith(OWNER):
        raise ProfileError(f"index {INDEX}: exists and was not made by Sluice; delete or rename it")
    if owner is not None:
        cluster.delete_index(INDEX)
    cluster.create_index(INDEX, {**body, "mappings": {**body["mappings"], "_meta": meta}})
    try:
        yield INDEX
        if cluster.index_owner(INDEX) != mark:
            raise StackError(
                f"index {INDEX}: deleted or replaced during the check, perhaps by another one; run it again"
            )
    finally:
        with contextlib.suppress(StackError):
            if cluster.index_owner(INDEX) == mark:
                cluster.delete_index(INDEX)


def types_of(cluster: ElasticsearchClient) -> Callable[[str], bool]:
    """Function that checks for a type of the cluster, by creating an index with it; each type once."""

    @cache
    def has_type(name: str) -> bool:
        mapping = {"mappings": {"properties": {"field": EXAMPLES[name]}}}
        try:
            with index_for_check(cluster, mapping):
                return True
        except ProfileError:
            return False

    return has_type


def index_documents(
    cluster: ElasticsearchClient,
    index: str,
    documents: Iterable[tuple[object, bytes]],
    clock: Callable[[], float] = time.monotonic,
    on_rejection: Callable[[Rejection], None] = lambda _: None,
) -> Indexed:
    """Index documents, each given with its place in the file, and make them searchable.

    Args:
        on_rejection: Told of each document that is rejected.

    Raises:
        StackError: The servers do not answer, or refuse a whole request, or the index does not hold what they accepted.
    """
    started_s, total = clock(), 0
    places: set[int] = set()
    rejections: list[Rejection] = []
    for batch in batches(documents):
        for number, rejection in bulk(cluster, index, batch):
            places.add(total + number)
            on_rejection(rejection)
            if len(rejections) < MOST_NAMED:
                rejections.append(rejection)
        total += len(batch)
    rejected = len(places)
    cluster.refresh(index)
    if (stored := cluster.count(index)) != total - rejected:
        raise StackError(f"index {index}: got {stored:,} documents, expected {total - rejected:,}; run the check again")
    return Indexed(total, rejected, tuple(rejections), frozenset(places), clock() - started_s)


def batches(documents: Iterable[tuple[object, bytes]]) -> Iterator[list[tuple[object, bytes]]]:
    """The documents of one bulk request each."""
    batch: list[tuple[object, bytes]] = []
    size = 0
    for where, document in documents:
        if batch and (len(batch) == BATCH_DOCUMENTS or size + len(document) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((where, document))
        size += len(document)
    if batch:
        yield batch


def bulk(
    cluster: ElasticsearchClient, index: str, batch: list[tuple[object, bytes]]
) -> Iterator[tuple[int, Rejection]]:
    """Index the documents with ids of the server's making; those that it rejects, with their numbers from 0."""
    body = b"".join(ACTION + document + b"\n" for _, document in batch)
    shown = "filter_path=errors,items.*.status,items.*.error"
    _, answer = cluster.request("POST", f"/{index}/_bulk?{shown}", body)
    if not answer["errors"]:
        return
    for number, ((where, document), item) in enumerate(zip(batch, answer["items"], strict=True)):
        outcome = item["index"]
        if "error" in outcome:
            status, error = int(outcome["status"]), outcome["error"]
            full = f"{status} {error.get('type', '')}: {error.get('reason', '')}"
            yield number, Rejection(where, reason_text(status, error), full, document)


def reason_text(status: int, error: Mapping[str, Any]) -> str:
    """Why a document was rejected, in Elasticsearch's words without the document's own.

    The cause is left out where it is no more than a quotation.
    """
    general = reason_of(f"{status} {error.get('type', '')}: {error.get('reason', '')}")
    cause = error.get("caused_by") or {}
    why = reason_of(f"{status} {cause.get('type', '')}: {cause.get('reason', '')}").cause if cause else ""
    return f"{general.cause} ({why})" if why.strip("… ") else general.cause


def refuse_rejections(indexed: Indexed, what: str, remedies: Sequence[str] = (), tolerated: float = 0.0) -> None:
    """Raise VerificationError if a mapping has rejected more documents than are tolerated.

    Args:
        what: The mapping, and what becomes of it: `mapping books: not written`.
        remedies: What may be done about it, a line each.
        tolerated: Share of the documents.
    """
    if indexed.share <= tolerated:
        return
    rest = indexed.rejected - len(indexed.rejections)
    lines = [f"{each.where}: {each.reason}" for each in indexed.rejections]
    most = f"at most {100 * tolerated:g} %" if tolerated else "none"
    raise VerificationError(
        "\n  ".join(
            [
                f"{what}: it rejects {indexed.rejected:,} of {indexed.documents:,} documents, expected {most}:",
                *lines,
                *([f"… and {rest:,} more"] if rest else []),
                *remedies,
            ]
        )
    )


def rejected_text(indexed: Indexed) -> str:
    """Number of rejected documents, with the place and the reason of the first."""
    first = indexed.rejections[0]
    return f"{indexed.rejected:,} of {indexed.documents:,} rejected (first: {first.where}: {first.reason})"
