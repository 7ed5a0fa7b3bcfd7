"""Watching a load: how far it is, how fast, and whether it still moves."""

import time
from collections.abc import Callable
from typing import Literal

from lab.analysis.text import number
from lab.errors import StackError
from lab.monitor import CLOCK
from lab.records.samples import Sample

STALLED_S = 300.0
"""A load in which nothing moves for so long is given up. The sink bridges shorter outages."""

POLL_S = 0.1
LAST_SAMPLE_WITHIN_S = 30.0

Goal = Literal["committed", "indexed", "either"]

WHERE_TO_LOOK: dict[Goal, str] = {
    "committed": "check the worker's log (local: `./sluice logs connect`)",
    "indexed": "check Elasticsearch's log (local: `./sluice logs elasticsearch-1`)",
    "either": "check sink.log in the run's folder",
}

STILL_SAMPLES = 2
"""Samples in which nothing moved any more: a pipeline may commit what it has only read."""


class DrainWatch:
    """Follows the samples of a load until every record has reached its goal.

    Args:
        records: How many records there are.
        timeout_s: A longer load is aborted.
        goal: What has to become of them: `committed` by the sink, or `indexed`; `either`, for a pipeline of which
            nobody knows whether it commits, is reached when the index has stopped growing as well.
    """

    def __init__(
        self, records: int, timeout_s: float, clock: Callable[[], float] = time.monotonic, *, goal: Goal = "committed"
    ) -> None:
        self._records = records
        self._goal = goal
        self._timeout_s = timeout_s
        self._clock = clock
        self._started_s = self._moved_s = clock()
        self._last_position = (0, 0)
        self._last_sample: Sample | None = None
        self._rate_docs_per_s: float | None = None
        self.indexed = 0
        self._committed = 0
        self._still_samples = 0

    def done(self, sample: Sample | None) -> bool:
        """Whether the newest sample shows every record at its goal.

        Raises:
            StackError: Nothing has moved for five minutes, or the time is over.
        """
        now_s = self._clock()
        if sample is not None and sample is not self._last_sample:
            self._follow(sample, now_s)
        reached = {"committed": self._committed, "indexed": self.indexed, "either": self.position}[self._goal]
        if reached >= self._records and (self._goal != "either" or self._still_samples >= STILL_SAMPLES):
            return True
        became = "indexed or committed" if self._goal == "either" else self._goal
        so_far = f"{reached:,} of {self._records:,} records are {became}"
        where = WHERE_TO_LOOK[self._goal]
        if now_s - self._moved_s > STALLED_S:
            raise StackError(f"load: no progress for {STALLED_S:.0f} s: {so_far}; {where}")
        if now_s - self._started_s > self._timeout_s:
            raise StackError(f"load: not done after load.timeout_s = {self._timeout_s:g} s: {so_far}; {where}")
        return False

    def _follow(self, sample: Sample, now_s: float) -> None:
        before, self._last_sample = self._last_sample, sample
        if sample.kafka is not None:
            self._committed = sample.kafka.committed_offset
        if sample.elasticsearch is not None:
            indexed = sample.elasticsearch.primaries.index_total
            if before is not None and before.elasticsearch is not None and sample.at_s > before.at_s:
                grown = indexed - before.elasticsearch.primaries.index_total
                self._rate_docs_per_s = grown / (sample.at_s - before.at_s) if grown >= 0 else None
            self.indexed = indexed
        position = (self._committed, self.indexed)
        self._still_samples += 1
        if position != self._last_position:
            self._last_position, self._moved_s, self._still_samples = position, now_s, 0

    @property
    def position(self) -> int:
        """How far the load is: what is indexed shows before it is committed, and some sinks index nothing."""
        return max(self.indexed, self._committed)

    @property
    def detail(self) -> str:
        """Rate and, of a topic, lag in a few words."""
        rate = "" if self._rate_docs_per_s is None else f"{number(self._rate_docs_per_s)}/s indexed"
        if self._goal != "committed":
            return rate
        return f"{rate}{', ' if rate else ''}lag {max(0, self._records - self._committed):,}"


def wait_for_sample_after(instant_s: float, latest: Callable[[], Sample | None]) -> None:
    """Return once Elasticsearch's counters have been read after the instant, or after 30 s without such a sample."""
    deadline_s = CLOCK.now_s() + LAST_SAMPLE_WITHIN_S
    while CLOCK.now_s() < deadline_s:
        sample = latest()
        if sample is not None and sample.elasticsearch is not None:
            read_s = sample.elasticsearch.read_s
            if (sample.at_s if read_s is None else read_s) > instant_s:
                return
        time.sleep(POLL_S)
