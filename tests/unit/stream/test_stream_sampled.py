"""A stream is written down for the page, and its samples do not fill the disk."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from lab.stream import sampled
from lab.stream.sampled import SampledStream, keep_small


class Words:
    """Keeps every call."""

    def __init__(self) -> None:
        self.words: list[tuple[str, int, int]] = []

    def sending(self, documents: int, lag: int) -> None:
        """Keep it."""
        self.words.append(("sending", documents, lag))

    def waiting(self, documents: int, lag: int) -> None:
        """Keep it."""
        self.words.append(("waiting", documents, lag))


def test_who_else_is_told_hears_every_word(tmp_path: Path) -> None:
    """And the page the number of documents; a lag that is not known is not told."""
    shown: list[tuple[int, str]] = []
    progress = SimpleNamespace(update=lambda done, detail: shown.append((done, detail)))
    watcher = Words()
    stream = SampledStream(watcher, cast("Any", progress), tmp_path / "samples.ndjson")
    assert stream.documents is None
    stream.sending(1009, 7)
    stream.waiting(1013, -1)
    assert watcher.words == [("sending", 1009, 7), ("waiting", 1013, -1)]
    assert shown == [(1009, "1,009 documents sent, lag 7"), (1013, "")]
    assert stream.documents == 1013


def test_samples_are_emptied_when_there_are_many(tmp_path: Path, monkeypatch: Any) -> None:
    """A stream has no end; a file that is not there yet is small."""
    monkeypatch.setattr(sampled, "MOST_BYTES", 101)
    file = tmp_path / "samples.ndjson"
    keep_small(file)
    file.write_bytes(b"x" * 101)
    keep_small(file)
    assert file.stat().st_size == 101
    file.write_bytes(b"x" * 102)
    keep_small(file)
    assert file.stat().st_size == 0
