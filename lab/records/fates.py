"""Fates of a record in the sink: the one list that ledger, report and replay are made of.

A new fate has a line here, and its count in `Ledger` and `SinkSample`; a test names what is missing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fate:
    """One of the ends that a record may have.

    Attributes:
        name: The field of `Ledger`; `records_` before it is the field of `SinkSample`.
        meaning: In the sums of a report.
        is_stored: Whether the record's document, or a later one of its id, is in the index.
    """

    name: str
    meaning: str
    is_stored: bool = False

    @property
    def heading(self) -> str:
        """The heading of a column."""
        return "dead-lettered" if self.name == "dead_lettered" else self.name.replace("_", " ")


FATES = (
    Fate("indexed", "indexed as new", is_stored=True),
    Fate("updated", "updated", is_stored=True),
    Fate("deleted", "deleted"),
    Fate("already_there", "already there: read twice", is_stored=True),
    Fate("stale", "stale: a newer version was there", is_stored=True),
    Fate("redirected", "redirected: in the failure store of the data stream"),
    Fate("dropped_by_pipeline", "dropped by an ingest pipeline"),
    Fate("dead_lettered", "dead-lettered"),
    Fate("dropped", "dropped"),
)
