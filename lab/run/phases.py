"""What the phases of a run share: their clock, their display, which looks after the servers, and what they work on."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

from lab.analysis.text import quantity
from lab.clients.elasticsearch import ElasticsearchClient
from lab.clients.target import Target
from lab.monitor import CLOCK
from lab.profiles import Profile
from lab.records.marks import NO_MARKS, Marks
from lab.records.run import Phase, PhaseName
from lab.run.abort import Condition
from lab.run.folder import RunFolder
from lab.run.load.drivers import Drivers
from lab.run.load.inputs import FilledTopics, Inputs, topics_key
from lab.run.names import Names, kept_index
from lab.stack.places import ROOT
from producers.dataset import Dataset
from producers.delivery import Delivered

POLL_S = 0.2
SETTLE_S = 60.0


Gate: TypeAlias = Callable[[PhaseName], None]
"""Called before a phase begins; another run beside this one may have to be as far."""


def open_gate(_: PhaseName) -> None:
    """Begin each phase at once."""


@dataclass
class PhaseClock:
    """The phases so far. `current` is read by the sampler's thread.

    Attributes:
        gate: What each phase waits at.
        begun_s: When the phase under way began; `None` between two of them.
    """

    gate: Gate = open_gate
    phases: list[Phase] = field(default_factory=list)
    current: PhaseName = "prepare"
    begun_s: float | None = None

    @contextlib.contextmanager
    def phase(self, name: PhaseName) -> Iterator[None]:
        """Time a phase."""
        self.gate(name)
        self.current = name
        self.begun_s = started_s = CLOCK.now_s()
        try:
            yield
        finally:
            self.phases.append(Phase(name=name, started_s=started_s, ended_s=CLOCK.now_s()))
            self.begun_s = None


class RunProgress(Protocol):
    """A display of a run's phases; none of its methods may fail."""

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """A phase, or a step of one, begins.

        Args:
            what: The step in a few words, such as `filling the topic`.
            total: How many units there are to do; `None` if that is not known.
        """
        ...

    def update(self, done: int, detail: str = "") -> None:
        """So many of the units are done by now; `detail` has what else is worth seeing, such as the lag."""
        ...


class NoDisplay:
    """Shows nothing: a terminal has room for one display, and another one is there."""

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """Show nothing."""

    def update(self, done: int, detail: str = "") -> None:
        """Show nothing."""


class WatchedProgress:
    """A display that looks after the servers whenever it is told something, so that no phase waits for dead ones.

    Args:
        check: That of the target.
    """

    def __init__(self, shown: RunProgress, check: Callable[[], str]) -> None:
        self._shown = shown
        self._check = check
        self._last = (0, "")

    def begin(self, phase: PhaseName, what: str, total: int | None) -> None:
        """Show that a step begins."""
        self._last = (0, "")
        self._shown.begin(phase, what, total)

    def update(self, done: int, detail: str = "") -> None:
        """Show how far it is, or what is wrong with a server.

        Raises:
            StackError: A server has ended, and nobody has started it again.
        """
        self._last = (done, detail)
        self._shown.update(done, self._check() or detail)

    def sleep(self, seconds: float) -> None:
        """Wait before a server that does not answer is asked again."""
        self.update(*self._last)
        time.sleep(seconds)


@dataclass(frozen=True)
class RunRequest:
    """A run to be made: of what, on which servers, into which folder.

    Attributes:
        dataset: Documents of the profile, made (and so checked) before any server was started.
        folder: Takes the records.
        root: The checkout, for mappings, connector templates and questions.
        command: The command line, for whoever wants to do it again.
        inputs: What earlier runs of a suite have filled and made, and this one may add to; `None` for a single run.
        drivers: Those on other hosts that stream the documents; `None` where this process does all of it.
        gate: Called before each phase, which waits for its return.
        marks: Labels and note of the run.
        abort_on: Conditions that end the run while it loads.
    """

    profile: Profile
    dataset: Dataset
    target: Target
    folder: RunFolder
    root: Path = ROOT
    command: Sequence[str] = ()
    inputs: Inputs | None = None
    drivers: Drivers | None = None
    gate: Gate = open_gate
    marks: Marks = NO_MARKS
    abort_on: Sequence[Condition] = ()


@dataclass(frozen=True, kw_only=True)
class RunContext(RunRequest):
    """The request of one run, and the state that its phases share.

    Attributes:
        children: Processes that the run has started and that still run: name → pid.
        renamed: Indices that are called otherwise by now: name before → name.
    """

    progress: RunProgress
    clock: PhaseClock = field(default_factory=PhaseClock)
    children: dict[str, int] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> Names:
        """What indices, topics and connector are called now."""
        names = self.first_names
        return replace(names, index=",".join(self.renamed.get(index, index) for index in names.indices))

    @cached_property
    def first_names(self) -> Names:
        """What they were called when they were made."""
        names = Names.of(self.profile, self.folder.run_id)
        if self.filled:
            names = replace(names, topic=self.filled.topic)
        kept = kept_index(self.profile, self.dataset, self.root)
        return names if kept is None else replace(names, index=kept)

    @cached_property
    def filled(self) -> FilledTopics | None:
        """The topics that an earlier run of the suite has filled with these very documents."""
        if self.inputs is None:
            return None
        return self.inputs.topics.get(topics_key(self.profile, self.dataset, self.target.endpoints) or "")

    def keep_topics(self, delivered: Delivered) -> None:
        """Keep the topics that this run has filled for those that come after it, if every document is in them."""
        key = topics_key(self.profile, self.dataset, self.target.endpoints)
        if self.inputs and key and delivered.delivered == delivered.produced:
            self.inputs.topics[key] = FilledTopics(self.first_names.topic, delivered, self.folder.run_id)


def wait_for_merges(run: RunContext, cluster: ElasticsearchClient, index: str, within_s: float = SETTLE_S) -> None:
    """Refresh, and wait a while for merges to end, so that the counters are final."""
    cluster.refresh(index)
    deadline = time.monotonic() + within_s
    while (merges := cluster.merges_current(index)) and time.monotonic() < deadline:
        run.progress.update(0, f"{quantity(merges, 'merge')} under way")
        time.sleep(POLL_S)
