"""Whether comparisons that leave a suite as soon as they are settled still keep their claims."""

from math import exp, log
from statistics import fmean

import numpy as np
import pytest

from lab.analysis.statistics.effects import is_settled
from lab.records.suite import Effect
from tests.unit.analysis.statistics.suites_drawn import COMPARISONS, Floats, Judged, judged, log_ratios

SUITES, FIRST, LAST = 400, 3, 12
CHANGES = np.log([1.2, 1, 1.5, 1, 1, 2.2, 1, 0.75, 1, 1.1, 1, 1])
NONE = np.zeros(COMPARISONS + 1)


def effect(mean: float, reach: float, verdict: str = "undecided") -> Effect:
    """An effect with this interval of the log ratio."""
    return Effect.model_construct(ratio=exp(mean), low=exp(mean - reach), high=exp(mean + reach), verdict=verdict)


def stopped(suite: Floats, precision: float) -> tuple[Judged, list[int]]:
    """A suite of which every comparison leaves when it is settled, judged at its end, and the blocks of each.

    A/A runs as long as any.
    """
    blocks, running = [FIRST] * COMPARISONS, set(range(COMPARISONS))
    while True:
        last = max(blocks)
        now = judged([suite[place, :count].tolist() for place, count in enumerate([*blocks, last])])
        for place, (one, reach) in enumerate(zip(now.means, now.held, strict=True)):
            if place in running and is_settled(effect(one.mean, reach), precision):
                running.remove(place)
        if last == LAST or not running:
            return now, blocks
        for place in running:
            blocks[place] = last + 1


@pytest.mark.parametrize(
    ("noise", "size", "precision", "changes"),
    [
        ("white", 0.02, 0.05, NONE),
        ("white", 0.08, 0.15, CHANGES),
        ("lasting", 0.08, 0.15, NONE),
        ("hiccups", 0.02, 0.05, CHANGES),
        ("unequal", 0.08, 0.15, NONE),
        ("recorded", 0.08, 0.15, NONE),
    ],
)
def test_intervals_hold_although_a_suite_stops_by_their_width(
    noise: str, size: float, precision: float, changes: Floats
) -> None:
    """At least 93 of 100 cover the truth, and at most 6 of 100 suites claim a difference where there is none."""
    covered, alarms, blocks = [], [], []
    for suite in log_ratios(noise, SUITES, LAST, size=size, seed=23) + changes[:, None]:
        found, used = stopped(suite, precision)
        errors = [abs(one.mean - truth) for one, truth in zip(found.means, changes, strict=False)]
        covered += [error <= reach for error, reach in zip(errors, found.reaches, strict=True)]
        alarms.append(any(seen and truth == 0 for seen, truth in zip(found.detected, changes, strict=False)))
        blocks += used
    print(  # noqa: T201 - the figures, for `pytest -s`
        f"{noise} {size}: {100 * fmean(covered):.1f} %, false alarms {100 * fmean(alarms):.1f} %,"
        f" {fmean(blocks):.1f} blocks"
    )
    assert fmean(covered) >= 0.93
    assert fmean(alarms) <= 0.06
    assert FIRST < fmean(blocks) < LAST


@pytest.mark.parametrize(
    ("mean", "reach", "expected"),
    [(0.0, 0.048, True), (0.0, 0.05, False), (log(2), 0.17, True), (-log(2), 0.17, True), (log(2), 0.18, False)],
)
def test_a_comparison_is_settled_within_the_precision_or_a_quarter_of_its_size(
    mean: float, reach: float, *, expected: bool
) -> None:
    """5 % are 0.0488 as a logarithm, and a quarter of ln 2 is 0.173."""
    assert is_settled(effect(mean, reach), 0.05) is expected


def test_too_few_blocks_settle_nothing_and_equal_ratios_everything() -> None:
    """However narrow; and what is the same in all blocks will be so in the next."""
    assert not is_settled(effect(0.0, 0.001, "too few runs"), 0.05)
    assert is_settled(Effect.model_construct(ratio=3.0, low=None, high=None, verdict="higher"), 0.05)
    assert not is_settled(Effect.model_construct(ratio=None, low=None, high=None, verdict="too few runs"), 0.05)
