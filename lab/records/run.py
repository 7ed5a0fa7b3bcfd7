"""`run.json`: what was done, when, and what came of it."""

from typing import Literal

from pydantic import Field

from lab.records.base import Count, Record
from lab.records.environment import Environment
from lab.records.ledger import SinkLedger
from lab.records.load import Delivery, DirectLoad, SinkHistograms
from lab.records.questions import QuestionAsked
from lab.records.verification import Documents, Verification
from lab.records.warnings import RunWarning

PhaseName = Literal["prepare", "fill", "load", "settle", "verify", "query", "collect"]


class Phase(Record):
    """One phase of a run, from its first to its last instant.

    Attributes:
        name: `prepare` makes servers, topic and index; `fill` preloads the topic of a drain, or makes the bodies of a
            direct load; `load` is what is measured; `settle` waits for refresh and merges; `verify` compares; `query`
            asks the profile's questions, where it has any; `collect` writes down.
    """

    name: PhaseName
    started_s: float
    ended_s: float


class Run(Record):
    """What was done, when, and what came of it. Figures are not in here; they are made from the samples.

    Attributes:
        sink_ledger: `None` where it could not be read; `verification.ledger` says why.
        via: `kafka`: through topic and sink; `direct`: ready-made bulk requests, with no topic.
        delivery: `None` for a direct load, and `direct` for every other one.
        store_size_bytes: Size on disk at the end, by scope (`primaries`, `total`); empty in runs of older versions,
            which only have what their samples say: up to 10 s old.
        content_hash: BLAKE2b of the documents, where they were read from a file; otherwise profile and seed tell them.
        command: The command line that started the run, word by word, so that a reader can start it again.
    """

    run_id: str
    profile: str
    question: str
    started_s: float
    ended_s: float
    phases: tuple[Phase, ...]
    load: Literal["drain", "stream"]
    via: Literal["kafka", "direct"] = "kafka"
    index: str
    topic: str | None
    documents: Documents
    verification: Verification
    delivery: Delivery | None
    direct: DirectLoad | None = None
    sink_histograms: SinkHistograms
    sink_ledger: SinkLedger | None = None
    environment: Environment
    warnings: tuple[RunWarning, ...] = ()
    command: tuple[str, ...] = ()
    content_hash: str | None = None
    questions: tuple[QuestionAsked, ...] = ()
    store_size_bytes: dict[str, Count] = Field(default_factory=dict)

    @property
    def source_bytes(self) -> int | None:
        """Size of the documents that were there to be indexed."""
        return next((part.source_bytes for part in (self.delivery, self.direct) if part), None)

    @property
    def entities(self) -> int | None:
        """Books, or whatever the dataset counts, that these documents describe."""
        return next((part.entities for part in (self.delivery, self.direct) if part), None)
