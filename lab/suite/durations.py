"""Durations of runs to come, by those that have ended, and the time limit that they are held against."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from statistics import median

from lab.analysis.statistics.effects import LEAST_BLOCKS
from lab.analysis.text import quantity
from lab.errors import ProfileError
from lab.records.suite import SuitePlan, SuiteRun, Variant
from lab.suite.loads import UncountedRun
from lab.suite.plan import INTERRUPTED_S, RUN_BASE_S, block_s, first_blocks, first_s

MOST_OVER = 0.05
"""Share of the limit by which its last run may be expected to end late. As much again is left for what runs take longer
than expected, so that 10 % hold."""
LEAST_LIMIT_S = 60.0
"""Least time of a suite, as on the command line."""


class TimeIsOver(Exception):  # noqa: N818 - the expected end of a measurement, no error
    """The next run would not end within the limit."""


class NoTimeError(ProfileError):
    """The time is over before the first run that counts, or holds too few runs to tell anything."""

    def __init__(self, minutes: float, spent_s: float, too_few: str = "") -> None:
        super().__init__(
            f"--minutes: {too_few}"
            if too_few
            else f"--minutes: got {minutes:g}, expected more, at least twice as much: the warm-up took"
            f" {spent_s / 60:.1f} min here, and no run that counts would have ended in time"
        )


def limit_s(minutes: float) -> float:
    """Time in which a measurement that may take so long has to end."""
    return (1 + MOST_OVER) * max(LEAST_LIMIT_S, 60 * minutes)


def walls_s(runs: Sequence[SuiteRun], keep: Callable[[SuiteRun], bool]) -> dict[str, list[float]]:
    """By variant the wall times of those of its runs that are kept, each with the pause before it."""
    taken: dict[str, list[float]] = defaultdict(list)
    for before, run in _with_predecessors(runs):
        if keep(run):
            gap_s = run.started_s - before.ended_s if before else 0.0
            taken[run.variant].append(run.ended_s - run.started_s + (gap_s if 0 <= gap_s < INTERRUPTED_S else 0.0))
    return taken


def _with_predecessors(runs: Sequence[SuiteRun]) -> Iterator[tuple[SuiteRun | None, SuiteRun]]:
    yield from ((None, run) for run in runs[:1])
    yield from pairwise(runs)


def durations_s(
    plan: SuitePlan,
    runs: Sequence[SuiteRun],
    *,
    uncounted: Mapping[str, UncountedRun],
    expected: Mapping[str, float],
) -> dict[str, float]:
    """Duration of a run of each variant that counts, in seconds, with the pause before it; 0 where nothing is known.

    That of its verified runs so far (their median), or else of its uncounted run at the size that loads have now. A
    variant that has neither takes as much more or less than expected as those that have. Failed runs may lengthen
    that, as where they wait for a timeout; one that fails at once tells nothing of a good one.

    Args:
        runs: All runs so far, in the order in which they ended.
        uncounted: By variant its last uncounted run.
        expected: By variant what was expected before any had ended.
    """
    times = plan.times or 1
    known = {name: _at_size_s(run, times) for name, run in uncounted.items()}
    known |= {name: median(walls) for name, walls in walls_s(runs, _is_good).items()}
    paces = [known[name] / expected[name] for name in known if expected.get(name)]
    usual_s, pace = median(known.values()) if known else 0.0, median(paces) if paces else 1.0
    each_s = {
        each.name: known[each.name]
        if each.name in known
        else pace * expected[each.name]
        if each.name in expected
        else usual_s
        for each in plan.variants
    }
    taken = {name: median(walls) for name, walls in walls_s(runs, lambda run: run.block > 0).items()}
    return {name: max(seconds, taken.get(name, 0.0)) for name, seconds in each_s.items()}


def _is_good(run: SuiteRun) -> bool:
    """Check that a run that was to count has not failed."""
    return run.block > 0 and run.status == "verified"


def slowdown(runs: Sequence[SuiteRun], each: Mapping[str, float]) -> float:
    """Ratio of the last run that counts to the earlier good ones of its variant, at least 1: the next may be as slow.

    Args:
        each: What stands in for those where there are none.
    """
    if not (runs and runs[-1].block):
        return 1.0
    name, last = runs[-1].variant, runs[-1]
    last_s = walls_s(runs, lambda run: run.block > 0)[name][-1]
    earlier = walls_s(runs, lambda run: _is_good(run) and run is not last).get(name)
    earlier_s = median(earlier) if earlier else each[name]
    return max(1.0, last_s / earlier_s) if earlier_s else 1.0


def _at_size_s(run: UncountedRun, times: int) -> float:
    around_s = min(run.wall_s, RUN_BASE_S)
    return around_s + (run.wall_s - around_s) * times / run.times


def uncounted_run_s(plan: SuitePlan, runs: Sequence[SuiteRun], variant: Variant, *, run_s: float, short: bool) -> float:
    """Duration of the next uncounted run of a variant, which makes the index that it reads if that is not there yet.

    To make one takes as much more or less than expected as those that were made so far.

    Args:
        runs: Those on the servers of this session.
        run_s: Of a run of the variant that counts.
        short: A warm-up drain, of which nothing is known before the first: 0 then.
    """
    if variant.layout is None:
        known = [run.ended_s - run.started_s for run in runs if not run.block]
        return run_s if not short else median(known) if known else 0.0
    paces: dict[str, float] = {}
    for run in runs:
        of_run = plan.variant(run.variant)
        if of_run.layout is not None and of_run.layout not in paces:
            paces[of_run.layout] = (run.ended_s - run.started_s) / first_s(of_run, run_s)
    if variant.layout in paces:
        return run_s
    return first_s(variant, run_s) * (median(paces.values()) if paces else 1.0)


def comparison_text(plan: SuitePlan, each: Mapping[str, float], minutes: float, spent_s: float) -> str:
    """Sentence on a time that is too short for the fewest blocks of all comparisons; empty if it is not.

    Args:
        each: By variant, duration of a run.
        spent_s: Of the time, what is over.
    """
    blocks = first_blocks(plan)
    runs, all_s = sum(map(len, blocks)), sum(block_s(plan, names, each) for names in blocks)
    left_s, needed = 60 * minutes - spent_s, LEAST_BLOCKS * runs
    return room_text(minutes, left_s=left_s, run_s=all_s / runs, needed=needed, what="a comparison")


def room_text(minutes: float, *, left_s: float, run_s: float, needed: int, what: str) -> str:
    """Sentence on a time that holds fewer runs than are needed, with the time that does; empty if it holds them.

    Args:
        left_s: Of the whole time, what is left.
        run_s: Of one run here; 0 where it is not known.
        needed: Number of runs.
        what: Noun that needs them.
    """
    if run_s <= 0 or left_s >= needed * run_s:
        return ""
    enough = ceil(minutes + (needed * run_s - left_s) / 60)
    return (
        f"{minutes:g} min hold {quantity(max(0, int(left_s / run_s)), 'run')} of about {run_s:.0f} s here, after the"
        f" warm-up; {what} needs {needed}: give it --minutes {enough}"
    )
