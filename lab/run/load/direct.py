"""A direct load: ready-made bulk bodies, and the process that sends them as fast as they are answered."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple
from pathlib import Path
from typing import Any

from lab.endpoints import HttpAccess
from lab.errors import StackError
from lab.monitor import CLOCK
from lab.profiles import Direct
from lab.records import DirectLoad, PhaseName, Sample, SinkHistograms
from lab.run.load.bodies import BulkBodies, prepare_bodies
from lab.run.load.drain import DrainWatch, wait_for_sample_after
from lab.run.phases import RunProgress
from producers.children import ChildError, Children
from producers.dataset import Dataset

READY_WITHIN_S = 60.0
GRACE_S = 10.0
POLL_S = 0.1


class Sender:
    """The sending process and what it is told."""

    def __init__(
        self,
        children: Children,
        load: Direct,
        bodies: BulkBodies,
        *,
        index: str,
        urls: Sequence[str],
        access: HttpAccess,
    ) -> None:
        self._children = children
        self._load = load
        self._bodies = bodies
        self._index = index
        self._urls = tuple(urls)
        self._access = access

    def prepare(self) -> None:
        """Have it open its connections, so that the load begins with the first body.

        Raises:
            StackError: Elasticsearch does not answer, or the process has ended.
        """
        self._tell(
            {
                "urls": self._urls,
                "index": self._index,
                "connections": self._load.connections,
                "file_descriptor": self._bodies.file.fileno(),
                "headers": self._access.headers(),
                "ca": None if self._access.ca is None else str(self._access.ca),
            }
        )
        if self.answer(READY_WITHIN_S) is None:
            raise StackError(f"direct load: the sending process was not ready after {READY_WITHIN_S:.0f} s")

    def go(self) -> None:
        """Let it send."""
        self._tell([astuple(span) for span in self._bodies.spans])

    def answer(self, timeout_s: float) -> dict[str, Any] | None:
        """The next word of the process; `None` if it says none in time.

        Raises:
            StackError: It has failed or ended.
        """
        try:
            answered = self._children.answer(timeout_s)
        except ChildError as error:
            raise StackError(f"direct load: {error}") from error
        return answered[1] if answered else None

    def _tell(self, word: object) -> None:
        self._children.tell(0, json.dumps(word).encode() + b"\n")


def load_directly(
    load: Direct,
    dataset: Dataset,
    *,
    index: str,
    urls: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    access: HttpAccess,
    phase: Callable[[PhaseName], AbstractContextManager[None]],
    progress: RunProgress,
    latest: Callable[[], Sample | None],
    children: dict[str, int],
) -> tuple[DirectLoad, SinkHistograms]:
    """Make the bulk bodies (phase `fill`), send them and wait until a sample has seen the last of them (phase `load`).

    Args:
        folder: Where the bodies lie meanwhile.
        environment: What the sending process must have in its environment besides ours.
        access: How Elasticsearch is entered.
        phase: Times a phase.
        latest: The newest sample.
        children: Told of the sending process, by name, while it lives.

    Raises:
        StackError: The bodies have no room, Elasticsearch refuses requests, or nothing moves any more.
    """
    with contextlib.ExitStack() as leaving:
        with phase("fill"):
            started_s = time.monotonic()
            progress.begin("fill", "making bulk bodies", dataset.documents)
            bodies = prepare_bodies(
                dataset,
                folder,
                batch_documents=load.batch_documents,
                bulk_size_bytes=load.bulk_size_bytes,
                on_progress=progress.update,
            )
            leaving.enter_context(bodies.file)
            sending = leaving.enter_context(
                Children(
                    "lab.run.load.direct_sender",
                    "the sending process",
                    environment=environment,
                    descriptors=(bodies.file.fileno(),),
                    grace_s=GRACE_S,
                )
            )
            children["direct"] = sending.processes[0].pid
            leaving.callback(children.pop, "direct")
            sender = Sender(sending, load, bodies, index=index, urls=urls, access=access)
            sender.prepare()
            prepared_s = time.monotonic() - started_s
        with phase("load"):
            progress.begin("load", "indexing", dataset.documents)
            sender.go()
            watch = DrainWatch(dataset.documents, load.timeout_s, goal="indexed")
            while (done := sender.answer(POLL_S)) is None:
                watch.done(latest())
                progress.update(watch.seen, watch.detail)
            wait_for_sample_after(CLOCK.now_s(), latest)
    entities = dataset.entities(0, dataset.documents)
    return (
        direct_record(load, bodies, done, entities=entities, prepared_s=prepared_s),
        SinkHistograms(record_age=None, bulk_service_time=done["service_times"]),
    )


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
