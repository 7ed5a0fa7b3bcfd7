"""Search: from the measurements so far to the next stage, without a server, a folder or a clock.

1. *Mixed*, in two halves: combinations drawn at random, in which each knob has each of its values as often as any
   other. Every run tells something of every knob, so that as many runs tell several times as much as of one knob at a
   time. The second half is without what only failed in the first. Where there is no time for as many runs as values,
   the first half is a two-level design with one value of each knob (`lab.tune.design`), and there is no other.
2. *Together*: the combination of what gains in the mix, the better half of it, and the best two that have run, side by
   side. So what settings do to each other is measured before one is chosen.
3. *Confirm*: the best of these against the start in blocks that have not chosen it, with the start twice (A/A). Of many
   noisy figures the best is too good by chance (the winner's curse), so only this one is reported as the gain.

Every stage is a suite in randomised blocks with the start in each.

Source: Box, Hunter and Hunter, "Statistics for experimenters", 1978 (main effects of fractions of a factorial design).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import ceil, exp, prod
from statistics import fmean

import numpy as np

from lab.analysis.tune.estimates import (
    A_TIE,
    LEAST_CONFIRM_BLOCKS,
    LEAST_FREEDOM,
    LEAST_GAIN,
    PENALTY,
    Estimates,
    Fit,
    Measured,
    fitted,
    given_up,
    holds,
    pooled,
    rows,
)
from lab.records.tune import Bound, Candidate, Combination, Goal, Stage, combination_name
from lab.suite.durations import MOST_OVER
from lab.tune.design import plackett_burman, two_level_block

CONFIRM_SHARE, TOGETHER_SHARE = 0.26, 0.2
"""Of the whole time; the rest is for starting, warming, and the mix."""
MIXES = 2
PER_BLOCK = 8
"""Combinations in a block of a mix, about: few share the minute, and many share the start's run."""
DRAWS = 20
"""Draws for each combination of a mix, at most: some are in the block already, or cannot be set together."""
BEST_THAT_RAN = 2
FINALISTS = 2 + BEST_THAT_RAN
RUNS_OF_CONFIRMATION = 3
"""In each block: the start twice, and what was chosen."""
RUNS_TO_CONFIRM = LEAST_CONFIRM_BLOCKS * RUNS_OF_CONFIRMATION
LEAST_TOGETHER, MOST_TOGETHER = 2, 10
"""Blocks of combinations side by side."""


@dataclass(frozen=True)
class Times:
    """Times of a search: how much there is, and how much a run takes.

    Attributes:
        left_s: Until the whole budget is over.
        budget_s: All of it.
        run_s: Of a run of which nothing more is known, with what comes before it.
        runs_s: The same, of what has run: a combination's name, or the start's → seconds.
    """

    left_s: float
    budget_s: float
    run_s: float
    runs_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def confirm_s(self) -> float:
        """Longest time that the fewest blocks of a confirmation take."""
        return RUNS_TO_CONFIRM * self.of(())

    @property
    def can_confirm(self) -> bool:
        """Check that the fewest blocks of a confirmation would end in time."""
        return self.confirm_s <= self.left_s + MOST_OVER * self.budget_s

    @property
    def search_s(self) -> float:
        """Time left before the confirmation has to begin; all of it where there is none for that."""
        kept_s = max(CONFIRM_SHARE * self.budget_s, self.confirm_s) if self.can_confirm else 0.0
        return self.left_s - kept_s

    def runs_of_mix(self, mixes: int) -> int:
        """Runs of the next of so many mixes, which have all the time where finalists would have too few blocks."""
        together_s = TOGETHER_SHARE * self.budget_s
        is_enough = together_s >= LEAST_TOGETHER * (FINALISTS + 1) * self.run_s
        return max(0, int((self.search_s - (together_s if is_enough else 0.0)) / mixes / self.run_s))

    def of(self, combination: Combination) -> float:
        """Time of a run of a combination; the usual time for one that has not run."""
        return self.runs_s.get(combination_name(combination), self.run_s)

    def block_s(self, combinations: Iterable[Combination]) -> float:
        """Time of a block of combinations, with the start."""
        return sum(map(self.of, combinations)) + self.of(())


@dataclass(frozen=True)
class Search:
    """A search: what may be tried, for which goal.

    Attributes:
        candidates: The most promising ones first.
        is_possible: Whether candidates can be set at the same time; each of them can by itself.
        seed: Of what is drawn.
    """

    candidates: Sequence[Candidate]
    goal: Goal
    bounds: Sequence[Bound]
    is_possible: Callable[[Combination], bool] = lambda _: True
    seed: int = 1

    runs_to_confirm = RUNS_TO_CONFIRM
    what = "a search with its confirmation"

    def next_stage(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """The stage that comes after those which have been measured; `None` when there is nothing more to do."""
        kinds = [each.stage.kind for each in measured]
        if "confirm" in kinds:
            return None
        if "together" not in kinds:
            stage = self.mixed(measured, times) or self.together(measured, times)
            if stage is not None:
                return stage
        chosen = self.chosen(measured) if times.can_confirm else None
        return None if chosen is None else Stage(number=len(measured) + 1, kind="confirm", blocks=((chosen,),))

    def in_order(self, names: Collection[str]) -> Combination:
        """Candidates as a combination, in the order of the plan."""
        return tuple(candidate.name for candidate in self.candidates if candidate.name in names)

    @cached_property
    def knob_of(self) -> dict[str, str]:
        """Candidate → the setting that it is a value of."""
        return {candidate.name: candidate.setting for candidate in self.candidates}

    @cached_property
    def values(self) -> list[list[str]]:
        """By knob, its candidates, and an empty one for the value of the start."""
        by_knob: dict[str, list[str]] = defaultdict(lambda: [""])
        for name, knob in self.knob_of.items():
            by_knob[knob].append(name)
        return list(by_knob.values())

    @property
    def runs_of_block(self) -> int:
        """Runs of a block of a mix, about: the start's among them, which all combinations of few candidates hold."""
        return min(PER_BLOCK + 1, prod(map(len, self.values)))

    @property
    def least_runs(self) -> int:
        """Runs of the first stage that are worth their time."""
        return self.runs_of_block

    @property
    def fewest_runs(self) -> int:
        """Runs below which the first stage tells nothing."""
        return 0

    def can_run(self, combination: Combination, failed: Iterable[frozenset[str]]) -> bool:
        """Check that no measurement forbids a combination."""
        return not combination or (not holds(combination, failed) and self.is_possible(combination))

    # --- the mix ----------------------------------------------------------------------------------------------------

    def mixed(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """Combinations drawn at random, in an even share of the mix's time; `None` where it is over."""
        if len(measured) == MIXES or not self.candidates:
            return None
        if not measured and (screened := self.screened(times.runs_of_mix(1))):
            return Stage(number=1, kind="mixed", blocks=(screened,))
        number, least = len(measured) + 1, self.runs_of_block
        runs = max(times.runs_of_mix(MIXES - len(measured)), 0 if measured else least)
        blocks = round(runs / least)
        size = least if least <= PER_BLOCK else runs // max(1, blocks) - 1
        failed = given_up(rows(measured, self.goal.metric))
        drawn = tuple(self.drawn(number, blocks, size, failed))
        return Stage(number=number, kind="mixed", blocks=drawn) if any(map(any, drawn)) else None

    def screened(self, runs: int) -> tuple[Combination, ...]:
        """Block of a two-level design, with one value of each knob; empty where as many runs tell of all values."""
        names = [values[1] for values in self.values]
        size = len(plackett_burman(len(names)))
        is_short = size <= runs < len(self.candidates) + MIXES + LEAST_FREEDOM
        rows_of_design = two_level_block(names, 0, self.seed) if is_short else ()
        return tuple(each for each in rows_of_design if self.can_run(each, ()))

    def blocks_in_time(self, times: Times, runs_of_block: int) -> int:
        """Number of blocks of the first stage that there is time for."""
        return max(1, times.runs_of_mix(MIXES) // runs_of_block)

    def drawn(
        self, number: int, blocks: int, size: int, failed: Collection[frozenset[str]] = ()
    ) -> Iterator[tuple[Combination, ...]]:
        """So many blocks, each of so many combinations that differ, or fewer where few can be set.

        Args:
            number: Of the stage: another one draws others.
        """
        draws = self._draws(number, blocks * size)
        for _ in range(blocks):
            block: dict[Combination, None] = {}
            for each in islice(draws, DRAWS * size):
                if self.can_run(each, failed):
                    block[each] = None
                if len(block) == size:
                    break
            yield tuple(block)

    def _draws(self, number: int, each_round: int) -> Iterator[Combination]:
        """Combinations of which every round of so many has each value of a knob as often as any other."""
        draw = np.random.default_rng((self.seed, number))
        while True:
            columns = [draw.permutation(np.resize(draw.permutation(values), each_round)) for values in self.values]
            yield from map(self.in_order, zip(*columns, strict=True))

    # --- the choice -------------------------------------------------------------------------------------------------

    def gains(self, measured: Sequence[Measured]) -> tuple[Fit, dict[Combination, float]]:
        """Effect of each candidate in the mix, by a fit that may choose, and measured effect of each combination.

        All as logarithms, of which more is better.
        """
        sign = 1.0 if self.goal.more_is_better else -1.0
        runs = [row._replace(value=row.value and sign * row.value) for row in rows(measured, self.goal.metric)]
        fit = fitted(runs, PENALTY)
        seen: dict[Combination, list[float]] = defaultdict(list)
        for row in runs:
            if row.combination and row.value is not None:
                seen[row.combination].append(row.value - fit.levels[row.block])
        return fit, {combination: fmean(values) for combination, values in seen.items()}

    def finalists(self, measured: Sequence[Measured]) -> list[Combination]:
        """The combination of what gains in the mix, the better half of it, and the best that have run."""
        fit, seen = self.gains(measured)
        failed = given_up(rows(measured, self.goal.metric))
        known = Estimates(self.goal, self.bounds, pooled(measured))
        whole = self.within_bounds(self.gaining(fit, failed), measured)
        half = whole[: ceil(len(whole) / 2)]
        ran = sorted(seen, key=seen.__getitem__, reverse=True)
        ran = [each for each in ran if seen[each] > LEAST_GAIN and known.broken(each) is None]
        made = [each for each in dict.fromkeys(map(self.in_order, (whole, half))) if each]
        return [*made, *islice((each for each in ran if each not in made), BEST_THAT_RAN)]

    def gaining(self, fit: Fit, failed: Collection[frozenset[str]]) -> list[str]:
        """Candidates that gain, the most first, each if it can be set beside those before it."""
        found: list[str] = []
        for name in sorted(fit.effects, key=fit.effects.__getitem__, reverse=True):
            beside = self.in_order((*found, name))
            knobs = {self.knob_of[each] for each in beside}
            if fit.effects[name] > LEAST_GAIN and len(knobs) == len(beside) and self.can_run(beside, failed):
                found.append(name)
        return found

    def within_bounds(self, gaining: Sequence[str], measured: Sequence[Measured]) -> list[str]:
        """Candidates without those that take them furthest beyond a bound, until the mix says that all are kept."""
        kept = list(gaining)
        for bound in self.bounds:
            effects = fitted(rows(measured, bound.metric)).effects
            while kept and bound.is_broken(exp(sum(effects.get(name, 0.0) for name in kept))):
                furthest = max if bound.most is not None else min
                kept.remove(furthest(kept, key=lambda name: effects.get(name, 0.0)))
        return kept

    def together(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """The stage that runs the best few of the mix side by side; `None` for a single one, or without time."""
        finalists = self.finalists(measured)
        blocks = min(MOST_TOGETHER, int(times.search_s / times.block_s(finalists)))
        if len(finalists) < 2 or blocks < LEAST_TOGETHER:
            return None
        return Stage(number=len(measured) + 1, kind="together", blocks=(tuple(finalists),) * blocks)

    def chosen(self, measured: Sequence[Measured]) -> Combination | None:
        """Choose the combination to confirm: the best side by side, or else of the mix; `None` if none gains.

        Among combinations within 1 % of the best, choose the one that changes the fewest settings.
        """
        if not measured or measured[-1].stage.kind == "mixed":
            return next(iter(self.finalists(measured)), None)
        known = Estimates(self.goal, self.bounds, pooled(measured[-1:]))
        gains = {
            each: gain
            for each in measured[-1].stage.combinations
            if (gain := known.log_gain(each)) is not None and gain > LEAST_GAIN and known.broken(each) is None
        }
        alike = [each for each, gain in gains.items() if gain >= max(gains.values()) - A_TIE]
        return min(alike, key=lambda each: (len(each), -gains[each]), default=None)
