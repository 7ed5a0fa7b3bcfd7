"""The buckets of Kibana's Stack Monitoring charts: how small they are, and which of them a run leaves empty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

LEAST_BUCKET_S = 10
"""Kibana's `monitoring.ui.min_interval_seconds`, unless it is set."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The two counters behind the charts at one instant; `None` where a document does not carry them."""

    at_s: float
    documents: int | None
    time_ms: int | None


def gaps(readings: Sequence[Counted], size_s: int) -> int:
    """Buckets between the first reading and the last that hold none; each costs Kibana two points of a line."""
    filled = {math.floor(reading.at_s / size_s) for reading in readings if reading.documents is not None}
    return max(filled) - min(filled) + 1 - len(filled) if filled else 0
