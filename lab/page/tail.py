"""Reads what is appended to a file of samples, and nothing of it twice."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from lab.records.samples import Sample

MOST_SAMPLES = 1200
"""Of one look: twenty minutes at one a second. Lines before these are passed over unread."""


@dataclass
class SampleTail:
    """The samples of a run as its sampler writes them.

    Attributes:
        unread: Lines that were no samples, such as those of another version.
    """

    path: Path
    unread: int = field(default=0, init=False)
    _offset: int = field(default=0, init=False)
    _file: tuple[int, int] | None = field(default=None, init=False)

    def read(self) -> list[Sample]:
        """Lines written since the last look; an incomplete line waits for the next look.

        A file that has become shorter, or is another one by the same name, is read from its beginning.
        """
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_dev, status.st_ino) != self._file or status.st_size < self._offset:
                    self._file, self._offset = (status.st_dev, status.st_ino), 0
                if status.st_size == self._offset:
                    return []
                file.seek(self._offset)
                whole, feed, _ = file.read().rpartition(b"\n")
        except OSError:
            return []
        self._offset += len(whole) + len(feed)
        lines = [line for line in whole.split(b"\n") if line.strip()]
        return self._parsed(lines[-MOST_SAMPLES:])

    def _parsed(self, lines: list[bytes]) -> list[Sample]:
        samples = []
        for line in lines:
            try:
                samples.append(Sample.model_validate_json(line))
            except ValidationError:
                self.unread += 1
        return samples
