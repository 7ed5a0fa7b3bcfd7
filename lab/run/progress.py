"""Writes how far a run is into its folder, for whoever watches from another process."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Literal, Self

from lab.errors import AbortError, WritingError, is_interrupt
from lab.identity import identity_of
from lab.monitor import CLOCK
from lab.profiles import Profile
from lab.records.progress import PhaseSoFar, Progress
from lab.records.run import PhaseName
from lab.records.verification import Verification
from lab.run.folder import RunFolder
from lab.run.phases import PhaseClock, RunProgress

FILE = "progress.json"
LEAST_INTERVAL_S = 1.0

Ending = Literal["verified", "failed", "interrupted", "aborted", "broken"]


@dataclass(frozen=True)
class Step:
    """What a run is doing."""

    phase: PhaseName = "prepare"
    what: str = ""
    total: int | None = None
    started_s: float = 0.0
    done: int = 0
    detail: str = ""


@dataclass
class ProgressFile:
    """A display that writes what it is told into `progress.json` before another one shows it.

    The file is written at each step, at most once a second within one, and when the run ends. One that cannot be
    written fails no run: nobody measures by it.
    """

    folder: RunFolder
    profile: Profile
    shown: RunProgress
    clock: PhaseClock
    now_s: Callable[[], float] = CLOCK.now_s
    _step: Step = field(default_factory=Step, init=False)
    _started_s: float = field(default=0.0, init=False)
    _written_s: float = field(default=0.0, init=False)
    _ended: tuple[Ending, str | None] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        self._started_s = self.now_s()
        self._step = Step(started_s=self._started_s)
        self._write()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            ending: Ending = "aborted" if isinstance(error, AbortError) else "broken"
            self._ended = ("interrupted", None) if is_interrupt(error) else (ending, str(error) or repr(error))
        self._write()

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """A step begins."""
        self._step = Step(phase, what, total, self.now_s())
        self._write()
        self.shown.begin(phase, what, total)

    def update(self, done: int, detail: str = "") -> None:
        """So much of the step is done."""
        self._step = replace(self._step, done=done, detail=detail)
        if self.now_s() - self._written_s >= LEAST_INTERVAL_S:
            self._write()
        self.shown.update(done, detail)

    def end(self, verification: Verification) -> None:
        """The run has come to its end; leaving the `with` block writes it down."""
        problems = "; ".join(verification.problems)
        self._ended = ("verified", None) if verification.verified else ("failed", problems or None)

    def _write(self) -> None:
        self._written_s = self.now_s()
        with contextlib.suppress(OSError, WritingError, ValueError):
            self.folder.write(FILE, self._progress())

    def _progress(self) -> Progress:
        step, (ended, reason) = self._step, self._ended or (None, None)
        return Progress(
            run_id=self.folder.run_id,
            profile=self.profile.name,
            question=self.profile.question,
            identity=identity_of(),
            started_s=self._started_s,
            updated_s=self._written_s,
            sample_interval_s=self.profile.sampling.interval_s,
            phase=self.clock.current if self.clock.begun_s else step.phase,
            step=step.what,
            step_started_s=step.started_s,
            done=max(0, step.done),
            total=step.total,
            detail=step.detail,
            phases=self._phases(),
            ended=ended,
            reason=reason,
        )

    def _phases(self) -> tuple[PhaseSoFar, ...]:
        past = [PhaseSoFar(**phase.model_dump()) for phase in self.clock.phases]
        begun_s = self.clock.begun_s
        return (*past, *([] if begun_s is None else [PhaseSoFar(name=self.clock.current, started_s=begun_s)]))
