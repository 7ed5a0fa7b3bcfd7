"""Ready-made bulk bodies: the documents of a dataset as Elasticsearch takes them, one after the other in a file."""

import os
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import BinaryIO

import orjson

from lab.errors import StackError
from producers.dataset import Dataset, Record

MARGIN = 1.1
"""What the bodies may take beyond an estimate from the first documents."""

SPARE_BYTES = 1 << 30
"""Disk that is left to Elasticsearch's index and to everything else, at least."""


@dataclass(frozen=True)
class Span:
    """One bulk body.

    Attributes:
        offset: Where it begins in the file, in bytes.
        length: Its bytes.
        index: Number of the index that it goes into, from 0.
        shard: Of that index, to which all documents belong; `None` where they were not grouped.
    """

    offset: int
    length: int
    documents: int
    index: int = 0
    shard: int | None = None


@dataclass(frozen=True)
class BulkBodies:
    """All bulk bodies of a load.

    Attributes:
        file: Has no name, so that nothing is left of it however this process ends.
        spans: In the order of sending: the first body of each index, then the second one of each.
        source_bytes: Size of the documents without their action lines.
    """

    file: BinaryIO
    spans: tuple[Span, ...]
    source_bytes: int

    @property
    def body_bytes(self) -> int:
        """Size of all bodies."""
        return sum(span.length for span in self.spans)


def operation(
    record: Record,
    number: int,
    version_type: str = "external",
    *,
    index: str | None = None,
    routing: str | None = None,
) -> bytes:
    """The two lines of a document, the same as the sink's: the key is the id, and a later document of a key wins.

    Args:
        number: Of the document; it is the version, as the offset is in a topic of one partition.
        version_type: `external_gte` stores a document again that has this very version.
        index: Named in the action line; `None` where the request names it.
    """
    key, document = record
    name = orjson.dumps(key.decode())
    # A line feed within a document can only be white space between its tokens.
    source = document.replace(b"\n", b" ")
    into = b"" if index is None else b'"_index":%b,' % orjson.dumps(index)
    into += b"" if routing is None else b'"routing":%b,' % orjson.dumps(routing)
    action = b'{"index":{%b"_id":%b,"version_type":"%b","version":%d}}' % (into, name, version_type.encode(), number)
    return b"%b\n%b\n" % (action, source)


def operations(dataset: Dataset, index: str | None = None) -> Iterator[tuple[bytes, bytes, int]]:
    """Every document in order: the bytes that choose its shard, its lines, and its own size.

    Args:
        index: Named in the action lines, if it is given.
    """
    for numbers in dataset.blocks(0, dataset.documents):
        described = zip(numbers.tolist(), dataset.records(numbers), dataset.routings(numbers), strict=True)
        for number, record, routing in described:
            lines = operation(record, number, index=index, routing=routing)
            yield record[0] if routing is None else routing.encode(), lines, len(record[1])


def prepare_bodies(
    parts: Sequence[Dataset],
    folder: Path,
    *,
    batch_documents: int,
    bulk_size_bytes: int,
    shards_of: Sequence[Callable[[bytes], int]] = (),
    on_progress: Callable[[int], None] = lambda _documents: None,
) -> BulkBodies:
    """Write the bulk bodies of all documents to disk; no more than one of them, or one for each shard, is in memory.

    Args:
        parts: The documents of each index.
        folder: Where the file takes its place on the disk.
        batch_documents: Most documents in a body.
        bulk_size_bytes: Most bytes in one, unless a single document has more.
        shards_of: For each index, key or routing → shard, if bodies are to hold documents of one shard each.
        on_progress: Told how many documents are written.

    Raises:
        StackError: The disk has too little room.
    """
    check_room(parts, folder)
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it lives as long as the load
    spans: list[list[Span]] = []
    bodies: dict[int | None, list[bytes]] = defaultdict(list)
    sizes: Counter[int | None] = Counter()
    offset = source_bytes = written = 0

    def close_body(shard: int | None) -> None:
        nonlocal offset, written
        lines, size = bodies.pop(shard), sizes.pop(shard)
        file.writelines(lines)
        spans[-1].append(Span(offset, size, len(lines), len(spans) - 1, shard))
        offset, written = offset + size, written + len(lines)
        on_progress(written)

    for number, part in enumerate(parts):
        spans.append([])
        for key, lines, document_bytes in operations(part):
            shard = shards_of[number](key) if shards_of else None
            if bodies[shard] and (len(bodies[shard]) == batch_documents or sizes[shard] + len(lines) > bulk_size_bytes):
                close_body(shard)
            bodies[shard].append(lines)
            sizes[shard] += len(lines)
            source_bytes += document_bytes
        for shard in list(bodies):
            close_body(shard)
    file.flush()
    in_turn = chain.from_iterable(zip_longest(*spans))
    return BulkBodies(file, tuple(filter(None, in_turn)), source_bytes)


def check_room(parts: Sequence[Dataset], folder: Path, index: str | None = None) -> None:
    """Refuse to fill the disk; see `operation` for the index."""
    first = [operation(record, 0, index=index) for record in next(parts[0].batches(0, parts[0].documents))]
    documents = sum(part.documents for part in parts)
    needed = int(sum(map(len, first)) / len(first) * documents * MARGIN) + SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StackError(
            f"{os.fspath(folder)}: ready-made bulk bodies: got {free // 10**6} MB free, expected {needed // 10**6} MB; "
            "free some or lower dataset.documents"
        )
