"""`result.json`: the figures of the measured window, with everything needed to judge them."""

from typing import Literal

from pydantic import Field

from lab.records.base import Count, Record
from lab.records.run import Environment, Phase, RunWarning
from lab.records.verification import Documents, SinkLedger, Verification


class Metric(Record):
    """One figure. `value` is `None` where it could not be measured; `scope` says what it was measured on.

    Attributes:
        scope: `primaries`, `total`, `run`, or the name of a process, of a node, of a phase or of a question.
    """

    name: str
    value: float | None
    unit: str
    scope: str

    @property
    def key(self) -> tuple[str, str]:
        """Name and scope that tell it from others of a run."""
        return self.name, self.scope


class Window(Record):
    """The measured window: the part of the load that rates are taken from, or in which queries alone were sent.

    Attributes:
        warm_up_s: From the first growth of the index to the start of the window.
        steady: Whether the indexing rate is steady over the window; `None`: too few samples to tell. Where it is not,
            the window is all of the load in which the index grew. Queries alone are not tried for it.
    """

    started_s: float
    ended_s: float
    samples: Count
    warm_up_s: float | None = None
    steady: bool | None = None


Stage = Literal[
    "requested rate",
    "producer",
    "broker",
    "sink",
    "sender",
    "clients",
    "elasticsearch",
    "merge throttling",
    "disk",
    "machine",
]


class Limit(Record):
    """The stage of the pipeline that had no slack left, and what shows it.

    Attributes:
        stage: `requested rate`: all stages kept up with what was asked; `sender`: that of a direct load, or of queries;
            `clients`: of queries, none of which waited for anything but its turn; `machine`: no core was left for any
            of them.
    """

    stage: Stage
    evidence: str


class Result(Record):
    """The outcome of a run, for programs: `result.json`. Its JSON Schema is `docs/result.schema.json`.

    Attributes:
        bulk_by_shard: Of a direct load, whether each bulk request held documents of one shard and went to its node.
        content_hash: BLAKE2b of the documents, where they were read from a file; otherwise profile and seed tell them.
        rate_rise: Of a drain, the rate in the second half of the first 6 s after the warm-up over that in the first
            half; `None`: too few samples to tell.
        labels: Names and values that the user gave the run; empty in results of older versions, as `note`.
    """

    schema_version: Literal[1] = 1
    run_id: str
    profile: str
    question: str
    status: Literal["verified", "failed"]
    started_s: float
    ended_s: float
    bulk_by_shard: bool | None = None
    content_hash: str | None = None
    phases: tuple[Phase, ...]
    measured_window: Window | None
    documents: Documents
    verification: Verification
    sink_ledger: SinkLedger | None = None
    metrics: tuple[Metric, ...]
    environment: Environment
    warnings: tuple[RunWarning, ...]
    limited_by: Limit | None = None
    rate_rise: float | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    note: str = ""
