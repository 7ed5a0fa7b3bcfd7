"""Watches a stream that has no end: samples it and sends the samples as they are taken."""

import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx

from lab.errors import StackError
from lab.monitor import Sampler, Sources, read_sink_histograms
from lab.monitor.jolokia import JolokiaError
from lab.publish.label import Label
from lab.publish.live import LiveRun
from lab.publish.server import Server
from lab.records import SinkHistograms

NO_HISTOGRAMS = SinkHistograms(record_age=None, bulk_service_time=None)


@dataclass(frozen=True, slots=True)
class Subject:
    """A run that is under way.

    Attributes:
        began_s: When its index was made.
    """

    run_id: str
    began_s: float


class Pipeline(Protocol):
    """What is watched. A server of it that does not answer is no error: it may be on its way up."""

    def subject(self) -> Subject | None:
        """The run whose index is there; `None` when there is no index, or no answer."""
        ...

    def sources(self, subject: Subject) -> Sources:
        """Where its figures come from."""
        ...

    def state(self, subject: Subject) -> Mapping[str, Any]:
        """What is known of its connector, as fields of a sample's document."""
        ...


class Watch:
    """Watches a pipeline until it is told to stop.

    Args:
        profile: Its name.
        tell: Takes a sentence for whoever reads the log, whenever there is another one to be said.
        alive: Called at every interval at which all is well.
        sampler: Writes samples into a file for as long as it is entered.
    """

    def __init__(
        self,
        profile: str,
        pipeline: Pipeline,
        server: Server,
        *,
        interval_s: float,
        tell: Callable[[str], None],
        alive: Callable[[], object] = lambda: None,
        sampler: Callable[[Sources, Path], AbstractContextManager[object]] | None = None,
    ) -> None:
        self._profile = profile
        self._pipeline = pipeline
        self._server = server
        self._interval_s = interval_s
        self._tell = tell
        self._alive = alive
        self._sampler = sampler or self._own_sampler
        self._told = ""

    def run(self, stop: threading.Event) -> None:
        """Watch the run that is under way, and when its index has been made anew, the next one."""
        while not stop.is_set():
            subject = self._pipeline.subject()
            if subject is None:
                self._say(f"waiting for the index of {self._profile}")
                self._alive()
                stop.wait(self._interval_s)
            else:
                self._follow(subject, stop)

    def _follow(self, subject: Subject, stop: threading.Event) -> None:
        sources = self._pipeline.sources(subject)
        with tempfile.TemporaryDirectory(prefix="sluice-") as folder:
            file = Path(folder) / "samples.ndjson"
            live = LiveRun(label_of(self._profile, subject), self._server, file)
            with self._sampler(sources, file):
                while not stop.wait(self._interval_s) and self._pipeline.subject() in (None, subject):
                    self._send(live, sources, subject)

    def _own_sampler(self, sources: Sources, file: Path) -> Sampler:
        return Sampler(sources, file, self._interval_s, phase=lambda: "load")

    def _send(self, live: LiveRun, sources: Sources, subject: Subject) -> None:
        try:
            live.send_samples(self._pipeline.state(subject))
            live.send_curves(histograms_of(sources), time.time())
        except StackError as error:
            self._say(f"{error}; samples are kept until it takes them")
        else:
            every = f"a sample every {self._interval_s:g} s goes to {self._server.url}"
            self._say(f"{self._profile} {subject.run_id}: {every}")
            self._alive()

    def _say(self, sentence: str) -> None:
        if sentence != self._told:
            self._tell(sentence)
        self._told = sentence


def label_of(profile: str, subject: Subject) -> Label:
    """The label of a run that is watched. Not the run's own: once that is published, it has samples of its own."""
    return Label(
        run_id=f"{subject.run_id}-live",
        profile=profile,
        started_s=subject.began_s,
        load_started_s=subject.began_s,
        verified=None,
        cpu_cores=None,
        target="live",
    )


def histograms_of(sources: Sources) -> SinkHistograms:
    """The sink's latencies so far; none where no agent tells them."""
    at = sources.endpoints
    if not (at.metrics_url and sources.connector):
        return NO_HISTOGRAMS
    try:
        return read_sink_histograms(at.metrics_url, sources.connector, access=at.access.metrics)
    except (httpx.HTTPError, JolokiaError):
        return NO_HISTOGRAMS
