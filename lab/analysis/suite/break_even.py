"""Break-even places of a factor (`crossings` in a suite's file): where along an axis a level begins to win."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.comparisons import Pair
from lab.analysis.suite.figures import by_variant
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.suite.summary import TOO_FEW, Findings
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
    places = by_variant(figures, wanted.over)
    measured = []
    for variant, against in pairs_of(findings, wanted.factor):
        effect, place = findings.on((variant, against), wanted.metric), places.get(against)
        if effect is None or effect.verdict == TOO_FEW or place is None or not place.median:
            continue
        if not (effect.ratio and effect.low and effect.high):
            continue
        sign = -1 if is_speed(wanted.metric.name) > 0 else 1
        ends = sorted(sign * log(end) for end in (effect.low, effect.high))
        part = findings.plan.variant(against).working_set
        measured.append(Level(at=place.median * part, mean=sign * log(effect.ratio), worst=ends[1], best=ends[0]))
    return sorted(measured, key=lambda level: level.at)


def crossing_sentence(findings: Findings, wanted: Crossing, figures: Sequence[VariantMetric]) -> str:
    """At which places it wins and loses; nothing is known of the places between."""
    measured = levels(findings, wanted, figures)
    axis, metric = lower_first(axis_label(findings, wanted)), lower_first(metric_label(wanted.metric))
    wins = [level for level in measured if level.worst < 0]
    loses = [level for level in measured if level.best > 0]
    others = [level for level in measured if level not in wins and level not in loses]
    words = (("it wins", wins), ("it loses", loses), ("neither is shown", others))
    told = "; ".join(
        f"{word} at {', '.join(f'{number(level.at)}×' for level in those)}" for word, those in words if those
    )
    about = f"`{common_name(findings, wanted.factor)}` along {axis}, by {metric}"
    return f"{about}: {told or 'no level was measured'}."


def axis_label(findings: Findings, wanted: Crossing) -> str:
    """Label of the axis of a crossing."""
    in_part = any(findings.plan.variant(against).working_set < 1 for _, against in pairs_of(findings, wanted.factor))
    return f"{metric_label(wanted.over)}{' (the part asked about)' if in_part else ''}"


def common_name(findings: Findings, factor: str) -> str:
    """Common name of a factor's variants, without the setting that ends each: `codec` of `codec 4×`, `codec 16×`."""
    names = {pair[0].rpartition(" ")[0].rstrip(",") for pair in pairs_of(findings, factor)}
    return names.pop() if len(names) == 1 else factor
