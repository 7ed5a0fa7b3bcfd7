"""`progress.json`: how far a run is that is under way, and how it ended."""

from typing import Any, Literal

from pydantic import model_validator

from lab.identity import ProcessIdentity, with_identity
from lab.records.base import Count, Record
from lab.records.run import PhaseName


class PhaseSoFar(Record):
    """A phase of a run; `ended_s` is `None` of the one under way."""

    name: PhaseName
    started_s: float
    ended_s: float | None = None


class Progress(Record):
    """Progress of a run; written while it works, and once more when it ends.

    Attributes:
        identity: The process of the command, which runs all runs of a suite.
        step: What is being done, in a few words: `filling the topic`.
        done: Of `total` units of the step; `total` is `None` where nobody knows how many there are.
        detail: What else is worth seeing, such as the lag.
        ended: `None` while the run is under way, and of one that was killed. `failed`: it came to its end and is void;
            `interrupted`: by Ctrl-C or a request to end; `aborted`: by `--abort-on`; `broken`: by an error.
        reason: Why it is not verified, in one sentence.
    """

    run_id: str
    profile: str
    question: str
    identity: ProcessIdentity
    started_s: float
    updated_s: float
    sample_interval_s: float
    phase: PhaseName
    step: str
    step_started_s: float
    done: Count = 0
    total: Count | None = None
    detail: str = ""
    phases: tuple[PhaseSoFar, ...] = ()
    ended: Literal["verified", "failed", "interrupted", "aborted", "broken"] | None = None
    reason: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_older_version(cls, facts: Any) -> Any:
        return with_identity(facts)
