"""Queries alone, on an index that is loaded and verified once and kept for later runs."""

import time
from typing import Any

from lab.profiles import QueryOnly
from lab.records.run import Layout
from lab.records.verification import Documents, Verification
from lab.run.load_kinds.base import Latest, Loading, Steps
from lab.run.query.ask import try_questions_out
from lab.run.query.layout import have_layout
from lab.run.query.send import QuerySending
from lab.run.verify.parts import Accounting
from lab.stack.groups import Bounds


class QueryLoading(Loading[QueryOnly]):
    """Queries to a kept index, which the load changes nothing in.

    Attributes:
        kept: Layout of the index, and the accounting of when it was made; there from the end of phase `fill` on.
    """

    kept: tuple[Layout, Documents, Verification]

    def clear(self) -> None:
        """Remove nothing: the run has no index of its own."""

    def create(self) -> None:
        """Create nothing."""

    def phases_before_samples(self) -> Steps:
        """Have the kept index. Where it is made, that has a sampler of its own."""
        yield "fill", self.have_index

    def have_index(self) -> None:
        """Find the index as an earlier run has left it, or make it."""
        run, cluster = self.run, self.clients.cluster
        self.kept = have_layout(run, cluster, lambda: try_questions_out(run))
        _, self.unassigned = cluster.index_health(run.names.index, "yellow", 1)
        self.unchanged_since_s = time.monotonic()

    def phases(self, latest: Latest) -> Steps:  # noqa: ARG002 - queries are followed by what their sender says
        """Send the queries, unless the index is not verified."""
        *_, verification = self.kept
        if not verification.verified:
            return
        bounds = Bounds(**self.run.profile.elasticsearch.bounds)
        with QuerySending(self.run, self.section.queries, None) as sending, self.run.target.bounded(bounds):
            yield "load", lambda: self.send(sending)

    def send(self, sending: QuerySending) -> None:
        """Send the queries of the profile."""
        self.run.progress.begin("load", "sending queries", None)
        sending.go()
        self.query_load = sending.result()

    def settle(self, latest: Latest) -> None:
        """Wait for nothing: queries cause no merges."""

    def verify(self) -> Accounting:
        """Take what verification found when the index was made."""
        return self.kept[1:]

    def record(self) -> dict[str, Any]:
        """The fields of `Run` about queries and the index that they read."""
        layout, *_ = self.kept
        return {**super().record(), "layout": layout}
