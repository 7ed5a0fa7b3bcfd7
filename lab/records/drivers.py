"""The drivers of a load on other hosts: the documents that each sent, and the offset of its clock."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from lab.records.base import Count, Record


class ClockOffset(Record):
    """Offset of a clock: by how much it is ahead of another.

    Attributes:
        ahead_ms: Negative: behind.
        bound_ms: The true offset lies within `ahead_ms` ± `bound_ms`: that is no confidence interval but all that the
            readings leave possible.
    """

    ahead_ms: float
    bound_ms: float = Field(ge=0)

    @classmethod
    def between(cls, least_ms: float, most_ms: float) -> "ClockOffset":
        """The offset of which no more is known than that it lies between the two."""
        return cls(ahead_ms=(least_ms + most_ms) / 2, bound_ms=(most_ms - least_ms) / 2)

    @property
    def most_ms(self) -> float:
        """The largest offset possible, whatever its sign."""
        return abs(self.ahead_ms) + self.bound_ms

    def minus(self, other: "ClockOffset") -> "ClockOffset":
        """Offset of clock A to C, if this is of A to B and `other` of C to B; of C to B, if `other` is of A to C."""
        return ClockOffset(ahead_ms=self.ahead_ms - other.ahead_ms, bound_ms=self.bound_ms + other.bound_ms)


def covering_offset(offsets: Sequence[ClockOffset | None]) -> ClockOffset | None:
    """The narrowest offset that contains each of these offsets of one clock; `None` where one of them is not known."""
    known = [offset for offset in offsets if offset is not None]
    if not known or len(known) < len(offsets):
        return None
    return ClockOffset.between(
        min(offset.ahead_ms - offset.bound_ms for offset in known),
        max(offset.ahead_ms + offset.bound_ms for offset in known),
    )


class Driver(Record):
    """One of several drivers of a stream.

    Attributes:
        share: Which share of the load it sent, from 1.
        host: Where it ran, as ssh was told; `None` where somebody started it by hand.
        delivered: Documents that Kafka acknowledged.
        late_documents: Documents sent more than 100 ms after they were due.
        latency_ms: Due → acknowledged by Kafka, by its own clock: percentile name → ms.
        cpu_s: CPU time of its producer processes.
        clock: Its clock against that of `clock_of`; `None` where it could not be compared.
        clock_of: `worker`: the Connect worker, whose clock ends every end-to-end latency; `broker`, where the worker
            has no metrics agent to ask.
    """

    share: int = Field(ge=1)
    host: str | None
    delivered: Count
    late_documents: Count
    latency_ms: dict[str, float]
    cpu_s: float
    clock: ClockOffset | None
    clock_of: Literal["worker", "broker"]
