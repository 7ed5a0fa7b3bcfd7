"""Answer of a screening: which settings matter, which do not, and which could not be told."""

from collections.abc import Iterable, Mapping
from typing import Literal

from lab.analysis.text import quantity
from lab.records.tune import Gain, MixedEffect

MORE, LESS = 1.15, 0.85
"""Ratios beyond which a setting matters: 15 % of the start's figure."""
Group = Literal["matters", "does not matter", "not told"]
TITLES: Mapping[Group, str] = {
    "matters": "Cost or give more than 15 % of Elasticsearch's CPU per document",
    "does not matter": "Change it by less than 15 %",
    "not told": "Could not be told",
}
ANSWERS: Mapping[Group, str] = {
    "matters": "more than 15 %",
    "does not matter": "less than 15 %",
    "not told": "could not be told",
}
OF_THE_SCREENING = (
    "On average over both levels of the other settings: a least-squares fit to all runs, or of each setting by itself"
    " where the runs are few. A setting is in one of the first two groups where all of its 95 % interval is beyond"
    " 15 %, or within. Each interval is for itself: of forty settings whose effect is just 15 %, one would be in a"
    " wrong group; far from it, hardly any."
)


def group_of(effect: MixedEffect) -> Group:
    """Group of a setting by its interval on the goal; without an interval it could not be told."""
    if effect.low is None or effect.high is None:
        return "not told"
    if effect.low > MORE or effect.high < LESS:
        return "matters"
    return "does not matter" if effect.low > LESS and effect.high < MORE else "not told"


def grouped(effects: Iterable[MixedEffect]) -> dict[Group, list[MixedEffect]]:
    """Settings by group, the largest effect first; empty groups, too."""
    groups: dict[Group, list[MixedEffect]] = {group: [] for group in TITLES}
    for effect in sorted(effects, key=lambda each: -max(each.ratio, 1 / each.ratio)):
        groups[group_of(effect)].append(effect)
    return groups


def told_groups(effects: Iterable[MixedEffect], settings: int, runs: int) -> str:
    """Sentence on how many settings are in each group.

    Args:
        settings: Those that were screened.
        runs: That came to a figure.
    """
    groups = grouped(effects)
    sizes = {group: len(those) for group, those in groups.items()}
    if not sizes["matters"] + sizes["does not matter"] + sizes["not told"]:
        return f"Not known: {quantity(runs, 'run')} cannot tell {settings} settings apart; more minutes can."
    names = ", ".join(each.candidate for each in groups["matters"])
    untold = settings - sizes["matters"] - sizes["does not matter"]
    more = "; more minutes tell more" if untold else ""
    return (
        f"Of {settings} settings {sizes['matters']} cost or give more than 15 % of Elasticsearch's CPU per"
        f" document{names and f' ({names})'}, {sizes['does not matter']} change it by less, and"
        f" {untold} could not be told by {quantity(runs, 'run')}{more}."
    )


def rate_of(effect: MixedEffect) -> Gain | None:
    """Effect on the indexing rate where its interval says something: which way it goes, or that it is within ±15 %."""
    rate = effect.rate
    if rate is None or rate.low is None or rate.high is None:
        return None
    is_told = rate.low > 1 or rate.high < 1 or (rate.low > LESS and rate.high < MORE)
    return rate if is_told else None
