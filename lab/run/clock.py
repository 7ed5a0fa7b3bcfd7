"""The phases of a run, timed."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from lab.monitor import CLOCK
from lab.records import Phase, PhaseName


@dataclass
class PhaseClock:
    """The phases so far. `current` is read by the sampler's thread."""

    phases: list[Phase] = field(default_factory=list)
    current: PhaseName = "prepare"

    @contextlib.contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        """Time a phase."""
        self.current = name
        started_s = CLOCK.now_s()
        try:
            yield
        finally:
            self.phases.append(Phase(name=name, started_s=started_s, ended_s=CLOCK.now_s()))
