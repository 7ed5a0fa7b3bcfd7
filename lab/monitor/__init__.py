"""Reads what servers say of themselves, once per sampling interval, into the run's `samples.ndjson`."""

from lab.monitor.histograms import merged_histogram, read_sink_histograms
from lab.monitor.ledger import read_sink_ledger
from lab.monitor.sampler import CLOCK, Sampler
from lab.monitor.sources import Containers, Sources

__all__ = ["CLOCK", "Containers", "Sampler", "Sources", "merged_histogram", "read_sink_histograms", "read_sink_ledger"]
