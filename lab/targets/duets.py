"""The servers of a suite twice, so that two runs go at the same time and whatever disturbs one disturbs the other."""

from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from threading import Barrier, BrokenBarrierError, Event
from typing import Unpack

from lab.clients.target import Target
from lab.errors import AbortError, StackError
from lab.profiles import Profile
from lab.records.result import Result
from lab.records.run import PhaseName
from lab.records.suite import Variant
from lab.run.abort import Condition
from lab.run.folder import RunFolder
from lab.run.phases import NoDisplay, RunProgress
from lab.suite.bench import RunOptions
from lab.targets.servers import VariantBench
from producers.dataset import Dataset

MET_BEFORE = frozenset({"load", "verify", "query"})
"""Phases that both runs begin together: both load at once, and neither is read back while the other one loads."""
WAIT_S = 900.0
"""For the other run, after which this one fails: alone it has no use."""
LOOK_S = 0.5


class Meeting:
    """Where two runs wait for each other, and where both learn that they are to end."""

    def __init__(self) -> None:
        self._barrier = Barrier(2)
        self._left = Event()
        self._cancelled = Event()

    def gate(self, phase: PhaseName) -> None:
        """Wait until the other run is as far, or has ended; raises StackError if it is neither in time."""
        if phase not in MET_BEFORE or self._left.is_set():
            return
        try:
            self._barrier.wait(WAIT_S)
        except BrokenBarrierError:
            if not self._left.is_set():
                raise StackError(
                    f"{phase}: the other run of the pair did not reach this phase within {WAIT_S:.0f} s"
                ) from None

    def leave(self) -> None:
        """Nobody waits for this run any more."""
        self._left.set()
        self._barrier.abort()

    def cancel(self) -> None:
        """Have both runs end."""
        self._cancelled.set()
        self.leave()

    def watched(self, target: Target, other: Target) -> Target:
        """The target, whose check ends the run when it is cancelled, beside the other run's."""

        def check() -> str:
            if self._cancelled.is_set():
                raise StackError("interrupted")
            return target.check()

        return replace(target, check=check, beside_ids=lambda: other.process_ids().values())


@dataclass
class DuetBench:
    """Two sets of the same servers.

    Attributes:
        run_ids: Runs of the suite so far, on either.
        abort_on: Conditions that end the suite where one holds on either side.
    """

    sides: tuple[VariantBench, VariantBench]
    run_ids: set[str] = field(init=False)
    abort_on: Sequence[Condition] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.run_ids = self.sides[1].run_ids = self.sides[0].run_ids

    def prepare(self, variant: Variant) -> frozenset[Hashable]:
        """Bring both into the shape that the variant needs; what has to be warm for it in either."""
        return frozenset[Hashable]().union(*(side.prepare(variant) for side in self.sides))

    def replace(self, profiles: Mapping[str, Profile], datasets: Mapping[str, Dataset]) -> None:
        """Run the variants with other profiles from here on, but for short runs."""
        for side in self.sides:
            side.replace(profiles, datasets)

    def restart(self) -> None:
        """Stop all servers, so that the next runs have others."""
        for side in reversed(self.sides):
            side.restart()

    def change_part(self, before: str, after: str) -> None:
        """Stop the servers of a part that the next one does not use as they are."""
        for side in reversed(self.sides):
            side.change_part(before, after)

    def run(self, variant: Variant, folder: RunFolder, **how: Unpack[RunOptions]) -> Result:
        """Run the variant on both sets at once; the result of the first, or of one that is not verified.

        Raises:
            StackError: One of the two has failed.
        """
        beside = RunFolder.create(folder.path.parent.parent, folder.path.parent.name)
        outcomes = self.run_both((variant, variant), (folder, beside), **how)
        results = []
        for outcome in outcomes:
            if isinstance(outcome, StackError):
                raise outcome
            results.append(outcome)
        return next((result for result in results if result.status != "verified"), results[0])

    def run_both(
        self,
        variants: Sequence[Variant],
        folders: Sequence[RunFolder],
        *,
        warm_up: bool,
        short: bool = False,
        display: AbstractContextManager[RunProgress],
    ) -> tuple[Result | StackError, ...]:
        """Run two variants at once, each on its set of servers; of each the result, or why it has come to no end."""
        meeting = Meeting()
        for side, variant in zip(self.sides, variants, strict=True):
            side.prepare(variant)
            side.abort_on = self.abort_on
        for side, other in (self.sides, self.sides[::-1]):
            assert side.target is not None and other.target is not None  # noqa: S101, PT018 - just prepared
            side.target = meeting.watched(side.target, other.target)

        def record(side: VariantBench, variant: Variant, folder: RunFolder, shown: RunProgress) -> StackError | None:
            try:
                side.record(
                    variant, folder, warm_up=warm_up, short=short, display=nullcontext(shown), gate=meeting.gate
                )
            except StackError as error:
                return error
            except AbortError:
                # The other one is of no use either.
                meeting.cancel()
                raise
            finally:
                meeting.leave()
            return None

        with display as shown, ThreadPoolExecutor(len(self.sides), "run") as pool:
            each_of = zip(self.sides, variants, folders, (shown, NoDisplay()), strict=True)
            try:
                under_way = [pool.submit(record, *each) for each in each_of]
                # A signal that comes just before a wait without end is seen only after it.
                while wait(under_way, LOOK_S).not_done:
                    pass
            except BaseException:
                meeting.cancel()
                raise
        errors = [each.result() for each in under_way]
        # Only now: what makes a report would take the cores from the run that loads still.
        ended = zip(self.sides, variants, folders, errors, strict=True)
        return tuple(error or side.concluded(variant, folder, short=short) for side, variant, folder, error in ended)
