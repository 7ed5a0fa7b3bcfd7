"""The line of a user's file from which a dead letter's record came."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from lab.analysis.folder import read_profile
from lab.clients.kafka import Place
from lab.replay.dead_letters import Letter
from producers.datasets.file import ID
from producers.datasets.source.read import documents_of


class RecordOfFile(NamedTuple):
    """A record that may have come from a file: its place when it was rejected first, its key, a hash of its value."""

    origin: Place
    key: bytes
    digest: bytes

    @classmethod
    def of(cls, letter: Letter) -> "RecordOfFile":
        """The record of a dead letter."""
        return cls(letter.origin, letter.key or b"", digest_of(letter.value or b""))


class SourceFile(NamedTuple):
    """The file whose documents a run has sent.

    Attributes:
        key: Field that holds the key; `None` where keys are ids beside the fields, or numbers.
    """

    path: str
    key: str | None

    def lines_of(self, records: Iterable[RecordOfFile]) -> dict[Place, str]:
        """`file:line` of each of these records that the file still holds, by the record's place.

        Reads the file, no further than to the last of them; a record is known by its value, and by its key where that
        is beside the fields. Of equal documents the first line is that of the first record. Memory: 200 bytes for each.

        Raises:
            DatasetError: The file cannot be read.
        """
        wanted: dict[bytes, list[Place]] = defaultdict(list)
        for record in sorted(set(records)):
            wanted[record.digest if self._has_key_inside else record.digest + record.key].append(record.origin)
        left = sum(map(len, wanted.values()))
        lines: dict[bytes, list[str]] = defaultdict(list)
        for number, document in enumerate(documents_of(self.path) if left else (), 1):
            beside = b"" if self._has_key_inside else (document.id or str(number)).encode()
            identity = digest_of(document.text) + beside
            if len(lines.get(identity, ())) < len(wanted.get(identity, ())):
                lines[identity].append(document.place)
                left -= 1
                if not left:
                    break
        # A stream sends the same lines lap after lap.
        return {place: line for identity, found in lines.items() for place, line in zip(wanted[identity], cycle(found))}

    @property
    def _has_key_inside(self) -> bool:
        return self.key not in {None, ID}


def digest_of(value: bytes) -> bytes:
    """128 bits of a document's BLAKE2b."""
    return hashlib.blake2b(value, digest_size=16).digest()


def source_of(folder: Path) -> SourceFile | None:
    """The file of a run's documents; `None` for a run of another dataset."""
    dataset = (read_profile(folder / "profile.json") or {}).get("dataset")
    if not isinstance(dataset, dict) or dataset.get("name") != "file" or not isinstance(dataset.get("path"), str):
        return None
    return SourceFile(dataset["path"], dataset.get("key"))
