"""The warm-up of a stream: its first seconds, of which no end-to-end latency counts."""

from collections.abc import Callable
from dataclasses import dataclass, field

from lab.records.run import SinkHistograms

WARM_UP_S = 5.0
"""From the first due time, as of queries. What waits for a sink that takes 1.4 s to start is caught up by then at 70 %
of the limit; of a stream of 20 s the first 0.2 s would decide its p99."""


@dataclass
class StreamWarmUp:
    """Reads the ages of a stream's records once, when its warm-up is over.

    Later ones are what the sink has told in the end without these. They begin at due times all the same: a record that
    was due in the warm-up and is acknowledged after it counts with all of its age.

    Attributes:
        read: The sink's histograms so far.
        histograms: What it told at the end of the warm-up; `None` before it.
        ended_s: When that was, from the first due time.
    """

    read: Callable[[], SinkHistograms]
    histograms: SinkHistograms | None = field(default=None, init=False)
    ended_s: float = field(default=0.0, init=False)

    def follow(self, since_due_s: float) -> None:
        """Look whether it is over, again and again while documents are produced.

        Args:
            since_due_s: Time since the first document was due.
        """
        if self.histograms is not None or since_due_s < WARM_UP_S:
            return
        histograms = self.read()
        # A sink that has no task yet has acknowledged nothing: its start goes on.
        if histograms.record_age is not None:
            self.histograms, self.ended_s = histograms, since_due_s

    def cut(self, whole: SinkHistograms) -> SinkHistograms:
        """The histograms of the whole stream, with what is to be left out of them where it lasted that long."""
        if self.histograms is None:
            return whole
        early = {"warm_up_record_age": self.histograms.record_age, "warm_up_s": self.ended_s}
        return whole.model_copy(update=early)
