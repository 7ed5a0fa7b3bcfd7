"""A suite whose comparisons are pairs of runs at the same time, on two sets of the same servers.

What disturbs a machine for seconds or minutes (other machines on the same host, memory that is slower for a while)
disturbs both runs of a pair, so that it leaves their ratio alone: the idea of duet benchmarking (Bulej et al. 2020,
"Duet Benchmarking: Improving Measurement Accuracy in the Cloud", ICPE).
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from statistics import median
from typing import Protocol

from lab.analysis.suite.folder import ATTEMPTS, planned_runs, runs_left
from lab.errors import StackError
from lab.records.result import Result
from lab.records.suite import Variant
from lab.run.abort import Condition
from lab.run.folder import RunFolder
from lab.run.phases import RunProgress
from lab.suite.bench import Bench
from lab.suite.execution import MOST_BLOCKS, SuiteExecution
from lab.suite.folder import Attempt
from lab.suite.plan import DUET_WARM_UPS, INTERRUPTED_S, least_blocks, pairs_of_part

MOST_WARM_UP_S = 75.0
"""Both sets run the same from here on, and change places, so what is left of their drift is in both of a comparison."""


class PairBench(Bench, Protocol):
    """Two sets of the same servers, and a run on each at the same time.

    Attributes:
        abort_on: Conditions that end the suite while a run loads.
    """

    abort_on: Sequence[Condition]

    def run_both(
        self,
        variants: Sequence[Variant],
        folders: Sequence[RunFolder],
        *,
        warm_up: bool,
        display: AbstractContextManager[RunProgress],
    ) -> Sequence[Result | StackError]:
        """Run two variants at once; of each the result, or why it has come to no end."""
        ...


class DuetExecution(SuiteExecution):
    """Runs what is left of a plan whose blocks are pairs.

    A pair whose runs are not both verified is repeated once, whole. What was taken from it by others is no reason to
    repeat it: both have lost it.
    """

    bench: PairBench
    most_warm_up_s = MOST_WARM_UP_S
    least_warm_ups = DUET_WARM_UPS

    def next_order(self, part: str, drawn: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """The comparison that has run least of those that are not narrow enough, on the other set than before."""
        pairs = pairs_of_part(self.plan, part)
        blocks = {pair: sum(set(order) == set(pair) for order in drawn) for pair in pairs}
        least = least_blocks(self.plan)
        too_wide = self.too_wide(self.folder.path) if max(blocks.values(), default=0) >= least else ()
        asking = [pair for pair, made in blocks.items() if made < least or (pair in too_wide and made < MOST_BLOCKS)]
        if not asking:
            return ()
        self.asking = len(asking)
        pair = min(asking, key=blocks.__getitem__)
        return pair if (blocks[pair] + self.plan.seed) % 2 else pair[::-1]

    def warmed_together(self, block: int) -> tuple[str, ...]:
        """All of the part: its comparisons follow each other, pair by pair."""
        part = self.plan.variant(self.plan.order[block - 1][0]).part
        return tuple(dict.fromkeys(name for pair in pairs_of_part(self.plan, part) for name in pair))

    def expected_s(self, order: Sequence[str]) -> float:
        """How long a pair takes, with what comes before it: the median of its comparison's so far, or of all.

        Failed pairs may lengthen that; one that fails at once tells nothing of a good one.
        """
        good: dict[frozenset[str], list[float]] = defaultdict(list)
        taken: dict[frozenset[str], list[float]] = defaultdict(list)
        before_s = None
        for run in self.ended:
            gap_s = 0.0 if before_s is None else run.started_s - before_s
            before_s = run.ended_s
            # Its other run follows, or came before: of both only the first has time between them.
            if run.block and gap_s >= 0:
                length_s = run.ended_s - run.started_s + (gap_s if gap_s < INTERRUPTED_S else 0.0)
                pair = frozenset(self.plan.order[run.block - 1])
                taken[pair].append(length_s)
                if run.status == "verified":
                    good[pair].append(length_s)
        every, pair = [length_s for lengths in good.values() for length_s in lengths], frozenset(order)
        good_s = median(good[pair] or every or [super().expected_s(order) / 2])
        return max(good_s, median(taken[pair] or [0.0]))

    def run_blocks(self) -> None:
        """Run what is left of the pairs that are drawn."""
        for block in sorted({block for block, _, _ in runs_left(self.plan, self.ended)}):
            names = self.plan.order[block - 1]
            self.have_servers(block, names[0])
            # A suite that was killed between the two records of a pair has one more of the first.
            made = min(sum((run.block, run.variant) == (block, name) for run in self.ended) for name in names)
            for attempt in range(1 + made, ATTEMPTS + 1):
                for name in names:
                    self.warm_up(self.plan.variant(name))
                if not any(run.block for run in self.ended[self.earlier :]):
                    self.look_ahead()
                what = f"pair {block}" + (", again" if attempt > 1 else "")
                if self.run_pair(names, what, block=block, attempt=attempt):
                    break

    def run_pair(self, names: Sequence[str], what: str, *, block: int, attempt: int) -> bool:
        """Both runs of a pair, recorded whatever their outcome; whether they can be compared."""
        variants = [self.plan.variant(name) for name in names]
        total = len(planned_runs(self.plan))
        started_s = self.begin_in_time(self.expected_s(names))
        both = variants[0].model_copy(update={"name": " beside ".join(names)})
        self.progress.begins(what, both, total - len(runs_left(self.plan, self.ended)), total)
        folders = [self.folder.new_run(variant, warm_up=False) for variant in variants]
        outcomes = self.bench.run_both(variants, folders, warm_up=False, display=self.progress.of_run())
        is_sound = all(isinstance(outcome, Result) and outcome.status == "verified" for outcome in outcomes)
        for variant, folder, outcome in zip(variants, folders, outcomes, strict=True):
            good = isinstance(outcome, Result) and outcome.status == "verified"
            result = outcome if is_sound or not good else StackError("the run beside it is not verified")
            self.ends(Attempt(variant, folder, block, 1, attempt, started_s), result, may_repeat=lambda: False)
        return is_sound
