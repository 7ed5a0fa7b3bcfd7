"""Screening: a tune that ends with its mix, a design of two levels that tells which settings matter."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil, exp, log, sqrt

import scipy
from pydantic import JsonValue

from lab.analysis.text import quantity
from lab.analysis.tune.estimates import CONFIDENCE, LEAST_OF_A_LEVEL, LEAST_TOGETHER, Measured, given_up, rows
from lab.analysis.tune.screening import LESS, MORE
from lab.errors import ProfileError
from lab.profiles.problems import suggestion
from lab.profiles.spaces import least_needed
from lab.records.tune import Candidate, LeftOut, Stage
from lab.tune.design import plackett_burman, two_level_block
from lab.tune.search import Search, Times

POWER = 0.8
WITHIN = (1 + POWER) / 2
NOISE = 0.15
"""Standard deviation of the CPU per document from run to run on a busy machine, relative."""
FEWEST_RUNS = 2 * LEAST_OF_A_LEVEL
"""Runs that tell a large effect; fewer tell nothing."""


@dataclass(frozen=True)
class Screening(Search):
    """A search that ends with its mix, which is a design of two levels.

    Attributes:
        candidates: One of each setting.
    """

    runs_to_confirm = 0
    what = "a screening"

    @property
    def runs_of_block(self) -> int:
        """Runs of the first block; the start is one of them."""
        return len(plackett_burman(len(self.candidates)))

    @property
    def least_runs(self) -> int:
        """Runs that give intervals of all settings."""
        return least_runs(len(self.candidates))

    @property
    def fewest_runs(self) -> int:
        """Runs below which there is no answer."""
        return FEWEST_RUNS

    def next_stage(self, measured: Sequence[Measured], times: Times) -> Stage | None:
        """Stage of as many blocks as the time holds, the last one in part; `None` where it holds no half of one."""
        blocks = self.blocks_in_time(times, self.runs_of_block)
        if measured and times.left_s < self.runs_of_block * times.run_s / 2:
            return None
        names = [each.name for each in self.candidates]
        made = sum(len(each.stage.blocks) for each in measured)
        failed = given_up(rows(measured, self.goal.metric))
        drawn = tuple(
            tuple(each for each in two_level_block(names, number, self.seed) if self.can_run(each, failed))
            for number in range(made, made + blocks)
        )
        return Stage(number=len(measured) + 1, kind="mixed", blocks=drawn) if any(map(any, drawn)) else None

    def blocks_in_time(self, times: Times, runs_of_block: int) -> int:
        """Number of blocks that begin in the time; at least one."""
        return max(1, ceil(times.left_s / times.run_s / runs_of_block))


# --- levels ---------------------------------------------------------------------------------------------------------


def of_two_levels(
    candidates: Sequence[Candidate], start: Mapping[str, JsonValue], wanted: Sequence[str] = ()
) -> tuple[tuple[Candidate, ...], tuple[LeftOut, ...]]:
    """One candidate of each setting, and those that are left out, with the reason.

    That is the one that the command line names, or else the one farthest from the start; where that is no number, the
    first of the space. A setting that another one moves has no column: their effects could not be told apart.

    Args:
        start: Setting → value of the start.

    Raises:
        ProfileError: A name that is wanted is none of a candidate, or two are of one setting.
    """
    for name in wanted:
        if name not in {each.name for each in candidates}:
            raise ProfileError(
                f'--try: unknown value "{name}", {suggestion(name, [c.name for c in candidates], "one of")}'
            )
    by_setting: dict[str, list[Candidate]] = defaultdict(list)
    for each in candidates:
        by_setting[each.setting].append(each)
    chosen = {
        setting: only_one([each for each in those if each.name in wanted]) or farthest(those, start.get(setting))
        for setting, those in by_setting.items()
    }
    moves = {each.name: [*moved_by(each, start, chosen)] for each in chosen.values()}
    by_any, moved = {*chain(*moves.values())}, dict[str, str]()
    # First those that none moves: what is left out moves nothing.
    for each in sorted(chosen.values(), key=lambda each: each.setting in by_any):
        if each.setting not in moved:
            moved = dict.fromkeys(moves[each.name], each.name) | moved
    kept = tuple(each for each in chosen.values() if each.setting not in moved)
    return kept, tuple(LeftOut(name=each.name, reason=why_left(each, moved)) for each in candidates if each not in kept)


def only_one(named: Sequence[Candidate]) -> Candidate | None:
    """The candidate of a setting that is named, if one is; raises ProfileError if there are several."""
    if len(named) > 1:
        got = ", ".join(each.name for each in named)
        raise ProfileError(f"--try: got {got}, expected one value of {named[0].setting}")
    return next(iter(named), None)


def moved_by(candidate: Candidate, start: Mapping[str, JsonValue], chosen: Mapping[str, Candidate]) -> Iterator[str]:
    """Other settings with a candidate, one level of which does not have its own value beside this candidate."""
    for key, needed in candidate.requires.items():
        if key in chosen:
            levels = (start.get(key), chosen[key].value)
            if any(least_needed(level, needed) != level for level in levels):
                yield key


def why_left(candidate: Candidate, moved: Mapping[str, str]) -> str:
    """Reason to leave a candidate out of a screening."""
    if candidate.setting in moved:
        return f"{moved[candidate.setting]} moves it, too: their effects could not be told apart"
    return "a screening tries one value of a setting; to try another: --try NAME=VALUE"


def farthest(candidates: Sequence[Candidate], start: JsonValue) -> Candidate:
    """The candidate that is the largest factor from the start; the first one where values are no numbers."""
    values = [start, *(each.value for each in candidates)]
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    ]
    if len(numbers) < len(values):
        return candidates[0]
    return max(candidates, key=lambda each: abs(log(float(str(each.value)) / float(str(start)))))


# --- what a time can tell -------------------------------------------------------------------------------------------


def least_runs(candidates: int) -> int:
    """Runs that give intervals of all settings: an effect of each, a level of each of two blocks, and what is left."""
    size = len(plackett_burman(candidates))
    return min(2 * size, max(size, candidates + 2 + LEAST_TOGETHER))


def what_it_can_tell(candidates: int, runs: int, noise: float = NOISE) -> str:
    """Sentence on the effects that so many runs tell, by the expected width of their intervals.

    Args:
        noise: Relative, from run to run.
    """
    if runs < FEWEST_RUNS:
        return f"too short: {quantity(runs, 'run')} or so tell nothing, {FEWEST_RUNS} what is large"
    if runs < (least := least_runs(candidates)):
        return f"{runs} runs or so tell only what is large, each setting by itself; intervals of all take {least}"
    freedom = runs - candidates - ceil(runs / len(plackett_burman(candidates)))
    error = 2 * noise / sqrt(runs)
    half = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    reach = half + float(scipy.special.stdtrit(freedom, POWER)) * error
    # To be within 15 % is to be within on either side, of which each fails in half of the other cases.
    inside = half + float(scipy.special.stdtrit(freedom, WITHIN)) * error
    costs, saves, small = 100 * (MORE * exp(reach) - 1), 100 * (1 - LESS * exp(-reach)), 100 * (MORE * exp(-inside) - 1)
    needed = ceil(
        (2 * noise * float(scipy.special.ndtri((1 + CONFIDENCE) / 2) + scipy.special.ndtri(WITHIN)) / log(MORE)) ** 2
    )
    nothing = f"it takes {needed} runs to tell what changes nothing"
    if small >= 1:
        nothing = f"what changes less than {small:.0f} %"
    return (
        f"about {runs} runs give intervals of ±{100 * (exp(half) - 1):.0f} % if runs scatter by {100 * noise:.0f} %, as"
        f" on a busy machine: in four of five cases they tell what costs {costs:.0f} % or saves {saves:.0f} %, and"
        f" {nothing}"
    )
