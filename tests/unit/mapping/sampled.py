"""Samples of a file that a test writes."""

from pathlib import Path
from typing import Any

import orjson

from lab.mapping.sample import Sample, read_sample


class Sampled:
    """Samples of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *documents: dict[str, Any], most: int = 1009, key: str | None = None) -> Sample:
        """That of a file with these documents."""
        self.path.write_bytes(b"".join(orjson.dumps(document) + b"\n" for document in documents))
        return read_sample(str(self.path), most, key)
