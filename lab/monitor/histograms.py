"""Merges the histograms of a sink's tasks."""

from collections.abc import Iterable

from hdrh.histogram import HdrHistogram

from lab.endpoints import OPEN, HttpAccess
from lab.monitor.jolokia import SinkNotRegisteredError, read_beans
from lab.records import SinkHistograms

RECORD_AGE = "RecordAgeHistogram"
BULK_SERVICE_TIME = "BulkServiceTimeHistogram"


def read_sink_histograms(
    jolokia_url: str, connector: str, *, timeout_s: float = 10.0, access: HttpAccess = OPEN
) -> SinkHistograms:
    """The sink's histograms now, merged over its tasks; both `None` when no task has registered.

    Raises:
        httpx.HTTPError: The agent does not answer.
        JolokiaError: It answers with an error.
    """
    with access.client(timeout=timeout_s) as client:
        try:
            beans = read_beans(client, jolokia_url, connector, [RECORD_AGE, BULK_SERVICE_TIME]).values()
        except SinkNotRegisteredError:
            return SinkHistograms(record_age=None, bulk_service_time=None)
    return SinkHistograms(
        record_age=merged_histogram(bean.get(RECORD_AGE) for bean in beans),
        bulk_service_time=merged_histogram(bean.get(BULK_SERVICE_TIME) for bean in beans),
    )


def merged_histogram(encoded: Iterable[str | None]) -> str | None:
    """One histogram that holds the values of all, in the same encoding; `None` when there is none to merge."""
    histograms = [HdrHistogram.decode(text) for text in encoded if text]
    if not histograms:
        return None
    # Into the widest one, so that every value of the others fits.
    histograms.sort(key=lambda histogram: int(histogram.highest_trackable_value), reverse=True)
    widest, *others = histograms
    for other in others:
        widest.add(other)
    merged: bytes = widest.encode()
    return merged.decode("ascii")
