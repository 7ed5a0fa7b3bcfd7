"""A direct load: ready-made bulk requests, without Kafka and sink."""

import contextlib
from typing import Any

from lab.monitor import CLOCK
from lab.profiles import Direct
from lab.records.run import DirectLoad, SinkHistograms
from lab.run.load.direct import ReadySender, ready_sender, refusals, send_bodies
from lab.run.load.drain import wait_for_sample_after
from lab.run.load_kinds.base import Latest, Loading, Steps


class DirectLoading(Loading[Direct]):
    """A direct load.

    Attributes:
        direct: Record of the sending process; there once that has ended.
        service_times: Histogram of its bulk requests, as `SinkHistograms.bulk_service_time`.
    """

    direct: DirectLoad
    service_times: str | None
    _ready: ReadySender
    _done: dict[str, Any]

    def phases(self, latest: Latest) -> Steps:
        """Make the bulk bodies, then send them."""
        with contextlib.ExitStack() as leaving:
            yield "fill", lambda: self.make_bodies(leaving)
            yield "load", lambda: self.send(latest)
        documents = self.run.dataset
        self.direct = self._ready.record(self._done, documents.entities(0, documents.documents))
        self.service_times = self._done["service_times"]

    def make_bodies(self, leaving: contextlib.ExitStack) -> None:
        """Make the bulk bodies and start the process that sends them, which ends with `leaving`."""
        self._ready = leaving.enter_context(ready_sender(self.run, self.section, self.run.names.indices))

    def send(self, latest: Latest) -> None:
        """Send all bodies, and wait until a sample has seen the last of them."""
        self._done = send_bodies(self.run, self._ready, latest, phase="load")
        wait_for_sample_after(CLOCK.now_s(), latest)

    def refusals(self) -> tuple[str, ...]:
        """One sentence if Elasticsearch has refused documents."""
        return refusals(self.direct)

    def record(self) -> dict[str, Any]:
        """The fields of `Run` about a direct load."""
        histograms = SinkHistograms(record_age=None, bulk_service_time=self.service_times)
        return {**super().record(), "direct": self.direct, "sink_histograms": histograms}
