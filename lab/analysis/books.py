"""The books of a run as sums that a reader can check."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.records import Documents, Sample, SinkSample


@dataclass(frozen=True, slots=True)
class Sum:
    """Parts that must add up to a whole.

    Attributes:
        parts: What each part is called and how many records it holds.
    """

    title: str
    whole: tuple[str, int]
    parts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """What the parts add up to."""
        return sum(records for _, records in self.parts)

    @property
    def difference(self) -> int:
        """Records that the parts lack; negative when they hold too many."""
        return self.whole[1] - self.total


def last_sink_sum(samples: Sequence[Sample]) -> Sum | None:
    """The sink's own books at its last sample; `None` when it was never sampled."""
    last = next((sample.sink for sample in reversed(samples) if sample.sink), None)
    return sink_sum(last) if last else None


def run_sums(documents: Documents) -> tuple[Sum, Sum]:
    """The run's two laws: produced = delivered + failed; delivered = indexed + already there + dead-lettered."""
    return (
        Sum(
            "Into Kafka",
            ("documents produced", documents.produced),
            (
                ("delivered: acknowledged by Kafka", documents.delivered),
                ("failed: given up by the producer", documents.failed),
            ),
        ),
        Sum(
            "Into Elasticsearch",
            ("records delivered", documents.delivered),
            (
                ("indexed: found in the index, id by id", documents.indexed),
                ("already there: replaced by a later record of the same key", documents.already_there),
                ("dead-lettered: refused, kept with the reason", documents.dead_lettered),
            ),
        ),
    )


def sink_sum(sink: SinkSample) -> Sum:
    """The sink's conservation law: what it has read is somewhere."""
    return Sum(
        "The sink's own books",
        ("records read from Kafka", sink.records_read),
        (
            ("indexed as new", sink.records_indexed),
            ("updated", sink.records_updated),
            ("deleted", sink.records_deleted),
            ("already there: read twice", sink.records_already_there),
            ("stale: a newer version was there", sink.records_stale),
            ("dead-lettered", sink.records_dead_lettered),
            ("dropped", sink.records_dropped),
            ("in flight at the last sample", sink.records_in_flight),
        ),
    )
