"""A stream in stages, each at a rate of its own, and a cluster that is paused meanwhile."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from math import floor

from lab.errors import StackError
from lab.monitor import CLOCK
from lab.profiles.models import Stream
from lab.profiles.suites import rate_docs_per_s
from lab.records.run import Course, StageRecord
from lab.records.samples import Sample
from lab.run.load.drain import DrainWatch
from lab.run.load.produce import Producing
from lab.run.load.sink import POLL_S, Sink
from producers.delivery import Delivered, total_in_sequence

STARTED_S = 1.0
"""Of a first stage that is drained: from the first growth of the index, what the limit is not taken from."""
LEAST_S = 5.0
"""Of the rest, as of a measured window: what drains in two seconds is up to twice as fast as what lasts."""


class Stages:
    """The stages of one run.

    Args:
        latest: The newest sample.
        check: Raises an error if what takes part in the run has ended.
    """

    def __init__(
        self,
        producing: Producing,
        sink: Sink,
        section: Stream,
        *,
        latest: Callable[[], Sample | None],
        check: Callable[[], None],
    ) -> None:
        self._producing = producing
        self._sink = sink
        self._section = section
        self._latest = latest
        self._check_others = check
        self._parts: list[Delivered] = []
        self._stages: list[StageRecord] = []
        self._limit_docs_per_s: float | None = None
        self._last_due_s: float | None = None
        self._paused: list[int] = []
        self._paused_s: float | None = None
        self._resumed_s: float | None = None

    @property
    def node_pids(self) -> list[int]:
        """Processes of the cluster's nodes; raises StackError if none is running any more."""
        pids = self._producing.run.target.process_ids()
        nodes = [pid for name, pid in pids.items() if name.startswith("elasticsearch-")]
        if not nodes:
            raise StackError("load.pause: no node of the cluster is running any more, expected one to pause")
        return nodes

    def run(self) -> tuple[Delivered, Course]:
        """Produce all stages, pausing the nodes when it is time; return once the nodes answer again."""
        self._refuse()
        with self._resuming():
            for number in range(len(self._section.stages)):
                self._stage(number)
            self._await_resume()
        return total_in_sequence(self._parts), Course(
            stages=tuple(self._stages),
            limit_docs_per_s=self._limit_docs_per_s,
            paused_s=self._paused_s,
            resumed_s=self._resumed_s,
        )

    def _refuse(self) -> None:
        """Refuse what cannot be done, before anything is produced."""
        if self._section.pause:
            self.node_pids  # noqa: B018 - raises
        self._section.refuse_documents(self._producing.run.dataset.documents)

    def _stage(self, number: int) -> None:
        stage, done = self._section.stages[number], sum(each.documents for each in self._stages)
        is_last = number == len(self._section.stages) - 1
        whole = self._producing.run.dataset.documents
        stop = whole if is_last else done + (stage.documents or 0)
        rate = self._rate(stage.rate)
        is_drained = number == 0 and rate is None
        if number == 0 and not is_drained:
            self._sink.start()
        started_s = CLOCK.now_s()
        if is_last:
            self._last_due_s = started_s
        check = None if is_drained else self._check
        self._parts.append(self._producing.step(done, stop, rate, check or (lambda: None)))
        record = StageRecord(documents=stop - done, rate_docs_per_s=rate, started_s=started_s, ended_s=CLOCK.now_s())
        self._stages.append(record)
        if is_drained:
            self._sink.start()
            self._limit_docs_per_s = self._drain()

    def _rate(self, stated: str | None) -> float | None:
        if stated is None:
            return self._section.rate_docs_per_s
        return None if stated == "fast" else rate_docs_per_s(stated, self._limit_docs_per_s or 0.0)

    def _drain(self) -> float:
        """Wait until the first stage is indexed; documents per second that the index grew by.

        Raises:
            StackError: Too few samples saw it grow.
        """
        documents = self._parts[0].delivered
        self._producing.run.progress.begin("load", "draining the first stage", documents)
        watch = DrainWatch(documents, self._section.timeout_s, goal="either")
        grown: list[tuple[float, int]] = []
        while True:
            sample = self._latest()
            if sample and (read := sample.elasticsearch):
                seen = (read.read_s or sample.at_s, read.primaries.index_total)
                if seen[1] and (not grown or seen[1] > grown[-1][1]):
                    grown.append(seen)
            if watch.done(sample) or (grown and grown[-1][1] >= documents):
                break
            self._check_others()
            self._producing.run.progress.update(watch.position, watch.detail)
            time.sleep(POLL_S)
        return limit_of(grown)

    # --- the pause --------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Pause and resume the nodes when it is time; look after all else that takes part."""
        pause, now_s = self._section.pause, CLOCK.now_s()
        if pause and self._last_due_s is not None:
            if self._paused_s is None and now_s >= self._last_due_s + pause.after_s:
                self._paused, self._paused_s = self.node_pids, now_s
                _signal(self._paused, signal.SIGSTOP)
            elif self._paused and self._paused_s is not None and now_s >= self._paused_s + pause.seconds:
                self._resume()
        self._check_others()

    def _resume(self) -> None:
        _signal(self._paused, signal.SIGCONT)
        self._paused = []
        self._resumed_s = CLOCK.now_s()

    def _await_resume(self) -> None:
        while self._section.pause and self._resumed_s is None:
            self._check()
            self._producing.run.progress.update(0, "the cluster is paused" if self._paused else "")
            time.sleep(POLL_S)

    @contextlib.contextmanager
    def _resuming(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._paused:
                self._resume()


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def limit_of(grown: list[tuple[float, int]]) -> float:
    """Documents per second of a drain, from a second after the first growth of the index to the last.

    Args:
        grown: Instant and documents of each reading in which the index had grown.

    Raises:
        StackError: It is over too soon.
    """
    rest = [each for each in grown if each[0] >= grown[0][0] + STARTED_S]
    lasted_s = rest[-1][0] - rest[0][0] if rest else 0.0
    if lasted_s < LEAST_S:
        # Cut, so that 4.96 s are not "5.0 s, expected at least 5 s".
        raise StackError(
            f"load.stages: the first stage was drained for {floor(10 * lasted_s) / 10} s after its first second, "
            f"expected at least {LEAST_S:.0f} s, to know the limit; give it more documents"
        )
    (began_s, before), (ended_s, after) = rest[0], rest[-1]
    return (after - before) / (ended_s - began_s)
