"""The Kafka reader behind its seam."""

from collections.abc import Sequence

import pytest

from lab.monitor.kafka import KafkaReader
from lab.records import KafkaSample


class Offsets:
    """Kafka as a test wants it."""

    def __init__(self, end: dict[int, int], committed: dict[int, int]) -> None:
        self.end = end
        self.committed = committed
        self.partitions_asked = 0
        self.down = False
        self.order: list[str] = []

    def partitions(self) -> Sequence[int]:
        """The partitions there are now."""
        self.partitions_asked += 1
        return sorted(self.end)

    def end_offsets(self, partitions: Sequence[int]) -> list[int]:
        """As the test says."""
        self.order.append("end")
        return [self.end[partition] for partition in partitions]

    def committed_offsets(self, partitions: Sequence[int]) -> list[int]:
        """As the test says; a failure while down."""
        self.order.append("committed")
        if self.down:
            raise TimeoutError("no broker")
        return [self.committed[partition] for partition in partitions]

    def close(self) -> None:
        """Nothing to close."""


def test_offsets_are_summed_over_partitions() -> None:
    """Lag is the topic's, not one partition's."""
    sample = KafkaReader(Offsets({0: 101, 1: 103}, {0: 97, 1: 101})).read()
    assert sample == KafkaSample(end_offset=204, committed_offset=198)
    assert sample.lag_records == 6


def test_a_partition_without_a_commit_counts_as_nothing_committed() -> None:
    """Kafka says -1001 for it, which must not be added."""
    assert KafkaReader(Offsets({0: 101, 1: 103}, {0: -1001, 1: 7})).read().committed_offset == 7


def test_the_committed_offset_is_read_before_the_end() -> None:
    """The other way round, a fast sink would seem to be ahead of the topic."""
    offsets = Offsets({0: 1}, {0: 0})
    KafkaReader(offsets).read()
    assert offsets.order == ["committed", "end"]


def test_partitions_are_asked_once_and_again_after_a_failure() -> None:
    """A topic made anew may have another number of partitions; one that stands does not change."""
    offsets = Offsets({0: 101}, {0: 97})
    reader = KafkaReader(offsets)
    reader.read()
    reader.read()
    assert offsets.partitions_asked == 1
    offsets.down = True
    with pytest.raises(TimeoutError):
        reader.read()
    offsets.down = False
    offsets.end, offsets.committed = {0: 101, 1: 103}, {0: 97, 1: 101}
    assert reader.read() == KafkaSample(end_offset=204, committed_offset=198)
