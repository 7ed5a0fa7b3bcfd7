"""Sends the samples of a run that is under way, as its sampler writes them."""

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.publish.document import Document
from lab.publish.label import Label
from lab.publish.samples import INDEX, curve_documents, sample_documents
from lab.publish.server import Server
from lab.records import Sample, SinkHistograms


class LiveRun:
    """A run whose file of samples grows.

    The file is what holds the samples until they have been sent: while the server does not answer they stay in it, and
    the next sending has them all. What has been sent is removed from it.

    Args:
        file: Need not be there yet.
    """

    def __init__(self, label: Label, server: Server, file: Path) -> None:
        self._label = label
        self._server = server
        self._file = file
        self._sent_bytes = 0
        self._last: Sample | None = None

    def send_samples(self, state: Mapping[str, Any]) -> int:
        """Send what has been written since the last time; how many samples.

        Args:
            state: Fields that the last of them has besides.

        Raises:
            StackError: The server does not take them; the next time sends them again.
        """
        samples, end = samples_from(self._file, self._sent_bytes)
        if not samples:
            return 0
        documents = list(sample_documents(self._label, samples, self._last))
        last = documents[len(samples) - 1]
        documents[len(samples) - 1] = Document(last.id, {**last.source, **state})
        self._server.send(INDEX, documents)
        self._sent_bytes, self._last = emptied(self._file, end), samples[-1]
        return len(samples)

    def send_curves(self, histograms: SinkHistograms, at_s: float) -> None:
        """Send the latencies so far in place of those sent before.

        Raises:
            StackError: The server does not take them.
        """
        self._server.send(INDEX, curve_documents(self._label, histograms, at_s))


def emptied(file: Path, sent_bytes: int) -> int:
    """Empty a file of samples if all of it has been sent: a stream has no end. The place to go on from."""
    with file.open("r+b") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        if opened.seek(0, os.SEEK_END) > sent_bytes:
            return sent_bytes
        opened.truncate(0)
    return 0


def samples_from(file: Path, start_bytes: int) -> tuple[list[Sample], int]:
    """The samples that stand whole in a file from a place on, and the place after the last of them."""
    if not file.exists():
        return [], start_bytes
    with file.open("rb") as opened:
        opened.seek(start_bytes)
        whole, feed, _ = opened.read().rpartition(b"\n")
    lines = [line for line in whole.split(b"\n") if line]
    return [Sample.model_validate_json(line) for line in lines], start_bytes + len(whole) + len(feed)
