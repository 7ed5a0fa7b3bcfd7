"""A direct load: ready-made bulk bodies, and the process that sends them as fast as they are answered."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from lab.clients.target import cluster_of
from lab.errors import StackError
from lab.profiles import Direct
from lab.records.run import DirectLoad, PhaseName
from lab.records.samples import Sample
from lab.run.load.bodies import BulkBodies, Span, prepare_bodies
from lab.run.load.drain import DrainWatch
from lab.run.load.inputs import bodies_key
from lab.run.load.shards import ShardTable, nodes_of, shard_table
from lab.run.phases import RunContext
from producers.children import ChildError, Children
from producers.dataset import Dataset
from producers.part import parts_of

READY_WITHIN_S = 60.0
GRACE_S = 10.0
POLL_S = 0.1


@dataclass(frozen=True)
class ReadySender:
    """The sending process with its connections open, and what it is about to send.

    Attributes:
        tables: The shards of each index; empty where bodies go to any node.
        prepared_s: What making the bodies and opening the connections took.
    """

    load: Direct
    bodies: BulkBodies
    process: Children
    tables: Sequence[ShardTable]
    prepared_s: float

    @property
    def spans(self) -> list[tuple[int, int, int, int, int]]:
        """Offset, length, documents and index of each body, and its node in `nodes_of`; 0 where it goes to any."""
        nodes = nodes_of(self.tables)

        def node(span: Span) -> int:
            return 0 if span.shard is None else nodes.index(self.tables[span.index].urls[span.shard])

        return [(span.offset, span.length, span.documents, span.index, node(span)) for span in self.bodies.spans]

    def record(self, done: Mapping[str, Any], entities: int) -> DirectLoad:
        """What it has done, for the run's record."""
        return direct_record(self.load, self.bodies, done, entities=entities, prepared_s=self.prepared_s)


@contextlib.contextmanager
def ready_sender(run: RunContext, load: Direct, indices: Sequence[str]) -> Iterator[ReadySender]:
    """Make the bulk bodies and start the process that sends them, so that a load begins with the first body.

    Raises:
        ProfileError: The bodies cannot be grouped by shard.
        StackError: The bodies have no room, or Elasticsearch does not answer.
    """
    with contextlib.ExitStack() as leaving:
        started_s = time.monotonic()
        run.progress.begin("fill", "making bulk bodies", run.dataset.documents)
        tables = shard_tables(run, indices) if load.bulk_by_shard else ()
        bodies = bodies_of(run, load, len(indices), leaving, tables=tables)
        process = leaving.enter_context(
            Children(
                "lab.run.load.direct_sender",
                "the sending process",
                environment=run.target.child_environment,
                descriptors=(bodies.file.fileno(),),
                grace_s=GRACE_S,
            )
        )
        run.children["direct"] = process.processes[0].pid
        leaving.callback(run.children.pop, "direct")
        tell(process, {**sending_task(run, load, bodies, indices), "nodes": nodes_of(tables)})
        if answer_of(process, READY_WITHIN_S) is None:
            raise StackError(f"direct load: the sending process was not ready after {READY_WITHIN_S:.0f} s")
        yield ReadySender(load, bodies, process, tables, time.monotonic() - started_s)


def shard_tables(run: RunContext, indices: Sequence[str]) -> tuple[ShardTable, ...]:
    """The shards of each index, with nodes by the addresses that they publish; raises what `shard_table` does."""
    endpoints = run.target.endpoints
    with contextlib.closing(cluster_of(endpoints)) as cluster:
        scheme = urlsplit(endpoints.elasticsearch_urls[0]).scheme
        return tuple(shard_table(cluster, index, scheme) for index in indices)


def bodies_of(
    run: RunContext, load: Direct, indices: int, leaving: contextlib.ExitStack, *, tables: Sequence[ShardTable]
) -> BulkBodies:
    """The bulk bodies: those that an earlier run of the suite has made, or made now; without a suite closed in the end.

    Raises:
        StackError: They have no room.
    """
    parts = parts_of(run.dataset, indices)
    key = bodies_key(run.profile, load, parts, tables)
    if run.inputs is None:
        bodies = made_bodies(run, load, parts, tables)
        leaving.enter_context(bodies.file)
        return bodies
    while key not in run.inputs.bodies:
        try:
            run.inputs.add_bodies(key, made_bodies(run, load, parts, tables), run.folder.path)
        except StackError:
            # Those of other runs have the room that these need.
            if not run.inputs.bodies:
                raise
            run.inputs.drop_oldest()
    return run.inputs.bodies[key]


def made_bodies(run: RunContext, load: Direct, parts: Sequence[Dataset], tables: Sequence[ShardTable]) -> BulkBodies:
    """Bulk bodies in a file of the run's folder that has no name."""
    return prepare_bodies(
        parts,
        run.folder.path,
        batch_documents=load.batch_documents,
        bulk_size_bytes=load.bulk_size_bytes,
        shards_of=[table.shard_of for table in tables],
        on_progress=run.progress.update,
    )


def send_bodies(
    run: RunContext, ready: ReadySender, latest: Callable[[], Sample | None], *, phase: PhaseName
) -> dict[str, Any]:
    """Send all bodies; what the sending process answers.

    Raises:
        StackError: Elasticsearch refuses requests, or nothing moves any more.
    """
    documents = run.dataset.documents
    run.progress.begin(phase, "indexing", documents)
    tell(ready.process, ready.spans)
    watch = DrainWatch(documents, ready.load.timeout_s, goal="indexed")
    while (done := answer_of(ready.process, POLL_S)) is None:
        watch.done(latest())
        run.progress.update(watch.position, watch.detail)
    return done


def sending_task(run: RunContext, load: Direct, bodies: BulkBodies, indices: Sequence[str]) -> dict[str, Any]:
    """What the sending process must know before it can open its connections."""
    access = run.target.access.elasticsearch
    return {
        "urls": run.target.endpoints.elasticsearch_urls,
        "indices": indices,
        "connections": load.connections,
        "rate_docs_per_s": load.rate_docs_per_s,
        "file_descriptor": bodies.file.fileno(),
        "headers": access.headers(),
        "ca": None if access.ca is None else str(access.ca),
    }


def tell(sender: Children, word: object) -> None:
    """Give the sending process its task, or the bodies, which is the word to start."""
    sender.tell(0, json.dumps(word).encode() + b"\n")


def answer_of(sender: Children, timeout_s: float) -> dict[str, Any] | None:
    """The next answer of the sending process; `None` if there is none in time.

    Raises:
        StackError: Elasticsearch does not answer or refuses requests, or the process has ended.
    """
    try:
        answered = sender.answer(timeout_s)
    except ChildError as error:
        raise StackError(f"direct load: {error}") from error
    return answered[1] if answered else None


def direct_record(
    load: Direct, bodies: BulkBodies, done: Mapping[str, Any], *, entities: int, prepared_s: float
) -> DirectLoad:
    """What the sending process did, for the run's record."""
    counted = {name: value for name, value in done.items() if name in DirectLoad.model_fields}
    return DirectLoad(
        connections=load.connections,
        bulk_by_shard=load.bulk_by_shard,
        rate_docs_per_s=load.rate_docs_per_s,
        source_bytes=bodies.source_bytes,
        entities=entities,
        body_bytes=bodies.body_bytes,
        prepared_s=prepared_s,
        **counted,
    )


def refusals(direct: DirectLoad) -> tuple[str, ...]:
    """One sentence if Elasticsearch has refused documents, by status and type."""
    if not direct.refused:
        return ()
    reasons = ", ".join(f"{reason} ({count})" for reason, count in sorted(direct.refused.items()))
    is_forbidden = any(reason.startswith("403 ") for reason in direct.refused)
    remedy = "; check the user's privileges, and that the servers' licence covers the mapping" if is_forbidden else ""
    return (f"Elasticsearch rejected {sum(direct.refused.values())} documents: {reasons}{remedy}",)
