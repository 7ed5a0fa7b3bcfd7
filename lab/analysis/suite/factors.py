"""Factors of a suite: the places along an axis where a level begins to win, and settings that had nothing to act on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from lab.analysis.figures.definitions import BY_NAME
from lab.analysis.statistics.effects import is_speed
from lab.analysis.suite.comparisons import Pair, planned_pairs
from lab.analysis.suite.figures import by_variant
from lab.analysis.suite.names import lower_first, metric_label
from lab.analysis.suite.summary import TOO_FEW, Findings
from lab.analysis.text import figure, number
from lab.records.suite import Crossing, MetricKey, VariantMetric

BOUNDS = ("elasticsearch.page_cache_mb", "elasticsearch.memory_limit_mb", "elasticsearch.read_iops_limit")
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Path:
    """Metric through which settings act.

    Attributes:
        least: A value that no run of either variant reached if the settings had nothing to act on.
        unknown_if_off: Whether what a variant is compared with may lack the metric, being switched off.
    """

    settings: tuple[str, ...]
    metric: MetricKey
    least: float
    unknown_if_off: bool = False


PATHS = (
    Path(BOUNDS, MetricKey(name="query_read_bytes", scope="elasticsearch"), PAGE_BYTES),
    Path(("queries.request_cache",), MetricKey(name="request_cache_hit_share", scope="run"), 0.01, unknown_if_off=True),
)


def factor_sentences(findings: Findings, figures: Sequence[VariantMetric]) -> tuple[str, ...]:
    """The break-even places that the suite asks for, then the factors that had nothing to act on."""
    factors = dict.fromkeys(variant.factor for variant in findings.plan.variants if variant.factor)
    return (
        *(crossing_sentence(findings, wanted, figures) for wanted in findings.plan.crossings),
        *(sentence for factor in factors if (sentence := _without_effect(findings, factor, figures))),
    )


# --- where a level begins to win ------------------------------------------------------------------------------------


def pairs_of(findings: Findings, factor: str) -> list[Pair]:
    """The comparisons in which a factor is turned."""
    return [pair for pair in planned_pairs(findings.plan) if findings.plan.variant(pair[0]).factor == factor]


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


# --- settings that had nothing to act on ----------------------------------------------------------------------------


def idle(findings: Findings, pair: Pair, figures: Sequence[VariantMetric]) -> MetricKey | None:
    """Metric by which a comparison's setting had nothing to act on; `None` if it had, or if that is not known."""
    ours, theirs = map(findings.plan.variant, pair)
    settings = {override.partition("=")[0] for override in set(ours.overrides) ^ set(theirs.overrides)}
    if ours.profile != theirs.profile or not settings:
        return None
    for path in PATHS:
        highest = _highest(path.metric, pair, figures)
        known = [value for value in highest.values() if value is not None]
        are_known = len(known) == len(pair) or (path.unknown_if_off and highest.get(pair[0]) is not None)
        if settings <= set(path.settings) and are_known and max(known) < path.least:
            return path.metric
    return None


def _highest(metric: MetricKey, variants: Iterable[str], figures: Sequence[VariantMetric]) -> dict[str, float | None]:
    """Highest value of any run, by variant."""
    return {name: figure.high for name, figure in by_variant(figures, metric).items() if name in variants}


def _without_effect(findings: Findings, factor: str, figures: Sequence[VariantMetric]) -> str | None:
    """Figure by which none of its comparisons could show anything; `None` if one could, or if that is not known."""
    pairs = pairs_of(findings, factor)
    metrics = {idle(findings, pair, figures) for pair in pairs}
    metric = metrics.pop() if len(metrics) == 1 else None
    if metric is None:
        return None
    highest = _highest(metric, {name for pair in pairs for name in pair}, figures).values()
    most = max(value for value in highest if value is not None)
    return (
        f"{factor[:1].upper()}{factor[1:]} had nothing to act on: {lower_first(metric_label(metric))}, at most"
        f" {figure(most, BY_NAME[metric.name].unit)}."
    )
