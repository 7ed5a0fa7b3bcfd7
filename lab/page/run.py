"""One run as the page shows it: where it is, its last ten minutes as points, what limits it, and its charts."""

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab.analysis.figures.limits import stage_text
from lab.analysis.report_page.live import Spec, live_charts
from lab.analysis.report_page.looks import EVERYTHING_ELSE
from lab.analysis.text import duration
from lab.engines import DEFAULT
from lab.monitor.processes import usable_cores
from lab.page.history import of_result
from lab.page.pipeline import pipeline
from lab.page.points import BEFORE, LivePoint, points_of
from lab.page.so_far import Judgement, judged
from lab.page.tail import SampleTail
from lab.profiles import Profile
from lab.records.progress import Progress
from lab.records.samples import Sample
from lab.run.progress import FILE

SAMPLES = "samples.ndjson"
SHOWN_S = 600.0
"""Points that are kept: the last ten minutes."""
KEPT_SAMPLES = 100
"""For what is told of the last seconds, and of gaps."""


@dataclass
class RunView:
    """A run's folder, followed while the run works.

    Attributes:
        name: The folder below that of all runs, with which a browser asks for it.
    """

    folder: Path
    name: str
    cores: float = field(default_factory=usable_cores)
    progress: Progress | None = field(default=None, init=False)
    points: deque[LivePoint] = field(default_factory=deque, init=False)
    processes: tuple[str, ...] = field(default=(EVERYTHING_ELSE,), init=False)
    _profile: Profile | None = field(default=None, init=False)
    _samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=KEPT_SAMPLES), init=False)
    _judgement: Judgement = field(default_factory=Judgement, init=False)
    _has_replicas: bool = field(default=False, init=False)
    _has_report: bool = field(default=False, init=False)
    _outcome: dict[str, Any] | None = field(default=None, init=False)
    _progress_ns: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._tail = SampleTail(self.folder / SAMPLES)

    def look(self) -> tuple[list[LivePoint], bool]:
        """Read what has been written since the last look: the new points, and whether anything else has changed."""
        changed = self._read_progress()
        if self._profile is None:
            changed |= self._read_profile()
        new = self._take(self._tail.read())
        has_report = self._has_report or (self.folder / "report.html").is_file()
        changed |= has_report != self._has_report
        self._has_report = has_report
        if self._outcome is None and (outcome := self._read_outcome()):
            self._outcome, changed = outcome, True
        return new, changed

    def _read_outcome(self) -> dict[str, Any] | None:
        """The run as the history has it; `None` before it has a result."""
        try:
            return of_result(self.folder / "result.json", self.name)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _read_progress(self) -> bool:
        """Check that `progress.json` was written again, and can be read."""
        path = self.folder / FILE
        try:
            written_ns = path.stat().st_mtime_ns
            if written_ns == self._progress_ns:
                return False
            self.progress = Progress.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return False
        self._progress_ns = written_ns
        return True

    def _read_profile(self) -> bool:
        try:
            self._profile = Profile.model_validate_json((self.folder / "profile.json").read_bytes())
        except (OSError, ValidationError):
            return False
        return True

    def _take(self, samples: Sequence[Sample]) -> list[LivePoint]:
        """The points of new samples, which become a part of the last ten minutes."""
        if not samples:
            return []
        before = list(self._samples)[-BEFORE:]
        new = points_of([*before, *samples], self.cores, first=len(before))
        self._samples.extend(samples)
        self.points.extend(new)
        while self.points and self.points[0].at_s < self.points[-1].at_s - SHOWN_S:
            self.points.popleft()
        if self._profile:
            self._judgement = judged(self._profile, self.cores, list(self._samples))
        names = {name for sample in samples for name in sample.processes}
        self.processes = (*sorted({*self.processes, *names} - {EVERYTHING_ELSE}), EVERYTHING_ELSE)
        newest = samples[-1].elasticsearch
        self._has_replicas |= newest is not None and newest.total.index_total > newest.primaries.index_total
        return new

    @property
    def newest(self) -> Sample | None:
        """The newest sample; `None` before the first one."""
        return self._samples[-1] if self._samples else None

    @property
    def now_s(self) -> float:
        """Seconds since the epoch by the clock of the run, which goes on where the machine's is set or stood still."""
        now_s = time.time()
        if self.newest is None:
            return now_s
        with contextlib.suppress(OSError):
            return self.newest.at_s + now_s - (self.folder / SAMPLES).stat().st_mtime
        return now_s

    @property
    def is_alive(self) -> bool:
        """Check that the process of the run is alive, and still the one that began it."""
        return self.progress is not None and self.progress.ended is None and self.has_process

    @property
    def has_process(self) -> bool:
        """Check that the command of the run is alive; a suite's command runs all of its runs."""
        return self.progress is not None and self.progress.identity.is_alive

    def state(self) -> dict[str, Any]:
        """State of the run, STATE of the contract; nearly empty for a run of an older version."""
        progress = self.progress
        known = progress.model_dump(include=OF_PROGRESS) if progress else dict.fromkeys(OF_PROGRESS)
        judgement = self._judgement_now
        limit = judgement.limit
        return known | {
            "phases": self._phases(),
            "span": self._span(),
            "left_s": left_s(progress) if progress and self.is_alive else None,
            "alive": self.is_alive,
            "report": f"/runs/{self.name}/report.html" if self._has_report else None,
            "outcome": self._outcome,
            "limit": limit and {"stage": stage_text(limit.stage, self._product), "evidence": limit.evidence},
            "limit_asked_s": judgement.asked_s,
            "warnings": [
                {"heading": warning.kind.heading, "seen": warning.seen, "remedy": warning.remedy}
                for warning in judgement.warnings
            ],
            "pipeline": self._pipeline(),
        }

    @property
    def _judgement_now(self) -> Judgement:
        """Judgement of the last seconds; nothing of a run that stands still, whose last seconds may be days ago."""
        return self._judgement if self.is_alive else Judgement()

    def _phases(self) -> list[dict[str, Any]]:
        """Phases so far, each with how it went; one that the run broke off in has not gone well, and ended then."""
        progress = self.progress
        phases = [phase.model_dump() | {"went": "well"} for phase in progress.phases] if progress else []
        if progress and phases and progress.ended in (None, "broken", "interrupted"):
            is_on = self.is_alive and phases[-1]["ended_s"] is None
            phases[-1]["went"] = "on" if is_on else "well" if self.is_alive else "wrong"
        if progress and phases and phases[-1]["ended_s"] is None and not self.is_alive:
            phases[-1]["ended_s"] = progress.updated_s
        return phases

    def _span(self) -> str:
        """Heading of the charts: how long their points last."""
        lasts_s = self.points[-1].at_s - self.points[0].at_s if self.points else 0.0
        return "The last ten minutes" if lasts_s >= SHOWN_S - 30 else f"The last {duration(round(lasts_s))}"

    @property
    def _product(self) -> str:
        return (self._profile.release if self._profile else DEFAULT).engine.title

    def _pipeline(self) -> dict[str, Any] | None:
        if not (self._profile and self._samples and self.points):
            return None
        return pipeline(self._profile, list(self._samples), self.points[-1], self._judgement_now)

    def charts(self) -> dict[str, Spec]:
        """The charts of the run."""
        profile = self._profile
        return live_charts(
            self.processes,
            self.cores,
            zero_s=self.progress.started_s if self.progress else 0.0,
            has_replicas=self._has_replicas,
            via_kafka=profile is None or profile.load.uses_kafka,
            is_stream=profile is not None and profile.load.mode == "stream",
        )

    @property
    def charts_key(self) -> tuple[object, ...]:
        """Facts that the charts depend on."""
        return self.processes, self._has_replicas, self._profile is not None

    def now(self) -> dict[str, Any]:
        """The whole of the run, for a browser that has just come."""
        progress, profile = self.progress, self._profile
        return {
            "id": self.folder.name,
            "folder": self.name,
            "profile": progress.profile if progress else self.folder.parent.name,
            "question": progress.question if progress else None,
            "started_s": progress.started_s if progress else None,
            "pid_alive": self.is_alive,
            "load": profile.load.mode if profile else None,
            "via": profile.load.via if profile else None,
            "target_rate": profile.load.one_rate_docs_per_s if profile else None,
            "state": self.state(),
            "points": [point.row() for point in self.points],
            "charts": self.charts(),
        }


OF_PROGRESS = {"phase", "step", "done", "total", "detail", "ended", "reason", "updated_s"}


def left_s(progress: Progress) -> float | None:
    """Time left of a step at its pace so far, in seconds; `None` where that is not known."""
    # Both by the clock of the run: this process's may have been set meanwhile.
    spent_s = progress.updated_s - progress.step_started_s
    if not progress.total or not progress.done or spent_s <= 0:
        return None
    return max(0.0, spent_s / progress.done * (progress.total - progress.done))
