"""A deployment while it is under way: watched until every copy is where it ought to be."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lab.analysis.text import number
from lab.clients.elasticsearch import ElasticsearchClient
from lab.errors import StackError
from lab.monitor import CLOCK
from lab.profiles.models import Maintain
from lab.run.maintain.placement import STARTED, Copy, copies_of, indices_in_place
from lab.run.maintain.recoveries import RecoveryBook
from lab.run.phases import RunContext

POLL_S = 0.3
RETRY_EVERY_S = 5.0
MEGABYTE = 1e6


@dataclass
class Moving:
    """The indices of a run on their way.

    Attributes:
        to: The nodes that they go to.
        check: Called at every poll, for whatever else is under way.
        total_bytes: Bytes that will be copied, for the display.
        in_place_s: Index → when all of it was first seen in place.
        retries: How often allocations that Elasticsearch had given up were asked for again.
    """

    run: RunContext
    cluster: ElasticsearchClient
    section: Maintain
    to: Sequence[str]
    check: Callable[[], None]
    total_bytes: int
    book: RecoveryBook
    in_place_s: dict[str, float] = field(default_factory=dict)
    retries: int = 0
    started_s: float = 0.0
    _deadline: float = 0.0
    _retried: float = float("-inf")

    def begin(self, indices: Sequence[str]) -> None:
        """The deployment is about to be asked for; what has gone on until now is no part of it."""
        self.book.ignore(self._recovery(indices))
        self.started_s = CLOCK.now_s()
        self._deadline = time.monotonic() + self.section.timeout_s

    def wait(
        self, indices: Sequence[str], what: str, is_done: Callable[[Sequence[Copy]], set[str]] | None = None
    ) -> None:
        """Poll until all of the indices are in place.

        Args:
            what: What is waited for, in a few words.
            is_done: Which of them are; by default those with all copies on their nodes, and none elsewhere.

        Raises:
            StackError: That takes longer than the profile allows.
        """
        self.run.progress.begin("maintain", what, self.total_bytes)
        while True:
            copies = self.poll(indices)
            done = (is_done or self.in_place)(copies)
            if is_done is None:
                # An index whose node dies after it was complete is not in place any more.
                since = self.in_place_s
                self.in_place_s = {index: since.get(index, CLOCK.now_s()) for index in done}
            if done == set(indices):
                return
            self.pause(lambda copies=copies: self._obstacle(copies))  # type: ignore[misc]

    def in_place(self, copies: Sequence[Copy]) -> set[str]:
        """The indices that are where they ought to be."""
        return indices_in_place(copies, self.to, self.section.number_of_replicas)

    def poll(self, indices: Sequence[str]) -> list[Copy]:
        """Take note of the recoveries, show how far they are, and have what was given up tried again."""
        # The routing is read first: what is in place then has its recovery written down by the next reading.
        copies = copies_of(self.cluster, indices)
        self.book.read(CLOCK.now_s(), self._recovery(indices))
        self._retry(copies)
        self.run.progress.update(self.book.copied_bytes, self._detail(copies))
        return copies

    def pause(self, obstacle: Callable[[], str] = str) -> None:
        """Wait for the next poll; raises StackError if the deployment takes longer than the profile allows."""
        self.check()
        if time.monotonic() > self._deadline:
            raise StackError(
                f"maintain: still not done after {self.section.timeout_s:g} s (maintain.timeout_s){obstacle()}"
            )
        time.sleep(POLL_S)

    def _recovery(self, indices: Sequence[str]) -> dict[str, dict[str, object]]:
        _, answer = self.cluster.request("GET", f"/{','.join(indices)}/_recovery")
        return answer or {}

    def _retry(self, copies: Sequence[Copy]) -> None:
        if any(copy.is_given_up for copy in copies) and time.monotonic() - self._retried > RETRY_EVERY_S:
            self._retried = time.monotonic()
            self.retries += 1
            self.cluster.request("POST", "/_cluster/reroute?retry_failed=true&metric=none")

    def _detail(self, copies: Sequence[Copy]) -> str:
        elapsed_s, copied = CLOCK.now_s() - self.started_s, self.book.copied_bytes
        rate = copied / elapsed_s if elapsed_s > 0 else 0.0
        waiting = sum(copy.state == "UNASSIGNED" for copy in copies)
        parts = [
            f"{copied / MEGABYTE:,.0f} of {self.total_bytes / MEGABYTE:,.0f} MB",
            f"{number(rate / MEGABYTE)} MB/s",
            f"{waiting} copies unassigned" if waiting else "",
        ]
        return ", ".join(filter(None, parts))

    def _obstacle(self, copies: Sequence[Copy]) -> str:
        """Why the first copy that is not in place is not, in Elasticsearch's words; empty if it does not say."""
        for copy in copies:
            if copy.state == STARTED and copy.node in self.to:
                continue
            body = {"index": copy.index, "shard": copy.shard, "primary": copy.primary}
            status, answer = self.cluster.request("POST", "/_cluster/allocation/explain", body, accept=(400,))
            if status == 200:
                reasons = [
                    decider["explanation"]
                    for node in answer.get("node_allocation_decisions", [])
                    if node["node_name"] in self.to
                    for decider in node.get("deciders", [])
                    if decider["decision"] == "NO"
                ]
                why = reasons[0] if reasons else answer.get("allocate_explanation") or answer.get("move_explanation")
                return f"; shard {copy.shard} of {copy.index}: {why}" if why else ""
        return ""
