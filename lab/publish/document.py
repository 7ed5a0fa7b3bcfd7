"""A document that is sent to an Elasticsearch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Document:
    """A document and the id that makes sending it twice the same as sending it once."""

    id: str
    source: Mapping[str, Any]


def timestamp(at_s: float) -> str:
    """An instant as Elasticsearch's `date_time` wants it, in milliseconds."""
    return datetime.fromtimestamp(round(at_s, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
