"""Watches a stream that has no end: samples it and sends the samples as they are taken."""

import contextlib
import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lab.clients.target import cluster_of, worker_of
from lab.endpoints import Endpoints
from lab.errors import StackError
from lab.monitor import Sampler, Sources, read_sink_histograms
from lab.monitor.sink import JolokiaError
from lab.profiles import Profile
from lab.publish.document import Document
from lab.publish.samples import INDEX, Label, curve_documents, curves_so_far, sample_documents
from lab.publish.server import Server
from lab.records.run import SinkHistograms
from lab.records.samples import Sample
from lab.run.names import Names


@dataclass(frozen=True, slots=True)
class CurrentRun:
    """The run that is under way.

    Attributes:
        began_s: When its index was created.
    """

    run_id: str
    began_s: float

    def label(self, profile: str) -> Label:
        """Label of the watched run's documents; its id is not the run's, whose own samples may be published later."""
        return Label(
            run_id=f"{self.run_id}-live",
            profile=profile,
            started_s=self.began_s,
            load_started_s=self.began_s,
            target="live",
        )


class Pipeline:
    """The servers on which a profile runs. One that does not answer is no error: it may be on its way up."""

    def __init__(self, profile: Profile, endpoints: Endpoints) -> None:
        self._profile = profile
        self._endpoints = endpoints
        self._index = Names.of(profile, "").indices[0]
        # Each is asked once: the next sample asks again.
        self._cluster = cluster_of(endpoints, patience_s=0)
        self._worker = worker_of(endpoints, patience_s=0)

    def close(self) -> None:
        """Close the connections."""
        self._cluster.close()
        self._worker.close()

    def current_run(self) -> CurrentRun | None:
        """The run that has created the index; `None` when there is no such index, or no answer."""
        with contextlib.suppress(StackError):
            run_id = self._cluster.index_owner(self._index)
            created_s = self._cluster.index_made_s(self._index) if run_id else None
            if run_id and created_s is not None:
                return CurrentRun(run_id, created_s)
        return None

    def sources(self, run: CurrentRun) -> Sources:
        """Sources of the run's samples."""
        names = Names.of(self._profile, run.run_id)
        return Sources(
            endpoints=self._endpoints,
            index=names.index,
            topic=names.topic,
            consumer_group=names.consumer_group,
            connector=names.connector,
        )

    def state(self, run: CurrentRun) -> dict[str, Any]:
        """State of the connector and of its tasks, as fields of a sample's document; nothing without an answer."""
        with contextlib.suppress(StackError):
            states = self._worker.states(Names.of(self._profile, run.run_id).connector)
            if states is not None:
                connector, tasks = states
                running, failed = tasks.count("RUNNING"), tasks.count("FAILED")
                return {"connector_state": connector, "tasks_running": running, "tasks_failed": failed}
        return {}


class Watch:
    """Watches a pipeline until it is stopped.

    Args:
        profile: Its name.
        log: Takes a line of the log; no line is repeated.
        heartbeat: Called at every interval at which all is well.
        sampler: Writes samples into a file for as long as it is entered.
    """

    def __init__(
        self,
        profile: str,
        pipeline: Pipeline,
        server: Server,
        *,
        interval_s: float,
        log: Callable[[str], None],
        heartbeat: Callable[[], object] = lambda: None,
        sampler: Callable[[Sources, Path], AbstractContextManager[object]] | None = None,
    ) -> None:
        self._profile = profile
        self._pipeline = pipeline
        self._server = server
        self._interval_s = interval_s
        self._log = log
        self._heartbeat = heartbeat
        self._sampler = sampler or (lambda sources, file: Sampler(sources, file, interval_s, phase=lambda: "load"))
        self._last_line = ""

    def run(self, stop: threading.Event) -> None:
        """Watch the run that is under way, and when its index is created anew, the next one."""
        while not stop.is_set():
            run = self._pipeline.current_run()
            if run is None:
                self._log_once(f"waiting for the index of {self._profile}")
                self._heartbeat()
                stop.wait(self._interval_s)
            else:
                self._follow(run, stop)

    def _follow(self, run: CurrentRun, stop: threading.Event) -> None:
        sources = self._pipeline.sources(run)
        with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
            file = Path(folder) / "samples.ndjson"
            feed = SampleFeed(run.label(self._profile), self._server, file)
            try:
                with self._sampler(sources, file):
                    while not stop.wait(self._interval_s) and self._pipeline.current_run() in (None, run):
                        self._send(feed, sources, run)
            finally:  # Ctrl-C, too
                self._send_last(feed, run)

    def _send_last(self, feed: "SampleFeed", run: CurrentRun) -> None:
        """Send what was written since the last sending: the folder of the samples goes with its run."""
        try:
            feed.send_samples({})
        except StackError as error:
            self._log_once(f"{error}; the last samples of {self._profile} {run.run_id} are lost")

    def _send(self, feed: "SampleFeed", sources: Sources, run: CurrentRun) -> None:
        try:
            feed.send_samples(self._pipeline.state(run))
            feed.send_curves(histograms_of(sources), time.time())
        except StackError as error:
            self._log_once(f"{error}; samples are kept until it accepts them")
        else:
            every = f"a sample every {self._interval_s:g} s goes to {self._server.url}"
            self._log_once(f"{self._profile} {run.run_id}: {every}")
            self._heartbeat()

    def _log_once(self, line: str) -> None:
        if line != self._last_line:
            self._log(line)
        self._last_line = line


def histograms_of(sources: Sources) -> SinkHistograms:
    """The sink's latencies so far; none where no JMX agent gives them."""
    at = sources.endpoints
    if at.metrics_url and sources.connector:
        with contextlib.suppress(httpx.HTTPError, JolokiaError):
            return read_sink_histograms(at.metrics_url, sources.connector, access=at.access.metrics)
    return SinkHistograms(record_age=None, bulk_service_time=None)


class SampleFeed:
    """Sends the samples of a run as its sampler writes them into a file.

    The file holds the samples until they have been sent: while the server does not answer they stay in it, and the next
    sending has them all. What has been sent is removed from it.

    Args:
        file: Need not exist yet.
    """

    def __init__(self, label: Label, server: Server, file: Path) -> None:
        self._label = label
        self._server = server
        self._file = file
        self._sent_bytes = 0
        self._last: Sample | None = None

    def send_samples(self, state: Mapping[str, Any]) -> int:
        """Send what has been written since the last time; how many samples.

        Args:
            state: Additional fields of the last of them.

        Raises:
            StackError: The server does not accept them; the next time sends them again.
        """
        samples, end = samples_from(self._file, self._sent_bytes)
        if not samples:
            return 0
        documents = list(sample_documents(self._label, samples, self._last))
        last = documents[len(samples) - 1]
        documents[len(samples) - 1] = Document(last.id, {**last.source, **state})
        self._server.send(INDEX, documents)
        self._sent_bytes, self._last = emptied(self._file, end), samples[-1]
        return len(samples)

    def send_curves(self, histograms: SinkHistograms, at_s: float) -> None:
        """Send the latencies so far in place of those sent before.

        Raises:
            StackError: The server does not accept them.
        """
        self._server.send(INDEX, curve_documents(self._label, curves_so_far(histograms), at_s))


def emptied(file: Path, sent_bytes: int) -> int:
    """Empty a file of samples if all of it has been sent: a stream has no end. Returns where to go on reading."""
    with file.open("r+b") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        if opened.seek(0, os.SEEK_END) > sent_bytes:
            return sent_bytes
        opened.truncate(0)
    return 0


def samples_from(file: Path, start_bytes: int) -> tuple[list[Sample], int]:
    """The samples that stand whole in a file from a place on, and the place after the last of them."""
    if not file.exists():
        return [], start_bytes
    with file.open("rb") as opened:
        opened.seek(start_bytes)
        whole, feed, _ = opened.read().rpartition(b"\n")
    lines = [line for line in whole.split(b"\n") if line]
    return [Sample.model_validate_json(line) for line in lines], start_bytes + len(whole) + len(feed)
