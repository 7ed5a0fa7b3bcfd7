"""Latencies of one process or of all, in an HdrHistogram of microseconds."""

from typing import Final

from hdrh.histogram import HdrHistogram

LONGEST_US: Final = 3_600_000_000
SIGNIFICANT_DIGITS: Final = 3
PERCENTILES: Final = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99_9": 99.9, "max": 100.0}


class Latencies:
    """A histogram from 1 µs to an hour, three significant digits; longer ones count as an hour, and are counted."""

    def __init__(self) -> None:
        self._histogram = HdrHistogram(1, LONGEST_US, SIGNIFICANT_DIGITS)
        self.clamped = 0

    @property
    def samples(self) -> int:
        """How many latencies were recorded."""
        return int(self._histogram.get_total_count())

    def record(self, latency_ns: int) -> None:
        """Count one latency."""
        latency_us = latency_ns // 1000
        if latency_us > LONGEST_US:
            self.clamped += 1
            latency_us = LONGEST_US
        self._histogram.record_value(max(1, latency_us))

    def encoded(self) -> str:
        """The histogram in base64, for another process to add."""
        return bytes(self._histogram.encode()).decode("ascii")

    def add(self, encoded: str, clamped: int) -> None:
        """Add what another process recorded."""
        if encoded:
            self._histogram.decode_and_add(encoded)
        self.clamped += clamped

    def percentiles_ms(self) -> dict[str, float]:
        """Percentile name → ms; empty when nothing was recorded."""
        if not self.samples:
            return {}
        return {name: self._histogram.get_value_at_percentile(p) / 1000 for name, p in PERCENTILES.items()}
