"""Reads what servers say of themselves, once per sampling interval, into the run's `samples.ndjson`."""

from lab.monitor.containers import Containers
from lab.monitor.sampler import CLOCK, Sampler, Sources
from lab.monitor.sink import merged_histogram, read_sink_histograms, read_sink_ledger

__all__ = ["CLOCK", "Containers", "Sampler", "Sources", "merged_histogram", "read_sink_histograms", "read_sink_ledger"]
