"""The absolute schedule: when each document is due, fixed before the first one is sent."""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

LATE_NS: Final = 100_000_000
"""A document sent this much after it was due is late."""


class Clock(Protocol):
    """The time that pacing goes by."""

    def monotonic_ns(self) -> int:
        """A clock that all processes of this machine share and that never steps."""
        ...


@dataclass(frozen=True)
class Schedule:
    """When documents are due.

    A document's due time does not depend on when its predecessors were sent: whoever falls behind sends at once, with
    the due times that were meant, so that the wait shows in every latency (no coordinated omission).

    Attributes:
        started_ns: When document `first` is due, on the monotonic clock.
        started_epoch_us: The same instant in microseconds since the Unix epoch.
        first: Number of the first document.
        rate_docs_per_s: Over all processes; `None` for as fast as possible, or as recorded.
        pace: Recorded times are divided by it; `None` for documents that are not due as they were recorded.
    """

    started_ns: int
    started_epoch_us: int
    first: int
    rate_docs_per_s: float | None
    pace: float | None = None

    def __post_init__(self) -> None:
        if self.rate_docs_per_s is not None and not self.rate_docs_per_s > 0:
            raise ValueError(f"rate_docs_per_s: got {self.rate_docs_per_s}, expected more than 0")

    @property
    def is_paced(self) -> bool:
        """True if documents have due times."""
        return self.rate_docs_per_s is not None or self.pace is not None

    def due_ns(self, numbers: NDArray[np.int64], recorded_ns: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """When each document is due, on the monotonic clock: started + (number - first) / rate, or as recorded.

        Args:
            recorded_ns: When each was written, since the first one of all was.

        Raises:
            ValueError: There is neither a rate nor a recorded time.
        """
        if self.pace is not None and recorded_ns is not None:
            return np.rint(recorded_ns / self.pace).astype(np.int64) + self.started_ns
        if self.rate_docs_per_s is None:
            raise ValueError("without a rate no document has a due time of its own")
        after_ns: NDArray[np.int64] = np.rint((numbers - self.first) * (1e9 / self.rate_docs_per_s)).astype(np.int64)
        return after_ns + self.started_ns

    def epoch_us(self, monotonic_ns: int) -> int:
        """An instant of the monotonic clock in microseconds since the Unix epoch."""
        return self.started_epoch_us + (monotonic_ns - self.started_ns) // 1000

    def epoch_headers(self, monotonic_ns: NDArray[np.int64]) -> list[bytes]:
        """Each instant as eight bytes, big-endian, in microseconds since the Unix epoch."""
        epoch_us = self.started_epoch_us + (monotonic_ns - self.started_ns) // 1000
        headers: list[bytes] = epoch_us.astype(">i8").view("V8").tolist()
        return headers
