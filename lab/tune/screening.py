"""Screening: a tune that ends with its mix, a design of two levels that tells which settings matter."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, log, sqrt

import scipy
from pydantic import JsonValue

from lab.analysis.text import quantity
from lab.analysis.tune.estimates import CONFIDENCE, LEAST_FREEDOM, LEAST_OF_A_LEVEL, Measured, given_up, rows
from lab.analysis.tune.screening import LESS, MORE
from lab.errors import ProfileError
from lab.profiles.problems import suggestion
from lab.records.tune import Candidate, LeftOut, Stage
from lab.tune.design import plackett_burman, two_level_block
from lab.tune.search import Search, Times

POWER = 0.8
NOISE = 0.15
"""Standard deviation of the CPU per document from run to run on a busy machine, relative."""


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
        """Runs that give intervals: an effect of each setting, a level of each of two blocks, and what is left."""
        return max(self.runs_of_block, len(self.candidates) + 2 + LEAST_FREEDOM)

    @property
    def fewest_runs(self) -> int:
        """Runs that tell a large effect by itself; fewer tell nothing."""
        return 2 * LEAST_OF_A_LEVEL

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
    first of the space. A setting that another candidate moves has no column: their effects could not be told apart.

    Args:
        start: Setting → value of the start.

    Raises:
        ProfileError: A name that is wanted is none of a candidate.
    """
    for name in wanted:
        if name not in {each.name for each in candidates}:
            raise ProfileError(
                f'--try: unknown value "{name}", {suggestion(name, [c.name for c in candidates], "one of")}'
            )
    by_setting: dict[str, list[Candidate]] = defaultdict(list)
    for each in candidates:
        by_setting[each.setting].append(each)
    chosen = [
        next((each for each in those if each.name in wanted), None) or farthest(those, start.get(setting))
        for setting, those in by_setting.items()
    ]
    moved = {key: each.name for each in chosen for key in each.requires}
    kept = tuple(each for each in chosen if each.setting not in moved)
    return kept, tuple(LeftOut(name=each.name, reason=why_left(each, moved)) for each in candidates if each not in kept)


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


def what_it_can_tell(candidates: int, runs: int, noise: float = NOISE) -> str:
    """Sentence on the effects that so many runs tell, by the expected width of their intervals.

    Args:
        noise: Relative, from run to run.
    """
    size = len(plackett_burman(candidates))
    freedom = runs - candidates - ceil(runs / size)
    if freedom < LEAST_FREEDOM:
        return f"too short: {quantity(runs, 'run')} or so give no intervals, {candidates} settings need {2 * size}"
    error = 2 * noise / sqrt(runs)
    half = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2)) * error
    reach = half + float(scipy.special.stdtrit(freedom, POWER)) * error
    costs, saves, small = 100 * (MORE * exp(reach) - 1), 100 * (1 - LESS * exp(-reach)), 100 * (MORE * exp(-reach) - 1)
    needed = ceil(
        (2 * noise * float(scipy.special.ndtri((1 + CONFIDENCE) / 2) + scipy.special.ndtri(POWER)) / log(MORE)) ** 2
    )
    nothing = f"it takes {needed} runs to tell what changes nothing"
    if small >= 1:
        nothing = f"what changes less than {small:.0f} %"
    return (
        f"about {runs} runs give intervals of ±{100 * (exp(half) - 1):.0f} % if runs scatter by {100 * noise:.0f} %, as"
        f" on a busy machine: in four of five cases they tell what costs {costs:.0f} % or saves {saves:.0f} %, and"
        f" {nothing}"
    )
