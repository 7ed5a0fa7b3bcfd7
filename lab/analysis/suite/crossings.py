"""From which place on a level of a factor wins: a line through comparisons at several places along an axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.answer import Findings
from lab.analysis.suite.comparisons import Pair
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.text import number
from lab.records.suite import Crossing, VariantMetric


def pairs_of(findings: Findings, factor: str) -> list[Pair]:
    """The comparisons in which a factor is turned."""
    return [pair for pair in findings.pairs if pair[0] in turned(findings, factor)]


def turned(findings: Findings, factor: str) -> frozenset[str]:
    """The variants of a factor, those among them that others are compared with included."""
    return frozenset(variant.name for variant in findings.plan.variants if variant.factor == factor)


@dataclass(frozen=True, slots=True)
class Level:
    """A comparison at one place along an axis; log ratios, below zero where the variant wins.

    Attributes:
        at: Where, above zero.
        worst, best: Ends of the interval that the verdict is taken from.
    """

    at: float
    mean: float
    worst: float
    best: float


def levels(findings: Findings, wanted: Crossing, figures: Sequence[VariantMetric]) -> list[Level]:
    """The comparisons of a factor along its axis, the smallest place first; without those not measured.

    The axis is measured of what the variant is compared with; of data that queries only ask about in part, that part.
    """
    axis = (wanted.over.name, wanted.over.scope)
    places = {figure.variant: figure.median for figure in figures if (figure.name, figure.scope) == axis}
    measured = []
    for variant, against in pairs_of(findings, wanted.factor):
        effect, place = findings.on((variant, against), wanted.metric), places.get(against)
        if effect is None or not place or not (effect.ratio and effect.low and effect.high):
            continue
        sign = -1 if is_speed(wanted.metric.name) > 0 else 1
        ends = sorted(sign * log(end) for end in (effect.low, effect.high))
        part = findings.plan.variant(against).working_set
        measured.append(Level(at=place * part, mean=sign * log(effect.ratio), worst=ends[1], best=ends[0]))
    return sorted(measured, key=lambda level: level.at)


def passing(points: Sequence[tuple[float, float]]) -> float | None:
    """The place from which on a line through the points stays below zero, by log place; `None` if its end does not.

    Args:
        points: Place and value, the smallest place first; the first place if all values are below zero.
    """
    above = [position for position, (_, value) in enumerate(points) if value >= 0]
    if not points or (above and above[-1] == len(points) - 1):
        return None
    if not above:
        return points[0][0]
    (left, before), (right, after) = points[above[-1]], points[above[-1] + 1]
    return exp(log(left) + (log(right) - log(left)) * before / (before - after))


def crossing_sentence(findings: Findings, wanted: Crossing, figures: Sequence[VariantMetric]) -> str:
    """Where a level begins to win, with the interval of that place, or why none can be named."""
    measured = levels(findings, wanted, figures)
    axis, metric = lower_first(axis_label(findings, wanted)), lower_first(metric_label(wanted.metric))
    about = f"`{common_name(findings, wanted.factor)}` along {axis}, by {metric}"
    if len(measured) < 2:
        return f"{about}: not known, since {len(measured)} of at least 2 levels were measured with that axis."
    tried = f"levels {', '.join(_place(level.at) for level in measured)}"
    surely = passing([(level.at, level.worst) for level in measured])
    if surely is None:
        return f"{about}: {_no_win(measured)} ({tried})."
    if all(level.worst < 0 for level in measured):
        return f"{about}: it wins at every level, from {_place(measured[0].at)} on ({tried})."
    mean = passing([(level.at, level.mean) for level in measured])
    earliest = passing([(level.at, level.best) for level in measured])
    is_open = all(level.best < 0 for level in measured)
    first = (
        f"{_place(measured[0].at)} is undecided"
        if measured[0].worst >= 0
        else f"it wins at {_place(measured[0].at)} already"
    )
    low = f"no lower end, since {first}" if is_open else f"{_place(earliest or 0)}"
    if mean is None or all(level.mean < 0 for level in measured):
        return (
            f"{about}: it wins at the latest from {_place(surely)} on; only bracketed, since the mean ratio is a gain"
            f" at every level ({tried})."
        )
    interval = f"at the latest from {_place(surely)}, {low}" if is_open else f"interval {low} to {_place(surely)}"
    return f"{about}: it wins from {_place(mean)} on, interpolated between levels ({interval}; {tried})."


def axis_label(findings: Findings, wanted: Crossing) -> str:
    """What a crossing is looked for along."""
    in_part = any(findings.plan.variant(against).working_set < 1 for _, against in pairs_of(findings, wanted.factor))
    return f"{metric_label(wanted.over)}{' (the part asked about)' if in_part else ''}"


def common_name(findings: Findings, factor: str) -> str:
    """What is compared, without the setting that ends each name: `best_compression` of `best_compression 4×`."""
    names = {pair[0].rpartition(" ")[0].rstrip(",") for pair in pairs_of(findings, factor)}
    return names.pop() if len(names) == 1 else factor


def _no_win(measured: Sequence[Level]) -> str:
    last = measured[-1]
    if any(level.worst < 0 for level in measured):
        return f"it wins at some levels but not at the largest, {_place(last.at)}: no crossing can be given"
    if last.best > 0:
        return f"it does not win here, and loses at the largest level, {_place(last.at)}"
    return f"it is not shown to win here, up to {_place(last.at)}"


def _place(at: float) -> str:
    return f"{number(at)}×"
