"""What every document says of the run that it belongs to, while the run is under way and afterwards."""

from dataclasses import dataclass
from typing import Any

from lab.publish.document import timestamp
from lab.records import Run


@dataclass(frozen=True, slots=True)
class Label:
    """A run by its name and its zero of time.

    Attributes:
        load_started_s: The instant that is t = 0 on the dashboard; `None` when there was no load.
        verified: `None` while the run is under way.
        cpu_cores: Those that the run could use; `None` where it is another one than ours.
    """

    run_id: str
    profile: str
    started_s: float
    load_started_s: float | None
    verified: bool | None
    cpu_cores: float | None
    target: str

    @property
    def name(self) -> str:
        """By which a reader chooses it."""
        return f"{self.profile} {self.run_id}"

    def source(self) -> dict[str, Any]:
        """As part of a document."""
        known = {
            "id": self.run_id,
            "name": self.name,
            "profile": self.profile,
            "started": timestamp(self.started_s),
            "verified": self.verified,
            "cpu_cores": self.cpu_cores,
            "target": self.target,
        }
        return {name: value for name, value in known.items() if value is not None}


def label_of(run: Run) -> Label:
    """The label of a run that is over."""
    return Label(
        run_id=run.run_id,
        profile=run.profile,
        started_s=run.started_s,
        load_started_s=next((phase.started_s for phase in run.phases if phase.name == "load"), None),
        verified=run.verification.verified,
        cpu_cores=run.environment.cpu_cores,
        target=run.environment.target,
    )
