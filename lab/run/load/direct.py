"""A direct load: ready-made bulk bodies, and the process that sends them as fast as they are answered."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any

from lab.errors import StackError
from lab.monitor import CLOCK
from lab.profiles import Direct
from lab.records.run import DirectLoad, SinkHistograms
from lab.records.samples import Sample
from lab.run.load.bodies import BulkBodies, prepare_bodies
from lab.run.load.drain import DrainWatch, wait_for_sample_after
from lab.run.phases import RunContext
from producers.children import ChildError, Children

READY_WITHIN_S = 60.0
GRACE_S = 10.0
POLL_S = 0.1


def load_directly(
    run: RunContext, load: Direct, latest: Callable[[], Sample | None]
) -> tuple[DirectLoad, SinkHistograms]:
    """Make the bulk bodies (phase `fill`), send them and wait until a sample has seen the last of them (phase `load`).

    Args:
        latest: The newest sample.

    Raises:
        StackError: The bodies have no room, Elasticsearch refuses requests, or nothing moves any more.
    """
    documents = run.dataset.documents
    with contextlib.ExitStack() as leaving:
        with run.clock.phase("fill"):
            started_s = time.monotonic()
            run.progress.begin("fill", "making bulk bodies", documents)
            bodies = prepare_bodies(
                run.dataset,
                run.folder.path,
                batch_documents=load.batch_documents,
                bulk_size_bytes=load.bulk_size_bytes,
                on_progress=run.progress.update,
            )
            leaving.enter_context(bodies.file)
            sender = leaving.enter_context(
                Children(
                    "lab.run.load.direct_sender",
                    "the sending process",
                    environment=run.target.child_environment,
                    descriptors=(bodies.file.fileno(),),
                    grace_s=GRACE_S,
                )
            )
            run.children["direct"] = sender.processes[0].pid
            leaving.callback(run.children.pop, "direct")
            tell(sender, sending_task(run, load, bodies))
            # It opens its connections, so that the load begins with the first body.
            if answer_of(sender, READY_WITHIN_S) is None:
                raise StackError(f"direct load: the sending process was not ready after {READY_WITHIN_S:.0f} s")
            prepared_s = time.monotonic() - started_s
        with run.clock.phase("load"):
            run.progress.begin("load", "indexing", documents)
            tell(sender, [astuple(span) for span in bodies.spans])
            watch = DrainWatch(documents, load.timeout_s, goal="indexed")
            while (done := answer_of(sender, POLL_S)) is None:
                watch.done(latest())
                run.progress.update(watch.position, watch.detail)
            wait_for_sample_after(CLOCK.now_s(), latest)
    entities = run.dataset.entities(0, documents)
    return (
        direct_record(load, bodies, done, entities=entities, prepared_s=prepared_s),
        SinkHistograms(record_age=None, bulk_service_time=done["service_times"]),
    )


def sending_task(run: RunContext, load: Direct, bodies: BulkBodies) -> dict[str, Any]:
    """What the sending process must know before it can open its connections."""
    access = run.target.access.elasticsearch
    return {
        "urls": run.target.endpoints.elasticsearch_urls,
        "index": run.names.index,
        "connections": load.connections,
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
    return (f"Elasticsearch refused {sum(direct.refused.values())} documents: {reasons}",)
