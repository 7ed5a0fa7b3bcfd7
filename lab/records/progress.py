"""`progress.json`: how far a run is that is under way, and how it ended."""

from typing import Literal

from lab.records.base import Count, Record
from lab.records.run import PhaseName


class PhaseSoFar(Record):
    """A phase of a run; `ended_s` is `None` of the one under way."""

    name: PhaseName
    started_s: float
    ended_s: float | None = None


class Progress(Record):
    """Where a run is; written while it works, and once more when it ends.

    Attributes:
        pid: The process of the command, which runs all runs of a suite.
        process_started_s: When that process started: tells it from a later one with the same pid.
        step: What is being done, in a few words: `filling the topic`.
        done: Of `total` units of the step; `total` is `None` where nobody knows how many there are.
        detail: What else is worth seeing, such as the lag.
        ended: `None` while the run is under way, and of one that was killed. `failed`: it came to its end and is void;
            `interrupted`: by Ctrl-C or a request to end; `broken`: by an error.
        reason: Why it is not verified, in one sentence.
    """

    run_id: str
    profile: str
    question: str
    pid: Count
    process_started_s: float
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
    ended: Literal["verified", "failed", "interrupted", "broken"] | None = None
    reason: str | None = None
