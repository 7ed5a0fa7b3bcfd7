"""The sink of a run, a connector or another pipeline: configured, started, followed to the end of its load."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import httpx
import numpy as np

from lab.clients.connect import ConnectWorker
from lab.errors import ProfileError, SluiceError, StackError
from lab.extensions import PIPELINES, Pipeline, PipelineContext
from lab.monitor import CLOCK, read_sink_histograms
from lab.monitor.processes import reason
from lab.profiles.connector_keys import OURS
from lab.program import last_lines_of
from lab.records.run import SinkHistograms
from lab.records.samples import Sample
from lab.run.load.command import CommandPipeline, own_values
from lab.run.load.connector import ROUTES, Connector, placeholders
from lab.run.load.drain import DrainWatch, Goal, wait_for_sample_after
from lab.run.phases import RunContext
from lab.run.verify.sink_ledger import LedgerReading, read_settled_ledger

POLL_S = 0.2
STATUS_EVERY_S = 2.0
READY_WITHIN_S = 120.0

T = TypeVar("T")


@dataclass
class Sink:
    """The sink of one run.

    Attributes:
        config: The pipeline as it may be written down, such as a connector's configuration; empty until `configure`.
    """

    run: RunContext
    worker: ConnectWorker
    config: dict[str, str] = field(default_factory=dict, init=False)
    _runs: bool = field(default=False, init=False)
    _ended_s: float | None = field(default=None, init=False)
    _checked_s: float = field(default=-math.inf, init=False)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The pipeline that the profile names: an installed one, a command, or else a connector."""
        return self._asked(lambda: pipeline_of(self.run, self.worker))

    def configure(self) -> None:
        """Check the pipeline's settings on the servers.

        Raises:
            ProfileError: One is refused, or the pipeline cannot route documents as their file says, or leaves records
                of a slice that cannot be verified.
        """
        sink = self.run.profile.sink
        if not sink.is_connector and self.run.dataset.is_routed:
            kind = "command" if sink.command else "pipeline"
            raise ProfileError(f"sink.{kind}: got a {kind}, {ROUTES}")
        self._asked(self.pipeline.prepare)
        named = {"pipeline": sink.pipeline, "package": PIPELINES.package(sink.pipeline)} if sink.pipeline else {}
        settings = sink.config if sink.pipeline else {}
        told = self._asked(self.pipeline.description)
        self.config = {name: str(value) for name, value in {**named, **settings, **told}.items()}
        if self.run.dataset.unindexable and self.run.profile.verify.expect == "stored":
            self.refuse_unverifiable()

    def refuse_unverifiable(self) -> None:
        """Raise ProfileError if what the pipeline does with tombstones and bad records is not known by their keys."""
        if self.ids_are_generated:
            raise ProfileError("sink: got ids that the cluster makes, expected others: the slice has bad records")
        deletes = self.config.get("behavior.on.null.values") == "delete" and self.key_is_id
        if not deletes and self.run.dataset.tombstones(np.zeros(0, dtype=np.int64)) is not None:
            raise ProfileError(
                "sink: expected ids from keys and `behavior.on.null.values: delete`: the slice has tombstones, which "
                "delete documents"
            )

    @property
    def key_is_id(self) -> bool:
        """True if a record's key is its document's id."""
        return self._asked(self.pipeline.ids) == "keys"

    @property
    def ids_are_generated(self) -> bool:
        """True if the cluster makes the ids."""
        return self._asked(self.pipeline.ids) == "generated"

    @property
    def id_prefix(self) -> str:
        """The text before an id that is made of offsets."""
        return self._asked(self.pipeline.id_prefix)

    def stored(self, document: bytes) -> bytes:
        """The document that must be stored for a produced one."""
        return self._asked(lambda: self.pipeline.stored(document))

    @property
    def keeps_ledger(self) -> bool:
        """True for a connector of ours."""
        return self.config.get("connector.class", "").startswith(OURS)

    @property
    def unread_settings(self) -> tuple[str, ...]:
        """Keys of a connector's configuration that the connector does not have."""
        return self.pipeline.unread if isinstance(self.pipeline, Connector) else ()

    def start(self) -> None:
        """Start the pipeline and wait until it is ready.

        Raises:
            StackError: It cannot be started, or is not ready within two minutes.
        """
        self.run.progress.begin("load", "starting the sink", None)
        self._runs = True
        if (pid := self._asked(self.pipeline.start)) is not None:
            self.run.children["sink"] = pid
        deadline = time.monotonic() + READY_WITHIN_S
        while not self._asked(self.pipeline.is_ready):
            if time.monotonic() > deadline:
                raise self._failure(f"not ready within {READY_WITHIN_S:.0f} s")
            if self.ended_s() is not None:
                raise self._failure("ended before it was ready")
            self.run.progress.update(0, "")
            time.sleep(POLL_S)

    def drain(self, latest: Callable[[], Sample | None], delivered: int) -> None:
        """Wait until it has committed every record, or says that none is left.

        Args:
            latest: The newest sample.

        Raises:
            StackError: A task failed, nothing moved for too long, or the profile's time was over.
        """
        self.run.progress.begin("load", "indexing", delivered)
        goal: Goal = "committed" if self.run.profile.sink.is_connector else "either"
        watch = DrainWatch(delivered, self.run.profile.load.timeout_s, goal=goal)
        while not watch.done(latest()):
            is_done = self._asked(lambda: self.pipeline.lag(delivered)) == 0
            if (ended_s := CLOCK.now_s() if is_done else self.ended_s()) is not None:
                if not is_done:
                    self.run.children.pop("sink", None)
                wait_for_sample_after(ended_s, latest)
                break
            self.run.progress.update(watch.position, watch.detail)
            time.sleep(POLL_S)
        self.run.progress.update(delivered, "")

    def ended_s(self) -> float | None:
        """When it ended by itself, as a connector never does; what is missing then, verification finds.

        Called again and again, it looks every two seconds.

        Raises:
            StackError: A task, or the pipeline, has failed.
        """
        if self._ended_s is None and time.monotonic() - self._checked_s >= STATUS_EVERY_S:
            self._checked_s = time.monotonic()
            if self._asked(self.pipeline.has_ended):
                self._ended_s = CLOCK.now_s()
        return self._ended_s

    def refuse_end(self) -> None:
        """Refuse that it ends while documents are still being produced; raises StackError if it has."""
        if self.ended_s() is not None:
            raise self._failure("ended before the last document was produced")

    def stop_command(self) -> None:
        """Stop the pipeline; a connector stays until the run has read its figures."""
        self.run.children.pop("sink", None)
        if self._runs:
            self._asked(self.pipeline.stop)
            # Only now: where Ctrl-C ends the waiting, it is stopped again.
            self._runs = False

    def ledger(self) -> LedgerReading | None:
        """Its ledger once nothing is in flight; `None` for a pipeline without a worker to tell of it."""
        if not self.run.profile.sink.is_connector:
            return None
        return read_settled_ledger(
            self.run.target.endpoints.metrics_url, self.run.names.connector, access=self.run.target.access.metrics
        )

    def histograms(self) -> SinkHistograms:
        """Its histograms; without a value where the worker offers none, and of a sink that is not ours."""
        url = self.run.target.endpoints.metrics_url
        if url is None or not self.keeps_ledger:
            return SinkHistograms(record_age=None, bulk_service_time=None)
        try:
            return read_sink_histograms(url, self.run.names.connector, access=self.run.target.access.metrics)
        except (httpx.HTTPError, LookupError, ValueError) as error:
            return SinkHistograms(record_age=None, bulk_service_time=None, lost=reason(error))

    def _failure(self, what: str) -> StackError:
        context = self.pipeline.context
        return StackError(f"{context.name}: {what}; its log is {context.log}", last_lines_of(context.log))

    def _asked(self, method: Callable[[], T]) -> T:
        """The answer of a pipeline; raises StackError if a method of an installed one has failed."""
        try:
            return method()
        except SluiceError:
            raise
        except Exception as error:
            if self.run.profile.sink.pipeline is None:
                raise
            where = f"sink.pipeline: {self.run.profile.sink.pipeline}"
            raise StackError(f"{where}: {type(error).__name__}: {error}") from error


def pipeline_of(run: RunContext, worker: ConnectWorker) -> Pipeline:
    """The pipeline of a run, with what it is given; nothing is started."""
    sink, values = run.profile.sink, placeholders(run.profile, run.target.endpoints, run.names)
    name = f"sink.command: {sink.command[0]}" if sink.command else f"sink.pipeline: {sink.pipeline}"
    context = PipelineContext(
        name=name,
        kafka_bootstrap=values["kafka_bootstrap"],
        topic=values["topic"],
        group=values["group"],
        elasticsearch_urls=run.target.endpoints.elasticsearch_urls,
        index=values["index"],
        settings=sink.config,
        tasks=sink.tasks,
        root=run.root,
        folder=run.folder.path.absolute(),
        environment=run.target.child_environment,
    )
    if sink.command:
        return CommandPipeline(context, sink.command, {**values, **own_values(run.root)})
    return PIPELINES[sink.pipeline](context) if sink.pipeline else Connector(context, run, worker)
