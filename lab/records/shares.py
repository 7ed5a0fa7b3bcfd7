"""Record that one of several drivers writes of its share of a load."""

from typing import Literal

from pydantic import Field

from lab.records.base import Count, Record
from lab.records.drivers import ClockOffset
from producers.delivery import Delivered

PLAN = (
    "sluice_version",
    "topic",
    "dataset",
    "content_hash",
    "documents",
    "of",
    "processes",
    "rate_docs_per_s",
    "start_at_s",
)
"""What all shares of a load must have in common: otherwise they are not shares of one."""


class DeliveryRecord(Record):
    """The delivery of one share.

    Attributes:
        dataset: Its name, its seed and its options; the file's path is none of them, since each host has its own.
        content_hash: BLAKE2b of the documents, where they were read from a file.
        documents: Of the whole dataset, over all shares.
        share: Which it is, from 1.
        of: How many there are.
        processes: Producer processes of each share, which decide who sends which document.
        rate_docs_per_s: Over all shares; `None` for as fast as possible.
        start_at_s: When the first document of all was due, seconds since the Unix epoch by this host's clock; `None`
            for a load of one share that began at once.
        clock: Of this host against the broker that leads the topic which it was told to compare with, before it sent
            and after; `None` where it was told none, or that broker did not answer.
    """

    schema_version: Literal[1] = 1
    sluice_version: str
    topic: str
    dataset: dict[str, str | int | float]
    content_hash: str | None
    documents: Count
    share: int = Field(ge=1)
    of: int = Field(ge=1)
    processes: int = Field(ge=1)
    rate_docs_per_s: float | None
    start_at_s: float | None
    delivered: Delivered
    clock: ClockOffset | None = None

    @property
    def name(self) -> str:
        """As a reader reads it: `share 2/5`."""
        return f"share {self.share}/{self.of}"
